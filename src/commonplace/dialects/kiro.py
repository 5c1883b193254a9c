"""Kiro Memory's tools: observations, summaries and checkpoints of coding sessions.

Everything that happened or was stated is an observation here, whichever dialect wrote it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

from commonplace.dialects.kiro_records import (
    LEAST_ENTRY_TOKENS,
    NO_PROJECT,
    ContextReply,
    ContextRows,
    ObservationsReply,
    SearchReply,
    TimelineReply,
    context_data,
    context_parts,
    cut_long_texts,
    found_observation,
    full_observation,
    json_tokens,
    summary,
    timeline_row,
)
from commonplace.dialects.tool import (
    LONGEST_NOTICE,
    IdNumber,
    Param,
    Reply,
    Tool,
    compact_json,
    missing_vectors_notice,
    search_notice,
)
from commonplace.errors import InvalidInput, NotFound
from commonplace.memory.candidates import record_use
from commonplace.memory.context import Context, ContextItem, Measure, build_context
from commonplace.memory.items import get_item, get_items
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.projects import require_project
from commonplace.memory.recall import recall_scopes
from commonplace.memory.timeline import EVENT_KINDS, timeline
from commonplace.model import Item, Scope
from commonplace.text.redact import redact_data
from commonplace.text.tokens import estimate_tokens
from commonplace.text.validity import parse_as_of

MAX_LIMIT = 50
DEFAULT_BUDGET, MAX_BUDGET = 2000, 200_000
# What the counts of a context may take beyond the zeros of an empty one.
_DIGITS = 6
_NOTICE_TOKENS = estimate_tokens(LONGEST_NOTICE + len(',"notice":""'))
_INCOMPLETE_TOKENS = estimate_tokens(len(missing_vectors_notice(99_999)) + len(',"notice":""'))


def search(
    memory: LocalMemory,
    query: Annotated[str, Param("What to look for")],
    project: Annotated[str | None, Param("Only this project; all projects if omitted")] = None,
    limit: Annotated[int, Param("Most results per category, 1-50", least=1, most=MAX_LIMIT)] = 10,
    as_of: Annotated[str | None, Param("What was believed then", listed=False)] = None,
) -> Reply[SearchReply]:
    """Observations and summaries that answer a query, each up to the limit."""
    if not query.strip():
        raise InvalidInput("query is empty.", "Give some words to look for.")
    where = replace(_scope(project), at_ms=parse_as_of(as_of, memory.clock()) if as_of else None)
    events, summaries = recall_scopes(
        memory, query, [replace(where, kinds=EVENT_KINDS), replace(where, kinds=("summary",))], limit
    )
    data: SearchReply = {
        "observations": [found_observation(hit.item, hit.relevance) for hit in events.hits],
        "summaries": [
            {**cut_long_texts(summary(hit.item)), "score": round(hit.relevance, 4)} for hit in summaries.hits
        ],
    }
    nothing = not events.hits and not summaries.hits
    if notice := _notice(memory, events.waiting, where.project if nothing else None):
        data["notice"] = notice
    return Reply(data)


def timeline_around(
    memory: LocalMemory,
    anchor_id: Annotated[IdNumber, Param("Id of the anchor observation")],
    depth_before: Annotated[int, Param("How many before, 0-50", least=0, most=MAX_LIMIT)] = 5,
    depth_after: Annotated[int, Param("How many after, 0-50", least=0, most=MAX_LIMIT)] = 5,
) -> Reply[TimelineReply]:
    """What happened before and after an observation, in any project."""
    return Reply({"timeline": [timeline_row(one) for one in timeline(memory, anchor_id, depth_before, depth_after)]})


def get_observations(
    memory: LocalMemory, ids: Annotated[list[IdNumber], Param("Observation ids, at most 50", max_items=MAX_LIMIT)]
) -> Reply[ObservationsReply]:
    """Full records in the order asked, and the ids that nothing answers to."""
    fetched = get_items(memory, ids)
    record_use(memory, fetched.items)
    return Reply({"observations": [full_observation(item) for item in fetched.items], "missing": list(fetched.missing)})


def get_context(
    memory: LocalMemory,
    project: Annotated[str, Param("Project name, usually the git repository's")],
    token_budget: Annotated[int, Param("Most tokens to return", least=1, most=MAX_BUDGET)] = DEFAULT_BUDGET,
    query: Annotated[str | None, Param("What you are working on, to rank by relevance")] = None,
    files: Sequence[str] | None = None,
    limit: int | None = None,
    as_of: Annotated[str | None, Param("What was believed then", listed=False)] = None,
) -> Reply[ContextReply]:
    """A context package that fits the budget as it is written here. `files` and `limit` are as in memories.sh."""
    name = _project_name(project)
    nothing = context_data(Context(name, (), (), None, 0, truncated=False), token_budget)
    envelope = json_tokens(nothing) + _DIGITS + (_INCOMPLETE_TOKENS if query else 0)
    rows = ContextRows()
    package = _composed(
        memory, name, query, token_budget, rows.tokens, envelope, as_of, files or (), limit, LEAST_ENTRY_TOKENS
    )
    data = context_data(package, token_budget, rows)
    room = token_budget - json_tokens(data)
    if room >= _NOTICE_TOKENS and (notice := _notice(memory, package.waiting)):
        data["notice"] = notice
    elif package.waiting and _INCOMPLETE_TOKENS <= room < _NOTICE_TOKENS:
        data["notice"] = missing_vectors_notice(package.waiting)
    return Reply(data)


def written_context(
    memory: LocalMemory,
    project: str,
    query: str | None,
    token_budget: int,
    characters: Callable[[Mapping[str, Any]], int],
    as_of: str | None = None,
) -> ContextReply:
    """The same data for a door that writes it as text; `characters` says how long a part of it is in that text."""

    def measure(entry: ContextItem | Item) -> int:
        return estimate_tokens(characters(context_parts([entry])))

    name = _project_name(project)
    envelope = estimate_tokens(characters({"project": name, **context_parts([])}))
    package = _composed(memory, name, query, token_budget, measure, envelope, as_of)
    data: ContextReply = redact_data(context_data(package, token_budget))
    if notice := _notice(memory, package.waiting):
        data["notice"] = notice
    return data


def record_text(memory: LocalMemory, id_: int | str) -> str:
    """One item in full, by any spelling of its id, as get_observations answers."""
    return compact_json(redact_data(full_observation(get_item(memory, id_))))


def context_text(memory: LocalMemory, project: str, query: str = "", token_budget: int = DEFAULT_BUDGET) -> str:
    """A project's context, as get_context answers."""
    return compact_json(redact_data(get_context(memory, project, token_budget, query or None).data))


