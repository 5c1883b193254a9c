"""Whoever holds one space learns and changes nothing of another through any tool, whatever id they stole."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest
from tests.conftest import Clock
from tests.dialects.conftest import TOOLS

from commonplace.config import Settings
from commonplace.dialects import tool_profiles
from commonplace.dialects.tool import Tool
from commonplace.dialects.tool_profiles import tools_of
from commonplace.errors import NoResults, NotFound
from commonplace.memory import streamed_memories
from commonplace.memory.conversations import NewConversation, NewMessage, messages_after, store_conversation
from commonplace.memory.graph import link_new_passages
from commonplace.memory.local_memory import LocalMemory, open_memory
from commonplace.memory.remember import NewItem, remember
from commonplace.model import Scope, SessionScope

ALL: tuple[Tool, ...] = tuple(tool for tools in tool_profiles.DIALECTS.values() for tool in tools)
PROJECT = "github.com/acme/arctic"
LABEL, FOLDER = "Winter plans", "/arctic/winter"


@dataclass(frozen=True, slots=True)
class Loot:
    """Somebody's memory, and everything about it that another could have got hold of; not what it says."""

    memory: LocalMemory
    hidden: str
    items: tuple[int | str, ...]
    talk: int
    talks: tuple[str, ...]
    stream: str


Arguments = dict[str, Any]
Attempts = Callable[[Loot], list[Arguments]]


def of_items(name: str, **more: Any) -> Attempts:
    return lambda loot: [{name: str(id_), **more} for id_ in loot.items]


def of_talks(**more: Any) -> Attempts:
    return lambda loot: [{"conversation_id": id_, **more} for id_ in loot.talks]


def of_number(**more: Any) -> Attempts:
    """A number may mean a message of one's own as well."""
    return lambda loot: [{"conversation_id": str(loot.talk), **more}]


def of_stream(**more: Any) -> Attempts:
    return lambda loot: [{"stream_id": loot.stream, **more}]


def asking(*arguments: Arguments) -> Attempts:
    return lambda _loot: list(arguments)


# What each tool is tried with: stolen ids, none of which may be there, and questions, whose answers are one's own.
STOLEN: dict[str, Attempts] = {
    "kiro:timeline": lambda loot: [{"anchor_id": id_} for id_ in loot.items],
    "memories:edit_memory": of_items("id", content="taken over"),
    "memories:forget_memory": of_items("id"),
    "memories:append_memory_chunk": of_stream(chunk="taken over"),
    "memories:finalize_memory_stream": of_stream(),
    "memories:cancel_memory_stream": of_stream(),
    "sekha:memory_update": of_talks(label="Taken over", folder="/taken", status="archived"),
    "sekha:memory_get_context": of_talks(),
    "sekha:memory_export": lambda loot: [*of_talks()(loot), *of_talks(format="markdown")(loot)],
    "chatgpt:fetch": lambda loot: [{"id": str(id_)} for id_ in (*loot.items, *loot.talks)],
}
ASKED: dict[str, Attempts] = {
    "kiro:search": asking({"query": "walrus"}, {"query": "title:walrus OR ice*"}, {"query": "ice", "project": PROJECT}),
    "kiro:get_observations": lambda loot: [{"ids": list(loot.items)}, *({"ids": [id_]} for id_ in loot.items)],
    "kiro:get_context": asking({"project": PROJECT}, {"project": PROJECT, "query": "walrus"}, {"project": "arctic"}),
    "memories:get_context": asking({}, {"query": "walrus"}, {"project_id": PROJECT, "files": ["ice.md"]}),
    "memories:add_memory": asking({"content": "The walrus is mine", "type": "note", "project_id": PROJECT}),
    "memories:search_memories": asking({"query": "walrus"}, {"query": "walrus", "project_id": PROJECT}),
    "memories:get_rules": asking({}, {"project_id": PROJECT}),
    "memories:list_memories": asking({"limit": 50}, {"tags": "cold"}, {"project_id": PROJECT}),
    "memories:start_memory_stream": asking({"type": "note"}),
    "ecm:recall": asking({"query": "walrus", "minScore": 0.0}),
    "ecm:explain": asking({"topic": "walrus"}, {"topic": "Winter plans"}),
    "ecm:predict": asking({"context": "the walrus swims to ice.md"}),
    "sekha:memory_store": asking(
        {"label": LABEL, "folder": FOLDER, "messages": [{"role": "user", "content": "Where does the walrus sleep?"}]}
    ),
    "sekha:memory_search": asking({"query": "walrus"}, {"query": "walrus", "filter_labels": [LABEL]}),
    "sekha:memory_update": of_number(label="Taken over"),
    "sekha:memory_get_context": of_number(),
    "sekha:memory_export": of_number(),
    "sekha:memory_prune": asking({"threshold_days": 1, "importance_threshold": 10.0}),
    "sekha:memory_stats": asking({}, {"folder": FOLDER}),
    "chatgpt:search": asking({"query": "walrus"}, {"query": "title:walrus OR ice*"}),
}


