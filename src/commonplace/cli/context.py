"""`context`: what to know before working on a project, as an agent gets it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from commonplace.cli import tables
from commonplace.cli.call import Call, command
from commonplace.cli.meaning import embed_for_question
from commonplace.dialects.kiro import NO_PROJECT, TOOLS, written_context
from commonplace.dialects.tool import Tool
from commonplace.memory.book import Book
from commonplace.memory.browse import require_project
from commonplace.model import Scope


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
    with call.book(asks=True) as book:
        require_project(book, project)
        if query:
            embed_for_question(book, query, [Scope.around(None if wanted == NO_PROJECT else wanted)])
        data = answer(book, "get_context", arguments) if call.json else _for_people(book, arguments)
    if call.json:
        call.reply(data)
        return
    tables.context(data)
    if data.get("notice"):
        call.note(data["notice"])


def _for_people(book: Book, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """What fits the budget as it is printed, which takes much less room than JSON."""
    checked = _tool("get_context").checked(arguments)
    return written_context(book, checked, tables.context_characters)


def answer(book: Book, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """What an agent would get from this tool of the Kiro dialect."""
    given = {name: value for name, value in arguments.items() if value is not None}
    return _tool(tool).run(book, given).data


def _tool(name: str) -> Tool:
    return next(known for known in TOOLS if known.name == name)
