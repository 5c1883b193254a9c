"""What agents were shown: read from the files that hooks keep of each session, for people who want to know."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.data_folder import TEAMS
from commonplace.fast.session_hints import hint_files, hint_path, read_lines

if TYPE_CHECKING:
    from commonplace.config import Settings

_TEXT, _TEXT_FIELDS, _USED = "text", 6, "used"


@dataclass(frozen=True, slots=True)
class ShownText:
    """What an agent got at one moment: the text, if it was kept, and the ids of the memories in it."""

    at_ms: int
    moment: str
    text: str
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ShownSession:
    """What one session was shown, oldest first, and which memories its agent used."""

    session: str
    texts: tuple[ShownText, ...]
    used: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ShownItem:
    """A session that was shown a memory, when first, and whether its agent used it."""

    session: str
    at_ms: int
    moment: str
    used: bool


def shown_to(settings: Settings, session: str) -> ShownSession | None:
    """What a session was shown, by its key ("claude-code:...") or its agent's id; None if that is not known."""
    for data in hint_folders(settings):
        path = hint_path(data, session)
        if Path(path).exists():
            return _read(path)
    every = (_read(path) for data in hint_folders(settings) for path in hint_files(data))
    return next((found for found in every if found.session.endswith(f":{session}")), None)


def latest_shown(settings: Settings) -> ShownSession | None:
    """The session that was shown something last."""
    paths = [path for data in hint_folders(settings) for path in hint_files(data)]
    for path in sorted(paths, key=os.path.getmtime, reverse=True):
        found = _read(path)
        if found.texts:
            return found
    return None


def sessions_shown(settings: Settings, short_id: str, most: int) -> list[ShownItem]:
    """The sessions that were shown a memory, each once, the latest first."""
    found = []
    for path in (path for data in hint_folders(settings) for path in hint_files(data)):
        session = _read(path)
        text = next((text for text in session.texts if short_id in text.ids), None)
        if text is not None:
            found.append(ShownItem(session.session, text.at_ms, text.moment, short_id in session.used))
    return sorted(found, key=lambda one: -one.at_ms)[:most]


def hint_folders(settings: Settings) -> Iterator[str]:
    """Where hooks keep it: this machine's own memory, and the folders of teams' servers."""
    yield str(settings.data_dir)
    teams = settings.data_dir / TEAMS
    yield from sorted(str(path) for path in teams.iterdir()) if teams.is_dir() else ()


def _read(path: str) -> ShownSession:
    session = ""
    texts: list[ShownText] = []
    used: list[str] = []
    for line in read_lines(path):
        if line[0] == _TEXT and len(line) == _TEXT_FIELDS:
            session = line[4]
            texts.append(ShownText(_number(line[1]), line[2], text_of(line), tuple(filter(None, line[3].split(",")))))
        elif line[0] == _USED and len(line) == 3:
            used.append(line[2])
    return ShownSession(session, tuple(texts), tuple(used))


def text_of(line: list[str]) -> str:
    """The text in a line of a session's file; empty if it has none."""
    if line[0] != _TEXT or len(line) != _TEXT_FIELDS:
        return ""
    try:
        text = json.loads(line[5])
    except ValueError:
        return ""
    return text if isinstance(text, str) else ""


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else 0
