"""mem0: what it remembers of people, from the JSON that its library or platform returns, or from its history.

Written against 1.0 of the library, whose `get_all` returns `results` and `relations`. Where only `history.db` is at
hand, the last wording of each memory is read from it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from commonplace.capture.import_report import Entry, Stream
from commonplace.capture.importers.foreign_database import (
    REBUILT_HERE,
    SELF_DESCRIPTION,
    ForeignDatabase,
    Row,
    TableMapping,
    fit_item,
    merge_metadata,
    read_export_tables,
)
from commonplace.memory.local_memory import wall_clock
from commonplace.memory.remember import NewItem

TABLES = TableMapping(
    "mem0",
    {
        "memories": "id memory metadata categories created_at updated_at user_id agent_id app_id run_id actor_id role"
        " expiration_date",
        "relations": "source relationship relation target destination",
        "history": "id memory_id old_memory new_memory event created_at updated_at is_deleted actor_id role",
    },
    {
        "memories.hash": REBUILT_HERE,
        "memories.score": "how well it matched a search",
        "memories.attributed_to": "who it was attributed to; its role is read",
        "memories.structured_attributes": "parts of its time, which is read",
        "messages": "the latest messages of a session, of which memories are made there",
        "export": SELF_DESCRIPTION,
    },
)
_EXPORTED = {"": "memories", "results": "memories", "memories": "memories", "relations": "relations"}


def read(database: ForeignDatabase) -> Iterator[Entry]:
    """Memories, what relates them, and the last wordings in a history."""
    for row in TABLES.rows(database, "memories", "ORDER BY rowid"):
        yield _memory(row, row.text("memory"), _is_over(row))
    for row in TABLES.rows(database, "relations", "ORDER BY rowid"):
        yield _relation(row)
    changes = TABLES.rows(database, "history", "ORDER BY memory_id, created_at, rowid")
    for id_, group in groupby(changes, key=lambda row: row.text("memory_id")):
        yield _last_wording(id_, list(group))
    yield from TABLES.left_out(database)


def read_export(stream: Stream, _name: str) -> Iterator[Entry]:
    return read_export_tables(stream, _EXPORTED, read, TABLES.columns)


def _memory(row: Row, text: str, forgotten: bool) -> Entry:
    names = ("updated_at", "user_id", "agent_id", "app_id", "run_id", "actor_id", "role", "expiration_date")
    meta = TABLES.meta(row.text("id"), row, *names)
    return fit_item(
        NewItem(
            content=text,
            type="fact",
            meta=merge_metadata(meta, row.nested("metadata")),
            tags=row.texts("categories"),
            created_ms=row.time("created_at"),
            uid=TABLES.uid("memory", row.text("id")),
        ),
        forgotten=forgotten,
    )


def _is_over(row: Row) -> bool:
    expires = row.time("expiration_date")
    return expires is not None and expires < wall_clock()


def _relation(row: Row) -> Entry:
    ends = (row.text("source"), row.text("relationship", "relation"), row.text("target", "destination"))
    content = " ".join(part.replace("_", " ") for part in ends) if all(ends) else ""
    meta = TABLES.meta(content, row)
    return fit_item(NewItem(content, type="fact", meta=meta, uid=TABLES.uid("relation", *ends)))


def _last_wording(id_: str, changes: list[Row]) -> Entry:
    """A memory as its last change left it; it was written with the first."""
    first, last = changes[0], changes[-1]
    deleted = last.text("event").upper() == "DELETE" or last.text("is_deleted") == "1"
    row = Row(first | {"id": id_, "updated_at": last.get("updated_at")})
    return _memory(row, last.text("new_memory", "old_memory"), deleted)
