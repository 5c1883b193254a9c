"""ECM: chunks of past sessions, what stands next to them, and how something came about.

Every reply fits `mcp_max_response` tokens as it is serialised, and says how much there was.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from commonplace.dialects.ecm_schemas import EXPLAIN, PREDICT, RECALL
from commonplace.dialects.schema import Schema
from commonplace.dialects.tool import Arguments, Param, Reply, Run, Tool, as_json, notice, redacted
from commonplace.errors import InvalidInput, NoResults
from commonplace.memory.book import Book
from commonplace.memory.chunks import Chunk, chunk_ids, recollect
from commonplace.memory.explain import explain as explained
from commonplace.memory.predict import predict as predicted
from commonplace.ranking.budget import tokens_of
from commonplace.text.summarise import cut

MAX_LIMIT, MAX_DEPTH = 100, 50
# What of a reply may go to what only stands next to the results.
_RESULTS_SHARE = 0.8
_LEAST_CONTENT = 200
# What the counts may take beyond the zeros of an empty reply.
_SLACK = 8


def recall(book: Book, arguments: Arguments) -> Reply:
    """Chunks that answer, best first, and what the graph has next to them."""
    query = _said(arguments, "query")
    found = recollect(book, query, arguments["limit"], arguments["minScore"])
    around = chunk_ids(book, {one.passage_id: one.item for one in found.around})
    graph = [
        {
            "chunkId": around[one.passage_id],
            "content": one.text,
            "relation": one.relation,
            "hops": one.hops,
        }
        for one in found.around
    ]
    room = _Room(book, {"results": [], "graphContext": []})
    room.fill("results", [_chunk(chunk) for chunk in found.chunks], _RESULTS_SHARE if graph else 1.0)
    told = len(room.data["results"])
    room.fill("graphContext", graph)
    return room.reply(told, found.total, truncated=told < len(found.chunks))


def explain(book: Book, arguments: Arguments) -> Reply:
    """The history of a topic: a summary in phases, a timeline, related topics and the chunks that say most."""
    found = explained(book, _said(arguments, "topic"), arguments["depth"])
    timeline = [{"date": one.day, "session": one.session, "event": one.event} for one in found.timeline]
    wanted = arguments["includeTimeline"]
    head: dict[str, Any] = {"summary": cut(found.summary, book.settings.mcp_max_response * 2)}
    room = _Room(book, head | ({"timeline": []} if wanted else {}) | {"relatedClusters": [], "keyChunks": []})
    room.fill("relatedClusters", list(found.topics))
    if wanted:
        room.fill("timeline", timeline, 0.6)
    room.fill("keyChunks", [_chunk(chunk) for chunk in found.chunks])
    told = len(room.data["keyChunks"])
    left_out = wanted and len(room.data["timeline"]) < len(timeline)
    return room.reply(told, len(found.chunks), truncated=told < len(found.chunks) or left_out)


def predict(book: Book, arguments: Arguments) -> Reply:
    """What came next in situations like this one."""
    found = predicted(book, _said(arguments, "context"), arguments["limit"])
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
    room = _Room(book, {"suggestions": []})
    room.fill("suggestions", entries)
    told = len(room.data["suggestions"])
    return room.reply(told, len(found), truncated=told < len(found))


class _Room:
    """A reply that is filled as long as it fits."""

    def __init__(self, book: Book, empty: dict[str, Any]) -> None:
        self.most = book.settings.mcp_max_response
        told = notice(book)
        self.data = (
            empty | {"truncated": False, "totalCount": 0, "returnedCount": 0} | ({"notice": told} if told else {})
        )
        self._used = len(as_json(redacted(self.data))) + _SLACK

    def fill(self, name: str, entries: Sequence[Any], share: float = 1.0) -> None:
        """Add entries until one does not fit; the first of results is shortened rather than left out."""
        room = int(self.most * share) * 4
        for entry in entries:
            entry = redacted(entry)
            cost = len(as_json({"": entry})) - 4
            if self._used + cost > room and not self.data[name] and isinstance(entry, dict) and "content" in entry:
                spare = len(entry["content"]) - (self._used + cost - room) * 2
                entry = entry | {"content": cut(entry["content"], max(_LEAST_CONTENT, spare))}
                cost = len(as_json({"": entry})) - 4
            if self._used + cost > room:
                return
            self._used += cost
            self.data[name].append(entry)

    def reply(self, told: int, total: int, *, truncated: bool) -> Reply:
        self.data |= {"truncated": truncated, "totalCount": total, "returnedCount": told}
        assert tokens_of(len(as_json(self.data))) <= max(self.most, _LEAST_CONTENT)
        return Reply(self.data)


def _said(arguments: Arguments, name: str) -> str:
    text: str = arguments[name]
    if not text.strip():
        raise InvalidInput(f"{name} is empty.", f"Say what the {name} is.")
    return text


def _chunk(chunk: Chunk) -> dict[str, Any]:
    return {
        "chunkId": chunk.id,
        "content": chunk.text,
        "score": round(chunk.score, 4),
        "session": chunk.session_name,
        "cluster": chunk.topic,
    }


def _tool(name: str, title: str, description: str, params: tuple[Param, ...], output: Schema, call: Run) -> Tool:
    return Tool("ecm", name, title, description, params, output, call)


TOOLS = (
    _tool(
        "recall",
        "Recall past work",
        "What earlier sessions said and did about a question, with what stands next to it.",
        (
            Param("query", str, "The search query", required=True),
            Param("limit", int, "Maximum results", default=10, least=1, most=MAX_LIMIT, strict=True),
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
            Param("depth", int, "Traversal depth", default=20, least=1, most=MAX_DEPTH, strict=True),
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
            Param("limit", int, "Maximum suggestions", default=5, least=1, most=MAX_LIMIT, strict=True),
        ),
        PREDICT,
        predict,
    ),
)
