"""`overview`: where a project stands, as its page on the dashboard shows it; or every project in short."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from commonplace.cli.command import Call, command
from commonplace.cli.terminal import one_line
from commonplace.errors import NotFound
from commonplace.memory.local_memory import wall_clock
from commonplace.text.dates import parse_time, time_ago
from commonplace.text.redact import redact_data

if TYPE_CHECKING:
    from commonplace.library.memory import Memory
    from commonplace.memory.project_overview import ProjectBrief

Data = Mapping[str, Any]
NOTHING = "No project yet. `commonplace connect` lets agents fill this memory."
# Lines of each part in a terminal; --json has all of them.
SHOWN = 8


@command(
    "overview",
    "commonplace overview",
    "commonplace overview my-api",
    "commonplace overview --all",
)
@click.argument("project", required=False)
@click.option("--all", "every", is_flag=True, help="Summarise every project.")
@click.option("--done", metavar="STEP", help="Mark this open step as done.")
def overview(call: Call, project: str | None, every: bool, done: str | None) -> None:
    """Show where a project stands: what is open, what was decided and why, what failed, and its last week.

    PROJECT defaults to that of the current folder; outside any project, every project is summarised.
    """
    if every and (project or done):
        raise click.UsageError("--all cannot be combined with a project or a step.", click.get_current_context())
    place = None if every else call.project(project, only_global=False)
    if done and place is None:
        raise click.UsageError("Name the project of the step.", click.get_current_context())
    with call.memory(drain_more=True) as memory:
        if done and place is not None:
            notes = memory.close_step(done, project=place)
            call.answer({"done": done, "items": [item.id for item in notes]}, f"Done: {one_line(done)}")
        elif place is None or not _answer_one(call, memory, place, named=project is not None):
            _answer_all(call, memory.overviews(limit=100))


def _answer_one(call: Call, memory: Memory, project: str, *, named: bool) -> bool:
    """Whether there was such a project. That of the current folder may have nothing yet, but a named one must exist."""
    from commonplace.dialects.project_and_entity_records import overview_record

    try:
        data: Data = redact_data(overview_record(memory.overview(project)))
    except NotFound:
        if named:
            raise
        return False
    call.answer(data, lambda: _print(call, _lines(data)))
    return True


def _answer_all(call: Call, found: Sequence[ProjectBrief]) -> None:
    from commonplace.dialects.project_and_entity_records import brief_record

    records: list[Data] = [redact_data(brief_record(one)) for one in found]
    call.answer_list("projects", records, lambda rows: _print(call, _brief_lines(rows)), NOTHING)


def _lines(data: Data) -> Iterator[str | tuple[str]]:
    """The overview of one project, a line for each thing under a heading."""
    yield (one_line(data["name"] or "Without a project"),)
    yield one_line(" ".join(data["story"]))
    sections = {
        "Open": [_open_line(one) for one in data["open"]],
        "Decided": [_decision_line(one) for one in data["decisions"]],
        "To settle": [f"{pair['newer']['title']} <> {pair['older']['title']}" for pair in data["contradictions"]],
        "Failed": [_failure_line(one) for one in data["failures"]],
        "Rules": [one["title"] for one in [*data["rules"], *data["global_rules"]]],
        "People": [f"{one['name']}: {one['last_work']} ({_ago(one['last_at'])})" for one in data["people"]],
        "Files": [f"{one['path']} (changed {one['changed']}, read {one['read']})" for one in data["files"]],
        "Sessions": [f"{one['asked']} ({_ago(one['ended_at'])}, {one['id']})" for one in data["sessions"]],
    }
    for title, lines in sections.items():
        if lines:
            yield ""
            yield (title,)
            yield from (f"- {one_line(line)}" for line in lines[:SHOWN])
            more = max(0, len(lines) - SHOWN) + (data["left_out"].get("open_ends", 0) if title == "Open" else 0)
            if more:
                yield f"  and {more} more"
    if data["proposals"]:
        yield ""
        yield f"{data['proposals']} waiting for review: commonplace review"


def _brief_lines(rows: Sequence[Data]) -> Iterator[str | tuple[str]]:
    for place, row in enumerate(rows):
        if place:
            yield ""
        when = f" ({_ago(row['last_at'])})" if row["last_at"] else ""
        yield (one_line((row["name"] or "Without a project") + when),)
        yield from (f"- {one_line(step)}" for step in row["open_steps"])
        if row["open_count"] > len(row["open_steps"]):
            yield f"  and {row['open_count'] - len(row['open_steps'])} more"
        if row["decision"]:
            yield f"  Decided: {one_line(row['decision']['statement'])}"
        if row["session"]:
            yield f"  Last session: {one_line(row['session']['asked'])}"


def _open_line(one: Data) -> str:
    return (
        one["text"] if one["what"] == "next step" else f"{one['what']}: {one['text'].removeprefix('Still failing: ')}"
    )


def _decision_line(one: Data) -> str:
    return f"{one['at'][:10]} {one['statement']}{' ' + one['reason'] if one['reason'] else ''}"


def _failure_line(one: Data) -> str:
    return f"{one['command']}: {'fixed' if one['fixed_at'] else 'not fixed'}. {one['why']}"


def _print(call: Call, lines: Iterable[str | tuple[str]]) -> None:
    """Print lines; one in a tuple is a heading."""
    for line in lines:
        if isinstance(line, tuple):
            call.say(line[0], bold=True)
        else:
            call.say(line)


def _ago(moment: str) -> str:
    return time_ago(parse_time(moment, local=False), wall_clock())
