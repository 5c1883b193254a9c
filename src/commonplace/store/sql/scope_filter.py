"""What a scope means, for the database and for an item at hand: one list of conditions, each with both sides.

A property test (tests/contract/test_scope_conditions.py) holds the two sides of each together.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

from commonplace.model import GLOBAL_KINDS, KINDS, PROPOSED, SETTLED, VIA, Item, Kind, Scope, TextHit, VectorHit
from commonplace.store.sql import projects, sessions
from commonplace.store.sql.connection import IN_LIST, Connection
from commonplace.text.dates import LATEST_MS

# Stored where a project id is expected, for items that belong to no project.
NO_PROJECT = 0
# So many more than asked for are found at most, to be enough without those that do not hold.
MOST_SPARE = 1_000

# By SQL that an index of what was proposed matches.
_REVIEW = {PROPOSED: "i.review = 'proposed'", SETTLED: "(i.review IS NULL OR i.review <> 'proposed')"}
# As the index items_validity has them.
_NOT_HOLDING = """
SELECT i.id FROM items i INDEXED BY items_validity
 WHERE i.space_id = ? AND i.forgotten_ms IS NULL AND i.superseded_by IS NULL
   AND (i.valid_from_ms IS NOT NULL OR i.valid_until_ms IS NOT NULL OR i.expires_ms IS NOT NULL)
   AND (i.valid_from_ms > ? OR i.valid_until_ms <= ? OR i.expires_ms <= ?)
