"""Streams: collect a memory chunk by chunk, from any process, then store it as one item or drop it."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import replace

from commonplace.errors import Conflict, Forbidden, InvalidInput, NotFound, TooLarge
from commonplace.memory.authors import sign
from commonplace.memory.contradictions import find_contradictions
from commonplace.memory.edit_and_forget import enrich_item
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.permissions import check_reserved
from commonplace.memory.proposed_changes import is_only_proposed
from commonplace.memory.remember import MAX_TEXT, UNSTORABLE, NewItem, Remembered, make_draft, written_item
from commonplace.model import Draft, Stream
from commonplace.text.dates import HOUR_MS
from commonplace.text.redact import chunk_without_private, joined_chunks, redact, redact_joined

MAX_CHUNK = 200_000
MAX_CHUNKS = 10_000
MAX_OPEN = 100
IDLE_HOURS = 24
_IDLE_MS = IDLE_HOURS * HOUR_MS


def start_stream(
    memory: LocalMemory, type_: str = "note", tags: Sequence[str] = (), project: str | None = None
) -> Stream:
    """Open a stream. Those that nobody touched for a day make room."""
    check_reserved(memory, tags)
    now = memory.clock()
    draft = make_draft(NewItem("x", type=type_, tags=tags, project=project), now)
    stream = Stream(_new_id(memory), draft.type, draft.tags, draft.project, "open", now, now)
    if not memory.store.start_stream(stream, MAX_OPEN, now - _IDLE_MS):
        raise Conflict(f"{MAX_OPEN} streams are open, which is the limit.", "Finalize or cancel some of them.")
    return stream


def append_to_stream(memory: LocalMemory, stream_id: str, chunk: str) -> Stream:
    """Add a chunk; the reply counts what the stream holds now. Only who began a stream adds to it and finalizes it."""
    if not chunk:
        raise InvalidInput("The chunk is empty.", "Send some text.")
    if len(chunk) > MAX_CHUNK:
        raise TooLarge(f"The chunk has {len(chunk)} characters, more than {MAX_CHUNK}.", "Send it in smaller chunks.")
    now = memory.clock()

    def check(stream: Stream | None) -> Stream:
        found = _own(memory, _open(stream, stream_id, now))
        if found.chunks >= MAX_CHUNKS:
            raise TooLarge(f"{stream_id} has {found.chunks} chunks, which is the limit.", "Finalize it.")
        if found.characters + len(chunk) > MAX_TEXT:
            raise TooLarge(
                f"{stream_id} would have more than {MAX_TEXT} characters.", "Finalize it, and start another."
            )
        return found

    storable = UNSTORABLE.sub("\ufffd", chunk)
    return memory.store.append_stream(
        stream_id, lambda before: redact(chunk_without_private(before, storable)), check, now
    )


def finalize_stream(memory: LocalMemory, stream_id: str) -> tuple[Stream, Remembered]:
    """Make one memory of the chunks, in one transaction. A stream can be finalised once."""
    now = memory.clock()

    def draft(stream: Stream, text: str) -> Draft:
        text = joined_chunks(text)
        if not text.strip():
            raise InvalidInput(f"{stream_id} has no text.", "Append chunks to it, or cancel it.")
        whole = redact_joined(text) if stream.chunks > 1 else text
        note = NewItem(whole, type=stream.type, tags=stream.tags, project=stream.project)
        return sign(memory, make_draft(note, now))

    def check(stream: Stream | None) -> Stream:
        return _own(memory, _open(stream, stream_id, now))

    stream, stored = memory.store.finalize_stream(stream_id, draft, check, now)
    memory.embeddings.wake()
    item = written_item(memory, stored)
    if stored.duplicate and item.forgotten_ms is None:
        enriched = enrich_item(memory, item, stream.tags)
        item = item if is_only_proposed(enriched) else enriched
    remembered = Remembered(item, stored.duplicate, tuple(find_contradictions(memory, item)))
    return replace(stream, status="finalized"), remembered


def cancel_stream(memory: LocalMemory, stream_id: str) -> Stream:
    """Drop a stream and all its chunks."""
    now = memory.clock()
    stream = memory.store.cancel_stream(stream_id, lambda s: _open(s, stream_id, now, idle_too=True), now)
    return replace(stream, status="cancelled")


def open_streams(memory: LocalMemory) -> list[Stream]:
    """Streams that can still be continued, oldest first."""
    return memory.store.streams(memory.clock() - _IDLE_MS)


def _new_id(memory: LocalMemory) -> str:
    """An id that ends in a digest of whoever begins the stream: what others say does not become theirs."""
    return f"stream_{secrets.token_hex(8)}{_writer_digest(memory)}"


def _writer_digest(memory: LocalMemory) -> str:
    written = f"{memory.writer.origin} {memory.writer.name}"
    return hashlib.sha256(written.encode("utf-8", "replace")).hexdigest()[:12]


def _own(memory: LocalMemory, stream: Stream) -> Stream:
    if not stream.id.endswith(_writer_digest(memory)):
        raise Forbidden(
            f"{stream.id} was begun by somebody else, or by an agent of theirs.", "Start a stream of your own."
        )
    return stream


def _open(stream: Stream | None, stream_id: str, now_ms: int, *, idle_too: bool = False) -> Stream:
    if stream is None:
        raise NotFound(f"There is no stream {stream_id[:60]!r}.", "start_memory_stream opens one.")
    if stream.status != "open":
        raise Conflict(f"{stream_id} is {stream.status} already.", "Start another stream.")
    if _is_idle(stream, now_ms) and not idle_too:
        raise Conflict(
            f"{stream_id} was idle for more than {IDLE_HOURS} hours and has expired.", "Start another stream."
        )
    return stream


def _is_idle(stream: Stream, now_ms: int) -> bool:
    return now_ms - stream.touched_ms > _IDLE_MS
