"""The shapes of ECM's replies, as JSON Schema."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any

from commonplace.dialects.schema import BOOLEAN, INTEGER, NUMBER, STRING, STRING_OR_NULL, Schema, array, record
from commonplace.dialects.tool import Arguments, Param, Reply, Tool, ToolFunction, compact_json, search_notice
from commonplace.errors import InvalidInput, NoResults
from commonplace.memory.chunks import Chunk, chunk_ids, recall_chunks
from commonplace.memory.explain import TimelineEvent
from commonplace.memory.explain import explain as explained
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.predict import predict as predicted
from commonplace.ranking.context import estimate_tokens
from commonplace.text.query import plain_words
from commonplace.text.redact import redact_data
from commonplace.text.sentences import excerpt
from commonplace.text.titles import truncate

_COUNTED: Schema = {"truncated": BOOLEAN, "totalCount": INTEGER, "returnedCount": INTEGER, "notice": STRING}
_CHUNK = record({"chunkId": STRING, "content": STRING, "score": NUMBER, "session": STRING, "cluster": STRING_OR_NULL})

RECALL = record(
    {
        "results": array(_CHUNK),
        "graphContext": array(
            record(
                {
                    "chunkId": STRING,
                    "content": STRING,
                    "relation": {"type": "string", "enum": ["backward", "forward"]},
                    "hops": INTEGER,
                }
            )
        ),
        **_COUNTED,
    },
    optional=("notice",),
)
EXPLAIN = record(
    {
        "summary": STRING,
        "timeline": array(record({"date": STRING, "session": STRING, "event": STRING})),
        "relatedClusters": array(STRING),
        "keyChunks": array(_CHUNK),
        **_COUNTED,
    },
    optional=("timeline", "notice"),
)
PREDICT = record(
    {
        "suggestions": array(record({"title": STRING, "relevance": NUMBER, "summary": STRING, "chunkId": STRING})),
        **_COUNTED,
    },
    optional=("notice",),
)

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

    def __init__(self, memory: LocalMemory, empty: dict[str, Any], waiting: int = 0) -> None:
        self._most = memory.settings.mcp_max_response
        told = search_notice(memory, waiting)
        counted = {"truncated": False, "totalCount": 0, "returnedCount": 0}
        self._data = empty | counted | ({"notice": told} if told else {})
        self._used = len(compact_json(redact_data(self._data))) + _SLACK
        self._short = False

    def write(self, name: str, text: str, share: float) -> None:
        """A text of its own, cut where its share ends."""
        told = self._cut(redact_data(text), self._spare(share))
        self._data[name] = told
        self._used += _cost(told)

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

        One long answer must not keep nine others from being told. No text is cut to less than LEAST.
        """
        safe = [redact_data(entry) for entry in entries]
        most = bisect_right(_LENGTHS, self._spare(share), key=lambda length: _cost_of(safe, length)) - 1
        length = _LENGTHS[max(0, most)]
        shortened = [_shortened(entry, shorten, length) for entry in safe]
        self._short = self._short or shortened != safe
        return self.fill(name, shortened, share)

    def choose(self, name: str, entries: Sequence[Any], order: Sequence[int], share: float) -> None:
        """Add entries by what is wanted most, and tell them in their own order."""
        kept = order[: self.fill(name, [entries[number] for number in order], share)]
        told = dict(zip(kept, self._data[name], strict=True))
        self._data[name] = [told[number] for number in sorted(kept)]

    def reply(self, told: int, total: int) -> Reply:
        self._data |= {"truncated": self._short or told < total, "totalCount": total, "returnedCount": told}
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
# What stands next to the results is told in so many characters where there is no room for more.
_ASIDE = 240


def recall(memory: LocalMemory, arguments: Arguments) -> Reply:
    """Chunks that answer, best first, and what the graph has next to them."""
    query = _require_text(arguments, "query")
    found = recall_chunks(memory, query, arguments["limit"], arguments["minScore"])
    around = chunk_ids(memory, {one.passage_id: one.item for one in found.around})
    graph = [
        {
            "chunkId": around[one.passage_id],
            "content": one.text,
            "relation": one.relation,
            "hops": one.hops,
        }
        for one in found.around
    ]
    room = ReplyBudget(memory, {"results": [], "graphContext": []}, found.waiting)
    sought = {word.token for word in plain_words(query)}
    results = [chunk_data(chunk) for chunk in found.chunks]
    told = room.share_out(
        "results", results, _RESULTS_SHARE if graph else 1.0, lambda text, most: excerpt(text, sought, most)
    )
    room.fill("graphContext", graph, brief=_ASIDE)
    return room.reply(told, found.total)


