"""`report`: the week in a project, from what was captured, for a terminal, as Markdown or for programs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from commonplace.cli import report_text
from commonplace.cli.command import Call, command
from commonplace.cli.output_files import atomic_file, check_target
from commonplace.errors import InvalidInput
from commonplace.memory.items import require_project
from commonplace.memory.report import Report
from commonplace.memory.report import report as report_of
from commonplace.model import Scope
from commonplace.text.dates import MINUTE_MS, iso_time, period_end, period_start
from commonplace.text.redact import redact_data

FORMATS = ("terminal", "markdown")


@command(
    "report",
    "commonplace report",
    'commonplace report --project my-api --since "last week"',
    "commonplace report --since 2026-11-01 --until 2026-11-07 --format markdown --output week.md",
    "commonplace report --since 30d --json",
)
@click.option("--project", help="Only this project; that of the current folder if omitted, else all.")
@click.option("--global", "everywhere", is_flag=True, help="Only what belongs to no project.")
@click.option("--since", default="7d", show_default=True, help='Where it begins: 7d, "last week", 2026-11-01, ...')
@click.option("--until", help="Where it ends, a day with all of it; now if omitted.")
@click.option("--format", "format_", type=click.Choice(FORMATS), help="Terminal if a person watches, else Markdown.")
@click.option("--output", "-o", metavar="FILE", type=click.Path(path_type=Path), help="Write it to this file.")
@click.option("--force", is_flag=True, help="Write over what is there.")
def report(
    call: Call,
    project: str | None,
    everywhere: bool,
    since: str,
    until: str | None,
    format_: str | None,
    output: Path | None,
    force: bool,
) -> None:
    """What happened: sessions, decisions and rules, files, what failed and whether it was mended, and open ends.

    It tells only what was captured or remembered, in its own words.
    """
    place = call.project(project, everywhere)
    if output is not None:
        if format_ == "terminal":
            raise InvalidInput("A file is written as Markdown.", "Leave --format out, or --output.")
        check_target(output, force=force)
    with call.memory(asks=True) as memory:
        require_project(memory, project)
        now = memory.clock()
        found = report_of(
            memory,
            Scope(project=place, only_global=everywhere),
            period_start(since, now),
            now if until is None else period_end(until, now),
        )
    data: dict[str, Any] = redact_data(report_record(found, "global" if everywhere else place))
    if output is not None:
        with atomic_file(output, force=force) as stream:
            stream.write(report_text.report_markdown(data).encode("utf-8", "replace"))
    if call.json:
        call.reply(data if output is None else data | {"path": str(output)})
    elif output is not None:
        call.say(f"Wrote {output}")
    elif (format_ or ("terminal" if sys.stdout.isatty() else "markdown")) == "markdown":
        call.say(report_text.report_markdown(data), nl=False)
    else:
        report_text.show_report(data)


def report_record(found: Report, place: str | None) -> dict[str, Any]:
    """A report as programs read it."""
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
            {"id": one.item_id, "type": one.type, "title": one.title, "project": one.project, "at": iso_time(one.at_ms)}
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
