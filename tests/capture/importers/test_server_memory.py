"""The reference memory server: every observation and relation is a fact that can be found by itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.capture.import_files import import_path
from commonplace.capture.import_report import Skipped
from commonplace.capture.importers.server_memory import read
from commonplace.memory.graph import link_new_passages, walk_links
from commonplace.memory.import_items_and_records import ImportedItem
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.recall import recall
from commonplace.model import Item, Scope

ItemsByTitle = Callable[..., dict[str, Item]]
ADA = {"type": "entity", "name": "Ada", "entityType": "person", "observations": ["Likes blue", "Speaks French"]}
ACME = {"type": "entity", "name": "Acme", "entityType": "company", "observations": []}
WORKS = {"type": "relation", "from": "Ada", "to": "Acme", "relationType": "works_at"}


def written(path: Path, *lines: object) -> Path:
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return path


def test_facts_name_what_they_are_about(memory: LocalMemory, items_by_title: ItemsByTitle, tmp_path: Path) -> None:
    summary = import_path(memory, written(tmp_path / "memory.jsonl", ADA, ACME, WORKS))
    assert (summary.items.added, summary.reasons) == (5, {})
    assert set(items_by_title(types=("fact",))) == {
        "Ada (person)",
        "Ada: Likes blue",
        "Ada: Speaks French",
        "Acme (company)",
        "Ada works at Acme",
    }
    works = items_by_title()["Ada works at Acme"]
    assert works.tags == ("Acme", "Ada") and works.meta["relation"] == "works_at"
    assert recall(memory, "Ada blue", Scope(), limit=3).hits[0].item.title == "Ada: Likes blue"


def test_relations_are_links_that_are_walked(memory: LocalMemory, items_by_title: ItemsByTitle, tmp_path: Path) -> None:
    import_path(memory, written(tmp_path / "memory.jsonl", ADA, ACME, WORKS))
    while link_new_passages(memory):
        pass
    start = memory.store.passages_of([items_by_title()["Acme (company)"].id])[items_by_title()["Acme (company)"].id][0]
    reached = [one.item.title for one in walk_links(memory, {start: 1.0}, depth=2, most=5)]
    assert {"Ada works at Acme", "Ada (person)"} <= set(reached)


def test_a_file_that_grew_adds_only_what_is_new(memory: LocalMemory, tmp_path: Path) -> None:
    path = written(tmp_path / "memory.jsonl", ADA, WORKS)
    import_path(memory, path)
    grown = dict(ADA, observations=[*ADA["observations"], "Plays chess"])
    again = import_path(memory, written(path, grown, WORKS))
    assert (again.items.added, again.items.known) == (1, 4)


def test_a_graph_as_the_server_answers_it_is_read_too(memory: LocalMemory, tmp_path: Path) -> None:
    path = written(tmp_path / "graph.json", {"entities": [ADA], "relations": [WORKS]})
    assert import_path(memory, path).items.added == 4


def test_what_is_wrong_is_told_and_the_rest_kept(memory: LocalMemory, tmp_path: Path) -> None:
    odd = {"type": "entity", "name": "Bob", "entityType": "", "observations": ["Tall", 7], "mood": "calm"}
    lines = (
        ADA,
        odd,
        {"type": "entity", "entityType": "x"},
        {"type": "relation", "from": "Ada"},
        {"type": "dream"},
        [7],
    )
    summary = import_path(memory, written(tmp_path / "memory.jsonl", *lines))
    assert summary.items.added == 5
    assert summary.reasons == {
        ("item", "an observation that is not text"): 1,
        ("column", "an unknown field"): 1,
        ("item", "an entity without a name"): 1,
        ("link", "a relation without both ends and a name"): 1,
        ("item", "it is neither an entity nor a relation"): 1,
        ("item", "it is not an object"): 1,
    }


@pytest.mark.parametrize("bad", ['{"type": "entity", "name": "Bo', "no JSON at all", '{"a": 1} {"b": 2}', "\udcff"])
@pytest.mark.parametrize("place", [1, 2])
def test_a_line_that_is_no_json_costs_only_itself(memory: LocalMemory, tmp_path: Path, bad: str, place: int) -> None:
    lines = [json.dumps(ADA), json.dumps(WORKS)]
    lines.insert(place, bad)
    path = tmp_path / "memory.jsonl"
    path.write_bytes("\n".join(lines).encode("utf-8", "surrogateescape"))
    summary = import_path(memory, path)
    assert summary.items.added == 4 and summary.reasons == {("item", "it is not JSON"): 1}


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "name", "entityType", "observations", "from", "to", "relationType", "entities"]),
            inner,
        )
    ),
    max_leaves=12,
)


@given(st.lists(anything, max_size=5))
def test_whatever_stands_in_it_becomes_a_fact_or_is_told(lines: list[object]) -> None:
    data = "\n".join(json.dumps(line) for line in lines).encode()
    for found in read(BytesIO(data), "memory.jsonl"):
        assert isinstance(found, (ImportedItem, Skipped))
        if isinstance(found, ImportedItem):
            assert found.note.content.strip() and found.note.uid
