"""Sessions of coding agents: any bytes in any of their files are turns that can be told, or counted as unreadable."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import apsw

from commonplace.capture.transcripts import detect_source, read_sessions, session_title, turn_messages
from commonplace.hosts.transcript import Position, Source
from fuzzing import workspace
from fuzzing.target import must

WORDS = (
    *('"type"', '"user"', '"assistant"', '"message"', '"content"', '"tool_use"', '"tool_result"', '"uuid"', '"id"'),
    *('"parentUuid"', '"sessionId"', '"timestamp"', '"2026-03-15T10:00:00Z"', '"isSidechain"', '"toolUseResult"'),
    *('"payload"', '"response_item"', '"session_meta"', '"function_call"', '"arguments"', '"output"', '"call_id"'),
    *('"event_msg"', '"compacted"', '"$set"', '"$rewindTo"', '"messages"', '"gemini"', '"toolCalls"', '"thoughts"'),
    *('"bubbleId"', '"composerData:c"', '"conversation"', '"toolFormerData"', '"params"', '"result"', '"createdAt"'),
    *("null", "true", "{}", "[]", "1e999", "-1", '"\\ud800"', '""', "\n", ",", ":", "{", "}", "[", "]", '"text"'),
)


def takes(source: Source) -> Callable[[bytes], None]:
    """What reads the files of a product."""
    return partial(_database if source == "cursor" else _lines, source)


def _lines(source: Source, data: bytes) -> None:
    path = workspace.file("session.jsonl", data)
    detect_source(path)
    _readable(path, source)
    # A file that grew is read on from where its last turn began.
    for reading in read_sessions(path, source, _position(path, source, data)):
        list(reading)


def _position(path: Path, source: Source, data: bytes) -> Position:
    path.write_bytes(data[: len(data) // 2])
    (reading,) = read_sessions(path, source)
    list(reading)
    path.write_bytes(data)
    position = reading.position
    must(Position.from_json(json.loads(json.dumps(position.as_json()))) == position, "a position can be noted")
    return position


def _database(source: Source, data: bytes) -> None:
    """A database of Cursor's whose entries are the lines: a key, a tab, a value. Or what is no database at all."""
    path = workspace.file("state.vscdb", data)
    if not data.startswith(b"SQLite format 3\0"):
        path.unlink()
        with apsw.Connection(str(path)) as connection:
            connection.execute("CREATE TABLE cursorDiskKV (key, value); CREATE TABLE ItemTable (key, value)")
            for line in data.split(b"\n")[:50]:
                key, _, value = line.partition(b"\t")
                table = "cursorDiskKV" if key.startswith((b"composerData:", b"bubbleId:")) else "ItemTable"
                name = key.decode("utf-8", "replace")
                connection.execute(f"INSERT INTO {table} VALUES (?, ?)", (name, value.decode("utf-8", "replace")))
        connection.close()
    detect_source(path)
    _readable(path, source)


def _readable(path: Path, source: Source) -> None:
    """Tell the turns of all sessions in a file as messages."""
    for reading in read_sessions(path, source):
        messages = []
        for turn in reading:
            must(bool(turn.identity and turn.blocks and turn.digest), "a turn is known by its identity and its digest")
            messages += list(turn_messages(turn))
        must(isinstance(session_title(reading.transcript, messages), str), "a session has a title or none")
        json.dumps(reading.position.as_json())
