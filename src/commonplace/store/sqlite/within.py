"""A filter as the full-text table can apply it: which rows to require, which to exclude, what to leave to the end."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from commonplace.model import KINDS
from commonplace.store.sqlite.connection import SqliteConnection
from commonplace.store.sqlite.scope import Filter, choose, kind_token, project_token, space_token, wide_share
from commonplace.text.tokens import index_text


@dataclass(frozen=True, slots=True)
class Within:
    """A filter as the full-text table can apply it; `loose` if rows outside may slip through to the last check.

    `share` is that of the rows that pass it, where it is known.
    """

    require: str
    exclude: str
    loose: bool
    rows: int
    chosen: tuple[int, int] | None = None
    share: float = 1.0

    def around(self, expression: str) -> str:
        """A MATCH expression that keeps to the filter."""
        wrapped = f"({expression})"
        if self.require:
            wrapped = f"({wrapped} AND {self.require})"
        if self.exclude:
            wrapped = f"({wrapped} NOT {self.exclude})"
        return wrapped

    @property
    def among(self) -> str:
        """A condition to add where rows were chosen beforehand; the plus keeps SQLite from asking for each row."""
        return "" if self.chosen is None else " AND +rowid IN (SELECT id FROM temp.chosen)"

    @property
    def passages(self) -> str:
        """The same for rows of passages, which the index can skip to."""
        return (
            " AND rowid > 0"
            if self.chosen is None
            else " AND rowid BETWEEN {} AND {}".format(*self.chosen) + self.among
        )

    def reach(self, k: int) -> int:
        """How many rows to take so that `k` are left after the last check."""
        return int(k * max(5, 2 / self.share)) if self.loose else k


def narrowed(
    connection: SqliteConnection, space_id: int, filter_: Filter, *, exact: bool = False, timely: bool = False
) -> Within:
    """Choose, by how many rows each way would touch, what the full-text table filters and what is left to the end.

    With `exact` a project is not left to the end, and with `timely` no stretch of time.
    """
    tally = connection.rows("SELECT project_id, kind, items FROM tally WHERE space_id = ?", (space_id,))
    total = sum(row[2] for row in tally)
    require, exclude, loose, rows = [], [], False, total
    if filter_.projects:
        inside = sum(n for project, _kind, n in tally if project in filter_.projects)
        rows = min(rows, inside)
        if inside * 2 > total and not exact:
            loose = True
        else:
            require.append(scope_of(project_token(space_id, project) for project in filter_.projects))
    if filter_.kinds:
        inside = sum(n for _project, kind, n in tally if kind in filter_.kinds)
        rows = min(rows, inside)
        if inside * 2 > total:
            exclude += [kind_token(space_id, kind) for kind in KINDS if kind not in filter_.kinds]
        else:
            require.append(scope_of(kind_token(space_id, kind) for kind in filter_.kinds))
    if filter_.types:
        loose = True
        require.append(" OR ".join(f"type : {_phrase(index_text(type_))}" for type_ in filter_.types))
    if not require and connection.value("SELECT count(*) FROM spaces") > 1:
        require.append(scope_of([space_token(space_id)]))
    chosen, share = None, 1.0
    rest = filter_.unindexed
    if rest is not None and not timely and (wide := wide_share(connection, space_id, rest, total)):
        loose, share, rows = True, wide, min(rows, int(wide * total))
    elif rest is not None:
        choose(connection, space_id, rest)
        question = "SELECT count(*), coalesce(min(id), 1), coalesce(max(id), 0) FROM temp.chosen WHERE id > 0"
        inside, *ends = connection.rows(question)[0]
        rows, chosen = min(rows, inside), (ends[0], ends[1])
    required = " AND ".join(f"({part})" for part in require)
    return Within(required, scope_of(exclude) if exclude else "", loose, rows, chosen, share)


def scope_of(tokens: Iterable[str]) -> str:
    """A MATCH expression for rows that say one of these of where they belong."""
    return "scope : (" + " OR ".join(map(_phrase, tokens)) + ")"


def _phrase(tokens: str) -> str:
    return f'"{tokens}"'
