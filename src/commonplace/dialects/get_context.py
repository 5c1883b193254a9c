"""The tool `get_context`: Kiro Memory's context of a project as JSON, and which of two references answers a call.

Kiro's has decisions and rules, and what is recent or answers a query, within a token budget. memories.sh has a tool of
that name too, which answers in Markdown (memories.py). Where both are offered, one tool stands for both: a call that
either reference knows is answered exactly as there. Of any other mix of arguments, `project` or `token_budget` asks for
Kiro's JSON, everything else for memories.sh's Markdown.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, NotRequired, TypedDict

from commonplace.dialects import memories
from commonplace.dialects.kiro import Summary, detail, notice_of, project_name, summary
from commonplace.dialects.reply_schema import component
from commonplace.dialects.tool import LONGEST_NOTICE, Param, Reply, Tool, compact_json, missing_vectors_notice
from commonplace.dialects.window_project import NO_PROJECT, named_scope, unknown_notice
from commonplace.errors import InvalidInput
from commonplace.memory.context import Context, ContextItem, Measure, build_context
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.told_to_agents import source_of
from commonplace.model import Item
from commonplace.text.dates import iso_time
from commonplace.text.redact import redact, redact_data
from commonplace.text.sentences import shorten
from commonplace.text.tokens import estimate_tokens
from commonplace.text.validity import parse_as_of

DEFAULT_BUDGET, MAX_BUDGET = 2000, 200_000
# What the counts of a context may take beyond the zeros of an empty one.
_DIGITS = 6
_NOTICE_TOKENS = estimate_tokens(LONGEST_NOTICE + len(',"notice":""'))
_INCOMPLETE_TOKENS = estimate_tokens(len(missing_vectors_notice(99_999)) + len(',"notice":""'))
# What an entry of a context takes besides its texts: the names of its fields, a date and a few numbers.
LEAST_ENTRY_TOKENS = 48


class Checkpoint(TypedDict, total=False):
    """Where a task stands."""

    id: int
    session_id: str
    project: str
    task: str | None
    progress: str | None
    next_steps: str | None
    open_questions: str | None
    relevant_files: str | None
    created_at: str
    created_at_epoch: int
    source: str


class Signals(TypedDict):
    """What speaks for an entry of a context."""

    semantic: float
    fts5: float
    recency: float
    projectMatch: float


class ContextRow(TypedDict):
    """An entry of a context; `source` says whose it is, if the reader has not stated or accepted it."""

    id: int
    title: str
    content: str
    type: str
    project: str
    created_at: str
    created_at_epoch: int
    score: float
    signals: Signals
    source: NotRequired[str]


class ContextParts(TypedDict):
    items: list[ContextRow]
    summaries: list[Summary]
    checkpoint: Checkpoint | None


@component("Context")
class ContextReply(TypedDict):
    """What to know before working on a project."""

    project: str
    items: list[ContextRow]
    summaries: list[Summary]
    checkpoint: Checkpoint | None
    tokenBudget: int
    tokensUsed: int
    truncated: bool
    totalCount: int
    returnedCount: int
    answers: list[int]
    notice: NotRequired[str]


def get_context(
    memory: LocalMemory,
    project: Annotated[str, Param("Project name, usually the git repository's")],
    token_budget: Annotated[int, Param("Most tokens to return", least=1, most=MAX_BUDGET)] = DEFAULT_BUDGET,
    query: Annotated[str | None, Param("What you are working on, to rank by relevance")] = None,
    files: Sequence[str] | None = None,
    limit: int | None = None,
    as_of: Annotated[str | None, Param("What was believed then", listed=False)] = None,
    *,
    elsewhere: bool = False,
    names_unknown: bool = False,
) -> Reply[ContextReply]:
    """A context package that fits the budget as it is written here. `files` and `limit` are as in memories.sh.

    With `elsewhere`, what answers the query in other projects comes last; with `names_unknown` it says that there is no
    such project.
    """
    name = _project_name(project)
    nothing = context_data(memory, Context(name, (), (), None, 0, truncated=False), token_budget)
    envelope = json_tokens(nothing) + _DIGITS + (_INCOMPLETE_TOKENS if query else 0)
    unknown = shorten(unknown_notice(memory, name), LONGEST_NOTICE) if names_unknown else ""
    if unknown and token_budget >= envelope + _NOTICE_TOKENS:
        envelope += _NOTICE_TOKENS
    rows = ContextRows(memory)
    package = _composed(
        memory,
        name,
        query,
        token_budget,
        measure=rows.tokens,
        envelope=envelope,
        as_of=as_of,
        files=files or (),
        limit=limit,
        least=LEAST_ENTRY_TOKENS,
        elsewhere=elsewhere,
    )
    data = context_data(memory, package, token_budget, rows)
    room = token_budget - json_tokens(data)
    if room >= _NOTICE_TOKENS and (notice := unknown or notice_of(memory, package.waiting)):
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
        return estimate_tokens(characters(context_parts(memory, [entry])))

    name = _project_name(project)
    envelope = estimate_tokens(characters({"project": name, **context_parts(memory, [])}))
    package = _composed(memory, name, query, token_budget, measure=measure, envelope=envelope, as_of=as_of)
    data: ContextReply = redact_data(context_data(memory, package, token_budget))
    if notice := notice_of(memory, package.waiting):
        data["notice"] = notice
    return data


def context_text(memory: LocalMemory, project: str, query: str = "", token_budget: int = DEFAULT_BUDGET) -> str:
    """A project's context, as get_context answers."""
    return compact_json(redact_data(get_context(memory, project, token_budget, query or None).data))


