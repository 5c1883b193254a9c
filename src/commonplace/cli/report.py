"""`report`: a project's week, from what was captured, as tables, as Markdown or as JSON."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from commonplace.cli import tables
from commonplace.cli.command import Call, command
from commonplace.cli.options import atomic_file, check_target, force_option, global_filter, project_option
from commonplace.cli.terminal import one_line
from commonplace.errors import InvalidInput
from commonplace.memory.projects import require_project
from commonplace.memory.report import Report
from commonplace.memory.report import report as report_of
from commonplace.model import Scope
from commonplace.text.dates import MINUTE_MS, iso_time, period_end, period_start
from commonplace.text.redact import redact_data
from commonplace.text.sentences import whole_title

FORMATS = ("terminal", "markdown")
Data = Mapping[str, Any]
NOTHING = "Nothing was captured in this time."
HINT = "`commonplace connect` captures what agents do; `commonplace ingest` reads their earlier sessions."
# The sections, and what an empty one says.
SECTIONS = {
    "sessions": ("Sessions", "No sessions."),
    "decisions": ("Decisions and rules", "None."),
    "files": ("Files", "No files."),
    "failures": ("What failed", "Nothing was captured."),
    "open_ends": ("Open ends", "None."),
    "topics": ("Topics", "None yet."),
}
_SPECIAL = re.compile(r"([\\`*_\[\]<>|#])")


@command(
    "report",
    "commonplace report",
    'commonplace report -p my-api --since "last week"',
    "commonplace report --since 2026-11-01 --until 2026-11-07 -o week.md",
    "commonplace report --since 30d",
)
@project_option("The project (default: that of the current folder, else all).")
@global_filter
@click.option("-s", "--since", default="7d", show_default=True, help='Start: 7d, "last week", 2026-11-01, ...')
@click.option("-u", "--until", help="End, including that day (default: now).")
@click.option(
    "--format", "format_", type=click.Choice(FORMATS), help="Tables or Markdown (default: tables in a terminal)."
)
@click.option("-o", "--output", metavar="FILE", type=click.Path(path_type=Path), help="Write it to this file.")
@force_option
def report(
    call: Call,
    project: str | None,
    only_global: bool,
    since: str,
    until: str | None,
    format_: str | None,
    output: Path | None,
    force: bool,
) -> None:
    """Sum up a week, or any other time: sessions, decisions, files, failures and whether they were fixed, open ends.

    It quotes what was captured or added; nothing is made up.
    """
    place = call.project(project, only_global)
    if output is not None:
        if format_ == "terminal":
            raise InvalidInput("A file is written as Markdown.", "Leave out --format or --output.")
        check_target(output, force=force)
    with call.local_memory(drain_more=True) as memory:
        # The project of the current folder may have nothing yet, but one that is named has to exist.
        require_project(memory, project)
        now = memory.clock()
        scope = Scope(project=place, only_global=only_global)
        found = report_of(memory, scope, period_start(since, now), now if until is None else period_end(until, now))
    data: dict[str, Any] = redact_data(report_record(found, "global" if only_global else place))
    if output is not None:
        with atomic_file(output, force=force) as stream:
            stream.write(report_markdown(data).encode("utf-8", "replace"))
    if call.json:
        call.reply(data if output is None else data | {"path": str(output)})
    elif output is not None:
        call.say(f"Wrote {output}")
    elif (format_ or ("terminal" if sys.stdout.isatty() else "markdown")) == "markdown":
        call.say(report_markdown(data), nl=False)
    else:
        show_report(data)


def report_record(found: Report, place: str | None) -> dict[str, Any]:
    """A report as one record, for --json and for printing."""
    labels = {one.session.id: one.session.short_id for one in found.sessions}
    return {
        "project": place,
        "from": iso_time(found.from_ms),
        "to": iso_time(found.to_ms),
        "items": found.happenings,
        "complete": found.complete,
        "sessions": [
            {
                "id": one.session.short_id,
                "request": one.request,
                "source": one.session.source,
                "project": one.session.project,
                "from": iso_time(one.session.started_ms),
                "to": iso_time(one.session.ended_ms),
                "minutes": (one.session.ended_ms - one.session.started_ms) // MINUTE_MS,
                "items": one.happenings,
            }
            for one in found.sessions
        ],
        "quiet_sessions": found.quiet,
        "decisions": [
            {
                "id": one.id,
                "type": one.type,
                "title": whole_title(one.title, one.text),
                "project": one.project,
                "at": iso_time(one.created_ms),
                "review": one.review,
            }
            for one in found.decisions
        ],
        "files": [
            {"path": one.path, "changed": one.changed, "read": one.read, "last": iso_time(one.last_ms)}
            for one in found.files
        ],
        "failures": [
            {
                "command": one.command,
                "why": one.why,
                "times": one.times,
                "at": iso_time(one.at_ms),
                "mended": None if one.fixed_ms is None else iso_time(one.fixed_ms),
                "session": labels.get(one.session_id or 0),
            }
            for one in found.failures
        ],
        "open_ends": [
            {"what": one.what, "text": one.text, "at": iso_time(one.at_ms), "session": labels.get(one.session_id or 0)}
            for one in found.open_ends
        ],
        "topics": [{"name": name, "passages": passages} for name, passages in found.topics],
        "left_out": dict(found.left_out),
    }


def report_title(data: Data) -> str:
    names = {None: "All projects", "global": "What belongs to no project"}
    return names.get(data["project"]) or str(data["project"])


def report_period(data: Data) -> str:
    return f"{_local(data['from'])} to {_local(data['to'])}"


def show_report(data: Data) -> None:
    """Print a report as tables; in a pipe, tab separated."""
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
        click.secho(f"\nOnly the newest {data['items']:,} items are included.", fg="yellow")


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
        return {"id": row["id"], "type": tables.type_of(row), "title": row["title"], "at": _local(row["at"])[:10]}
    if part == "files":
        return {"file": row["path"], "changed": row["changed"], "read": row["read"]}
    if part == "failures":
        return {"command": row["command"], "why": row["why"], "times": row["times"], "fixed": _fixed_or_not(row)}
    if part == "open_ends":
        return {"type": row["what"], "text": row["text"], "session": row["session"] or "-"}
    return {"topic": row["name"], "passages": row["passages"]}


def report_markdown(data: Data) -> str:
    """A report as a Markdown document."""
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
        yield f"\nOnly the newest {data['items']:,} items are included."


def _section_lines(part: str, rows: Sequence[Data], *, everywhere: bool) -> Iterator[str]:
    for row in rows:
        if part == "sessions":
            facts = (format_minutes(row["minutes"]), row["source"], row["project"] if everywhere else "")
            session = _escaped(", ".join(filter(None, facts)))
            yield f"- **{_local(row['from'])}** ({session}): {_escaped(row['request'])}"
        elif part == "decisions":
            yield f"- **{_escaped(tables.type_of(row))}** {_escaped(row['title'])} ({_local(row['at'])[:10]})"
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
    """How much is left out of a section."""
    if more := data["left_out"].get(part):
        yield f"and {more:,} more"
    if part == "sessions" and (quiet := data["quiet_sessions"]):
        yield f"and {quiet:,} in which nothing was captured"


def format_minutes(minutes: int) -> str:
    """A duration for people."""
    if minutes < 60:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min" if minutes < 48 * 60 else f"{minutes // 1440} d"


def _fixed_or_not(row: Data) -> str:
    return "fixed" if row["mended"] else "not fixed"


def _local(moment: str) -> str:
    """A time in the local time zone, to the minute."""
    try:
        return datetime.fromisoformat(moment).astimezone().strftime("%Y-%m-%d %H:%M")
    except (OSError, OverflowError, ValueError):
        return moment[:16].replace("T", " ")


def _escaped(text: str) -> str:
    """Text with Markdown's special characters escaped."""
    return _SPECIAL.sub(r"\\\1", one_line(text))


def _code(text: str) -> str:
    fence = "``" if "`" in text else "`"
    return f"{fence}{' ' * (len(fence) - 1)}{one_line(text)}{' ' * (len(fence) - 1)}{fence}"
