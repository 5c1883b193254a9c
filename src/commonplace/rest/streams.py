"""Streams over HTTP: a memory that arrives in chunks."""

from __future__ import annotations

from typing import Annotated, TypedDict

from pydantic import Field

from commonplace.dialects.records import StreamRecord, stream_record
from commonplace.dialects.reply_schema import component
from commonplace.errors import Conflict, InvalidInput
from commonplace.memory import streams
from commonplace.memory.local_memory import LocalMemory
from commonplace.rest import fields
from commonplace.rest.endpoint import Answer, ApiRequest
from commonplace.rest.fields import Strict
from commonplace.rest.items import CreatedItem, created_item


class NewStream(Strict):
    """What the memory will be."""

    type: fields.Type = "note"
    tags: fields.Tags | None = None
    project: fields.ProjectName | None = None


class Chunk(Strict):
    """The next piece of its text."""

    chunk: Annotated[str, Field(min_length=1, max_length=streams.MAX_CHUNK)]


@component("Streams")
class StreamList(TypedDict):
    """Streams that can be continued."""

    streams: list[StreamRecord]


@component("Finalized")
class FinalizedStream(StreamRecord):
    """A stream, and the item that was made of it."""

    item: CreatedItem


def list_streams(memory: LocalMemory, _request: ApiRequest[None, None]) -> Answer[StreamList]:
    """Streams that can be continued, oldest first."""
    return Answer({"streams": [stream_record(stream) for stream in streams.open_streams(memory)]})


def start_stream(memory: LocalMemory, request: ApiRequest[None, NewStream]) -> Answer[StreamRecord]:
    """Open a stream."""
    wanted = request.body
    return Answer(
        stream_record(streams.start_stream(memory, wanted.type, wanted.tags or (), wanted.project)), status=201
    )


def append_chunk(memory: LocalMemory, request: ApiRequest[None, Chunk]) -> Answer[StreamRecord]:
    """Add a chunk."""
    return Answer(stream_record(streams.append_to_stream(memory, request.path["id"], request.body.chunk)))


def finalize_stream(memory: LocalMemory, request: ApiRequest[None, None]) -> Answer[FinalizedStream]:
    """Make one memory of the chunks."""
    try:
        stream, remembered = streams.finalize_stream(memory, request.path["id"])
    except InvalidInput as error:
        # The request is sound; it is the stream that holds nothing yet.
        raise Conflict(error.message, error.hint) from error
    return Answer({**stream_record(stream), "item": created_item(remembered)})


def cancel_stream(memory: LocalMemory, request: ApiRequest[None, None]) -> Answer[StreamRecord]:
    """Drop a stream and its chunks."""
    return Answer(stream_record(streams.cancel_stream(memory, request.path["id"])))
