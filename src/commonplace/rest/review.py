"""The review queue over HTTP: list what was proposed, accept it as it is or changed, dismiss it, undo either."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from commonplace.dialects.records import ItemRecord, item_record
from commonplace.memory import review
from commonplace.memory.edit_and_forget import Changes
from commonplace.memory.items import MAX_PAGE
from commonplace.memory.local_memory import LocalMemory
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
