"""The review queue over HTTP: what was proposed, accepted or dismissed; contradictions, settled; and undoing either."""

from __future__ import annotations

from typing import Annotated, TypedDict

from pydantic import Field

from commonplace.dialects.records import ItemBrief, ItemRecord, PairRecord, item_brief, item_record, pair_record
from commonplace.memory import review
from commonplace.memory.edit_and_forget import Changes
from commonplace.memory.items import MAX_PAGE
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.settle_contradictions import Keep, reopen_contradiction, settle_contradiction
from commonplace.memory.statement_pairs import DEFAULT_LIMIT as DEFAULT_PAIRS
from commonplace.memory.statement_pairs import MAX_LIMIT as MAX_PAIRS
from commonplace.memory.statement_pairs import READ_FOR_LIST
from commonplace.memory.statement_pairs import list_contradictions as open_contradictions
from commonplace.model import Scope
from commonplace.rest import fields
from commonplace.rest.endpoint import Answer, ApiRequest
from commonplace.rest.fields import Strict
from commonplace.rest.items import Page, find_item, item_answer


class Waiting(Strict):
    """Which proposals to list."""

    project: fields.ProjectName | None = Field(None, description="Only this project; all of them if omitted.")
    author: fields.Author = ""
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE), fields.WHOLE] = 20
    cursor: fields.Cursor | None = None


class AcceptedAs(Strict):
    """What to change before it is accepted. What is left out, or null, stays as it is."""

    content: fields.NonBlankText | None = None
    title: fields.Title | None = None
    type: fields.Type | None = None
    tags: fields.Tags | None = None
    importance: fields.Importance | None = None


def list_proposals(memory: LocalMemory, request: ApiRequest[Waiting, None]) -> Answer[Page]:
    """What waits for review, newest first."""
    wanted = request.query
    scope = Scope(project=wanted.project, author=wanted.author)
    page = review.list_proposals(memory, scope, wanted.limit, wanted.cursor or None)
    return Answer({"items": [item_record(item) for item in page.items], "next_cursor": page.next_cursor})


def accept_proposal(memory: LocalMemory, request: ApiRequest[None, AcceptedAs]) -> Answer[ItemRecord]:
    """Agree with a proposal, as it is or changed: who accepts it becomes its author."""
    item = find_item(memory, request.path["id"])
    rev = request.expected_rev(item)
    wanted = request.body
    changes = Changes(wanted.content, wanted.title, wanted.type, tags=wanted.tags, importance=wanted.importance)
    return item_answer(review.accept_changed(memory, item.id, changes, rev))


def dismiss_proposal(memory: LocalMemory, request: ApiRequest[None, None]) -> Answer[ItemRecord]:
    """Turn a proposal down: it vanishes from every answer, and is not proposed again."""
    item = find_item(memory, request.path["id"])
    request.expected_rev(item)
    return item_answer(review.dismiss(memory, [item.id])[0])


def undo_review(memory: LocalMemory, request: ApiRequest[None, None]) -> Answer[ItemRecord]:
    """Let something that was accepted or dismissed wait for review again."""
    item = find_item(memory, request.path["id"], forgotten=True)
    request.expected_rev(item)
    return item_answer(review.undo_review(memory, item.id))


class OpenPairs(Strict):
    """Of which project, how many, and whether those that say the same are listed too."""

    project: fields.ProjectName | None = None
    twins: bool = False
    limit: Annotated[int, Field(ge=1, le=MAX_PAIRS), fields.WHOLE] = DEFAULT_PAIRS


class Settling(Strict):
    """Two items, and which of them holds; null undoes what was said before."""

    one: fields.Id
    other: fields.Id
    keep: Keep | None


class PairsReply(TypedDict):
    """Statements that contradict each other, the newest first."""

    contradictions: list[PairRecord]


class SettledReply(TypedDict):
    """What holds now."""

    kept: list[ItemBrief]


def list_contradictions(memory: LocalMemory, request: ApiRequest[OpenPairs, None]) -> Answer[PairsReply]:
    """Statements that contradict each other and were not settled yet."""
    query = request.query
    pairs = open_contradictions(memory, query.project, query.limit, twins=query.twins, read=READ_FOR_LIST)
    return Answer({"contradictions": [pair_record(pair) for pair in pairs]})


def settle(memory: LocalMemory, request: ApiRequest[None, Settling]) -> Answer[SettledReply]:
    """Say which of two statements holds, or undo that."""
    one, other = (find_item(memory, id_, forgotten=True).id for id_ in (request.body.one, request.body.other))
    if request.body.keep is None:
        pair = reopen_contradiction(memory, one, other)
        return Answer({"kept": [item_brief(pair.older), item_brief(pair.newer)]})
    settled = settle_contradiction(memory, one, other, request.body.keep)
    return Answer({"kept": [item_brief(item) for item in settled.kept]})
