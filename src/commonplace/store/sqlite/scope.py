"""A question's scope as this engine can filter by it: ids of projects and sessions, kinds and types, tags and times."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from commonplace.model import KINDS, Kind, Scope
from commonplace.store.sql import projects
from commonplace.store.sqlite import sessions
from commonplace.store.sqlite.connection import SqliteConnection

# Stored where a project id is expected, for items that belong to no project.
NO_PROJECT = 0

# A stretch of time that holds so many items, and this share of all, is cheaper to check at the end than to choose from.
WIDE, WIDE_SHARE = 2_000, 0.1

# Said of each full-text row of an item that was cut: queries that filter look at the whole of it instead. The double
# mark keeps this and the tokens below apart from any word of a text.
PART = "==part"


@dataclass(frozen=True, slots=True)
class Filter:
    """Resolved scope. Empty tuples mean no restriction."""

    projects: tuple[int, ...] = ()
    kinds: tuple[Kind, ...] = ()
    types: tuple[str, ...] = ()
    tag: str = ""
    sessions: tuple[int, ...] | None = None
    since_ms: int | None = None
    until_ms: int | None = None

    @property
    def unindexed(self) -> Filter | None:
        """The part that no index of words or vectors knows; None if there is none."""
        rest = replace(self, projects=(), kinds=(), types=())
        return None if rest == Filter() else rest

    def sql(self) -> tuple[str, list[Any]]:
        """A condition on `items i` for what is live and inside, with its bindings."""
        clauses = ["i.forgotten_ms IS NULL AND i.superseded_by IS NULL"]
        bindings: list[Any] = []
        if self.projects:
            ids = [p for p in self.projects if p != NO_PROJECT]
            either = [f"i.project_id IN ({_marks(ids)})"] if ids else []
            if NO_PROJECT in self.projects:
                either.append("i.project_id IS NULL")
            clauses.append("(" + " OR ".join(either) + ")")
            bindings += ids
        for column, values in (("kind", self.kinds), ("type", self.types)):
            if values:
                clauses.append(f"i.{column} IN ({_marks(values)})")
                bindings += values
        if self.sessions is not None and len(self.sessions) == 1:
            # Those of one are in order along its index; of several they have to be sorted.
            clauses.append("i.session_id = ?")
            bindings += self.sessions
        elif self.sessions is not None:
            clauses.append("i.session_id IN (SELECT value FROM json_each(?))")
            bindings.append(json.dumps(self.sessions))
        for border, ms in ((">=", self.since_ms), ("<", self.until_ms)):
            if ms is not None:
                clauses.append(f"i.created_ms {border} ?")
                bindings.append(ms)
        tags = [part.strip() for part in self.tag.split(",") if part.strip()]
        if tags:
            tagged = " OR ".join(["instr(lower(t.tag), lower(?))"] * len(tags))
            clauses.append(f"EXISTS (SELECT 1 FROM item_tags t WHERE t.item_id = i.id AND ({tagged}))")
            bindings += tags
        return " AND ".join(clauses), bindings


def resolve(connection: SqliteConnection, space_id: int, scope: Scope) -> Filter | None:
    """The filter of a scope, or None when it names a project that nobody has written to."""
    kinds = () if set(scope.kinds) == set(KINDS) else scope.kinds
    found: tuple[int, ...] = ()
    if scope.only_global:
        found = (NO_PROJECT,)
    elif scope.project is not None:
        found = projects.find(connection, space_id, scope.project)
        if scope.with_global:
            found = (*found, NO_PROJECT)
        if not found:
            return None
    chosen = None if scope.sessions is None else tuple(sessions.ids_in(connection, space_id, scope.sessions))
    return Filter(found, kinds, scope.types, scope.tag, chosen, scope.since_ms, scope.until_ms)


def wide_share(connection: SqliteConnection, space_id: int, filter_: Filter, total: int) -> float:
    """The share of all items that a stretch of time holds; 0 if that is little, or more than a time is asked for."""
    if filter_.tag or filter_.sessions is not None:
        return 0.0
    condition, bindings = filter_.sql()
    question = f"SELECT count(*) FROM items i WHERE i.space_id = ? AND {condition}"
    inside = connection.value(question, [space_id, *bindings])
    return inside / total if inside >= max(WIDE, WIDE_SHARE * total) else 0.0


def chosen_passages(
    connection: SqliteConnection, space_id: int, filter_: Filter, among: Sequence[int] | None = None
) -> set[int]:
    """The passages of what a filter lets through: of all of them, or of some."""
    source, bindings = _source(space_id, filter_)
    if among is not None:
        condition, bindings = filter_.sql()
        source = "json_each(?) j CROSS JOIN passages p ON p.id = j.value CROSS JOIN items i ON i.id = p.item_id"
        source += f" WHERE i.space_id = ? AND {condition}"
        bindings = [json.dumps(among), space_id, *bindings]
    return {row[0] for row in connection.rows(f"SELECT p.id FROM {source}", bindings)}


def choose(connection: SqliteConnection, space_id: int, filter_: Filter) -> None:
    """Note in the connection's own table `chosen` the full-text rows of what a filter lets through."""
    source, bindings = _source(space_id, filter_)
    connection.execute("DELETE FROM temp.chosen")
    for rows in ("p.id", "-i.id"):
        connection.execute(f"INSERT OR IGNORE INTO temp.chosen SELECT {rows} FROM {source}", bindings)


def _source(space_id: int, filter_: Filter) -> tuple[str, list[Any]]:
    """Items `i` inside with their passages `p`; cross joined, so that SQLite begins with what leaves least."""
    condition, bindings = filter_.sql()
    source = "items i"
    if filter_.sessions is not None:
        source = "json_each(?) j CROSS JOIN items i ON i.session_id = j.value"
        bindings.insert(0, json.dumps(filter_.sessions))
    elif filter_.tag:
        source = "(SELECT DISTINCT item_id FROM item_tags WHERE space_id = ?) j CROSS JOIN items i ON i.id = j.item_id"
        bindings.insert(0, space_id)
    source += f" CROSS JOIN passages p ON p.space_id = i.space_id AND p.item_id = i.id WHERE {condition}"
    return f"{source} AND i.space_id = ?", [*bindings, space_id]


def space_token(space_id: int) -> str:
    """What every full-text row of a space says of where it belongs."""
    return f"==s{space_id}"


def project_token(space_id: int, project_id: int) -> str:
    return f"==s{space_id}p{project_id}"


def kind_token(space_id: int, kind: Kind) -> str:
    return f"==s{space_id}k{kind}"


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))
