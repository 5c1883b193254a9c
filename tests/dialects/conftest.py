"""The world of the Kiro reference's examples, ids included, and a way to call a tool as a front door does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from tests.conftest import THEN, Clock
from tests.memory.past_work import NOW, local, work

from commonplace.config import load
from commonplace.dialects import ecm, get_context, kiro, sekha
from commonplace.dialects import memories as memories_dialect
from commonplace.dialects.tool import Reply, Tool
from commonplace.memory.local_memory import LocalMemory, open_memory
from commonplace.memory.remember import NewItem, remember_all

MINUTE = 60_000
TOOLS: dict[str, Tool] = {
    tool.name: tool for tool in (*memories_dialect.TOOLS, *sekha.TOOLS, *ecm.TOOLS, *kiro.TOOLS, *get_context.TOOLS)
}

Call = Callable[..., dict[str, Any]]


def calling(memory: LocalMemory) -> Call:
    """Calls a tool by name and checks that the answer has the shape the tool announces."""

    def call(name: str, /, **arguments: Any) -> dict[str, Any]:
        reply = TOOLS[name].run(memory, arguments)
        Draft202012Validator(TOOLS[name].output).validate(reply.data)
        return dict(reply.data)

    return call


@pytest.fixture
def call(memory: LocalMemory) -> Call:
    return calling(memory)


class Memories:
    """Calls the tools of memories.sh as a front door does; each reply must have the shape its tool announces."""

    def __init__(self, memory: LocalMemory) -> None:
        self.memory = memory

    def __call__(self, name: str, /, **arguments: Any) -> Reply[Any]:
        tool = next(tool for tool in memories_dialect.TOOLS if tool.name == name)
        reply = tool.run(self.memory, arguments)
        Draft202012Validator(tool.output).validate(reply.data)
        return reply

    def add(self, content: str, type_: str = "note", **more: Any) -> str:
        """Add a memory; its id."""
        id_: str = self("add_memory", content=content, type=type_, **more).data["id"]
        return id_

    def contents(self, name: str, /, **arguments: Any) -> list[str]:
        """What the memories of a reply say, in order."""
        return [memory["content"] for memory in self(name, **arguments).data["memories"]]


@pytest.fixture
def memories(memory: LocalMemory) -> Memories:
    return Memories(memory)


def happened(type_: str, title: str, narrative: str, minute: int, **details: str) -> NewItem:
    """Something that an agent did on my-api, some minutes before or after half past two."""
    return NewItem(
        kind="observation",
        type=type_,
        title=title,
        content=details.pop("text", ""),
        details={"narrative": narrative, **details},
        project="my-api",
        session="session-abc",
        created_ms=THEN + minute * MINUTE,
    )


FILLERS = [
    NewItem(kind="observation", title=f"Watered plant {n}", project="garden", created_ms=THEN - (n + 60) * MINUTE)
    for n in range(138)
]
EXAMPLE = [
    happened("file-read", "auth.ts", "Read auth.ts to understand its structure", -10, files_read="src/auth.ts"),
    happened("command", "npm test", "Ran npm test — 47 tests passed (success)", -5, facts="npm test"),
    happened("file-read", "routes.ts", "Read routes.ts", -2, files_read="src/routes.ts"),
    happened(
        "file-write",
        "Modified auth.ts",
        "Added JWT verification middleware for authentication to Express routes",
        0,
        subtitle="edit src/auth.ts",
        text='Input: {"path": "src/auth.ts"}',
        facts="src/auth.ts",
        concepts="security, api, middleware",
        files_modified="src/auth.ts",
    ),
    happened("file-write", "Modified routes.ts", "Modified routes.ts — replacing 12 lines with 18 lines", 5),
]
SUMMARY = NewItem(
    kind="summary",
    project="my-api",
    session="session-abc",
    details={
        "request": "my-api — authentication implementation — 2025-03-15",
        "completed": "Modified auth.ts, Modified routes.ts",
    },
    created_ms=THEN + 210 * MINUTE,
)
CHECKPOINT = NewItem(
    kind="checkpoint",
    project="my-api",
    session="session-abc",
    details={"task": "Rate limit the login", "progress": "Limiter drafted", "next_steps": "Test it"},
    created_ms=THEN + 200 * MINUTE,
)
DECISION = NewItem(
    content="JWT provides stateless authentication suitable for our REST API. Decision made after comparing"
    " session-based vs token-based auth.",
    title="Use JWT for API authentication",
    type="decision",
    project="my-api",
    created_ms=THEN - 7 * 24 * 60 * MINUTE,
)


@pytest.fixture
def example(memory: LocalMemory, clock: Clock) -> LocalMemory:
    """Observations 139 to 143 as in the reference, then a summary (144), a checkpoint (145) and a decision (146)."""
    remember_all(memory, [*FILLERS, *EXAMPLE, SUMMARY, CHECKPOINT, DECISION])
    clock.forward(minutes=240)
    return memory


@pytest.fixture
def past(memory: LocalMemory, clock: Clock) -> Call:
    """Calls a tool of a book that has two months of work behind it, searched by words."""
    clock.now = local(NOW)
    work(memory)
    return calling(memory)


@pytest.fixture(scope="module")
def wise_past(tmp_path_factory: pytest.TempPathFactory, data_folder: Callable[..., Path]) -> Iterator[Call]:
    """The same with meaning, and with topics."""
    folder = data_folder(tmp_path_factory.mktemp("past") / "data")
    opened = open_memory(load({"data_dir": str(folder)}, env={}), Clock(local(NOW)))
    work(opened)
    yield calling(opened)
    opened.close()
