"""Item: everything known about one remembered thing, what it was, and what leads on from it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from commonplace.errors import CommonplaceError, InvalidInput, NotFound
from commonplace.memory.book import Book
from commonplace.memory.browse import projects
from commonplace.memory.fetch import fetch_one
from commonplace.memory.related import related
from commonplace.memory.revisions import FieldChange, Revision, revisions
from commonplace.memory.staleness import changed_file
from commonplace.model import DETAIL_FIELDS, MEMORY_TYPES, Item
from commonplace.text.differences import Stretch, differences
from commonplace.text.redact import redact
from commonplace.text.summarise import title_of
from commonplace.web.page import Asked, Shown

# As much of a long text as is shown at once, and as many changes as are compared.
SHOWN = 20_000
COMPARED = 30
# Longer ones are compared word by word by nobody.
LONGEST_COMPARED = 200_000


@dataclass(frozen=True, slots=True)
class Difference:
    """A field that a change changed; a short one is told as a whole, a long one by what differs."""

    name: str
    change: FieldChange
    stretches: tuple[Stretch, ...]


@dataclass(frozen=True, slots=True)
class Version:
    """A change as it is shown."""

    revision: Revision
    differences: tuple[Difference, ...]


def item(book: Book, asked: Asked) -> Shown:
    """One item by any spelling of its id. What is not there is said kindly."""
    return page_of(book, asked, asked.path["id"])


def page_of(
    book: Book,
    asked: Asked,
    id_: str,
    wrong: CommonplaceError | None = None,
    written: Mapping[str, str] | None = None,
    status: int = 200,
) -> Shown:
    """The page of an item; `written` is what somebody wrote there that could not be kept, and is still to be seen."""
    try:
        found = fetch_one(book, id_, forgotten=True)
    except (NotFound, InvalidInput):
        return Shown("item_none", {"id": id_[:100]}, 404)
    may_change = asked.may("write")
    editing = may_change and found.forgotten_ms is None and bool(asked.one("edit") or written)
    values: dict[str, Any] = {
        "item": found,
        "heading": heading(found),
        "text": _text(found, whole=bool(asked.one("all"))),
        "plain": bool(asked.one("plain")),
        "details": [(name, redact(found.details[name])) for name in DETAIL_FIELDS[found.kind] if _own(found, name)],
        "meta": [(name, redact(_told(value))) for name, value in found.meta.items()],
        "changed_file": changed_file(found),
        "related": related(book, found),
        "versions": _versions(book, found) if found.rev > 1 else [],
        "may_change": may_change and found.forgotten_ms is None,
        "may_restore": may_change,
        "editing": editing,
        "wrong": wrong,
        "written": {**written_in(found), "rev": found.rev, **(written or {})} if editing else {},
        "replacing": {"replacement": "", "by": ""},
    }
    return Shown("item", values | (choices(book) if editing else {}), status)


def heading(found: Item) -> str:
    """What to call it: its title, or else how its text begins."""
    return redact(found.title) or title_of(found.text) or found.short_id


def choices(book: Book) -> dict[str, Any]:
    """What forms about items offer."""
    return {"types": MEMORY_TYPES, "projects": [project.name for project in projects(book)]}


def written_in(found: Item) -> dict[str, str]:
    """An item as the fields of its form."""
    return {
        "title": redact(found.title),
        "content": redact(found.body),
        "type": found.type,
        "project": found.project or "",
        "tags": redact(", ".join(found.tags)),
        "importance": "" if found.importance is None else f"{found.importance:g}",
        **{f"details.{name}": redact(value) for name, value in found.details.items()},
    }


def compared(change: FieldChange) -> Difference:
    """A changed field, ready to be shown."""
    before, after = redact(change.before), redact(change.after)
    if max(len(before), len(after)) > LONGEST_COMPARED:
        before, after = before[:LONGEST_COMPARED], after[:LONGEST_COMPARED]
    return Difference(change.name, change, tuple(differences(before, after)))


@dataclass(frozen=True, slots=True)
class _Part:
    """A text, or as much of it as is shown."""

    title: str
    shown: str
    length: int
    is_whole: bool

    @property
    def below_title(self) -> str:
        """The text without a heading at its beginning that says what the title says."""
        first, _, rest = self.shown.lstrip().partition("\n")
        return rest if first.startswith("#") and rest.strip() and title_of(first) == self.title else self.shown


def _text(found: Item, *, whole: bool) -> _Part:
    text = found.text
    if whole or len(text) <= SHOWN:
        return _Part(found.title, text, len(text), is_whole=True)
    border = text.rfind("\n", SHOWN // 2, SHOWN)
    return _Part(found.title, text[: border if border > 0 else SHOWN], len(text), is_whole=False)


def _own(found: Item, name: str) -> bool:
    """Whether a field is told by itself; a narrative that stands for the text is told as that."""
    return bool(found.details.get(name)) and not (name == "narrative" and not found.body.strip())


def _told(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)


def _versions(book: Book, found: Item) -> list[Version]:
    changes = revisions(book, found.id)
    return [Version(one, tuple(map(compared, one.changed)) if n < COMPARED else ()) for n, one in enumerate(changes)]
