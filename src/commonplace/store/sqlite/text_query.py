"""Queries with operators, which FTS5 answers as filters: every hit satisfies them."""

from __future__ import annotations

from commonplace.store.rows import PART
from commonplace.store.sql.items import Filter
from commonplace.store.sqlite.connection import SqliteConnection, space_token
from commonplace.store.sqlite.search import BM25, Search, Within, hits_inside, narrow, scope_of
from commonplace.store.types import TextAnswer
from commonplace.text.query import NEWEST_ROWS, Query, to_fts5


class TextQueries(Search):
    """Finding passages of one space by queries with operators."""

    def _search_strict(self, connection: SqliteConnection, query: Query, filter_: Filter, k: int) -> TextAnswer:
        within = narrow(connection, self._space_id, filter_, exact=True)
        answer = _strict(connection, self._space_id, query, filter_, within, k)
        if within.share < 1.0 and len(answer.hits) < min(k, answer.total):
            within = narrow(connection, self._space_id, filter_, exact=True, timely=True)
            answer = _strict(connection, self._space_id, query, filter_, within, k)
        return answer


def _strict(
    connection: SqliteConnection, space_id: int, query: Query, filter_: Filter, within: Within, k: int
) -> TextAnswer:
    assert query.tree is not None
    expression = to_fts5(query.tree)
    if query.inverted:
        expression = f"{scope_of([space_token(space_id)])} NOT {expression}"
    whole = within.around(expression)
    total, scored, all_seen = 0, [], True
    # Items that are one passage, then the wholes of those that were cut (0001_everything.sql); the newest of each.
    sides = [(">", "DESC", f"{whole} NOT {scope_of([PART])}"), ("<", "ASC", whole)]
    for side, newest, match in sides if _has_wholes(connection) else sides[:1]:
        rows = connection.rows(
            f"SELECT rowid FROM passages_fts WHERE passages_fts MATCH ? AND rowid {side} 0{within.among}"
            f" ORDER BY rowid {newest} LIMIT ?",
            (match, NEWEST_ROWS),
        )
        if not rows:
            continue
        total += len(rows)
        all_seen = all_seen and len(rows) < min(NEWEST_ROWS, within.reach(k))
        scored += connection.rows(
            f"SELECT rowid, {BM25} AS score FROM passages_fts WHERE passages_fts MATCH ? AND rowid BETWEEN ? AND ?"
            f"{within.among} ORDER BY score DESC, rowid DESC LIMIT ?",
            (match, *sorted((rows[0][0], rows[-1][0])), within.reach(k)),
        )
    hits = hits_inside(connection, space_id, filter_, scored)
    if within.share < 1.0 and all_seen:
        total = len(hits)
    hits.sort(key=lambda hit: (-hit.score, -hit.passage_id))
    return TextAnswer(tuple(hits[:k]), {hit.passage_id: 1.0 for hit in hits[:k]}, total)


def _has_wholes(connection: SqliteConnection) -> bool:
    """Whether any item was cut into passages, so that the whole of it has a row of its own."""
    select = "SELECT rowid FROM passages_fts WHERE rowid < 0 LIMIT 1"
    return connection.once("wholes", lambda: connection.first(select) is not None)
