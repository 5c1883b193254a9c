"""Imports: any bytes under any name are kept, or told as skipped, in a memory as for real."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import apsw

from commonplace.capture.import_files import ImportRun
from commonplace.capture.importers.formats import FORMATS, detect_format
from commonplace.memory.sync_and_archive import ARCHIVE_FILES, ARCHIVE_FORMAT, ARCHIVE_VERSION, MANIFEST, RecordKind
from fuzzing import workspace
from fuzzing.target import must

WORDS = (
    *('"mapping"', '"message"', '"author"', '"role"', '"content"', '"parts"', '"children"', '"parent"', '"id"'),
    *('"current_node"', '"create_time"', '"title"', '"chat_messages"', '"sender"', '"human"', '"text"', '"name"'),
    *('"conversations"', '"messages"', '"label"', '"folder"', '"timestamp"', '"metadata"', '"importance_score"'),
    *('"_meta"', '"_type"', '"memories"', '"tags"', '"causantic-archive"', '"chunks"', '"edges"', '"clusters"'),
    *('"what"', '"item"', '"session"', '"project"', '"fields"', '"history"', '"version"', '"rev"', '"op"', '"before"'),
    *('"totalObservations"', '"observations"', '"entityType"', '"relationType"', '"created_at_epoch"', '"source"'),
    *("## User", "**Assistant:**", "User:", "AI:", "# T", "---", "```", "## Conversation", "**User** (2026-01-20):"),
    *("null", "true", "{}", "[]", "1e999", "-1", "1742049000", '"\\ud800"', '""', "\n", ",", ":", "{", "}", "[", "]"),
)
NAMES = {"markdown": "chat.md", "text": "chat.txt"}


def takes(format_: str) -> Callable[[bytes], None]:
    """What reads one format."""
    return partial(_stream, format_)


def _stream(format_: str, data: bytes) -> None:
    name = NAMES.get(format_, "export.json")
    must(detect_format(data, name) in (*FORMATS, None), "a file has one of the known formats, or none")
    importing = ImportRun(workspace.memory(), format_=format_)
    importing.add_stream(io.BytesIO(data), name)
    json.dumps(importing.finish().as_json(dry_run=False)).encode()


def take_any(data: bytes) -> None:
    """A file by what is in it: also a zip, a database, or one half of either."""
    name, _, content = data.partition(b"\n")
    path = workspace.file(f"any{name[:9].decode('ascii', 'ignore').replace('/', '').replace(chr(0), '')}", content)
    try:
        importing = ImportRun(workspace.memory())
        importing.add(path)
        json.dumps(importing.finish().as_json(dry_run=False)).encode()
    finally:
        path.unlink()


def take_archive(data: bytes) -> None:
    """An archive of our own that says of itself that it is whole: a record in each line, whoever wrote it."""
    files: dict[RecordKind, dict[str, bytes]] = {what: {} for what in ARCHIVE_FILES}
    for line in data.split(b"\n"):
        try:
            record = json.loads(line)
            files[record["what"]][record["name"]] = line + b"\n"
        except (ValueError, LookupError, TypeError, RecursionError):
            continue
    promised = []
    for what, lines in files.items():
        content = b"".join(lines[name] for name in sorted(lines, key=str))
        workspace.file(f"archive/{ARCHIVE_FILES[what]}", content)
        digest = hashlib.sha256(content).hexdigest()
        promised.append({"name": ARCHIVE_FILES[what], "lines": len(lines), "bytes": len(content), "sha256": digest})
    manifest = {"format": ARCHIVE_FORMAT, "version": ARCHIVE_VERSION, "files": promised}
    path = workspace.file(f"archive/{MANIFEST}", json.dumps(manifest).encode())
    importing = ImportRun(workspace.memory())
    importing.add(path.parent)
    json.dumps(importing.finish().as_json(dry_run=False)).encode()


def take_database(data: bytes) -> None:
    """A database of another memory, told by statements: `table column column ...`, then rows of JSON."""
    path = workspace.file("theirs.db", b"")
    path.unlink()
    connection = apsw.Connection(str(path))
    try:
        _fill(connection, data.decode("utf-8", "replace").split("\n"))
    finally:
        connection.close()
    importing = ImportRun(workspace.memory())
    importing.add(path)
    json.dumps(importing.finish().as_json(dry_run=False)).encode()


def _fill(connection: apsw.Connection, lines: list[str]) -> None:
    table, width = "", 0
    for line in lines[:100]:
        if line.startswith("["):
            try:
                row = json.loads(line)[:width]
            except (ValueError, RecursionError):
                continue
            cells = [cell if isinstance(cell, (int, float, str, type(None))) else json.dumps(cell) for cell in row]
            if cells and table and all(not isinstance(cell, int) or abs(cell) < 2**63 for cell in cells):
                marks = ", ".join("?" * len(cells))
                _run(connection, f"INSERT INTO {table} VALUES ({marks}{', NULL' * (width - len(cells))})", cells)
        else:
            names = [f'"{word}"' for word in line.replace('"', "").replace("\0", "").split()[:40]]
            if len(names) > 1 and _run(connection, f"CREATE TABLE {names[0]} ({', '.join(names[1:])})"):
                table, width = names[0], len(names) - 1


def _run(connection: apsw.Connection, statement: str, values: Sequence[Any] = ()) -> bool:
    """Whether the database took it: two tables or columns of one name are no input."""
    try:
        connection.execute(statement, tuple(values))
    except (apsw.Error, UnicodeEncodeError):
        return False
    return True
