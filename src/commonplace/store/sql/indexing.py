"""Passages and what is derived from them in the same transaction: full-text rows, embedding jobs, the tally.

Only live items are indexed. Forgetting takes the derived rows away, restoring makes them again from the item.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import takewhile

from commonplace.model import Draft, Item, Kind, Passage
from commonplace.store.rows import columns_of
from commonplace.store.sql.connection import IN_LIST, Connection, FullTextRows
from commonplace.store.sql.items import NO_PROJECT
from commonplace.text.tokens import index_text

# (id, text) of the passages of an item, in order.
Passages = list[tuple[int, str | None]]

# Columns that say the same of very many items.
_FEW_VALUES = ("type", "speaker")
_COLUMNS = {"space_id": "integer", "item_id": "bigint", "seq": "integer", "text": "text"}
# What hangs from passages, by the column that names them. On SQLite their own indexes find them, not the space.
_DERIVED = (
    f"vectors WHERE space_id = ? AND passage_id {IN_LIST}",
    f"jobs WHERE space_id = ? AND kind = 'embed' AND passage_id {IN_LIST}",
)
_HANGING = (
    f"edges WHERE space_id = ? AND src {IN_LIST}",
    f"edges WHERE space_id = ? AND dst {IN_LIST}",
    f"mentions WHERE +space_id = ? AND passage_id {IN_LIST}",
    "cluster_passages WHERE /*pg space_id = ?1 AND */ passage_id IN (SELECT value FROM json_each(?2))",
    f"passages WHERE +space_id = ? AND id {IN_LIST}",
)
_JOB_COLUMNS = {"space_id": "integer", "kind": "text", "passage_id": "bigint"}


def add(connection: Connection, space_id: int, item_id: int, project_id: int | None, draft: Draft) -> None:
    """Split, index and queue a new or rewritten item."""
    add_all(connection, space_id, [(item_id, project_id, draft)])


def add_all(connection: Connection, space_id: int, items: Sequence[tuple[int, int | None, Draft]]) -> None:
    """The same for many of them (id, project, what it says)."""
    written = _write_passages(connection, space_id, [(item_id, draft.passages) for item_id, _project, draft in items])
    rows = connection.fulltext_rows(space_id)
    for (item_id, project_id, draft), passages in zip(items, written, strict=True):
        gather(rows, item_id, project_id, draft, passages)
    rows.write()
    _queue(connection, space_id, [id_ for passages in written for id_, _text in passages])


def add_passages(connection: Connection, space_id: int, item_id: int, passages: Sequence[Passage]) -> Passages:
    """Write the passages of an item."""
    return _write_passages(connection, space_id, [(item_id, passages)])[0]


def _write_passages(
    connection: Connection, space_id: int, items: Sequence[tuple[int, Sequence[Passage]]]
) -> list[Passages]:
    rows = [(space_id, item_id, passage.seq, passage.text) for item_id, passages in items for passage in passages]
    made = iter(connection.insert_all("passages", _COLUMNS, rows, key=("item_id", "seq")))
    return [[(next(made) or 0, passage.text) for passage in passages] for _item_id, passages in items]


def regrow(connection: Connection, space_id: int, item_id: int, project_id: int | None, draft: Draft) -> None:
    """Index an item that goes on: the passages that stay as they were keep their vectors and their links."""
    old = _passages_of(connection, space_id, [item_id])[item_id]
    pairs = zip((text for _id, text in old), (passage.text for passage in draft.passages), strict=False)
    same = sum(1 for _same in takewhile(lambda pair: pair[0] is not None and pair[0] == pair[1], pairs))
    connection.delete_fulltext(space_id, [-item_id, *(id_ for id_, _text in old)])
    _delete(connection, space_id, [id_ for id_, _text in old[same:]], _DERIVED + _HANGING)
    new = add_passages(connection, space_id, item_id, draft.passages[same:])
    rows = connection.fulltext_rows(space_id)
    gather(rows, item_id, project_id, draft, [*old[:same], *new])
    rows.write()
    _queue(connection, space_id, [id_ for id_, _text in new])


def show(connection: Connection, space_id: int, items: Sequence[tuple[int | None, Item]]) -> None:
    """Index items (project, item) again from their rows."""
    passages = _passages_of(connection, space_id, [item.id for _project, item in items])
    rows = connection.fulltext_rows(space_id)
    for project_id, item in items:
        gather(rows, item.id, project_id, item, passages[item.id])
    rows.write()
    _queue(connection, space_id, [id_ for of_item in passages.values() for id_, _text in of_item])


def reindex(connection: Connection, space_id: int, project_id: int | None, item: Item) -> None:
    """Write the full-text rows of an item again; its vectors stay."""
    passages = _passages_of(connection, space_id, [item.id])[item.id]
    connection.delete_fulltext(space_id, [-item.id, *(id_ for id_, _text in passages)])
    rows = connection.fulltext_rows(space_id)
    gather(rows, item.id, project_id, item, passages)
    rows.write()


def hide(connection: Connection, space_id: int, item_ids: Sequence[int]) -> None:
    """Take the words, vectors and jobs of items away; their passages stay."""
    passages = _ids_of(connection, space_id, item_ids)
    connection.delete_fulltext(space_id, [*(-item_id for item_id in item_ids), *passages])
    _delete(connection, space_id, passages, _DERIVED)


def delete_passages(connection: Connection, space_id: int, item_id: int) -> None:
    """Delete the passages of an item and all that hangs from them, because its text changes."""
    passages = _ids_of(connection, space_id, [item_id])
    connection.delete_fulltext(space_id, [-item_id, *passages])
    _delete(connection, space_id, passages, _DERIVED + _HANGING)


def count(connection: Connection, space_id: int, project_id: int | None, kind: Kind, difference: int) -> None:
    """Keep the tally of live items."""
    connection.run(
        "INSERT INTO tally (space_id, project_id, kind, items) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (space_id, project_id, kind) DO UPDATE SET items = tally.items + excluded.items",
        (space_id, project_id or NO_PROJECT, kind, difference),
    )


def gather(
    rows: FullTextRows,
    item_id: int,
    project_id: int | None,
    item: Draft | Item,
    passages: Sequence[tuple[int, str | None]],
) -> None:
    """Add the full-text rows of an item: one, or one for each passage and one for the whole."""
    columns = columns_of(item.kind, item.type, item.title, item.body, item.details, item.tags)
    parts = [index_text(text or "") for _id, text in passages] if len(passages) > 1 else []
    # The passages of a message are its text, cut at blanks: their words are its words.
    known = {"text": " ".join(parts)} if parts and item.kind == "message" else {}
    whole = known | {
        name: _frequent(text) if name in _FEW_VALUES else index_text(text)
        for name, text in columns.items()
        if text and name not in known
    }
    place = (project_id or NO_PROJECT, item.kind, columns["type"])
    if len(passages) == 1:
        rows.add(passages[0][0], whole, *place)
        return
    rows.add(-item_id, whole, *place)
    head = {name: whole[name] for name in ("title", "files", "tags", "type", "speaker") if name in whole}
    for (passage_id, _text), part in zip(passages, parts, strict=True):
        rows.add(passage_id, head | {"text": part}, *place, part=True)


def _passages_of(connection: Connection, space_id: int, item_ids: Sequence[int]) -> dict[int, Passages]:
    found: dict[int, Passages] = {item_id: [] for item_id in item_ids}
    select = f"SELECT item_id, id, text FROM passages WHERE space_id = ? AND item_id {IN_LIST} ORDER BY item_id, seq"
    for item_id, id_, text in connection.rows(select, (space_id, connection.array(item_ids))):
        found[item_id].append((id_, text))
    return found


def _ids_of(connection: Connection, space_id: int, item_ids: Sequence[int]) -> list[int]:
    select = f"SELECT id FROM passages WHERE space_id = ? AND item_id {IN_LIST}"
    return [row[0] for row in connection.rows(select, (space_id, connection.array(item_ids)))]


def _queue(connection: Connection, space_id: int, passages: Sequence[int]) -> None:
    """Let passages wait for their vectors."""
    rows = [(space_id, "embed", passage_id) for passage_id in passages]
    connection.insert_all("jobs", _JOB_COLUMNS, rows, key=("passage_id",), conflict="ON CONFLICT DO NOTHING")


def _delete(connection: Connection, space_id: int, passages: Sequence[int], rows: Sequence[str]) -> None:
    if passages:
        bindings = (space_id, connection.array(passages))
        for some in rows:
            connection.run(f"DELETE FROM {some}", bindings)


@lru_cache(1000)
def _frequent(text: str) -> str:
    return index_text(text)
