"""Rules: what always holds, by where and for which files; changed in place, compared, and seen as agents get it."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from commonplace.errors import CommonplaceError, Conflict, InvalidInput
from commonplace.hosts.generate import generate
from commonplace.hosts.targets import NAMES
from commonplace.memory.book import Book
from commonplace.memory.browse import browse, projects
from commonplace.memory.contradictions import Contradiction, contradictions
from commonplace.memory.edit import Changes, edit
from commonplace.memory.fetch import fetch, fetch_one
from commonplace.memory.forget import forget, restore
from commonplace.memory.remember import Note, remember
from commonplace.memory.rules import paths_of
from commonplace.memory.rules import rules as active_rules
from commonplace.memory.supersede import supersede
from commonplace.model import Item, Scope
from commonplace.text.globs import any_matches
from commonplace.web.page import Asked, Gone, Reply, Shown

AT_ONCE = 200
# The rules of everywhere only, which is no project's name.
EVERYWHERE = "*"


@dataclass(frozen=True, slots=True)
class Group:
    """Rules that hold for the same files; no paths means every file."""

    paths: tuple[str, ...]
    rules: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """Rules of one project, or of everywhere."""

    project: str | None
    groups: tuple[Group, ...]


@dataclass(frozen=True, slots=True)
class Held:
    """What somebody wrote that could not be kept: because of what is wrong, or because `item` was changed meanwhile."""

    item: Item | None
    content: str
    paths: str
    project: str
    wrong: CommonplaceError | None


def rules(book: Book, asked: Asked) -> Shown:
    """All rules, those of a project and of everywhere, or those that hold for one file."""
    return _shown(book, asked)


def add(book: Book, asked: Asked) -> Reply:
    """A new rule; what cannot be kept stays in the page."""
    project = asked.given("project").strip()
    try:
        note = Note(asked.given("content"), type="rule", project=project or None, details=_paths(asked))
        stored = remember(book, note)
    except CommonplaceError as error:
        return _shown(book, asked, _held(asked, None, error), error.http_status)
    return Gone(_back(asked), "known" if stored.duplicate else "added", stored.uid[-12:])


def change(book: Book, asked: Asked) -> Reply:
    """Rewrite a rule, unless somebody else was quicker: then both versions are shown."""
    old: Item | None = None
    try:
        old = fetch_one(book, asked.path["id"])
        edit(book, old.id, Changes(content=asked.given("content"), details=_paths(asked)), _rev(asked))
    except CommonplaceError as error:
        now = next(iter(fetch(book, [asked.path["id"]]).items), None)
        quicker = isinstance(error, Conflict) and now is not None
        return _shown(book, asked, _held(asked, now, None if quicker else error), error.http_status)
    return Gone(_back(asked), "changed", old.short_id)


def drop(book: Book, asked: Asked) -> Gone:
    """Forget a rule."""
    (item,) = forget(book, [asked.path["id"]])
    return Gone(_back(asked), "forgot", item.short_id)


def bring_back(book: Book, asked: Asked) -> Gone:
    """Undo forgetting."""
    (item,) = restore(book, [asked.path["id"]])
    return Gone(_back(asked), "restored", item.short_id)


def settle(book: Book, asked: Asked) -> Gone:
    """Of two rules that contradict each other one holds: it takes the place of the other."""
    old, new = supersede(book, asked.given("old"), asked.path["id"])
    return Gone(_back(asked), "superseded", old.short_id if old.id != new.id else "")


def preview(book: Book, asked: Asked) -> Shown:
    """The files that agents would read, as they would be written into an empty folder."""
    project = asked.one("project")
    target = asked.one("target", NAMES[0])
    if target not in NAMES:
        raise InvalidInput(f"There is no target {target[:40]!r}.", f"Targets: {', '.join(NAMES)}.")
    with tempfile.TemporaryDirectory() as folder:
        made = generate(book, Path(folder), project or None, [target], write=False)
    files = [(made_file.path, (made_file.after or b"").decode()) for made_file in made.changes]
    values = {"files": files, "notes": made.notes, "targets": NAMES, "target": target, "project": project}
    return Shown("rules_preview", values | _where(book))


def _shown(book: Book, asked: Asked, held: Held | None = None, status: int = 200) -> Shown:
    named, file = (asked.one(name) or asked.given(f"at_{name}") for name in ("project", "file"))
    found, elsewhere = _found(book, named, [file] if file else [])
    values = {
        "project": named,
        "file": file,
        "sections": _sections(found),
        "elsewhere": elsewhere,
        "too_many": len(found) + elsewhere >= AT_ONCE,
        "opposed": _opposed(book, found) if asked.one("check") else None,
        "may_change": asked.may("write"),
        "held": held,
        "paths_of": paths_of,
        "everywhere": EVERYWHERE,
    }
    return Shown("rules", values | _where(book), status)


def _found(book: Book, named: str, files: Sequence[str]) -> tuple[Sequence[Item], int]:
    """The rules to show, and how many hold for other files only."""
    if named:
        active = active_rules(book, None if named == EVERYWHERE else named, files, AT_ONCE)
        return [*active.project, *active.everywhere], active.elsewhere
    every = browse(book, Scope(kinds=("memory",), types=("rule",)), AT_ONCE).items
    holding = [one for one in reversed(every) if not files or not paths_of(one) or any_matches(paths_of(one), files)]
    return holding, len(every) - len(holding)


def _held(asked: Asked, item: Item | None, wrong: CommonplaceError | None) -> Held:
    return Held(item, asked.given("content"), asked.given("paths"), asked.given("project"), wrong)


def _where(book: Book) -> dict[str, Any]:
    return {"projects": [project.name for project in projects(book)]}


def _sections(items: Sequence[Item]) -> list[Section]:
    """By project; what holds everywhere comes last."""
    names = sorted({item.project for item in items}, key=lambda name: (name is None, name or ""))
    return [Section(name, tuple(_grouped([item for item in items if item.project == name]))) for name in names]


def _grouped(items: Sequence[Item]) -> list[Group]:
    """By the files they hold for; those for every file first."""
    groups: dict[tuple[str, ...], list[Item]] = {}
    for item in items:
        groups.setdefault(paths_of(item), []).append(item)
    return [Group(paths, tuple(groups[paths])) for paths in sorted(groups)]


def _opposed(book: Book, items: Sequence[Item]) -> list[tuple[Item, Contradiction]]:
    """Pairs that cannot both hold, each pair once."""
    pairs: dict[frozenset[int], tuple[Item, Contradiction]] = {}
    for item in items:
        for found in contradictions(book, item):
            pairs.setdefault(frozenset((item.id, found.item.id)), (item, found))
    return list(pairs.values())


def _paths(asked: Asked) -> dict[str, str]:
    return {"paths": "\n".join(line.strip() for line in asked.given("paths").splitlines() if line.strip())}


def _rev(asked: Asked) -> int:
    return asked.number("rev", 0, 0, 10**9)


def _back(asked: Asked) -> str:
    place = {name: asked.given(f"at_{name}") for name in ("project", "file") if asked.given(f"at_{name}")}
    return "/rules" + (f"?{urlencode(place)}" if place else "")
