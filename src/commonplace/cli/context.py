"""`context`: what to know before working on a project, as an agent gets it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from commonplace.cli import tables
from commonplace.cli.command import Call, command
from commonplace.cli.search import embed_for_question
from commonplace.dialects.kiro import TOOLS, written_context
from commonplace.dialects.kiro_records import NO_PROJECT
from commonplace.dialects.memories_records import rules_text
from commonplace.dialects.records import item_record, parse_id
from commonplace.dialects.tool import Tool
from commonplace.hosts.project_files import project_folder
from commonplace.memory.items import get_item, require_project
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.rules import active_rules as active_rules
from commonplace.model import Scope
from commonplace.text.redact import redact_lines


@command(
    "context",
    "commonplace context",
    "commonplace context my-api --budget 4000",
    'commonplace context my-api --query "rate limiting" --json',
)
@click.argument("project", required=False)
@click.option("--query", help="What you are about to do, to rank by relevance.")
@click.option("--budget", type=click.IntRange(1), default=2000, show_default=True, help="Most tokens.")
def context(call: Call, project: str | None, query: str | None, budget: int) -> None:
    """Decisions and rules first, then what is recent or answers the query, the last summaries and the checkpoint.

    PROJECT is found from the current folder if omitted. With --json it is what `get_context` answers to an agent.
    """
    wanted = project if project is not None else call.project_here() or NO_PROJECT
    arguments: dict[str, Any] = {"project": wanted, "token_budget": budget}
    if query is not None:
        arguments["query"] = query
    with call.memory(asks=True) as memory:
        require_project(memory, project)
        if query:
            embed_for_question(memory, query, [Scope.around(None if wanted == NO_PROJECT else wanted)])
        data = call_tool(memory, "get_context", arguments) if call.json else _for_people(memory, arguments)
    if call.json:
        call.reply(data)
        return
    tables.context(data)
    if data.get("notice"):
        call.note(data["notice"])


def _for_people(memory: LocalMemory, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """What fits the budget as it is printed, which takes much less room than JSON."""
    checked = _tool("get_context").checked(arguments)
    return {**written_context(memory, characters=tables.context_characters, **checked)}


def call_tool(memory: LocalMemory, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """What an agent would get from this tool of the Kiro dialect."""
    given = {name: value for name, value in arguments.items() if value is not None}
    return dict(_tool(tool).run(memory, given).data)


def _tool(name: str) -> Tool:
    return next(known for known in TOOLS if known.name == name)


# Agents are told as many as fit; a person who asks here gets all.
MAX_RULES = 100_000


@command(
    "rules",
    "commonplace rules",
    "commonplace rules --project my-api --file src/api/users.ts",
    "commonplace rules --global --json",
)
@click.option("--project", help="Whose rules; found from the current folder if omitted.")
@click.option("--global", "everywhere", is_flag=True, help="Only rules that hold everywhere.")
@click.option("--file", "files", multiple=True, metavar="PATH", help="Only rules for this file; may be repeated.")
def rules(call: Call, project: str | None, everywhere: bool, files: Sequence[str]) -> None:
    """The rules of a project and those that hold everywhere, oldest first.

    Rules for certain paths stand under their globs. With --file only those are shown that hold for one of the files.
    """
    name = call.project(project, everywhere)
    wanted = [_in_project(file) for file in files]
    with call.memory() as memory:
        active = active_rules(memory, name, wanted, MAX_RULES)
        ours, shared = ([item_record(item) for item in section] for section in (active.project, active.everywhere))
    if call.json:
        call.reply(
            {
                "project": name,
                "project_rules": ours,
                "global_rules": shared,
                "rules_for_other_files": active.elsewhere,
            }
        )
    else:
        call.say(redact_lines(rules_text(active, wanted)))


def _in_project(file: str) -> str:
    """A path as its project writes it: from the top of the repository, wherever one stands in it."""
    try:
        return (Path.cwd() / file).relative_to(project_folder(Path.cwd())).as_posix()
    except (OSError, ValueError):
        return file


MAX_DEPTH = 50


@command("timeline", "commonplace timeline 1", "commonplace timeline 1 --before 10 --after 0 --json")
@click.argument("id_", metavar="ID")
@click.option("--before", type=click.IntRange(0, MAX_DEPTH), default=5, show_default=True, help="How many before it.")
@click.option("--after", type=click.IntRange(0, MAX_DEPTH), default=5, show_default=True, help="How many after it.")
def timeline(call: Call, id_: str, before: int, after: int) -> None:
    """What happened before and after an item, oldest first.

    ID is a number, a UUID or the last twelve hex digits of one. With --json it is what `timeline` answers to an agent.
    """
    with call.memory(asks=True) as memory:
        anchor = get_item(memory, parse_id(id_))
        arguments = {"anchor_id": anchor.id, "depth_before": before, "depth_after": after}
        data = call_tool(memory, "timeline", arguments)
    if call.json:
        call.reply(data)
        return
    tables.timeline(data["timeline"])
