"""A filter as the index of words can apply it: tokens that tell where a row belongs, and which items it may be of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from commonplace.model import KINDS
from commonplace.store.postgres.dialect import translate
from commonplace.store.postgres.fulltext_rows import kind_token, lexeme, project_token, type_token
from commonplace.store.postgres.pool import Connection
from commonplace.store.postgres.text_query import Bound
from commonplace.store.sql.items import Filter

_TALLY = """
SELECT t.project_id, t.kind, t.items, coalesce(w.rows, 0), coalesce(w.length, 0)
  FROM tally t LEFT JOIN word_totals w ON w.space_id = t.space_id WHERE t.space_id = %s
"""
_ITEMS = "SELECT {} FROM items i WHERE i.space_id = %(space)s AND {}"
_PASSAGES = """
SELECT {} FROM items i JOIN passages p ON p.space_id = i.space_id AND p.item_id = i.id
 WHERE i.space_id = %(space)s AND {}
"""


@dataclass(frozen=True, slots=True)
class Within:
    """A filter as the index can apply it; `rows` is how many it leaves, `rest` what the index cannot apply.

    `all_rows` of words has the space, with or without the filter, and `all_words` are in them.
    """

    query: str
    rest: Filter | None
    rows: int
    all_rows: int
    all_words: int

    @property
    def everything(self) -> bool:
        return not self.query and self.rest is None

    def around(self, query: str) -> str:
        """A tsquery that keeps to the filter."""
        return f"({query}) & {self.query}" if query and self.query else query or self.query

    def among(self, connection: Connection, bound: Bound, *, wholes: bool = False) -> str:
        """A condition on rows `w` for what the index cannot apply: sessions, tags and times."""
        if self.rest is None:
            return "true"
        condition = bound_condition(connection, self.rest, bound)
        if wholes:
            return f"-w.id IN ({_ITEMS.format('i.id', condition)})"
        return f"w.id IN ({_PASSAGES.format('p.id', condition)})"


def narrowed(connection: Connection, space_id: int, filter_: Filter) -> Within:
    """The filter, with how many rows are inside."""
    counted = connection.native_rows(_TALLY, (space_id,), prepared=True)
    all_rows, all_words = counted[0][3:] if counted else (0, 0)
    tally = [row[:3] for row in counted]
    total = sum(row[2] for row in tally)
    parts, rows = [], total
    if filter_.projects:
        rows = min(rows, sum(n for project, _kind, n in tally if project in filter_.projects))
        parts.append(in_projects(space_id, filter_.projects))
    if filter_.kinds:
        inside = sum(n for _project, kind, n in tally if kind in filter_.kinds)
        rows = min(rows, inside)
        if inside * 2 > total:
            parts += [f"!{lexeme(space_id, kind_token(kind))}" for kind in KINDS if kind not in filter_.kinds]
        else:
            parts.append(_any(space_id, map(kind_token, filter_.kinds)))
    if filter_.types:
        parts.append(_any(space_id, map(type_token, filter_.types)))
    rest = filter_.unindexed
    if rest is not None:
        bound = Bound(space_id)
        chosen = _PASSAGES.format("count(*)", bound_condition(connection, rest, bound))
        rows = min(rows, int(connection.native_rows(chosen, bound.values)[0][0]))
    return Within(" & ".join(parts), rest, rows, all_rows, all_words)


def in_projects(space_id: int, projects: Iterable[int]) -> str:
    """A tsquery for the rows of some projects."""
    return _any(space_id, map(project_token, projects))


def bound_condition(connection: Connection, filter_: Filter, bound: Bound) -> str:
    """A filter's condition on `items i`, in a statement that is put together."""
    shared, values = filter_.sql(connection)
    condition = translate(shared)
    for value in values:
        condition = condition.replace("%s", bound.add(value), 1)
    return condition


def _any(space_id: int, tokens: Iterable[str]) -> str:
    return "(" + " | ".join(lexeme(space_id, token) for token in tokens) + ")"
