"""Items as Kiro Memory writes them: observations, summaries, checkpoints, and the entries of a context."""

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict, TypeVar, cast

from commonplace.dialects.records import source_fields
from commonplace.dialects.reply_schema import component
from commonplace.dialects.tool import compact_json
from commonplace.memory.candidates import is_stale
from commonplace.memory.context import Context, ContextItem
from commonplace.memory.timeline import TimelineEntry
from commonplace.model import PROPOSED, Item
from commonplace.text.dates import iso_time
from commonplace.text.project_names import base_name
from commonplace.text.redact import redact_data
from commonplace.text.sentences import shorten, truncate
from commonplace.text.tokens import estimate_tokens


class Observation(TypedDict):
    """The fifteen fields of the reference. A field that an item does not have is null."""

    id: int
    type: str
    title: str
    subtitle: str | None
    text: str | None
    narrative: str | None
    facts: str | None
    concepts: str | None
    files_read: str | None
    files_modified: str | None
    project: str
    created_at: str
    created_at_epoch: int
    is_stale: int
    discovery_tokens: int


class FullObservation(Observation):
    """A whole record, with what the other dialects know of it."""

    uid: str
    kind: str
    session_id: str | None
    tags: list[str]
    author: NotRequired[str]
    origin: NotRequired[str]
    review: NotRequired[str]
    # Only where something is damaged, so that whole items are as the reference says.
    damaged: NotRequired[list[str]]


class Summary(TypedDict):
    """What a session did, as its last words say."""

    id: int
    session_id: str
    project: str
    request: str | None
    investigated: str | None
    learned: str | None
    completed: str | None
    next_steps: str | None
    notes: str | None
    created_at: str
    created_at_epoch: int


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


class TimelineRow(TypedDict):
    """A line of a timeline: what it was and where it stands, not all that it says."""

    id: int
    type: str
    title: str
    subtitle: str | None
    narrative: str | None
    project: str
    created_at: str
    created_at_epoch: int
    position: int


class Signals(TypedDict):
    """What speaks for an entry of a context."""

    semantic: float
    fts5: float
    recency: float
    projectMatch: float


class ContextRow(TypedDict):
    """An entry of a context."""

    id: int
    title: str
    content: str
    type: str
    project: str
    created_at: str
    created_at_epoch: int
    score: float
    signals: Signals


class FoundObservation(Observation):
    """A hit: the fields of the reference, and how likely it answers, from 0 to 1. A proposal also says whose it is."""

    score: float
    author: NotRequired[str]
    origin: NotRequired[str]
    review: NotRequired[str]


class FoundSummary(Summary):
    """A hit, and how likely it answers, from 0 to 1."""

    score: float


class SearchReply(TypedDict):
    """What answers a query."""

    observations: list[FoundObservation]
    summaries: list[FoundSummary]
    notice: NotRequired[str]


class TimelineReply(TypedDict):
    """What happened around an observation."""

    timeline: list[TimelineRow]


class ObservationsReply(TypedDict):
    """Full records, and the ids that nothing answers to."""

    observations: list[FullObservation]
    missing: list[int | str]


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


_Record = TypeVar("_Record", bound=Mapping[str, Any])

NO_PROJECT = "global"
# A search result is for choosing; what is longer is had in full by its id.
LONGEST_FOUND = 4_000
LONGEST_NARRATIVE = 300


def observation(item: Item) -> Observation:
    """An item of any kind as an observation."""
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
        "created_at": iso_time(item.created_ms),
        "created_at_epoch": item.created_ms,
        "is_stale": int(is_stale(item)),
        "discovery_tokens": item.tokens,
    }


def cut_long_texts(record: _Record) -> _Record:
    """A record as a search result: long texts cut."""
    long = {name: value for name, value in record.items() if isinstance(value, str) and len(value) > LONGEST_FOUND}
    return cast(_Record, {**record, **{name: truncate(value, LONGEST_FOUND) for name, value in long.items()}})


def found_observation(item: Item, relevance: float) -> FoundObservation:
    """An item as a search result."""
    proposal = source_fields(item) if item.review == PROPOSED else {}
    found: Any = {**cut_long_texts(observation(item)), "score": round(relevance, 4), **proposal}
    return cast(FoundObservation, found)


def full_observation(item: Item) -> FullObservation:
    """An item with everything that is known of it."""
    full: Any = {
        **observation(item),
        "uid": item.uid,
        "kind": item.kind,
        "session_id": item.session,
        "tags": list(item.tags),
        **source_fields(item),
    }
    if item.damaged:
        full["damaged"] = sorted(item.damaged)
    return cast(FullObservation, full)


