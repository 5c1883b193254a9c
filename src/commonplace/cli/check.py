"""`check` and `repair`: whether the stored data is intact, and rebuilding what is derived from it."""

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


@command("check", "commonplace check", "commonplace check --quick", "commonplace check --json")
@click.option("--quick", is_flag=True, help="Compare rows and counts only; do not read texts.")
def check(call: Call, quick: bool) -> None:
    """Check the integrity of rows, history, full-text index, vectors, links, topics, counts and the file.

    Nothing is changed. `repair` rebuilds what is derived; about stored content a person decides. The exit code is 9
    if faults are found.
    """
    from commonplace.memory.check import check_and_record

    with progress("Checking") as advance:
        faults = check_and_record(call.settings(), quick=quick, advance=advance)
    call.answer(
        {"sound": not faults, "quick": quick, "faults": [*map(asdict, faults)]}, lambda: _show_checked(call, faults)
    )
    if faults:
        call.exit(FAULTS_FOUND)


@command("repair", "commonplace repair --dry-run", "commonplace repair", "commonplace repair --json")
@click.option("--dry-run", is_flag=True, help="Only show the faults, and whether they can be repaired.")
def repair(call: Call, dry_run: bool) -> None:
    """Make a backup, then rebuild what is derived: full-text index, jobs for vectors, counts, links and topics.

    Stored content is unchanged. If pages of the file are damaged, every readable row is saved into a new file, and the
    damaged one is kept with the backups; the command says how many rows were saved and which could not be. The exit
    code is 9 if faults remain.
    """
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
    call.say("`commonplace repair` repairs what it can." if faults else "No faults found.", bold=True)


def _show_repaired(call: Call, done: RepairResult, dry_run: bool) -> None:
    if dry_run:
        _show_faults(call, done.found)
        call.say("Nothing was changed." if done.found else "No faults found.", bold=True)
        return
    for line in () if done.saved is None else done.saved.changed:
        call.say(f"Changed to be stored: {line}.", fg="yellow")
    for line in done.done:
        call.say(line)
    if done.old_copy is not None:
        call.note(f"A backup of the store as it was: {done.old_copy}")
    _show_faults(call, done.left)
    if done.saved is not None:
        call.say(f"Saved {sum(done.saved.rows.values()):,} rows of the damaged file.", bold=True)
        if done.saved.lost:
            call.say(f"Could not save: {', '.join(done.saved.lost)}.", fg="red")
    if not done.left:
        call.say("No faults found.", bold=True)
