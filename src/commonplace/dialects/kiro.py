"""The shapes of Kiro Memory's replies, as JSON Schema: what the reference promises and our optional extras."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from commonplace.dialects.schema import BOOLEAN, INTEGER, NUMBER, STRING, STRING_OR_NULL, Schema, array, record
from commonplace.dialects.tool import (
    LONGEST_NOTICE,
    Arguments,
    IdNumber,
    Param,
    Reply,
    Tool,
    compact_json,
    missing_vectors_notice,
    search_notice,
)
from commonplace.errors import InvalidInput, NotFound
from commonplace.memory.context import Context, ContextItem, Measure, build_context
from commonplace.memory.items import get_item, get_items, is_stale, require_project
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.recall import recall_scopes
from commonplace.memory.timeline import EVENT_KINDS, TimelineEntry, timeline
from commonplace.model import DETAIL_FIELDS, Item, Scope
from commonplace.ranking.context import estimate_tokens
from commonplace.text.dates import iso_time
from commonplace.text.project_names import base_name
from commonplace.text.redact import redact_data
from commonplace.text.titles import shorten, truncate

_TIMES: Schema = {"created_at": STRING, "created_at_epoch": INTEGER}

_OBSERVATION: Schema = {
    "id": INTEGER,
    "type": STRING,
    "title": STRING,
    "subtitle": STRING_OR_NULL,
    "text": STRING_OR_NULL,
    "narrative": STRING_OR_NULL,
    "facts": STRING_OR_NULL,
    "concepts": STRING_OR_NULL,
    "files_read": STRING_OR_NULL,
    "files_modified": STRING_OR_NULL,
    "project": STRING,
    **_TIMES,
    "is_stale": INTEGER,
    "discovery_tokens": INTEGER,
}

_SUMMARY = record(
    {
        "id": INTEGER,
        "session_id": STRING,
        "project": STRING,
        "request": STRING_OR_NULL,
        "investigated": STRING_OR_NULL,
        "learned": STRING_OR_NULL,
        "completed": STRING_OR_NULL,
        "next_steps": STRING_OR_NULL,
        "notes": STRING_OR_NULL,
        **_TIMES,
    }
)

_CHECKPOINT: Schema = {
    "type": ["object", "null"],
    "properties": {
        "id": INTEGER,
        "session_id": STRING,
        "project": STRING,
        "task": STRING_OR_NULL,
        "progress": STRING_OR_NULL,
        "next_steps": STRING_OR_NULL,
        "open_questions": STRING_OR_NULL,
        "relevant_files": STRING_OR_NULL,
        **_TIMES,
    },
}

_SIGNALS = record({"semantic": NUMBER, "fts5": NUMBER, "recency": NUMBER, "projectMatch": NUMBER})

SEARCH = record(
    {
        "observations": array(record(_OBSERVATION)),
        "summaries": array(_SUMMARY),
        "notice": STRING,
    },
    optional=("notice",),
)

TIMELINE = record(
    {
        "timeline": array(
            record(
                {
                    "id": INTEGER,
                    "type": STRING,
                    "title": STRING,
                    "subtitle": STRING_OR_NULL,
                    "narrative": STRING_OR_NULL,
                    "project": STRING,
                    **_TIMES,
                    "position": INTEGER,
                }
            )
        )
    }
)

OBSERVATIONS = record(
    {
        "observations": array(
            record(
                {
                    **_OBSERVATION,
                    "uid": STRING,
                    "kind": STRING,
                    "session_id": STRING_OR_NULL,
                    "tags": array(STRING),
                }
            )
        ),
        "missing": array({"type": ["integer", "string"]}),
    }
)

CONTEXT = record(
    {
        "project": STRING,
        "items": array(
            record(
                {
                    "id": INTEGER,
                    "title": STRING,
                    "content": STRING,
                    "type": STRING,
                    "project": STRING,
                    **_TIMES,
                    "score": NUMBER,
                    "signals": _SIGNALS,
                }
            )
        ),
        "summaries": array(_SUMMARY),
        "checkpoint": _CHECKPOINT,
        "tokenBudget": INTEGER,
        "tokensUsed": INTEGER,
        "truncated": BOOLEAN,
        "totalCount": INTEGER,
        "returnedCount": INTEGER,
        "answers": array(INTEGER),
        "notice": STRING,
    },
    optional=("notice",),
)

NO_PROJECT = "global"

# A search result is for choosing; what is longer is had in full by its id.
LONGEST_FOUND = 4_000
LONGEST_NARRATIVE = 300


def observation(item: Item) -> dict[str, Any]:
    """The fifteen fields of the reference. A field that an item does not have is null."""
    return {
        "id": item.id,
        "type": item.type,
        "title": item.title,
        "subtitle": _detail(item, "subtitle") or _detail(item, "role"),
        "text": item.body or None,
        "narrative": _detail(item, "narrative") or _fields_as_text(item),
        "facts": _detail(item, "facts"),
        "concepts": _detail(item, "concepts") or (", ".join(item.tags) or None),
        "files_read": _detail(item, "files_read"),
        "files_modified": _detail(item, "files_modified") or _detail(item, "relevant_files"),
        "project": project_name(item),
        **_times(item),
        "is_stale": int(is_stale(item)),
        "discovery_tokens": item.tokens,
    }


def cut_long_texts(record: dict[str, Any]) -> dict[str, Any]:
    """A record as a search result: long texts cut."""
    return {name: truncate(value, LONGEST_FOUND) if isinstance(value, str) else value for name, value in record.items()}


def full_observation(item: Item) -> dict[str, Any]:
    """A whole record, with what the other dialects know of it."""
    more = {"uid": item.uid, "kind": item.kind, "session_id": item.session, "tags": list(item.tags)}
    # Only where something is damaged, so that whole items are as the reference says.
    return observation(item) | more | ({"damaged": sorted(item.damaged)} if item.damaged else {})


def summary(item: Item) -> dict[str, Any]:
    fields = {name: _detail(item, name) for name in DETAIL_FIELDS["summary"]}
    fields["notes"] = fields["notes"] or item.body or None
    fields["request"] = fields["request"] or item.title
    return _session_fields(item) | fields | _times(item)


def checkpoint(item: Item) -> dict[str, Any]:
    fields = {name: _detail(item, name) for name in DETAIL_FIELDS["checkpoint"] if name != "snapshot"}
    fields["task"] = fields["task"] or item.title
    fields["progress"] = fields["progress"] or item.body or None
    return _session_fields(item) | fields | _times(item)


def timeline_entry(entry: TimelineEntry) -> dict[str, Any]:
    """A line of a timeline: what it was and where it stands, not all that it says."""
    item = entry.item
    return {
        "id": item.id,
        "type": item.type,
        "title": item.title,
        "subtitle": _detail(item, "subtitle") or _detail(item, "role"),
        "narrative": truncate(item.details.get("narrative", ""), LONGEST_FOUND)
        or shorten(item.body, LONGEST_NARRATIVE)
        or None,
        "project": project_name(item),
        **_times(item),
        "position": entry.position,
    }


def context_item(entry: ContextItem) -> dict[str, Any]:
    """An entry of a context, without secrets: its length is counted before the reply is cleaned as a whole."""
    item, signals = entry.item, entry.signals
    row: dict[str, Any] = redact_data({"id": item.id, "title": item.title, "content": entry.content, "type": item.type})
    return row | {
        "project": project_name(item),
        **_times(item),
        "score": round(entry.score, 4),
        "signals": {
            "semantic": round(signals.semantic, 4),
            "fts5": round(signals.fts5, 4),
            "recency": round(signals.recency, 4),
            "projectMatch": signals.project_match,
        },
    }


def context_entry(entry: ContextItem | Item) -> dict[str, Any]:
    """Anything that a context can hold, as it is written there."""
    if isinstance(entry, ContextItem):
        return context_item(entry)
    row: dict[str, Any] = redact_data(checkpoint(entry) if entry.kind == "checkpoint" else summary(entry))
    return row


def project_name(item: Item) -> str:
    return base_name(item.project) if item.project else NO_PROJECT


def _session_fields(item: Item) -> dict[str, Any]:
    return {"id": item.id, "session_id": item.session or "", "project": project_name(item)}


def _fields_as_text(item: Item) -> str | None:
    """Summaries and checkpoints asked for by id: their fields, told in order."""
    return item.told() or None if item.kind in ("summary", "checkpoint") else None


def _detail(item: Item, name: str) -> str | None:
    return item.details.get(name) or None


def _times(item: Item) -> dict[str, Any]:
    return {"created_at": iso_time(item.created_ms), "created_at_epoch": item.created_ms}


__all__ = ["DEFAULT_BUDGET", "NO_PROJECT", "TOOLS", "context_text", "get_context", "record_text", "written_context"]

MAX_LIMIT = 50
DEFAULT_BUDGET, MAX_BUDGET = 2000, 200_000
# What the counts of a context may take beyond the zeros of an empty one.
_DIGITS = 6
_NOTICE_TOKENS = estimate_tokens(LONGEST_NOTICE + len(',"notice":""'))
_INCOMPLETE_TOKENS = estimate_tokens(len(missing_vectors_notice(99_999)) + len(',"notice":""'))


def search(memory: LocalMemory, arguments: Arguments) -> Reply:
    """Observations and summaries that answer a query, each up to the limit."""
    query = arguments["query"]
    if not query.strip():
        raise InvalidInput("query is empty.", "Give some words to look for.")
    where = _scope(arguments["project"])
    events, summaries = recall_scopes(
        memory, query, [replace(where, kinds=EVENT_KINDS), replace(where, kinds=("summary",))], arguments["limit"]
    )
    data: dict[str, Any] = {
        "observations": [cut_long_texts(observation(hit.item)) for hit in events.hits],
        "summaries": [cut_long_texts(summary(hit.item)) for hit in summaries.hits],
    }
    nothing = not events.hits and not summaries.hits
    return Reply(_with_notice(memory, data, events.waiting, where.project if nothing else None))


def timeline_around(memory: LocalMemory, arguments: Arguments) -> Reply:
    """What happened before and after an observation, in any project."""
    moments = timeline(memory, arguments["anchor_id"], arguments["depth_before"], arguments["depth_after"])
    return Reply({"timeline": [timeline_entry(entry) for entry in moments]})


def get_observations(memory: LocalMemory, arguments: Arguments) -> Reply:
    """Full records in the order asked, and the ids that nothing answers to."""
    fetched = get_items(memory, arguments["ids"])
    return Reply({"observations": [full_observation(item) for item in fetched.items], "missing": list(fetched.missing)})


def get_context(memory: LocalMemory, arguments: Arguments) -> Reply:
    """A context package that fits the budget as it is written here. `files` and `limit` are as in memories.sh."""
    budget, name = arguments["token_budget"], arguments["project"].strip()
    nothing = _context_data(Context(name, (), (), None, 0, truncated=False), budget)
    kept_free = _INCOMPLETE_TOKENS if arguments["query"] else 0
    package = compose_context(
        memory, arguments, _entry_tokens, estimate_tokens(len(compact_json(nothing))) + _DIGITS + kept_free
    )
    data = _context_data(package, budget)
    room = budget - estimate_tokens(len(compact_json(data)))
    if room >= _NOTICE_TOKENS:
        data = _with_notice(memory, data, package.waiting)
    elif package.waiting and room >= _INCOMPLETE_TOKENS:
        data |= {"notice": missing_vectors_notice(package.waiting)}
    return Reply(data)


def compose_context(memory: LocalMemory, arguments: Arguments, measure: Measure, envelope: int) -> Context:
    """What a context holds for someone who writes it as `measure` says, beside an `envelope` of so many tokens."""
    name = arguments["project"].strip()
    if not name:
        raise InvalidInput("project is empty.", "Name a project, usually the repository's name.")
    found = build_context(
        memory,
        _scope(name).project,
        arguments["query"],
        arguments["token_budget"],
        measure,
        envelope,
        files=arguments.get("files") or (),
        limit=arguments.get("limit"),
    )
    return replace(found, project=name)


def written_context(
    memory: LocalMemory, arguments: Arguments, characters: Callable[[Mapping[str, Any]], int]
) -> dict[str, Any]:
    """The same data for a door that writes it as text; `characters` says how long a part of it is in that text."""
    budget = arguments["token_budget"]

    def measure(entry: ContextItem | Item) -> int:
        return estimate_tokens(characters(_context_parts([entry])))

    name = arguments["project"].strip()
    envelope = estimate_tokens(characters({"project": name} | _context_parts([])))
    package = compose_context(memory, arguments, measure, envelope)
    return _with_notice(memory, redact_data(_context_data(package, budget)), package.waiting)


def _context_parts(entries: Sequence[ContextItem | Item]) -> dict[str, Any]:
    """Some entries of a context as its data has them."""
    written = [(entry, context_entry(entry)) for entry in entries]
    return {
        "items": [row for entry, row in written if isinstance(entry, ContextItem)],
        "summaries": [row for entry, row in written if isinstance(entry, Item) and entry.kind != "checkpoint"],
        "checkpoint": next(
            (row for entry, row in written if isinstance(entry, Item) and entry.kind == "checkpoint"), None
        ),
    }


def record_text(memory: LocalMemory, id_: int | str) -> str:
    """One item in full, by any spelling of its id, as get_observations answers."""
    return compact_json(redact_data(full_observation(get_item(memory, id_))))


def context_text(memory: LocalMemory, project: str, query: str = "", token_budget: int = DEFAULT_BUDGET) -> str:
    """A project's context, as get_context answers."""
    reply = get_context(memory, {"project": project, "query": query or None, "token_budget": token_budget})
    return compact_json(redact_data(reply.data))


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
            Param("anchor_id", IdNumber, "Id of the anchor observation", required=True),
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
        (Param("ids", list, "Observation ids, at most 50", required=True, items=IdNumber, max_items=MAX_LIMIT),),
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


