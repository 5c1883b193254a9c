"""Streams over HTTP: a memory that arrives in chunks."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from commonplace.dialects.records import stream_record
from commonplace.errors import Conflict, InvalidInput
from commonplace.memory import streams
from commonplace.memory.book import Book
from commonplace.rest import fields
from commonplace.rest.endpoint import Answer, Asked
from commonplace.rest.fields import Strict
from commonplace.rest.items import created


class NewStream(Strict):
    """What the memory will be."""

    type: fields.Type = "note"
    tags: fields.Tags | None = None
    project: fields.Place | None = None


class Chunk(Strict):
    """The next piece of its text."""

    chunk: Annotated[str, Field(min_length=1, max_length=streams.MAX_CHUNK)]


def listing(book: Book, _asked: Asked[None, None]) -> Answer:
    """Streams that can be continued, oldest first."""
    return Answer({"streams": [stream_record(stream) for stream in streams.open_streams(book)]})


def start(book: Book, asked: Asked[None, NewStream]) -> Answer:
    """Open a stream."""
    wanted = asked.body
    return Answer(stream_record(streams.start(book, wanted.type, wanted.tags or (), wanted.project)), status=201)


def append(book: Book, asked: Asked[None, Chunk]) -> Answer:
    """Add a chunk."""
    return Answer(stream_record(streams.append(book, asked.path["id"], asked.body.chunk)))


def finalize(book: Book, asked: Asked[None, None]) -> Answer:
    """Make one memory of the chunks."""
    try:
        done = streams.finalize(book, asked.path["id"])
    except InvalidInput as error:
        # The request is sound; it is the stream that holds nothing yet.
        raise Conflict(error.message, error.hint) from error
    return Answer({**stream_record(done.stream), "item": created(book, done.item, duplicate=done.duplicate)})


def cancel(book: Book, asked: Asked[None, None]) -> Answer:
    """Drop a stream and its chunks."""
    return Answer(stream_record(streams.cancel(book, asked.path["id"])))
