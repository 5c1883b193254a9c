"""Kiro Memory: observations, summaries and checkpoints of coding sessions.

Everything that happened or was stated is an observation here, whichever dialect wrote it.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from commonplace.dialects.kiro_schemas import CONTEXT, OBSERVATIONS, SEARCH, TIMELINE
from commonplace.dialects.tool import Arguments, Param, Reply, Tool, as_json
from commonplace.errors import InvalidInput
from commonplace.memory.book import Book
from commonplace.memory.context import Context, ContextItem, context
from commonplace.memory.fetch import fetch, fetch_one
from commonplace.memory.recall import recall_each
from commonplace.memory.staleness import is_stale
from commonplace.memory.timeline import EVENTS, timeline
from commonplace.model import DETAIL_FIELDS, Item, Scope
from commonplace.ranking.budget import tokens_of
from commonplace.text.names import base_name

MAX_LIMIT = 50
MAX_BUDGET = 200_000
NO_PROJECT = "global"

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def search(book: Book, arguments: Arguments) -> Reply:
    """Observations and summaries that answer a query, each up to the limit."""
    query = _query(arguments["query"])
    scope = _scope(arguments["project"])
    limit = arguments["limit"]
    events, summaries = recall_each(
        book,
        query,
        [
            Scope(scope.project, only_global=scope.only_global, kinds=EVENTS),
            Scope(scope.project, only_global=scope.only_global, kinds=("summary",)),
        ],
        limit,
    )
    data: dict[str, Any] = {
        "observations": [_observation(hit.item) for hit in events.hits],
        "summaries": [_summary(hit.item) for hit in summaries.hits],
    }
    if not events.by_meaning and book.meaning.state.startswith("failed"):
        data["notice"] = f"Keyword search only: {book.meaning.state}"
    return _reply(data)


def timeline_around(book: Book, arguments: Arguments) -> Reply:
    """What happened before and after an observation, in its project."""
    moments = timeline(book, arguments["anchor_id"], arguments["depth_before"], arguments["depth_after"])
    rows = [
        {
            "id": moment.item.id,
            "type": moment.item.type,
            "title": moment.item.title,
            "subtitle": _detail(moment.item, "subtitle"),
            "narrative": _detail(moment.item, "narrative") or (moment.item.body or None),
            "project": _project(moment.item),
            **_times(moment.item),
            "position": moment.position,
        }
        for moment in moments
    ]
    return _reply({"timeline": rows})


def get_observations(book: Book, arguments: Arguments) -> Reply:
    """Full records in the order asked, and the ids that nothing answers to."""
    found = fetch(book, arguments["ids"])
    return _reply({"observations": [_full(item) for item in found.items], "missing": list(found.missing)})


def get_context(book: Book, arguments: Arguments) -> Reply:
    """A context package that fits the budget as it is written here."""
    budget = arguments["token_budget"]
    project = arguments["project"].strip()
    if not project:
        raise InvalidInput("project is empty.", "Name a project, usually the repository's name.")
    empty = Context(project, (), (), None, 0, truncated=True)
    found = context(
        book,
        project,
        arguments["query"],
        budget,
        measure=_cost,
        envelope=tokens_of(len(as_json(_context(empty, budget)))) + 4,
    )
    return _reply(_context(found, budget))


def full_record(book: Book, id_: int | str) -> dict[str, Any]:
    """One item in full, by any spelling of its id."""
    return _full(fetch_one(book, id_))


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
        "What happened before and after an observation, in its project.",
        (
            Param("anchor_id", int, "Id of the anchor observation", required=True),
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
        (Param("ids", list, "Observation ids, at most 50", required=True, items=int, max_items=MAX_LIMIT),),
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
            Param("token_budget", int, "Most tokens to return", default=2000, least=1, most=MAX_BUDGET),
            Param("query", str, "What you are working on, to rank by relevance"),
        ),
        CONTEXT,
        get_context,
    ),
)


def _query(query: str) -> str:
    if not query.strip():
        raise InvalidInput("query is empty.", "Give some words to look for.")
    return query


def _scope(project: str | None) -> Scope:
    if project is None or not project.strip():
        return Scope()
    if project.strip().casefold() == NO_PROJECT:
        return Scope(only_global=True)
    return Scope(project=project)


def _reply(data: dict[str, Any]) -> Reply:
    return Reply(data, as_json(data))


def _cost(entry: ContextItem | Item) -> int:
    """What an entry takes in the reply, with the comma that follows it."""
    if isinstance(entry, ContextItem):
        row = _context_item(entry)
    else:
        row = _checkpoint(entry) if entry.kind == "checkpoint" else _summary(entry)
    return tokens_of(len(as_json(row)) + 1)


def _context(found: Context, budget: int) -> dict[str, Any]:
    return {
        "project": found.project,
        "items": [_context_item(entry) for entry in found.items],
        "summaries": [_summary(item) for item in found.summaries],
        "checkpoint": _checkpoint(found.checkpoint) if found.checkpoint else None,
        "tokenBudget": budget,
        "tokensUsed": found.tokens_used,
        "truncated": found.truncated,
        "totalCount": found.total,
        "returnedCount": len(found.items),
    }


def _context_item(entry: ContextItem) -> dict[str, Any]:
    item, signals = entry.item, entry.signals
    return {
        "id": item.id,
        "title": item.title,
        "content": entry.content,
        "type": item.type,
        "project": _project(item),
        **_times(item),
        "score": round(entry.score, 4),
        "signals": {
            "semantic": round(signals.semantic, 4),
            "fts5": round(signals.fts5, 4),
            "recency": round(signals.recency, 4),
            "projectMatch": signals.project_match,
        },
    }


def _observation(item: Item) -> dict[str, Any]:
    """The fifteen fields of the reference. A field that an item does not have is null."""
    return {
        "id": item.id,
        "type": item.type,
        "title": item.title,
        "subtitle": _detail(item, "subtitle") or _detail(item, "role"),
        "text": item.body or None,
        "narrative": _detail(item, "narrative") or _told(item),
        "facts": _detail(item, "facts"),
        "concepts": _detail(item, "concepts") or (", ".join(item.tags) or None),
        "files_read": _detail(item, "files_read"),
        "files_modified": _detail(item, "files_modified") or _detail(item, "relevant_files"),
        "project": _project(item),
        **_times(item),
        "is_stale": int(is_stale(item)),
        "discovery_tokens": item.tokens,
    }


def _full(item: Item) -> dict[str, Any]:
    """A record with what the other dialects know of it."""
    more = {"uid": item.uid, "kind": item.kind, "session_id": item.session, "tags": list(item.tags)}
    return _observation(item) | more


def _summary(item: Item) -> dict[str, Any]:
    fields = {name: _detail(item, name) for name in DETAIL_FIELDS["summary"]}
    fields["notes"] = fields["notes"] or item.body or None
    fields["request"] = fields["request"] or item.title
    return {"id": item.id, "session_id": item.session or "", "project": _project(item), **fields, **_times(item)}


def _checkpoint(item: Item) -> dict[str, Any]:
    fields = {name: _detail(item, name) for name in DETAIL_FIELDS["checkpoint"] if name != "snapshot"}
    fields["task"] = fields["task"] or item.title
    fields["progress"] = fields["progress"] or item.body or None
    return {"id": item.id, "session_id": item.session or "", "project": _project(item), **fields, **_times(item)}


def _told(item: Item) -> str | None:
    """Summaries and checkpoints asked for by id: their fields, told in order."""
    if item.kind not in ("summary", "checkpoint"):
        return None
    told = [f"{name}: {item.details[name]}" for name in DETAIL_FIELDS[item.kind] if item.details.get(name)]
    return "\n".join(told) or None


def _detail(item: Item, name: str) -> str | None:
    return item.details.get(name) or None


def _project(item: Item) -> str:
    return base_name(item.project) if item.project else NO_PROJECT


def _times(item: Item) -> dict[str, Any]:
    return {"created_at": iso_time(item.created_ms), "created_at_epoch": item.created_ms}


def iso_time(milliseconds: int) -> str:
    """As the reference writes it: 2025-03-15T14:30:00.000Z."""
    moment = _EPOCH + timedelta(milliseconds=milliseconds)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.").rjust(20, "0") + f"{milliseconds % 1000:03d}Z"
