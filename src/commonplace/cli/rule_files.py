"""`generate`: the rules of a project in the files that agents read."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from commonplace.cli import tables
from commonplace.cli.command import Call, command
from commonplace.cli.options import PluginChoice, project_of_folder, project_root, root_option
from commonplace.cli.output_files import unified_diff as diff_of
from commonplace.errors import CommonplaceError, InvalidInput
from commonplace.hosts.generate import Generated
from commonplace.hosts.generate import generate as write_rules
from commonplace.hosts.learn import LearnedFile
from commonplace.hosts.learn import learn as read_rules
from commonplace.hosts.registry import TARGET_NAMES, target_names
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.rules import RULE_SET_TYPES, resolve_project
from commonplace.text.paths import split_globs
from commonplace.text.redact import redact

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
@click.option("--project", help="Whose rules; found from the folder if omitted. Those of every project come with them.")
@root_option
@click.option("--types", metavar="TYPE,...", multiple=True, help=f"What to write ({','.join(RULE_SET_TYPES)}).")
@click.option("--check", is_flag=True, help="Write nothing; exit code 1 if a file is not up to date (for CI).")
@click.option("--diff", is_flag=True, help="Write nothing; show what would change.")
@click.option("--dry-run", is_flag=True, help="Write nothing; name the files that would change.")
@click.option("--watch", is_flag=True, help="Go on whenever a rule changes, until Ctrl-C.")
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
    """Write what a project's agents must know into the files that they read: rules, decisions, facts, skills.

    Without a TARGET the files of the tools that the project uses are written, AGENTS.md if it uses none. Only what is
    between our own markers is ever changed; a second run changes nothing. Either every file is written or none.
    """
    if watch and (check or diff or dry_run or call.json):
        raise InvalidInput("--watch writes, and talks to people.", "Leave --check, --diff, --dry-run and --json out.")
    folder = project_root(root)
    wanted = tuple(part.strip() for text in types for part in text.split(",") if part.strip()) or RULE_SET_TYPES
    with call.memory() as memory:
        name = resolve_project(memory, project) if project is not None else project_of_folder(call, folder)

        def regenerate(write: bool = True) -> Generated:
            return write_rules(memory, folder, name, targets, wanted, write=write)

        if watch:
            _watch(call, memory, regenerate)
            return
        made = regenerate(not (check or diff or dry_run))
    written = not (check or diff or dry_run)
    if call.json:
        call.reply(_generated_record(made, name, folder, written=written, diff=diff))
    else:
        _show_generated(call, made, written=written, diff=diff)
    if check and made.changed:
        click.get_current_context().exit(WOULD_CHANGE)


def _watch(call: Call, memory: LocalMemory, regenerate: Callable[[], Generated]) -> None:
    from commonplace.hosts.generate import watch

    def pause() -> bool:
        time.sleep(WATCH_SECONDS)
        return True

    def tell(made: Generated) -> None:
        _show_generated(call, made, written=True, diff=False)
        call.note("Watching. Ctrl-C ends it.")

    def complain(error: CommonplaceError) -> None:
        call.note(f"{error.message} {error.hint}")

    try:
        watch(memory, regenerate, pause, tell, complain)
    except KeyboardInterrupt:
        call.note("Ended.")


def _show_generated(call: Call, made: Generated, *, written: bool, diff: bool) -> None:
    for change in made.changed:
        if diff:
            call.say(diff_of(change))
    if made.changed and not diff:
        verb = DONE if written else {action: f"would be {done}" for action, done in DONE.items()}
        tables.table(("file", "what"), [{"file": c.path, "what": verb[c.action]} for c in made.changed])
    for note in made.notes:
        call.note(note)
    if not made.changes:
        call.note(f"There is nothing to write for {', '.join(made.targets)}: no rule is remembered here.")
    elif not made.changed:
        count = len(made.changes)
        call.note(f"{count} {'file is' if count == 1 else 'files are'} up to date ({', '.join(made.targets)}).")


def _generated_record(
    made: Generated, project: str | None, folder: Path, *, written: bool, diff: bool
) -> dict[str, Any]:
    changes = [
        {"path": change.path, "action": change.action} | ({"diff": diff_of(change)} if diff else {})
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
    "commonplace learn --project my-api",
    "commonplace learn --global --json",
)
@click.argument("paths", metavar="[PATH]...", nargs=-1)
@click.option("--project", help="The project that the rules belong to; found from the folder if omitted.")
@click.option("--global", "everywhere", is_flag=True, help="The rules belong to no project: they hold everywhere.")
@root_option
@click.option("--dry-run", is_flag=True, help="Keep nothing; show what would be learned.")
def learn(
    call: Call, paths: Sequence[str], project: str | None, everywhere: bool, root: str | None, dry_run: bool
) -> None:
    """Read rule files and skills of every known tool into the memory. What is known already is not kept twice.

    PATH is a rule file or a folder with some; without one, all that the project has are read: CLAUDE.md, AGENTS.md,
    GEMINI.md, the rules of Cursor, Windsurf, Copilot, Kiro, Cline and Roo, and skills. Nothing is changed in them.
    """
    folder = project_root(root)
    name = call.project(project, everywhere, here=lambda: project_of_folder(call, folder))
    with call.memory() as memory:
        reads = read_rules(memory, folder, name, [Path(path) for path in paths], write=not dry_run)
    if call.json:
        call.reply(_learned_record(reads, name, folder, written=not dry_run))
    else:
        _show_learned(call, reads, dry_run=dry_run)


def _show_learned(call: Call, reads: Sequence[LearnedFile], *, dry_run: bool) -> None:
    if not reads:
        call.note("There are no rule files here.")
        return
    rows = [
        {"file": read.path, "added": len(read.added), "known": read.known, "skipped": read.skipped} for read in reads
    ]
    tables.table(("file", "added", "known", "skipped"), rows)
    if dry_run:
        for read in reads:
            for note in read.added:
                call.say(f"{note.type}: {redact(note.content)}")
    added, known = sum(len(read.added) for read in reads), sum(read.known for read in reads)
    call.note(f"{'Would learn' if dry_run else 'Learned'} {added:,}; {known:,} were known already.")


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
                    {"type": note.type, "content": redact(note.content), **_rule_fields(note.details)}
                    for note in read.added
                ],
                "known": read.known,
                "skipped": read.skipped or None,
            }
            for read in reads
        ],
    }


def _rule_fields(details: Mapping[str, str]) -> dict[str, Any]:
    told = {"category": details.get("category"), "topic": details.get("subtitle")}
    paths = list(split_globs(details.get("paths", "")))
    return {name: value for name, value in told.items() if value} | ({"paths": paths} if paths else {})
