"""What a search in SQLite is limited to: the part of a filter that the full-text table applies, and the rest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from commonplace.model import KINDS
from commonplace.store.sql.items import NO_PROJECT, Filter
from commonplace.store.sqlite.connection import SqliteConnection, kind_token, project_token, space_token
from commonplace.text.tokens import index_text

# A stretch of time that holds so many items, and this share of all, is cheaper to check at the end than to choose from.
WIDE, WIDE_SHARE = 2_000, 0.1
_phrase = '"{}"'.format


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
        ends = "> 0" if self.chosen is None else "BETWEEN {} AND {}".format(*self.chosen)
        return f" AND rowid {ends}{self.among}"

    def reach(self, k: int) -> int:
        """How many rows to take so that `k` are left after the last check."""
        return int(k * max(5, 2 / self.share)) if self.loose else k


def narrow(
    connection: SqliteConnection, space_id: int, filter_: Filter, *, exact: bool = False, timely: bool = False
) -> Within:
    """Choose, by how many rows each way would touch, what the full-text table filters and what is left to the end.

    With `exact` a project is not left to the end, and with `timely` no stretch of time.
    """
    tally = _tally(connection, space_id, filter_)
    total = sum(row[1] for row in tally)
    require, exclude, loose, rows = [], [], False, total
    if filter_.projects:
        inside = sum(row[2] for row in tally)
        rows = min(rows, inside)
        if inside * 2 > total and not exact:
            loose = True
        else:
            require.append(_in_projects(space_id, filter_))
    if filter_.kinds:
        inside = sum(row[1] for row in tally if row[0] in filter_.kinds)
        rows = min(rows, inside)
        if inside * 2 > total:
            # Only of kinds that there are: each token takes time to look up.
            exclude += [kind_token(space_id, kind) for kind, items, _ in tally if items and kind not in filter_.kinds]
        else:
            require.append(scope_of(kind_token(space_id, kind) for kind in filter_.kinds))
    if filter_.types:
        loose = True
        require.append(" OR ".join(f"type : {_phrase(index_text(type_))}" for type_ in filter_.types))
    if not require and connection.until_changed("spaces", lambda: connection.value("SELECT count(*) FROM spaces")) > 1:
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


def _in_projects(space_id: int, filter_: Filter) -> str:
    """A MATCH expression for what belongs to the projects of a filter."""
    tokens = {project: _phrase(project_token(space_id, project)) for project in filter_.projects}
    if filter_.global_kinds and NO_PROJECT in tokens:
        kinds = " OR ".join(_phrase(kind_token(space_id, kind)) for kind in filter_.global_kinds)
        tokens[NO_PROJECT] = f"({tokens[NO_PROJECT]} AND ({kinds}))"
    return f"scope : ({' OR '.join(tokens.values())})"


def _tally(connection: SqliteConnection, space_id: int, filter_: Filter) -> list[tuple[str, int, int]]:
    """How many items there are of each kind, and how many of them in the projects of a filter."""
    projects, kinds = filter_.projects, filter_.global_kinds or KINDS
    here = "project_id IN (SELECT value FROM json_each(?))"
    here += f" AND (project_id <> {NO_PROJECT} OR kind IN (SELECT value FROM json_each(?)))"
    inside = f"sum(iif({here}, items, 0))" if projects else "0"
    select = f"SELECT kind, sum(items), {inside} FROM tally WHERE space_id = ? GROUP BY kind"
    bindings = (connection.array(projects), connection.array(kinds), space_id) if projects else (space_id,)
    return connection.until_changed(("tally", space_id, projects, kinds), lambda: connection.rows(select, bindings))


def scope_of(tokens: Iterable[str]) -> str:
    """A MATCH expression for rows that say one of these of where they belong."""
    return "scope : (" + " OR ".join(map(_phrase, tokens)) + ")"


def wide_share(connection: SqliteConnection, space_id: int, filter_: Filter, total: int) -> float:
    """The share of all items that a stretch of time holds; 0 if that is little, or more than a time is asked for."""
    if filter_.tag or filter_.sessions is not None:
        return 0.0
    condition, bindings = filter_.sql(connection)
    question = f"SELECT count(*) FROM items i WHERE i.space_id = ? AND {condition}"
    inside = connection.value(question, [space_id, *bindings])
    return inside / total if inside >= max(WIDE, WIDE_SHARE * total) else 0.0


def chosen_passages(
    connection: SqliteConnection, space_id: int, filter_: Filter, among: Sequence[int] | None = None
) -> set[int]:
    """The passages of what a filter lets through: of all of them, or of some."""
    source, bindings = _source(connection, space_id, filter_)
    if among is not None:
        condition, bindings = filter_.sql(connection)
        source = "json_each(?) j CROSS JOIN passages p ON p.id = j.value CROSS JOIN items i ON i.id = p.item_id"
        source += f" WHERE i.space_id = ? AND {condition}"
        bindings = [connection.array(among), space_id, *bindings]
    return {row[0] for row in connection.rows(f"SELECT p.id FROM {source}", bindings)}


def choose(connection: SqliteConnection, space_id: int, filter_: Filter) -> None:
    """Note in the connection's own table `chosen` the full-text rows of what a filter lets through."""
    source, bindings = _source(connection, space_id, filter_)
    connection.execute("DELETE FROM temp.chosen")
    for rows in ("p.id", "-i.id"):
        connection.execute(f"INSERT OR IGNORE INTO temp.chosen SELECT {rows} FROM {source}", bindings)


def _source(connection: SqliteConnection, space_id: int, filter_: Filter) -> tuple[str, list[Any]]:
    """Items `i` inside with their passages `p`; cross joined, so that SQLite begins with what leaves least."""
    condition, bindings = filter_.sql(connection)
    source = "items i"
    if filter_.sessions is not None:
        source = "json_each(?) j CROSS JOIN items i ON i.session_id = j.value"
        bindings.insert(0, connection.array(filter_.sessions))
    elif filter_.tag:
        source = "(SELECT DISTINCT item_id FROM item_tags WHERE space_id = ?) j CROSS JOIN items i ON i.id = j.item_id"
        bindings.insert(0, space_id)
    source += f" CROSS JOIN passages p ON p.space_id = i.space_id AND p.item_id = i.id WHERE {condition}"
    return f"{source} AND i.space_id = ?", [*bindings, space_id]
