"""Whatever stands in a database or an export: it is kept or told, and nothing else happens."""

from __future__ import annotations

import json
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commonplace.capture.import_files import ImportRun, import_path
from commonplace.capture.import_report import Skipped
from commonplace.capture.importers.formats import FORMATS, PRODUCTS, read_database
from commonplace.memory.conversations import NewConversation
from commonplace.memory.import_items_and_records import ImportedItem, Replacement
from commonplace.memory.local_memory import LocalMemory

from .databases import CAUSANTIC, CLAUDE_MEM, KIRO, LATER_MEMORIES, OLD_CLAUDE_MEM, SEKHA, make

TABLES = [KIRO, LATER_MEMORIES, CAUSANTIC, SEKHA, CLAUDE_MEM, OLD_CLAUDE_MEM]
EXPORTS: Mapping[str, tuple[str, ...]] = {
    "kiro-memory": ("_type", "_meta"),
    "memories.sh": ("memories", "project_id"),
    "causantic": ("chunks", "edges", "clusters"),
    "claude-mem": ("observations", "sessions", "summaries", "prompts"),
}
cells = (
    st.none()
    | st.integers(-(2**62), 2**62)
    | st.floats(allow_nan=False)
    | st.text(max_size=12)
    | st.binary(max_size=12)
    | st.sampled_from(
        ["[1, {}]", '{"a": []}', "[", "user", "decision", "2025-03-15T14:30:00Z", "x" * 600, "../up", "a"]
    )
)


def columns_of(tables: Mapping[str, str], table: str) -> list[str]:
    result = tables[table].partition(", PRIMARY KEY")[0].split(", ")
    return [column.split()[0] for column in result if "PRIMARY KEY" not in column and "UNIQUE" not in column]


@pytest.mark.parametrize("tables", TABLES)
@settings(max_examples=30)
@given(data=st.data())
def test_any_cell_of_any_table(tables: Mapping[str, str], tmp_path_factory: Any, data: st.DataObject) -> None:
    rows = {
        table: [{column: data.draw(cells) for column in columns_of(tables, table)} for _ in range(2)]
        for table in tables
        if "NOT NULL" not in tables[table]
    }
    path = make(tmp_path_factory.mktemp("theirs") / "memory.db", tables, rows)
    found = list(read_database(path, "memory.db"))
    assert all(isinstance(one, (NewConversation, ImportedItem, Replacement, Skipped)) for one in found)
    assert not [one for one in found if isinstance(one, Skipped) and one.unit == "file"]


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["id", "ID", "content", "tags", "name", "", "\0", "\ud800"]), inner)
    ),
    max_leaves=5,
)
records = st.dictionaries(
    st.sampled_from(
        [
            "id",
            "content",
            "tags",
            "created_at",
            "created_at_epoch",
            "title",
            "type",
            "project",
            "source",
            "text",
            "_type",
        ]
    ),
    values,
)


@pytest.mark.parametrize("name", EXPORTS)
@settings(max_examples=60)
@given(data=st.data())
def test_any_record_of_any_export(name: str, data: st.DataObject) -> None:
    whole = data.draw(st.dictionaries(st.sampled_from(EXPORTS[name]), st.lists(records, max_size=3) | values))
    lines = [whole, *data.draw(st.lists(records, max_size=3))]
    stream = BytesIO("\n".join(map(json.dumps, lines)).encode())
    for one in FORMATS[name].read(stream, "export.json"):
        assert isinstance(one, (NewConversation, ImportedItem, Replacement, Skipped))
        assert not isinstance(one, Skipped) or one.what != "its records", one.why


@pytest.mark.parametrize("tables", TABLES)
def test_columns_may_be_missing(tables: Mapping[str, str], memory: LocalMemory, tmp_path: Path) -> None:
    """All but those by which a product is known: older and newer versions have others."""
    known = {name for product in PRODUCTS.values() for columns in product.known_by.values() for name in columns}
    fewer = {table: ", ".join(sorted({"x", *known} & {"x", *columns_of(tables, table)})) for table in tables}
    path = make(tmp_path / "theirs" / "memory.db", fewer, {table: [{"x": 1}, {"x": 2}] for table in fewer})
    assert not import_path(memory, path).reasons.get(("file", ""), 0)


@pytest.mark.parametrize("tables", TABLES)
def test_a_database_in_which_nothing_is_yet(memory: LocalMemory, tmp_path: Path, tables: Mapping[str, str]) -> None:
    summary = import_path(memory, make(tmp_path / "theirs" / "memory.db", tables, {}))
    assert summary.nothing_read and summary.reasons == {}


@settings(max_examples=20)
@given(
    rows=st.lists(st.fixed_dictionaries({"content": st.text(max_size=40), "tags": cells, "type": cells}), max_size=5)
)
def test_what_is_read_can_be_kept_or_is_told(
    memory: LocalMemory, tmp_path_factory: Any, rows: list[dict[str, Any]]
) -> None:
    lines = [{"id": f"m{n}", **row} for n, row in enumerate(rows)]
    path = make(tmp_path_factory.mktemp("theirs") / "local.db", LATER_MEMORIES, {"memories": lines})
    importing = ImportRun(memory)
    importing.add(path)
    items = importing.finish().items
    assert items.added + items.known + items.skipped == len(rows)
