"""Rules: what always holds, by where and for which files; changed in place, compared, and seen as agents get it."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from commonplace.errors import Conflict, InvalidInput
from commonplace.hosts.generate import generate
from commonplace.hosts.targets import NAMES
from commonplace.memory.book import Book
from commonplace.memory.browse import projects
from commonplace.memory.contradictions import Contradiction, contradictions
from commonplace.memory.edit import Changes, edit
from commonplace.memory.fetch import fetch_one
from commonplace.memory.forget import forget, restore
from commonplace.memory.remember import Note, remember
from commonplace.memory.rules import paths_of
from commonplace.memory.rules import rules as active_rules
from commonplace.memory.supersede import supersede
from commonplace.model import Item
from commonplace.web.page import Asked, Gone, Reply, Shown

AT_ONCE = 200
# The rules of everywhere only, which is no project's name.
EVERYWHERE = "*"


@dataclass(frozen=True, slots=True)
class Group:
    """Rules that hold for the same files; no paths means every file."""

    paths: tuple[str, ...]
    rules: tuple[Item, ...]


def rules(book: Book, asked: Asked) -> Shown:
    """The rules of a project and of everywhere, or those that hold for one file."""
    return _shown(book, asked, {})


def add(book: Book, asked: Asked) -> Gone:
    """A new rule."""
    project = asked.given("project").strip()
    note = Note(asked.given("content"), type="rule", project=project or None, details=_paths(asked))
    stored = remember(book, note)
    return Gone(_back(asked), "known" if stored.duplicate else "added", stored.uid[-12:])


def change(book: Book, asked: Asked) -> Reply:
    """Rewrite a rule, unless somebody else was quicker: then both versions are shown."""
    old = fetch_one(book, asked.path["id"])
    try:
        edit(book, old.id, Changes(content=asked.given("content"), details=_paths(asked)), _rev(asked))
    except Conflict:
        quicker = {"item": fetch_one(book, old.id), "mine": asked.given("content"), "paths": asked.given("paths")}
        return _shown(book, asked, {"quicker": quicker}, status=409)
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


def _shown(book: Book, asked: Asked, more: dict[str, Any], status: int = 200) -> Shown:
    named, file = asked.one("project"), asked.one("file")
    project = None if named in ("", EVERYWHERE) else named
    active = active_rules(book, project, [file] if file else [], AT_ONCE)
    shown = [*active.project, *active.everywhere]
    opposed = _opposed(book, shown) if asked.one("check") else None
    values = {
        "project": named,
        "file": file,
        "of_project": _grouped(active.project),
        "everywhere": _grouped(active.everywhere),
        "elsewhere": active.elsewhere,
        "opposed": opposed,
        "may_change": asked.may("write"),
        "quicker": None,
        "paths_of": paths_of,
    }
    return Shown("rules", values | _where(book) | more, status)


def _where(book: Book) -> dict[str, Any]:
    return {"projects": [project.name for project in projects(book)]}


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
