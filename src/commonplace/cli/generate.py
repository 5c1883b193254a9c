"""`generate`: the rules of a project in the files that agents read."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from commonplace.cli import tables
from commonplace.cli.call import Call, command
from commonplace.cli.diffs import diff as diff_of
from commonplace.cli.place import folder_of, project_in, root_option
from commonplace.errors import CommonplaceError, InvalidInput
from commonplace.hosts.generate import Generated
from commonplace.hosts.generate import generate as write_rules
from commonplace.hosts.targets import NAMES
from commonplace.memory.book import Book
from commonplace.memory.rulebook import DEFAULT_TYPES, known_project

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
@click.argument("targets", metavar="[TARGET]...", nargs=-1, type=click.Choice(NAMES))
@click.option("--project", help="Whose rules; found from the folder if omitted. Those of every project come with them.")
@root_option
@click.option("--types", metavar="TYPE,...", multiple=True, help=f"What to write ({','.join(DEFAULT_TYPES)}).")
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
    folder = folder_of(root)
    wanted = tuple(part.strip() for text in types for part in text.split(",") if part.strip()) or DEFAULT_TYPES
    with call.book() as book:
        name = known_project(book, project) if project is not None else project_in(call, folder)

        def regenerate(write: bool = True) -> Generated:
            return write_rules(book, folder, name, targets, wanted, write=write)

        if watch:
            _watch(call, book, regenerate)
            return
        made = regenerate(not (check or diff or dry_run))
    written = not (check or diff or dry_run)
    if call.json:
        call.reply(_reply(made, name, folder, written=written, diff=diff))
    else:
        _show(call, made, written=written, diff=diff)
    if check and made.changed:
        click.get_current_context().exit(WOULD_CHANGE)


def _watch(call: Call, book: Book, regenerate: Callable[[], Generated]) -> None:
    from commonplace.hosts.watch import watch

    def pause() -> bool:
        time.sleep(WATCH_SECONDS)
        return True

    def tell(made: Generated) -> None:
        _show(call, made, written=True, diff=False)
        call.note("Watching. Ctrl-C ends it.")

    def complain(error: CommonplaceError) -> None:
        call.note(f"{error.message} {error.hint}")

    try:
        watch(book, regenerate, pause, tell, complain)
    except KeyboardInterrupt:
        call.note("Ended.")


def _show(call: Call, made: Generated, *, written: bool, diff: bool) -> None:
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


def _reply(made: Generated, project: str | None, folder: Path, *, written: bool, diff: bool) -> dict[str, Any]:
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
