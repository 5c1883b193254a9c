"""`prune`: conversations that could go, and archiving those that a person picks."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from commonplace.cli import tables
from commonplace.cli.call import Call, command
from commonplace.cli.terminal import one_line
from commonplace.dialects.sekha_records import candidate, megabytes
from commonplace.errors import Conflict, InvalidInput
from commonplace.memory.book import Book
from commonplace.memory.organise import Arrangement, arrange
from commonplace.memory.prune import DEFAULT_DAYS, DEFAULT_IMPORTANCE, MAX_DAYS, Candidate, Pruning
from commonplace.memory.prune import prune as propose
from commonplace.model import Session
from commonplace.text.folders import ROOT
from commonplace.text.redacted_data import redacted

if TYPE_CHECKING:
    from rich.console import Console

COLUMNS = ("number", "id", "label", "folder", "messages", "importance", "age_days", "bytes", "reason")
# Ids that fit on a command line that a person copies; beyond, the list tells the rest.
MOST_NAMED = 20


@command(
    "prune",
    "commonplace prune",
    "commonplace prune --days 90 --importance 3 --folder /imports",
    "commonplace prune --dry-run --json",
)
@click.option(
    "--days", type=click.IntRange(0, MAX_DAYS), default=DEFAULT_DAYS, show_default=True, help="Days without a message."
)
@click.option(
    "--importance",
    type=click.FloatRange(0, 10),
    default=DEFAULT_IMPORTANCE,
    show_default=True,
    help="Keep from this importance on.",
)
@click.option("--folder", default=ROOT, show_default=True, help="Only this folder and all below it.")
@click.option("--yes", is_flag=True, help="Archive all of them without asking.")
@click.option("--dry-run", is_flag=True, help="Only show them.")
def prune(call: Call, days: int, importance: float, folder: str, yes: bool, dry_run: bool) -> None:
    """Old conversations of low importance, each with the reason; in a terminal you are asked which to archive.

    Archiving removes nothing and can be undone. Pinned conversations are never proposed. Without a terminal nothing
    changes unless --yes is given.
    """
    with call.book() as book:
        proposed = propose(book, days, importance, folder)
        if not call.json:
            _show(call, proposed)
        chosen: Sequence[Candidate] = ()
        if yes and not dry_run:
            chosen = proposed.candidates
        elif proposed.candidates and not (dry_run or call.json) and _someone_is_there():
            chosen = _asked(proposed.candidates)
        archived = _archived(call, book, chosen)
    if call.json:
        call.reply(_reply(proposed, archived))
    elif archived:
        _tell(call, archived)
    elif proposed.candidates:
        call.note("Nothing was changed." + ("" if yes or _someone_is_there() else " --yes archives all of them."))


def picked(answer: str, count: int) -> list[int]:
    """The numbers, from 1, that an answer such as `all`, `none` or `1,3-5` means."""
    answer = answer.strip().lower()
    if answer in ("a", "all"):
        return list(range(1, count + 1))
    if answer in ("", "n", "no", "none"):
        return []
    numbers: set[int] = set()
    for part in filter(None, re.split(r"[,\s]+", re.sub(r"\s*-\s*", "-", answer))):
        found = re.fullmatch(r"([0-9]{1,9})(?:-([0-9]{1,9}))?", part)
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
        if not 1 <= first <= last <= count:
            raise InvalidInput(f"{part[:40]!r} is none of 1 to {count}.", "Answer all, none, or numbers such as 1,3-5.")
        numbers.update(range(first, last + 1))
    return sorted(numbers)


def _someone_is_there() -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()


def _asked(candidates: Sequence[Candidate]) -> Sequence[Candidate]:
    while True:
        answer = click.prompt("\nArchive which? all, none, or numbers such as 1,3-5", default="none")
        try:
            return [candidates[number - 1] for number in picked(answer, len(candidates))]
        except InvalidInput as error:
            click.secho(f"{error.message} {error.hint}", fg="yellow")


def _archived(call: Call, book: Book, chosen: Sequence[Candidate]) -> list[Session]:
    """Archive them, but for those that changed while a person was thinking."""
    done = []
    for one in chosen:
        try:
            done.append(arrange(book, one.session.uid, Arrangement(status="archived"), one.session.rev))
        except Conflict:
            call.note(f"{one.session.short_id} changed meanwhile and stays.")
    return done


def _show(call: Call, proposed: Pruning) -> None:
    rows = [_row(number, one) for number, one in enumerate(proposed.candidates, 1)]
    console = tables.terminal()
    if not rows:
        call.note("Nothing could go.")
    elif console is None:
        tables.table(COLUMNS, rows)
    else:
        for row in rows:
            _draw(console, row, len(str(len(rows))))
        total = "1 conversation" if len(rows) == 1 else f"{len(rows):,} conversations"
        call.say(f"\n{total} with {_size(proposed.bytes)} of text.", bold=True)


def _draw(console: Console, row: Mapping[str, Any], digits: int) -> None:
    """A conversation on one line, cut to fit, and the reason below."""
    from rich.text import Text

    number, label = Text(f"{row['number']:>{digits}}  ", "cyan"), Text(one_line(row["label"]), "bold")
    said = "1 message" if row["messages"] == 1 else f"{row['messages']:,} messages"
    facts = Text("  " + one_line(f"{row['folder']} · {said} · {_size(row['bytes'])}"), "dim")
    room = console.width - number.cell_len
    facts.truncate(max(room // 2, room - label.cell_len), overflow="ellipsis")
    label.truncate(room - facts.cell_len, overflow="ellipsis")
    console.print(Text.assemble(number, label, facts), no_wrap=True, overflow="ellipsis")
    console.print(Text(f"{'':{digits}}  {one_line(row['reason'])}"))


def _row(number: int, one: Candidate) -> dict[str, Any]:
    data = redacted(candidate(one))
    return {
        "number": number,
        "id": one.session.short_id,
        "label": data["label"],
        "folder": data["folder"],
        "messages": data["message_count"],
        "importance": data["importance_score"],
        "age_days": data["age_days"],
        "bytes": one.session.bytes,
        "reason": data["reason"],
    }


def _tell(call: Call, archived: Sequence[Session]) -> None:
    call.say(f"Archived {len(archived):,} conversation{'' if len(archived) == 1 else 's'}. Nothing was removed.")
    named = " ".join(session.short_id for session in archived[:MOST_NAMED])
    rest = " (and so on: commonplace conversations --status archived)" if len(archived) > MOST_NAMED else ""
    call.note(f"Undo: commonplace conversations unarchive {named}{rest}")


def _reply(proposed: Pruning, archived: Sequence[Session]) -> dict[str, Any]:
    return {
        "candidates": redacted([candidate(one) for one in proposed.candidates]),
        "total_candidates": len(proposed.candidates),
        "estimated_space_saved_mb": megabytes(proposed.bytes),
        "archived": [session.uid for session in archived],
    }


def _size(size: int) -> str:
    for unit, many in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= many:
            return f"{size / many:.1f} {unit}"
    return f"{size} bytes"