def explain(memory: LocalMemory, arguments: Arguments) -> Reply:
    """The history of a topic: a summary in phases, a timeline, related topics and the chunks that say most."""
    found = explained(memory, _require_text(arguments, "topic"), arguments["depth"])
    wanted = arguments["includeTimeline"]
    room = ReplyBudget(
        memory, {"summary": ""} | ({"timeline": []} if wanted else {}) | {"relatedClusters": [], "keyChunks": []}
    )
    room.write("summary", found.summary, _SUMMARY_SHARE)
    room.fill("relatedClusters", list(found.topics))
    if wanted:
        room.choose("timeline", [_event(one) for one in found.timeline], _by_weight(found.timeline), _TIMELINE_SHARE)
    told = room.fill("keyChunks", [chunk_data(chunk) for chunk in found.chunks])
    return room.reply(told, len(found.chunks))


def predict(memory: LocalMemory, arguments: Arguments) -> Reply:
    """What came next in situations like this one."""
    found = predicted(memory, _require_text(arguments, "context"), arguments["limit"])
    if not found:
        raise NoResults("No matching chunks found")
    entries = [
        {
            "title": one.title,
            "relevance": round(one.relevance, 4),
            "summary": one.summary,
            "chunkId": one.chunk.id,
        }
        for one in found
    ]
    room = ReplyBudget(memory, {"suggestions": []})
    return room.reply(room.fill("suggestions", entries), len(found))


def _require_text(arguments: Arguments, name: str) -> str:
    text: str = arguments[name]
    if not text.strip():
        raise InvalidInput(f"{name} is empty.", f"Say what the {name} is.")
    return text


def chunk_data(chunk: Chunk) -> dict[str, Any]:
    """A chunk as the reference shows it."""
    return {
        "chunkId": chunk.id,
        "content": chunk.text,
        "score": round(chunk.score, 4),
        "session": chunk.session_name,
        "cluster": chunk.topic,
    }


def _event(event: TimelineEvent) -> dict[str, Any]:
    return {"date": event.day, "session": event.session, "event": event.event}


def _by_weight(timeline: Sequence[TimelineEvent]) -> list[int]:
    """Which events to keep if there is no room for all: how it began, where it stands, and what says most."""
    middle = sorted(range(1, len(timeline) - 1), key=lambda n: -timeline[n].worth)
    return list(dict.fromkeys([len(timeline) - 1, 0, *middle]))


def _whole_number(name: str, description: str, default: int, most: int) -> Param:
    return Param(name, int, description, default=default, least=1, most=most, strict=True, json_type="integer")


def _tool(
    name: str, title: str, description: str, params: tuple[Param, ...], output: Schema, call: ToolFunction
) -> Tool:
    return Tool("ecm", name, title, description, params, output, call)


TOOLS = (
    _tool(
        "recall",
        "Recall past work",
        "What earlier sessions said and did about a question, with what stands next to it.",
        (
            Param("query", str, "The search query", required=True),
            _whole_number("limit", "Maximum results", 10, MAX_LIMIT),
            Param("minScore", float, "Minimum similarity score", default=0.5, least=0, most=1, strict=True),
        ),
        RECALL,
        recall,
    ),
    _tool(
        "explain",
        "Explain how it came about",
        "The history of a topic over all sessions: a summary in phases, a timeline, related topics.",
        (
            Param("topic", str, "The topic to explain", required=True),
            _whole_number("depth", "Traversal depth", 20, MAX_DEPTH),
            Param("includeTimeline", bool, "Include the chronological timeline", default=True),
        ),
        EXPLAIN,
        explain,
    ),
    _tool(
        "predict",
        "Suggest what may help",
        "What came next in situations like the current one, and errors met before.",
        (
            Param("context", str, "Current conversation context", required=True),
            _whole_number("limit", "Maximum suggestions", 5, MAX_LIMIT),
        ),
        PREDICT,
        predict,
    ),
)
