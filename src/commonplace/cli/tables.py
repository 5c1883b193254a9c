"""Answers for people: tables, colour and progress in a terminal, plain lines in a pipe.

In a pipe a table is tab separated with a header and whole cells, so that it can be cut, sorted and read by anything;
`rich` is imported for terminals only. Everything stored is hostile here: it passes `plain` or `one_line` on its way.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from commonplace.cli.terminal import one_line, plain
from commonplace.text.dates import iso_time, time_ago
from commonplace.text.project_names import base_name

if TYPE_CHECKING:
    from rich.console import Console

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
)
MOMENTS = frozenset({"when", "last_used"})
# Texts, and their shares of what width is left.
WIDE = {"title": 1, "event": 1, "why": 1, "narrative": 1, "content": 1, "aliases": 1, "label": 2, "folder": 1}
WIDE |= {"request": 1, "file": 1, "command": 1, "text": 1, "topic": 1}
# Below this width a conversation's words are left out for its label.
NARROW = 100
# Shorter heads for terminals, where texts need the room.
HEADS = {"messages": "msgs", "importance": "imp."}
# Shown by `show` only with --all: they matter to programs.
TECHNICAL = ("uid", "created_at_epoch", "updated_at_epoch", "rev", "metadata", "short_id", "updated_at")


def results(rows: Sequence[Row]) -> None:
    """Search hits, best first."""
    table(
        ("id", "type", "title", "project", "when", "relevance"),
        [{**row, "when": row["created_at_epoch"], "relevance": f"{row['relevance']:.0%}"} for row in rows],
    )


def listing(rows: Sequence[Row]) -> None:
    """Items, newest first."""
    table(
        ("id", "kind", "type", "title", "project", "when"), [{**row, "when": row["created_at_epoch"]} for row in rows]
    )


def timeline(rows: Sequence[Row]) -> None:
    """Moments, oldest first; the anchor is at 0."""
    table(
        ("position", "id", "type", "title", "narrative", "when"),
        [
            {
                **row,
                "position": f"{row['position']:+d}",
                "narrative": "" if row["narrative"] == row["title"] else row["narrative"],
                "when": row["created_at_epoch"],
            }
            for row in rows
        ],
    )


def projects(rows: Sequence[Row]) -> None:
    table(
        ("project", "items", "when", "aliases"),
        [
            {**row, "project": row["name"], "when": row["last_at_epoch"], "aliases": ", ".join(row["aliases"])}
            for row in rows
        ],
    )


def conversations(rows: Sequence[Row]) -> None:
    """Conversations, the one with the newest message first."""
    console = terminal()
    words = () if console and console.width < NARROW else ("words",)
    table(
        ("id", "label", "folder", "messages", *words, "importance", "status", "when"),
        [
            {
                **row,
                "id": row["short_id"],
                "messages": row["message_count"],
                "words": row["word_count"],
                "importance": row["importance_score"],
                "when": row["last_message_at_epoch"],
            }
            for row in rows
        ],
    )


def history(changes: Sequence[Row]) -> None:
    """What an item was before each change."""
    table(
        ("rev", "op", "when", "type", "title", "content"),
        [{**change["before"], **change, "when": change["at_epoch"]} for change in changes],
    )


def table(columns: Sequence[str], rows: Sequence[Row]) -> None:
    """Rows under a header. The column `when` holds milliseconds; texts get what width is left."""
    console = terminal()
    if console is None:
        click.echo("\t".join(columns))
        for row in rows:
            click.echo("\t".join(_cell(column, row.get(column), brief=False) for column in columns))
        return
    from rich import box
    from rich.table import Table
    from rich.text import Text

    made = Table(box=box.SIMPLE_HEAD, expand=True, pad_edge=False, padding=(0, 1, 0, 0))
    for column in columns:
        made.add_column(
            HEADS.get(column, column),
            style=STYLES.get(column),
            justify="right" if column in NUMBERS else "left",
            no_wrap=True,
            overflow="ellipsis",
            ratio=WIDE.get(column),
        )
    for row in rows:
        made.add_row(*(Text(_cell(column, row.get(column), brief=True)) for column in columns))
    console.print(made)


def records(rows: Sequence[Row], *, everything: bool) -> None:
    """Items, each with its fields and then its text."""
    for number, row in enumerate(rows):
        if number:
            click.echo()
        click.secho(f"{row['kind']} {row['id']}: {one_line(row['title'])}", bold=True)
        for name, value in row.items():
            if name in ("id", "kind", "title", "content") or (name in TECHNICAL and not everything):
                continue
            if everything or value not in (None, "", [], {}, False):
                click.secho(f"  {name}: ", nl=False, fg="cyan")
                click.echo(_value(value))
        if row["content"].strip() and row["content"].strip() != row["title"].strip():
            click.echo("\n" + plain(row["content"]).strip())


def context(data: Mapping[str, Any]) -> None:
    """A context package as Markdown, what answers a query first. What is counted at its end is what was printed."""
    place = {id_: number for number, id_ in enumerate(data["answers"])}
    items = sorted(data["items"], key=lambda entry: place.get(entry["id"], len(place)))
    shown = {**data, "items": items}
    for text, style in _context(shown):
        click.secho(text, **style)
    left = data["totalCount"] - data["returnedCount"]
    used = f"{-(-context_characters(shown) // 4)} of {data['tokenBudget']} tokens"
    click.secho(f"\n({used}{f', {left} items left out' if left else ''})", dim=True)


def context_characters(data: Mapping[str, Any]) -> int:
    """How long a part of a context is as it is printed."""
    return sum(len(text) + 1 for text, _style in _context(data))


def _context(data: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Lines, and how they look."""
    if "project" in data:
        yield f"# What to know about {one_line(data['project'])}", {"bold": True}
        if not (data["items"] or data["summaries"] or data["checkpoint"]):
            yield "\nNothing is remembered here yet.", {}
    for entry in data["items"]:
        title, content = entry["title"].strip(), entry["content"].strip()
        # A title that is the beginning of a single line says nothing that the line does not say.
        said = "\n" not in content and content.startswith(title.removesuffix("…"))
        yield f"\n## {one_line(content if said else title)}", {"bold": True}
        yield f"{entry['type']} {entry['id']}, {entry['created_at'][:10]}, score {entry['score']:.2f}", {"dim": True}
        if not said:
            yield plain(entry["content"]), {}
    for summary in data["summaries"]:
        yield f"\n## Session: {one_line(summary['request'] or '')}", {"bold": True}
        yield from _fields(summary, ("investigated", "learned", "completed", "next_steps", "notes"))
    if data["checkpoint"]:
        yield f"\n## Where it stopped: {one_line(data['checkpoint']['task'] or '')}", {"bold": True}
        yield from _fields(data["checkpoint"], ("progress", "next_steps", "open_questions", "relevant_files"))


