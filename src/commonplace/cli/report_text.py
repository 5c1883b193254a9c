"""A report for people: as tables in a terminal, as Markdown for a file, a wiki or a colleague."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import click

from commonplace.cli import tables
from commonplace.cli.terminal import one_line

Data = Mapping[str, Any]
NOTHING = "Nothing was captured in this time."
HINT = "`commonplace connect` captures what agents do; `commonplace ingest` reads the sessions that they left."
# The parts, and what is said of each where there is nothing.
SECTIONS = {
    "sessions": ("Sessions", "No session."),
    "decisions": ("Decisions and rules", "None was made."),
    "files": ("Files", "No file was named."),
    "failures": ("What failed", "Nothing, as far as was captured."),
    "open_ends": ("Open ends", "None was noted."),
    "topics": ("Topics", "None was found yet."),
}
_SPECIAL = re.compile(r"([\\`*_\[\]<>|#])")


def report_title(data: Data) -> str:
    names = {None: "All projects", "global": "What belongs to no project"}
    return names.get(data["project"]) or str(data["project"])


def report_period(data: Data) -> str:
    return f"{_local(data['from'])} to {_local(data['to'])}"


def show_report(data: Data) -> None:
    """Tables, one after the other; in a pipe, tab separated."""
    click.secho(one_line(report_title(data)), bold=True)
    click.secho(report_period(data), dim=True)
    if not (data["items"] or data["sessions"]):
        click.echo(f"{NOTHING}\n{HINT}")
        return
    for name, (heading, nothing) in SECTIONS.items():
        click.secho(f"\n{heading}", bold=True)
        rows = [_section_row(name, row, everywhere=data["project"] is None) for row in data[name]]
        if rows:
            tables.table(tuple(rows[0]), rows)
        else:
            click.secho(nothing, dim=True)
        for more in _footnotes(data, name):
            click.secho(more, dim=True)
    if not data["complete"]:
        click.secho(f"\nOnly the newest {data['items']:,} items were looked at.", fg="yellow")


def _section_row(part: str, row: Data, *, everywhere: bool) -> dict[str, Any]:
    """A row of a table: the columns in their order."""
    if part == "sessions":
        return {
            "id": row["id"],
            "began": _local(row["from"]),
            "took": format_minutes(row["minutes"]),
            "source": row["source"] or "-",
            **({"project": row["project"]} if everywhere else {}),
            "request": row["request"],
        }
    if part == "decisions":
        return {"id": row["id"], "type": row["type"], "title": row["title"], "at": _local(row["at"])[:10]}
    if part == "files":
        return {"file": row["path"], "changed": row["changed"], "read": row["read"]}
    if part == "failures":
        return {"command": row["command"], "why": row["why"], "times": row["times"], "mended": _fixed_or_not(row)}
    if part == "open_ends":
        return {"type": row["what"], "text": row["text"], "session": row["session"] or "-"}
    return {"topic": row["name"], "passages": row["passages"]}


def report_markdown(data: Data) -> str:
    """The same as Markdown that stands alone."""
    return "\n".join(_markdown_lines(data)) + "\n"


def _markdown_lines(data: Data) -> Iterator[str]:
    yield f"# {_escaped(report_title(data))}"
    yield f"\n{report_period(data)}"
    if not (data["items"] or data["sessions"]):
        yield f"\n{NOTHING}"
        return
    for name, (heading, nothing) in SECTIONS.items():
        yield f"\n## {heading}\n"
        yield from _section_lines(name, data[name], everywhere=data["project"] is None) if data[name] else (nothing,)
        yield from (f"\n{more}" for more in _footnotes(data, name))
    if not data["complete"]:
        yield f"\nOnly the newest {data['items']:,} items were looked at."


def _section_lines(part: str, rows: Sequence[Data], *, everywhere: bool) -> Iterator[str]:
    for row in rows:
        if part == "sessions":
            facts = (format_minutes(row["minutes"]), row["source"], row["project"] if everywhere else "")
            told = _escaped(", ".join(filter(None, facts)))
            yield f"- **{_local(row['from'])}** ({told}): {_escaped(row['request'])}"
        elif part == "decisions":
            yield f"- **{_escaped(row['type'])}** {_escaped(row['title'])} ({_local(row['at'])[:10]})"
        elif part == "files":
            yield f"- {_code(row['path'])}: changed {row['changed']}, read {row['read']}"
        elif part == "failures":
            times = f" {row['times']} times" if row["times"] > 1 else ""
            yield f"- {_code(row['command'])} failed{times}, {_fixed_or_not(row)}: {_escaped(row['why'])}"
        elif part == "open_ends":
            yield f"- [ ] {row['what']}: {_escaped(row['text'])}"
        else:
            yield f"- {_escaped(row['name'])} ({row['passages']})"


def _footnotes(data: Data, part: str) -> Iterator[str]:
    """What there was besides the rows of a part, counted."""
    if more := data["left_out"].get(part):
        yield f"and {more:,} more"
    if part == "sessions" and (quiet := data["quiet_sessions"]):
        yield f"and {quiet:,} in which nothing was captured"


def format_minutes(minutes: int) -> str:
    """How long, as people say it."""
    if minutes < 60:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min" if minutes < 48 * 60 else f"{minutes // 1440} d"


def _fixed_or_not(row: Data) -> str:
    return "mended" if row["mended"] else "not mended"


def _local(moment: str) -> str:
    """A time of the machine's own zone, to the minute."""
    try:
        return datetime.fromisoformat(moment).astimezone().strftime("%Y-%m-%d %H:%M")
    except (OSError, OverflowError, ValueError):
        return moment[:16].replace("T", " ")


def _escaped(text: str) -> str:
    """Text that says in Markdown what it says here."""
    return _SPECIAL.sub(r"\\\1", one_line(text))


def _code(text: str) -> str:
    fence = "``" if "`" in text else "`"
    return f"{fence}{' ' * (len(fence) - 1)}{one_line(text)}{' ' * (len(fence) - 1)}{fence}"
