"""What an endpoint is: a row of the table. Its function gets checked values and answers with plain data."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel

from commonplace.dialects.schema import Schema
from commonplace.errors import Conflict
from commonplace.input_limits import MAX_VALUES
from commonplace.memory.local_memory import LocalMemory
from commonplace.model import Item, Key, Session
from commonplace.workers import Workers

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
Scope = Literal["read", "write", "admin"]
# Methods that change something, and so can be named by an Idempotency-Key.
WRITING_METHODS: tuple[Method, ...] = ("POST", "PUT", "PATCH", "DELETE")

# So often the key of a long answer, or of a stream, is looked up again.
RECHECK_SECONDS = 2.0

_Query = TypeVar("_Query")
_Body = TypeVar("_Body")
# After the revision there may be a mark of what belongs to it.
_REV = re.compile(r'(?:W/)?"r([0-9]{1,15})(?:[.][0-9a-f]+)?"')


@dataclass(frozen=True, slots=True)
class ServerContext:
    """What endpoints can know about the server they are part of."""

    workers: Workers
    # What is here, as OpenAPI tells it.
    document: Callable[[], bytes]
    # What was counted, and what this book holds, as Prometheus reads it.
    counted: Callable[[LocalMemory], bytes]
    # Whether the server is about to end.
    ending: Callable[[], bool]


@dataclass(frozen=True, slots=True)
class ApiRequest(Generic[_Query, _Body]):
    """A request after every check: who asks, and what was in its path, its query and its body.

    `files` is a body that was kept. `recheck` looks the caller's key up again: Unauthorized if it works no more.
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
class Answer:
    """What to reply: `data` as JSON, else `content` as it is, else a `stream` of lines.

    `ours`: nothing in the data is what somebody said, so nothing in it is blacked out. `told_once` joins it, and is
    not kept for repeating. `media` is what it is where that differs from the endpoint's own.
    """

    data: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None
    status: int = 200
    etag: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    ours: bool = False
    shown_once: Mapping[str, Any] = field(default_factory=dict)
    content: bytes = b""
    stream: Callable[[], AsyncIterator[bytes]] | None = None
    media: str | None = None


Call = Callable[[LocalMemory, ApiRequest[Any, Any]], Answer]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One row: where, what for, who may, what goes in and what comes out.

    `reply` is the JSON schema of the answer; `media` is what it is where it is not JSON, and `json_reply` the schema
    of the JSON that some callers of such an endpoint get instead. `also` are statuses that
    it can answer besides `status` and those of every endpoint. Without a `scope` no key is asked for.
    """

    method: Method
    path: str
    summary: str
    tag: str
    scope: Scope | None
    call: Call
    reply: Schema | None = None
    query: type[BaseModel] | None = None
    body: type[BaseModel] | None = None
    status: int = 200
    also: tuple[int, ...] = ()
    media: str = "application/json"
    json_reply: Schema | None = None
    headers: tuple[str, ...] = ()
    body_optional: bool = False
    # Kinds of body that are kept in files instead of being read.
    takes: tuple[str, ...] = ()
    # Whether its body may come packed by gzip.
    packed: bool = False
    # How many JSON values its body may hold.
    max_values: int = MAX_VALUES
    # Whether it may take seconds, so that it must not keep others from the threads for ordinary calls.
    slow: bool = False

    @property
    def params(self) -> list[str]:
        """The names in its path."""
        return re.findall(r"{(\w+)", self.path)

    @property
    def name(self) -> str:
        """Unique among endpoints, for clients that are generated."""
        room = self.call.__module__.rpartition(".")[2]
        return f"{room}_{self.call.__name__.strip('_')}_{self.method.lower()}"


def caller_id(key: Key | None) -> int | None:
    """Whose call it is, so that callers take turns."""
    return None if key is None else key.id


def etag_of(item: Item | Session) -> str:
    """A revision as HTTP names it."""
    return f'"r{item.rev}"'
