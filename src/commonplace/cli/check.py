"""`check`: whether the stored data is intact, and rebuilding what is derived from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from commonplace.cli.command import Call, command
from commonplace.cli.terminal import progress

if TYPE_CHECKING:
    from commonplace.memory.repair import RepairResult
    from commonplace.memory.status import Fault

# As docs/reference/commands.md says: the stored data has faults.
FAULTS_FOUND = 9


@command("check", "commonplace check", "commonplace check --quick", "commonplace check --fix")
@click.option("--quick", is_flag=True, help="Compare rows and counts only; do not read texts.")
@click.option("--fix", is_flag=True, help="Make a backup, then repair what can be repaired.")
@click.option("--dry-run", is_flag=True, help="With --fix: only show the problems, and whether they can be repaired.")
def check(call: Call, quick: bool, fix: bool, dry_run: bool) -> None:
    """Look for damage in the stored data: rows, history, indexes, vectors, links, topics, counts and the file.

    --fix makes a backup and rebuilds all that is derived; what you stored is unchanged. If the file itself is damaged,
    every readable row is saved into a new one, and the damaged one is kept with the backups. The exit code is 9 while
    there are faults. `doctor` checks the whole installation.
    """
    if dry_run and not fix:
        raise click.UsageError("--dry-run is for --fix.", click.get_current_context())
    if quick and fix:
        raise click.UsageError("Use either --quick or --fix, not both.", click.get_current_context())
    if fix:
        _repair(call, dry_run)
        return
    from commonplace.memory.check import check_and_record

    with progress("Checking") as advance:
        faults = check_and_record(call.settings(), quick=quick, advance=advance)
    call.answer(
        {"sound": not faults, "quick": quick, "faults": [*map(asdict, faults)]}, lambda: _show_checked(call, faults)
    )
    if faults:
        call.exit(FAULTS_FOUND)


def _repair(call: Call, dry_run: bool) -> None:
    from commonplace.memory.repair import repair_store

    with progress("Checking") as advance:
        done = repair_store(call.settings(), dry_run=dry_run, advance=advance)
    record = {
        "dry_run": dry_run,
        "found": [*map(asdict, done.found)],
        "kept": None if done.old_copy is None else str(done.old_copy),
        "saved": None if done.saved is None else asdict(done.saved),
        "done": list(done.done),
        "left": [*map(asdict, done.left)],
    }
    call.answer(record, lambda: _show_repaired(call, done, dry_run))
    if done.left:
        call.exit(FAULTS_FOUND)


def _show_faults(call: Call, faults: Sequence[Fault]) -> None:
    for fault in faults:
        kind, colour = ("derived", "yellow") if fault.derived else ("stored", "red")
        click.secho(f"{kind:<8} ", nl=False, fg=colour)
        call.say(f"{fault.part}: {fault.count:,} {fault.says} ({', '.join(fault.examples)})")
        call.say(f"         {fault.advice}", dim=True)


def _show_checked(call: Call, faults: Sequence[Fault]) -> None:
    _show_faults(call, faults)
    call.say("`commonplace check --fix` repairs what can be repaired." if faults else "No faults found.", bold=True)


def _show_repaired(call: Call, done: RepairResult, dry_run: bool) -> None:
    if dry_run:
        _show_faults(call, done.found)
        call.say("Nothing was changed." if done.found else "No faults found.", bold=True)
        return
    for line in () if done.saved is None else done.saved.changed:
        call.say(f"Changed so that it can be stored: {line}.", fg="yellow")
    for line in done.done:
        call.say(line)
    if done.old_copy is not None:
        call.note(f"The previous store was saved to {done.old_copy}")
    _show_faults(call, done.left)
    if done.saved is not None:
        call.say(f"Saved {sum(done.saved.rows.values()):,} rows of the damaged file.", bold=True)
        if done.saved.lost:
            call.say(f"Could not save: {', '.join(done.saved.lost)}.", fg="red")
    if not done.left:
        call.say("No faults found.", bold=True)
