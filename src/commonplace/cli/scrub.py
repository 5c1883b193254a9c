"""`scrub`: take secrets, or a text that a person names, out of what is already kept."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from commonplace.capture.hooks.spool_reader import scrub_spool
from commonplace.cli import tables
from commonplace.cli.command import Call, command
from commonplace.memory.scrub import ScrubResult, copies_of_store, files_holding, wipe_deleted
from commonplace.memory.scrub import scrub_secrets as clean

# Places that are named to a person; programs get them all.
MOST_NAMED = 20


@command(
    "scrub",
    "commonplace scrub --dry-run",
    "commonplace scrub --backups",
    "commonplace scrub --json",
)
@click.option("--dry-run", is_flag=True, help="Only count what is there, and say where.")
@click.option("--text", is_flag=True, help="Remove a text too: it is asked for, or read from a pipe.")
@click.option("--backups", "backups_too", is_flag=True, help="Delete the backups, which hold what was.")
def scrub(call: Call, dry_run: bool, text: bool, backups_too: bool) -> None:
    """Take secrets out of everything that is kept: items, their history, sessions, streams, answers, names, the spool.

    What is found is never shown, only its kind and where it stands. What was cleaned is gone from the file too, and
    cannot be brought back. Doing it again goes on where it was interrupted.
    """
    from commonplace.capture.hooks.drain import drain
    from commonplace.capture.hooks.drain_inline import drop_stale_contexts

    named = _asked() if text else None
    with call.memory() as memory:
        if not dry_run:
            # What is remembered now is cleaned with the rest.
            drain(memory, memory.settings)
        with tables.progress("Looking", None) as advance:
            found = clean(memory, named, dry_run=dry_run, advance=advance)
        waiting = scrub_spool(memory.settings, named, found, dry_run=dry_run)
        wiped = dry_run or wipe_deleted(memory)
        drop_stale_contexts(memory.settings)
        copies = copies_of_store(memory)
        if backups_too and not dry_run:
            for copy in copies:
                copy.unlink(missing_ok=True)
        left = files_holding(memory, named) if named is not None and not dry_run else []
    elsewhere = bool(memory.settings.database_url)
    done = Done(found, dry_run, wiped, waiting, copies, backups_too and not dry_run, left, elsewhere)
    if call.json:
        call.reply(done.reply())
    else:
        _tell(call, done)


@dataclass(frozen=True, slots=True)
class Done:
    """What was found and cleaned, and what could not be."""

    found: ScrubResult
    dry_run: bool
    wiped: bool
    waiting: int
    copies: list[Path]
    gone: bool
    left: list[Path]
    elsewhere: bool

    def reply(self) -> dict[str, Any]:
        return {
            "dry_run": self.dry_run,
            "looked_at": self.found.looked_at,
            "kinds": dict(self.found.kinds.most_common()),
            "places": self.found.holders,
            "waiting": self.waiting,
            "wiped": self.wiped and not self.dry_run,
            "backups": [{"path": str(copy), "deleted": self.gone} for copy in self.copies],
            "still_holding": list(map(str, self.left)),
        }


def _asked() -> str:
    """The text to remove: not an argument, since those are seen in the list of processes and kept by the shell."""
    if sys.stdin.isatty():
        return str(click.prompt("Text to remove (not shown)", hide_input=True, err=True))
    return sys.stdin.read().rstrip("\r\n")


def _tell(call: Call, done: Done) -> None:
    found = done.found
    if found.places:
        tables.table(("kind", "found"), [{"kind": kind, "found": n} for kind, n in found.kinds.most_common()])
        names = [name for part in found.holders.values() for name in part]
        more = f", and {len(names) - MOST_NAMED:,} more (--json names all)" if len(names) > MOST_NAMED else ""
        call.say(f"{'Found in' if done.dry_run else 'Cleaned'}: {', '.join(names[:MOST_NAMED])}{more}.")
    else:
        call.say(f"Nothing to clean in {found.looked_at:,} places.")
    if done.waiting and not done.dry_run:
        call.note(f"{done.waiting:,} events are being remembered by another process. Do this again in a moment.")
    if not done.wiped:
        call.note("Another process still reads what was there. Stop it, or do this again later.")
    if done.copies and done.gone:
        call.say(f"Deleted {len(done.copies)} backup{'' if len(done.copies) == 1 else 's'}.")
    elif done.copies:
        call.note(f"Backups hold what was (--backups deletes them): {', '.join(map(str, done.copies))}")
    if done.elsewhere:
        call.note("Logs, replicas and backups of the database server may hold what was, until they are renewed.")
    for path in done.left:
        call.note(f"The text can still be read in {path}.")
