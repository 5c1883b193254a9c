"""What each session was shown: a small file of lines in `hints/` in the data folder.

    shown   time  moment  ids    words by which its use can be recognised; none if the store is encrypted
    text    time  moment  ids    session  the text as the agent got it, as JSON: empty where the store is encrypted
    used    time  id
    asked   time  what was asked about: the very same use of a tool is not asked about again soon
    breach  time  a rule and the kind of action that broke it, of which it was told

A sub-agent has a file of its own: it has seen nothing of what its parent was shown. capture/hooks/shown_texts.py reads
the files for people.
"""

from __future__ import annotations

import os
import time
from binascii import crc32

from commonplace.data_folder import DATABASE_NAME, own_data_folder
from commonplace.fast.json_text import field_text, write_json
from commonplace.fast.spool import HINT_FOLDER, UnsafeFolder, ensure_private_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

START = "session-start"
# Milliseconds for which the same is not asked again, nor the same breach told.
_AGAIN_MS = 600_000
# How a store begins that anybody can read.
_PLAIN = b"SQLite format 3\0"
# Sessions whose hints are remembered, the latest.
_MOST_SESSIONS = 200


def session_name(host: str, fields: dict[str, Any]) -> str:
    """The session of an event, or the sub-agent in it; empty if it names none."""
    names = ("session_id", "sessionId", "conversation_id", "conversationId", "trajectory_id")
    name = field_text(fields, *names)
    agent = field_text(fields, "agent_id")
    return f"{host}:{name}{'/' if agent else ''}{agent}" if name else ""


def note_start(data: str, session: str, text: str) -> None:
    """Remember what the start of a session showed: a prompt does not show it again."""
    _drop_oldest(data)
    SessionHints(data, session).add_shown(START, [(ids_in(text), ())], text)


class SessionHints:
    """What a session was shown, by its file. A file that cannot be read or written means that nothing is remembered."""

    def __init__(self, data: str, session: str) -> None:
        self._data, self._session, self._path = data, session, hint_path(data, session)
        self.shown: set[str] = set()
        # The ids that only the start of the session showed.
        self.at_start: set[str] = set()
        # The hints that it has not used so far: the ids of each, and its telling words.
        self.unused: list[tuple[list[str], list[str]]] = []
        self._used: set[str] = set()
        self._asked: dict[str, int] = {}
        self._breaches: dict[str, int] = {}
        for line in read_lines(self._path):
            self._read(line)
        self.unused = [hint for hint in self.unused if hint[0][0] not in self._used]

    def _read(self, line: list[str]) -> None:
        kind, at, *fields = [*line, ""]
        if kind == "shown" and len(line) == 5:
            self._read_shown(*fields[:3])
        elif kind == "used" and len(line) == 3:
            self._used.add(fields[0])
        elif kind in ("asked", "breach") and len(line) == 3 and at.isdecimal():
            last = self._asked if kind == "asked" else self._breaches
            last[fields[0]] = int(at)

    def _read_shown(self, moment: str, ids: str, words: str) -> None:
        shown = ids.split(",")
        if moment == START:
            self.at_start.update(id_ for id_ in shown if id_ not in self.shown)
        else:
            self.at_start.difference_update(shown)
            self.unused.append((shown, words.split()))
        self.shown.update(shown)

    def was_asked(self, about: str) -> bool:
        """Whether the same was asked about a short while ago."""
        return self._asked.get(about, 0) > now_ms() - _AGAIN_MS

    @property
    def breaches(self) -> list[str]:
        """The breaches that it was told of a short while ago."""
        since = now_ms() - _AGAIN_MS
        return sorted(breach for breach, at in self._breaches.items() if at > since)

    def add_shown(self, moment: str, hints: Sequence[tuple[Sequence[str], Sequence[str]]], text: str) -> None:
        """Remember hints, each by its ids and telling words, and the text in which the agent gets them.

        Of an encrypted store, nothing is kept in the clear.
        """
        is_encrypted = _is_encrypted(self._data)
        for ids, words in hints:
            if ids:
                self.add("shown", moment, ",".join(ids), "" if is_encrypted else " ".join(words))
        every = ",".join(id_ for ids, _words in hints for id_ in ids)
        shown = write_json("" if is_encrypted else text)
        self.add("text", moment, every, " ".join(self._session.split()), shown)

    def add(self, kind: str, *fields: str) -> None:
        """Add a line that says what happens now."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
        try:
            ensure_private_folder(os.path.dirname(self._path))
            descriptor = os.open(self._path, flags, 0o600)
        except (OSError, UnsafeFolder):
            # What was shown is told all the same.
            return
        try:
            line = "\t".join((kind, str(now_ms()), *fields))
            os.write(descriptor, f"{line}\n".encode("utf-8", "replace"))
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


def _is_encrypted(data: str) -> bool:
    """Whether the store of this machine is encrypted: then nothing of a memory is kept beside it."""
    try:
        with open(os.path.join(own_data_folder(data), DATABASE_NAME), "rb") as file:
            return file.read(len(_PLAIN)) not in (_PLAIN, b"")
    except OSError:
        return False


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


def now_ms() -> int:
    return time.time_ns() // 1_000_000