"""

_Found = TypeVar("_Found", TextHit, VectorHit)
Clause = tuple[str, list[Any]]


class ScopeNames(NamedTuple):
    """The names of what a scope is about, by which an item at hand is compared with it, and the moment it asks for."""

    projects: Collection[str]
    sessions: Collection[str]
    moment_ms: int


@dataclass(frozen=True, slots=True)
class Filter:
    """A scope by the ids of its projects and sessions. Empty tuples mean no restriction.

    `global_kinds` narrows only what belongs to no project, to these kinds.
    """

    projects: tuple[int, ...] = ()
    kinds: tuple[Kind, ...] = ()
    global_kinds: tuple[Kind, ...] = ()
    types: tuple[str, ...] = ()
    tag: str = ""
    sessions: tuple[int, ...] | None = None
    since_ms: int | None = None
    until_ms: int | None = None
    author: str = ""
    origins: tuple[str, ...] = ()
    review: str = ""
    # The ids of items that do not hold when it is asked: few, and left out after a search.
    lapsed: frozenset[int] = frozenset()

    @property
    def including_lapsed(self) -> Filter:
        """What a search looks in: what does not hold is left out of what it finds."""
        return replace(self, lapsed=frozenset()) if self.lapsed else self

    def overfetch(self, k: int) -> int:
        """How many to find so that `k` of them hold."""
        return k + min(len(self.lapsed), MOST_SPARE)

    def holding(self, found: Sequence[_Found]) -> list[_Found]:
        """Hits without those that do not hold, in their order."""
        return [hit for hit in found if hit.item_id not in self.lapsed]

    @property
    def unindexed(self) -> Filter | None:
        """The part that the full-text index does not know; None if there is none."""
        times, source = (self.since_ms, self.until_ms), (self.author, self.origins, self.review)
        rest = (self.tag, self.sessions, times, source, self.lapsed)
        return None if rest == _NOTHING_ELSE else replace(self.anywhere, types=())

    @property
    def anywhere(self) -> Filter:
        """The same of all projects and kinds: the part that no index of vectors knows."""
        return replace(self, projects=(), kinds=(), global_kinds=())

    def sql(self, connection: Connection) -> tuple[str, list[Any]]:
        """A condition on `items i` for what is live and inside, with its bindings."""
        clauses = ["i.forgotten_ms IS NULL AND i.superseded_by IS NULL"]
        bindings: list[Any] = []
        for condition in CONDITIONS:
            if getattr(self, condition.field) != getattr(EVERYTHING, condition.field):
                clause, values = condition.sql(self, connection)
                clauses.append(clause)
                bindings += values
        return " AND ".join(clauses), bindings


EVERYTHING = Filter()
_NOTHING_ELSE = ("", None, (None, None), ("", (), ""), frozenset[int]())


def is_inside(scope: Scope, item: Item, names: ScopeNames) -> bool:
    """Whether an item at hand is live and inside a scope: what `Filter.sql` asks the database."""
    if item.forgotten_ms is not None or item.superseded_by is not None:
        return False
    return all(condition.is_met(scope, item, names) for condition in CONDITIONS)


class Condition(NamedTuple):
    """One condition of a scope: as SQL, where this field of the filter is set, and for an item at hand."""

    field: str
    sql: Callable[[Filter, Connection], Clause]
    is_met: Callable[[Scope, Item, ScopeNames], bool]


def _place_sql(filter_: Filter, _connection: Connection) -> Clause:
    ids = [project for project in filter_.projects if project != NO_PROJECT]
    either = [f"i.project_id IN ({_marks(ids)})"] if ids else []
    if NO_PROJECT not in filter_.projects:
        return either[0], [*ids]
    kinds = filter_.global_kinds
    either.append(f"(i.project_id IS NULL AND i.kind IN ({_marks(kinds)}))" if kinds else "i.project_id IS NULL")
    return f"({' OR '.join(either)})", [*ids, *kinds]


def _is_in_place(scope: Scope, item: Item, names: ScopeNames) -> bool:
    return scope.has_place_of(item, names.projects)


def _kind_sql(filter_: Filter, _connection: Connection) -> Clause:
    return f"i.kind IN ({_marks(filter_.kinds)})", [*filter_.kinds]


def _is_of_kind(scope: Scope, item: Item, _names: ScopeNames) -> bool:
    return not scope.kinds or item.kind in scope.kinds


def _type_sql(filter_: Filter, _connection: Connection) -> Clause:
    return f"i.type IN ({_marks(filter_.types)})", [*filter_.types]


def _is_of_type(scope: Scope, item: Item, _names: ScopeNames) -> bool:
    return not scope.types or item.type in scope.types


def _origin_sql(filter_: Filter, _connection: Connection) -> Clause:
    return f"i.origin IN ({_marks(filter_.origins)})", [*filter_.origins]


def _is_of_origin(scope: Scope, item: Item, _names: ScopeNames) -> bool:
    return not scope.origins or item.origin in scope.origins


def _session_sql(filter_: Filter, connection: Connection) -> Clause:
    chosen = filter_.sessions or ()
    if len(chosen) == 1:
        # Those of one are in order along its index; of several they have to be sorted.
        return "i.session_id = ?", [*chosen]
    return f"i.session_id {IN_LIST}", [connection.array(chosen)]


def _is_in_session(scope: Scope, item: Item, names: ScopeNames) -> bool:
    return scope.sessions is None or item.session in names.sessions


def _since_sql(filter_: Filter, _connection: Connection) -> Clause:
    return "i.created_ms >= ?", [filter_.since_ms]


def _until_sql(filter_: Filter, _connection: Connection) -> Clause:
    return "i.created_ms < ?", [filter_.until_ms]


def _is_of_time(scope: Scope, item: Item, _names: ScopeNames) -> bool:
    return scope.has_time_of(item)


def _author_sql(filter_: Filter, _connection: Connection) -> Clause:
    # The person, or the agent that wrote for them.
    return f"instr('{VIA}' || lower(i.author) || '{VIA}', ?) > 0", [f"{VIA}{_lower(filter_.author)}{VIA}"]


def _is_by_author(scope: Scope, item: Item, _names: ScopeNames) -> bool:
    if not scope.author:
        return True
    return item.author is not None and f"{VIA}{_lower(scope.author)}{VIA}" in f"{VIA}{_lower(item.author)}{VIA}"


def _review_sql(filter_: Filter, _connection: Connection) -> Clause:
    return _REVIEW[filter_.review], []


def _is_reviewed_so(scope: Scope, item: Item, _names: ScopeNames) -> bool:
    return not scope.review or (item.review == PROPOSED) == (scope.review == PROPOSED)


def _lapsed_sql(filter_: Filter, connection: Connection) -> Clause:
    return f"i.id NOT {IN_LIST}", [connection.array(filter_.lapsed)]


def _holds(scope: Scope, item: Item, names: ScopeNames) -> bool:
    if scope.lapsed:
        return True
    begun = replace(item, valid_from_ms=None) if scope.coming else item
    return begun.holds_at(names.moment_ms)


def _tag_sql(filter_: Filter, _connection: Connection) -> Clause:
    tags = _tags(filter_.tag)
    tagged = " OR ".join(["instr(lower(t.tag), ?) > 0"] * len(tags))
    exists = f"EXISTS (SELECT 1 FROM item_tags t WHERE t.space_id = i.space_id AND t.item_id = i.id AND ({tagged}))"
    return exists, tags


def _is_tagged(scope: Scope, item: Item, _names: ScopeNames) -> bool:
    wanted = _tags(scope.tag)
    return not wanted or any(tag in _lower(own) for tag in wanted for own in item.tags)


CONDITIONS = (
    Condition("projects", _place_sql, _is_in_place),
    Condition("kinds", _kind_sql, _is_of_kind),
    Condition("types", _type_sql, _is_of_type),
    Condition("origins", _origin_sql, _is_of_origin),
    Condition("sessions", _session_sql, _is_in_session),
    Condition("since_ms", _since_sql, _is_of_time),
    Condition("until_ms", _until_sql, _is_of_time),
    Condition("author", _author_sql, _is_by_author),
    Condition("review", _review_sql, _is_reviewed_so),
    Condition("lapsed", _lapsed_sql, _holds),
    Condition("tag", _tag_sql, _is_tagged),
)


def filter_of(connection: Connection, space_id: int, scope: Scope, now_ms: int) -> Filter | None:
    """The filter of a scope, or None when it names a project that nobody has written to."""
    found = _project_ids(connection, space_id, scope)
    if found is None:
        return None
    kinds = () if set(scope.kinds) == set(KINDS) else scope.kinds
    statements_only = scope.with_global and not scope.with_unfiled
    other_kinds = set(kinds or KINDS) - set(GLOBAL_KINDS)
    global_kinds = GLOBAL_KINDS if statements_only and other_kinds else ()
    if global_kinds and found == (NO_PROJECT,):
        kinds = tuple(kind for kind in GLOBAL_KINDS if kind in (kinds or KINDS))
        global_kinds = ()
        if not kinds:
            return None
    chosen = None if scope.sessions is None else tuple(sessions.ids_in(connection, space_id, scope.sessions))
    lapsed = frozenset[int]()
    if not scope.lapsed:
        # All that is read in a snapshot is of one moment: that of the first who asked.
        moment = now_ms if scope.at_ms is None else scope.at_ms
        key = ("not holding", space_id, scope.at_ms, scope.coming)
        lapsed = connection.once(key, lambda: _not_holding(connection, space_id, moment, coming=scope.coming))
    return Filter(
        projects=found,
        kinds=kinds,
        global_kinds=global_kinds,
        types=scope.types,
        tag=scope.tag if _tags(scope.tag) else "",
        sessions=chosen,
        since_ms=scope.since_ms,
        until_ms=scope.until_ms,
        author=scope.author,
        origins=scope.origins,
        review=scope.review,
        lapsed=lapsed,
    )


def _project_ids(connection: Connection, space_id: int, scope: Scope) -> tuple[int, ...] | None:
    """The ids of the projects of a scope; empty for all of them, None if it names one that nobody has written to."""
    if scope.only_global:
        return (NO_PROJECT,)
    if scope.project is None:
        return ()
    found = projects.find(connection, space_id, scope.project)
    if scope.with_global or scope.with_unfiled:
        found = (*found, NO_PROJECT)
    return found or None


def names_of(connection: Connection, space_id: int, scope: Scope, items: Sequence[Item]) -> ScopeNames:
    """The names by which these items may be inside a scope at its moment; a project may have had another one then."""
    assert scope.at_ms is not None
    project_names: set[str] = set()
    if scope.project is not None:
        wanted = projects.find(connection, space_id, scope.project)
        for name in {item.project for item in items if item.project is not None}:
            if not set(wanted).isdisjoint(projects.find(connection, space_id, name)):
                project_names.add(name)
    keys: set[str] = set()
    if scope.sessions is not None:
        chosen = sessions.get(connection, space_id, sessions.ids_in(connection, space_id, scope.sessions))
        keys = {session.key for session in chosen.values()}
    return ScopeNames(project_names, keys, scope.at_ms)


def _not_holding(connection: Connection, space_id: int, moment_ms: int, *, coming: bool) -> frozenset[int]:
    """The live items that do not hold at a moment; with `coming` only those that no longer do."""
    begins_after = LATEST_MS if coming else moment_ms
    rows = connection.rows(_NOT_HOLDING, (space_id, begins_after, moment_ms, moment_ms), prepared=True)
    return frozenset([row[0] for row in rows])


def _tags(tag: str) -> list[str]:
    """The comma separated parts of a tag that is asked for, in lower case."""
    return [_lower(part.strip()) for part in tag.split(",") if part.strip()]


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))


def _lower(text: str) -> str:
    """As both engines fold case: ASCII letters only."""
    return "".join(letter.lower() if letter.isascii() else letter for letter in text)
