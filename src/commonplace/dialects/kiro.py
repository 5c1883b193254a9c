"""Kiro Memory: observations, summaries and checkpoints of coding sessions.

Everything that happened or was stated is an observation here, whichever dialect wrote it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from commonplace.dialects.kiro_records import (
    NO_PROJECT,
    context_entry,
    context_item,
    found,
    full_observation,
    moment,
    observation,
    summary,
)
from commonplace.dialects.kiro_schemas import CONTEXT, OBSERVATIONS, SEARCH, TIMELINE
from commonplace.dialects.tool import LONGEST_NOTICE, Arguments, Id, Param, Reply, Tool, as_json, incomplete, notice
from commonplace.errors import InvalidInput, NotFound
from commonplace.memory.book import Book
from commonplace.memory.browse import require_project
from commonplace.memory.context import Context, ContextItem, Measure, context
from commonplace.memory.fetch import fetch, fetch_one
from commonplace.memory.recall import recall_each
from commonplace.memory.timeline import EVENTS, timeline
from commonplace.model import Item, Scope
from commonplace.ranking.budget import tokens_of
from commonplace.text.redacted_data import redacted

__all__ = ["DEFAULT_BUDGET", "NO_PROJECT", "TOOLS", "context_text", "get_context", "record_text", "written_context"]

MAX_LIMIT = 50
DEFAULT_BUDGET, MAX_BUDGET = 2000, 200_000
# What the counts of a context may take beyond the zeros of an empty one.
_DIGITS = 6
_NOTICE_TOKENS = tokens_of(LONGEST_NOTICE + len(',"notice":""'))
_INCOMPLETE_TOKENS = tokens_of(len(incomplete(99_999)) + len(',"notice":""'))


def search(book: Book, arguments: Arguments) -> Reply:
    """Observations and summaries that answer a query, each up to the limit."""
    query = arguments["query"]
    if not query.strip():
        raise InvalidInput("query is empty.", "Give some words to look for.")
    where = _scope(arguments["project"])
    events, summaries = recall_each(
        book, query, [replace(where, kinds=EVENTS), replace(where, kinds=("summary",))], arguments["limit"]
    )
    data: dict[str, Any] = {
        "observations": [found(observation(hit.item)) for hit in events.hits],
        "summaries": [found(summary(hit.item)) for hit in summaries.hits],
    }
    nothing = not events.hits and not summaries.hits
    return Reply(_told_once(book, data, events.waiting, where.project if nothing else None))


def timeline_around(book: Book, arguments: Arguments) -> Reply:
    """What happened before and after an observation, in any project."""
    moments = timeline(book, arguments["anchor_id"], arguments["depth_before"], arguments["depth_after"])
    return Reply({"timeline": [moment(entry) for entry in moments]})


def get_observations(book: Book, arguments: Arguments) -> Reply:
    """Full records in the order asked, and the ids that nothing answers to."""
    fetched = fetch(book, arguments["ids"])
    return Reply({"observations": [full_observation(item) for item in fetched.items], "missing": list(fetched.missing)})


def get_context(book: Book, arguments: Arguments) -> Reply:
    """A context package that fits the budget as it is written here. `files` and `limit` are as in memories.sh."""
    budget, name = arguments["token_budget"], arguments["project"].strip()
    nothing = _context(Context(name, (), (), None, 0, truncated=False), budget)
    kept_free = _INCOMPLETE_TOKENS if arguments["query"] else 0
    package = package_of(book, arguments, _cost, tokens_of(len(as_json(nothing))) + _DIGITS + kept_free)
    data = _context(package, budget)
    room = budget - tokens_of(len(as_json(data)))
    if room >= _NOTICE_TOKENS:
        data = _told_once(book, data, package.waiting)
    elif package.waiting and room >= _INCOMPLETE_TOKENS:
        data |= {"notice": incomplete(package.waiting)}
    return Reply(data)


def package_of(book: Book, arguments: Arguments, measure: Measure, envelope: int) -> Context:
    """What a context holds for someone who writes it as `measure` says, beside an `envelope` of so many tokens."""
    name = arguments["project"].strip()
    if not name:
        raise InvalidInput("project is empty.", "Name a project, usually the repository's name.")
    found = context(
        book,
        _scope(name).project,
        arguments["query"],
        arguments["token_budget"],
        measure,
        envelope,
        files=arguments.get("files") or (),
        limit=arguments.get("limit"),
    )
    return replace(found, project=name)


def written_context(book: Book, arguments: Arguments, characters: Callable[[Mapping[str, Any]], int]) -> dict[str, Any]:
    """The same data for a door that writes it as text; `characters` says how long a part of it is in that text."""
    budget = arguments["token_budget"]

    def measure(entry: ContextItem | Item) -> int:
        return tokens_of(characters(_parts([entry])))

    name = arguments["project"].strip()
    envelope = tokens_of(characters({"project": name} | _parts([])))
    package = package_of(book, arguments, measure, envelope)
    return _told_once(book, redacted(_context(package, budget)), package.waiting)


def _parts(entries: Sequence[ContextItem | Item]) -> dict[str, Any]:
    """Some entries of a context as its data has them."""
    written = [(entry, context_entry(entry)) for entry in entries]
    return {
        "items": [row for entry, row in written if isinstance(entry, ContextItem)],
        "summaries": [row for entry, row in written if isinstance(entry, Item) and entry.kind != "checkpoint"],
        "checkpoint": next(
            (row for entry, row in written if isinstance(entry, Item) and entry.kind == "checkpoint"), None
        ),
    }


def record_text(book: Book, id_: int | str) -> str:
    """One item in full, by any spelling of its id, as get_observations answers."""
    return as_json(redacted(full_observation(fetch_one(book, id_))))


def context_text(book: Book, project: str, query: str = "", token_budget: int = DEFAULT_BUDGET) -> str:
    """A project's context, as get_context answers."""
    reply = get_context(book, {"project": project, "query": query or None, "token_budget": token_budget})
    return as_json(redacted(reply.data))


