"""Events over HTTP: what happens to the memory, sent as it happens, whichever process does it.

A stream ends with the key or the visit that opened it. Before events are sent the key is looked up again, after they
were read: what happened after it was revoked is not sent.
"""

from __future__ import annotations

import asyncio
import functools
import json
from collections.abc import AsyncIterator, Callable, Sequence

from pydantic import Field

from commonplace.errors import CommonplaceError
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.timeline import Event, events_since
from commonplace.rest.endpoint import RECHECK_SECONDS, Answer, ApiRequest
from commonplace.rest.fields import Strict
from commonplace.text.dates import iso_time
from commonplace.text.redact import redact

LOOK_SECONDS = 0.5
# So often a quiet stream says that it is alive: proxies close those that are silent for long.
HEARTBEAT_SECONDS = 15.0
RETRY = b"retry: 2000\n\n"
ALIVE = b": alive\n\n"


class Followed(Strict):
    """How long to listen."""

    follow: bool = Field(True, description="false: what happened since Last-Event-ID, and then the end.")


def events(memory: LocalMemory, request: ApiRequest[Followed, None]) -> Answer[None]:
    """Tell what happens from now on, or since the event that Last-Event-ID names."""
    after = request.headers.get("last-event-id") or None
    first, mark = events_since(memory, after)
    request.recheck()
    return Answer(
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
        stream=lambda: _event_stream(memory, request, first, mark, behind=mark != after),
    )


async def _event_stream(
    memory: LocalMemory, request: ApiRequest[Followed, None], first: Sequence[Event], mark: str, *, behind: bool
) -> AsyncIterator[bytes]:
    server = request.server
    # The mark alone, so that whoever is cut off before anything happened knows where to go on.
    yield RETRY + (_lines(first) or f"id: {mark}\n\n".encode())
    quiet = unchecked = 0.0
    while (request.query.follow or behind) and not server.ending():
        if not behind:
            await asyncio.sleep(LOOK_SECONDS)
            quiet += LOOK_SECONDS
            unchecked += LOOK_SECONDS
        check = unchecked >= RECHECK_SECONDS
        try:
            found, now = await server.workers.do(
                functools.partial(_news, memory, mark, request.recheck, check), request.caller
            )
        except CommonplaceError:
            # Whoever listens comes back, and goes on after the last event if the key still works.
            return
        if check:
            unchecked = 0.0
        # What happened may all be of other projects, and more of ours after it.
        behind, mark = now != mark, now
        if found:
            quiet = 0.0
            yield _lines(found)
        elif quiet >= HEARTBEAT_SECONDS:
            quiet = 0.0
            yield ALIVE


def _news(memory: LocalMemory, mark: str, recheck: Callable[[], None], check: bool) -> tuple[Sequence[Event], str]:
    """What happened after a mark. Unauthorized if the key works no more, before anything is sent."""
    found, now = events_since(memory, mark)
    if found or check:
        recheck()
    return found, now


def _lines(found: Sequence[Event]) -> bytes:
    return b"".join(f"id: {one.mark}\nevent: {one.what}\ndata: {_data(one)}\n\n".encode() for one in found)


def _data(one: Event) -> str:
    data = {
        "event": one.what,
        "at": iso_time(one.at_ms),
        "id": one.id,
        "uid": one.uid,
        "short_id": one.uid[-12:],
        "kind": one.kind,
        "type": one.type,
        "title": redact(one.title),
        "project": one.project,
    }
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))
