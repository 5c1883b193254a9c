"""A question's scope as this engine can filter by it: ids of projects and sessions, kinds and types, tags and times."""

from __future__ import annotations

from dataclasses import dataclass, replace

from commonplace.model import KINDS, Kind, Scope
from commonplace.store.postgres import sessions
from commonplace.store.postgres.pool import Connection
from commonplace.store.sql import projects

# Stored where a project id is expected, for items that belong to no project.
NO_PROJECT = 0


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
        """The part that the index of words does not know; None if there is none."""
        rest = replace(self, projects=(), kinds=(), types=())
        return None if rest == Filter() else rest

    def sql(self) -> tuple[str, list[object]]:
        """A condition on `items i` for what is live and inside, with its bindings."""
        clauses = ["i.forgotten_ms IS NULL AND i.superseded_by IS NULL"]
        bindings: list[object] = []
        if self.projects:
            ids = [p for p in self.projects if p != NO_PROJECT]
            either = ["i.project_id = ANY(%s::bigint[])"] if ids else []
            if NO_PROJECT in self.projects:
                either.append("i.project_id IS NULL")
            clauses.append("(" + " OR ".join(either) + ")")
            bindings += [ids] if ids else []
        for column, values in (("kind", self.kinds), ("type", self.types)):
            if values:
                clauses.append(f"i.{column} = ANY(%s::text[])")
                bindings.append(list(values))
        if self.sessions is not None:
            clauses.append("i.session_id = ANY(%s::bigint[])")
            bindings.append(list(self.sessions))
        for border, ms in ((">=", self.since_ms), ("<", self.until_ms)):
            if ms is not None:
                clauses.append(f"i.created_ms {border} %s")
                bindings.append(ms)
        tags = [part.strip() for part in self.tag.split(",") if part.strip()]
        if tags:
            tagged = " OR ".join(['position(lower(%s COLLATE "C") in lower(t.tag)) > 0'] * len(tags))
            clauses.append(
                f"EXISTS (SELECT 1 FROM item_tags t WHERE t.space_id = i.space_id AND t.item_id = i.id AND ({tagged}))"
            )
            bindings += tags
        return " AND ".join(clauses), bindings


def resolve(connection: Connection, space_id: int, scope: Scope) -> Filter | None:
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
