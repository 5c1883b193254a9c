"""`check` and `repair`: whether everything that is kept is sound, and making anew what is derived."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from commonplace.cli import tables
from commonplace.cli.command import Call, command

if TYPE_CHECKING:
    from commonplace.memory.repair import RepairResult
    from commonplace.memory.status import Fault

# As docs/command-line.md says: something is wrong with what is kept.
FAULTS_FOUND = 9


@command("check", "commonplace check", "commonplace check --quick", "commonplace check --json")
@click.option("--quick", is_flag=True, help="Compare rows and counts only; read no texts.")
def check(call: Call, quick: bool) -> None:
    """Whether everything that is kept is sound: rows, history, words, vectors, links, topics, counts and the file.

    Nothing is changed. What is derived is made anew by `repair`; of what somebody said a person decides. The exit code
    is 9 if something is found.
    """
    from commonplace.memory.check import check_and_record

    with tables.progress("Checking", None) as advance:
        faults = check_and_record(call.settings(), quick=quick, advance=advance)
    if call.json:
        call.reply({"sound": not faults, "quick": quick, "faults": [*map(asdict, faults)]})
    else:
        _show_faults(call, faults)
        call.say("Everything is sound." if not faults else "`commonplace repair` mends what it can.", bold=True)
    _end(faults)


@command("repair", "commonplace repair --dry-run", "commonplace repair", "commonplace repair --json")
@click.option("--dry-run", is_flag=True, help="Only tell what is wrong, and whether it can be mended.")
def repair(call: Call, dry_run: bool) -> None:
    """Make anew what is derived: words, jobs for vectors, counts, links and topics. A copy is kept first.

    Stored content is never changed. Of a file whose pages are damaged, every row that can be read is saved into a new
    one, and the damaged one is kept with the backups. In the end it says how many rows were saved, and which could not
    be. The exit code is 9 if something is wrong in the end.
    """
    from commonplace.memory.repair import repair_store as mend

    with tables.progress("Checking", None) as advance:
        done = mend(call.settings(), dry_run=dry_run, advance=advance)
    if call.json:
        call.reply(
            {
                "dry_run": dry_run,
                "found": [*map(asdict, done.found)],
                "kept": None if done.old_copy is None else str(done.old_copy),
                "saved": None if done.saved is None else asdict(done.saved),
                "done": list(done.done),
                "left": [*map(asdict, done.left)],
            }
        )
    elif dry_run:
        _show_faults(call, done.found)
        call.say("Nothing was changed." if done.found else "Everything is sound.", bold=True)
    else:
        _show_repaired(call, done)
    _end(done.left)


def _show_faults(call: Call, faults: Sequence[Fault]) -> None:
    for fault in faults:
        click.secho(f"{'derived' if fault.derived else 'kept':<8} ", nl=False, fg="yellow" if fault.derived else "red")
        call.say(f"{fault.part}: {fault.count:,} {fault.says} ({', '.join(fault.examples)})")
        call.say(f"         {fault.advice}", dim=True)


def _show_repaired(call: Call, done: RepairResult) -> None:
    for line in () if done.saved is None else done.saved.changed:
        call.say(f"Changed to be kept: {line}.", fg="yellow")
    for line in done.done:
        call.say(line)
    if done.old_copy is not None:
        call.note(f"The store as it was is kept: {done.old_copy}")
    _show_faults(call, done.left)
    if done.saved is not None:
        call.say(f"Saved {sum(done.saved.rows.values()):,} rows of the damaged file.", bold=True)
        if done.saved.lost:
            call.say(f"Could not save: {', '.join(done.saved.lost)}.", fg="red")
    if not done.left:
        call.say("Everything is sound.", bold=True)


def _end(faults: Sequence[Fault]) -> None:
    if faults:
        click.get_current_context().exit(FAULTS_FOUND)
