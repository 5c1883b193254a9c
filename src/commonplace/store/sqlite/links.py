"""The engine's part about links: made in small transactions after the writing, read by whoever walks along them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence

from commonplace.store.link_rules import PASSAGE_TEXT_COLUMNS, linked_passage, may_refer_back, text_of
from commonplace.store.sql import projects
from commonplace.store.sqlite import sql
from commonplace.store.sqlite.connection import SqliteConnection
from commonplace.store.sqlite.linking import Linker
from commonplace.store.sqlite.space import SqliteSpace
from commonplace.store.types import Edge, FindReferences

# Seconds to wait for a turn to write: linking can be done later.
PATIENCE = 0.25

# With a plus, so that they are read in their order, not gathered by space and sorted.
_SINCE = f"""
SELECT {PASSAGE_TEXT_COLUMNS}
  FROM passages p CROSS JOIN items i ON i.id = p.item_id
 WHERE p.id > ? AND p.id <= ? AND +p.space_id = ? ORDER BY p.id LIMIT ?
"""
_LIVE = "NOT EXISTS (SELECT 1 FROM items h INDEXED BY items_hidden WHERE h.id = o.item_id AND {hidden})".format(
    hidden="(h.forgotten_ms IS NOT NULL OR h.superseded_by IS NOT NULL)"
)
_HERE = "(SELECT i.project_id FROM items i WHERE i.id = {}.item_id) IN (SELECT value FROM json_each(?3))"


class Links(SqliteSpace):
    """Edges of one space."""

    def link(self, limit: int, describe: FindReferences, now_ms: int) -> int:
        with self._database.read() as connection:
            since = _mark(connection, self._space_id)
            until = _newest(connection)
            rows = sql.rows(connection, _SINCE, (since, until, self._space_id, limit)) if until > since else []
        if until <= since:
            return 0
        if len(rows) == limit:
            until = rows[-1][0]
        # Reading takes the most time, and needs no lock.
        read = [(linked_passage(row), describe(text_of(row)), may_refer_back(row)) for row in rows]
        with self._database.write(patience=PATIENCE) as connection:
            # Others may have come first, or an item may have been cut anew.
            done_before = _mark(connection, self._space_id)
            there = _existing(connection, [spot.id for spot, _found, _by in read if spot.id > done_before])
            linker = Linker(connection, self._space_id, now_ms)
            for spot, found, spoken in read:
                if spot.id in there:
                    linker.link(spot, found, speaks=spoken)
            if until > done_before:
                connection.execute(
                    "INSERT INTO meta (key, value) VALUES (?, ?)"
                    " ON CONFLICT (key) DO UPDATE SET value = excluded.value",
                    (f"linked:{self._space_id}", str(until)),
                )
            return len(there)

    def count_unlinked(self) -> int:
        with self._database.read() as connection:
            bindings = (_mark(connection, self._space_id), self._space_id)
            question = "SELECT count(*) FROM passages WHERE id > ? AND +space_id = ?"
            return int(sql.value(connection, question, bindings))

    def edges_of(self, passage_ids: Sequence[int], most_each: int, project: str | None = None) -> list[Edge]:
        with self._database.read(self._query_timeout) as connection:
            bindings: list[object] = [self._space_id, json.dumps(list(passage_ids))]
            among = ("1", "1")
            if project is not None:
                bindings.append(json.dumps(projects.find(connection, self._space_id, project)))
                among = (_HERE.format("n"), _HERE.format("o"))
            rows = [
                (weight, side, src, dst, rel)
                for side, (near, far) in enumerate((("src", "dst"), ("dst", "src")))
                for src, dst, rel, weight in sql.rows(connection, _edges(near, far, *among), bindings)
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
                "SELECT p.id FROM json_each(?2) j CROSS JOIN passages p ON p.id = j.value"
                " CROSS JOIN items i ON i.id = p.item_id WHERE p.space_id = ?1 ORDER BY i.created_ms, i.id, p.seq",
                (self._space_id, json.dumps(list(dict.fromkeys(passage_ids)))),
            )
            return [row[0] for row in rows]


def _edges(near: str, far: str, near_is_here: str, far_is_here: str) -> str:
    """A question for the edges of some passages in one direction, to live ones."""
    return f"""
        SELECT e.src, e.dst, e.rel, e.weight
          FROM json_each(?2) j CROSS JOIN passages n ON n.id = j.value
         CROSS JOIN edges e ON e.space_id = ?1 AND e.{near} = n.id
         CROSS JOIN passages o ON o.id = e.{far}
         WHERE n.space_id = ?1 AND {near_is_here} AND {far_is_here} AND {_LIVE}
    """


def _mark(connection: SqliteConnection, space_id: int) -> int:
    """The last passage that was linked. Numbers grow in the order of transactions, so none appears before it later."""
    row = sql.first(connection, "SELECT value FROM meta WHERE key = ?", (f"linked:{space_id}",))
    return 0 if row is None else int(row[0])


def _newest(connection: SqliteConnection) -> int:
    return int(sql.value(connection, "SELECT coalesce(max(id), 0) FROM passages"))


def _existing(connection: SqliteConnection, passage_ids: Sequence[int]) -> set[int]:
    question = "SELECT p.id FROM json_each(?) j CROSS JOIN passages p ON p.id = j.value"
    return {row[0] for row in sql.rows(connection, question, (json.dumps(list(passage_ids)),))}
