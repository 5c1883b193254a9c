"""Streams: a memory that arrives in chunks, kept in the database so that any server can go on with it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from commonplace.model import Draft, Stored, Stream
from commonplace.store.damage import list_of
from commonplace.store.postgres import sql, writing
from commonplace.store.postgres.pool import Connection
from commonplace.store.postgres.space import PostgresSpace
from commonplace.store.sql import projects
from commonplace.store.types import StreamCheck

# How many letters tell whoever adds a chunk what stands before it.
_END = 100


class Streams(PostgresSpace):
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
            chunk = chunk_after(_end_of(connection, self._space_id, stream_id))
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


def start(connection: Connection, space_id: int, stream: Stream) -> None:
    project_id = None
    if stream.project is not None:
        project_id = projects.find_or_create(connection, space_id, stream.project, stream.touched_ms)
    sql.run(
        connection,
        "INSERT INTO streams (space_id, id, project_id, type, tags, created_ms, touched_ms)"
        " VALUES (%s, %s, %s, %s, %s, %s, %s)",
        (space_id, stream.id, project_id, stream.type, json.dumps(stream.tags), stream.touched_ms, stream.touched_ms),
    )


def get(connection: Connection, space_id: int, stream_id: str) -> Stream | None:
    """A stream with its sizes."""
    found = _streams(connection, space_id, "AND s.id = %s", (stream_id,))
    return found[0] if found else None


def open_ones(connection: Connection, space_id: int, idle_before_ms: int) -> list[Stream]:
    """Streams that can be continued, oldest first."""
    condition = "AND s.status = 'open' AND s.touched_ms >= %s ORDER BY s.created_ms, s.id"
    return _streams(connection, space_id, condition, (idle_before_ms,))


def count_open(connection: Connection, space_id: int, idle_before_ms: int) -> int:
    question = "SELECT count(*) FROM streams WHERE space_id = %s AND status = 'open' AND touched_ms >= %s"
    return int(sql.value(connection, question, (space_id, idle_before_ms)))


def empty_idle(connection: Connection, space_id: int, idle_before_ms: int) -> None:
    """Drop the chunks of streams that nobody continued. The streams stay, so that whoever comes back is told why."""
    sql.run(
        connection,
        "DELETE FROM stream_parts t USING streams s WHERE t.space_id = %s AND s.space_id = t.space_id"
        " AND s.id = t.stream_id AND s.status = 'open' AND s.touched_ms < %s",
        (space_id, idle_before_ms),
    )


def append(connection: Connection, space_id: int, stream_id: str, chunk: str, now_ms: int) -> Stream:
    sql.run(
        connection,
        "INSERT INTO stream_parts (space_id, stream_id, seq, text)"
        " SELECT %(space)s::integer, %(stream)s::text, coalesce(max(seq), 0) + 1, %(chunk)s::text"
        "   FROM stream_parts WHERE space_id = %(space)s AND stream_id = %(stream)s",
        {"space": space_id, "stream": stream_id, "chunk": chunk},
    )
    touch = "UPDATE streams SET touched_ms = %s WHERE space_id = %s AND id = %s"
    sql.run(connection, touch, (now_ms, space_id, stream_id))
    stream = get(connection, space_id, stream_id)
    assert stream is not None
    return stream


def _end_of(connection: Connection, space_id: int, stream_id: str) -> str:
    """The last letters of what a stream holds, however small its chunks are."""
    rows = sql.rows(
        connection,
        "SELECT right(text, %(end)s) FROM stream_parts"
        " WHERE space_id = %(space)s AND stream_id = %(stream)s AND text <> '' ORDER BY seq DESC LIMIT %(end)s",
        {"space": space_id, "stream": stream_id, "end": _END},
    )
    return "".join(part for (part,) in reversed(rows))[-_END:]


def finalize(
    connection: Connection, space_id: int, stream: Stream, draft_of: Callable[[str], Draft], now_ms: int
) -> Stored:
    """Make the memory and close the stream."""
    question = "SELECT text FROM stream_parts WHERE space_id = %s AND stream_id = %s ORDER BY seq"
    text = "".join(part for (part,) in sql.rows(connection, question, (space_id, stream.id)))
    stored = writing.put(connection, space_id, draft_of(text), now_ms)
    _close(connection, space_id, stream.id, "finalized", stored.id, now_ms)
    return stored


def cancel(connection: Connection, space_id: int, stream_id: str, now_ms: int) -> None:
    """Close the stream and drop its chunks."""
    _close(connection, space_id, stream_id, "cancelled", None, now_ms)


def _close(
    connection: Connection, space_id: int, stream_id: str, status: str, item_id: int | None, now_ms: int
) -> None:
    sql.run(
        connection,
        "UPDATE streams SET status = %s, item_id = %s, touched_ms = %s WHERE space_id = %s AND id = %s",
        (status, item_id, now_ms, space_id, stream_id),
    )
    sql.run(connection, "DELETE FROM stream_parts WHERE space_id = %s AND stream_id = %s", (space_id, stream_id))


def _streams(connection: Connection, space_id: int, condition: str, bindings: Sequence[object]) -> list[Stream]:
    rows = sql.rows(
        connection,
        f"""
        SELECT s.id, s.type, s.tags, p.name, s.status, s.created_ms, s.touched_ms, t.chunks, t.characters
          FROM streams s LEFT JOIN projects p ON p.space_id = s.space_id AND p.id = s.project_id
               CROSS JOIN LATERAL (SELECT count(*) AS chunks, coalesce(sum(length(text)), 0) AS characters
                                     FROM stream_parts WHERE space_id = s.space_id AND stream_id = s.id) t
         WHERE s.space_id = %s {condition}
        """,
        (space_id, *bindings),
    )
    return [Stream(id_, type_, tuple(list_of(tags)), *rest) for id_, type_, tags, *rest in rows]
