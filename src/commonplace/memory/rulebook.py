"""Rulebook: what every agent working on a project must be told, as plain data, for those that only read files."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from commonplace.errors import Conflict, InvalidInput, NotFound
from commonplace.memory.book import Book
from commonplace.memory.browse import MAX_PAGE, browse
from commonplace.model import MEMORY_TYPES, Item, Scope
from commonplace.text.globs import listed_globs
from commonplace.text.names import same_project
from commonplace.text.redact import redact

DEFAULT_TYPES = ("rule", "constraint", "decision", "fact", "rejected", "skill")
# Of what belongs to no project, a project's files are told only these: a fact or decision of somewhere else is not its.
EVERYWHERE_TYPES = ("rule", "constraint", "skill")
SKILL = "skill"

_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing to be told: its words, the heading it was once read under, and the files it is about."""

    id: int
    type: str
    text: str
    topic: str = ""
    category: str = ""
    paths: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """What is told when it stands alone: without its heading a short rule may not make sense."""
        return f"{self.topic}: {self.text}" if self.topic else self.text


@dataclass(frozen=True, slots=True)
class Skill:
    """A way of doing something, and the sentence by which an agent knows when to use it."""

    id: int
    category: str
    text: str
    description: str


@dataclass(frozen=True, slots=True)
class Rulebook:
    """Everything to be told in one project, oldest first."""

    project: str | None
    rules: tuple[Rule, ...]
    skills: tuple[Skill, ...]


def rulebook(book: Book, project: str | None, types: Sequence[str] = DEFAULT_TYPES) -> Rulebook:
    """What holds in a project, and the rules that hold everywhere; without a project, all that holds everywhere."""
    unknown = [type_ for type_ in types if type_ not in MEMORY_TYPES]
    if unknown or not types:
        named = ", ".join(map(repr, unknown))
        raise InvalidInput(
            f"There is no type {named}." if unknown else "No type is named.", f"Choose from {', '.join(MEMORY_TYPES)}."
        )
    found = (item for item in _all(book, project, tuple(types)) if _belongs(item, project))
    items = sorted(found, key=lambda item: (item.created_ms, item.id))
    rules: dict[tuple[str, tuple[str, ...]], Rule] = {}
    for item in items:
        if item.type != SKILL:
            rule = _rule(item)
            # The same said for the project and for everywhere is told once.
            rules.setdefault((essence(rule.words), rule.paths), rule)
    return Rulebook(project, tuple(rules.values()), tuple(_skill(item) for item in items if item.type == SKILL))


def known_project(book: Book, name: str) -> str:
    """The canonical name of a project that someone named; a typing error must not empty their rule files."""
    found = book.store.find_project(name)
    if found is not None:
        return found
    alike = [
        known.name
        for known in book.store.projects()
        if any(same_project(name, a) for a in (known.name, *known.aliases))
    ]
    if alike:
        raise Conflict(f"{name!r} may mean {' or '.join(alike)}.", "Name the project in full.")
    raise NotFound(f"There is no project {name!r}.", "`commonplace projects` lists them.")


def essence(text: str) -> str:
    """What makes two statements the same: their words, whatever their case, spacing and final full stop."""
    return _SPACE.sub(" ", unicodedata.normalize("NFC", redact(text))).strip().rstrip(".").rstrip().casefold()


def _all(book: Book, project: str | None, types: tuple[str, ...]) -> Iterator[Item]:
    scope = Scope.around(project, kinds=("memory",), types=types)
    cursor: str | None = None
    while True:
        page = browse(book, scope, MAX_PAGE, cursor)
        yield from page.items
        cursor = page.next_cursor
        if cursor is None:
            return


def _belongs(item: Item, project: str | None) -> bool:
    return project is None or item.project is not None or item.type in EVERYWHERE_TYPES


def _rule(item: Item) -> Rule:
    return Rule(
        id=item.id,
        type=item.type,
        text=_text(item),
        topic=_SPACE.sub(" ", item.details.get("subtitle", "")).strip(),
        category=item.details.get("category", "").strip(),
        paths=tuple(dict.fromkeys(listed_globs(item.details.get("paths", "")))),
    )


def _skill(item: Item) -> Skill:
    told = item.meta.get("description")
    description = told if isinstance(told, str) and told.strip() else item.title
    description = _SPACE.sub(" ", redact(description)).strip()
    return Skill(item.id, item.details.get("category", "").strip(), _text(item), description)


def _text(item: Item) -> str:
    text = item.text or item.title.strip()
    return redact(text).replace("\r\n", "\n").replace("\r", "\n")
