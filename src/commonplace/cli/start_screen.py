"""`commonplace` alone: where this user stands, and what to do next, in a few lines.

A new user is told to connect an editor. Whoever has one sees what is known here, which steps are open, and what waits
for a person.
"""

from __future__ import annotations

import contextlib
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

import commonplace
from commonplace.cli.command import Call
from commonplace.cli.terminal import one_line, terminal_width, wrapped
from commonplace.config import Settings
from commonplace.errors import CommonplaceError
from commonplace.text.dates import iso_time, time_ago
from commonplace.text.project_names import base_name
from commonplace.text.sentences import shorten

if TYPE_CHECKING:
    from commonplace.hosts.host import Host
    from commonplace.memory.local_memory import LocalMemory

# How many steps are shown, how long each may be, and how many proposals and contradictions are counted.
STEPS, STEP_CHARACTERS, COUNTED = 5, 70, 100
# How many of the newest statements are compared with each other: more would take too long here.
COMPARED = 60
# Columns for a reason; with fewer it goes below its command.
MIN_REASON = 24
NextStep = tuple[str, str]


def show_next_steps(call: Call) -> None:
    """Print it. It always succeeds: what cannot be read is a problem that it names."""
    settings = call.settings()
    connected, found = find_editors()
    record: dict[str, Any] = {
        "version": commonplace.__version__,
        "data_dir": str(settings.data_dir),
        "connected": [host.name for host in connected],
        "not_connected": [host.name for host in found],
        **what_is_known(call, settings),
    }
    steps = list(next_steps(record))
    record["next"] = [{"command": command, "why": why} for command, why in steps]
    titles = [host.title for host in connected]
    call.answer(record, lambda: _show(call, record, steps, titles))


def find_editors() -> tuple[list[Host], list[Host]]:
    """The editors on this machine that are connected, and those that could be. Plugins are not asked: they are slow."""
    from commonplace.hosts.connections import is_installed, read_connection
    from commonplace.hosts.host import EDITOR_NAMES, find_host, locations_here

    here = locations_here()
    connected, found = [], []
    for host in filter(None, map(find_host, EDITOR_NAMES)):
        with contextlib.suppress(CommonplaceError, OSError):
            there = read_connection(host, here)
            if there is not None and (there.ours or there.hooks):
                connected.append(host)
            elif host.mcp.file(here) is not None and is_installed(host, here):
                found.append(host)
    return connected, found


def what_is_known(call: Call, settings: Settings) -> dict[str, Any]:
    """What is stored in all and in the current project, what is open there, and what waits for a person."""
    known: dict[str, Any] = {"items": 0, "projects": 0, "project": None, "open_steps": [], "problems": []}
    known |= {"proposals": 0, "contradictions": 0}
    if not settings.has_store:
        return known
    try:
        project = call.current_project()
        with call.local_memory() as memory:
            known |= _in_store(memory, project)
    except CommonplaceError as error:
        known["problems"].append(error.message)
    known["problems"] += _problems(settings)
    return known


def _in_store(memory: LocalMemory, project: str | None) -> dict[str, Any]:
    from commonplace.memory.open_steps import open_steps
    from commonplace.memory.projects import list_projects
    from commonplace.memory.review import count_proposals
    from commonplace.memory.statement_pairs import list_contradictions
    from commonplace.memory.status_and_stats import status

    projects = list_projects(memory)
    here = next((one for one in projects if one.name == project), None)
    steps = open_steps(memory, here.name, COUNTED) if here else []
    pairs = list_contradictions(memory, here.name, COUNTED, scanned=COMPARED) if here else []
    return {
        "items": status(memory)["total"],
        "projects": len(projects),
        "project": None
        if here is None
        else {
            "name": here.name,
            "items": here.items,
            "last_at": None if here.last_ms is None else iso_time(here.last_ms),
        },
        "open_steps": [step.text for step in steps],
        "proposals": count_proposals(memory, COUNTED),
        "contradictions": len(pairs),
    }


