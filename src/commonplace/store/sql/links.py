"""Links between passages: made in small transactions after the writing, read by whoever follows them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from commonplace.store.link_rules import PASSAGE_TEXT_COLUMNS, linked_passage, may_refer_back, text_of
from commonplace.store.sql import projects
from commonplace.store.sql.connection import IN_LIST, Connection
from commonplace.store.sql.linker import Linker
from commonplace.store.sql.space import Space
from commonplace.store.types import Edge, FindReferences

# Seconds to wait for a turn to write: linking can be done later.
WRITE_WAIT_SECONDS = 0.25

# With a plus, so that SQLite reads them in their order instead of collecting those of the space and sorting them.
_SINCE = f"""
SELECT {PASSAGE_TEXT_COLUMNS}
  FROM passages p CROSS JOIN items i ON i.space_id = p.space_id AND i.id = p.item_id
 WHERE +p.space_id = ? AND p.id > ? AND p.id <= ? ORDER BY p.id LIMIT ?
"""
_EDGES = """
SELECT e.src, e.dst, e.rel, e.weight
  FROM json_each(?2) j CROSS JOIN passages n ON /*pg n.space_id = ?1 AND */ n.id = j.value
 CROSS JOIN edges e ON e.space_id = ?1 AND e.{near} = n.id
 CROSS JOIN passages o ON /*pg o.space_id = ?1 AND */ o.id = e.{far}
 WHERE +n.space_id = ?1 AND NOT EXISTS (
       SELECT 1 FROM items h INDEXED BY items_hidden WHERE /*pg h.space_id = ?1 AND */ h.id = o.item_id
          AND (h.forgotten_ms IS NOT NULL OR h.superseded_by IS NOT NULL)) {in_project}
"""
_IN_PROJECT = """
   AND (SELECT i.project_id FROM items i WHERE i.space_id = ?1 AND i.id = {}.item_id)
       IN (SELECT value FROM json_each(?3))
"""


class Links(Space):
    """The edges of one space."""

    def link(self, limit: int, find_references: FindReferences, now_ms: int) -> int:
        with self._database.read() as connection:
            since = _last_linked(connection, self._space_id)
            until = _newest(connection, self._space_id)
            rows = connection.rows(_SINCE, (self._space_id, since, until, limit)) if until > since else []
        if until <= since:
            return 0
        if len(rows) == limit:
            until = rows[-1][0]
        # Finding references takes the most time, and needs no lock.
        read = [(linked_passage(row), find_references(text_of(row)), may_refer_back(row)) for row in rows]
        with self._database.write(patience=WRITE_WAIT_SECONDS) as connection:
            # Another process may have been first, or an item may have been split again.
            done_before = _last_linked(connection, self._space_id)
            new = [passage.id for passage, _found, _refers in read if passage.id > done_before]
            existing = _existing(connection, self._space_id, new)
            linker = Linker(connection, self._space_id, now_ms)
            for passage, found, refers in read:
                if passage.id in existing:
                    linker.link(passage, found, refers_back=refers)
            if until > done_before:
                connection.set_setting(self._space_id, "linked", str(until))
            return len(existing)

    def count_unlinked(self) -> int:
        with self._database.read() as connection:
            bindings = (self._space_id, _last_linked(connection, self._space_id))
            return int(connection.value("SELECT count(*) FROM passages WHERE +space_id = ? AND id > ?", bindings))

    def edges_of(self, passage_ids: Sequence[int], most_each: int, project: str | None = None) -> list[Edge]:
        with self._database.read(self._query_timeout) as connection:
            bindings: list[object] = [self._space_id, connection.array(passage_ids)]
            in_project = ""
            if project is not None:
                bindings.append(connection.array(projects.find(connection, self._space_id, project)))
                in_project = _IN_PROJECT.format("n") + _IN_PROJECT.format("o")
            rows = [
                (weight, side, src, dst, rel)
                for side, (near, far) in enumerate((("src", "dst"), ("dst", "src")))
                for src, dst, rel, weight in connection.rows(
                    _EDGES.format(near=near, far=far, in_project=in_project), bindings
                )
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
            rows = connection.rows(
                "SELECT p.id FROM passages p CROSS JOIN items i ON i.space_id = p.space_id AND i.id = p.item_id"
                f" WHERE +p.space_id = ? AND p.id {IN_LIST} ORDER BY i.created_ms, i.id, p.seq",
                (self._space_id, connection.array(passage_ids)),
            )
            return [row[0] for row in rows]


def _last_linked(connection: Connection, space_id: int) -> int:
    """The last linked passage. Ids grow in the order of transactions, so none appears before it later."""
    return int(connection.get_setting(space_id, "linked") or 0)


def _newest(connection: Connection, space_id: int) -> int:
    select = "SELECT coalesce(max(id), 0) FROM passages /*pg WHERE space_id = :space */"
    return int(connection.value(select, {"space": space_id}))


def _existing(connection: Connection, space_id: int, passage_ids: Sequence[int]) -> set[int]:
    select = f"SELECT id FROM passages WHERE +space_id = ? AND id {IN_LIST}"
    return {row[0] for row in connection.rows(select, (space_id, connection.array(passage_ids)))}
