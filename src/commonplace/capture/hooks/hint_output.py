"""Hints in the hook process: ask for them, print them once in a session, and notice whether they were used.

The resident process answers, within a deadline, also for a team's server. Without one, the store is read here by its
words alone; a store on a server is not asked. What a session has seen is a small file of lines in `hints/` in the data
folder:

    shown  time  moment  ids    words by which its use can be recognised
    used   time  id
    asked  what was asked about before, so that the same file or command is asked about once
"""

from __future__ import annotations

import os
import time
from binascii import crc32

from commonplace.capture.hooks.context_cache import OUTPUT_SHAPES, field_text, is_remote_store, object_in
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

START = "session-start"
# What hooks that are connected to a team's server ask the resident process for.
TEAM_QUESTION = "team-hints"
# Seconds after which nothing is shown: with a resident process, and without.
ASK_SECONDS, READ_SECONDS = 0.2, 0.5
# Characters of any text in a payload that are sent, from its beginning and its end; entries of a list.
_HEAD, _TAIL, _ENTRIES, _DEEPEST = 2_000, 6_000, 50, 6
# Words of a hint that an agent has to write for it to count as used.
_WORDS_USED = 2
# A prompt with fewer characters is consent or thanks.
_SHORTEST_PROMPT = 8
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
    session = _session(host, fields)
    prompt = prompt or field_text(fields, "prompt", "user_prompt")
    if not session or (moment == "prompt" and len(prompt.strip()) < _SHORTEST_PROMPT):
        return b""
    state = SessionHints(data, session)
    about = _about(fields, moment)
    if about and about in state.asked:
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
    }
    answer = _ask(data, env, request, failed=_has_failed(event, fields))
    if about and answer is not None:
        state.add("asked", about)
    if not answer or not answer.get("text"):
        return b""
    for ids, words in answer["hints"]:
        state.add("shown", _now(), moment, ",".join(ids), " ".join(words))
    return (shape or OUTPUT_SHAPES[host])(event, answer["text"]).encode()


def note_start(data: str, session: str, text: str) -> None:
    """Remember what the start of a session showed: a prompt does not show it again."""
    if ids := ids_in(text):
        _drop_oldest(data)
        SessionHints(data, session).add("shown", _now(), START, ",".join(ids), "")


def note_use(data: str, host: str, payload: bytes) -> None:
    """Mark the hints of a session that its agent uses: by their id, or by some of their words."""
    fields = object_in(payload)
    session = _session(host, fields)
    if not session or not os.path.exists(_path(data, session)):
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
        self._path = _path(data, session)
        self.shown: set[str] = set()
        self.asked: set[str] = set()
        self.unused: list[tuple[list[str], list[str]]] = []
        used: set[str] = set()
        for line in read_lines(self._path):
            if line[0] == "shown" and len(line) == 5:
                ids = line[3].split(",")
                self.shown.update(ids)
                if line[2] != START:
                    self.unused.append((ids, line[4].split()))
            elif line[0] == "used" and len(line) == 3:
                used.add(line[2])
            elif line[0] == "asked" and len(line) == 2:
                self.asked.add(line[1])
        self.unused = [hint for hint in self.unused if hint[0][0] not in used]

    def add(self, *line: str) -> None:
        ensure_private_folder(os.path.dirname(self._path))
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
        descriptor = os.open(self._path, flags, 0o600)
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


def ids_in(text: str) -> list[str]:
    """The ids that a text shows in brackets at the ends of its lines."""
    ends = (line[line.rfind("(") + 1 : -1] for line in text.splitlines() if line.endswith(")"))
    return list(dict.fromkeys(end for end in ends if len(end) == 12 and not set(end) - set("0123456789abcdef")))


def _ask(data: str, env: Mapping[str, str], request: dict[str, Any], *, failed: bool) -> Any:
    """The answer of the resident process, else what the store says by its words; None if there is neither."""
    from commonplace.resident_client.ask_resident import ask

    seconds = seconds_to_wait(env, ASK_SECONDS)
    if is_team_folder(data):
        return _ask_team(data, env, request, seconds)
    began = time.monotonic()
    found = ask("hints", request, seconds, data=data, env=env)
    if found is not None or time.monotonic() - began >= seconds:
        # One that is too slow now is not made quicker by reading the same store here.
        return found
    local = os.path.exists(os.path.join(data, "commonplace.db")) and not is_remote_store(data, env)
    # Loading what reads the store takes longer than a hook may take after every tool.
    return _read_here(data, env, request) if local and (request["moment"] != "after-tool" or failed) else None


def _ask_team(data: str, env: Mapping[str, str], request: dict[str, Any], seconds: float) -> Any:
    """What the resident process of this machine's own memory has of the server. The next prompt finds one running."""
    from commonplace.resident_client.ask_resident import ask, is_off
    from commonplace.resident_client.find_or_start import start

    home = os.path.dirname(os.path.dirname(os.path.abspath(data)))
    found = ask(TEAM_QUESTION, {**request, "team": os.path.abspath(data)}, seconds, data=home, env=env)
    if found is None and not is_off(env):
        start(home)
    return found


def _read_here(data: str, env: Mapping[str, str], request: dict[str, Any]) -> Any:
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
    worker.join(seconds_to_wait(env, READ_SECONDS))
    return made[0] if made else None


def _session(host: str, fields: dict[str, Any]) -> str:
    names = ("session_id", "sessionId", "conversation_id", "conversationId", "trajectory_id")
    name = field_text(fields, *names)
    return f"{host}:{name}" if name else ""


def _about(fields: dict[str, Any], moment: str) -> str:
    """What tells the file or the kind of command that a tool is used on; empty where every time is another."""
    given = fields.get("tool_input")
    if moment != "before-tool" or not isinstance(given, dict):
        return ""
    path = field_text(given, "file_path", "notebook_path", "path")
    head = " ".join(field_text(given, "command").split()[:2])
    return f"{crc32(os.fsencode(path or head)):08x}" if path or head else ""


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


def _path(data: str, session: str) -> str:
    name = os.fsencode(session)
    return os.path.join(data, HINT_FOLDER, f"{crc32(name):08x}-{crc32(name[::-1]):08x}")


def _drop_oldest(data: str) -> None:
    for path in hint_files(data)[_MOST_SESSIONS - 1 :]:
        try:
            os.unlink(path)
        except OSError:
            continue


def _now() -> str:
    return str(time.time_ns() // 1_000_000)
