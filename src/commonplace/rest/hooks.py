"""What hooks on other machines ask a server: to store their events, and what a session there should know."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypedDict

from pydantic import Field

from commonplace.capture.hooks.hint_answers import event_hints
from commonplace.capture.hooks.send_events import (
    LONGEST_TEXT,
    MAX_EVENTS,
    EventKind,
    HintMoment,
    sent_event,
    store_sent_events,
)
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.session_context import session_context
from commonplace.rest import fields
from commonplace.rest.endpoint import Answer, ApiRequest
from commonplace.rest.fields import Strict

MAX_TOKENS, MAX_SHOWN = 50_000, 2_000
_Path = Annotated[str, Field(max_length=1024)]
_Name = Annotated[str, Field(max_length=200)]


class EventFolder(Strict):
    """What the other machine knows about the folder of an event."""

    path: _Path = ""
    project: fields.ProjectName | None = None
    root: _Path = ""


class HookEvent(Strict):
    """An event of a session, as the hook of any editor tells it."""

    host: Annotated[str, Field(pattern="^[a-z][a-z0-9-]*$", max_length=40)]
    kind: EventKind
    id: Annotated[str, Field(min_length=8, max_length=200, description="The same again is the same event.")]
    session: fields.SessionKey
    at_ms: fields.EpochMs
    cwd: _Path = ""
    text: Annotated[str, Field(max_length=2 * LONGEST_TEXT)] = ""
    tool: _Name = ""
    input: dict[str, Any] = Field(default_factory=dict, description="What the tool was given.")
    output: Any = Field(default=None, description="What the tool answered.")
    failed: bool = False
    succeeded: bool = False
    partial: bool = False
    reason: _Name = ""
    agent: _Name = ""
    folder: EventFolder = EventFolder()


class HintRequest(Strict):
    """A prompt, or a tool that is about to be used or has been, and what its session has seen."""

    moment: HintMoment
    event: HookEvent
    shown: Annotated[list[_Name], Field(max_length=MAX_SHOWN, fail_fast=True)] = Field(
        default_factory=list, description="Ids of what the session was shown before."
    )
    recall: Literal["full", "rules"] = "full"


class HintAnswer(TypedDict):
    """The text to show, empty if nothing is relevant; of each memory in it the ids, and words that tell its use."""

    text: str
    hints: list[list[list[str]]]


class HookEvents(Strict):
    """Events in their order, the oldest first."""

    events: Annotated[list[HookEvent], Field(max_length=MAX_EVENTS, fail_fast=True)]


class StoredEvents(TypedDict):
    """How many events became an observation, were left out or only led a session on, and were known before."""

    stored: int
    left_out: int
    known: int
    unfit: int


class StartingSession(Strict):
    """Where a session starts, and which one goes on there."""

    project: fields.ProjectName | None = None
    session: fields.SessionKey | None = None
    tokens: Annotated[int, Field(ge=1, le=MAX_TOKENS), fields.WHOLE] | None = None


class StartContext(TypedDict):
    """The text for the start of a session; empty if nothing is known."""

    text: str


def take_events(memory: LocalMemory, request: ApiRequest[None, HookEvents]) -> Answer[StoredEvents]:
    """Store events that hooks captured elsewhere. What is known already changes nothing."""
    counts = store_sent_events(memory, [one.model_dump() for one in request.body.events])
    left_out = sum(counts.dropped.values()) + sum(counts.led.values())
    stored = StoredEvents(
        stored=sum(counts.captured.values()), left_out=left_out, known=counts.known, unfit=counts.unfit
    )
    return Answer(stored, trusted=True)


def read_start_context(memory: LocalMemory, request: ApiRequest[StartingSession, None]) -> Answer[StartContext]:
    """What a session that starts elsewhere should know."""
    query = request.query
    tokens = query.tokens or memory.settings.opening_tokens
    return Answer(StartContext(text=session_context(memory, query.project, tokens, query.session or "")))


def read_hints(memory: LocalMemory, request: ApiRequest[None, HintRequest]) -> Answer[HintAnswer]:
    """What a session elsewhere should see at a prompt, before a tool or after one; mostly nothing."""
    body = request.body
    event, folder = sent_event(body.event.model_dump())
    found = event_hints(memory, event, folder, body.moment, body.shown, event.session, body.recall)
    return Answer(HintAnswer(text=found["text"], hints=found["hints"]))
