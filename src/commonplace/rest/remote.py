"""What other machines ask a server: records for `commonplace sync`, methods for `Memory("https://...")`, hooks.

Of records: what changed, what differs, and what is to be taken in. Of the Python library: any of its methods. For
hooks: to store their events, and what a session there should know.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal, TypedDict

from pydantic import Field, RootModel

from commonplace.capture.hooks.hint_answers import event_hints
from commonplace.capture.hooks.send_events import (
    LONGEST_TEXT,
    MAX_EVENTS,
    EventKind,
    HintMoment,
    sent_event,
    store_sent_events,
)
from commonplace.dialects.reply_schema import Json
from commonplace.errors import Forbidden, NotFound
from commonplace.library.memory import Memory
from commonplace.library.remote_calls import encode, unpack
from commonplace.library.verbs import VERBS
from commonplace.memory import sync_and_archive
from commonplace.memory.hints import Seen
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.session_context import session_context
from commonplace.memory.sync_and_archive import SyncScope
from commonplace.rest import fields
from commonplace.rest.endpoint import Answer, ApiRequest
from commonplace.rest.fields import Strict

MOST_CHANGES, MOST_RECORDS = 1000, 500
# Of records in a reply, before they are packed.
MOST_BYTES = 8_000_000

_What = Literal["item", "session", "project"]
# The same of what the store says, which knows it by a text.
_RecordKind = Annotated[Any, Json(enum=["item", "session", "project"])]
_Label = Annotated[str, Field(min_length=1, max_length=400, description="The uid, the key or the name of a record.")]
_Mark = Annotated[int, Field(ge=0, le=fields.MAX_IDS, description="`mark` of the reply before."), fields.WHOLE]


class Since(Strict):
    """What changed after a mark."""

    since: _Mark = 0
    limit: Annotated[int, Field(ge=1, le=MOST_CHANGES), fields.WHOLE] = MOST_RECORDS
    project: Annotated[list[fields.ProjectName], Field(max_length=100, default_factory=list)]


class Named(Strict):
    """A record by its name."""

    what: _What
    name: _Label


class Digested(Named):
    """A record by its name, and what it says."""

    digest: Annotated[str, Field(pattern="^[0-9a-f]{32}$")]


class Digests(Strict):
    """Records of another store."""

    changes: Annotated[list[Digested], Field(max_length=2 * MOST_CHANGES, fail_fast=True)]


class Names(Strict):
    """Records that are wanted."""

    names: Annotated[list[Named], Field(max_length=MOST_RECORDS, fail_fast=True)]


class SyncRecord(Strict):
    """A record as `GET /api/v1/sync/records` tells it."""

    what: _What
    name: _Label
    version: Annotated[int, Field(ge=0, le=fields.MAX_IDS), fields.WHOLE]
    fields: dict[str, Any]
    history: Annotated[list[dict[str, Any]], Field(default_factory=list, fail_fast=True)]


class SyncRecords(Strict):
    """Records to be taken in."""

    records: Annotated[list[SyncRecord], Field(max_length=MOST_RECORDS, fail_fast=True)]


class SyncPosition(TypedDict):
    """Where a space stands."""

    format: int
    space: str
    last: int


class NamedRecord(TypedDict):
    """Which record it is."""

    what: _RecordKind
    name: str


class DigestRow(NamedRecord):
    """A record, and a digest of what it says."""

    digest: str


class RecordRow(NamedRecord):
    """A record with its history."""

    version: int
    fields: dict[str, Any]
    history: list[dict[str, Any]]


class OutcomeRow(NamedRecord):
    """What became of a record that was sent."""

    result: Annotated[Any, Json(enum=["added", "updated", "unchanged", "conflict", "same_as", "failed"])]
    took: bool
    other: str | None
    why: str


class ChangesReply(TypedDict):
    """What changed after a mark."""

    changes: list[DigestRow]
    mark: int
    last: int


class RecordsReply(TypedDict):
    """Records that changed after a mark."""

    records: list[RecordRow]
    mark: int
    last: int


class FetchedReply(TypedDict):
    """Records by their names."""

    records: list[RecordRow]


class DifferingReply(TypedDict):
    """Records that differ."""

    differing: list[NamedRecord]


class OutcomesReply(TypedDict):
    """What became of each record."""

    outcomes: list[OutcomeRow]


def sync_position(memory: LocalMemory, _request: ApiRequest[None, None]) -> Answer[SyncPosition]:
    """Which space of which store this is, and the mark of its last change."""
    space, last = sync_and_archive.sync_position(memory)
    return _answer({"format": sync_and_archive.RECORD_FORMAT, "space": space, "last": last})


def changes(memory: LocalMemory, request: ApiRequest[Since, None]) -> Answer[ChangesReply]:
    """What changed after a mark, in order: the name of each record and a digest of what it says."""
    walked = _walked(memory, request.query)
    digests = [{"what": one.what, "name": one.name, "digest": one.digest} for one in walked.records]
    return _answer({"changes": digests, "mark": walked.mark, "last": walked.last})


def changed_records(memory: LocalMemory, request: ApiRequest[Since, None]) -> Answer[RecordsReply]:
    """The records themselves, in the same order, as many as fit."""
    walked = _walked(memory, request.query)
    chosen = sync_and_archive.first_fitting(walked.records, MOST_BYTES)
    mark = walked.mark if len(chosen) == len(walked.records) else chosen[-1][0].seq
    return _answer({"records": [data for _record, data in chosen], "mark": mark, "last": walked.last})


def _walked(memory: LocalMemory, wanted: Since) -> sync_and_archive.RecordBatch:
    return sync_and_archive.changed_records(memory, wanted.since, wanted.limit, SyncScope(tuple(wanted.project)))


def compare(memory: LocalMemory, request: ApiRequest[None, Digests]) -> Answer[DifferingReply]:
    """Which of these records are not here, or say something else here."""
    digests = {sync_and_archive.parse_record_name(one.what, one.name): one.digest for one in request.body.changes}
    differing = sync_and_archive.differing_records(memory, digests, SyncScope())
    return _answer({"differing": [{"what": what, "name": name} for what, name in differing]})


def records_by_name(memory: LocalMemory, request: ApiRequest[None, Names]) -> Answer[FetchedReply]:
    """These records, as many as fit, and before them the sessions that they need."""
    names = [sync_and_archive.parse_record_name(one.what, one.name) for one in request.body.names]
    found = [data for _record, data in sync_and_archive.first_fitting(find_records(memory, names), MOST_BYTES)]
    return _answer({"records": found})


def find_records(memory: LocalMemory, names: list[sync_and_archive.Name]) -> list[sync_and_archive.Record]:
    """Records by their names, in that order, each after its session."""
    found = {(one.what, one.name): one for one in sync_and_archive.named_records(memory, names, SyncScope())}
    chosen = [found[name] for name in names if name in found]
    return [*sync_and_archive.sessions_of_items(memory, chosen, SyncScope()), *chosen]


def take_records(memory: LocalMemory, request: ApiRequest[None, SyncRecords]) -> Answer[OutcomesReply]:
    """Take records in. What is known already changes nothing; what fails is told and left out."""
    outcomes = sync_and_archive.take_records(memory, [one.model_dump() for one in request.body.records])
    return _answer({"outcomes": [asdict(one) for one in outcomes]})


def _answer(data: dict[str, Any]) -> Answer[Any]:
    """Secrets were taken out when it was read: here a digest could be mistaken for one."""
    return Answer(data, trusted=True)


class VerbReply(TypedDict):
    """What a method returns."""

    result: Annotated[Any, Json(description="What the method returns, as JSON.")]


class Arguments(RootModel[dict[str, Any]]):
    """The arguments of the method, by their names."""


_ANSWERED = {name: verb for name, verb in VERBS.items() if verb.server == "verbs"}


def call_verb(memory: LocalMemory, request: ApiRequest[None, Arguments]) -> Answer[VerbReply]:
    """Call a method of the library with the space and the rights of the key."""
    name = request.path["verb"]
    verb = _ANSWERED.get(name)
    if verb is None:
        raise NotFound(f"There is no method {name[:60]!r}.", f"There is {', '.join(sorted(_ANSWERED))}.")
    if request.key is None or not request.key.allows(verb.key_scope):
        raise Forbidden(f"This key can only read; {name} needs one of scope {verb.key_scope}.")
    arguments, options = unpack(verb, request.body.root)
    return Answer({"result": encode(getattr(Memory.over(memory), name)(*arguments, **options))})


MAX_TOKENS, MAX_SHOWN, MAX_TOLD = 50_000, 2_000, 10_000
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
    at_start: Annotated[list[_Name], Field(max_length=MAX_SHOWN, fail_fast=True)] = Field(
        default_factory=list, description="Those of them that it was shown only at its start."
    )
    breaches: Annotated[list[_Name], Field(max_length=MAX_SHOWN, fail_fast=True)] = Field(
        default_factory=list, description="What earlier answers said in `breaches` in the last ten minutes."
    )
    recall: Literal["full", "rules"] = "full"


class HintAnswer(TypedDict):
    """The text to show, empty if nothing is relevant; of each memory in it the ids, and words that tell its use.

    `breaches` names each rule that seems to be broken together with the kind of action.
    """

    text: str
    hints: list[list[list[str]]]
    breaches: list[str]


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
    told: Annotated[str, Field(max_length=MAX_TOLD, description="Ids that sessions there were shown.")] | None = None


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
    told = None if query.told is None else query.told.split(",")
    return Answer(StartContext(text=session_context(memory, query.project, tokens, query.session or "", told=told)))


def read_hints(memory: LocalMemory, request: ApiRequest[None, HintRequest]) -> Answer[HintAnswer]:
    """What a session elsewhere should see at a prompt, before a tool or after one; mostly nothing."""
    body = request.body
    event, folder = sent_event(body.event.model_dump())
    seen = Seen(frozenset(body.shown), frozenset(body.at_start), frozenset(body.breaches))
    found = event_hints(memory, event, folder, body.moment, seen, event.session, body.recall)
    return Answer(HintAnswer(text=found["text"], hints=found["hints"], breaches=found["breaches"]))
