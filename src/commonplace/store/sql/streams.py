"""Streams: memories that arrive in chunks, stored so that any process can go on with them after a restart."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from commonplace.model import Draft, Stored, Stream
from commonplace.store.damaged_values import list_of
from commonplace.store.sql import item_writes, projects
from commonplace.store.sql.connection import Connection
from commonplace.store.sql.space import Space
from commonplace.store.types import StreamCheck

# How many of the last characters are shown to whoever adds a chunk.
_END = 100
# Chunks have no column for the space on SQLite.
_CHUNKS = "stream_parts WHERE /*pg space_id = ?1 AND */ stream_id = ?2"
_SELECT = """
SELECT s.id, s.type, s.tags, p.name, s.status, s.created_ms, s.touched_ms,
       (SELECT count(*) FROM stream_parts t WHERE /*pg t.space_id = s.space_id AND */ t.stream_id = s.id),
       (SELECT CAST(coalesce(sum(length(t.text)), 0) AS bigint) FROM stream_parts t
         WHERE /*pg t.space_id = s.space_id AND */ t.stream_id = s.id)
  FROM streams s LEFT JOIN projects p ON p.space_id = s.space_id AND p.id = s.project_id WHERE s.space_id = ?
"""


class Streams(Space):
    """The streams of one space."""

    def start_stream(self, stream: Stream, most: int, idle_before_ms: int) -> bool:
        with self._database.write() as connection:
            _drop_idle_chunks(connection, self._space_id, idle_before_ms)
            select = "SELECT count(*) FROM streams WHERE space_id = ? AND status = 'open' AND touched_ms >= ?"
            if connection.value(select, (self._space_id, idle_before_ms)) >= most:
                return False
            _insert(connection, self._space_id, stream)
            return True

    def streams(self, idle_before_ms: int) -> list[Stream]:
        with self._database.read() as connection:
            condition = "AND s.status = 'open' AND s.touched_ms >= ? ORDER BY s.created_ms, s.id"
            return _streams(connection, self._space_id, condition, (idle_before_ms,))

    def append_stream(
        self, stream_id: str, chunk_after: Callable[[str], str], check: StreamCheck, now_ms: int
    ) -> Stream:
        with self._database.write() as connection:
            check(_get(connection, self._space_id, stream_id))
            chunk = chunk_after(_end_of(connection, self._space_id, stream_id))
            _append(connection, self._space_id, stream_id, chunk, now_ms)
            stream = _get(connection, self._space_id, stream_id)
            assert stream is not None
            return stream

    def finalize_stream(
        self, stream_id: str, draft_of: Callable[[Stream, str], Draft], check: StreamCheck, now_ms: int
    ) -> tuple[Stream, Stored]:
        with self._database.write() as connection:
            stream = check(_get(connection, self._space_id, stream_id))
            chunks = connection.rows(f"SELECT text FROM {_CHUNKS} ORDER BY seq", (self._space_id, stream.id))
            draft = draft_of(stream, "".join(chunk for (chunk,) in chunks))
            stored = item_writes.put(connection, self._space_id, draft, now_ms)
            _close(connection, self._space_id, stream.id, "finalized", stored.id, now_ms)
            return stream, stored

    def cancel_stream(self, stream_id: str, check: StreamCheck, now_ms: int) -> Stream:
        with self._database.write() as connection:
            stream = check(_get(connection, self._space_id, stream_id))
            _close(connection, self._space_id, stream_id, "cancelled", None, now_ms)
            return stream


def _insert(connection: Connection, space_id: int, stream: Stream) -> None:
    project_id = None
    if stream.project is not None:
        project_id = projects.find_or_create(connection, space_id, stream.project, stream.touched_ms)
    connection.run(
        "INSERT INTO streams (space_id, id, project_id, type, tags, created_ms, touched_ms)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (space_id, stream.id, project_id, stream.type, json.dumps(stream.tags), stream.touched_ms, stream.touched_ms),
    )


def _get(connection: Connection, space_id: int, stream_id: str) -> Stream | None:
    found = _streams(connection, space_id, "AND s.id = ?", (stream_id,))
    return found[0] if found else None


def _streams(connection: Connection, space_id: int, condition: str, bindings: Sequence[object]) -> list[Stream]:
    rows = connection.rows(f"{_SELECT} {condition}", (space_id, *bindings))
    return [Stream(id_, type_, tuple(list_of(tags)), *rest) for id_, type_, tags, *rest in rows]


def _drop_idle_chunks(connection: Connection, space_id: int, idle_before_ms: int) -> None:
    """Delete the chunks of abandoned streams. The streams stay, so that whoever comes back learns why."""
    connection.run(
        "DELETE FROM stream_parts WHERE /*pg space_id = ?1 AND */ stream_id IN"
        " (SELECT id FROM streams WHERE space_id = ?1 AND status = 'open' AND touched_ms < ?2)",
        (space_id, idle_before_ms),
    )


def _append(connection: Connection, space_id: int, stream_id: str, chunk: str, now_ms: int) -> None:
    connection.run(
        "INSERT INTO stream_parts (/*pg space_id, */ stream_id, seq, text)"
        " SELECT /*pg CAST(?1 AS integer), */ CAST(?2 AS text), coalesce(max(seq), 0) + 1, CAST(?3 AS text)"
        f" FROM {_CHUNKS}",
        (space_id, stream_id, chunk),
    )
    touch = "UPDATE streams SET touched_ms = ? WHERE space_id = ? AND id = ?"
    connection.run(touch, (now_ms, space_id, stream_id))


def _end_of(connection: Connection, space_id: int, stream_id: str) -> str:
    """The last characters of a stream, however small its chunks are."""
    select = f"SELECT substr(text, -{_END}) FROM {_CHUNKS} AND text <> '' ORDER BY seq DESC LIMIT {_END}"
    chunks = connection.rows(select, (space_id, stream_id))
    return "".join(chunk for (chunk,) in reversed(chunks))[-_END:]


def _close(
    connection: Connection, space_id: int, stream_id: str, status: str, item_id: int | None, now_ms: int
) -> None:
    connection.run(
        "UPDATE streams SET status = ?, item_id = ?, touched_ms = ? WHERE space_id = ? AND id = ?",
        (status, item_id, now_ms, space_id, stream_id),
    )
    connection.run(f"DELETE FROM {_CHUNKS}", (space_id, stream_id))
