"""ECM: chunks of past sessions, what stands next to them, and how something came about.

Every reply fits `mcp_max_response` tokens as it is serialised, and says how much there was.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from commonplace.dialects.ecm_room import Room
from commonplace.dialects.ecm_schemas import EXPLAIN, PREDICT, RECALL
from commonplace.dialects.schema import Schema
from commonplace.dialects.tool import Arguments, Param, Reply, Run, Tool
from commonplace.errors import InvalidInput, NoResults
from commonplace.memory.book import Book
from commonplace.memory.chunks import Chunk, chunk_ids, recollect
from commonplace.memory.explain import Event
from commonplace.memory.explain import explain as explained
from commonplace.memory.predict import predict as predicted
from commonplace.text.excerpt import excerpt
from commonplace.text.query import plain_words

MAX_LIMIT, MAX_DEPTH = 100, 50
# How far of a reply each part may go; what it leaves is for the parts after it.
_RESULTS_SHARE, _SUMMARY_SHARE, _TIMELINE_SHARE = 0.8, 0.4, 0.7
# What stands next to the results is told in so many characters where there is no room for more.
_ASIDE = 240


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
    room = Room(book, {"results": [], "graphContext": []}, found.waiting)
    sought = {word.token for word in plain_words(query)}
    results = [chunk_data(chunk) for chunk in found.chunks]
    told = room.share_out(
        "results", results, _RESULTS_SHARE if graph else 1.0, lambda text, most: excerpt(text, sought, most)
    )
    room.fill("graphContext", graph, brief=_ASIDE)
    return room.reply(told, found.total)


def explain(book: Book, arguments: Arguments) -> Reply:
    """The history of a topic: a summary in phases, a timeline, related topics and the chunks that say most."""
    found = explained(book, _said(arguments, "topic"), arguments["depth"])
    wanted = arguments["includeTimeline"]
    room = Room(book, {"summary": ""} | ({"timeline": []} if wanted else {}) | {"relatedClusters": [], "keyChunks": []})
    room.write("summary", found.summary, _SUMMARY_SHARE)
    room.fill("relatedClusters", list(found.topics))
    if wanted:
        room.choose("timeline", [_event(one) for one in found.timeline], _by_weight(found.timeline), _TIMELINE_SHARE)
    told = room.fill("keyChunks", [chunk_data(chunk) for chunk in found.chunks])
    return room.reply(told, len(found.chunks))


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
    room = Room(book, {"suggestions": []})
    return room.reply(room.fill("suggestions", entries), len(found))


def _said(arguments: Arguments, name: str) -> str:
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


def _event(event: Event) -> dict[str, Any]:
    return {"date": event.day, "session": event.session, "event": event.event}


def _by_weight(timeline: Sequence[Event]) -> list[int]:
    """Which events to keep if there is no room for all: how it began, where it stands, and what says most."""
    middle = sorted(range(1, len(timeline) - 1), key=lambda n: -timeline[n].worth)
    return list(dict.fromkeys([len(timeline) - 1, 0, *middle]))


def _whole(name: str, description: str, default: int, most: int) -> Param:
    return Param(name, int, description, default=default, least=1, most=most, strict=True, json_type="integer")


def _tool(name: str, title: str, description: str, params: tuple[Param, ...], output: Schema, call: Run) -> Tool:
    return Tool("ecm", name, title, description, params, output, call)


TOOLS = (
    _tool(
        "recall",
        "Recall past work",
        "What earlier sessions said and did about a question, with what stands next to it.",
        (
            Param("query", str, "The search query", required=True),
            _whole("limit", "Maximum results", 10, MAX_LIMIT),
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
            _whole("depth", "Traversal depth", 20, MAX_DEPTH),
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
            _whole("limit", "Maximum suggestions", 5, MAX_LIMIT),
        ),
        PREDICT,
        predict,
    ),
)