def _with_notice(memory: LocalMemory, data: dict[str, Any], waiting: int, project: str | None = None) -> dict[str, Any]:
    """The data, and if the project is unknown, or meaning is incomplete or stopped working since it was told, why."""
    try:
        require_project(memory, project)
        told = search_notice(memory, waiting)
    except NotFound as unknown:
        told = f"{unknown.message} {unknown.hint}"
    return data | ({"notice": told} if told else {})


def _entry_tokens(entry: ContextItem | Item) -> int:
    """What an entry takes in the reply, with the comma that follows it, and its id among the answers."""
    among_answers = len(f"{entry.item.id},") if isinstance(entry, ContextItem) else 0
    return estimate_tokens(len(compact_json(context_entry(entry))) + 1 + among_answers)


def _context_data(package: Context, budget: int) -> dict[str, Any]:
    items = [context_item(entry) for entry in package.items]
    return {
        "project": package.project,
        "items": items,
        "summaries": [context_entry(item) for item in package.summaries],
        "checkpoint": context_entry(package.checkpoint) if package.checkpoint else None,
        "tokenBudget": budget,
        "tokensUsed": sum(estimate_tokens(len(item["content"])) for item in items),
        "truncated": package.truncated,
        "totalCount": package.total,
        "returnedCount": len(items),
        "answers": list(package.answers),
    }
