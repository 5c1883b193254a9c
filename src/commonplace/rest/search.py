"""Search, questions, contexts and rules over HTTP: what is asked, and what an agent should know.

`/api/v1/search` is our own; `/api/v1/query` and what is like it are for Sekha's clients, who ask for messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypedDict

from pydantic import ConfigDict, Field, model_validator

from commonplace.dialects.get_context import MAX_BUDGET, ContextReply, get_context
from commonplace.dialects.records import HitRecord, ItemRecord, hit_record, item_record
from commonplace.dialects.reply_schema import Json, component
from commonplace.dialects.tool import SEARCHED_KINDS, compact_json
from commonplace.dialects.window_project import NO_PROJECT
from commonplace.http_responses import from_sekha_sdk
from commonplace.memory.context import CitedMessage, assemble_messages
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.recall import RecallResult, recall, recall_by_words, sessions_of_hits
from commonplace.memory.rules import active_rules, rules_within
from commonplace.model import Scope, SessionScope
from commonplace.rest import fields
from commonplace.rest.conversation_records import AnswerRow, CitedRow, answer_row, cited_row
from commonplace.rest.conversations import Chosen
from commonplace.rest.endpoint import Answer, ApiRequest
from commonplace.rest.fields import Narrowed, Strict
from commonplace.text.tokens import count_tokens

MOST = 1000
MOST_TOKENS = 1_000_000
_VARY = {"Vary": "User-Agent"}
Labels = Annotated[list[fields.Label], Field(max_length=100)]


class Filters(Chosen):
    """Which conversations an answer may be from."""

    labels: Labels | None = Field(default=None, description="One of these labels.")


class Query(Strict):
    """A question, and which part of the answers is wanted."""

    query: fields.Question
    limit: Annotated[int, Field(ge=1, le=MOST), fields.WHOLE] | None = None
    offset: Annotated[int, Field(ge=0, le=MOST), fields.WHOLE] | None = None
    filters: Filters | None = None
    filter_labels: Labels | None = None


class SmartQuery(Query):
    """A question, with the room for a context that answers it."""

    token_budget: Annotated[int, Field(ge=1, le=MOST_TOKENS), fields.WHOLE] = 8000
    labels: Labels | None = None


class Words(Strict):
    """Words to look for."""

    query: fields.Question
    limit: Annotated[int, Field(ge=1, le=MOST), fields.WHOLE] = 10


class Assembly(Strict):
    """A question, and what the context for it may take."""

    query: fields.Question
    context_budget: Annotated[int, Field(ge=1, le=MOST_TOKENS), fields.WHOLE] = 4000
    preferred_labels: Labels | None = None
    excluded_folders: Annotated[list[fields.Folder], Field(max_length=100)] | None = None


# As much text as one reply may reasonably carry.
MAX_RULES_LENGTH = 1_000_000


class Search(Narrowed):
    """What to look for, and where."""

    q: fields.Question
    limit: Annotated[int, Field(ge=1, le=MOST), fields.WHOLE] = 10
    why: bool = Field(False, description="Say what each part added to the score of a hit.")


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
    filter_labels: Labels | None = Field(default=None, description="With `query`: one of these labels.")
    limit: Annotated[int, Field(ge=1, le=MOST), fields.WHOLE] = 10
    why: bool = Field(False, description="Say what each part added to the score of a hit.")

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
    as_of: fields.AsOf | None = None


class Ruled(Strict):
    """Where rules are to hold."""

    project: fields.ProjectName | None = Field(None, description="Its rules, and those that apply everywhere.")
    file: Annotated[list[fields.Title], Field(max_length=100)] = Field(
        [], description="Only rules for these files; may be repeated."
    )


class _AnswersPage(TypedDict):
    total: int
    page: int
    page_size: int
    query: str
    limit: int
    offset: int
    by_meaning: bool
    waiting_for_vectors: int
    note: str


@component("ConversationAnswers")
class QueryReply(_AnswersPage):
    """A page of answers."""

    results: list[AnswerRow]


class RankedRow(AnswerRow):
    """An answer, and how good it is among the others."""

    rank: Annotated[int, Json(description="1 is the best.")]


class WordsReply(_AnswersPage):
    """A page of messages with certain words."""

    results: list[RankedRow]


class AssemblyData(TypedDict):
    """Messages, the same as one text, and what they are from, under the names that each client reads."""

    messages: list[CitedRow]
    assembled_context: str
    formattedContext: str
    estimated_tokens: int
    estimatedTokens: int
    token_count: int
    tokens_used: int
    conversations_used: int
    conversation_ids: list[str]
    labels: list[str]


class SmartReply(QueryReply, AssemblyData):
    """A page of answers, and a context made of the best of them."""


AssemblyReply = Annotated[
    list[CitedRow] | AssemblyData,
    Json(
        description="A list of messages; to Sekha's SDKs, by their User-Agent, an object that has them as `messages`."
    ),
]


@component("Found")
class SearchReply(TypedDict):
    """The best hits."""

    results: list[HitRecord]
    total: int
    by_meaning: bool
    waiting_for_vectors: int
    note: str


@component("Rules")
class RulesReply(TypedDict):
    """Active rules."""

    project: str | None
    project_rules: list[ItemRecord]
    global_rules: list[ItemRecord]
    rules_for_other_files: int
    rules_left_out: int


def query(memory: LocalMemory, request: ApiRequest[None, Query]) -> Answer[QueryReply]:
    """Messages that answer, by words and by meaning, best first."""
    return Answer(answers(memory, request.body, request.body.filter_labels))


def smart(memory: LocalMemory, request: ApiRequest[None, SmartQuery]) -> Answer[SmartReply]:
    """The same, and a context made of the best of them."""
    wanted = request.body
    labels = wanted.labels or wanted.filter_labels
    cited = assemble_messages(memory, wanted.query, wanted.token_budget, cited_tokens, preferred=labels or ())
    return Answer({**answers(memory, wanted, labels), **_assembly(cited)})


def by_words(memory: LocalMemory, request: ApiRequest[None, Words]) -> Answer[WordsReply]:
    """Messages with these words, whatever is meant by them."""
    wanted = Query(query=request.body.query, limit=request.body.limit)
    found = recall_by_words(memory, wanted.query, Scope(kinds=SEARCHED_KINDS), request.body.limit)
    page = _page(memory, wanted, found)
    rows: list[RankedRow] = [{**row, "rank": number} for number, row in enumerate(page["results"], start=1)]
    return Answer({**page, "results": rows})


def assembled(memory: LocalMemory, request: ApiRequest[None, Assembly]) -> Answer[AssemblyReply]:
    """Messages for a model to read beside a question, the most relevant first, within a budget of tokens."""
    wanted = request.body
    preferred, excluded = wanted.preferred_labels or (), wanted.excluded_folders or ()
    cited = assemble_messages(memory, wanted.query, wanted.context_budget, cited_tokens, preferred, excluded)
    # Sekha's controller answers with a list, which its proxy reads; its SDKs read an object with `messages`.
    if from_sekha_sdk(request.headers):
        return Answer(_assembly(cited), headers=_VARY)
    return Answer([cited_row(one) for one in cited], headers=_VARY)


def cited_tokens(cited: CitedMessage) -> int:
    """What a message takes of a budget, as it is written."""
    return count_tokens(compact_json(cited_row(cited)) + ",")


def answers(memory: LocalMemory, wanted: Query, labels: list[str] | None) -> QueryReply:
    """A page of answers from conversations with one of these labels, if there are any."""
    scope = _scope(wanted.filters, labels)
    if scope is None:
        return _page(memory, wanted, RecallResult((), 0, by_meaning=False))
    return _page(memory, wanted, recall(memory, wanted.query, scope, (wanted.offset or 0) + (wanted.limit or 10)))


def _scope(filters: Filters | None, labels: list[str] | None) -> Scope | None:
    """Where answers may be from; None if nowhere. Without any filter they need be part of no conversation."""
    named = tuple(labels or ())
    if filters is None:
        return Scope(kinds=SEARCHED_KINDS, sessions=SessionScope(labels=named) if named else None)
    sessions = filters.scope()
    if sessions is None:
        return None
    named += tuple(filters.labels or ()) + sessions.labels
    narrowed = SessionScope(sessions.folder, named, sessions.statuses, sessions.project)
    return Scope(kinds=SEARCHED_KINDS, sessions=None if narrowed == SessionScope() else narrowed)


def _page(memory: LocalMemory, wanted: Query, found: RecallResult) -> QueryReply:
    limit, offset = wanted.limit or 10, wanted.offset or 0
    hits = found.hits[offset : offset + limit]
    sessions = sessions_of_hits(memory, hits)
    return {
        "results": [answer_row(hit, sessions.get(hit.item.id)) for hit in hits],
        "total": found.total,
        "page": offset // limit + 1,
        "page_size": limit,
        "query": wanted.query,
        "limit": limit,
        "offset": offset,
        "by_meaning": found.by_meaning,
        "waiting_for_vectors": found.waiting,
        "note": found.note,
    }


def _assembly(cited: Sequence[CitedMessage]) -> AssemblyData:
    """The messages, the same as one text, and what they are from, under the names that each client reads."""
    rows = [cited_row(one) for one in cited]
    text = "\n\n".join(f"[{_source(one)}]\n{one.content}" for one in cited)
    ids = list(dict.fromkeys(row["conversation_id"] for row in rows if row["conversation_id"]))
    tokens = count_tokens(text)
    return {
        "messages": rows,
        "assembled_context": text,
        "formattedContext": text,
        "estimated_tokens": tokens,
        "estimatedTokens": tokens,
        "token_count": tokens,
        "tokens_used": tokens,
        "conversations_used": len(ids),
        "conversation_ids": ids,
        "labels": list(dict.fromkeys(row["metadata"]["citation"]["label"] for row in rows)),
    }


def _source(cited: CitedMessage) -> str:
    citation = cited_row(cited)["metadata"]["citation"]
    return f"{citation['label']}, {citation['folder']}, {citation['timestamp'][:10]}"


def search_items(memory: LocalMemory, request: ApiRequest[Search, None]) -> Answer[SearchReply]:
    """The best hits, by words and by meaning."""
    wanted = request.query
    return Answer(_search_data(memory, wanted.q, wanted.scope(memory.clock()), wanted.limit, wanted.why))


def search_by_body(memory: LocalMemory, request: ApiRequest[None, SearchBody]) -> Answer[SearchReply | QueryReply]:
    """The same for a question that does not fit an address."""
    wanted = request.body
    if wanted.query is not None:
        question = Query(query=wanted.query, limit=wanted.limit)
        return Answer(answers(memory, question, wanted.filter_labels))
    return Answer(_search_data(memory, wanted.q or "", wanted.scope(memory.clock()), wanted.limit, wanted.why))


def read_context(memory: LocalMemory, request: ApiRequest[Prepared, None]) -> Answer[ContextReply]:
    """What to know before starting, within a token budget, as agents get it."""
    wanted = request.query
    project = wanted.project or NO_PROJECT
    return Answer(get_context(memory, project, wanted.token_budget, wanted.query, as_of=wanted.as_of).data)


def read_rules(memory: LocalMemory, request: ApiRequest[Ruled, None]) -> Answer[RulesReply]:
    """The rules of a project and of everywhere, oldest first."""
    shown = rules_within(active_rules(memory, request.query.project, request.query.file), MAX_RULES_LENGTH)
    return Answer(
        {
            "project": request.query.project,
            "project_rules": [item_record(item) for item in shown.project],
            "global_rules": [item_record(item) for item in shown.everywhere],
            "rules_for_other_files": shown.elsewhere,
            "rules_left_out": shown.left_out,
        }
    )


def _search_data(memory: LocalMemory, question: str, scope: Scope, limit: int, why: bool) -> SearchReply:
    found = recall(memory, question, scope, limit)
    return {
        "results": [hit_record(hit, why=why) for hit in found.hits],
        "total": found.total,
        "by_meaning": found.by_meaning,
        "waiting_for_vectors": found.waiting,
        "note": found.note,
    }