TOOLS = (
    Tool(
        "kiro",
        "search",
        "Search memory",
        "Full-text and semantic search over observations and summaries. Plain questions, or FTS5 operators:"
        ' AND, OR, NOT, "phrase", prefix*, column:term.',
        (
            Param("query", str, "What to look for", required=True),
            Param("project", str, "Only this project; all projects if omitted"),
            Param("limit", int, "Most results per category, 1-50", default=10, least=1, most=MAX_LIMIT),
        ),
        SEARCH,
        search,
    ),
    Tool(
        "kiro",
        "timeline",
        "Timeline around an observation",
        "What happened before and after an observation, in all projects.",
        (
            Param("anchor_id", Id, "Id of the anchor observation", required=True),
            Param("depth_before", int, "How many before, 0-50", default=5, least=0, most=MAX_LIMIT),
            Param("depth_after", int, "How many after, 0-50", default=5, least=0, most=MAX_LIMIT),
        ),
        TIMELINE,
        timeline_around,
    ),
    Tool(
        "kiro",
        "get_observations",
        "Observations by id",
        "Full details of observations by their ids, in the order asked.",
        (Param("ids", list, "Observation ids, at most 50", required=True, items=Id, max_items=MAX_LIMIT),),
        OBSERVATIONS,
        get_observations,
    ),
    Tool(
        "kiro",
        "get_context",
        "Project context",
        "What to know before working on a project: decisions and rules first, then what is recent or answers the"
        " query, last summaries and checkpoint, within a token budget.",
        (
            Param("project", str, "Project name, usually the git repository's", required=True),
            Param("token_budget", int, "Most tokens to return", default=DEFAULT_BUDGET, least=1, most=MAX_BUDGET),
            Param("query", str, "What you are working on, to rank by relevance"),
        ),
        CONTEXT,
        get_context,
    ),
)


def _scope(project: str | None) -> Scope:
    if project is None or not project.strip():
        return Scope()
    if project.strip().casefold() == NO_PROJECT:
        return Scope(only_global=True)
    return Scope(project=project)


def _told_once(book: Book, data: dict[str, Any], waiting: int, project: str | None = None) -> dict[str, Any]:
    """The data, and if the project is unknown, or meaning is incomplete or stopped working since it was told, why."""
    try:
        require_project(book, project)
        told = notice(book, waiting)
    except NotFound as unknown:
        told = f"{unknown.message} {unknown.hint}"
    return data | ({"notice": told} if told else {})


def _cost(entry: ContextItem | Item) -> int:
    """What an entry takes in the reply, with the comma that follows it, and its id among the answers."""
    among_answers = len(f"{entry.item.id},") if isinstance(entry, ContextItem) else 0
    return tokens_of(len(as_json(context_entry(entry))) + 1 + among_answers)


def _context(package: Context, budget: int) -> dict[str, Any]:
    items = [context_item(entry) for entry in package.items]
    return {
        "project": package.project,
        "items": items,
        "summaries": [context_entry(item) for item in package.summaries],
        "checkpoint": context_entry(package.checkpoint) if package.checkpoint else None,
        "tokenBudget": budget,
        "tokensUsed": sum(tokens_of(len(item["content"])) for item in items),
        "truncated": package.truncated,
        "totalCount": package.total,
        "returnedCount": len(items),
        "answers": list(package.answers),
    }
