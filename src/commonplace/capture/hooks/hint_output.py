"""Hints in the hook process: ask for them, print them once in a session, and notice whether they were used.

The resident process answers, within a deadline, also for a team's server. Without one, the store is read here by its
words alone; a store on a server is not asked. What a session has seen is a small file of lines in `hints/` in the data
folder:

    shown   time  moment  ids    words by which its use can be recognised; none if the store is encrypted
    text    time  moment  ids    session  the text as the agent got it, as JSON: empty where the store is encrypted
    used    time  id
    asked   time  what was asked about: the very same use of a tool is not asked about again soon
    breach  time  a rule and the kind of action that broke it, of which it was told

A sub-agent has a file of its own: it has seen nothing of what its parent was shown. `shown_texts.py` reads the files
for people.
"""

from __future__ import annotations

import os
import time
from binascii import crc32

from commonplace.capture.hooks.context_cache import (
    OUTPUT_SHAPES,
    config_values,
    field_text,
    is_remote_store,
    object_in,
    quote_json,
)
from commonplace.capture.hooks.spool import (
    HINT_FAILURE,
    HINT_FOLDER,
    count_failure,
    ensure_private_folder,
    seconds_to_wait,
    spool_folder,
)
from commonplace.data_folder import is_team_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from commonplace.hosts.host import HintMoment

START = "session-start"
# What hooks that are connected to a team's server ask the resident process for.
TEAM_QUESTION = "team-hints"
# Seconds after which nothing is shown, by the moment. A person waits longer for an answer to a prompt anyway.
SECONDS: Mapping[HintMoment, float] = {"prompt": 1.5, "before-tool": 0.5, "after-tool": 0.5}
# Milliseconds for which the same is not asked again, nor the same breach told.
_AGAIN_MS = 600_000
# Characters of any text in a payload that are sent, from its beginning and its end; entries of a list.
_HEAD, _TAIL, _ENTRIES, _DEEPEST = 2_000, 6_000, 50, 6
# Words of a hint that an agent has to write for it to count as used.
_WORDS_USED = 2
# A prompt with fewer characters is consent or thanks.
_SHORTEST_PROMPT = 8
# How a store begins that anybody can read.
_PLAIN = b"SQLite format 3\0"
# Sessions whose hints are remembered, the latest.
_MOST_SESSIONS = 200


def hint_output(
    data: str,
    host: str,
    event: str,
    moment: str,
    cwd: str,
    payload: bytes,
    env: Mapping[str, str],
    prompt: str = "",
    shape: Callable[[str, str], str] | None = None,
) -> bytes:
    """What to print: hints in the shape that the host reads, or nothing."""
    fields = object_in(payload)
    session = session_name(host, fields)
    prompt = prompt or field_text(fields, "prompt", "user_prompt")
    if not session or (moment == "prompt" and len(prompt.strip()) < _SHORTEST_PROMPT):
        return b""
    state = SessionHints(data, session)
    about = _about(fields, moment)
    since = int(_now()) - _AGAIN_MS
    if about and state.asked.get(about, 0) > since:
        return b""
    request = {
        "host": host,
        "event": event,
        "moment": moment,
        "cwd": cwd,
        "prompt": prompt,
        "session": session,
        "payload": _cut(fields, _DEEPEST),
        "shown": sorted(state.shown),
        "at_start": sorted(state.at_start),
        "breaches": sorted(key for key, at in state.breaches.items() if at > since),
    }
    answer = _ask(data, env, request, failed=_has_failed(event, fields))
    if about and answer is not None:
        state.add("asked", _now(), about)
    if not answer or not answer.get("text"):
        return b""
    keeps_words = not _is_encrypted(data)
    for ids, words in answer["hints"]:
        state.add("shown", _now(), moment, ",".join(ids), " ".join(words) if keeps_words else "")
    for breach in answer.get("breaches", ()):
        state.add("breach", _now(), breach)
    state.add_text(moment, [id_ for ids, _words in answer["hints"] for id_ in ids], answer["text"])
    return (shape or OUTPUT_SHAPES[host])(event, answer["text"]).encode()