def summary(item: Item) -> Summary:
    return {
        "id": item.id,
        "session_id": item.session or "",
        "project": project_name(item),
        "request": _detail(item, "request") or item.title,
        "investigated": _detail(item, "investigated"),
        "learned": _detail(item, "learned"),
        "completed": _detail(item, "completed"),
        "next_steps": _detail(item, "next_steps"),
        "notes": _detail(item, "notes") or item.body or None,
        "created_at": iso_time(item.created_ms),
        "created_at_epoch": item.created_ms,
    }


def checkpoint(item: Item) -> Checkpoint:
    return {
        "id": item.id,
        "session_id": item.session or "",
        "project": project_name(item),
        "task": _detail(item, "task") or item.title,
        "progress": _detail(item, "progress") or item.body or None,
        "next_steps": _detail(item, "next_steps"),
        "open_questions": _detail(item, "open_questions"),
        "relevant_files": _detail(item, "relevant_files"),
        "created_at": iso_time(item.created_ms),
        "created_at_epoch": item.created_ms,
    }


def timeline_row(entry: TimelineEntry) -> TimelineRow:
    item = entry.item
    narrative = truncate(item.details.get("narrative", ""), LONGEST_FOUND) or shorten(item.body, LONGEST_NARRATIVE)
    return {
        "id": item.id,
        "type": item.type,
        "title": item.title,
        "subtitle": _detail(item, "subtitle") or _detail(item, "role"),
        "narrative": narrative or None,
        "project": project_name(item),
        "created_at": iso_time(item.created_ms),
        "created_at_epoch": item.created_ms,
        "position": entry.position,
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
    }


def _context_note(item: Item) -> Any:
    """A summary or a checkpoint in a context."""
    return redact_data(checkpoint(item) if item.kind == "checkpoint" else summary(item))


def project_name(item: Item) -> str:
    return base_name(item.project) if item.project else NO_PROJECT


def _fields_as_text(item: Item) -> str | None:
    """The fields of a summary or a checkpoint, in order."""
    return item.details_text() or None if item.kind in ("summary", "checkpoint") else None


def _detail(item: Item, name: str) -> str | None:
    return item.details.get(name) or None


def context_parts(entries: Sequence[ContextItem | Item]) -> ContextParts:
    """Some entries of a context as its data has them."""
    notes = [entry for entry in entries if isinstance(entry, Item)]
    return {
        "items": [context_row(entry) for entry in entries if isinstance(entry, ContextItem)],
        "summaries": [_context_note(entry) for entry in notes if entry.kind != "checkpoint"],
        "checkpoint": next((_context_note(entry) for entry in notes if entry.kind == "checkpoint"), None),
    }


class ContextRows:
    """The entries of one context as they are written, each made once: first to be counted, and then to be shown."""

    def __init__(self) -> None:
        self._made: dict[int, tuple[ContextItem, ContextRow]] = {}

    def row(self, entry: ContextItem) -> ContextRow:
        known = self._made.get(entry.item.id)
        if known is None or known[0] is not entry:
            known = self._made[entry.item.id] = entry, context_row(entry)
        return known[1]

    def tokens(self, entry: ContextItem | Item) -> int:
        """What an entry takes in the reply, with the comma that follows it, and its id among the answers."""
        if isinstance(entry, Item):
            return estimate_tokens(len(compact_json(_context_note(entry))) + 1)
        return estimate_tokens(len(compact_json(self.row(entry))) + 1 + len(f"{entry.item.id},"))


def context_data(package: Context, budget: int, rows: ContextRows | None = None) -> ContextReply:
    rows = rows or ContextRows()
    items = [rows.row(entry) for entry in package.items]
    return {
        "project": package.project or NO_PROJECT,
        "items": items,
        "summaries": [_context_note(item) for item in package.summaries],
        "checkpoint": _context_note(package.checkpoint) if package.checkpoint else None,
        "tokenBudget": budget,
        "tokensUsed": sum(estimate_tokens(len(item["content"])) for item in items),
        "truncated": package.truncated,
        "totalCount": package.total,
        "returnedCount": len(items),
        "answers": list(package.answers),
    }


# What the names of its fields alone take in an entry of a context.
LEAST_ENTRY_TOKENS = 40


def json_tokens(data: Mapping[str, Any]) -> int:
    return estimate_tokens(len(compact_json(data)))
