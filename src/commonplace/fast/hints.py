"""Hints in the hook process: ask for them, print them once in a session, and notice whether they were used.

The resident process answers, within a deadline, also for a team's server. Without one, the store is read here by its
words alone; a store on a server is not asked.
"""

from __future__ import annotations

import os
import time
from binascii import crc32

from commonplace.data_folder import DATABASE_NAME, is_team_folder, own_data_folder
from commonplace.fast.json_text import field_text
from commonplace.fast.session_hints import SessionHints, hint_path, session_name
from commonplace.fast.settings import is_remote_store, may_start_resident
from commonplace.fast.spool import HINT_FAILURE, count_failure, seconds_to_wait, spool_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from commonplace.fast.hook_command import HookCall

# What hooks that are connected to a team's server ask the resident process for.
TEAM_QUESTION = "team-hints"
# Seconds after which nothing is shown, by the moment. A person waits longer for an answer to a prompt anyway.
SECONDS: Mapping[str, float] = {"prompt": 1.5, "before-tool": 0.5, "after-tool": 0.5}
# Characters of any text in a payload that are sent, from its beginning and its end; entries of a list.
_HEAD, _TAIL, _ENTRIES, _DEEPEST = 2_000, 6_000, 50, 6
# Words of a hint that an agent has to write for it to count as used.
_WORDS_USED = 2
# A prompt with fewer characters is consent or thanks.
_SHORTEST_PROMPT = 8
# Fields of a payload that an agent wrote; what a tool printed is not its work.
_AGENT_WRITES = (
    *("tool_input", "toolInput", "last_assistant_message", "assistant_response", "prompt_response", "text", "edits"),
    *("command", "tool_info"),
)


def hint_text(hook: HookCall, moment: str) -> str:
    """The hints for an event as the agent gets them; empty if there are none."""
    session = session_name(hook.host, hook.fields)
    prompt = hook.prompt or field_text(hook.fields, "prompt", "user_prompt")
    if not session or (moment == "prompt" and len(prompt.strip()) < _SHORTEST_PROMPT):
        return ""
    seen = SessionHints(hook.data, session)
    about = _about(hook.fields, moment)
    if about and seen.was_asked(about):
        return ""
    request = {
        "host": hook.host,
        "event": hook.event,
        "moment": moment,
        "cwd": hook.folder,
        "prompt": prompt,
        "session": session,
        "payload": _cut(hook.fields, _DEEPEST),
        "shown": sorted(seen.shown),
        "at_start": sorted(seen.at_start),
        "breaches": seen.breaches,
    }
    answer = _ask(hook, request)
    if about and answer is not None:
        seen.add("asked", about)
    if not answer or not answer.get("text"):
        return ""
    seen.add_shown(moment, answer["hints"], answer["text"])
    for breach in answer.get("breaches", ()):
        seen.add("breach", breach)
    return str(answer["text"])


def note_use(hook: HookCall) -> None:
    """Mark the hints of a session that its agent uses: by their id, or by some of their words."""
    session = session_name(hook.host, hook.fields)
    if not session or not os.path.exists(hint_path(hook.data, session)):
        return
    written = " ".join(_texts([hook.fields.get(name) for name in _AGENT_WRITES], _DEEPEST)).casefold()
    seen = SessionHints(hook.data, session)
    for ids, words in seen.unused:
        names_it = any(id_ in written for id_ in ids)
        if names_it or sum(word in written for word in words) >= _WORDS_USED:
            seen.add("used", ids[0])


def _ask(hook: HookCall, request: dict[str, Any]) -> Any:
    """The answer of the resident process, else what the store says by its words; None if there is neither."""
    # A session that has seen it all asks nothing.
    from commonplace.fast.ask_resident import ask
    from commonplace.fast.find_or_start import start

    data, moment = hook.data, request["moment"]
    seconds = seconds_to_wait(hook.env, SECONDS[moment])
    if is_team_folder(data):
        # The resident process of this machine's own memory asks the server, or has its answer already.
        home = own_data_folder(data)
        question = {**request, "team": os.path.abspath(data)}
        found = ask(TEAM_QUESTION, question, seconds, data=home, env=hook.env)
        if found is None and may_start_resident(home, hook.env):
            # The next prompt finds one running.
            start(home)
        return found
    began = time.monotonic()
    found = ask("hints", request, seconds, data=data, env=hook.env)
    if found is not None or time.monotonic() - began >= seconds:
        # One that is too slow now is not made quicker by reading the same store here.
        return found
    if not os.path.exists(os.path.join(data, DATABASE_NAME)) or is_remote_store(data, hook.env):
        return None
    # Loading what reads the store takes longer than a hook may take after every tool.
    if moment == "after-tool" and not _has_failed(hook.event, hook.fields):
        return None
    if may_start_resident(data, hook.env):
        # It answers the next hook far sooner, and knows the meaning of words.
        start(data)
    return _read_here(hook, request, seconds - (time.monotonic() - began))


def _read_here(hook: HookCall, request: dict[str, Any], seconds: float) -> Any:
    """Read the store in this process. If that takes too long, the thread is abandoned; the process ends without it."""
    # An answer of the resident process needs no thread.
    from threading import Thread

    made: list[Any] = []

    def read() -> None:
        try:
            made.append(hook.load_whole_program().read_hints(hook.data, hook.env, request))
        except Exception as error:  # noqa: BLE001 - counted; a prompt can do without a hint
            reason = f"{HINT_FAILURE}{getattr(error, 'code', type(error).__name__)}"
            count_failure(spool_folder(hook.data), "hook", reason)
            made.append(None)

    worker = Thread(target=read, daemon=True)
    worker.start()
    worker.join(max(0.0, seconds))
    return made[0] if made else None


def _about(fields: dict[str, Any], moment: str) -> str:
    """What tells this use of a tool from others; empty where it tells of none."""
    given = fields.get("tool_input")
    if moment != "before-tool" or not isinstance(given, dict):
        return ""
    used_on = "\0".join(_texts(given, _DEEPEST))
    return f"{crc32(used_on.encode('utf-8', 'surrogatepass')):08x}" if used_on else ""


def _has_failed(event: str, fields: dict[str, Any]) -> bool:
    """Whether a host says plainly that a tool failed."""
    output = fields.get("tool_response")
    result = output if isinstance(output, dict) else {}
    codes = [result.get(name) for name in ("exit_code", "exitCode", "returncode")]
    return event.lower().endswith("failure") or bool(result.get("is_error") or result.get("error") or any(codes))


def _cut(value: Any, levels: int) -> Any:
    """A payload with its long texts cut: what an event is about stands at their beginning or end."""
    if isinstance(value, str):
        return value if len(value) <= _HEAD + _TAIL else f"{value[:_HEAD]}\n…\n{value[-_TAIL:]}"
    if isinstance(value, (dict, list)) and not levels:
        return None
    if isinstance(value, dict):
        return {name: _cut(entry, levels - 1) for name, entry in value.items()}
    return [_cut(entry, levels - 1) for entry in value[:_ENTRIES]] if isinstance(value, list) else value


def _texts(value: Any, levels: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)) and levels:
        for entry in value.values() if isinstance(value, dict) else value:
            yield from _texts(entry, levels - 1)
