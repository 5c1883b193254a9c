"""Questions over HTTP as Sekha's clients ask them: messages that answer, and the context made of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field

from commonplace.dialects.tool import compact_json
from commonplace.http.errors import from_sekha_sdk
from commonplace.memory.context import CitedMessage, assemble_messages
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.recall import RecallResult, recall, recall_by_words, sessions_of_hits
from commonplace.model import KINDS, Scope, SessionScope
from commonplace.rest import fields
from commonplace.rest.conversation_records import answer_row, cited_row
from commonplace.rest.conversations import Chosen
from commonplace.rest.endpoint import Answer, ApiRequest
from commonplace.rest.fields import Strict
from commonplace.text.tokens import count_tokens

MOST = 1000
MOST_TOKENS = 1_000_000
_VARY = {"Vary": "User-Agent"}
_FOUND = tuple(kind for kind in KINDS if kind != "checkpoint")
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


def query(memory: LocalMemory, request: ApiRequest[None, Query]) -> Answer:
    """Messages that answer, by words and by meaning, best first."""
    return Answer(answers(memory, request.body, request.body.filter_labels))


def query_for_bridge(memory: LocalMemory, request: ApiRequest[None, Query]) -> Answer:
    """The same where one of the clients asks."""
    return query(memory, request)


def smart(memory: LocalMemory, request: ApiRequest[None, SmartQuery]) -> Answer:
    """The same, and a context made of the best of them."""
    wanted = request.body
    labels = wanted.labels or wanted.filter_labels
    cited = assemble_messages(memory, wanted.query, wanted.token_budget, cited_tokens, preferred=labels or ())
    return Answer(answers(memory, wanted, labels) | _assembly(cited))


def by_words(memory: LocalMemory, request: ApiRequest[None, Words]) -> Answer:
    """Messages with these words, whatever is meant by them."""
    wanted = Query(query=request.body.query, limit=request.body.limit)
    found = recall_by_words(memory, wanted.query, Scope(kinds=_FOUND), request.body.limit)
    page = _page(memory, wanted, found)
    rows = [row | {"rank": number} for number, row in enumerate(page["results"], start=1)]
    return Answer(page | {"results": rows})


def assembled(memory: LocalMemory, request: ApiRequest[None, Assembly]) -> Answer:
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


def answers(memory: LocalMemory, wanted: Query, labels: list[str] | None) -> dict[str, Any]:
    """A page of answers from conversations with one of these labels, if there are any."""
    scope = _scope(wanted.filters, labels)
    if scope is None:
        return _page(memory, wanted, RecallResult((), 0, by_meaning=False))
    return _page(memory, wanted, recall(memory, wanted.query, scope, (wanted.offset or 0) + (wanted.limit or 10)))


def _scope(filters: Filters | None, labels: list[str] | None) -> Scope | None:
    """Where answers may be from; None if nowhere. Without any filter they need be part of no conversation."""
    named = tuple(labels or ())
    if filters is None:
        return Scope(kinds=_FOUND, sessions=SessionScope(labels=named) if named else None)
    sessions = filters.scope()
    if sessions is None:
        return None
    named += tuple(filters.labels or ()) + sessions.labels
    narrowed = SessionScope(sessions.folder, named, sessions.statuses, sessions.project)
    return Scope(kinds=_FOUND, sessions=None if narrowed == SessionScope() else narrowed)


def _page(memory: LocalMemory, wanted: Query, recalled: RecallResult) -> dict[str, Any]:
    limit, offset = wanted.limit or 10, wanted.offset or 0
    hits = recalled.hits[offset : offset + limit]
    sessions = sessions_of_hits(memory, hits)
    return {
        "results": [answer_row(hit, sessions.get(hit.item.id)) for hit in hits],
        "total": recalled.total,
        "page": offset // limit + 1,
        "page_size": limit,
        "query": wanted.query,
        "limit": limit,
        "offset": offset,
        "by_meaning": recalled.by_meaning,
        "waiting_for_vectors": recalled.waiting,
    }


def _assembly(cited: Sequence[CitedMessage]) -> dict[str, Any]:
    """The messages, the same as one text, and what they are from, under the names that each client reads."""
    rows = [cited_row(one) for one in cited]
    text = "\n\n".join(f"[{_source(one)}]\n{one.content}" for one in cited)
    ids = list(dict.fromkeys(row["conversation_id"] for row in rows if row["conversation_id"]))
    names = ("estimated_tokens", "estimatedTokens", "token_count", "tokens_used")
    return {
        "messages": rows,
        "assembled_context": text,
        "formattedContext": text,
        **dict.fromkeys(names, count_tokens(text)),
        "conversations_used": len(ids),
        "conversation_ids": ids,
        "labels": list(dict.fromkeys(row["metadata"]["citation"]["label"] for row in rows)),
    }


def _source(cited: CitedMessage) -> str:
    citation = cited_row(cited)["metadata"]["citation"]
    return f"{citation['label']}, {citation['folder']}, {citation['timestamp'][:10]}"