def note_start(data: str, session: str, text: str) -> None:
    """Remember what the start of a session showed: a prompt does not show it again."""
    _drop_oldest(data)
    state = SessionHints(data, session)
    ids = ids_in(text)
    if ids:
        state.add("shown", _now(), START, ",".join(ids), "")
    state.add_text(START, ids, text)


def note_use(data: str, host: str, payload: bytes) -> None:
    """Mark the hints of a session that its agent uses: by their id, or by some of their words."""
    fields = object_in(payload)
    session = session_name(host, fields)
    if not session or not os.path.exists(hint_path(data, session)):
        return
    written = " ".join(_texts([fields.get(name) for name in _AGENT_WRITES], _DEEPEST)).casefold()
    state = SessionHints(data, session)
    for ids, words in state.unused:
        if any(id_ in written for id_ in ids) or sum(word in written for word in words) >= _WORDS_USED:
            state.add("used", _now(), ids[0])


# Fields of a payload that an agent wrote; what a tool printed is not its work.
_AGENT_WRITES = (
    *("tool_input", "toolInput", "last_assistant_message", "assistant_response", "prompt_response", "text", "edits"),
    *("command", "tool_info"),
)


class SessionHints:
    """What a session was shown, by its file. A file that cannot be read or written means that nothing is remembered."""

    def __init__(self, data: str, session: str) -> None:
        self._data, self._session, self._path = data, session, hint_path(data, session)
        self.shown: set[str] = set()
        self.asked: dict[str, int] = {}
        self.breaches: dict[str, int] = {}
        self.unused: list[tuple[list[str], list[str]]] = []
        used: set[str] = set()
        later: set[str] = set()
        for line in read_lines(self._path):
            if line[0] == "shown" and len(line) == 5:
                ids = line[3].split(",")
                self.shown.update(ids)
                if line[2] != START:
                    later.update(ids)
                    self.unused.append((ids, line[4].split()))
            elif line[0] == "used" and len(line) == 3:
                used.add(line[2])
            elif line[0] in ("asked", "breach") and len(line) == 3 and line[1].isdecimal():
                (self.asked if line[0] == "asked" else self.breaches)[line[2]] = int(line[1])
        self.at_start = self.shown - later
        self.unused = [hint for hint in self.unused if hint[0][0] not in used]

    def add_text(self, moment: str, ids: list[str], text: str) -> None:
        """Keep what the agent gets, for people who want to know; of an encrypted store nothing is kept in the clear."""
        text = "" if _is_encrypted(self._data) else text
        self.add("text", _now(), moment, ",".join(ids), " ".join(self._session.split()), quote_json(text))

    def add(self, *line: str) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
        try:
            ensure_private_folder(os.path.dirname(self._path))
            descriptor = os.open(self._path, flags, 0o600)
        except OSError:
            return
        try:
            os.write(descriptor, ("\t".join(line) + "\n").encode("utf-8", "replace"))
        finally:
            os.close(descriptor)


