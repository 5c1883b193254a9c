"""`conversations prune` and `conversations stats`: what could be archived, and how much there is from when."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from commonplace.cli import tables
from commonplace.cli.command import Call, command
from commonplace.cli.options import folder_filter
from commonplace.cli.terminal import console, is_interactive, one_line
from commonplace.dialects.sekha_records import megabytes, prune_candidate, statistics
from commonplace.errors import Conflict, InvalidInput
from commonplace.memory.prune import MAX_DAYS, PRUNE_DAYS, PRUNE_IMPORTANCE, PruneCandidate, PruneProposal
from commonplace.memory.status_and_stats import conversation_stats, message_activity
from commonplace.model import Session
from commonplace.text.paths import ROOT_FOLDER

if TYPE_CHECKING:
    from rich.console import Console

    from commonplace.library.memory import Memory

PRUNE_COLUMNS = ("number", "id", "label", "folder", "messages", "importance", "age_days", "bytes", "reason")
# Ids that fit on a command line that a person copies.
MAX_NAMED = 20


@command(
    "prune",
    "commonplace conversations prune",
    "commonplace conversations prune --days 90 --importance 3 --folder /imports",
    "commonplace conversations prune --dry-run",
)
@click.option(
    "--days",
    type=click.IntRange(0, MAX_DAYS),
    default=PRUNE_DAYS,
    show_default=True,
    help="Only those without a message for this many days.",
)
@click.option(
    "--importance",
    type=click.FloatRange(0, 10),
    default=PRUNE_IMPORTANCE,
    show_default=True,
    help="Only those below this importance.",
)
@click.option("--folder", default=ROOT_FOLDER, show_default=True, help="Only this folder and its subfolders.")
@click.option("-y", "--yes", is_flag=True, help="Archive all of them without asking.")
@click.option("--dry-run", is_flag=True, help="Only show them.")
def prune(call: Call, days: int, importance: float, folder: str, yes: bool, dry_run: bool) -> None:
    """Suggest old, unimportant conversations for archiving; in a terminal, ask which to archive.

    Archiving removes nothing and can be undone. Pinned conversations are never suggested. Outside a terminal, only
    --yes archives.
    """
    with call.memory() as memory:
        proposed = memory.prune(days=days, importance=importance, folder=folder)
        if not call.json:
            _show_candidates(call, proposed)
        chosen: Sequence[PruneCandidate] = ()
        if yes and not dry_run:
            chosen = proposed.candidates
        elif proposed.candidates and not (dry_run or call.json) and is_interactive():
            chosen = _prompt_for_selection(proposed.candidates)
        archived = _archive_chosen(call, memory, chosen)
    if call.json:
        call.reply(_prune_record(proposed, archived))
    elif archived:
        _show_archived(call, archived)
    elif proposed.candidates:
        call.note("Nothing was changed." + ("" if yes or is_interactive() else " --yes archives all of them."))


def parse_selection(answer: str, count: int) -> list[int]:
    """The numbers, from 1, that an answer such as `all`, `none` or `1,3-5` means."""
    answer = answer.strip().lower()
    if answer in ("a", "all"):
        return list(range(1, count + 1))
    if answer in ("", "n", "no", "none"):
        return []
    numbers: set[int] = set()
    for part in filter(None, re.split(r"[,\s]+", "-".join(part.strip() for part in answer.split("-")))):
        found = re.fullmatch(r"([0-9]{1,9})(?:-([0-9]{1,9}))?", part)
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
        if not 1 <= first <= last <= count:
            raise InvalidInput(
                f"{part[:40]!r} is not a number from 1 to {count}.", "Answer all, none, or numbers such as 1,3-5."
            )
        numbers.update(range(first, last + 1))
    return sorted(numbers)


def _prompt_for_selection(candidates: Sequence[PruneCandidate]) -> Sequence[PruneCandidate]:
    while True:
        answer = click.prompt("\nArchive which? all, none, or numbers such as 1,3-5", default="none")
        try:
            return [candidates[number - 1] for number in parse_selection(answer, len(candidates))]
        except InvalidInput as error:
            click.secho(f"{error.message} {error.hint}", fg="yellow")


def _archive_chosen(call: Call, memory: Memory, chosen: Sequence[PruneCandidate]) -> list[Session]:
    """Archive them, except those that changed since they were shown."""
    done = []
    for one in chosen:
        try:
            done.append(memory.update_conversation(one.session.uid, status="archived", expect_rev=one.session.rev))
        except Conflict:
            call.note(f"{one.session.short_id} was changed in the meantime and was not archived.")
    return done


def _show_candidates(call: Call, proposed: PruneProposal) -> None:
    rows = [_candidate_row(number, one) for number, one in enumerate(proposed.candidates, 1)]
    terminal = console()
    if not rows:
        call.note("No conversation is old and unimportant enough to suggest.")
    elif terminal is None:
        tables.table(PRUNE_COLUMNS, rows)
    else:
        for row in rows:
            _draw_candidate(terminal, row, len(str(len(rows))))
        total = "1 conversation" if len(rows) == 1 else f"{len(rows):,} conversations"
        call.say(f"\n{total} with {_format_size(proposed.bytes)} of text.", bold=True)


def _draw_candidate(terminal: Console, row: Mapping[str, Any], digits: int) -> None:
    """Print a conversation on one line, cut to fit, and the reason below."""
    from rich.text import Text

    number, label = Text(f"{row['number']:>{digits}}  ", "cyan"), Text(one_line(row["label"]), "bold")
    count = "1 message" if row["messages"] == 1 else f"{row['messages']:,} messages"
    facts = Text("  " + one_line(f"{row['folder']} · {count} · {_format_size(row['bytes'])}"), "dim")
    width = terminal.width - number.cell_len
    facts.truncate(max(width // 2, width - label.cell_len), overflow="ellipsis")
    label.truncate(width - facts.cell_len, overflow="ellipsis")
    terminal.print(Text.assemble(number, label, facts), no_wrap=True, overflow="ellipsis")
    terminal.print(Text(f"{'':{digits}}  {one_line(row['reason'])}"))


def _candidate_row(number: int, one: PruneCandidate) -> dict[str, Any]:
    data = prune_candidate(one)
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


def _show_archived(call: Call, archived: Sequence[Session]) -> None:
    call.say(f"Archived {len(archived):,} conversation{'' if len(archived) == 1 else 's'}. Nothing was removed.")
    named = " ".join(session.short_id for session in archived[:MAX_NAMED])
    rest = " (and so on: commonplace conversations --status archived)" if len(archived) > MAX_NAMED else ""
    call.note(f"Undo: commonplace conversations unarchive {named}{rest}")


def _prune_record(proposed: PruneProposal, archived: Sequence[Session]) -> dict[str, Any]:
    return {
        "candidates": [prune_candidate(one) for one in proposed.candidates],
        "total_candidates": len(proposed.candidates),
        "estimated_space_saved_mb": megabytes(proposed.bytes),
        "archived": [session.uid for session in archived],
    }


def _format_size(size: int) -> str:
    for unit, many in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= many:
            return f"{size / many:.1f} {unit}"
    return f"{size} bytes"


MAX_ROWS = 10
HEIGHT = 5
BLOCKS = " ▁▂▃▄▅▆▇█"
NAME_WIDTH, BAR_WIDTH = 30, 24


@command(
    "stats",
    "commonplace conversations stats",
    "commonplace conversations stats --folder /design",
)
@folder_filter
def stats(call: Call, folder: str | None) -> None:
    """Count conversations, messages and words, by folder, label and status, and over time.

    Activity is shown for each of the last 26 weeks, or the last 24 months if some of it is older.
    """
    with call.local_memory() as memory:
        data: dict[str, Any] = {**statistics(conversation_stats(memory, folder))}
        activity = message_activity(memory, folder)
    data["activity"] = {
        "unit": activity.unit,
        "earlier": activity.earlier,
        "messages": [{"from": day.isoformat(), "messages": count} for day, count in activity.messages.items()],
    }
    if call.json or data["total_conversations"]:
        call.answer(data, lambda: _show(data))
    else:
        call.note("No conversations.")


def _show(data: Mapping[str, Any]) -> None:
    terminal = console()
    if terminal is None:
        _print_tables(data)
    else:
        _draw(terminal, data)


def chart(values: Sequence[int], height: int = HEIGHT) -> list[str]:
    """A bar chart of block characters, line by line from the top; every value above zero is visible."""
    most = max([*values, 1])
    steps = [max(1, round(value / most * height * 8)) if value else 0 for value in values]
    return [
        " ".join(BLOCKS[min(8, max(0, step - row * 8))] for step in steps).rstrip() for row in reversed(range(height))
    ]


def _totals(data: Mapping[str, Any]) -> dict[str, str]:
    statuses = ", ".join(f"{count:,} {status}" for status, count in data["status_breakdown"].items() if count)
    span = data["date_range"]
    return {
        "conversations": f"{data['total_conversations']:,} ({statuses})",
        "messages": f"{data['total_messages']:,}",
        "words": f"{data['total_words']:,}",
        "importance": f"{data['average_importance']:g} on average",
        "period": f"{span['oldest'][:10]} to {span['newest'][:10]}",
        "size": f"{data['storage_size_mb']:,.1f} MB",
    }


def _draw(terminal: Console, data: Mapping[str, Any]) -> None:
    tables.facts(_totals(data), 15)
    _bars(terminal, "Folders", data["folders"])
    # An import gives each conversation a label of its own; only shared ones are interesting.
    shared = {label: count for label, count in data["labels"].items() if count > 1}
    if shared:
        _bars(terminal, "Labels", shared)
    _activity(data["activity"])


def _bars(terminal: Console, title: str, counts: Mapping[str, int]) -> None:
    from rich.text import Text

    click.secho(f"\n{title}", bold=True)
    shown = dict(sorted(counts.items(), key=lambda entry: -entry[1])[:MAX_ROWS])
    for name, count in shown.items():
        label = Text(one_line(name))
        label.truncate(NAME_WIDTH, overflow="ellipsis", pad=True)
        bar = "█" * max(1, round(count / max(shown.values()) * BAR_WIDTH))
        terminal.print(Text.assemble("  ", label, f" {count:>7,} ", (bar, "green")), no_wrap=True, overflow="crop")
    if len(counts) > len(shown):
        click.secho(f"  and {len(counts) - len(shown):,} more", dim=True)


def _activity(data: Mapping[str, Any]) -> None:
    values = [entry["messages"] for entry in data["messages"]]
    most = max(data["messages"], key=lambda entry: entry["messages"])
    click.secho(f"\nMessages per {data['unit']}", bold=True, nl=False)
    is_week = data["unit"] == "week"
    when = f"in the week of {most['from']}" if is_week else f"in {most['from'][:7]}"
    click.secho(f"  at most {most['messages']:,}, {when}", dim=True)
    for line in chart(values):
        click.secho(f"  {line}", fg="green")
    first, last = (data["messages"][end]["from"][: None if is_week else 7] for end in (0, -1))
    click.secho(f"  {first}{last:>{2 * len(values) - 1 - len(first)}}", dim=True)
    if data["earlier"]:
        click.secho(f"  and {data['earlier']:,} before", dim=True)


def _print_tables(data: Mapping[str, Any]) -> None:
    """Print the figures as tables, for a pipe."""
    totals = {
        "conversations": data["total_conversations"],
        **data["status_breakdown"],
        "messages": data["total_messages"],
        "words": data["total_words"],
        "average_importance": data["average_importance"],
        "oldest": data["date_range"]["oldest"],
        "newest": data["date_range"]["newest"],
        "storage_size_mb": data["storage_size_mb"],
    }
    tables.table(("what", "value"), [{"what": name, "value": value} for name, value in totals.items()])
    for name, counts in (("folder", data["folders"]), ("label", data["labels"])):
        click.echo()
        tables.table((name, "conversations"), [{name: key, "conversations": count} for key, count in counts.items()])
    click.echo()
    unit = data["activity"]["unit"]
    rows = [{unit: entry["from"], "messages": entry["messages"]} for entry in data["activity"]["messages"]]
    tables.table((unit, "messages"), [*rows, {unit: "earlier", "messages": data["activity"]["earlier"]}])
