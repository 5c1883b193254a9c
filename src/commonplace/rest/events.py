"""Events over HTTP: what happens to the memory, told as it happens, whichever process does it."""

from __future__ import annotations

import asyncio
import functools
import json
from collections.abc import AsyncIterator, Sequence

from pydantic import Field

from commonplace.errors import StoreError
from commonplace.memory.book import Book
from commonplace.memory.news import Event, news
from commonplace.rest.endpoint import Answer, Asked, House
from commonplace.rest.fields import Strict
from commonplace.text.redact import redact
from commonplace.text.times import iso

LOOK_SECONDS = 0.5
# So often a quiet stream says that it is alive: proxies close those that are silent for long.
HEARTBEAT_SECONDS = 15.0
RETRY = b"retry: 2000\n\n"
ALIVE = b": alive\n\n"


class Followed(Strict):
    """How long to listen."""

    follow: bool = Field(True, description="false: what happened since Last-Event-ID, and then the end.")


def events(book: Book, asked: Asked[Followed, None]) -> Answer:
    """Tell what happens from now on, or since the event that Last-Event-ID names."""
    after = asked.headers.get("last-event-id") or None
    first, mark = news(book, after)
    follow = asked.query.follow
    return Answer(
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
        stream=lambda: _told(book, asked.house, first, mark, behind=mark != after, follow=follow),
    )


async def _told(
    book: Book, house: House, first: Sequence[Event], mark: str, *, behind: bool, follow: bool
) -> AsyncIterator[bytes]:
    # The mark alone, so that whoever is cut off before anything happened knows where to go on.
    yield RETRY + (_lines(first) or f"id: {mark}\n\n".encode())
    quiet = 0.0
    while (follow or behind) and not house.ending():
        if not behind:
            await asyncio.sleep(LOOK_SECONDS)
            quiet += LOOK_SECONDS
        try:
            found, now = await house.workers.do(functools.partial(news, book, mark))
        except StoreError:
            # Whoever listens comes back, and goes on after the last event.
            return
        # What happened may all be of other projects, and more of ours after it.
        behind, mark = now != mark, now
        if found:
            quiet = 0.0
            yield _lines(found)
        elif quiet >= HEARTBEAT_SECONDS:
            quiet = 0.0
            yield ALIVE


def _lines(found: Sequence[Event]) -> bytes:
    return b"".join(f"id: {one.mark}\nevent: {one.what}\ndata: {_data(one)}\n\n".encode() for one in found)


def _data(one: Event) -> str:
    data = {
        "event": one.what,
        "at": iso(one.at_ms),
        "id": one.id,
        "uid": one.uid,
        "short_id": one.uid[-12:],
        "kind": one.kind,
        "type": one.type,
        "title": redact(one.title),
        "project": one.project,
    }
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))
