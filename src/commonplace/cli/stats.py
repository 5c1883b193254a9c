"""`conversations stats`: how many conversations, messages and words there are, and when they were written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from commonplace.cli import tables
from commonplace.cli.command import Call, command
from commonplace.cli.options import folder_filter
from commonplace.cli.terminal import console, one_line
from commonplace.dialects.sekha_records import statistics
from commonplace.memory.stats import conversation_stats, message_activity

if TYPE_CHECKING:
    from rich.console import Console

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
    click.secho(f"  at most {most['messages']:,}, {_of(data['unit'], most['from'])}", dim=True)
    for line in chart(values):
        click.secho(f"  {line}", fg="green")
    first, last = (_day(data["unit"], data["messages"][end]["from"]) for end in (0, -1))
    click.secho(f"  {first}{last:>{2 * len(values) - 1 - len(first)}}", dim=True)
    if data["earlier"]:
        click.secho(f"  and {data['earlier']:,} before", dim=True)


def _of(unit: str, day: str) -> str:
    return f"in the week of {day}" if unit == "week" else f"in {day[:7]}"


def _day(unit: str, day: str) -> str:
    return day if unit == "week" else day[:7]


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