TOOLS = (
    Tool.of(
        *("kiro", search, "Search memory"),
        "Full-text and semantic search over observations and summaries. Plain questions, or FTS5 operators:"
        ' AND, OR, NOT, "phrase", prefix*, column:term.',
    ),
    Tool.of(
        *("kiro", timeline_around, "Timeline around an observation"),
        "What happened before and after an observation, in all projects.",
        name="timeline",
    ),
    Tool.of(
        *("kiro", get_observations, "Observations by id"),
        "Full details of observations by their ids, in the order asked.",
    ),
    Tool.of(
        *("kiro", get_context, "Project context"),
        "What to know before working on a project: decisions and rules first, then what is recent or answers the"
        " query, last summaries and checkpoint, within a token budget.",
    ),
)


def _scope(project: str | None) -> Scope:
    if project is None or not project.strip():
        return Scope()
    if project.strip().casefold() == NO_PROJECT:
        return Scope(only_global=True)
    return Scope(project=project)


def _project_name(project: str) -> str:
    if not project.strip():
        raise InvalidInput("project is empty.", "Name a project, usually the repository's name.")
    return project.strip()


def _notice(memory: LocalMemory, waiting: int, project: str | None = None) -> str:
    """That the project is unknown, that embedding failed since the last notice, or what has no vector yet."""
    if project is not None:
        try:
            require_project(memory, project)
        except NotFound as unknown:
            return f"{unknown.message} {unknown.hint}"
    return search_notice(memory, waiting)


def _composed(
    memory: LocalMemory,
    name: str,
    query: str | None,
    token_budget: int,
    measure: Measure,
    envelope: int,
    as_of: str | None = None,
    files: Sequence[str] = (),
    limit: int | None = None,
    least: int = 0,
) -> Context:
    """What a context holds for someone who writes it as `measure` says, besides an `envelope` of so many tokens."""
    project = _scope(name).project
    at_ms = parse_as_of(as_of, memory.clock()) if as_of else None
    found = build_context(
        memory, project, query, token_budget, measure, envelope, files=files, limit=limit, least=least, at_ms=at_ms
    )
    return replace(found, project=name)
