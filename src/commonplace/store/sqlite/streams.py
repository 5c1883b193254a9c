"""Streams: a memory that arrives in chunks, kept in the file so that any process can go on with it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from commonplace.model import Draft, Stored, Stream
from commonplace.store.damage import list_of
from commonplace.store.sql import projects
from commonplace.store.sqlite import sql, writing
from commonplace.store.sqlite.connection import SqliteConnection
from commonplace.store.sqlite.space import SqliteSpace
from commonplace.store.types import StreamCheck

# How many letters tell whoever adds a chunk what stands before it.
_END = 100


class Streams(SqliteSpace):
    """The engine's part about streams."""

    def start_stream(self, stream: Stream, most: int, idle_before_ms: int) -> bool:
        with self._database.write() as connection:
            empty_idle(connection, self._space_id, idle_before_ms)
            if count_open(connection, self._space_id, idle_before_ms) >= most:
                return False
            start(connection, self._space_id, stream)
            return True

    def streams(self, idle_before_ms: int) -> list[Stream]:
        with self._database.read() as connection:
            return open_ones(connection, self._space_id, idle_before_ms)

    def append_stream(
        self, stream_id: str, chunk_after: Callable[[str], str], check: StreamCheck, now_ms: int
    ) -> Stream:
        with self._database.write() as connection:
            check(get(connection, self._space_id, stream_id))
            chunk = chunk_after(_end_of(connection, stream_id))
            return append(connection, self._space_id, stream_id, chunk, now_ms)

    def finalize_stream(
        self, stream_id: str, draft_of: Callable[[Stream, str], Draft], check: StreamCheck, now_ms: int
    ) -> tuple[Stream, Stored]:
        with self._database.write() as connection:
            stream = check(get(connection, self._space_id, stream_id))
            made = finalize(connection, self._space_id, stream, lambda text: draft_of(stream, text), now_ms)
            return stream, made

    def cancel_stream(self, stream_id: str, check: StreamCheck, now_ms: int) -> Stream:
        with self._database.write() as connection:
            stream = check(get(connection, self._space_id, stream_id))
            cancel(connection, self._space_id, stream_id, now_ms)
            return stream


def start(connection: SqliteConnection, space_id: int, stream: Stream) -> None:
    project_id = None
    if stream.project is not None:
        project_id = projects.find_or_create(connection, space_id, stream.project, stream.touched_ms)
    connection.execute(
        "INSERT INTO streams (id, space_id, project_id, type, tags, created_ms, touched_ms)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (stream.id, space_id, project_id, stream.type, json.dumps(stream.tags), stream.touched_ms, stream.touched_ms),
    )


def get(connection: SqliteConnection, space_id: int, stream_id: str) -> Stream | None:
    """A stream with its sizes."""
    found = _streams(connection, space_id, "AND s.id = ?", (stream_id,))
    return found[0] if found else None


def open_ones(connection: SqliteConnection, space_id: int, idle_before_ms: int) -> list[Stream]:
    """Streams that can be continued, oldest first."""
    condition = "AND s.status = 'open' AND s.touched_ms >= ? ORDER BY s.created_ms, s.id"
    return _streams(connection, space_id, condition, (idle_before_ms,))


def count_open(connection: SqliteConnection, space_id: int, idle_before_ms: int) -> int:
    question = "SELECT count(*) FROM streams WHERE space_id = ? AND status = 'open' AND touched_ms >= ?"
    return int(sql.value(connection, question, (space_id, idle_before_ms)))


def empty_idle(connection: SqliteConnection, space_id: int, idle_before_ms: int) -> None:
    """Drop the chunks of streams that nobody continued. The streams stay, so that whoever comes back is told why."""
    connection.execute(
        "DELETE FROM stream_parts WHERE stream_id IN"
        " (SELECT id FROM streams WHERE space_id = ? AND status = 'open' AND touched_ms < ?)",
        (space_id, idle_before_ms),
    )


def append(connection: SqliteConnection, space_id: int, stream_id: str, chunk: str, now_ms: int) -> Stream:
    connection.execute(
        "INSERT INTO stream_parts (stream_id, seq, text)"
        " SELECT ?1, coalesce(max(seq), 0) + 1, ?2 FROM stream_parts WHERE stream_id = ?1",
        (stream_id, chunk),
    )
    connection.execute("UPDATE streams SET touched_ms = ? WHERE space_id = ? AND id = ?", (now_ms, space_id, stream_id))
    stream = get(connection, space_id, stream_id)
    assert stream is not None
    return stream


def _end_of(connection: SqliteConnection, stream_id: str) -> str:
    """The last letters of what a stream holds, however small its chunks are."""
    question = "SELECT text FROM stream_parts WHERE stream_id = ? AND text <> '' ORDER BY seq DESC LIMIT ?"
    parts = [part[-_END:] for (part,) in sql.rows(connection, question, (stream_id, _END))]
    return "".join(reversed(parts))[-_END:]


def finalize(
    connection: SqliteConnection, space_id: int, stream: Stream, draft_of: Callable[[str], Draft], now_ms: int
) -> Stored:
    """Make the memory and close the stream."""
    parts = sql.rows(connection, "SELECT text FROM stream_parts WHERE stream_id = ? ORDER BY seq", (stream.id,))
    stored = writing.put(connection, space_id, draft_of("".join(part for (part,) in parts)), now_ms)
    _close(connection, space_id, stream.id, "finalized", stored.id, now_ms)
    return stored


def cancel(connection: SqliteConnection, space_id: int, stream_id: str, now_ms: int) -> None:
    """Close the stream and drop its chunks."""
    _close(connection, space_id, stream_id, "cancelled", None, now_ms)


def _close(
    connection: SqliteConnection, space_id: int, stream_id: str, status: str, item_id: int | None, now_ms: int
) -> None:
    connection.execute(
        "UPDATE streams SET status = ?, item_id = ?, touched_ms = ? WHERE space_id = ? AND id = ?",
        (status, item_id, now_ms, space_id, stream_id),
    )
    connection.execute("DELETE FROM stream_parts WHERE stream_id = ?", (stream_id,))


def _streams(connection: SqliteConnection, space_id: int, condition: str, bindings: Sequence[object]) -> list[Stream]:
    rows = sql.rows(
        connection,
        f"""
        SELECT s.id, s.type, s.tags, p.name, s.status, s.created_ms, s.touched_ms,
               (SELECT count(*) FROM stream_parts t WHERE t.stream_id = s.id),
               (SELECT coalesce(sum(length(text)), 0) FROM stream_parts t WHERE t.stream_id = s.id)
          FROM streams s LEFT JOIN projects p ON p.id = s.project_id WHERE s.space_id = ? {condition}
        """,
        (space_id, *bindings),
    )
    return [
        Stream(id_, type_, tuple(list_of(tags)), project, status, created, touched, chunks, characters)
        for id_, type_, tags, project, status, created, touched, chunks, characters in rows
    ]
