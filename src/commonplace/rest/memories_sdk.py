"""The routes that memories.sh's SDK calls (`@memories.sh/core`), over the same tools as MCP: context and memories.

Every reply is `{"ok": true, "data": {...}, "error": null, "meta": {...}}`, and so is every error, with `ok: false`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Annotated, Any, Generic, Literal, NotRequired, TypedDict, TypeVar

from pydantic import ConfigDict, Field, model_validator

import commonplace
from commonplace.dialects.memories import MAX_LIMIT, MAX_LIST, TOOLS
from commonplace.dialects.memories_records import Layer, MemoryType, SdkMemory, sdk_memory
from commonplace.errors import TooLarge
from commonplace.memory.edit_and_forget import forget_items as forget_items
from commonplace.memory.items import MAX_PAGE, browse_items
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.search_candidates import MAX_QUERY
from commonplace.model import PROPOSED, Item, Scope
from commonplace.rest import fields
from commonplace.rest.endpoint import Answer, ApiRequest
from commonplace.rest.fields import Strict
from commonplace.text.dates import DAY_MS
from commonplace.text.sentences import shorten

ROOT = "/api/sdk/v1"
Mode = Literal["all", "working", "long_term", "rules_only"]
Strategy = Literal["lexical", "semantic", "hybrid", "baseline", "hybrid_graph"]
# So many are forgotten by one call at most, and so many of them are named.
MAX_FORGOTTEN, MAX_LISTED = 10_000, 1000
PREVIEW = 80
_BY_NAME = {tool.name: tool for tool in TOOLS}
_NO_TENANTS = (
    "userId and tenantId do not keep memories apart here."
    " Give each user or tenant a key for a space or a project of its own"
)
_ONE_SEARCH = "Every search is by words and meaning: strategy, graphDepth and graphLimit have no effect."
Data = TypeVar("Data", bound=Mapping[str, Any])
_Count = Annotated[int, Field(ge=0, le=1_000_000), fields.WHOLE]
_Ignored = Field(default=None, description="Accepted, and without effect.")
_Query = Annotated[str, Field(max_length=MAX_QUERY)]


class SdkScope(Strict):
    """Which project is meant; what belongs to none is always part of it."""

    project_id: fields.ProjectName | None = Field(default=None, alias="projectId")

    @model_validator(mode="before")
    @classmethod
    def separates_nobody(cls, given: Any) -> Any:
        if isinstance(given, dict):
            if given.get("userId") or given.get("tenantId"):
                raise ValueError(_NO_TENANTS)
            return {name: value for name, value in given.items() if name not in ("userId", "tenantId")}
        return given


class _Scoped(Strict):
    scope: SdkScope | None = None

    @property
    def project(self) -> str | None:
        return self.scope.project_id if self.scope else None


class SdkContext(_Scoped):
    """What a context is for."""

    query: _Query | None = Field(default=None, description="What you are working on; rules only if omitted.")
    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT), fields.WHOLE] | None = None
    include_rules: bool | None = Field(default=None, alias="includeRules")
    include_skill_files: bool | None = Field(default=None, alias="includeSkillFiles")
    mode: Mode = "all"
    strategy: Strategy | None = _Ignored
    graph_depth: Annotated[int, Field(ge=0, le=2), fields.WHOLE] | None = Field(default=None, alias="graphDepth")
    graph_limit: _Count | None = Field(default=None, alias="graphLimit")
    session_id: fields.Title | None = Field(default=None, alias="sessionId")
    budget_tokens: _Count | None = Field(default=None, alias="budgetTokens")
    turn_count: _Count | None = Field(default=None, alias="turnCount")
    turn_budget: _Count | None = Field(default=None, alias="turnBudget")
    last_activity_at: fields.Title | None = Field(default=None, alias="lastActivityAt")
    inactivity_threshold_minutes: _Count | None = Field(default=None, alias="inactivityThresholdMinutes")
    task_completed: bool | None = Field(default=None, alias="taskCompleted")
    include_session_summary: bool | None = Field(default=None, alias="includeSessionSummary")


class _Statement(_Scoped):
    type: MemoryType | None = None
    layer: Layer | None = None
    tags: fields.Tags | None = None
    paths: Annotated[list[fields.Glob], Field(max_length=100)] | None = None
    category: fields.Category | None = None
    metadata: dict[str, Any] | None = None
    embedding_model: fields.Title | None = Field(
        default=None, alias="embeddingModel", description="Accepted, and without effect."
    )

    def arguments(self) -> dict[str, Any]:
        """What is given, as the tools take it."""
        return {name: getattr(self, name) for name in ("type", "layer", "tags", "paths", "category", "metadata")}


class SdkAddition(_Statement):
    """A memory to store."""

    content: fields.NonBlankText


class SdkChange(_Statement):
    """New values for a memory, at least one."""

    at_least_one = ("content", "type", "layer", "tags", "paths", "category", "metadata")
    id: fields.Id
    content: fields.NonBlankText | None = None


class SdkAnyScope(_Scoped):
    """Everything."""


class SdkId(_Scoped):
    """Which memory is meant."""

    id: fields.Id


class SdkSearch(_Scoped):
    """What to look for."""

    query: fields.Question
    type: MemoryType | None = None
    layer: Layer | None = None
    strategy: Strategy | None = _Ignored
    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT), fields.WHOLE] | None = None


class SdkListing(_Scoped):
    """Which memories are listed."""

    type: MemoryType | None = None
    layer: Layer | None = None
    tags: Annotated[str, Field(max_length=1000)] | None = None
    limit: Annotated[int, Field(ge=1, le=MAX_LIST), fields.WHOLE] | None = None


class SdkFilters(Strict):
    """Which memories are forgotten: those that meet all of it, or `all`."""

    types: Annotated[list[MemoryType], Field(max_length=5)] | None = None
    tags: fields.Tags | None = None
    older_than_days: Annotated[int, Field(ge=0, le=36_500), fields.WHOLE] | None = Field(
        default=None, alias="olderThanDays"
    )
    pattern: Annotated[str, Field(max_length=1000)] | None = Field(
        default=None, description="Part of the content; * and ? stand for anything."
    )
    project_id: fields.ProjectName | None = Field(default=None, alias="projectId")
    all_: bool | None = Field(default=None, alias="all")

    @property
    def names_something(self) -> bool:
        return bool(self.types or self.tags or self.older_than_days is not None or self.pattern or self.project_id)


def _chosen(schema: dict[str, Any]) -> None:
    """Tell in the document that something has to be chosen."""
    choices = {
        "types": {"type": "array", "minItems": 1},
        "tags": {"type": "array", "minItems": 1},
        "olderThanDays": {"not": {"type": "null"}},
        "pattern": {"type": "string", "minLength": 1},
        "projectId": {"type": "string"},
        "all": {"const": True},
    }
    schema["properties"]["filters"] = {
        "allOf": [
            schema["properties"]["filters"],
            {"anyOf": [{"required": [name], "properties": {name: one}} for name, one in choices.items()]},
        ]
    }


class SdkForgetting(_Scoped):
    """Memories to forget, or only to count."""

    model_config = ConfigDict(**Strict.model_config, json_schema_extra=_chosen)

    filters: SdkFilters
    dry_run: bool | None = Field(default=None, alias="dryRun")

    @model_validator(mode="after")
    def chooses_something(self) -> SdkForgetting:
        if not (self.filters.names_something or self.filters.all_):
            raise ValueError("filters: Name at least one, or all: true")
        return self


class _Meta(TypedDict):
    endpoint: str
    version: str
    notice: NotRequired[str]


class Envelope(TypedDict, Generic[Data]):
    """What every route answers."""

    ok: Literal[True]
    data: Data
    error: None
    meta: _Meta


class ContextData(TypedDict):
    """Active rules and relevant memories."""

    mode: str
    query: str
    rules: list[SdkMemory]
    memories: list[SdkMemory]
    workingMemories: list[SdkMemory]
    longTermMemories: list[SdkMemory]
    skillFiles: list[dict[str, Any]]
    conflicts: list[dict[str, Any]]


class MemoriesData(TypedDict):
    """Memories that were found or listed."""

    memories: list[SdkMemory]
    count: int


class ChangedData(TypedDict):
    """A memory that was stored or changed."""

    id: str
    message: str
    memory: SdkMemory
    duplicate: NotRequired[bool]


class ForgottenData(TypedDict):
    """A memory that was forgotten."""

    id: str
    message: str


class ForgottenRow(TypedDict):
    """One of several memories that were forgotten."""

    id: str
    type: str
    contentPreview: str


class AllForgottenData(TypedDict):
    """Memories that were forgotten, or would be."""

    count: int
    ids: list[str]
    memories: list[ForgottenRow]
    message: str


class PurgedData(TypedDict):
    """How many were purged."""

    purged: int
    message: str


def get_context(memory: LocalMemory, request: ApiRequest[None, SdkContext]) -> Answer[Envelope[ContextData]]:
    """Active rules, and the memories relevant to the query."""
    wanted = request.body
    data = _run("get_context", memory, query=wanted.query, limit=wanted.limit, project_id=wanted.project)
    rules = _rows(data["project_rules"]) + _rows(data["global_rules"])
    memories = _rows(data["memories"])
    working = [one for one in memories if one["layer"] == "working"]
    lasting = [one for one in memories if one["layer"] != "working"]
    chosen = {"all": memories, "working": working, "long_term": lasting, "rules_only": []}[wanted.mode]
    notices = [data["notice"]] if "notice" in data else []
    if {wanted.strategy, wanted.graph_depth, wanted.graph_limit} != {None}:
        notices.append(_ONE_SEARCH)
    return _done(
        "context/get",
        {
            "mode": wanted.mode,
            "query": wanted.query or "",
            "rules": [] if wanted.include_rules is False else rules,
            "memories": chosen,
            "workingMemories": working if chosen else [],
            "longTermMemories": lasting if chosen else [],
            "skillFiles": [],
            "conflicts": [],
        },
        notices,
    )


def add(memory: LocalMemory, request: ApiRequest[None, SdkAddition]) -> Answer[Envelope[ChangedData]]:
    """Store a memory; the same one again is found instead of repeated."""
    new = request.body
    data = _run("add_memory", memory, content=new.content, project_id=new.project, **new.arguments())
    verb = "Already stored" if data["duplicate"] else "Stored"
    reply: ChangedData = {
        "id": data["id"],
        "message": f"{verb} {data['type']} {data['id']}.",
        "memory": sdk_memory(data),
        "duplicate": data["duplicate"],
    }
    return _done("memories/add", reply, status=200 if data["duplicate"] else 201)


def search(memory: LocalMemory, request: ApiRequest[None, SdkSearch]) -> Answer[Envelope[MemoriesData]]:
    """Memories that answer a query, best first."""
    wanted = request.body
    given = {"query": wanted.query, "type": wanted.type, "layer": wanted.layer, "project_id": wanted.project}
    data = _run("search_memories", memory, limit=wanted.limit, **given)
    notices = [data["notice"]] if "notice" in data else []
    return _listed("memories/search", data, notices if wanted.strategy is None else [*notices, _ONE_SEARCH])


def list_memories(memory: LocalMemory, request: ApiRequest[None, SdkListing]) -> Answer[Envelope[MemoriesData]]:
    """The most recent memories."""
    wanted = request.body
    given = {"type": wanted.type, "layer": wanted.layer, "tags": wanted.tags, "project_id": wanted.project}
    return _listed("memories/list", _run("list_memories", memory, limit=wanted.limit, **given))


def edit(memory: LocalMemory, request: ApiRequest[None, SdkChange]) -> Answer[Envelope[ChangedData]]:
    """Change a memory; its history is kept."""
    new = request.body
    data = _run("edit_memory", memory, id=new.id, content=new.content, **new.arguments())
    verb = "Proposed" if data.get("review") == PROPOSED else "Updated"
    message = f"{verb} {data['type']} {data['id']}."
    return _done("memories/edit", ChangedData(id=data["id"], message=message, memory=sdk_memory(data)))


def forget(memory: LocalMemory, request: ApiRequest[None, SdkId]) -> Answer[Envelope[ForgottenData]]:
    """Take a memory out of every answer; it can be restored."""
    data = _run("forget_memory", memory, id=request.body.id)
    if not data["forgotten"]:
        message = f"Proposed to forget {data['id']}: a person has to accept {data['proposed']}."
    else:
        message = f"Forgot {data['id']}. To undo: {data['restore']}"
    return _done("memories/forget", {"id": data["id"], "message": message})


def bulk_forget(memory: LocalMemory, request: ApiRequest[None, SdkForgetting]) -> Answer[Envelope[AllForgottenData]]:
    """Take all memories that meet the filters out of every answer, or only tell which; they can be restored."""
    wanted = request.body
    found = list(_matching(memory, wanted.filters))
    proposed = 0
    if not wanted.dry_run and found:
        done = forget_items(memory, [item.id for item in found])
        proposed = sum(one.id != item.id for one, item in zip(done, found, strict=True))
    verb = "would be forgotten" if wanted.dry_run else "forgotten; `commonplace restore` brings them back"
    if proposed:
        verb = f"given, of which {proposed} are only proposed to be forgotten: a person has to accept that"
    return _done(
        "memories/bulk-forget",
        {
            "count": len(found),
            "ids": [item.short_id for item in found[:MAX_LISTED]],
            "memories": [
                {"id": item.short_id, "type": item.type, "contentPreview": shorten(item.text or item.title, PREVIEW)}
                for item in found[:MAX_LISTED]
            ],
            "message": f"{len(found)} {'memory' if len(found) == 1 else 'memories'} {verb}.",
        },
    )


def vacuum(_memory: LocalMemory, _request: ApiRequest[None, SdkAnyScope]) -> Answer[Envelope[PurgedData]]:
    """Nothing is purged: what was forgotten can be restored."""
    return _done("memories/vacuum", {"purged": 0, "message": "Nothing was purged: forgotten memories can be restored."})


def _matching(memory: LocalMemory, filters: SdkFilters) -> Iterator[Item]:
    """The memories that meet every filter, newest first."""
    scope = Scope(project=filters.project_id, kinds=("memory",), types=tuple(filters.types or ()))
    now_ms = memory.clock()
    cursor, count = None, 0
    while True:
        page = browse_items(memory, scope, MAX_PAGE, cursor)
        for item in page.items:
            if not _meets(item, filters, now_ms):
                continue
            count += 1
            if count > MAX_FORGOTTEN:
                raise TooLarge(f"More than {MAX_FORGOTTEN} memories match.", "Narrow the filters, and call again.")
            yield item
        cursor = page.next_cursor
        if cursor is None:
            return


def _meets(item: Item, filters: SdkFilters, now_ms: int) -> bool:
    if filters.older_than_days is not None and item.created_ms > now_ms - filters.older_than_days * DAY_MS:
        return False
    if filters.tags:
        wanted = {tag.casefold() for tag in filters.tags}
        if wanted.isdisjoint(tag.casefold() for tag in item.tags):
            return False
    return not filters.pattern or fnmatchcase(item.text.casefold(), f"*{filters.pattern.casefold()}*")


def _rows(data: Sequence[Mapping[str, Any]]) -> list[SdkMemory]:
    return [sdk_memory(row) for row in data]


def _run(name: str, memory: LocalMemory, **arguments: Any) -> dict[str, Any]:
    given = {key: value for key, value in arguments.items() if value is not None}
    return dict(_BY_NAME[name].run(memory, given).data)


def _listed(endpoint: str, data: dict[str, Any], notices: list[str] | None = None) -> Answer[Envelope[MemoriesData]]:
    memories = _rows(data["memories"])
    return _done(endpoint, {"memories": memories, "count": len(memories)}, notices)


def _done(endpoint: str, data: Mapping[str, Any], notices: list[str] | None = None, status: int = 200) -> Answer[Any]:
    meta: dict[str, Any] = {"endpoint": f"{ROOT}/{endpoint}", "version": commonplace.__version__}
    if notices:
        meta["notice"] = " ".join(notices)
    return Answer({"ok": True, "data": data, "error": None, "meta": meta}, status=status)
