"""`generate` and `learn`: write a project's rules into the files that agents read, and read existing ones."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from commonplace.cli import tables
from commonplace.cli.command import Call, command
from commonplace.cli.options import (
    PluginChoice,
    place_options,
    project_of_folder,
    project_option,
    project_root,
    root_option,
    split_names,
)
from commonplace.errors import CommonplaceError, InvalidInput
from commonplace.hosts.generate_rule_files import Generated
from commonplace.hosts.generate_rule_files import generate as write_rules
from commonplace.hosts.host import TARGET_NAMES, target_names
from commonplace.hosts.project_files import unified_diff
from commonplace.memory.projects import resolve_project
from commonplace.memory.rules import RULE_SET_TYPES
from commonplace.model import BINDING_TYPES
from commonplace.text.paths import split_globs

if TYPE_CHECKING:
    from commonplace.hosts.learn_rule_files import LearnedFile
    from commonplace.memory.local_memory import LocalMemory

WOULD_CHANGE = 1
WATCH_SECONDS = 0.5
DONE = {"create": "created", "update": "updated", "remove": "removed"}


@command(
    "generate",
    "commonplace generate",
    "commonplace generate claude cursor --dry-run",
    "commonplace generate --types rule --diff",
    "commonplace generate --check",
)
@click.argument("targets", metavar="[TARGET]...", nargs=-1, type=PluginChoice(TARGET_NAMES, target_names))
@project_option("The project (default: that of the folder). Rules for every project are included.")
@root_option
@click.option("--types", metavar="TYPE,...", multiple=True, help=f"What to write ({','.join(RULE_SET_TYPES)}).")
@click.option("--check", is_flag=True, help="Write nothing; exit code 1 if a file is not up to date (for CI).")
@click.option("--diff", is_flag=True, help="Write nothing; show what would change.")
@click.option("--dry-run", is_flag=True, help="Write nothing; list the files that would change.")
@click.option("--watch", is_flag=True, help="Write them again whenever a rule changes, until Ctrl-C.")
def generate(
    call: Call,
    targets: Sequence[str],
    project: str | None,
    root: str | None,
    types: Sequence[str],
    check: bool,
    diff: bool,
    dry_run: bool,
    watch: bool,
) -> None:
    """Write a project's rules, decisions, facts and skills into the files that agents read.

    TARGET is agents, claude, cursor, windsurf, copilot, gemini, kiro, cline or roo. Without one, the files of the tools
    that the project uses are written, or AGENTS.md. Only the text between our own markers is changed.
    """
    if watch and (check or diff or dry_run or call.json):
        raise InvalidInput("--watch writes files and prints text.", "Leave out --check, --diff, --dry-run and --json.")
    folder = project_root(root)
    wanted = tuple(split_names(types)) or RULE_SET_TYPES
    with call.local_memory() as memory:
        name = resolve_project(memory, project) if project is not None else project_of_folder(call, folder)

        def regenerate(write: bool = True) -> Generated:
            return write_rules(memory, folder, name, targets, wanted, write=write)

        if watch:
            _watch(call, memory, regenerate)
            return
        written = not (check or diff or dry_run)
        made = regenerate(written)
    record = _generated_record(made, name, folder, written=written, diff=diff)
    call.answer(record, lambda: _show_generated(call, made, written=written, diff=diff))
    if check and made.changed:
        call.exit(WOULD_CHANGE)


def _watch(call: Call, memory: LocalMemory, regenerate: Callable[[], Generated]) -> None:
    from commonplace.hosts.generate_rule_files import watch

    def pause() -> bool:
        time.sleep(WATCH_SECONDS)
        return True

    def show(made: Generated) -> None:
        _show_generated(call, made, written=True, diff=False)
        call.note("Watching; Ctrl-C stops it.")

    def show_error(error: CommonplaceError) -> None:
        call.note(f"{error.message} {error.hint}")

    try:
        watch(memory, regenerate, pause, show, show_error)
    except KeyboardInterrupt:
        call.note("Ended.")


def _show_generated(call: Call, made: Generated, *, written: bool, diff: bool) -> None:
    for change in made.changed:
        if diff:
            call.say(unified_diff(change))
    if made.changed and not diff:
        verb = DONE if written else {action: f"would be {done}" for action, done in DONE.items()}
        tables.table(("file", "what"), [{"file": c.path, "what": verb[c.action]} for c in made.changed])
    for note in made.notes:
        call.note(note)
    if not made.changes:
        call.note(f"There is nothing to write for {', '.join(made.targets)}: no rules are stored.")
    elif not made.changed:
        count = len(made.changes)
        call.note(f"{count} {'file is' if count == 1 else 'files are'} up to date ({', '.join(made.targets)}).")


def _generated_record(
    made: Generated, project: str | None, folder: Path, *, written: bool, diff: bool
) -> dict[str, Any]:
    changes = [
        {"path": change.path, "action": change.action} | ({"diff": unified_diff(change)} if diff else {})
        for change in made.changes
    ]
    return {
        "project": project,
        "root": str(folder),
        "targets": list(made.targets),
        "written": written,
        "changed": len(made.changed),
        "changes": changes,
        "notes": list(made.notes),
    }


@command(
    "learn",
    "commonplace learn --dry-run",
    "commonplace learn -p my-api",
    "commonplace learn --global",
)
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path())
@place_options("The project that the rules belong to (default: that of the folder).")
@root_option
@click.option("--accept", is_flag=True, help="Let the rules hold at once, as if you had stated them.")
@click.option("--dry-run", is_flag=True, help="Store nothing; show what would be learned.")
def learn(
    call: Call,
    paths: Sequence[str],
    project: str | None,
    only_global: bool,
    root: str | None,
    accept: bool,
    dry_run: bool,
) -> None:
    """Read existing rule files and skills into the memory. Rules that are already known are skipped.

    PATH is a rule file or a folder. Without one, all files of the project are read: CLAUDE.md, AGENTS.md, GEMINI.md,
    the rules of Cursor, Windsurf, Copilot, Kiro, Cline and Roo, and skills. The files are not changed. Rules wait for
    your review, unless you --accept them: a file of a cloned repository may say anything.
    """
    from commonplace.hosts.learn_rule_files import learn as learn_rules

    folder = project_root(root)
    name = call.project(project, only_global, default=lambda: project_of_folder(call, folder))
    with call.local_memory() as memory:
        reads = learn_rules(memory, folder, name, [Path(path) for path in paths], write=not dry_run, accept=accept)
    record = _learned_record(reads, name, folder, written=not dry_run)
    call.answer(record, lambda: _show_learned(call, reads, dry_run=dry_run, accept=accept))


def _show_learned(call: Call, reads: Sequence[LearnedFile], *, dry_run: bool, accept: bool) -> None:
    if not reads:
        call.note("No rule files were found.")
        return
    rows = [
        {"file": read.path, "added": len(read.added), "known": read.known, "skipped": read.skipped} for read in reads
    ]
    tables.table(("file", "added", "known", "skipped"), rows)
    if dry_run:
        for read in reads:
            for new in read.added:
                call.say(f"{new.type}: {new.content}")
    added, known = sum(len(read.added) for read in reads), sum(read.known for read in reads)
    call.note(f"{'Would learn' if dry_run else 'Learned'} {added:,}; {known:,} were already known.")
    if not accept and any(new.type in BINDING_TYPES for read in reads for new in read.added):
        call.note("The rules wait for your review: `commonplace review`. `--accept` lets them hold at once.")


def _learned_record(
    reads: Sequence[LearnedFile], project: str | None, folder: Path, *, written: bool
) -> dict[str, Any]:
    return {
        "project": project,
        "root": str(folder),
        "written": written,
        "added": sum(len(read.added) for read in reads),
        "known": sum(read.known for read in reads),
        "skipped": sum(bool(read.skipped) for read in reads),
        "files": [
            {
                "path": read.path,
                "target": read.host or None,
                "added": [
                    {"type": new.type, "content": new.content, **_rule_fields(new.details)} for new in read.added
                ],
                "known": read.known,
                "skipped": read.skipped or None,
            }
            for read in reads
        ],
    }


def _rule_fields(details: Mapping[str, str]) -> dict[str, Any]:
    named = {"category": details.get("category"), "topic": details.get("subtitle")}
    paths = list(split_globs(details.get("paths", "")))
    return {name: value for name, value in named.items() if value} | ({"paths": paths} if paths else {})