def test_every_tool_is_tried() -> None:
    assert {f"{tool.dialect}:{tool.name}" for tool in ALL} == {*STOLEN, *ASKED}
    assert {tool.name for tool in ALL} == {tool.name for tool in tools_of("all")}


@pytest.fixture(params=[(0, 1), (1, 0)], ids=["first", "second"])
def sides(request: pytest.FixtureRequest, settings: Settings, clock: Clock) -> Iterator[tuple[Loot, Loot]]:
    """Who steals, and from whom: each of two spaces from the other."""
    filled = [fill(open_memory(replace(settings, space=name), clock)) for name in ("first", "second")]
    thief, owner = request.param
    yield filled[thief], filled[owner]
    for loot in filled:
        loot.memory.close()


def fill(memory: LocalMemory) -> Loot:
    hidden = f"secretly{memory.settings.space}"
    text = f"The walrus sleeps {hidden}, see ice.md"
    item = remember(memory, NewItem(text, title="Walrus", type="rule", project=PROJECT, session="s", tags=["cold"]))
    remember(
        memory, NewItem(text, title="Walrus", kind="observation", type="file-read", details={"files_read": "ice.md"})
    )
    stream = streamed_memories.start_stream(memory).id
    streamed_memories.append_to_stream(memory, stream, text)
    turns = [NewMessage("user", f"Where does the walrus sleep {hidden}?"), NewMessage("assistant", text)]
    talk = store_conversation(memory, NewConversation(LABEL, turns, FOLDER, project=PROJECT)).session
    messages, _more = messages_after(memory, talk.id, 9)
    while link_new_passages(memory):
        pass
    of = [(item.id, item.uid), *((message.id, message.uid) for message in messages)]
    stolen = [spelled for id_, uid in of for spelled in (id_, uid, uid[-12:])]
    return Loot(memory, hidden, tuple(stolen), talk.id, (talk.uid, talk.uid[-12:]), stream)


def everything(memory: LocalMemory) -> list[object]:
    """All that a space can tell of itself."""
    store = memory.store
    items = store.newest(Scope(), 1000)
    ids = [item.id for item in items]
    passages = [passage for group in store.passages_of(ids).values() for passage in group]
    histories = [store.history(id_) for id_ in ids]
    counts = replace(store.counts(), bytes=0), store.session_counts(SessionScope(), 99)
    return [items, histories, store.sessions_of(ids), store.streams(0), store.projects(), counts, passages]


@pytest.mark.parametrize("tool", ALL, ids=lambda tool: f"{tool.dialect}-{tool.name}")
def test_no_tool_reaches_into_another_space(sides: tuple[Loot, Loot], tool: Tool) -> None:
    thief, owner = sides
    before = everything(owner.memory)
    name = f"{tool.dialect}:{tool.name}"
    if name in STOLEN:
        for arguments in STOLEN[name](owner):
            with pytest.raises(NotFound) as refused:
                tool.run(thief.memory, arguments)
            assert owner.hidden not in f"{refused.value.message} {refused.value.hint}"
    for arguments in ASKED.get(name, asking())(owner):
        with contextlib.suppress(NotFound, NoResults):
            reply = tool.run(thief.memory, arguments)
            assert owner.hidden not in f"{reply.data} {reply.text}", arguments
    assert everything(owner.memory) == before


def test_nothing_of_another_space_is_superseded(sides: tuple[Loot, Loot]) -> None:
    thief, owner = sides
    before = everything(owner.memory)
    for stolen in owner.items:
        with pytest.raises(NotFound):
            TOOLS["edit_memory"].run(thief.memory, {"id": str(thief.items[0]), "supersedes": str(stolen)})
    assert everything(owner.memory) == before


def test_what_is_asked_is_found_at_home(sides: tuple[Loot, Loot]) -> None:
    """Else finding nothing of others would prove nothing."""
    thief, _owner = sides
    for name in ("kiro:search", "kiro:get_observations", "memories:get_rules", "ecm:recall", "sekha:memory_search"):
        tool = next(tool for tool in ALL if f"{tool.dialect}:{tool.name}" == name)
        assert any(thief.hidden in tool.run(thief.memory, arguments).text for arguments in ASKED[name](thief))
