"""`check` and `scrub`: whether the stored data is intact, repairing it, and removing secrets from it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from commonplace.capture.hooks.scrub_captured import scrub_shown_texts, scrub_spool
from commonplace.cli import tables
from commonplace.cli.command import Call, command
from commonplace.cli.terminal import progress
from commonplace.memory.scrub import ScrubResult, copies_of_store, files_holding, scrub_secrets, wipe_deleted

if TYPE_CHECKING:
    from commonplace.memory.check_and_repair import RepairResult
    from commonplace.memory.status_and_stats import Fault

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
    from commonplace.memory.check_and_repair import check_and_record

    with progress("Checking") as advance:
        faults = check_and_record(call.settings(), quick=quick, advance=advance)
    call.answer(
        {"sound": not faults, "quick": quick, "faults": [*map(asdict, faults)]}, lambda: _show_checked(call, faults)
    )
    if faults:
        call.exit(FAULTS_FOUND)


def _repair(call: Call, dry_run: bool) -> None:
    from commonplace.memory.check_and_repair import repair_store

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
            more = f", and {len(done.saved.lost) - MAX_NAMED:,} more" if len(done.saved.lost) > MAX_NAMED else ""
            call.say(f"Could not save: {', '.join(done.saved.lost[:MAX_NAMED])}{more}.", fg="red")
            call.note(
                "A backup may have it: `commonplace backup list` shows them, `commonplace backup restore` restores one."
            )
    if not done.left:
        call.say("No faults found.", bold=True)


# Places that are named to a person; programs get all of them.
MAX_NAMED = 20


@command(
    "scrub",
    "commonplace scrub --dry-run",
    "commonplace scrub --backups",
)
@click.option("--dry-run", is_flag=True, help="Change nothing; count the secrets and say where they are.")
@click.option("--text", is_flag=True, help="Also remove a text that you type at a prompt or pipe in.")
@click.option("--backups", "backups_too", is_flag=True, help="Also delete the backups, which still contain them.")
def scrub(call: Call, dry_run: bool, text: bool, backups_too: bool) -> None:
    """Remove secrets from everything stored: memories, their history, sessions, names, waiting events.

    Secrets are never printed, only their kind and place. They are wiped from the file, too; this cannot be undone. If
    it is interrupted, run it again.
    """
    from commonplace.capture.hooks.drain import drain
    from commonplace.capture.hooks.drain_inline import drop_stale_contexts

    text_to_remove = _read_text() if text else None
    with call.local_memory() as memory:
        if not dry_run:
            # Waiting events are stored, and scrubbed with the rest.
            drain(memory, memory.settings)
        with progress("Looking") as advance:
            found = scrub_secrets(memory, text_to_remove, dry_run=dry_run, advance=advance)
        waiting = scrub_spool(memory.settings, text_to_remove, found, dry_run=dry_run)
        scrub_shown_texts(memory.settings, text_to_remove, found, dry_run=dry_run)
        wiped = dry_run or wipe_deleted(memory)
        drop_stale_contexts(memory.settings)
        copies = copies_of_store(memory)
        if backups_too and not dry_run:
            for copy in copies:
                copy.unlink(missing_ok=True)
        left = files_holding(memory, text_to_remove) if text_to_remove is not None and not dry_run else []
    on_server = bool(memory.settings.database_url)
    done = Scrubbed(found, dry_run, wiped, waiting, copies, backups_too and not dry_run, left, on_server)
    call.answer(done.record(), lambda: _show(call, done))


@dataclass(frozen=True, slots=True)
class Scrubbed:
    """What was found and cleaned, and what could not be."""

    found: ScrubResult
    dry_run: bool
    wiped: bool
    waiting: int
    copies: list[Path]
    copies_deleted: bool
    left: list[Path]
    on_server: bool

    def record(self) -> dict[str, Any]:
        return {
            "dry_run": self.dry_run,
            "looked_at": self.found.looked_at,
            "kinds": dict(self.found.kinds.most_common()),
            "places": self.found.holders,
            "waiting": self.waiting,
            "wiped": self.wiped and not self.dry_run,
            "backups": [{"path": str(copy), "deleted": self.copies_deleted} for copy in self.copies],
            "still_holding": list(map(str, self.left)),
        }


def _read_text() -> str:
    """The text to remove: not an argument, since others can see those in the list of processes."""
    if sys.stdin.isatty():
        return str(click.prompt("Text to remove (not shown)", hide_input=True, err=True))
    return sys.stdin.read().rstrip("\r\n")


def _show(call: Call, done: Scrubbed) -> None:
    found = done.found
    if found.places:
        tables.table(("kind", "found"), [{"kind": kind, "found": n} for kind, n in found.kinds.most_common()])
        names = [name for part in found.holders.values() for name in part]
        more = f", and {len(names) - MAX_NAMED:,} more (--json names all)" if len(names) > MAX_NAMED else ""
        call.say(f"{'Found in' if done.dry_run else 'Cleaned'}: {', '.join(names[:MAX_NAMED])}{more}.")
    else:
        call.say(f"No secrets in {found.looked_at:,} places.")
    if done.waiting and not done.dry_run:
        call.note(f"{done.waiting:,} events are being stored by another process. Run this again in a moment.")
    if not done.wiped:
        call.note("Another process is still reading the old content. Stop it, or run this again later.")
    if done.copies and done.copies_deleted:
        call.say(f"Deleted {len(done.copies)} backup{'' if len(done.copies) == 1 else 's'}.")
    elif done.copies:
        call.note(f"Backups may still contain secrets (--backups deletes them): {', '.join(map(str, done.copies))}")
    if done.on_server:
        call.note("Logs, replicas and backups of the database server may contain the secrets until they expire.")
    for path in done.left:
        call.note(f"The text can still be read in {path}.")
