"""What an endpoint is: a row of the table. Its function gets checked values and answers with plain data."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import NoneType
from typing import Any, Generic, Literal, TypeVar, get_args, get_origin, get_type_hints

from pydantic import BaseModel

from commonplace.errors import Conflict
from commonplace.memory.local_memory import LocalMemory
from commonplace.model import Item, Key, Session
from commonplace.text.untrusted_json import MAX_VALUES
from commonplace.worker_threads import Workers

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
Scope = Literal["read", "write", "admin"]
# Methods that change something, and so can be named by an Idempotency-Key.
WRITING_METHODS: tuple[Method, ...] = ("POST", "PUT", "PATCH", "DELETE")

# So often the key of a long answer, or of a stream, is looked up again.
RECHECK_SECONDS = 2.0

_Query = TypeVar("_Query")
_Body = TypeVar("_Body")
_Reply = TypeVar("_Reply")
# After the revision there may be a mark of what belongs to it.
_REV = re.compile(r'(?:W/)?"r([0-9]{1,15})(?:[.][0-9a-f]+)?"')


@dataclass(frozen=True, slots=True)
class ServerContext:
    """What endpoints can know about the server they are part of."""

    workers: Workers
    # The OpenAPI document.
    document: Callable[[], bytes]
    # What was counted, and what this memory holds, as Prometheus reads it.
    counted: Callable[[LocalMemory], bytes]
    # Whether the server is about to end.
    ending: Callable[[], bool]


@dataclass(frozen=True, slots=True)
class ApiRequest(Generic[_Query, _Body]):
    """A request after every check: who asks, and what was in its path, its query and its body.

    `files` are those that the body was saved to. `recheck` looks the caller's key up again: Unauthorized if it works
    no more.
    """

    path: Mapping[str, str]
    query: _Query
    body: _Body
    headers: Mapping[str, str]
    server: ServerContext
    key: Key | None = None
    files: tuple[Path, ...] = ()
    recheck: Callable[[], None] = lambda: None

    @property
    def caller(self) -> int | None:
        return caller_id(self.key)

    async def pieces(self, make: Callable[[], bytes]) -> AsyncIterator[bytes]:
        """A long answer, each piece made by a thread for slow work; Unauthorized once the key works no more."""
        checked = time.monotonic()
        while piece := await self.server.workers.slow.do(make, self.caller):
            if time.monotonic() - checked > RECHECK_SECONDS:
                await self.server.workers.do(self.recheck, self.caller)
                checked = time.monotonic()
            yield piece

    def expected_rev(self, item: Item | Session, named: int | None = None) -> int | None:
        """The revision that a change is meant for, by If-Match or by name. Conflict if it is at another."""
        match = self.headers.get("if-match", "*").strip()
        revs = {int(rev) for rev in _REV.findall(match)} if match != "*" else {item.rev}
        if item.rev not in revs or (named is not None and named != item.rev):
            wanted = named if named is not None else match[:60]
            what = "Item" if isinstance(item, Item) else "Conversation"
            raise Conflict(f"{what} {item.short_id} is at revision {item.rev}, not at {wanted}.")
        return item.rev if match != "*" or named is not None else None


@dataclass(frozen=True, slots=True)
class Answer(Generic[_Reply]):
    """What to reply: `data` as JSON, else `content` as it is, else a `stream` of lines.

    Secrets are removed from the data unless it is `trusted`: made by this program, with nothing in it that somebody
    wrote. `shown_once` joins it, and is not saved for repeating. `media` is the media type where that differs from the
    endpoint's own.
    """

    data: _Reply | None = None
    status: int = 200
    etag: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    trusted: bool = False
    shown_once: Mapping[str, Any] = field(default_factory=dict)
    content: bytes = b""
    stream: Callable[[], AsyncIterator[bytes]] | None = None
    media: str | None = None


Call = Callable[[LocalMemory, ApiRequest[Any, Any]], Answer[Any]]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One row: where, what for, who may. What goes in and what comes out is in the signature of its function.

    `media` is the media type of the answer where it is not JSON, and `json_reply` the type of the JSON that some
    callers of such an endpoint get instead. `also` are statuses that it can answer besides `status` and those of every
    endpoint. Without a `scope` no key is needed.
    """

    method: Method
    path: str
    call: Call
    # Unique among endpoints, for clients that are generated from the document.
    operation_id: str
    summary: str
    scope: Scope | None
    tag: str = ""
    status: int = 200
    also: tuple[int, ...] = ()
    media: str = "application/json"
    json_reply: Any = None
    headers: tuple[str, ...] = ()
    body_optional: bool = False
    # Media types of bodies that are saved to files instead of being read.
    takes: tuple[str, ...] = ()
    # Whether its body may come packed by gzip.
    packed: bool = False
    # How many JSON values its body may hold.
    max_values: int = MAX_VALUES
    # Whether it may take seconds, so that it must not keep others from the threads for ordinary calls.
    slow: bool = False
    # Whether a project that it reads may have nothing yet. Elsewhere a name that nobody knows is a typing error.
    new_project: bool = False

    @property
    def reads_known_project(self) -> bool:
        """Whether it reads a project that may be named, and has to be there."""
        fields = {name for part in (self.query, self.body) if part is not None for name in part.model_fields}
        return self.scope == "read" and "project" in fields and not self.new_project

    @property
    def params(self) -> list[str]:
        """The names in its path."""
        return re.findall(r"{(\w+)", self.path)

    @property
    def query(self) -> type[BaseModel] | None:
        """What checks and describes its query; None if it has none."""
        return _signature(self.call)[0]

    @property
    def body(self) -> type[BaseModel] | None:
        """What checks and describes its body; None if it has none."""
        return _signature(self.call)[1]

    @property
    def reply(self) -> Any:
        """The type of its answer's data; None if that is no JSON."""
        return _signature(self.call)[2]


@cache
def _signature(call: Call) -> tuple[type[BaseModel] | None, type[BaseModel] | None, Any]:
    """The types of query, body and reply: `(memory, request: ApiRequest[Query, Body]) -> Answer[Reply]`."""
    hints = get_type_hints(call, include_extras=True)
    reply = get_args(hints.pop("return"))[0]
    query, body = next(get_args(hint) for hint in hints.values() if get_origin(hint) is ApiRequest)
    return tuple(None if one is NoneType else one for one in (query, body, reply))  # type: ignore[return-value]


def caller_id(key: Key | None) -> int | None:
    """Whose call it is, so that callers take turns."""
    return None if key is None else key.id


def etag_of(item: Item | Session) -> str:
    """A revision as HTTP names it."""
    return f'"r{item.rev}"'
