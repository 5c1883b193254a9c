"""The library on a local store: every method does what its docstring says, and nothing is loaded before it is used."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.polling import until
from tests.postgres_server import PostgresServer

import commonplace
from commonplace import CommonplaceError, Conflict, InvalidInput, Item, Memory, NewItem, NewMessage, NoResults, NotFound
from commonplace.library.async_memory import AsyncMemory
from commonplace.memory.local_memory import LocalMemory

HEAVY = ("numpy", "pydantic", "click", "apsw", "psycopg", "starlette", "mcp", "sqlite3", "asyncio", "http")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def library(folder: Path) -> Iterator[Memory]:
    with Memory(folder, embedder="off") as memory:
        yield memory


def test_the_exported_names_are_all_there_and_no_others() -> None:
    assert [name for name in commonplace.__all__ if getattr(commonplace, name, None) is None] == []
    assert set(dir(commonplace)) >= set(commonplace.__all__)
    assert not hasattr(commonplace, "Book")
    assert set(commonplace._MODULES) | {"__version__"} == set(commonplace.__all__)


def test_importing_the_package_loads_nothing_else() -> None:
    code = "import sys; before = {*sys.modules}; import commonplace; print(*({*sys.modules} - before))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {name for name in loaded if name.startswith("commonplace")} == {"commonplace"}
    assert [name for name in loaded if name.partition(".")[0] in HEAVY] == []


def test_the_class_itself_loads_no_engine_and_no_numbers() -> None:
    code = "import sys; from commonplace import Memory; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert [name for name in loaded if name.partition(".")[0] in HEAVY] == []
    assert not [name for name in loaded if name.startswith("commonplace.store")]


def test_every_method_is_documented_and_asynchronous_too() -> None:
    methods = {name for name in dir(Memory) if not name.startswith("_")}
    assert [name for name in methods if not (getattr(Memory, name).__doc__ or "").strip()] == []
    assert methods - {name for name in dir(AsyncMemory) if not name.startswith("_")} == {
        "over",
        "local",
        "embedding_state",
    }


def test_what_is_remembered_is_found_changed_and_brought_back(library: Memory) -> None:
    item = library.remember(
        "Sessions are kept in Redis for 30 days",
        type="decision",
        project="my-api",
        tags=["auth"],
        metadata={"by": "ann"},
    )
    assert isinstance(item, Item)
    assert (item.type, item.project, item.tags, item.meta) == ("decision", "my-api", ("auth",), {"by": "ann"})
    (hit,) = library.search("how long are sessions kept?", project="my-api")
    assert hit.item == item and 0 < hit.relevance <= 1
    edited = library.edit(item.id, content="Sessions are kept in Redis for 14 days", tags=["auth", "redis"])
    assert edited.rev == 2 and [change.before["tags"] for change in library.history(item.uid)] == [["auth"]]
    assert library.revert(item.short_id).body == item.body
    (forgotten,) = library.forget(item.id)
    assert forgotten.forgotten_ms is not None and len(library.search("sessions")) == 0
    with pytest.raises(NotFound):
        library.get(item.id)
    assert library.get(item.id, forgotten=True).id == item.id
    (restored,) = library.restore(item.id)
    assert restored.forgotten_ms is None and library.get(item.id) == restored


def test_the_same_again_is_one_item_with_what_is_new(library: Memory) -> None:
    first = library.add(NewItem("Use tabs", type="rule", tags=["style"], meta={"by": "ann"}))
    again = library.add(NewItem("use tabs.", type="rule", tags=["go"], meta={"n": 1}))
    assert (first.duplicate, again.duplicate) == (False, True)
    assert again.item.id == first.item.id
    assert set(again.item.tags) == {"style", "go"} and again.item.meta == {"by": "ann", "n": 1}
    against = library.add(NewItem("Never use tabs", type="rule"))
    assert [one.item.id for one in against.contradictions] == [first.item.id]
    assert library.contradictions(against.item.id) == list(against.contradictions)


def test_fields_of_a_kind_are_arguments(library: Memory) -> None:
    rule = library.remember("Validate input with zod", type="rule", paths=["src/api/**", "*.ts"], category="api")
    assert dict(rule.details) == {"paths": "src/api/**\n*.ts", "category": "api"}
    summary = library.remember(kind="summary", request="Log in", next_steps=["Test it", "Ship it"], session="s1")
    assert summary.details["next_steps"] == "Test it\nShip it"
    assert library.edit(rule.id, category="").details.get("category", "") == ""
    with pytest.raises(InvalidInput, match="no field"):
        library.remember("x", colour="red")
    assert [item.id for item in library.rules(files=["src/api/users.ts"]).everywhere] == [rule.id]
    assert library.rules(files=["docs/readme.md"]).everywhere == ()


def test_items_are_listed_page_by_page_and_by_their_time(library: Memory) -> None:
    old = library.remember("From long ago", at="2020-05-01")
    new = library.remember("From today", at=datetime.now(UTC), project="web")
    page = library.list(limit=1)
    assert [item.id for item in page] == [new.id] and page.next_cursor
    assert [item.id for item in library.list(limit=1, cursor=page.next_cursor)] == [old.id]
    assert [item.id for item in library.list(until="2020-12-31")] == [old.id]
    assert [item.id for item in library.list(since="1d", kind="memory", type=["note"])] == [new.id]
    assert [item.id for item in library.list(only_global=True)] == [old.id]
    with pytest.raises(NotFound, match="wep"):
        library.list(project="wep")
    with pytest.raises(NotFound, match="decisoin"):
        library.list(type="decisoin")
    with pytest.raises(InvalidInput, match="no kind"):
        library.search("x", kind="memories")
    assert [project.name for project in library.projects()] == ["web"]


def test_several_items_are_stored_and_read_at_once(library: Memory) -> None:
    stored = library.add_many([NewItem("One"), NewItem("Two"), NewItem("One")])
    assert [one.duplicate for one in stored] == [False, False, True]
    found = library.get_many([stored[1].id, 999, stored[0].uid])
    assert [item.body for item in found] == ["Two", "One"] and found.missing == (999,)
    old, new = library.supersede(stored[0].id, by=stored[1].id)
    assert (old.body, new.body) == ("One", "Two")
    assert [item.body for item in library.list()] == ["Two"]
    assert library.related(stored[1].id).replaced[0].body == "One"
    assert [entry.position for entry in library.timeline(stored[1].id)] == [0]


def test_a_context_fits_its_tokens(library: Memory) -> None:
    library.remember("Never log request bodies", type="rule")
    for number in range(30):
        library.remember(f"Decision {number} about the pumps and their valves", type="decision", project="works")
    context = library.context("which valves?", project="works", tokens=400)
    assert any(entry.item.type == "rule" for entry in context.items)
    assert 0 < len(context.items) < 31 and context.truncated
    assert "Never log request bodies" in library.session_context("works", tokens=500)


def test_conversations_are_stored_read_and_organised(library: Memory) -> None:
    stored = library.store_conversation(
        "Login",
        [("user", "How do we log in?"), {"role": "assistant", "content": "With JWT", "metadata": {"model": "m"}}],
        folder="/work/api",
        key="chat-1",
    )
    assert (stored.added, stored.known) == (2, 0)
    again = library.append(stored.session.uid, [NewMessage("user", "And how do we log out?")])
    assert again.session.messages == 3
    whole = library.conversation("chat-1")
    assert [item.body for item in whole.messages] == ["How do we log in?", "With JWT", "And how do we log out?"]
    assert [session.label for session in library.conversations(folder="/work")] == ["Login"]
    assert [session.label for session in library.sessions()] == ["Login"]
    changed = library.update_conversation("chat-1", label="Logging in", status="pinned")
    assert (changed.label, changed.importance) == ("Logging in", 10.0)
    assert library.export_conversation("chat-1", format="markdown").startswith("# Logging in")
    assert library.stats("/work").counts.messages == 3
    assert library.reconstruct("chat-1").session.label == "Logging in"
    assert library.prune(days=0).candidates == ()
    library.forget_conversation("chat-1")
    assert len(library.conversations()) == 0
    assert library.restore_conversation("chat-1").messages == 3
    with pytest.raises(InvalidInput, match="message"):
        library.store_conversation("x", [("user",)])  # type: ignore[list-item]


def test_past_sessions_are_recalled_explained_and_reported(library: Memory) -> None:
    library.store_conversation(
        "Broken build",
        [
            ("user", "The build fails with ImportError: no module named turbine"),
            ("assistant", "Fixed it: I added turbine to the requirements, and the build passes now."),
        ],
        project="works",
    )
    recalled = library.recall("turbine build fails", min_score=0.0)
    assert recalled.chunks and recalled.chunks[0].session is not None
    assert "turbine" in library.explain("turbine build").summary
    assert isinstance(library.predict("ImportError: no module named turbine"), list)
    report = library.report("works", since="1d")
    assert [one.session.label for one in report.sessions] == ["Broken build"]
    assert library.topics() == []
    with pytest.raises(NoResults):
        library.recall("zebra xylophone quagga")


def test_a_memory_is_exported_imported_checked_and_backed_up(library: Memory, tmp_path: Path) -> None:
    library.remember("Sessions are kept in Redis", project="my-api")
    library.remember("Diary", project="diary")
    path = library.export(tmp_path / "all.zip", projects=["my-api"])
    assert "items.jsonl" in zipfile.ZipFile(path).namelist()
    with pytest.raises(Conflict, match="exists"):
        library.export(path)
    with Memory(tmp_path / "other", embedder="off") as other:
        other.import_(path, dry_run=True)
        assert len(other.list()) == 0
        assert other.import_(path).items.added == 1
        assert other.import_(path).items.known == 1
        assert [item.body for item in other.list()] == ["Sessions are kept in Redis"]
    with pytest.raises(InvalidInput, match="no file"):
        library.import_(tmp_path / "nothing.zip")
    assert library.check() == [] == library.check(quick=True)
    made = library.backup(tmp_path / "copy.db")
    assert made.path.exists() and library.backup().path in [one.path for one in library.backups()]
    assert library.status()["total"] == 2
    assert library.ingest(tmp_path / "other").messages.added == 0


def test_a_memory_is_opened_by_its_folder_by_settings_or_not_at_all(
    folder: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMMONPLACE_DATA_DIR", str(folder))
    monkeypatch.setenv("COMMONPLACE_EMBEDDER", "off")
    with Memory() as memory:
        memory.remember("In the folder of the settings")
        assert memory.embedding_state == "off"
    with Memory(str(folder), space="default") as memory:
        assert len(memory.list()) == 1
    with Memory(folder, space="team") as memory:
        assert len(memory.list()) == 0
    with pytest.raises(InvalidInput, match="key"):
        Memory(folder, key="sk-sekha-x")
    with pytest.raises(CommonplaceError):
        Memory(folder, embedder="telepathy")


def test_a_memory_that_is_open_already_has_the_methods_too(memory: LocalMemory) -> None:
    library = Memory.over(memory)
    item = library.remember("Use tabs")
    library.close()
    assert library.local is memory and memory.store.get([item.id])[item.id] == item


def test_a_memory_may_be_in_postgresql(postgres: PostgresServer, tmp_path: Path) -> None:
    url = postgres.new_database("library")
    with Memory(url, data_dir=tmp_path, embedder="off") as memory:
        item = memory.remember("Sessions are kept in Redis", type="decision", project="my-api")
        assert [hit.item.id for hit in memory.search("redis sessions")] == [item.id]
        assert memory.forget(item.id) and len(memory.list()) == 0
        assert memory.status()["total"] == 0
        assert memory.status()["store"]["engine"] == "postgres"  # type: ignore[index]


def test_what_was_held_true_at_a_moment_is_shown(library: Memory) -> None:
    rule = library.remember("Never deploy the walrus on Fridays", type="rule")
    then = datetime.fromtimestamp(rule.created_ms / 1000, UTC)
    until(lambda: library.local.clock() > rule.created_ms)
    library.edit(rule.id, content="Deploy the walrus at any time")
    assert [item.body for item in library.list(as_of=then)] == ["Never deploy the walrus on Fridays"]
    assert [hit.item.body for hit in library.search("walrus", as_of=then)] == ["Never deploy the walrus on Fridays"]
    assert [item.body for item in library.rules(as_of=then).everywhere] == ["Never deploy the walrus on Fridays"]
    assert [entry.item.body for entry in library.context(as_of=then).items] == ["Never deploy the walrus on Fridays"]
    assert [item.body for item in library.list(as_of="now")] == ["Deploy the walrus at any time"]
    library.edit(rule.id, valid_until="2020-01-01")
    assert [*library.list()] == [*library.search("walrus")] == []
    assert [item.id for item in library.list(include_expired=True)] == [rule.id]
    assert library.edit(rule.id, valid_until="none").valid_until_ms is None


def test_what_an_item_says_has_one_name_in_every_result(library: Memory) -> None:
    item = library.remember("Tea is green", type="fact", project="kitchen", metadata={"by": "ann"})
    assert item.metadata == {"by": "ann"}
    against = library.add(NewItem("Tea is not green", type="fact", project="kitchen"))
    stored = library.store_conversation("Tea", [("user", "Which tea?"), {"role": "assistant", "text": "Green tea."}])
    says: list[Any] = [
        item,
        next(iter(library.search("tea is green", project="kitchen"))),
        library.context("tea", project="kitchen").items[0],
        library.timeline(item.id, before=0, after=0)[0],
        library.contradictions(against.item.id)[0],
        library.reconstruct(stored.session.id).messages[0],
        library.recall("which tea", min_score=0.0).chunks[0],
    ]
    assert [one.text for one in says if "tea" in one.text.casefold()] == [one.text for one in says]
    assert stored.session.metadata == stored.session.meta
    edited = library.edit(item.id, text="Tea is black")
    assert edited.text == "Tea is black" == library.edit(item.id, content="Tea is black").text


def test_an_item_is_shown_to_a_programmer_on_one_short_line(library: Memory) -> None:
    item = library.remember("Tea is\ngreen " + "and hot " * 50, type="fact", project="kitchen")
    assert repr(item).startswith(f"Item({item.id}, 'fact', 'Tea is") and repr(item).endswith(", project='kitchen')")
    assert len(repr(item)) < 120 and "\n" not in repr(item)
    assert repr(library.remember("Milk")) == f"Item({item.id + 1}, 'note', 'Milk')"
