"""How much there is of everything in a space."""

from __future__ import annotations

from commonplace.store.postgres import jobs, sql
from commonplace.store.postgres.pool import Connection
from commonplace.store.types import Counts


def of_space(connection: Connection, space_id: int) -> Counts:
    """Everything that `status` counts, of one space."""

    def one(question: str) -> int:
        return int(sql.value(connection, question, (space_id,)))

    tally = sql.rows(
        connection, "SELECT kind, sum(items)::bigint FROM tally WHERE space_id = %s GROUP BY kind", (space_id,)
    )
    return Counts(
        items=dict(tally),
        projects=one("SELECT count(*) FROM projects WHERE space_id = %s"),
        sessions=one("SELECT count(*) FROM sessions WHERE space_id = %s"),
        passages=one("SELECT count(*) FROM passages WHERE space_id = %s"),
        vectors=one("SELECT count(*) FROM vectors WHERE space_id = %s"),
        pending=jobs.pending(connection, space_id),
        forgotten=one("SELECT count(*) FROM items WHERE space_id = %s AND forgotten_ms IS NOT NULL"),
        bytes=size(connection),
    )


def of_projects(connection: Connection, space_id: int, project_ids: tuple[int, ...]) -> Counts:
    """The same, of what belongs to these projects."""
    bindings = (space_id, list(project_ids))
    here = "project_id = ANY(%s::bigint[])"

    def one(question: str) -> int:
        return int(sql.value(connection, question, bindings))

    tally = f"SELECT kind, sum(items)::bigint FROM tally WHERE space_id = %s AND {here} GROUP BY kind"
    inside = f"JOIN items i ON i.space_id = p.space_id AND i.id = p.item_id WHERE i.space_id = %s AND i.{here}"
    return Counts(
        items=dict(sql.rows(connection, tally, bindings)),
        projects=len(project_ids),
        sessions=one(f"SELECT count(*) FROM sessions WHERE space_id = %s AND {here}"),
        passages=one(f"SELECT count(*) FROM passages p {inside}"),
        vectors=one(f"SELECT count(*) FROM vectors WHERE space_id = %s AND {here}"),
        pending=one(
            f"SELECT count(*) FROM jobs j JOIN passages p ON p.space_id = j.space_id AND p.id = j.passage_id {inside}"
            f" AND j.kind = 'embed' AND j.tries < {jobs.MAX_TRIES}"
        ),
        forgotten=one(f"SELECT count(*) FROM items WHERE space_id = %s AND {here} AND forgotten_ms IS NOT NULL"),
        bytes=size(connection),
    )


def size(connection: Connection) -> int:
    """Bytes of the whole database."""
    return int(sql.value(connection, "SELECT pg_database_size(current_database())"))