def status(data: Mapping[str, Any]) -> None:
    """What is kept where, line by line."""
    counts, model, store = data["counts"], data["model"], data["store"]
    kinds = ", ".join(f"{number:,} {kind}" for kind, number in counts["items"].items() if number) or "nothing yet"
    lines = {
        "version": data["version"],
        "data folder": data["data_dir"],
        "store": f"{store['engine']} {store['version']}, schema {store['schema']}, {counts['bytes'] / 1e6:.1f} MB",
        **({"database": f"{store['path']}, space {data['space']}"} if store["engine"] != "sqlite" else {}),
        "items": f"{data['total']:,} ({kinds}), {counts['forgotten']:,} forgotten",
        "projects": f"{counts['projects']:,}, sessions {counts['sessions']:,}",
        "passages": f"{counts['passages']:,}, vectors {counts['vectors']:,}",
        "pending": f"{data['pending']:,} passages wait for a vector",
        "model": f"{model['name'] or 'none'} ({model['state']})",
        **({"last error": model["last_error"]} if model["last_error"] else {}),
        "search": data["search"],
        **({"health": _health(data["health"])} if data["health"] else {}),
        "hooks": _hooks(data["hooks"]),
    }
    for name, value in lines.items():
        click.secho(f"{name + ':':<13}", nl=False, fg="cyan")
        click.echo(one_line(str(value)))


def _health(told: Mapping[str, Any]) -> str:
    """What the last check found, in a line."""
    faults = "; ".join(f"{fault['count']:,} {fault['says']}" for fault in told["faults"])
    return f"{faults}; see `commonplace check`" if faults else f"sound when it was last looked at, {told['checked_at']}"


def _hooks(told: Mapping[str, Any]) -> str:
    """What hooks told, in a line."""
    most = sorted(told["left_out"].items(), key=lambda entry: -entry[1])[:3]
    reasons = f" (mostly {', '.join(reason for reason, _number in most)})" if most else ""
    parts = [
        f"{sum(told['captured'].values()):,} observations captured",
        f"{sum(told['left_out'].values()):,} left out{reasons}",
        *([f"{told['waiting']:,} wait since {told['waiting_since']}"] if told["waiting"] else []),
        *([f"{told['failed']:,} failed, see `commonplace doctor`"] if told["failed"] else []),
    ]
    return ", ".join(parts)


@contextlib.contextmanager
def progress(what: str, total: int | None) -> Iterator[Callable[[int], object]]:
    """A bar on stderr when a person watches it; the block calls what it is given with how many bytes were done."""
    if not sys.stderr.isatty():
        yield lambda _bytes: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.advance(task, done)


def terminal() -> Console | None:
    """A console that shows text as it is, or None when no person is at the other end."""
    if not sys.stdout.isatty():
        return None
    from rich.console import Console

    return Console(markup=False, emoji=False, highlight=False)


def _cell(column: str, value: object, *, brief: bool) -> str:
    if column in MOMENTS and isinstance(value, int):
        if brief:
            return time_ago(value, time.time_ns() // 1_000_000)
        return iso_time(value)
    if column == "project":
        return one_line(base_name(str(value))) if value and brief else one_line(str(value or "global"))
    return "" if value is None else one_line(str(value))


def _value(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return one_line(", ".join(map(str, value)))
    return plain(str(value)).replace("\n", "\n    ")


def _fields(row: Row, names: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name in names:
        if row.get(name):
            yield f"- {name.replace('_', ' ')}: {plain(str(row[name]))}", {}