PROJECT_CONTEXT = Tool.of(
    get_context,
    dialect="kiro",
    verb="context",
    title="Project context",
    description="What to know before working on a project: decisions and rules first, then what is recent or answers"
    " the query, last summaries and checkpoint, within a token budget.",
)
# In the profile of its own, which promises to score other projects lower, and so to show them.
TOOLS = (replace(PROJECT_CONTEXT, call=partial(get_context, elsewhere=True)),)


_MEMORIES = next(tool for tool in memories.TOOLS if tool.name == "get_context")
_KIRO_NAMES = {param.name for param in PROJECT_CONTEXT.params}
_MEMORIES_NAMES = {param.name for param in _MEMORIES.params}


def merged_get_context(memory: LocalMemory, **arguments: Any) -> Reply[Any]:
    """The answer to a mix of arguments. A blank text or an empty list among them counts as omitted."""
    named = {name: value for name, value in arguments.items() if value is not None}
    given = {name: value for name, value in named.items() if not _is_blank(value)}
    if "project" in given or "token_budget" in given:
        project = given.get("project") or given.get("project_id") or memory.settings.project or NO_PROJECT
        budget = given.get("token_budget", DEFAULT_BUDGET)
        more: dict[str, Any] = {name: given.get(name) for name in ("query", "files", "limit", "as_of")}
        return get_context(memory, project, budget, **more, names_unknown=True)
    if "project" in named and named.keys() <= _KIRO_NAMES:
        # Kiro's own call, with a project that names none.
        return get_context(memory, **PROJECT_CONTEXT.checked(named), names_unknown=True)
    checked = _MEMORIES.checked({name: given[name] for name in given.keys() & _MEMORIES_NAMES})
    return memories.get_context(memory, **checked, names_unknown=True)


def _is_blank(value: object) -> bool:
    return (isinstance(value, str) and not value.strip()) or value == []


def merged_context_tool() -> Tool:
    """Both tools as one, with the arguments of both, all of them optional."""
    params = [replace(param, required=False, default=None) for param in PROJECT_CONTEXT.params]
    params += [replace(param, default=None) for param in _MEMORIES.params if param.name not in _KIRO_NAMES]
    shapes: list[Any] = [tool.output["properties"] for tool in (_MEMORIES, PROJECT_CONTEXT)]
    return replace(
        PROJECT_CONTEXT,
        title="Context for a task",
        description="What to know before a task. With project or token_budget: decisions, rules, recent or relevant"
        " observations, summaries and checkpoint as JSON within token_budget. Otherwise: rules, and the memories"
        " relevant to query, as Markdown.",
        params=tuple(params),
        output={"type": "object", "properties": shapes[0] | shapes[1]},
        call=merged_get_context,
        ignored=_MEMORIES.ignored,
    )


def _project_name(project: str) -> str:
    if not project.strip():
        raise InvalidInput("project is empty.", "Name a project, usually the repository's name.")
    return project.strip()


