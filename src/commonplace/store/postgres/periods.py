"""The engine's part about stretches of time: items along an index in the order of time, sessions by their ends."""

from __future__ import annotations

from collections.abc import Sequence

from commonplace.model import Item, Kind, Scope, Session
from commonplace.store.damage import object_of, texts_of
from commonplace.store.postgres import items, sessions, sql
from commonplace.store.postgres.items import walks
from commonplace.store.postgres.scope import NO_PROJECT, resolve
from commonplace.store.postgres.space import PostgresSpace
from commonplace.store.rows import kind_of
from commonplace.store.sql.space import allow_replica
from commonplace.store.types import ItemHeader

_HAPPENED = """
SELECT i.id, i.kind, i.type, i.title, i.details, i.meta, p.name, i.session_id, i.created_ms
  FROM items i LEFT JOIN projects p ON p.space_id = i.space_id AND p.id = i.project_id
 WHERE i.space_id = %s AND {condition} AND i.created_ms >= %s AND i.created_ms < %s
 ORDER BY i.created_ms DESC, i.id DESC LIMIT %s
"""
_DAYS = """
SELECT floor(i.created_ms / 86400000.0)::bigint AS day, i.kind, count(*) FROM items i
 WHERE i.space_id = %s AND {condition} AND i.created_ms >= %s AND i.created_ms < %s GROUP BY day, i.kind
"""


class Periods(PostgresSpace):
    """What happened when, in one space."""

    @allow_replica
    def item_headers(self, scope: Scope, from_ms: int, to_ms: int, limit: int) -> list[ItemHeader]:
        with self._database.read(self._query_timeout) as connection:
            filter_ = resolve(connection, self._space_id, scope)
            found: list[ItemHeader] = []
            for walk in () if filter_ is None else walks(filter_):
                condition, bindings = walk.sql()
                select = _HAPPENED.format(condition=condition)
                for row in sql.rows(connection, select, [self._space_id, *bindings, from_ms, to_ms, limit]):
                    id_, kind, type_, title, details, meta, *rest = row
                    found.append(
                        ItemHeader(id_, kind_of(kind), type_, title, texts_of(details), object_of(meta), *rest)
                    )
        return sorted(found, key=lambda one: (one.at_ms, one.item_id), reverse=True)[:limit]

    @allow_replica
    def sessions_during(self, scope: Scope, from_ms: int, to_ms: int, limit: int) -> list[Session]:
        with self._database.read(self._query_timeout) as connection:
            filter_ = resolve(connection, self._space_id, scope)
            if filter_ is None:
                return []
            condition = "s.space_id = %s AND s.forgotten_ms IS NULL AND s.started_ms < %s AND s.ended_ms >= %s"
            bindings: list[object] = [self._space_id, to_ms, from_ms]
            if filter_.projects:
                condition += f" AND coalesce(s.project_id, {NO_PROJECT}) = ANY(%s::bigint[])"
                bindings.append([*filter_.projects])
            order = "s.ended_ms DESC, s.id DESC LIMIT %s"
            return sessions.selected(connection, condition, [*bindings, limit], order)

    @allow_replica
    def items_per_day(self, scope: Scope, from_ms: int, to_ms: int) -> dict[int, dict[Kind, int]]:
        days: dict[int, dict[Kind, int]] = {}
        with self._database.read(self._query_timeout) as connection:
            filter_ = resolve(connection, self._space_id, scope)
            if filter_ is None:
                return {}
            condition, bindings = filter_.sql()
            part = [self._space_id, *bindings, from_ms, to_ms]
            for day, kind, count in sql.rows(connection, _DAYS.format(condition=condition), part):
                days.setdefault(day, {})[kind] = count
        return days

    @allow_replica
    def items_between(
        self,
        scope: Scope,
        from_ms: int,
        to_ms: int,
        limit: int,
        beyond: tuple[int, int] | None = None,
        *,
        oldest_first: bool = False,
    ) -> list[Item]:
        with self._database.read(self._query_timeout) as connection:
            filter_ = resolve(connection, self._space_id, scope)
            if filter_ is None:
                return []
            return items.between(connection, self._space_id, filter_, (from_ms, to_ms), limit, beyond, oldest_first)

    @allow_replica
    def kinds_per_session(self, session_ids: Sequence[int]) -> dict[int, dict[Kind, int]]:
        with self._database.read(self._query_timeout) as connection:
            rows = sql.rows(
                connection,
                "SELECT session_id, kind, count(*) FROM items WHERE space_id = %s AND session_id = ANY(%s::bigint[])"
                " AND forgotten_ms IS NULL AND superseded_by IS NULL GROUP BY 1, 2",
                (self._space_id, list(session_ids)),
            )
        kinds: dict[int, dict[Kind, int]] = {}
        for session_id, kind, count in rows:
            kinds.setdefault(session_id, {})[kind] = count
        return kinds

    @allow_replica
    def follow_up_sessions(self, session_id: int) -> list[Session]:
        with self._database.read(self._query_timeout) as connection:
            found: dict[int, Session] = {}
            for name in ("continued_from", "parent_session"):
                condition = (
                    f"s.space_id = %s AND s.forgotten_ms IS NULL AND s.meta::json ->> '{name}' ="
                    " (SELECT key FROM sessions WHERE space_id = %s AND id = %s)"
                )
                bindings = (self._space_id, self._space_id, session_id)
                found |= {one.id: one for one in sessions.selected(connection, condition, bindings)}
        return sorted(found.values(), key=lambda one: (one.started_ms, one.id))