def _problems(settings: Settings) -> Iterator[str]:
    """What is known to be wrong without looking for it."""
    from commonplace.capture.hooks.spool_reader import sessions_without_memories, spool_state
    from commonplace.memory.status_and_stats import last_check_result

    check, spool = last_check_result(settings), spool_state(settings)
    if check is not None and check.faults:
        yield "The last check of the stored data found problems."
    if spool.lost:
        yield f"{_counted(spool.lost, 'captured event')} could not be stored."
    if spool.without_context:
        yield f"{sessions_without_memories(spool.without_context)} Nothing was lost."
    if spool.broken:
        yield f"Captured events cannot be read: {spool.broken}"


def next_steps(record: Mapping[str, Any]) -> Iterator[NextStep]:
    """Commands for this user, the most important first, each with its reason."""
    found: Sequence[str] = record["not_connected"]
    if record["problems"]:
        yield "commonplace doctor --fix", "find out what is wrong, and fix it"
    if not record["connected"]:
        if found:
            yield "commonplace connect --dry-run", f"show what connecting {_listed(found)} would change"
            yield "commonplace connect", "connect them to this memory"
        else:
            yield "commonplace connect claude-code", "connect an editor (`connect --help` lists them)"
    if not record["items"]:
        if record["connected"]:
            yield "commonplace ingest", "import the sessions that are already on this machine"
        else:
            yield "commonplace demo", "see it work first, with temporary data"
        yield 'commonplace add "We use PostgreSQL 16"', "remember something yourself"
        return
    if count := record["proposals"]:
        yield "commonplace review", f"accept or dismiss {_counted(count, 'proposal')}"
    if count := record["contradictions"]:
        yield "commonplace contradictions", f"settle {_counted(count, 'recent contradiction')}"
    if record["connected"] and found:
        yield shlex.join(["commonplace", "connect", *found]), "connect these too"
    if record["project"]:
        yield (
            "commonplace context --start",
            f"show what a session in {base_name(record['project']['name'])} starts with",
        )
    yield 'commonplace search "..."', "find something"


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _counted(count: int, what: str) -> str:
    return f"{'more than ' if count >= COUNTED else ''}{count:,} {what}{'' if count == 1 else 's'}"


def _show(call: Call, record: Mapping[str, Any], steps: Sequence[NextStep], connected: Sequence[str]) -> None:
    for line in _known_lines(record, connected):
        call.say(line)
    for problem in record["problems"]:
        call.say(problem, fg="red")
    if record["open_steps"]:
        call.say("\nOpen steps", bold=True)
        for step in record["open_steps"][:STEPS]:
            call.say(f"  - {shorten(one_line(step), STEP_CHARACTERS)}")
        if len(record["open_steps"]) > STEPS:
            call.say(f"  and {len(record['open_steps']) - STEPS:,} more: commonplace report", dim=True)
    call.say("\nNext", bold=True)
    width = max(len(command) for command, _why in steps)
    for command, why in steps:
        before = f"  {command:<{width}}  "
        if terminal_width() - len(before) < MIN_REASON and sys.stdout.isatty():
            click.secho(f"  {command}", fg="cyan")
            before = "    "
        click.secho(before, fg="cyan", nl=False)
        call.say(wrapped(before + why, sys.stdout, " " * len(before)).removeprefix(before))
    call.say("\n`commonplace --help` lists all commands.", dim=True)


def _known_lines(record: Mapping[str, Any], connected: Sequence[str]) -> Iterator[str]:
    if not (record["items"] or connected):
        yield "Commonplace is one memory for all your AI agents."
        yield "No editor is connected yet, and nothing is remembered."
        return
    here = record["project"]
    if here:
        used = "" if here["last_at"] is None else f", last used {_ago(here['last_at'])}"
        yield f"{one_line(here['name'])}: {_counted_items(here['items'])}{used}."
    if record["items"]:
        projects = record["projects"]
        place = f" in {projects:,} project{'' if projects == 1 else 's'}" if projects else ""
        yield f"{'In all: ' if here else 'Remembered: '}{_counted_items(record['items'])}{place}."
    else:
        yield "Nothing is remembered yet."
    if connected:
        yield f"Connected: {', '.join(connected)}."
    else:
        yield "No editor is connected."


def _counted_items(count: int) -> str:
    return f"{count:,} item{'' if count == 1 else 's'}"


def _ago(moment: str) -> str:
    import time
    from datetime import datetime

    return time_ago(int(datetime.fromisoformat(moment).timestamp() * 1000), time.time_ns() // 1_000_000)
