"""`report`: the week in a project, from what was captured, for a terminal, as Markdown or for programs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from commonplace.cli import report_text
from commonplace.cli.call import Call, command
from commonplace.cli.files import checked_target, whole_file
from commonplace.errors import InvalidInput
from commonplace.memory.browse import require_project
from commonplace.memory.report import Report
from commonplace.memory.report import report as report_of
from commonplace.model import Scope
from commonplace.text.periods import beginning, ending
from commonplace.text.redacted_data import redacted
from commonplace.text.times import iso

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
        checked_target(output, force=force)
    with call.book(asks=True) as book:
        require_project(book, project)
        now = book.clock()
        found = report_of(
            book,
            Scope(project=place, only_global=everywhere),
            beginning(since, now),
            now if until is None else ending(until, now),
        )
    data: dict[str, Any] = redacted(record(found, "global" if everywhere else place))
    if output is not None:
        with whole_file(output, force=force) as stream:
            stream.write(report_text.markdown(data).encode("utf-8", "replace"))
    if call.json:
        call.reply(data if output is None else data | {"path": str(output)})
    elif output is not None:
        call.say(f"Wrote {output}")
    elif (format_ or ("terminal" if sys.stdout.isatty() else "markdown")) == "markdown":
        call.say(report_text.markdown(data), nl=False)
    else:
        report_text.show(data)


def record(found: Report, place: str | None) -> dict[str, Any]:
    """A report as programs read it."""
    labels = {one.session.id: one.session.short_id for one in found.sessions}
    return {
        "project": place,
        "from": iso(found.from_ms),
        "to": iso(found.to_ms),
        "items": found.happenings,
        "complete": found.complete,
        "sessions": [
            {
                "id": one.session.short_id,
                "request": one.request,
                "source": one.session.source,
                "project": one.session.project,
                "from": iso(one.session.started_ms),
                "to": iso(one.session.ended_ms),
                "minutes": (one.session.ended_ms - one.session.started_ms) // 60_000,
                "items": one.happenings,
            }
            for one in found.sessions
        ],
        "quiet_sessions": found.quiet,
        "decisions": [
            {"id": one.item_id, "type": one.type, "title": one.title, "project": one.project, "at": iso(one.at_ms)}
            for one in found.decisions
        ],
        "files": [
            {"path": one.path, "changed": one.changed, "read": one.read, "last": iso(one.last_ms)}
            for one in found.files
        ],
        "failures": [
            {
                "command": one.command,
                "why": one.why,
                "times": one.times,
                "at": iso(one.at_ms),
                "mended": None if one.mended_ms is None else iso(one.mended_ms),
                "session": labels.get(one.session_id or 0),
            }
            for one in found.failures
        ],
        "open_ends": [
            {"what": one.what, "text": one.text, "at": iso(one.at_ms), "session": labels.get(one.session_id or 0)}
            for one in found.open_ends
        ],
        "topics": [{"name": name, "passages": passages} for name, passages in found.topics],
        "left_out": dict(found.left_out),
    }
