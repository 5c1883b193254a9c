"""memories.sh's streams: a memory that arrives in chunks."""

from __future__ import annotations

from typing import Any

from commonplace.dialects.memories_schemas import STREAM
from commonplace.dialects.memories_text import TYPES, contradicted, label, row, warning
from commonplace.dialects.tool import Arguments, Param, Reply, Run, Tool
from commonplace.memory import streams
from commonplace.memory.book import Book
from commonplace.memory.contradictions import contradictions
from commonplace.model import Stream


def start_memory_stream(book: Book, arguments: Arguments) -> Reply:
    """Open a stream, in the server's own project unless it is to be global."""
    project = None if arguments["global"] else book.settings.project or None
    stream = streams.start(book, arguments["type"], arguments["tags"] or (), project)
    return Reply(_data(stream), stream.id)


def append_memory_chunk(book: Book, arguments: Arguments) -> Reply:
    """Add to a stream."""
    stream = streams.append(book, arguments["stream_id"], arguments["chunk"])
    return Reply(_data(stream), f"{_chunks(stream)}, {stream.characters} chars")


def finalize_memory_stream(book: Book, arguments: Arguments) -> Reply:
    """Make one memory of a stream."""
    done = streams.finalize(book, arguments["stream_id"])
    item, stream = done.item, done.stream
    found = contradictions(book, item)
    verb = "Already stored" if done.duplicate else "Created"
    text = f"{verb} {label(item.type)} {item.short_id} from {_chunks(stream)} ({stream.characters} chars)"
    memory = row(item) | {"duplicate": done.duplicate, "contradicts": contradicted(found)}
    return Reply(_data(stream) | {"memory": memory}, "\n\n".join(part for part in (text, warning(found, item)) if part))


def cancel_memory_stream(book: Book, arguments: Arguments) -> Reply:
    """Drop a stream."""
    stream = streams.cancel(book, arguments["stream_id"])
    return Reply(_data(stream), f"Cancelled {stream.id}: {_chunks(stream)} dropped")


_STREAM_ID = Param("stream_id", str, "Stream id from start", required=True)


def _tool(name: str, title: str, description: str, params: tuple[Param, ...], call: Run, **more: Any) -> Tool:
    more = {"read_only": False, "idempotent": False} | more
    return Tool("memories", name, title, description, params, STREAM, call, **more)


STREAM_TOOLS = (
    _tool(
        "start_memory_stream",
        "Start a stream",
        "Start collecting a memory in chunks; returns the stream id.",
        (
            Param("type", str, "Memory type", default="note", choices=TYPES),
            Param("tags", list, "Tags", items=str),
            Param("global", bool, "Global scope instead of this project", default=False),
        ),
        start_memory_stream,
    ),
    _tool(
        "append_memory_chunk",
        "Append to a stream",
        "Append a chunk to an open stream.",
        (_STREAM_ID, Param("chunk", str, "Content chunk", required=True)),
        append_memory_chunk,
    ),
    _tool(
        "finalize_memory_stream",
        "Finalize a stream",
        "Make one memory of a stream's chunks.",
        (_STREAM_ID,),
        finalize_memory_stream,
    ),
    _tool(
        "cancel_memory_stream",
        "Cancel a stream",
        "Drop a stream and its chunks without creating a memory.",
        (_STREAM_ID,),
        cancel_memory_stream,
        destructive=True,
    ),
)


def _data(stream: Stream) -> dict[str, Any]:
    return {
        "stream_id": stream.id,
        "status": stream.status,
        "chunks": stream.chunks,
        "characters": stream.characters,
    }


def _chunks(stream: Stream) -> str:
    return f"{stream.chunks} chunk{'' if stream.chunks == 1 else 's'}"