def _composed(
    memory: LocalMemory,
    name: str,
    query: str | None,
    token_budget: int,
    *,
    measure: Measure,
    envelope: int,
    as_of: str | None = None,
    files: Sequence[str] = (),
    limit: int | None = None,
    least: int = 0,
    elsewhere: bool = False,
) -> Context:
    """What a context holds for someone who writes it as `measure` says, besides an `envelope` of so many tokens."""
    project = named_scope(name).project
    at_ms = parse_as_of(as_of, memory.clock()) if as_of else None
    found = build_context(
        memory,
        project,
        query,
        token_budget,
        measure,
        envelope,
        files=files,
        limit=limit,
        least=least,
        at_ms=at_ms,
        elsewhere=elsewhere,
    )
    return replace(found, project=name)


def checkpoint(item: Item) -> Checkpoint:
    return {
        "id": item.id,
        "session_id": item.session or "",
        "project": project_name(item),
        "task": detail(item, "task") or item.title,
        "progress": detail(item, "progress") or item.body or None,
        "next_steps": detail(item, "next_steps"),
        "open_questions": detail(item, "open_questions"),
        "relevant_files": detail(item, "relevant_files"),
        "created_at": iso_time(item.created_ms),
        "created_at_epoch": item.created_ms,
    }


def context_row(entry: ContextItem) -> ContextRow:
    """An entry of a context, without secrets: its length is counted before the reply is cleaned as a whole."""
    item, signals = entry.item, entry.signals
    title, content, type_ = redact_data([item.title, entry.content, item.type])
    return {
        "id": item.id,
        "title": title,
        "content": content,
        "type": type_,
        "project": project_name(item),
        "created_at": iso_time(item.created_ms),
        "created_at_epoch": item.created_ms,
        "score": round(entry.score, 4),
        "signals": {
            "semantic": round(signals.semantic, 4),
            "fts5": round(signals.fts5, 4),
            "recency": round(signals.recency, 4),
            "projectMatch": signals.project_match,
        },
        **({"source": redact(entry.source)} if entry.source else {}),  # type: ignore[typeddict-item]
    }


def _context_note(memory: LocalMemory, item: Item) -> Any:
    """A summary or a checkpoint in a context, with whose it is."""
    source = source_of(memory, item)
    record: Any = checkpoint(item) if item.kind == "checkpoint" else summary(item)
    return redact_data({**record, **({"source": source} if source else {})})


def context_parts(memory: LocalMemory, entries: Sequence[ContextItem | Item]) -> ContextParts:
    """Some entries of a context as its data has them."""
    notes = [entry for entry in entries if isinstance(entry, Item)]
    return {
        "items": [context_row(entry) for entry in entries if isinstance(entry, ContextItem)],
        "summaries": [_context_note(memory, entry) for entry in notes if entry.kind != "checkpoint"],
        "checkpoint": next((_context_note(memory, entry) for entry in notes if entry.kind == "checkpoint"), None),
    }


class ContextRows:
    """The entries of one context as they are written, each made once: first to be counted, and then to be shown."""

    def __init__(self, memory: LocalMemory) -> None:
        self._memory = memory
        self._made: dict[int, tuple[ContextItem, ContextRow]] = {}

    def row(self, entry: ContextItem) -> ContextRow:
        known = self._made.get(entry.item.id)
        if known is None or known[0] is not entry:
            known = self._made[entry.item.id] = entry, context_row(entry)
        return known[1]

    def tokens(self, entry: ContextItem | Item) -> int:
        """What an entry takes in the reply, with the comma that follows it, and its id among the answers."""
        if isinstance(entry, Item):
            return estimate_tokens(len(compact_json(_context_note(self._memory, entry))) + 1)
        return estimate_tokens(len(compact_json(self.row(entry))) + 1 + len(f"{entry.item.id},"))


def context_data(memory: LocalMemory, package: Context, budget: int, rows: ContextRows | None = None) -> ContextReply:
    rows = rows or ContextRows(memory)
    items = [rows.row(entry) for entry in package.items]
    return {
        "project": package.project or NO_PROJECT,
        "items": items,
        "summaries": [_context_note(memory, item) for item in package.summaries],
        "checkpoint": _context_note(memory, package.checkpoint) if package.checkpoint else None,
        "tokenBudget": budget,
        "tokensUsed": sum(estimate_tokens(len(item["content"])) for item in items),
        "truncated": package.truncated,
        "totalCount": package.total,
        "returnedCount": len(items),
        "answers": list(package.answers),
    }


def json_tokens(data: Mapping[str, Any]) -> int:
    return estimate_tokens(len(compact_json(data)))
