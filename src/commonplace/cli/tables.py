"""Tables for people: with colour in a terminal, tab separated with a header and untruncated cells in a pipe.

`rich` is imported for terminals only. Stored text is not trusted: it passes `plain` or `one_line` before printing.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import click

from commonplace.cli.terminal import console, one_line, plain
from commonplace.text.dates import describe_bound, iso_time, parse_time, time_ago
from commonplace.text.project_names import base_name
from commonplace.text.sentences import whole_title

Row = Mapping[str, Any]
# How a column looks in a terminal; columns that are not here are plain.
STYLES = {
    "id": "cyan",
    "type": "magenta",
    "status": "magenta",
    "project": "green",
    "folder": "green",
    "when": "dim",
    "last_used": "dim",
    "position": "dim",
    "relevance": "bold",
}
NUMBERS = frozenset(
    {"id", "relevance", "items", "position", "rev", "size", "nearness", "messages", "words", "importance"}
    | {"dimension", "max_tokens", "waiting", "ms_per_text"}
)
TIMES = frozenset({"when", "last_used"})
# When an item is valid, under the names of its record and of its history.
BOUNDS = frozenset({"valid_from", "valid_until", "expires_at", "expires"})
# Where a column's value comes from in records, if there is none of its name: the first that is there.
SOURCES = {
    "when": ("last_message_at_epoch", "last_at_epoch", "touched_at_epoch", "at_epoch", "created_at_epoch"),
    "last_used": ("used_at_epoch",),
    "messages": ("message_count",),
    "words": ("word_count",),
    "importance": ("importance_score",),
}
# Columns of text, and their shares of the remaining width.
WIDE = {"title": 1, "event": 1, "why": 1, "narrative": 1, "content": 1, "aliases": 1, "label": 2, "folder": 1}
WIDE |= {"changed": 1, "request": 1, "file": 1, "command": 1, "text": 1, "topic": 1, "embedder": 1, "model": 1}
# How wide a text has to be, alone and next to others, and the columns that make room for it, the least important first.
MIN_TEXT, MIN_SHARED = 24, 16
LEFT_OUT = (
    "kind",
    "words",
    "op",
    "author",
    "importance",
    "folder",
    "status",
    "when",
    "source",
    "project",
    "position",
    "type",
)
# Below this width a conversation's words are left out in favour of its label.
NARROW = 100
# Shorter headings for terminals, where texts need the space.
HEADINGS = {"messages": "msgs", "importance": "imp.", "in_use": "in use", "dimension": "dim.", "max_tokens": "tokens"}
HEADINGS |= {"ms_per_text": "ms/text"}
# Shown by `show` only with --all: they matter to programs.
TECHNICAL = ("uid", "created_at_epoch", "updated_at_epoch", "rev", "metadata", "short_id", "updated_at")


def items(columns: Sequence[str], rows: Sequence[Row]) -> None:
    """Items, those that wait for review with a mark."""
    table(columns, [{**row, "type": type_of(row)} for row in rows])


def search_results(rows: Sequence[Row]) -> None:
    table(
        ("id", "type", "title", "project", "when", "relevance"),
        [{**row, "type": type_of(row), "relevance": f"{row['relevance']:.0%}"} for row in rows],
    )


def score_parts(rows: Sequence[Row]) -> None:
    """What each part added to the score of each result, the largest first."""
    click.echo()
    for row in rows:
        parts = sorted(row["why"].items(), key=lambda part: -abs(part[1]))
        click.echo(f"{row['id']}: " + ", ".join(f"{name} {value:+.3f}" for name, value in parts))


def conversations(rows: Sequence[Row]) -> None:
    terminal = console()
    words = () if terminal and terminal.width < NARROW else ("words",)
    table(
        ("id", "label", "folder", "messages", *words, "importance", "status", "when"),
        [{**row, "id": row["short_id"]} for row in rows],
    )


def table(columns: Sequence[str], rows: Sequence[Row]) -> None:
    """Print rows under a header. The columns in TIMES hold milliseconds; texts share the remaining width."""
    terminal = console()
    if terminal is None:
        click.echo("\t".join(columns))
        for row in rows:
            click.echo("\t".join(_cell(column, row, brief=False) for column in columns))
        return
    from rich import box
    from rich.table import Table
    from rich.text import Text

    columns = fitting(columns, rows, terminal.width)
    made = Table(box=box.SIMPLE_HEAD, expand=True, pad_edge=False, padding=(0, 1, 0, 0))
    for column in columns:
        made.add_column(
            HEADINGS.get(column, column),
            style=STYLES.get(column),
            justify="right" if column in NUMBERS else "left",
            no_wrap=True,
            overflow="ellipsis",
            ratio=WIDE.get(column),
        )
    for row in rows:
        made.add_row(*(Text(_cell(column, row, brief=True)) for column in columns))
    terminal.print(made)


def fitting(columns: Sequence[str], rows: Sequence[Row], width: int) -> Sequence[str]:
    """The columns that leave enough room for texts; in a narrow terminal the least important ones are left out."""
    shown = list(columns)

    def taken() -> int:
        natural = (
            max([len(HEADINGS.get(one, one)), *(len(_cell(one, row, brief=True)) for row in rows)]) for one in shown
        )
        least = MIN_TEXT if sum(one in WIDE for one in shown) == 1 else MIN_SHARED
        return sum(least if one in WIDE else size + 1 for one, size in zip(shown, natural, strict=True))

    for column in LEFT_OUT:
        if column in shown and any(one in WIDE for one in shown) and taken() > width:
            shown.remove(column)
    return shown


def records(rows: Sequence[Row], *, everything: bool) -> None:
    """Print items in full: their fields, then their text."""
    for number, row in enumerate(rows):
        if number:
            click.echo()
        click.secho(f"{row['kind']} {row['id']}: {one_line(row['title'])}", bold=True)
        for name, value in row.items():
            if name in ("id", "kind", "title", "content") or (name in TECHNICAL and not everything):
                continue
            if everything or value not in (None, "", [], {}, False):
                click.secho(f"  {name}: ", nl=False, fg="cyan")
                click.echo(bound(name, value) if name in BOUNDS and value else _value(value))
        if row["content"].strip() and row["content"].strip() != row["title"].strip():
            click.echo("\n" + plain(row["content"]).strip())


def bound(name: str, time: str) -> str:
    """From or until when an item is valid, by the days that were given; `time` is ISO 8601."""
    return describe_bound(parse_time(time, local=False), end=name != "valid_from")


def facts(lines: Mapping[str, object], width: int) -> None:
    """Print names and values, line by line."""
    for name, value in lines.items():
        click.secho(f"{name + ':':<{width}}", nl=False, fg="cyan")
        click.echo(one_line(str(value)))


def type_of(row: Row) -> str:
    """Its type, and whether it waits for review."""
    return f"{row['type']} (proposed)" if row.get("review") == "proposed" else str(row["type"])


def _cell(column: str, row: Row, *, brief: bool) -> str:
    value = next((row[name] for name in (column, *SOURCES.get(column, ())) if name in row), None)
    if column == "title" and not brief and "content" in row:
        return one_line(whole_title(row["title"], row["content"]))
    if column in TIMES and isinstance(value, int):
        return time_ago(value, time.time_ns() // 1_000_000) if brief else iso_time(value)
    if column == "project":
        return one_line(base_name(str(value))) if value and brief else one_line(str(value or "global"))
    return "" if value is None else one_line(str(value))


def _value(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return one_line(", ".join(map(str, value)))
    return plain(str(value)).replace("\n", "\n    ")
