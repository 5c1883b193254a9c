"""Search, context and rules over HTTP: what is asked, and what an agent should know."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from commonplace.dialects.kiro import MAX_BUDGET, NO_PROJECT, TOOLS
from commonplace.dialects.records import hit_record, record
from commonplace.memory.book import Book
from commonplace.memory.recall import recall
from commonplace.memory.rules import rules as active_rules
from commonplace.memory.rules import within
from commonplace.rest import fields
from commonplace.rest.endpoint import Answer, Asked
from commonplace.rest.fields import Strict
from commonplace.rest.items import Narrowed

MOST = 1000
# As much text as one reply may reasonably carry.
ROOM_OF_RULES = 1_000_000
_CONTEXT = next(tool for tool in TOOLS if tool.name == "get_context")


class Search(Narrowed):
    """What to look for, and where."""

    q: fields.Question
    limit: Annotated[int, Field(ge=1, le=MOST), fields.WHOLE] = 10


class Prepared(Strict):
    """For which work a context is."""

    project: fields.Place | None = Field(None, description="Without one, what belongs to no project.")
    query: fields.Question | None = None
    token_budget: Annotated[int, Field(ge=1, le=MAX_BUDGET), fields.WHOLE] = 2000


class Ruled(Strict):
    """Where rules are to hold."""

    project: fields.Place | None = Field(None, description="Its rules, and those that hold everywhere.")
    file: Annotated[list[fields.Title], Field(max_length=100)] = Field(
        [], description="Only rules for these files; may be repeated."
    )


def found(book: Book, asked: Asked[Search, None]) -> Answer:
    """The best hits, by words and by meaning."""
    return _found(book, asked.query)


def found_by_body(book: Book, asked: Asked[None, Search]) -> Answer:
    """The same for a question that does not fit an address."""
    return _found(book, asked.body)


def context(book: Book, asked: Asked[Prepared, None]) -> Answer:
    """What to know before starting, within a token budget, as agents get it."""
    wanted = asked.query
    given = {"project": wanted.project or NO_PROJECT, "query": wanted.query, "token_budget": wanted.token_budget}
    return Answer(_CONTEXT.run(book, {name: value for name, value in given.items() if value is not None}).data)


def rules(book: Book, asked: Asked[Ruled, None]) -> Answer:
    """The rules of a project and of everywhere, oldest first."""
    told = within(active_rules(book, asked.query.project, asked.query.file), ROOM_OF_RULES)
    return Answer(
        {
            "project": asked.query.project,
            "project_rules": [record(item) for item in told.project],
            "global_rules": [record(item) for item in told.everywhere],
            "rules_for_other_files": told.elsewhere,
            "rules_left_out": told.left_out,
        }
    )


def _found(book: Book, wanted: Search) -> Answer:
    recalled = recall(book, wanted.q, wanted.scope(book.clock()), wanted.limit)
    hits = [hit_record(hit) for hit in recalled.hits]
    return Answer({"results": hits, "total": recalled.total, "by_meaning": recalled.by_meaning})
