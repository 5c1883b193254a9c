"""Search, context and rules over HTTP: what is asked, and what an agent should know."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import ConfigDict, Field, model_validator

from commonplace.dialects.kiro import MAX_BUDGET, TOOLS
from commonplace.dialects.kiro_records import NO_PROJECT
from commonplace.dialects.records import hit_record, item_record
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.recall import recall
from commonplace.memory.rules import active_rules as active_rules
from commonplace.memory.rules import rules_within
from commonplace.model import Scope
from commonplace.rest import fields, queries
from commonplace.rest.endpoint import Answer, ApiRequest
from commonplace.rest.fields import Strict
from commonplace.rest.items import Narrowed

MOST = 1000
# As much text as one reply may reasonably carry.
MAX_RULES_LENGTH = 1_000_000
_CONTEXT = next(tool for tool in TOOLS if tool.name == "get_context")


class Search(Narrowed):
    """What to look for, and where."""

    q: fields.Question
    limit: Annotated[int, Field(ge=1, le=MOST), fields.WHOLE] = 10


def _one_question(schema: dict[str, Any]) -> None:
    schema["oneOf"] = [
        {"required": [name], "properties": {name: {"type": "string"}, other: {"type": "null"}}}
        for name, other in (("q", "query"), ("query", "q"))
    ]


class SearchBody(Narrowed):
    """What to look for. With `query`, as older clients of Sekha ask, the answer is that of `/api/v1/query`."""

    model_config = ConfigDict(**Strict.model_config, json_schema_extra=_one_question)

    q: fields.Question | None = None
    query: fields.Question | None = None
    filter_labels: queries.Labels | None = Field(default=None, description="With `query`: one of these labels.")
    limit: Annotated[int, Field(ge=1, le=MOST), fields.WHOLE] = 10

    @model_validator(mode="after")
    def asks_one_question(self) -> SearchBody:
        if (self.q is None) == (self.query is None):
            raise ValueError("q: Give what to look for, once")
        return self


class Prepared(Strict):
    """For which work a context is."""

    project: fields.ProjectName | None = Field(None, description="Without one, what belongs to no project.")
    query: fields.Question | None = None
    token_budget: Annotated[int, Field(ge=1, le=MAX_BUDGET), fields.WHOLE] = 2000


class Ruled(Strict):
    """Where rules are to hold."""

    project: fields.ProjectName | None = Field(None, description="Its rules, and those that hold everywhere.")
    file: Annotated[list[fields.Title], Field(max_length=100)] = Field(
        [], description="Only rules for these files; may be repeated."
    )


def search_items(memory: LocalMemory, request: ApiRequest[Search, None]) -> Answer:
    """The best hits, by words and by meaning."""
    wanted = request.query
    return _search_answer(memory, wanted.q, wanted.scope(memory.clock()), wanted.limit)


def search_by_body(memory: LocalMemory, request: ApiRequest[None, SearchBody]) -> Answer:
    """The same for a question that does not fit an address."""
    wanted = request.body
    if wanted.query is not None:
        question = queries.Query(query=wanted.query, limit=wanted.limit)
        return Answer(queries.answers(memory, question, wanted.filter_labels))
    return _search_answer(memory, wanted.q or "", wanted.scope(memory.clock()), wanted.limit)


def read_context(memory: LocalMemory, request: ApiRequest[Prepared, None]) -> Answer:
    """What to know before starting, within a token budget, as agents get it."""
    wanted = request.query
    given = {"project": wanted.project or NO_PROJECT, "query": wanted.query, "token_budget": wanted.token_budget}
    return Answer(_CONTEXT.run(memory, {name: value for name, value in given.items() if value is not None}).data)


def read_rules(memory: LocalMemory, request: ApiRequest[Ruled, None]) -> Answer:
    """The rules of a project and of everywhere, oldest first."""
    told = rules_within(active_rules(memory, request.query.project, request.query.file), MAX_RULES_LENGTH)
    return Answer(
        {
            "project": request.query.project,
            "project_rules": [item_record(item) for item in told.project],
            "global_rules": [item_record(item) for item in told.everywhere],
            "rules_for_other_files": told.elsewhere,
            "rules_left_out": told.left_out,
        }
    )


def _search_answer(memory: LocalMemory, question: str, scope: Scope, limit: int) -> Answer:
    recalled = recall(memory, question, scope, limit)
    hits = [hit_record(hit) for hit in recalled.hits]
    return Answer(
        {
            "results": hits,
            "total": recalled.total,
            "by_meaning": recalled.by_meaning,
            "waiting_for_vectors": recalled.waiting,
        }
    )
