"""Records over HTTP: what changed, what differs, and what is to be taken in. `commonplace sync` speaks this."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from commonplace.dialects.schema import BOOLEAN, INTEGER, OBJECT, STRING, STRING_OR_NULL, Schema, array, record
from commonplace.memory import records
from commonplace.memory.book import Book
from commonplace.memory.records import Extent
from commonplace.rest import fields
from commonplace.rest.endpoint import Answer, Asked
from commonplace.rest.fields import Strict

MOST_CHANGES, MOST_RECORDS = 1000, 500
# Of records in a reply, before they are packed.
MOST_BYTES = 8_000_000

_What = Literal["item", "session", "project"]
_Label = Annotated[str, Field(min_length=1, max_length=400, description="The uid, the key or the name of a record.")]
_Mark = Annotated[int, Field(ge=0, le=fields.MAX_IDS, description="`mark` of the reply before."), fields.WHOLE]


class Since(Strict):
    """What changed after a mark."""

    since: _Mark = 0
    limit: Annotated[int, Field(ge=1, le=MOST_CHANGES), fields.WHOLE] = MOST_RECORDS
    project: Annotated[list[fields.Place], Field(max_length=100, default_factory=list)]


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


class Told(Strict):
    """A record as `GET /api/v1/sync/records` tells it."""

    what: _What
    name: _Label
    version: Annotated[int, Field(ge=0, le=fields.MAX_IDS), fields.WHOLE]
    fields: dict[str, Any]
    history: Annotated[list[dict[str, Any]], Field(default_factory=list, fail_fast=True)]


class Arriving(Strict):
    """Records to be taken in."""

    records: Annotated[list[Told], Field(max_length=MOST_RECORDS, fail_fast=True)]


def standing(book: Book, _asked: Asked[None, None]) -> Answer:
    """Which space of which store this is, and the mark of its last change."""
    space, last = records.standing(book)
    return _answer({"format": records.FORMAT, "space": space, "last": last})


def changes(book: Book, asked: Asked[Since, None]) -> Answer:
    """What changed after a mark, in order: the name of each record and a digest of what it says."""
    walked = records.walk(book, asked.query.since, asked.query.limit, Extent(tuple(asked.query.project)))
    told = [{"what": one.what, "name": one.name, "digest": one.digest} for one in walked.records]
    return _answer({"changes": told, "mark": walked.mark, "last": walked.last})


def told(book: Book, asked: Asked[Since, None]) -> Answer:
    """The records themselves, in the same order, as many as fit."""
    walked = records.walk(book, asked.query.since, asked.query.limit, Extent(tuple(asked.query.project)))
    chosen = records.within(walked.records, MOST_BYTES)
    mark = walked.mark if len(chosen) == len(walked.records) else chosen[-1][0].seq
    return _answer({"records": [data for _record, data in chosen], "mark": mark, "last": walked.last})


def compare(book: Book, asked: Asked[None, Digests]) -> Answer:
    """Which of these records are not here, or say something else here."""
    digests = {records.name_of(one.what, one.name): one.digest for one in asked.body.changes}
    differing = records.compared(book, digests, Extent())
    return _answer({"differing": [{"what": what, "name": name} for what, name in differing]})


def fetch(book: Book, asked: Asked[None, Names]) -> Answer:
    """These records, as many as fit, and before them the sessions that they need."""
    names = [records.name_of(one.what, one.name) for one in asked.body.names]
    found = [data for _record, data in records.within(found_of(book, names), MOST_BYTES)]
    return _answer({"records": found})


def found_of(book: Book, names: list[records.Name]) -> list[records.Record]:
    """Records by their names, in that order, each after its session."""
    found = {(one.what, one.name): one for one in records.named(book, names, Extent())}
    chosen = [found[name] for name in names if name in found]
    return [*records.sessions_of(book, chosen, Extent()), *chosen]


def take(book: Book, asked: Asked[None, Arriving]) -> Answer:
    """Take records in. What is known already changes nothing; what fails is told and left out."""
    outcomes = records.take(book, [one.model_dump() for one in asked.body.records])
    told = [
        {"what": o.what, "name": o.name, "result": o.result, "took": o.took, "other": o.other, "why": o.why}
        for o in outcomes
    ]
    return _answer({"outcomes": told})


def _answer(data: dict[str, Any]) -> Answer:
    """Secrets were taken out when it was read: here a digest could be mistaken for one."""
    return Answer(data, ours=True)


_WHAT: Schema = {"enum": ["item", "session", "project"]}
_NAMED: Schema = {"what": _WHAT, "name": STRING}
_TOLD = record({**_NAMED, "version": INTEGER, "fields": OBJECT, "history": array(OBJECT)})
STANDING = record({"format": INTEGER, "space": STRING, "last": INTEGER})
CHANGES = record({"changes": array(record({**_NAMED, "digest": STRING})), "mark": INTEGER, "last": INTEGER})
RECORDS = record({"records": array(_TOLD), "mark": INTEGER, "last": INTEGER})
FETCHED = record({"records": array(_TOLD)})
DIFFERING = record({"differing": array(record(_NAMED))})
TAKEN = record(
    {
        "outcomes": array(
            record(
                {
                    **_NAMED,
                    "result": {"enum": ["added", "updated", "unchanged", "conflict", "same_as", "failed"]},
                    "took": BOOLEAN,
                    "other": STRING_OR_NULL,
                    "why": STRING,
                }
            )
        )
    }
)
