"""ECM's tools and replies: chunks of past sessions, what stands next to them, and how something came about.

Every reply fits `mcp_max_response` tokens as it is serialised, and says how much there was.
"""

import json
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any, NotRequired, TypedDict

from commonplace.dialects.reply_schema import Json
from commonplace.dialects.tool import Data, Param, Reply, Tool, compact_json, search_notice
from commonplace.dialects.window_project import WhichProject, scope_notice, window_scope
from commonplace.errors import InvalidInput, NoResults
from commonplace.memory.explain import TimelineEvent
from commonplace.memory.explain import explain as explained
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.predict import Prediction
from commonplace.memory.predict import predict as predicted
from commonplace.memory.recall_chunks import Chunk as RecalledChunk
from commonplace.memory.recall_chunks import RecalledChunks, chunk_ids, recall_chunks
from commonplace.model import Scope
from commonplace.text.query import plain_words
from commonplace.text.redact import redact_data
from commonplace.text.sentences import excerpt, truncate
from commonplace.text.tokens import estimate_tokens


class Chunk(TypedDict):
    """A passage of a past session."""

    chunkId: str
    content: str
    score: float
    session: str
    cluster: str | None


class LinkedChunk(TypedDict):
    """What the graph has next to a chunk."""

    chunkId: str
    content: str
    relation: Annotated[str, Json(enum=["backward", "forward"])]
    hops: int


class _Counted(TypedDict):
    truncated: bool
    totalCount: int
    returnedCount: int
    notice: NotRequired[str]


class TimelineRow(TypedDict):
    """What happened on a day."""

    date: str
    session: str
    event: str


class Suggestion(TypedDict):
    """What came next in a situation like this one."""

    title: str
    relevance: float
    summary: str
    chunkId: str


class _RecallParts(TypedDict):
    results: list[Chunk]
    graphContext: list[LinkedChunk]


class RecallReply(_RecallParts, _Counted):
    """Chunks that answer."""


class _ExplainParts(TypedDict):
    summary: str
    timeline: NotRequired[list[TimelineRow]]
    relatedClusters: list[str]
    keyChunks: list[Chunk]


class ExplainReply(_ExplainParts, _Counted):
    """The history of a topic."""


class _PredictParts(TypedDict):
    suggestions: list[Suggestion]


class PredictReply(_PredictParts, _Counted):
    """What may help."""


# What the counts may take beyond the zeros of an empty reply, and the comma between two entries.
_SLACK, _COMMA = 12, 1
_CHARACTERS = 4
_LONG = ("content", "summary")
# Characters that are left of a long text at least, and the lengths that are tried.
SHORTEST_CUT = 200
_LENGTHS = range(SHORTEST_CUT, 20_000, 20)

Shorten = Callable[[str, int], str]


