"""About somebody or something: what is known of it, since when, by whom, and what it has to do with."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from commonplace.errors import InvalidInput, NotFound
from commonplace.memory.as_of import matching_as_of, written_by_then
from commonplace.memory.callers import person_of
from commonplace.memory.entities import (
    STATED,
    Entity,
    all_text,
    files_of,
    imported_names,
    main_kind,
    named_in,
    shown_text,
)
from commonplace.memory.items import newest_items
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.projects import require_project
from commonplace.model import Item, Kind, Scope
from commonplace.store.rows import QUERY_COLUMNS
from commonplace.text.entity_names import (
    MAX_NAME,
    EntityKind,
    EntityName,
    entity_key,
    entity_names,
    first_given_name,
    kind_of_word,
    stated_relations,
)
from commonplace.text.project_names import base_name
from commonplace.text.query import parse_query
from commonplace.text.redact import redact, strip_control_characters
from commonplace.text.references import references
from commonplace.text.sentences import sentences

# So many statements that name an entity are looked at, and so many other items.
FOUND, ELSEWHERE_FOUND = 150, 20
# Of those, how many are told, with how many related entities.
MOST_STATEMENTS, MOST_ELSEWHERE, MOST_RELATED, MOST_WRITTEN = 30, 5, 20, 5
# What is known of a project is also what was stated in it lately.
_OF_PROJECT = 50
_WRITTEN_READ = 300
_ELSEWHERE: tuple[Kind, ...] = ("message", "observation", "summary", "checkpoint")


@dataclass(frozen=True, slots=True)
class RelatedEntity:
    """An entity that another one has to do with: by a relation, or, if that is empty, since both are named together.

    `outgoing`: the relation goes from the one that was asked about to this one. `item_id` is the latest that says so.
    """

    name: str
    kind: str
    relation: str
    outgoing: bool
    items: int
    item_id: int

    @property
    def phrase(self) -> str:
        """The relation as words around the name: "uses Redis", "Anna maintains it", or only the name."""
        if not self.relation:
            return self.name
        return f"{self.relation} {self.name}" if self.outgoing else f"{self.name} {self.relation} it"


@dataclass(frozen=True, slots=True)
class EntityKnowledge:
    """What is known of an entity.

    `statements` hold and name it, the most trusted first, then the newest; there are `total` of them. `elsewhere` are
    the latest other items that name it, `written` the latest statements of a person. `authors` are those who said it.
    """

    entity: Entity
    what: str
    statements: tuple[Item, ...]
    total: int
    elsewhere: tuple[Item, ...]
    written: tuple[Item, ...]
    authors: Mapping[str, int]
    related: tuple[RelatedEntity, ...]


def about(memory: LocalMemory, name: str, project: str | None = None, at_ms: int | None = None) -> EntityKnowledge:
    """What is known of somebody or something by this name; NotFound if nothing is."""
    given = " ".join(strip_control_characters(redact(name)).split())
    unquoted = given.strip("`\"'")
    wanted = unquoted if len(unquoted) > 1 else given
    if not 1 < len(wanted) <= MAX_NAME:
        raise InvalidInput("Give the name of someone or something.", f"A name has 2 to {MAX_NAME} characters.")
    require_project(memory, project)
    scope = Scope(project=project, at_ms=at_ms)
    return memory.store.snapshot(lambda: _Opened(memory, wanted, scope).knowledge())


class _Opened:
    """An entity that is looked up by its names."""

    def __init__(self, memory: LocalMemory, name: str, scope: Scope) -> None:
        self._memory, self._name, self._scope = memory, name, scope
        self._project = _project_called(memory, name)
        self._is_file = bool(references(name).files)
        self._names = list(dict.fromkeys(self._spellings()))
        self._pattern = _pattern_of(self._names)
        self._full_name = ""

    def _spellings(self) -> Iterator[str]:
        yield self._name
        if self._project is not None:
            known = next((one for one in self._memory.store.projects() if one.name == self._project), None)
            yield from (self._project, base_name(self._project), *(known.aliases if known else ()))
        if entity_key(self._name) != self._name.casefold():
            yield entity_key(self._name)
        if given := first_given_name(self._name):
            yield given

    def knowledge(self) -> EntityKnowledge:
        found = self._search(("memory",), FOUND)
        named = self._without_namesakes([item for item in found if self._is_named_in(item)])
        self._add_full_name(named)
        if self._project is not None:
            inside = Scope(project=self._project, kinds=("memory",), at_ms=self._scope.at_ms)
            known = {item.id for item in named}
            named += [item for item in newest_items(self._memory, inside, _OF_PROJECT) if item.id not in known]
        statements = [item for item in named if not _only_names(item)] or named
        statements = sorted(statements, key=lambda item: (-item.trust, -item.created_ms, -item.id))
        elsewhere = [item for item in self._search(_ELSEWHERE, ELSEWHERE_FOUND) if self._is_named_in(item)]
        elsewhere.sort(key=lambda item: (-item.created_ms, -item.id))
        written = self._written()
        if not (statements or elsewhere or written or self._project):
            raise NotFound(f"Nothing is known about {self._name!r}.", "`commonplace about` lists all known names.")
        return EntityKnowledge(
            entity=self._entity(statements, [*named, *elsewhere, *written]),
            what=self._definition(statements),
            statements=tuple(statements[:MOST_STATEMENTS]),
            total=len(statements),
            elsewhere=tuple(elsewhere[:MOST_ELSEWHERE]),
            written=written[:MOST_WRITTEN],
            authors=dict(Counter(person_of(item) for item in statements if item.author).most_common()),
            related=tuple(self._related(statements)),
        )

    def _search(self, kinds: tuple[Kind, ...], most: int) -> list[Item]:
        """Items that hold one of the names as a phrase, of now or of the moment that is asked about."""
        phrases = (name.rpartition("/")[2] if self._is_file else name for name in self._names)
        query = parse_query(" OR ".join(f'"{phrase.replace(chr(34), " ")}"' for phrase in phrases), QUERY_COLUMNS)
        if not query.strict:
            return []
        scope = replace(self._scope, kinds=kinds)
        inside = scope if scope.at_ms is None else written_by_then(scope)
        hits = self._memory.store.search_text(query, inside, most, count=False).hits
        found = list(self._memory.store.get(hit.item_id for hit in hits).values())
        return found if scope.at_ms is None else matching_as_of(self._memory, scope, found, self._is_named_in)

    def _is_named_in(self, item: Item) -> bool:
        if self._is_file:
            return any(_same_file(file, self._name) for file in (*references(shown_text(item)).files, *files_of(item)))
        return bool(self._pattern.search(all_text(item)))

    def _without_namesakes(self, items: list[Item]) -> list[Item]:
        """Of Anna Schmidt, what only says Anna counts unless there is another Anna."""
        given = first_given_name(self._name)
        if not given or _full_names(given, items).keys() <= {entity_key(self._name)}:
            return items
        whole = _pattern_of([self._name])
        return [item for item in items if whole.search(all_text(item))]

    def _add_full_name(self, items: Iterable[Item]) -> None:
        """Anna is called Anna Schmidt, if there is no other Anna."""
        full = _full_names(self._name, items)
        if len(full) == 1 and not first_given_name(self._name):
            self._names.append(next(iter(full.values())))
            self._full_name = self._names[-1]

    def _written(self) -> tuple[Item, ...]:
        """The latest statements of a person by this name."""
        if self._known_kind() not in (None, "person"):
            return ()
        scope = replace(self._scope, kinds=("memory",))
        wanted = self._name.casefold()
        newest = newest_items(self._memory, scope, _WRITTEN_READ)
        return tuple(item for item in newest if item.origin != "imported" and person_of(item).casefold() == wanted)

    def _entity(self, statements: Sequence[Item], items: Sequence[Item]) -> Entity:
        kinds: Counter[EntityKind] = Counter()
        spellings: Counter[str] = Counter()
        keys = self._keys()
        for item in items:
            for one in named_in(item).values():
                if one.key in keys:
                    kinds[one.kind] += 1
                    spellings[one.name] += 1
            for name, kind in imported_names(item):
                if entity_key(name) in keys:
                    kinds[kind] += STATED
                    spellings[name] += 1
        name = self._name if not spellings else max(spellings, key=lambda one: (spellings[one], len(one)))
        name = self._full_name or name
        kind = self._known_kind() or (main_kind(kinds) if kinds else "thing")
        if kind == "thing" and any(person_of(item).casefold() == self._name.casefold() for item in items):
            kind = "person"
        if self._project is not None:
            name = base_name(self._project)
        first = min((item.created_ms for item in items), default=self._memory.clock())
        last = max((item.created_ms for item in items), default=first)
        used = [*spellings, *(self._names if self._project is not None else ())]
        shown = {alias.casefold(): alias for alias in reversed(used) if alias.casefold() != name.casefold()}
        return Entity(name, kind, tuple(sorted(shown.values())), len(statements), first, last)

    def _known_kind(self) -> EntityKind | None:
        if self._project is not None:
            return "project"
        return "file" if self._is_file else kind_of_word(self._name)

    def _keys(self) -> set[str]:
        """The keys of its names; a file has one as a file, too."""
        return {entity_key(name) for name in self._names} | {entity_key(self._name, self._known_kind() or "")}

    def _definition(self, statements: Iterable[Item]) -> str:
        """The first sentence that says what it is: "Kestrel is our deploy tool."."""
        defines = re.compile(rf"(?:{self._pattern.pattern})`?\s+is\s+(?:our|the|an?|my)\s", re.IGNORECASE)
        every = (sentence for item in statements for sentence in sentences(shown_text(item)))
        return next(filter(defines.search, every), "")

    def _related(self, statements: Sequence[Item]) -> list[RelatedEntity]:
        """Relations first, then what is named together with it most often."""
        relations: Counter[tuple[str, str, bool]] = Counter()
        together: Counter[str] = Counter()
        known: dict[str, tuple[str, str]] = {}
        sure: set[str] = set()
        latest: dict[str, int] = {}
        own = self._keys()
        for item in statements:
            for one, relation, other in _relations_in(item):
                for near, far, outgoing in ((one, other, True), (other, one, False)):
                    if near.key in own and far.key not in own:
                        relations[far.key, relation, outgoing] += 1
                        known.setdefault(far.key, (far.name, far.kind))
                        latest[far.key] = max(item.id, latest.get(far.key, 0))
            for key, named in named_in(item).items():
                if key not in own and not (self._is_file and _same_file(named.name, self._name)):
                    together[key] += 1
                    sure |= {key} if named.strong or named.kind == "file" else set()
                    known.setdefault(key, (named.name, named.kind))
                    latest[key] = max(item.id, latest.get(key, 0))
        for key, _relation, _outgoing in relations:
            together.pop(key, None)
        found = [
            RelatedEntity(*known[key], relation, outgoing, count, latest[key])
            for (key, relation, outgoing), count in relations.items()
        ]
        found += [
            RelatedEntity(*known[key], "", True, count, latest[key])
            for key, count in together.items()
            if key in sure or count > 1
        ]
        found.sort(key=lambda one: (not one.relation, -one.items, one.name.casefold(), one.relation))
        return found[:MOST_RELATED]


def _project_called(memory: LocalMemory, name: str) -> str | None:
    try:
        return memory.store.find_project(name)
    except InvalidInput:
        # No project can be called that.
        return None


def _full_names(given: str, items: Iterable[Item]) -> dict[str, str]:
    """The people with a given name that items name with a surname, by their keys."""
    wanted = given.casefold()
    found = (one for item in items for one in entity_names(shown_text(item)) if one.kind == "person")
    return {one.key: one.name for one in found if first_given_name(one.name).casefold() == wanted}


def _pattern_of(names: Iterable[str]) -> re.Pattern[str]:
    """Any of the names as words of their own."""
    either = "|".join(re.escape(name).replace(r"\ ", r"\s+") for name in sorted(names, key=len, reverse=True))
    return re.compile(rf"(?<![\w-])(?:{either})(?![\w-]|\.\w)", re.IGNORECASE)


def _same_file(one: str, other: str) -> bool:
    """Whether two paths may be of one file: equal, or one the end of the other."""
    a, b = (path.replace("\\", "/").casefold().strip("/") for path in (one, other))
    return a == b or a.endswith(f"/{b}") or b.endswith(f"/{a}")


def _only_names(item: Item) -> bool:
    """Whether an imported item says nothing of its entity but its name and kind."""
    kind, name = item.meta.get("entity_type"), item.meta.get("source_id")
    return kind is not None and item.body in (name, f"{name} ({kind})")


def _relations_in(item: Item) -> Iterator[tuple[EntityName, str, EntityName]]:
    """The relation that an item was imported as, or those that its text states."""
    relation = item.meta.get("relation")
    if isinstance(relation, str) and relation:
        verb = relation.replace("_", " ")
        one, found, other = shown_text(item).partition(f" {redact(verb)} ")
        if found:
            yield _plain_name(one), redact(verb), _plain_name(other)
        return
    yield from stated_relations(shown_text(item))


def _plain_name(name: str) -> EntityName:
    known = next((one for one in entity_names(name) if one.name == name), None)
    return known or EntityName(name, kind_of_word(name) or "thing", 0, len(name))
