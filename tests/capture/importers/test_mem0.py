"""mem0: its memories and relations from JSON, and the last wordings from its history."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from commonplace.capture.import_files import import_path
from commonplace.capture.importers.formats import default_locations, detect_format
from commonplace.memory.local_memory import LocalMemory
from commonplace.model import Item

from .conftest import ImportDatabase
from .databases import MEM0

ItemsByTitle = Callable[..., dict[str, Item]]
ONE, TWO = "6f1c2b1e-90a4-4a86-9d6c-0d9a8a1a2b3c", "0b8a2f60-1111-4c57-8c88-94b1c9f0a111"
TEA = {
    "id": ONE,
    "memory": "Prefers green tea",
    "hash": "9f86d081884c7d65",
    "metadata": {"room": "kitchen"},
    "categories": ["drinks"],
    "created_at": "2025-03-15T14:30:00.000000+00:00",
    "updated_at": None,
    "user_id": "ada",
}
OVER = {"id": TWO, "memory": "On holiday in May", "expiration_date": "2020-05-31", "user_id": "ada"}


@pytest.mark.parametrize("shape", ["results", "list", "platform"])
def test_a_memory_comes_in_with_all_it_has(
    memory: LocalMemory, items_by_title: ItemsByTitle, tmp_path: Path, shape: str
) -> None:
    shapes = {
        "results": {"results": [TEA, OVER], "relations": []},
        "list": [TEA, OVER],
        "platform": {"memories": [TEA]},
    }
    path = tmp_path / "mem0.json"
    path.write_text(json.dumps(shapes[shape]), encoding="utf-8")
    report = import_path(memory, path)
    assert report.items.added == (1 if shape == "platform" else 2), report
    tea = items_by_title()["Prefers green tea"]
    assert (tea.kind, tea.type, tea.uid, tea.tags) == ("memory", "fact", ONE, ("drinks",))
    assert (tea.created_ms, tea.origin) == (1_742_049_000_000, "imported")
    assert {name: tea.meta[name] for name in ("source", "source_id", "user_id", "room")} == {
        "source": "mem0",
        "source_id": ONE,
        "user_id": "ada",
        "room": "kitchen",
    }
    # What had expired there is forgotten here, and importing again adds nothing.
    assert "On holiday in May" not in items_by_title()
    assert import_path(memory, path).items.added == 0


def test_relations_are_facts(memory: LocalMemory, items_by_title: ItemsByTitle, tmp_path: Path) -> None:
    path = tmp_path / "mem0.json"
    relation = {"source": "ada", "relationship": "works_at", "destination": "acme"}
    path.write_text(json.dumps({"results": [TEA], "relations": [relation]}), encoding="utf-8")
    import_path(memory, path)
    assert set(items_by_title()) == {"Prefers green tea", "ada works at acme"}


def test_the_last_wordings_are_read_from_the_history(move_in: ImportDatabase, items_by_title: ItemsByTitle) -> None:
    def change(number: int, id_: str, event: str, old: str | None, new: str | None) -> dict[str, object]:
        at = f"2025-03-1{number}T10:00:00+00:00"
        return {"id": f"h{number}", "memory_id": id_, "old_memory": old, "new_memory": new, "event": event} | {
            "created_at": at,
            "updated_at": at,
            "is_deleted": int(event == "DELETE"),
        }

    rows = [
        change(1, ONE, "ADD", None, "Prefers black tea"),
        change(2, ONE, "UPDATE", "Prefers black tea", "Prefers green tea"),
        change(3, TWO, "ADD", None, "Lives in Oslo"),
        change(4, TWO, "DELETE", "Lives in Oslo", None),
    ]
    report = move_in(MEM0, {"history": rows, "messages": [{"id": "m", "content": "Hello"}]})
    assert list(items_by_title()) == ["Prefers green tea"] and report.items.added == 2
    assert ("table", "the latest messages of a session, of which memories are made there") in report.reasons


def test_it_is_recognised_and_found_in_its_usual_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert detect_format(json.dumps({"results": [TEA]}).encode(), "export.json") == "mem0"
    monkeypatch.delenv("MEM0_DIR", raising=False)
    place = tmp_path / ".mem0" / "history.db"
    place.parent.mkdir()
    place.write_bytes(b"")
    assert default_locations("mem0", tmp_path) == [place]
