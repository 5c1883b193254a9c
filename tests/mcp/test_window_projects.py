"""Two repositories: an agent in the window of one is told nothing of the other, unless it asks for it."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from tests.forked_process import command
from tests.mcp.conftest import data_of, environment, play

from commonplace import Memory

OURS, THEIRS = "field-app", "platform"
SECRET = "Customer data of Hartmann stays in Falkenstein"


def repository(folder: Path) -> Path:
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    (folder / ".git" / "config").write_text("[core]\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two repositories, and a memory of both with meaning."""
    folder = tmp_path_factory.mktemp("work")
    for name in (OURS, THEIRS):
        repository(folder / name)
    with Memory(folder / "data") as memory:
        memory.remember("Use pnpm, never npm", type="rule", project=OURS)
        memory.remember(
            "Push notifications through OneSignal. Our privacy officer said no", type="rejected", project=OURS
        )
        memory.remember("Offline data is stored with op-sqlite", type="decision", project=OURS)
        memory.remember("Answer in English", type="rule")
        memory.remember(SECRET, type="constraint", project=THEIRS)
        memory.remember("The data of customers is backed up at night", type="fact", project=THEIRS)
        chat = [("user", "Where does my therapist store the data of customers?"), ("assistant", "In a diary.")]
        memory.store_conversation("Private: data of customers", chat, folder="/chatgpt")
        memory.search("where is the data of customers stored")
    return folder


@contextlib.asynccontextmanager
async def window(work: Path, folder: str, profile: str = "core") -> AsyncIterator[Client]:
    """A client of `commonplace mcp` in a folder, with the built-in model."""
    program, *rest = command("mcp", "--profile", profile)
    env = {**environment(work), "COMMONPLACE_DATA_DIR": str(work / "data"), "COMMONPLACE_EMBEDDER": "builtin"}
    server = StdioServerParameters(command=program, args=rest, env=env, cwd=work / folder)
    with (work / "stderr.txt").open("a", encoding="utf-8") as errlog:
        async with Client(stdio_client(server, errlog=errlog), mode="auto", cache=None) as client:
            yield client


async def told(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    return "\n".join(block.text for block in result.content if block.type == "text")


QUESTION = "where is the data of customers stored"


def test_what_an_agent_asks_is_answered_from_its_window(work: Path) -> None:
    asked: list[tuple[str, dict[str, Any]]] = [
        ("get_context", {"project": OURS, "query": QUESTION}),
        ("get_context", {"query": QUESTION}),
        ("get_context", {"token_budget": 4000}),
        ("search", {"query": QUESTION}),
        ("recall", {"query": QUESTION, "minScore": 0.0}),
        ("explain", {"topic": "data of customers"}),
        ("predict", {"context": QUESTION}),
        ("search_memories", {"query": QUESTION}),
        ("list_memories", {}),
        ("get_rules", {}),
    ]

    async def story() -> None:
        async with window(work, OURS, "all") as client:
            assert client.instructions is not None and f"This window's project is {OURS}." in client.instructions
            for tool, arguments in asked:
                text = await told(client, tool, **arguments)
                assert "Hartmann" not in text and "backed up" not in text and "therapist" not in text, (tool, text)
            assert "op-sqlite" in await told(client, "search", query=QUESTION)
            for tool, arguments in asked[3:7]:
                everywhere = await told(client, tool, **{**arguments, "project": "all"})
                assert "Hartmann" in everywhere or "backed up" in everywhere or "therapist" in everywhere, tool
            assert "Hartmann" in await told(client, "search", query=QUESTION, project=THEIRS)
            assert "therapist" in await told(client, "memory_search", query=QUESTION)

    play(story)


def test_a_reply_says_where_it_was_looked_and_how_to_look_everywhere(work: Path) -> None:
    async def story() -> None:
        async with window(work, OURS) as client:
            for tool, arguments in (("search", {}), ("recall", {"minScore": 0.0})):
                here = data_of(await client.call_tool(tool, {"query": QUESTION, **arguments}))
                assert OURS in here["notice"] and 'project "all"' in here["notice"]
                named = data_of(await client.call_tool(tool, {"query": QUESTION, "project": "all", **arguments}))
                assert "searched" not in named.get("notice", "").lower()
        async with window(work, ".") as client:
            nowhere = data_of(await client.call_tool("search", {"query": QUESTION}))
            assert "name your project" in nowhere["notice"]
            assert "Hartmann" not in str(nowhere) and "therapist" not in str(nowhere)

    play(story)


def test_the_profile_of_the_kiro_reference_searches_all_projects_its_own_first(work: Path) -> None:
    async def story() -> None:
        async with window(work, OURS, "kiro") as client:
            context = data_of(await client.call_tool("get_context", {"project": OURS, "query": QUESTION}))
            projects = [item["project"] for item in context["items"]]
            assert THEIRS in projects
            assert max(n for n, name in enumerate(projects) if name == OURS) < projects.index(THEIRS)
            assert SECRET in str(data_of(await client.call_tool("search", {"query": QUESTION})))

    play(story)


def test_what_an_agent_adds_belongs_to_its_window_and_is_compared_there(work: Path) -> None:
    async def story() -> None:
        async with window(work, OURS) as client:
            await client.call_tool("search", {"query": "which package manager"})
            yarn = await client.call_tool("add_memory", {"content": "Use yarn instead of pnpm", "type": "rule"})
            assert data_of(yarn)["project_id"] == OURS
            assert "Use pnpm, never npm" in str(data_of(yarn)["contradicts"])
            everywhere = {"content": "Use yarn, never pnpm", "type": "rule", "project_id": "global"}
            said = data_of(await client.call_tool("add_memory", everywhere))
            assert said["project_id"] is None and "Use pnpm, never npm" in str(said["contradicts"])
            idea = {"content": "Use OneSignal for push notifications", "type": "decision"}
            again = await client.call_tool("add_memory", idea)
            assert "privacy officer" in str(data_of(again)["contradicts"])
            german = data_of(
                await client.call_tool("add_memory", {"content": "Never answer in English", "type": "rule"})
            )
            assert "Answer in English" in str(german["contradicts"])

    play(story)


def test_a_rule_that_nobody_placed_is_not_everybodys_by_oversight(work: Path) -> None:
    async def story() -> None:
        async with window(work, ".") as client:
            for type_ in ("rule", "decision"):
                refused = await client.call_tool("add_memory", {"content": "We always squash", "type": type_})
                assert refused.is_error and "project_id" in str(refused.structured_content)
            note = await told(client, "add_memory", content="The office moved to Kiel", type="fact")
            assert "(global)" in note and "every project sees this" in note
            meant = {"content": "Always squash", "type": "rule", "project_id": "global"}
            assert data_of(await client.call_tool("add_memory", meant))["project_id"] is None

    play(story)
