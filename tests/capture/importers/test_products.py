"""Moving in as a whole, from any of the products: once, found everywhere, with no secret, and found where it lies."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from tests.dialects.conftest import calling
from tests.whole_items import all_words

from commonplace.capture.import_files import ImportRun, import_path
from commonplace.capture.import_report import ImportReport
from commonplace.capture.importers.formats import PRODUCT_NAMES, default_locations
from commonplace.memory.conversations import latest_conversations
from commonplace.memory.graph import link_new_passages
from commonplace.memory.items import browse_items
from commonplace.memory.local_memory import LocalMemory
from commonplace.model import Scope, SessionScope

from .databases import AT, CAUSANTIC, CLAUDE_MEM, ISO, KIRO, MEM0, MEMORIES, SEKHA, chunk, make, memory_row, observation

KEY = "sk-ant-api03-" + "Zb7Qx2Lm9Kp4Rt6Wv8Yn1Dc3Fg5Hj0SaEuIoTqMx" + "AA"


def theirs(product: str, folder: Path, words: str) -> Path:
    """What a product would have kept of some words."""
    talk = "8c0f3a52-6d6f-4a49-9a3c-5d1f4b7f9a10"
    if product == "server-memory":
        entity = {"type": "entity", "name": "Ada", "entityType": "person", "observations": [words]}
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "memory.jsonl").write_text(json.dumps(entity), encoding="utf-8")
        return folder / "memory.jsonl"
    seen = {"id": 1, "memory_session_id": "m1", "project": "my-api", "type": "bugfix", "title": "Seen", "text": words}
    rows: dict[str, tuple[Any, Any]] = {
        "kiro-memory": (KIRO, {"observations": [observation(1, text=words)]}),
        "memories.sh": (MEMORIES, {"memories": [memory_row("a", words)]}),
        "causantic": (CAUSANTIC, {"chunks": [chunk("c1", f"[User]\n{words}")]}),
        "sekha": (
            SEKHA,
            {
                "conversations": [{"id": talk, "label": "Talk", "folder": "/work", "created_at": ISO}],
                "messages": [{"id": "m1", "conversation_id": talk, "role": "user", "content": words, "timestamp": ISO}],
            },
        ),
        "claude-mem": (CLAUDE_MEM, {"observations": [seen | {"created_at_epoch": AT}]}),
        "mem0": (MEM0, {"history": [{"id": "h", "memory_id": talk, "new_memory": words, "event": "ADD"}]}),
    }
    return make(folder / "memory.db", *rows[product])


def counted(summary: ImportReport) -> tuple[int, int]:
    """How much of anything was added, and how much was known."""
    tallies = (summary.messages, summary.items)
    return sum(tally.added for tally in tallies), sum(tally.known for tally in tallies)


@pytest.mark.parametrize("product", PRODUCT_NAMES)
def test_what_moved_in_is_found_through_every_dialect(memory: LocalMemory, tmp_path: Path, product: str) -> None:
    import_path(memory, theirs(product, tmp_path / "theirs", "The marmalade comes from Dundee"))
    while link_new_passages(memory):
        pass
    call = calling(memory)
    for tool, query in (("search", "marmalade"), ("recall", "marmalade Dundee"), ("memory_search", "marmalade")):
        assert "Dundee" in json.dumps(call(tool, query=query)), tool
    found = json.dumps(call("search_memories", query="marmalade", project_id="my-api"))
    # A conversation of no project is no memory of this one.
    assert ("Dundee" in found) == (product != "sekha")


@pytest.mark.parametrize("product", PRODUCT_NAMES)
def test_again_adds_nothing(memory: LocalMemory, tmp_path: Path, product: str) -> None:
    path = theirs(product, tmp_path / "theirs", "Use pnpm")
    added, _known = counted(import_path(memory, path))
    assert added >= 1
    assert counted(import_path(memory, path)) == (0, added)
    assert counted(import_path(memory, path.parent)) == (0, added)


@pytest.mark.parametrize("product", PRODUCT_NAMES)
def test_a_dry_run_counts_and_keeps_nothing(memory: LocalMemory, tmp_path: Path, product: str) -> None:
    path = theirs(product, tmp_path / "theirs", "Use pnpm")
    dry = ImportRun(None)
    dry.add(path)
    result = counted(dry.finish())
    assert browse_items(memory, Scope()).items == ()
    assert counted(import_path(memory, path)) == result


@pytest.mark.parametrize("product", PRODUCT_NAMES)
def test_no_secret_moves_in(memory: LocalMemory, tmp_path: Path, product: str) -> None:
    import_path(memory, theirs(product, tmp_path / "theirs", f"The key is {KEY}"))
    items = browse_items(memory, Scope()).items
    assert items and KEY not in all_words(items)


@pytest.mark.parametrize("product", PRODUCT_NAMES)
def test_a_project_of_ones_own_choice(memory: LocalMemory, tmp_path: Path, product: str) -> None:
    import_path(memory, theirs(product, tmp_path / "theirs", "Use pnpm"), project="elsewhere", folder="/in")
    assert {item.project for item in browse_items(memory, Scope()).items} == {"elsewhere"}
    assert {session.folder for session in latest_conversations(memory, SessionScope()).sessions} <= {"/in"}


@pytest.mark.parametrize("product", PRODUCT_NAMES)
def test_a_zip_is_read_too(memory: LocalMemory, tmp_path: Path, product: str) -> None:
    path = theirs(product, tmp_path / "theirs", "Use pnpm")
    packed = tmp_path / "theirs.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.write(path, path.name)
    assert counted(import_path(memory, packed))[0] >= 1


class _Stop(BaseException):
    """Somebody ends the import."""


def test_an_interrupted_import_goes_on(memory: LocalMemory, tmp_path: Path) -> None:
    rows = {"observations": [observation(n) for n in range(1, 1001)]}
    path = make(tmp_path / "theirs" / "kiro.db", KIRO, rows)
    steps = iter(range(700))

    def advance(_bytes: int) -> None:
        if next(steps, None) is None:
            raise _Stop

    importing = ImportRun(memory, advance=advance)
    with pytest.raises(_Stop):
        importing.add(path)
    stored = importing.report.items.added
    assert 0 < stored < 700
    again = import_path(memory, path)
    assert (again.items.added, again.items.known) == (1000 - stored, stored)


def test_one_that_cannot_be_kept_never_stops_the_rest(memory: LocalMemory, tmp_path: Path) -> None:
    rows = {"memories": [memory_row("a", "Before"), memory_row("b", "x" * 1_000_001), memory_row("c", "After")]}
    summary = import_path(memory, make(tmp_path / "theirs" / "local.db", MEMORIES, rows))
    assert (summary.items.added, summary.items.skipped) == (2, 1)
    assert summary.examples[0].what == "item b" and "1000001 characters" in summary.examples[0].why


USUAL = {
    "kiro-memory": ".kiro-memory/kiro-memory.db",
    "memories.sh": ".config/memories/local.db",
    "causantic": ".causantic/memory.db",
    "sekha": ".sekha/data/sekha.db",
    "claude-mem": ".claude-mem/claude-mem.db",
    "mem0": ".mem0/history.db",
    "server-memory": ".npm/_npx/a1/node_modules/@modelcontextprotocol/server-memory/dist/memory.jsonl",
}


@pytest.mark.parametrize("product", PRODUCT_NAMES)
def test_memory_is_found_in_its_usual_place(home: Path, product: str) -> None:
    assert default_locations(product, home) == []
    path = home / USUAL[product]
    path.parent.mkdir(parents=True)
    path.write_bytes(b"x")
    assert default_locations(product, home) == [path]


@pytest.mark.parametrize(
    ("product", "setting", "name"),
    [
        ("kiro-memory", "KIRO_MEMORY_DATA_DIR", "contextkit.db"),
        ("memories.sh", "MEMORIES_DATA_DIR", "local.db"),
        ("claude-mem", "CLAUDE_MEM_DATA_DIR", "claude-mem.db"),
        ("server-memory", "MEMORY_FILE_PATH", "graph.jsonl"),
    ],
)
def test_a_product_that_was_told_to_keep_it_elsewhere_is_found_there(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, product: str, setting: str, name: str
) -> None:
    path = tmp_path / name
    path.write_bytes(b"x")
    monkeypatch.setenv(setting, str(path if product == "server-memory" else tmp_path))
    assert default_locations(product, home) == [path]


def test_npx_on_windows_keeps_its_packages_elsewhere(home: Path) -> None:
    path = home / "npm-cache" / Path(USUAL["server-memory"]).relative_to(".npm")
    path.parent.mkdir(parents=True)
    path.write_bytes(b"x")
    assert default_locations("server-memory", home) == [path]


@pytest.mark.parametrize("product", [name for name in PRODUCT_NAMES if name != "server-memory"])
def test_a_product_that_was_named_is_meant(memory: LocalMemory, tmp_path: Path, product: str) -> None:
    other = "sekha" if product != "sekha" else "causantic"
    importing = ImportRun(memory, format_=product)
    importing.add(theirs(other, tmp_path / "theirs", "Use pnpm"))
    assert importing.finish().nothing_read
