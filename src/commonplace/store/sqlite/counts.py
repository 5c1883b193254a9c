"""How much there is of everything in a space."""

from __future__ import annotations

from commonplace.store.sqlite import jobs
from commonplace.store.sqlite.connection import SqliteConnection
from commonplace.store.types import Counts


def of_space(connection: SqliteConnection, space_id: int) -> Counts:
    """Everything that `status` counts, of one space."""

    def one(question: str) -> int:
        return int(connection.value(question, (space_id,)))

    tally = connection.rows("SELECT kind, sum(items) FROM tally WHERE space_id = ? GROUP BY kind", (space_id,))
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


def of_projects(connection: SqliteConnection, space_id: int, project_ids: tuple[int, ...]) -> Counts:
    """The same, of what belongs to these projects."""
    marks = ", ".join("?" * len(project_ids))
    bindings = (space_id, *project_ids)

    def one(question: str) -> int:
        return int(connection.value(question.format(marks=marks), bindings))

    tally = f"SELECT kind, sum(items) FROM tally WHERE space_id = ? AND project_id IN ({marks}) GROUP BY kind"
    inside = "JOIN items i ON i.id = p.item_id WHERE i.space_id = ? AND i.project_id IN ({marks})"
    return Counts(
        items=dict(connection.rows(tally, bindings)),
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


def size(connection: SqliteConnection) -> int:
    """Bytes of the whole file."""
    return int(connection.pragma("page_count")) * int(connection.pragma("page_size"))
