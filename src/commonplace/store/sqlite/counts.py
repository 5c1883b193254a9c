"""How much there is of everything in a space."""

from __future__ import annotations

import apsw

from commonplace.store.protocol import Counts
from commonplace.store.sqlite import jobs, sql


def of_space(connection: apsw.Connection, space_id: int) -> Counts:
    """Everything that `status` counts, of one space."""

    def one(question: str) -> int:
        return int(sql.value(connection, question, (space_id,)))

    tally = sql.rows(connection, "SELECT kind, sum(items) FROM tally WHERE space_id = ? GROUP BY kind", (space_id,))
    return Counts(
        items=dict(tally),
        projects=one("SELECT count(*) FROM projects WHERE space_id = ?"),
        sessions=one("SELECT count(*) FROM sessions WHERE space_id = ?"),
        passages=one("SELECT count(*) FROM passages WHERE space_id = ?"),
        vectors=one("SELECT count(*) FROM vectors WHERE space_id = ?"),
        pending=jobs.pending(connection, space_id),
        forgotten=one("SELECT count(*) FROM items WHERE space_id = ? AND forgotten_ms IS NOT NULL"),
        bytes=size(connection),
    )


def of_projects(connection: apsw.Connection, space_id: int, project_ids: tuple[int, ...]) -> Counts:
    """The same, of what belongs to these projects."""
    marks = ", ".join("?" * len(project_ids))
    bindings = (space_id, *project_ids)

    def one(question: str) -> int:
        return int(sql.value(connection, question.format(marks=marks), bindings))

    tally = f"SELECT kind, sum(items) FROM tally WHERE space_id = ? AND project_id IN ({marks}) GROUP BY kind"
    inside = "JOIN items i ON i.id = p.item_id WHERE i.space_id = ? AND i.project_id IN ({marks})"
    return Counts(
        items=dict(sql.rows(connection, tally, bindings)),
        projects=len(project_ids),
        sessions=one("SELECT count(*) FROM sessions WHERE space_id = ? AND project_id IN ({marks})"),
        passages=one(f"SELECT count(*) FROM passages p {inside}"),
        vectors=one("SELECT count(*) FROM vectors WHERE space_id = ? AND project_id IN ({marks})"),
        pending=one(
            f"SELECT count(*) FROM jobs j JOIN passages p ON p.id = j.passage_id {inside}"
            f" AND j.kind = 'embed' AND j.tries < {jobs.MAX_TRIES}"
        ),
        forgotten=one(
            "SELECT count(*) FROM items WHERE space_id = ? AND project_id IN ({marks}) AND forgotten_ms IS NOT NULL"
        ),
        bytes=size(connection),
    )


def size(connection: apsw.Connection) -> int:
    """Bytes of the whole file."""
    return int(connection.pragma("page_count")) * int(connection.pragma("page_size"))
