"""The engine's part about links: made in small transactions after the writing, read by whoever walks along them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from commonplace.store.link_rules import PASSAGE_TEXT_COLUMNS, linked_passage, may_refer_back, text_of
from commonplace.store.postgres import sql
from commonplace.store.postgres.linking import Linker
from commonplace.store.postgres.pool import Connection
from commonplace.store.postgres.space import PostgresSpace
from commonplace.store.sql import projects
from commonplace.store.types import Edge, FindReferences

# Seconds to wait for a turn to write: linking can be done later.
PATIENCE = 0.25

_SINCE = f"""
SELECT {PASSAGE_TEXT_COLUMNS}
  FROM passages p JOIN items i ON i.space_id = p.space_id AND i.id = p.item_id
 WHERE p.space_id = %s AND p.id > %s AND p.id <= %s ORDER BY p.id LIMIT %s
"""
_HERE = "AND n.project_id = ANY(%(projects)s::bigint[]) AND o.project_id = ANY(%(projects)s::bigint[])"


class Links(PostgresSpace):
    """Edges of one space."""

    def link(self, limit: int, describe: FindReferences, now_ms: int) -> int:
        with self._database.read() as connection:
            since = _mark(connection, self._space_id)
            until = _newest(connection, self._space_id)
            rows = sql.rows(connection, _SINCE, (self._space_id, since, until, limit)) if until > since else []
        if until <= since:
            return 0
        if len(rows) == limit:
            until = rows[-1][0]
        # Reading takes the most time, and needs no lock.
        read = [(linked_passage(row), describe(text_of(row)), may_refer_back(row)) for row in rows]
        with self._database.write(patience=PATIENCE) as connection:
            # Others may have come first, or an item may have been cut anew.
            done_before = _mark(connection, self._space_id)
            there = _existing(
                connection, self._space_id, [spot.id for spot, _found, _by in read if spot.id > done_before]
            )
            linker = Linker(connection, self._space_id, now_ms)
            for spot, found, spoken in read:
                if spot.id in there:
                    linker.link(spot, found, speaks=spoken)
            if until > done_before:
                sql.run(
                    connection,
                    "INSERT INTO meta (space_id, key, value) VALUES (%s, 'linked', %s)"
                    " ON CONFLICT (space_id, key) DO UPDATE SET value = excluded.value",
                    (self._space_id, str(until)),
                )
            return len(there)

    def count_unlinked(self) -> int:
        with self._database.read() as connection:
            bindings = (self._space_id, _mark(connection, self._space_id))
            question = "SELECT count(*) FROM passages WHERE space_id = %s AND id > %s"
            return int(sql.value(connection, question, bindings))

    def edges_of(self, passage_ids: Sequence[int], most_each: int, project: str | None = None) -> list[Edge]:
        with self._database.read(self._query_timeout) as connection:
            bindings: dict[str, object] = {"space": self._space_id, "passages": list(passage_ids)}
            here = ""
            if project is not None:
                bindings["projects"] = list(projects.find(connection, self._space_id, project))
                here = _HERE
            rows = [
                (weight, side, src, dst, rel)
                for side, (near, far) in enumerate((("src", "dst"), ("dst", "src")))
                for src, dst, rel, weight in sql.rows(connection, _edges(near, far, here), bindings)
            ]
        rows.sort(key=lambda row: (-row[0], row[1:]))
        taken: Counter[tuple[int, int]] = Counter()
        edges: dict[tuple[int, int, str], Edge] = {}
        for weight, side, src, dst, rel in rows:
            near = (side, dst if side else src)
            if taken[near] < most_each:
                taken[near] += 1
                edges[src, dst, rel] = Edge(src, dst, rel, weight)
        return list(edges.values())

    def sort_by_time(self, passage_ids: Sequence[int]) -> list[int]:
        with self._database.read() as connection:
            rows = sql.rows(
                connection,
                "SELECT p.id FROM passages p JOIN items i ON i.space_id = p.space_id AND i.id = p.item_id"
                " WHERE p.space_id = %s AND p.id = ANY(%s::bigint[]) ORDER BY i.created_ms, i.id, p.seq",
                (self._space_id, list(passage_ids)),
            )
            return [row[0] for row in rows]


def _edges(near: str, far: str, here: str) -> str:
    """A question for the edges of some passages in one direction, to live ones."""
    return f"""
        SELECT e.src, e.dst, e.rel, e.weight
          FROM edges e
          JOIN passages a ON a.space_id = e.space_id AND a.id = e.{near}
          JOIN items n ON n.space_id = e.space_id AND n.id = a.item_id
          JOIN passages b ON b.space_id = e.space_id AND b.id = e.{far}
          JOIN items o ON o.space_id = e.space_id AND o.id = b.item_id
         WHERE e.space_id = %(space)s AND e.{near} = ANY(%(passages)s::bigint[])
           AND o.forgotten_ms IS NULL AND o.superseded_by IS NULL {here}
    """


def _mark(connection: Connection, space_id: int) -> int:
    """The last passage that was linked. Numbers grow in the order of transactions, so none appears before it later."""
    row = sql.first(connection, "SELECT value FROM meta WHERE space_id = %s AND key = 'linked'", (space_id,))
    return 0 if row is None else int(row[0])


def _newest(connection: Connection, space_id: int) -> int:
    return int(sql.value(connection, "SELECT coalesce(max(id), 0) FROM passages WHERE space_id = %s", (space_id,)))


def _existing(connection: Connection, space_id: int, passage_ids: Sequence[int]) -> set[int]:
    question = "SELECT id FROM passages WHERE space_id = %s AND id = ANY(%s::bigint[])"
    return {row[0] for row in sql.rows(connection, question, (space_id, list(passage_ids)))}
