"""Rules: by project and files, edited in place, and previewed as agents get them."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from commonplace.errors import CommonplaceError, Conflict, InvalidInput
from commonplace.hosts.generate_rule_files import generate
from commonplace.hosts.host import rule_targets
from commonplace.memory.edit_and_forget import Changes, edit_item, forget_items, restore_items
from commonplace.memory.items import browse_items, get_item, get_items
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import NewItem, remember_item
from commonplace.memory.rules import active_rules, rule_paths
from commonplace.model import SETTLED, Item, Scope
from commonplace.text.paths import any_glob_matches
from commonplace.web.page_handler import PageReply, PageRequest, Redirect, Rendered, project_names, with_query

AT_ONCE = 200
# Stands for the global rules; no project has this name.
EVERYWHERE = "*"


@dataclass(frozen=True, slots=True)
class Group:
    """Rules for the same files; no paths means every file."""

    paths: tuple[str, ...]
    rules: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """The rules of one project, or the global ones."""

    project: str | None
    groups: tuple[Group, ...]


@dataclass(frozen=True, slots=True)
class RejectedEdit:
    """What somebody wrote that could not be saved: because it is `wrong`, or because `item` was changed meanwhile."""

    item: Item | None
    content: str
    paths: str
    project: str
    wrong: CommonplaceError | None


def list_rules(memory: LocalMemory, request: PageRequest) -> Rendered:
    """All rules, those of one project and the global ones, or those for one file."""
    return _rules_page(memory, request)


def add_rule(memory: LocalMemory, request: PageRequest) -> PageReply:
    """Add a rule; after an error the page keeps what was written."""
    project = request.given("project").strip()
    try:
        rule = NewItem(request.given("content"), type="rule", project=project or None, details=_paths(request))
        stored = remember_item(memory, rule)
    except CommonplaceError as error:
        return _rules_page(memory, request, _rejected_edit(request, None, error), error.http_status)
    return Redirect(_back(request), "known" if stored.duplicate else "added", stored.item.short_id)


def edit_rule(memory: LocalMemory, request: PageRequest) -> PageReply:
    """Edit a rule, unless somebody else changed it meanwhile: then both versions are shown."""
    old: Item | None = None
    try:
        old = get_item(memory, request.path["id"])
        edit_item(memory, old.id, Changes(content=request.given("content"), details=_paths(request)), request.rev)
    except CommonplaceError as error:
        now = next(iter(get_items(memory, [request.path["id"]]).items), None)
        conflict = isinstance(error, Conflict) and now is not None
        return _rules_page(
            memory, request, _rejected_edit(request, now, None if conflict else error), error.http_status
        )
    return Redirect(_back(request), "changed", old.short_id)


def forget_rule(memory: LocalMemory, request: PageRequest) -> Redirect:
    """Forget a rule."""
    (item,) = forget_items(memory, [request.path["id"]])
    return Redirect(_back(request), "forgot", item.short_id)


def restore_rule(memory: LocalMemory, request: PageRequest) -> Redirect:
    """Restore a forgotten rule."""
    (item,) = restore_items(memory, [request.path["id"]])
    return Redirect(_back(request), "restored", item.short_id)


def preview_rule_files(memory: LocalMemory, request: PageRequest) -> Rendered:
    """The files that agents would read, as they would be written into an empty folder."""
    project = request.one("project")
    names = tuple(target.name for target in rule_targets())
    target = request.one("target", names[0])
    if target not in names:
        raise InvalidInput(f"There is no target {target[:40]!r}.", f"Targets: {', '.join(names)}.")
    with tempfile.TemporaryDirectory() as folder:
        made = generate(memory, Path(folder), project or None, [target], write=False)
    files = [(made_file.path, (made_file.after or b"").decode()) for made_file in made.changes]
    values = {"files": files, "notes": made.notes, "targets": names, "target": target, "project": project}
    return Rendered("rules_preview", values | {"projects": project_names(memory)})


def _rules_page(
    memory: LocalMemory, request: PageRequest, held: RejectedEdit | None = None, status: int = 200
) -> Rendered:
    named, file = (request.one(name) or request.given(f"at_{name}") for name in ("project", "file"))
    found, elsewhere = _found(memory, named, [file] if file else [])
    values = {
        "project": named,
        "file": file,
        "sections": _sections(found),
        "elsewhere": elsewhere,
        "too_many": len(found) + elsewhere >= AT_ONCE,
        "may_change": request.may("write"),
        "held": held,
        "paths_of": rule_paths,
        "everywhere": EVERYWHERE,
    }
    return Rendered("rules", values | {"projects": project_names(memory)}, status)


def _found(memory: LocalMemory, named: str, files: Sequence[str]) -> tuple[Sequence[Item], int]:
    """The rules to show, and how many are for other files only."""
    if named:
        active = active_rules(memory, None if named == EVERYWHERE else named, files, AT_ONCE)
        return [*active.project, *active.everywhere], active.elsewhere
    every = browse_items(memory, Scope(kinds=("memory",), types=("rule",), review=SETTLED), AT_ONCE).items
    holding = [
        one for one in reversed(every) if not files or not rule_paths(one) or any_glob_matches(rule_paths(one), files)
    ]
    return holding, len(every) - len(holding)


def _rejected_edit(request: PageRequest, item: Item | None, wrong: CommonplaceError | None) -> RejectedEdit:
    return RejectedEdit(item, request.given("content"), request.given("paths"), request.given("project"), wrong)


def _sections(items: Sequence[Item]) -> list[Section]:
    """Rules by project, the global ones last."""
    names = sorted({item.project for item in items}, key=lambda name: (name is None, name or ""))
    return [Section(name, tuple(_grouped([item for item in items if item.project == name]))) for name in names]


def _grouped(items: Sequence[Item]) -> list[Group]:
    """Rules by their files, those for every file first."""
    groups: dict[tuple[str, ...], list[Item]] = {}
    for item in items:
        groups.setdefault(rule_paths(item), []).append(item)
    return [Group(paths, tuple(groups[paths])) for paths in sorted(groups)]


def _paths(request: PageRequest) -> dict[str, str]:
    return {"paths": "\n".join(line.strip() for line in request.given("paths").splitlines() if line.strip())}


def _back(request: PageRequest) -> str:
    return with_query("/rules", {name: request.given(f"at_{name}") for name in ("project", "file")})
