"""The library against a real server: the methods, types and errors of a local store, with the rights of a key."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.rest.conftest import Site, running, settings_in

from commonplace import AsyncMemory, Conflict, InvalidInput, Item, Memory, NewItem, NoResults, NotFound
from commonplace.errors import Forbidden, RemoteError, Unauthorized
from commonplace.library.verbs import VERBS


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with running(settings_in(tmp_path_factory.mktemp("site"))) as site:
        yield site


@pytest.fixture
def library(site: Site) -> Iterator[Memory]:
    with Memory(site.url, key=site.secrets["write"]) as memory:
        yield memory


def test_an_address_is_opened_as_a_remote_memory(library: Memory) -> None:
    assert library.embedding_state == "off"
    total = library.status()["total"]
    assert isinstance(total, int)
    with pytest.raises(InvalidInput, match="on a server"):
        _ = library.local


def test_items_go_there_and_come_back(library: Memory) -> None:
    item = library.remember("Turbines are oiled on Mondays", type="decision", project="works", tags=["oil"])
    assert isinstance(item, Item) and item.tags == ("oil",)
    assert library.remember("Oil is kept cold", type="rule", category="oil").details["category"] == "oil"
    (hit,) = library.search("when are turbines oiled?", project="works")
    assert hit.item.id == item.id and 0 < hit.relevance <= 1
    assert library.edit(item.id, content="Turbines are oiled on Fridays").rev == 2
    assert [change.rev for change in library.history(item.uid)] == [1]
    assert library.revert(item.id).body == item.body
    assert library.forget(item.id)[0].forgotten_ms is not None
    with pytest.raises(NotFound, match="no item"):
        library.get(item.id)
    assert library.restore(item.id)[0].id == item.id
    again = library.add(NewItem("Turbines are oiled on Mondays", type="decision", project="works", meta={"n": 1}))
    assert again.duplicate and again.item.meta == {"n": 1}
    assert [entry.item.id for entry in library.timeline(item.id, before=0, after=0)] == [item.id]


@pytest.mark.parametrize(
    ("variable", "value", "name"), [("CLAUDECODE", "1", "claude-code"), ("AI_AGENT", "ämp", "?mp")]
)
def test_a_program_that_an_agent_runs_is_the_agents_there_too(
    library: Memory, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, name: str
) -> None:
    mine = library.remember(f"Valves for {name} are checked by a person", type="rule")
    monkeypatch.setenv(variable, value)
    item = library.remember(f"Valves for {name} are checked by an agent", type="rule")
    assert item.origin == "agent" and (item.author or "").endswith(f"via {name.replace('?', '')}".strip())
    with pytest.raises(Forbidden, match="Only a person"):
        library.show_in_profile(mine.id, "hidden")
    monkeypatch.delenv(variable)
    assert library.remember(f"Valves for {name} are checked again", type="rule").origin == "person"


def test_conversations_and_past_sessions_too(library: Memory) -> None:
    stored = library.store_conversation(
        "Broken pump",
        [("user", "Why does the pump leak?"), ("assistant", "Its seal is worn: I replaced it.")],
        key="pump",
    )
    assert stored.added == 2
    assert library.conversation("pump").messages[0].body == "Why does the pump leak?"
    assert library.update_conversation("pump", status="pinned").importance == 10.0
    assert library.recall("pump leak", min_score=0.0).chunks[0].item.session == "pump"
    assert "seal is worn" in library.explain("pump leak").summary
    assert any(one.session.key == "pump" for one in library.report(since="1d").sessions)
    assert library.reconstruct("pump").messages[0].whole
    assert library.context("pump").items and library.rules().project == ()
    with pytest.raises(NoResults):
        library.recall("zebra xylophone quagga")


def test_errors_are_those_of_a_local_memory(library: Memory, tmp_path: Path) -> None:
    with Memory(tmp_path, embedder="off") as local:
        for memory in (library, local):
            with pytest.raises(NotFound, match=r"There is no project 'nowhere'\."):
                memory.list(project="nowhere")
            with pytest.raises(InvalidInput, match=r"There is no kind 'dream'\."):
                memory.search("x", kind="dream")
            item = memory.remember("Once said")
            with pytest.raises(Conflict):
                memory.edit(item.id, content="Twice said", expect_rev=7)


def test_a_key_for_reading_reads_and_no_key_does_nothing(site: Site, library: Memory) -> None:
    item = library.remember("Readers may read this")
    with Memory(site.url, key=site.secrets["read"]) as reader:
        assert reader.get(item.id).body == "Readers may read this"
        with pytest.raises(Forbidden, match="can only read"):
            reader.remember("Readers may not write this")
    with Memory(site.url, key="sk-sekha-" + "0" * 48) as stranger, pytest.raises(Unauthorized):
        stranger.list()
    with pytest.raises(InvalidInput, match="no key"):
        Memory(site.url)
    with pytest.raises(InvalidInput, match="one space"):
        Memory(site.url, key="x", space="team")
    with Memory("http://127.0.0.1:1", key="x") as nobody, pytest.raises(RemoteError, match="cannot be reached"):
        nobody.list()


LOCAL_ONLY = [name for name, verb in VERBS.items() if verb.server == "nowhere"]


@pytest.mark.parametrize("name", LOCAL_ONLY)
def test_what_needs_the_machine_says_so(library: Memory, name: str) -> None:
    arguments = ["x"] if name in ("import_", "export", "undo_import", "redo_import") else []
    with pytest.raises(InvalidInput, match="works only on the memory"):
        getattr(library, name)(*arguments)


def test_many_threads_and_tasks_share_one_memory(site: Site, library: Memory) -> None:
    threads = [threading.Thread(target=library.remember, args=(f"Said by thread {number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(library.search('"said by thread"', limit=20)) == 8

    async def ask() -> list[int]:
        async with AsyncMemory(site.url, key=site.secrets["write"]) as memory:
            found = await asyncio.gather(*(memory.search(f"thread {number}") for number in range(8)))
            await memory.remember("Said by a task")
            return [len(one) for one in found]

    assert all(asyncio.run(ask()))


def test_a_secret_never_comes_back(library: Memory) -> None:
    item = library.remember("The token is ghp_" + "a1B2" * 9)
    assert "ghp_a1B2" not in item.body and "ghp_a1B2" not in library.get(item.id).body


def test_entities_and_the_profile_come_from_there(library: Memory) -> None:
    item = library.remember("Jonas maintains the turbine-service", type="fact", project="works")
    assert [(one.name, one.kind) for one in library.entities(named="turbine-serv")] == [("turbine-service", "service")]
    known = library.about("turbine-service", project="works")
    assert known.statements[0].id == item.id and known.related[0].phrase == "Jonas maintains it"
    preferred = library.remember("I prefer quiet turbines", project="works")
    assert library.show_in_profile(preferred.id, "pinned").tags == ("profile-pinned",)
    profile = library.profile("works")
    assert profile.lines[0].item.id == preferred.id and profile.lines[0].pinned
    assert profile.text.startswith("## Preferences\n- I prefer quiet turbines (")
    with pytest.raises(NotFound, match="Nothing is known"):
        library.about("Nemo")