class ReplyBudget:
    """The room that `mcp_max_response` gives. Texts are measured as JSON, after their secrets are taken out."""

    def __init__(self, memory: LocalMemory, empty: dict[str, Any], waiting: int = 0, *remarks: str) -> None:
        self._most = memory.settings.mcp_max_response
        notice = " ".join(one for one in (search_notice(memory, waiting), *remarks) if one)
        counted = {"truncated": False, "totalCount": 0, "returnedCount": 0}
        self._data = empty | counted | ({"notice": notice} if notice else {})
        self._used = len(compact_json(redact_data(self._data))) + _SLACK
        self._short = False

    def write(self, name: str, text: str, share: float) -> None:
        """A text of its own, cut where its share ends."""
        shown = self._cut(redact_data(text), self._spare(share))
        self._data[name] = shown
        self._used += _cost(shown)

    def fill(self, name: str, entries: Sequence[Any], share: float = 1.0, brief: int = 0) -> int:
        """Add entries in their order until one does not fit; how many did.

        Where `brief` is given, the long text of what does not fit is cut to that length; otherwise only that of the
        first entry is cut, so that there is an answer where there is one.
        """
        for number, entry in enumerate(entries):
            fitting = self._fitting(redact_data(entry), self._spare(share), brief, first=not number)
            if fitting is None:
                self._short = True
                return number
            self._used += _cost(fitting) + _COMMA
            self._data[name].append(fitting)
        return len(entries)

    def share_out(self, name: str, entries: Sequence[Any], share: float, shorten: Shorten) -> int:
        """Add as many entries as fit when the long text of each has as much room as that of any other; how many did.

        One long answer must not leave out nine others. No text is cut to less than SHORTEST_CUT.
        """
        safe = [redact_data(entry) for entry in entries]
        most = bisect_right(_LENGTHS, self._spare(share), key=lambda length: _cost_of(safe, length)) - 1
        length = _LENGTHS[max(0, most)]
        shortened = [_shortened(entry, shorten, length) for entry in safe]
        self._short = self._short or shortened != safe
        return self.fill(name, shortened, share)

    def choose(self, name: str, entries: Sequence[Any], order: Sequence[int], share: float) -> None:
        """Add the most important entries that fit, and show them in their own order."""
        chosen = order[: self.fill(name, [entries[number] for number in order], share)]
        shown = dict(zip(chosen, self._data[name], strict=True))
        self._data[name] = [shown[number] for number in sorted(chosen)]

    def reply(self, returned: int, total: int) -> Reply[Any]:
        self._data |= {"truncated": self._short or returned < total, "totalCount": total, "returnedCount": returned}
        assert estimate_tokens(len(compact_json(self._data))) <= self._most
        return Reply(self._data)

    def _spare(self, share: float) -> int:
        return int(self._most * share) * _CHARACTERS - self._used

    def _fitting(self, entry: Any, spare: int, brief: int, *, first: bool) -> Any:
        """The entry as it is, or with its long text cut; None if neither fits."""
        over = _cost(entry) + _COMMA - spare
        if over <= 0:
            return entry
        name = next((name for name in _LONG if isinstance(entry, dict) and name in entry), None)
        if name is None or not (brief or first):
            return None
        text: str = entry[name]
        shorter = entry | {name: truncate(text, brief) if brief else self._cut(text, _cost(text) - over)}
        if _cost(shorter) + _COMMA > spare:
            return None
        self._short = True
        return shorter

    def _cut(self, text: str, room: int) -> str:
        """As much of a text as takes so many characters as JSON."""
        if _cost(text) <= room:
            return text
        self._short = True
        most = bisect_right(range(len(text)), room, key=lambda length: _cost(text[:length]) + 1) - 1
        return truncate(text, max(1, most))


def _shortened(entry: Any, shorten: Shorten, length: int) -> Any:
    return entry | {name: shorten(entry[name], length) for name in _LONG if name in entry}


def _cost_of(entries: Sequence[Any], length: int) -> int:
    """What they would take, estimated without looking for the best part of each."""
    return sum(_cost(_shortened(entry, truncate, length)) + _COMMA for entry in entries)


