"""What the stores of both engines have in common: the parts, and the counts of what all of them hold."""

from __future__ import annotations

from commonplace.store.sql import projects
from commonplace.store.sql.captures_and_sources import Captures, Sources
from commonplace.store.sql.connection import IN_LIST, Connection, allow_replica
from commonplace.store.sql.conversations import Conversations
from commonplace.store.sql.events_and_replies import Events, Replies
from commonplace.store.sql.integrity_and_scrubbing import Scrubbing
from commonplace.store.sql.item_writes import ItemWrites, Streams
from commonplace.store.sql.items import Items
from commonplace.store.sql.items_by_time import Periods
from commonplace.store.sql.keys_and_spaces import ApiKeys, Spaces
from commonplace.store.sql.links import Links
from commonplace.store.sql.projects import Projects
from commonplace.store.sql.records import Records
from commonplace.store.sql.topics import Topics
from commonplace.store.sql.vectors import pending
from commonplace.store.types import MAX_EMBED_TRIES, Counts


class SharedStore(
    ApiKeys,
    Captures,
    Conversations,
    Events,
    Items,
    ItemWrites,
    Links,
    Periods,
    Projects,
    Records,
    Replies,
    Scrubbing,
    Sources,
    Spaces,
    Streams,
    Topics,
):
    """One space of one database. An engine adds full text, vectors, and its connections."""

    @allow_replica
    def counts(self, project: str | None = None) -> Counts:
        with self._database.read() as connection:
            if project is None:
                return _counts(connection, self._space_id)
            return _counts_of(connection, self._space_id, projects.find(connection, self._space_id, project))

    def size(self) -> int:
        with self._database.read() as connection:
            return connection.database_size()


def _counts(connection: Connection, space_id: int) -> Counts:
    """What is in a space."""

    def one(rows: str) -> int:
        return int(connection.value(f"SELECT count(*) FROM {rows}", (space_id,)))

    tally = "SELECT kind, CAST(sum(items) AS bigint) FROM tally WHERE space_id = ? GROUP BY kind"
    return Counts(
        items=dict(connection.rows(tally, (space_id,))),
        projects=one("projects WHERE space_id = ?"),
        sessions=one("sessions WHERE space_id = ?"),
        passages=one("passages WHERE space_id = ?"),
        vectors=one("vectors WHERE space_id = ?"),
        pending=pending(connection, space_id),
        forgotten=one("items WHERE space_id = ? AND forgotten_ms IS NOT NULL"),
        bytes=connection.database_size(),
    )


def _counts_of(connection: Connection, space_id: int, project_ids: tuple[int, ...]) -> Counts:
    """What is in some projects of a space."""
    bindings = (space_id, connection.array(project_ids))
    here = f"project_id {IN_LIST}"
    inside = f"JOIN items i ON i.space_id = p.space_id AND i.id = p.item_id WHERE i.space_id = ? AND i.{here}"

    def one(rows: str) -> int:
        return int(connection.value(f"SELECT count(*) FROM {rows}", bindings))

    tally = f"SELECT kind, CAST(sum(items) AS bigint) FROM tally WHERE space_id = ? AND {here} GROUP BY kind"
    return Counts(
        items=dict(connection.rows(tally, bindings)),
        projects=len(project_ids),
        sessions=one(f"sessions WHERE space_id = ? AND {here}"),
        passages=one(f"passages p {inside}"),
        vectors=one(f"vectors WHERE space_id = ? AND {here}"),
        pending=one(
            f"jobs j JOIN passages p ON p.space_id = j.space_id AND p.id = j.passage_id {inside}"
            f" AND j.kind = 'embed' AND j.tries < {MAX_EMBED_TRIES}"
        ),
        forgotten=one(f"items WHERE space_id = ? AND {here} AND forgotten_ms IS NOT NULL"),
        bytes=connection.database_size(),
    )
