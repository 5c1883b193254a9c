"""`scrub`: take secrets, or a text that a person names, out of what is already kept."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from commonplace.cli import tables
from commonplace.cli.call import Call, command
from commonplace.memory.scrub import Scrubbing, backups, still_holding, wipe
from commonplace.memory.scrub import scrub as clean

if TYPE_CHECKING:
    from commonplace.memory.book import Book

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
    """Take secrets out of everything that is kept: items, their history, sessions, streams, answers, names.

    What is found is never shown, only its kind and where it stands. What was cleaned is gone from the file too, and
    cannot be brought back. Doing it again goes on where it was interrupted.
    """
    named = _asked() if text else None
    with call.book() as book:
        with tables.progress("Looking", None) as advance:
            found = clean(book, named, dry_run=dry_run, advance=advance)
        wiped = dry_run or wipe(book)
        copies = backups(book)
        if backups_too and not dry_run:
            for copy in copies:
                copy.unlink(missing_ok=True)
        left = still_holding(book, named) if named is not None and not dry_run else []
        if call.json:
            call.reply(_reply(found, dry_run, wiped, copies, backups_too, left))
        else:
            _tell(call, book, found, dry_run, wiped, copies, backups_too, left)


def _asked() -> str:
    """The text to remove: not an argument, since those are seen in the list of processes and kept by the shell."""
    if sys.stdin.isatty():
        return str(click.prompt("Text to remove (not shown)", hide_input=True, err=True))
    return sys.stdin.read().rstrip("\r\n")


def _reply(
    found: Scrubbing, dry_run: bool, wiped: bool, copies: list[Path], gone: bool, left: list[Path]
) -> dict[str, Any]:
    return {
        "dry_run": dry_run,
        "looked_at": found.looked_at,
        "kinds": dict(found.kinds.most_common()),
        "places": found.holders,
        "wiped": wiped and not dry_run,
        "backups": [{"path": str(copy), "deleted": gone and not dry_run} for copy in copies],
        "still_holding": list(map(str, left)),
    }


def _tell(
    call: Call,
    book: Book,
    found: Scrubbing,
    dry_run: bool,
    wiped: bool,
    copies: list[Path],
    gone: bool,
    left: list[Path],
) -> None:
    if found.places:
        tables.table(("kind", "found"), [{"kind": kind, "found": n} for kind, n in found.kinds.most_common()])
        names = [name for part in found.holders.values() for name in part]
        more = f", and {len(names) - MOST_NAMED:,} more (--json names all)" if len(names) > MOST_NAMED else ""
        call.say(f"{'Found in' if dry_run else 'Cleaned'}: {', '.join(names[:MOST_NAMED])}{more}.")
    else:
        call.say(f"Nothing to clean in {found.looked_at:,} places.")
    if not wiped:
        call.note("Another process still reads what was there. Stop it, or do this again later.")
    if copies and gone and not dry_run:
        call.say(f"Deleted {len(copies)} backup{'' if len(copies) == 1 else 's'}.")
    elif copies:
        call.note(f"Backups hold what was (--backups deletes them): {', '.join(map(str, copies))}")
    for path in left:
        call.note(f"The text can still be read in {path}.")