def _cost(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


MAX_LIMIT, MAX_DEPTH = 100, 50
# How far of a reply each part may go; what it leaves is for the parts after it.
_RESULTS_SHARE, _SUMMARY_SHARE, _TIMELINE_SHARE = 0.8, 0.4, 0.7
# What stands next to the results is cut to so many characters where there is no room for more.
_ASIDE = 240


def _whole_number(description: str, most: int) -> Param:
    return Param(description, least=1, most=most, strict=True, json_type="integer")


def recall(
    memory: LocalMemory,
    query: Annotated[str, Param("The search query")],
    limit: Annotated[int, _whole_number("Maximum results", MAX_LIMIT)] = 10,
    min_score: Annotated[float, Param("Minimum similarity score", least=0, most=1, strict=True, name="minScore")] = 0.5,
) -> Reply[RecallReply]:
    """Chunks that answer, best first, and what the graph has next to them."""
    return _recall(memory, query, limit, min_score, Scope())


def recall_from_window(
    memory: LocalMemory,
    query: Annotated[str, Param("The search query")],
    limit: Annotated[int, _whole_number("Maximum results", MAX_LIMIT)] = 10,
    min_score: Annotated[float, Param("Minimum similarity score", least=0, most=1, strict=True, name="minScore")] = 0.5,
    project: WhichProject = None,
    *,
    strict: bool = False,
) -> Reply[RecallReply]:
    """The same, from the window's project if none is named."""
    scope, remark = window_scope(memory, project, strict=strict), scope_notice(memory, project, strict=strict)
    return _told(remark, lambda: _recall(memory, query, limit, min_score, scope, remark))


def _recall(
    memory: LocalMemory, query: str, limit: int, min_score: float, scope: Scope, remark: str = ""
) -> Reply[RecallReply]:
    _require_text(query, "query")
    found = recall_chunks(memory, query, limit, min_score, scope)
    graph = linked_chunks(memory, found)
    budget = ReplyBudget(memory, {"results": [], "graphContext": []}, found.waiting, found.note, remark)
    words = {word.token for word in plain_words(query)}
    results = [chunk_data(chunk) for chunk in found.chunks]
    returned = budget.share_out(
        "results", results, _RESULTS_SHARE if graph else 1.0, lambda text, most: excerpt(text, words, most)
    )
    budget.fill("graphContext", graph, brief=_ASIDE)
    return budget.reply(returned, found.total)


def explain(
    memory: LocalMemory,
    topic: Annotated[str, Param("The topic to explain")],
    depth: Annotated[int, _whole_number("Traversal depth", MAX_DEPTH)] = 20,
    include_timeline: Annotated[bool, Param("Include the chronological timeline", name="includeTimeline")] = True,
) -> Reply[ExplainReply]:
    """The history of a topic: a summary in phases, a timeline, related topics and the chunks that say most."""
    return _explain(memory, topic, depth, include_timeline, Scope())


def explain_from_window(
    memory: LocalMemory,
    topic: Annotated[str, Param("The topic to explain")],
    depth: Annotated[int, _whole_number("Traversal depth", MAX_DEPTH)] = 20,
    include_timeline: Annotated[bool, Param("Include the chronological timeline", name="includeTimeline")] = True,
    project: WhichProject = None,
    *,
    strict: bool = False,
) -> Reply[ExplainReply]:
    """The same, from the window's project if none is named."""
    scope, remark = window_scope(memory, project, strict=strict), scope_notice(memory, project, strict=strict)
    return _told(remark, lambda: _explain(memory, topic, depth, include_timeline, scope, remark))


def _explain(
    memory: LocalMemory, topic: str, depth: int, include_timeline: bool, scope: Scope, remark: str = ""
) -> Reply[ExplainReply]:
    _require_text(topic, "topic")
    found = explained(memory, topic, depth, scope)
    timeline: dict[str, Any] = {"timeline": []} if include_timeline else {}
    empty = {"summary": "", **timeline, "relatedClusters": [], "keyChunks": []}
    budget = ReplyBudget(memory, empty, 0, remark)
    budget.write("summary", found.summary, _SUMMARY_SHARE)
    budget.fill("relatedClusters", list(found.topics))
    if include_timeline:
        budget.choose("timeline", [*map(timeline_row, found.timeline)], _by_importance(found.timeline), _TIMELINE_SHARE)
    returned = budget.fill("keyChunks", [chunk_data(chunk) for chunk in found.chunks])
    return budget.reply(returned, len(found.chunks))


def predict(
    memory: LocalMemory,
    context: Annotated[str, Param("Current conversation context")],
    limit: Annotated[int, _whole_number("Maximum suggestions", MAX_LIMIT)] = 5,
) -> Reply[PredictReply]:
    """What came next in situations like this one."""
    return _predict(memory, context, limit, Scope())


def predict_from_window(
    memory: LocalMemory,
    context: Annotated[str, Param("Current conversation context")],
    limit: Annotated[int, _whole_number("Maximum suggestions", MAX_LIMIT)] = 5,
    project: WhichProject = None,
    *,
    strict: bool = False,
) -> Reply[PredictReply]:
    """The same, from the window's project if none is named."""
    scope, remark = window_scope(memory, project, strict=strict), scope_notice(memory, project, strict=strict)
    return _told(remark, lambda: _predict(memory, context, limit, scope, remark))


def _predict(memory: LocalMemory, context: str, limit: int, scope: Scope, remark: str = "") -> Reply[PredictReply]:
    _require_text(context, "context")
    found = predicted(memory, context, limit, scope)
    if not found:
        raise NoResults("No matching chunks found")
    budget = ReplyBudget(memory, {"suggestions": []}, 0, remark)
    return budget.reply(budget.fill("suggestions", [*map(suggestion, found)]), len(found))


def _told(remark: str, answer: Callable[[], Reply[Data]]) -> Reply[Data]:
    """The answer; where there is none, the error says where it was looked."""
    try:
        return answer()
    except NoResults as nothing:
        raise NoResults(nothing.message, " ".join(one for one in (nothing.hint, remark) if one)) from nothing


def chunk_data(chunk: RecalledChunk) -> Chunk:
    """A chunk as the reference shows it."""
    return {
        "chunkId": chunk.id,
        "content": chunk.text,
        "score": round(chunk.score, 4),
        "session": chunk.session_name,
        "cluster": chunk.topic,
    }


def linked_chunks(memory: LocalMemory, found: RecalledChunks) -> list[LinkedChunk]:
    """What the graph has next to the chunks that were found."""
    ids = chunk_ids(memory, {one.passage_id: one.item for one in found.around})
    return [
        {"chunkId": ids[one.passage_id], "content": one.text, "relation": one.relation, "hops": one.hops}
        for one in found.around
    ]


def timeline_row(one: TimelineEvent) -> TimelineRow:
    return {"date": one.day, "session": one.session, "event": one.event}


def suggestion(one: Prediction) -> Suggestion:
    """What came next, and how likely it helps."""
    relevance = round(one.relevance, 4)
    return {"title": one.title, "relevance": relevance, "summary": one.summary, "chunkId": one.chunk.id}


def _require_text(text: str, name: str) -> None:
    if not text.strip():
        raise InvalidInput(f"{name} is empty.", f"Say what the {name} is.")


def _by_importance(timeline: Sequence[TimelineEvent]) -> list[int]:
    """Which events to show if there is no room for all: how it began, where it stands, and what says most."""
    middle = sorted(range(1, len(timeline) - 1), key=lambda n: -timeline[n].worth)
    return list(dict.fromkeys([len(timeline) - 1, 0, *middle]))


_RECALLING = "What earlier sessions said and did about a question, with what was said around it."
_EXPLAINING = "The history of a topic over all sessions: a summary in phases, a timeline, related topics."
_PREDICTING = "What came next in situations like the current one, and errors met before."
_tool = partial(Tool.of, dialect="ecm")
_recall_tool = partial(_tool, verb="recall", title="Recall past work", description=_RECALLING)
_explain_tool = partial(_tool, verb="explain", title="Explain how it came about", description=_EXPLAINING)
_predict_tool = partial(_tool, verb="predict", title="Suggest what may help", description=_PREDICTING)
TOOLS = (_recall_tool(recall), _explain_tool(explain), _predict_tool(predict))
WINDOW_TOOLS = (
    _recall_tool(recall_from_window, name="recall"),
    _explain_tool(explain_from_window, name="explain"),
    _predict_tool(predict_from_window, name="predict"),
)
