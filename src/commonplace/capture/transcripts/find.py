"""Where coding agents keep their sessions, and which files under a path are sessions at all."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from commonplace.capture.foreign import Skipped, text_in
from commonplace.capture.transcripts.lines import head
from commonplace.capture.transcripts.marks import PACKED, plain_name
from commonplace.capture.transcripts.record import Source
from commonplace.errors import InvalidInput

_SNIFF = 16 << 10
_LINES = 20
_MAX_DEPTH = 32
DATABASE = "state.vscdb"
_ENDINGS = tuple(kind + packing for kind in (".jsonl", ".json") for packing in ("", *PACKED))
_PASSED_OVER = {"node_modules", "__pycache__", "site-packages"}
_CODEX_TYPES = {"session_meta", "response_item", "event_msg", "turn_context", "compacted"}
# What a line holds at its beginning, where it is longer than what is looked at.
_TRAITS: Mapping[Source, tuple[bytes, ...]] = {
    "codex": (b'"type"', b'"session_meta"'),
    "claude-code": (b'"parentUuid"', b'"isSidechain"'),
    "gemini": (b'"sessionId"', b'"projectHash"'),
}


@dataclass(frozen=True, slots=True)
class Found:
    """A file with sessions in it."""

    path: Path
    source: Source


def places(environment: Mapping[str, str], home: Path, system: str) -> list[Path]:
    """The folders and files in which the four products keep sessions, whether they exist or not."""
    told = environment.get("CLAUDE_CONFIG_DIR", "")
    claude = [Path(folder.strip()) for folder in told.split(",") if folder.strip()]
    codex = Path(environment.get("CODEX_HOME") or home / ".codex")
    gemini = Path(environment.get("GEMINI_CLI_HOME") or home) / ".gemini"
    cursor = _settings(environment, home, system) / "Cursor" / "User"
    return [
        *(folder / "projects" for folder in claude or [home / ".claude", home / ".config" / "claude"]),
        codex / "sessions",
        codex / "archived_sessions",
        gemini / "tmp",
        cursor / "globalStorage" / DATABASE,
        cursor / "workspaceStorage",
    ]


def find(paths: Iterable[Path], named: bool = False) -> Iterator[Found | Skipped]:
    """The sessions at and under these paths, in the order of their names; what cannot be read is told.

    `named` is for paths that a person gave: one that is missing, or a file that is no session, is told too.
    """
    for path in paths:
        if path.is_file():
            yield from judged(path, tell=named)
        elif named and not path.is_dir():
            yield Skipped(str(path), "There is no such file or folder.", "file")
        else:
            for one in candidates([path]):
                yield from judged(one) if isinstance(one, Path) else (one,)


def candidates(paths: Iterable[Path]) -> Iterator[Path | Skipped]:
    """The files that could be sessions, by their names alone; folders that cannot be read are told."""
    for path in paths:
        if path.is_dir():
            yield from _within(path)
        elif path.is_file():
            yield path


def sniff(path: Path) -> Source | None:
    """Which product wrote this file, told by its content; None if none of them did."""
    start = head(path, _SNIFF)
    if path.name == DATABASE:
        return "cursor" if start.startswith(b"SQLite format 3\0") else None
    lines = start.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    unfinished = lines.pop() if len(start) == _SNIFF else b""
    for line in lines[:_LINES]:
        if source := _source(_object(line)):
            return source
    if lines and lines[0].strip() == b"{":
        return "gemini" if all(trait in start for trait in _TRAITS["gemini"]) else None
    return next((source for source, traits in _TRAITS.items() if all(trait in unfinished for trait in traits)), None)


def _settings(environment: Mapping[str, str], home: Path, system: str) -> Path:
    if system == "darwin":
        return home / "Library" / "Application Support"
    if system == "win32":
        return Path(environment.get("APPDATA") or home / "AppData" / "Roaming")
    return Path(environment.get("XDG_CONFIG_HOME") or home / ".config")


def _within(root: Path) -> Iterator[Path | Skipped]:
    """Depth first. Links to folders are not followed, so that no loop can catch the walk."""
    waiting = [(root, 0)]
    while waiting:
        folder, depth = waiting.pop()
        try:
            with os.scandir(folder) as entries:
                kept = sorted((entry for entry in entries if _promising(entry)), key=lambda entry: entry.name)
        except OSError as error:
            yield Skipped(str(folder), error.strerror or "It cannot be read.", "file")
            continue
        folders = [Path(entry.path) for entry in kept if entry.is_dir(follow_symlinks=False)]
        yield from (path for path in (Path(entry.path) for entry in kept) if path.is_file())
        if depth < _MAX_DEPTH:
            waiting.extend((inner, depth + 1) for inner in reversed(folders))


def _promising(entry: os.DirEntry[str]) -> bool:
    if entry.name == DATABASE or entry.name.endswith(_ENDINGS):
        return True
    return not entry.name.startswith(".") and entry.name not in _PASSED_OVER and entry.is_dir(follow_symlinks=False)


def judged(path: Path, tell: bool = False) -> Iterator[Found | Skipped]:
    """The file, if it is a session; why not, if it cannot be read or that is to be told."""
    # While a session is being compressed both files are there; the plain one is the truth.
    if path.suffix in PACKED and Path(plain_name(path)).exists():
        return
    try:
        source = sniff(path)
    except InvalidInput as error:
        yield Skipped(str(path), f"{error.message} {error.hint}", "file")
        return
    except OSError as error:
        yield Skipped(str(path), error.strerror or "It cannot be read.", "file")
        return
    if source:
        yield Found(path, source)
    elif tell:
        yield Skipped(str(path), "It is no session of Claude Code, Codex, Gemini CLI or Cursor.", "file")


def _source(record: dict[str, Any]) -> Source | None:
    kind = text_in(record, "type")
    if kind in _CODEX_TYPES and isinstance(record.get("payload"), dict):
        return "codex"
    if {"id", "timestamp", "instructions"} <= record.keys():
        return "codex"
    if "sessionId" in record and ("projectHash" in record or "startTime" in record):
        return "gemini"
    if kind and ("sessionId" in record or {"uuid", "parentUuid"} <= record.keys()):
        return "claude-code"
    return None


def _object(line: bytes) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
