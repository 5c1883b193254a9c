"""Entities: the people, projects, services, libraries, files and other things that memories name.

Nothing is stored for them. One is opened by a search for its names (about.py), and the list is read off the newest
statements, so both follow every edit, and who may see only one project sees only what that project names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

from commonplace.errors import InvalidInput
from commonplace.memory.items import newest_items
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.projects import require_project
from commonplace.memory.statement_texts import statement_text, titled_statement
from commonplace.model import PROPOSED, VIA, Item, Scope
from commonplace.text.entity_names import (
    ENTITY_KINDS,
    MAX_NAME,
    EntityKind,
    EntityName,
    distinct,
    entity_key,
    entity_names,
    first_given_name,
)
from commonplace.text.project_names import base_name
from commonplace.text.redact import redact
from commonplace.text.references import references

# So many of the newest statements are read for the list; of messages who speaks, and of events which files.
STATEMENTS_READ, MESSAGES_READ, EVENTS_READ = 2_000, 500, 500
DEFAULT_LIMIT, MAX_LIMIT = 100, 1_000
# A kind that somebody gave counts more than what the spelling in a text says.
STATED = 1_000
_FILE_FIELDS = ("files_modified", "files_read", "files", "relevant_files")
# What other products call the kinds of their entities.
_IMPORTED_KINDS: Mapping[str, EntityKind] = {
    **dict.fromkeys(("person", "people", "user", "human", "developer", "engineer", "contact"), "person"),
    **dict.fromkeys(("project", "repository", "repo", "codebase"), "project"),
    **dict.fromkeys(("service", "system", "server", "api", "database", "tool", "application", "app"), "service"),
    **dict.fromkeys(("library", "package", "framework", "technology", "dependency", "language"), "library"),
    **dict.fromkeys(("file", "document", "script"), "file"),
}


@dataclass(frozen=True, slots=True)
class Entity:
    """Something that memories name. `items` counts those that do, among the newest that were read.

    Of a project it counts what belongs to it.
    """

    name: str
    kind: str
    aliases: tuple[str, ...]
    items: int
    first_ms: int
    last_ms: int


def list_entities(
    memory: LocalMemory,
    kind: str = "",
    project: str | None = None,
    named: str = "",
    limit: int = DEFAULT_LIMIT,
    at_ms: int | None = None,
) -> list[Entity]:
    """What the newest statements name, what is named most first; of one kind, or with `named` in its name."""
    if kind and kind not in ENTITY_KINDS:
        raise InvalidInput(f"There is no kind {kind[:40]!r}.", f"Choose from {', '.join(ENTITY_KINDS)}.")
    if not 1 <= limit <= MAX_LIMIT:
        raise InvalidInput(f"limit is {limit}.", f"Choose 1 to {MAX_LIMIT}.")
    require_project(memory, project)
    scope = Scope(project=project, at_ms=at_ms)
    found = memory.store.snapshot(lambda: _all_entities(memory, scope))
    wanted = named.casefold()
    chosen = (
        entity
        for entity in found
        if (not kind or entity.kind == kind)
        and (not wanted or any(wanted in name.casefold() for name in (entity.name, *entity.aliases)))
    )
    return sorted(chosen, key=lambda entity: (-entity.items, -entity.last_ms, entity.name))[:limit]


@dataclass(slots=True)
class _Seen:
    """What was read of one entity."""

    spellings: Counter[str] = field(default_factory=Counter)
    kinds: Counter[EntityKind] = field(default_factory=Counter)
    aliases: set[str] = field(default_factory=set)
    items: int = 0
    strong: bool = False
    first_ms: int = 2**62
    last_ms: int = 0

    def add(self, name: str, kind: EntityKind, item: Item, weight: int, *, strong: bool, named: bool) -> None:
        self.spellings[name] += 1
        self.kinds[kind] += weight
        self.items += named
        self.strong |= strong
        self.first_ms, self.last_ms = min(self.first_ms, item.created_ms), max(self.last_ms, item.created_ms)

    def merge(self, other: _Seen) -> None:
        self.spellings += other.spellings
        self.items += other.items
        self.strong |= other.strong
        self.first_ms, self.last_ms = min(self.first_ms, other.first_ms), max(self.last_ms, other.last_ms)

    @property
    def is_sure(self) -> bool:
        return self.strong or self.items > 1

    def entity(self) -> Entity:
        name = max(self.spellings, key=lambda one: (self.spellings[one], len(one), one))
        aliases = sorted((self.aliases | self.spellings.keys()) - {name})
        return Entity(name, main_kind(self.kinds), tuple(aliases), self.items, self.first_ms, self.last_ms)


def _all_entities(memory: LocalMemory, scope: Scope) -> list[Entity]:
    seen: dict[str, _Seen] = {}

    def add(
        name: str, kind: EntityKind, item: Item, weight: int = 1, *, strong: bool = True, named: bool = True
    ) -> None:
        if 1 < len(name) <= MAX_NAME:
            one = seen.setdefault(entity_key(name, kind), _Seen())
            one.add(name, kind, item, weight, strong=strong, named=named)

    for item in newest_items(memory, replace(scope, kinds=("memory",)), STATEMENTS_READ):
        named = named_in(item) if item.review != PROPOSED else {}
        for one in named.values():
            add(one.name, one.kind, item, strong=one.strong)
        for name, kind, is_named in _stated_names(item):
            add(name, kind, item, STATED, named=is_named and entity_key(name) not in named)
    for item in newest_items(memory, replace(scope, kinds=("message",)), MESSAGES_READ):
        add(item.details.get("speaker", "").strip(), "person", item, STATED, named=False)
    for item in newest_items(memory, replace(scope, kinds=("observation",)), EVENTS_READ):
        for file in files_of(item):
            add(file, "file", item, strong=False)
    _merge_given_names(seen)
    _merge_projects(memory, scope, seen)
    return [one.entity() for one in seen.values() if one.is_sure]


def _stated_names(item: Item) -> Iterator[tuple[str, EntityKind, bool]]:
    """What a statement was imported about, and who made it; the last says whether that counts as naming it."""
    if item.review == PROPOSED:
        return
    for name, kind in imported_names(item):
        yield name, kind, True
    if item.author and VIA not in item.author and item.origin != "imported":
        yield item.author, "person", False


def _merge_given_names(seen: dict[str, _Seen]) -> None:
    """Anna is Anna Schmidt, if there is no other Anna."""
    full: dict[str, list[str]] = {}
    for key, one in seen.items():
        given = next((first_given_name(name) for name in one.spellings if first_given_name(name)), "")
        if given and main_kind(one.kinds) == "person":
            full.setdefault(entity_key(given), []).append(key)
    for given, keys in full.items():
        if len(keys) == 1 and given in seen:
            alone, whole = seen.pop(given), seen[keys[0]]
            name = whole.entity().name
            whole.merge(alone)
            # The longer name is what it is called, however often the shorter one is used.
            whole.spellings[name] += whole.items


def _merge_projects(memory: LocalMemory, scope: Scope, seen: dict[str, _Seen]) -> None:
    """Projects are known by themselves, whatever else their names look like."""
    for project in memory.store.projects():
        here = scope.project is None or memory.store.find_project(scope.project) == project.name
        if not here or project.last_ms is None:
            continue
        names = dict.fromkeys((base_name(project.name), project.name, *project.aliases))
        own = seen.setdefault(entity_key(project.name), _Seen())
        for name in names:
            other = seen.get(entity_key(name))
            if other is not None and other is not own:
                own.merge(seen.pop(entity_key(name)))
        own.kinds["project"] += 2 * STATED
        own.items = max(own.items, project.items)
        own.strong = True
        own.aliases |= names.keys()
        own.spellings[base_name(project.name)] += 1 + own.items
        own.first_ms, own.last_ms = min(own.first_ms, project.last_ms), max(own.last_ms, project.last_ms)


def main_kind(kinds: Counter[EntityKind]) -> EntityKind:
    return max(kinds, key=lambda kind: (kinds[kind], -ENTITY_KINDS.index(kind)), default="thing")


def shown_text(item: Item) -> str:
    """What an item states, without secrets: a name that was cut out of its text could not be recognised as one."""
    return _redacted(statement_text(item))


@lru_cache(maxsize=4096)
def _redacted(text: str) -> str:
    return redact(text)


def all_text(item: Item) -> str:
    return "\n".join((item.title, item.body, item.details_text(), "\n".join(item.tags)))


def named_in(item: Item) -> dict[str, EntityName]:
    """What an item names, each once, with the files that its fields name."""
    return _named_in(item.title, item.body, _file_fields(item))


@lru_cache(maxsize=4096)
def _named_in(title: str, body: str, fields: str) -> dict[str, EntityName]:
    """Read once for each text: the list of entities reads the same thousands of statements every time."""
    files = (EntityName(file, "file", 0, 0, strong=False) for file in _files_in(fields))
    return distinct((*entity_names(redact(titled_statement(title, body))), *files))


def files_of(item: Item) -> list[str]:
    return list(_files_in(_file_fields(item)))


def _file_fields(item: Item) -> str:
    details = item.details
    return " ".join(details[name] for name in _FILE_FIELDS if details.get(name, "").strip()) if details else ""


@lru_cache(maxsize=4096)
def _files_in(named: str) -> tuple[str, ...]:
    return tuple(references(_redacted(named).replace(",", " ")).files) if named else ()


# Entities and relations that were imported from a memory that has them (capture/importers/server_memory.py).


def imported_names(item: Item) -> Iterator[tuple[str, EntityKind]]:
    """The entity that an imported fact is about, with its kind."""
    kind, name = item.meta.get("entity_type"), item.meta.get("source_id")
    if isinstance(kind, str) and isinstance(name, str):
        yield redact(name), _IMPORTED_KINDS.get(kind.casefold(), "thing")