def read_lines(path: str) -> Iterator[list[str]]:
    """The lines of a session's file, each as its fields."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            yield from (line.rstrip("\n").split("\t") for line in file)
    except OSError:
        return


def hint_files(data: str) -> list[str]:
    """The files of all sessions, the latest first."""
    try:
        with os.scandir(os.path.join(data, HINT_FOLDER)) as entries:
            found = sorted(((entry.stat().st_mtime_ns, entry.path) for entry in entries), reverse=True)
    except OSError:
        return []
    return [path for _age, path in found]


def count_hints(data: str) -> tuple[int, int, int]:
    """In how many sessions hints were shown, how many, and how many of them were used."""
    sessions = shown = used = 0
    for path in hint_files(data):
        lines = list(read_lines(path))
        here = sum(line[0] == "shown" and line[2:3] != [START] for line in lines)
        sessions, shown = sessions + bool(here), shown + here
        used += sum(line[0] == "used" for line in lines)
    return sessions, shown, used


def shown_ids(data: str) -> list[str]:
    """The ids of all that sessions on this machine were shown, the latest first."""
    found: dict[str, None] = {}
    for path in hint_files(data):
        for line in read_lines(path):
            if line[0] == "shown" and len(line) == 5:
                found.update(dict.fromkeys(line[3].split(",")))
    return list(found)


def ids_in(text: str) -> list[str]:
    """The ids that a text shows in brackets at the ends of its lines."""
    ends = (line[line.rfind("(") + 1 : -1] for line in text.splitlines() if line.endswith(")"))
    return list(dict.fromkeys(end for end in ends if len(end) == 12 and not set(end) - set("0123456789abcdef")))


def _ask(data: str, env: Mapping[str, str], request: dict[str, Any], *, failed: bool) -> Any:
    """The answer of the resident process, else what the store says by its words; None if there is neither."""
    from commonplace.resident_client.ask_resident import ask

    seconds = seconds_to_wait(env, SECONDS[request["moment"]])
    if is_team_folder(data):
        return _ask_team(data, env, request, seconds)
    began = time.monotonic()
    found = ask("hints", request, seconds, data=data, env=env)
    if found is not None or time.monotonic() - began >= seconds:
        # One that is too slow now is not made quicker by reading the same store here.
        return found
    local = os.path.exists(os.path.join(data, "commonplace.db")) and not is_remote_store(data, env)
    # Loading what reads the store takes longer than a hook may take after every tool.
    if not local or (request["moment"] == "after-tool" and not failed):
        return None
    start_resident(data, env)
    return _read_here(data, env, request, seconds - (time.monotonic() - began))


def start_resident(data: str, env: Mapping[str, str]) -> None:
    """Have a process for the next hook: it answers far sooner, and knows the meaning of words."""
    from commonplace.resident_client.ask_resident import is_off
    from commonplace.resident_client.find_or_start import start

    if not is_off(env) and not any(b"off" in value for value in config_values(data, env, b"resident")):
        start(data)


def _ask_team(data: str, env: Mapping[str, str], request: dict[str, Any], seconds: float) -> Any:
    """What the resident process of this machine's own memory has of the server. The next prompt finds one running."""
    from commonplace.resident_client.ask_resident import ask, is_off
    from commonplace.resident_client.find_or_start import start

    home = os.path.dirname(os.path.dirname(os.path.abspath(data)))
    found = ask(TEAM_QUESTION, {**request, "team": os.path.abspath(data)}, seconds, data=home, env=env)
    if found is None and not is_off(env):
        start(home)
    return found


def _read_here(data: str, env: Mapping[str, str], request: dict[str, Any], seconds: float) -> Any:
    """Read the store in this process. If that takes too long, the thread is abandoned; the process ends without it."""
    from threading import Thread

    made: list[Any] = []

    def read() -> None:
        from commonplace.capture.hooks.hint_answers import read_hints

        try:
            made.append(read_hints(data, env, request))
        except Exception as error:  # noqa: BLE001 - counted; a prompt can do without a hint
            count_failure(spool_folder(data), "hook", f"{HINT_FAILURE}{getattr(error, 'code', type(error).__name__)}")
            made.append(None)

    worker = Thread(target=read, daemon=True)
    worker.start()
    worker.join(max(0.0, seconds))
    return made[0] if made else None


def _is_encrypted(data: str) -> bool:
    """Whether the store of this machine is encrypted: then nothing of a memory is kept beside it."""
    home = os.path.dirname(os.path.dirname(os.path.abspath(data))) if is_team_folder(data) else data
    try:
        with open(os.path.join(home, "commonplace.db"), "rb") as file:
            return file.read(len(_PLAIN)) not in (_PLAIN, b"")
    except OSError:
        return False


def session_name(host: str, fields: dict[str, Any]) -> str:
    """The session of an event, or the sub-agent in it; empty if it names none."""
    names = ("session_id", "sessionId", "conversation_id", "conversationId", "trajectory_id")
    name = field_text(fields, *names)
    agent = field_text(fields, "agent_id")
    return f"{host}:{name}{'/' if agent else ''}{agent}" if name else ""


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


def hint_path(data: str, session: str) -> str:
    """The file of a session."""
    name = session.encode("utf-8", "surrogatepass")
    return os.path.join(data, HINT_FOLDER, f"{crc32(name):08x}-{crc32(name[::-1]):08x}")


def _drop_oldest(data: str) -> None:
    for path in hint_files(data)[_MOST_SESSIONS - 1 :]:
        try:
            os.unlink(path)
        except OSError:
            continue


def _now() -> str:
    return str(time.time_ns() // 1_000_000)
