"""The start of a session: the context that its hook prints into the conversation."""

from __future__ import annotations

from commonplace.data_folder import is_team_folder, own_data_folder
from commonplace.fast.context_cache import cache_context, cached_context, content_stamp
from commonplace.fast.host_events import SUBAGENT_START
from commonplace.fast.json_text import field_text
from commonplace.fast.session_hints import ids_in, note_start, session_name, shown_ids
from commonplace.fast.settings import is_remote_store, may_start_resident
from commonplace.fast.spool import CONTEXT_FAILURE, count_failure, seconds_to_wait, spool_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from commonplace.fast.hook_command import HookCall

# Seconds after which a session starts without a context.
DEADLINE = 1.0
# Sub-agents start with the rules alone; this stands for all of them where a session is named. It is the name that
# memory/session_context.py has, once more: importing that would take longer than the whole hook.
SUBAGENTS = "subagents"
# The heading of what is told once, as the same module has it.
OTHERS_HEADING = "## By others since"
# Starts that continue a session, which then also gets its own progress.
_CONTINUES = ("compact", "resume")


def session_start_text(hook: HookCall) -> str:
    """The context for the folder, and for the session if it goes on."""
    folder = field_text(hook.fields, "cwd") or _first_root(hook.fields) or hook.folder
    name = field_text(hook.fields, "session_id", "sessionId", "conversation_id", "conversationId")
    session = ""
    if hook.name == SUBAGENT_START:
        session = SUBAGENTS
    elif name and field_text(hook.fields, "source", "trigger") in _CONTINUES:
        session = f"{hook.host}:{name}"
    text = _context(hook, folder, session)
    if hook.sample:
        return text
    if text and name:
        note_start(hook.data, session_name(hook.host, hook.fields), text)
    if not (is_team_folder(hook.data) or is_remote_store(hook.data, hook.env)):
        _start_resident(hook)
    return text


def _first_root(fields: dict[str, Any]) -> str:
    """The first folder of a workspace."""
    for name in ("workspace_roots", "workspaceRoots"):
        roots = fields.get(name)
        if roots and isinstance(roots, list):
            return roots[0] if isinstance(roots[0], str) else ""
    return ""


def _start_resident(hook: HookCall) -> None:
    """Have a process for the next hook: it answers far sooner, and knows the meaning of words."""
    if may_start_resident(hook.data, hook.env):
        # Where it is turned off, this is not needed.
        from commonplace.fast.find_or_start import start

        start(hook.data)


def _context(hook: HookCall, folder: str, session: str) -> str:
    data = hook.data
    if is_team_folder(data):
        text = hook.load_whole_program().team_context(data, folder, session, hook.env)
        if text is not None:
            return text
        data = own_data_folder(data)
    remote = is_remote_store(data, hook.env)
    now = content_stamp(data, hook.env, lambda path: hook.load_whole_program().content_fingerprint(path))
    text = cached_context(data, folder, session, now, any_age=remote) if now else ""
    if text is None and remote:
        # A session does not wait for a database across a network: the next one in this folder gets a context.
        cache_context(data, folder, session, "", "")
        return ""
    if text is None or (not remote and _tells_again(data, text)):
        return _compose(hook, data, folder, session)
    return text


def _tells_again(data: str, text: str) -> bool:
    """Whether what others said since was told to a session that started after this context was made."""
    news = text.partition(f"\n{OTHERS_HEADING}\n")[2].partition("\n\n")[0]
    return bool(news) and not set(ids_in(news)).isdisjoint(shown_ids(data))


def _compose(hook: HookCall, data: str, folder: str, session: str) -> str:
    """Made now, from the store. If that takes too long, the thread is abandoned; the process ends without it."""
    # A cached context needs no thread.
    from threading import Thread

    made: list[str] = []

    def make() -> None:
        try:
            made.append(hook.load_whole_program().compose_context(data, folder, session, hook.env))
        except Exception as error:  # noqa: BLE001 - counted; a session can start without a memory
            reason = f"{CONTEXT_FAILURE}{getattr(error, 'code', type(error).__name__)}"
            count_failure(spool_folder(data), "hook", reason)
            made.append("")

    worker = Thread(target=make, daemon=True)
    worker.start()
    worker.join(seconds_to_wait(hook.env, DEADLINE))
    if not made:
        count_failure(spool_folder(data), "hook", f"{CONTEXT_FAILURE}too-slow")
    return made[0] if made else ""
