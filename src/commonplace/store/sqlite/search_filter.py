"""What a search in SQLite is limited to: the part of a filter that the full-text table applies, and the rest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from commonplace.model import KINDS
from commonplace.store.sql.items import NO_PROJECT, Filter
from commonplace.store.sqlite.connection import SqliteConnection, kind_token, project_token, space_token
from commonplace.text.tokens import index_text

# A stretch of time that holds so many items, and this share of all, is cheaper to check at the end than to choose from.
WIDE, WIDE_SHARE = 2_000, 0.1
_phrase = '"{}"'.format


@dataclass(slots=True)
class FtsFilter:
    """A filter as the full-text table can apply it; `loose` if rows outside may slip through to the last check.

    `ids` are the first and the last of the rows that were noted in the table `chosen`, if the rest of the filter is
    applied there. `share` is that of the rows that pass the filter, where it is known.
    """

    rows: int
    require: list[str] = field(default_factory=list)
    exclude: list[str] = field(default_factory=list)
    loose: bool = False
    ids: tuple[int, int] | None = None
    share: float = 1.0

    def around(self, expression: str) -> str:
        """A MATCH expression that keeps to the filter."""
        wrapped = f"({expression})"
        if self.require:
            required = " AND ".join(f"({part})" for part in self.require)
            wrapped = f"({wrapped} AND {required})"
        if self.exclude:
            wrapped = f"({wrapped} NOT {in_scope(self.exclude)})"
        return wrapped

    @property
    def among(self) -> str:
        """A condition to add where rows were chosen beforehand; the plus keeps SQLite from asking for each row."""
        return "" if self.ids is None else " AND +rowid IN (SELECT id FROM temp.chosen)"

    @property
    def passages(self) -> str:
        """The same for rows of passages, which the index can skip to."""
        ends = "> 0" if self.ids is None else "BETWEEN {} AND {}".format(*self.ids)
        return f" AND rowid {ends}{self.among}"

    def reach(self, k: int) -> int:
        """How many rows to take so that `k` are left after the last check."""
        return int(k * max(5, 2 / self.share)) if self.loose else k


def plan_filter(
    connection: SqliteConnection, space_id: int, filter_: Filter, *, exact: bool = False, timely: bool = False
) -> FtsFilter:
    """Choose, by how many rows each way would touch, what the full-text table filters and what is left to the end.

    With `exact` a project is not left to the end, and with `timely` no stretch of time.
    """
    tally = _tally(connection, space_id, filter_)
    total = sum(items for _kind, items, _inside in tally)
    plan = FtsFilter(total)
    if filter_.projects:
        inside = sum(row[2] for row in tally)
        plan.rows = min(plan.rows, inside)
        if inside * 2 > total and not exact:
            plan.loose = True
        else:
            plan.require.append(_in_projects(space_id, filter_))
    if filter_.kinds:
        _plan_kinds(plan, tally, space_id, filter_)
    if filter_.types:
        plan.loose = True
        plan.require.append(" OR ".join(f"type : {_phrase(index_text(type_))}" for type_ in filter_.types))
    if not plan.require and _has_several_spaces(connection):
        plan.require.append(in_scope([space_token(space_id)]))
    if filter_.unindexed is not None:
        _plan_rest(plan, connection, space_id, filter_.unindexed, 0 if timely else total)
    return plan


def _plan_kinds(plan: FtsFilter, tally: Sequence[tuple[str, int, int]], space_id: int, filter_: Filter) -> None:
    """Require the kinds, or exclude the others if that leaves out fewer rows."""
    total = sum(items for _kind, items, _inside in tally)
    inside = sum(items for kind, items, _inside in tally if kind in filter_.kinds)
    plan.rows = min(plan.rows, inside)
    if inside * 2 > total:
        # Only of kinds that there are: each token takes time to look up.
        others = [kind for kind, items, _inside in tally if items and kind not in filter_.kinds]
        plan.exclude += [kind_token(space_id, kind) for kind in others]
    else:
        plan.require.append(in_scope(kind_token(space_id, kind) for kind in filter_.kinds))


def _plan_rest(plan: FtsFilter, connection: SqliteConnection, space_id: int, rest: Filter, total: int) -> None:
    """Leave to the end what is a large share of all `total` items; of anything else note the rows beforehand."""
    wide = wide_share(connection, space_id, rest, total) if total else 0.0
    if wide:
        plan.loose, plan.share = True, wide
        plan.rows = min(plan.rows, int(wide * total))
        return
    fill_temp_ids(connection, space_id, rest)
    question = "SELECT count(*), coalesce(min(id), 1), coalesce(max(id), 0) FROM temp.chosen WHERE id > 0"
    inside, first, last = connection.rows(question)[0]
    plan.rows, plan.ids = min(plan.rows, inside), (first, last)


def _has_several_spaces(connection: SqliteConnection) -> bool:
    return connection.until_changed("spaces", lambda: int(connection.value("SELECT count(*) FROM spaces"))) > 1


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


def in_scope(tokens: Iterable[str]) -> str:
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


def passages_inside(
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


def fill_temp_ids(connection: SqliteConnection, space_id: int, filter_: Filter) -> None:
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
