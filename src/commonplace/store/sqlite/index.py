"""Passages and what is derived from them in the same transaction: full-text rows, embedding jobs, the tally.

Only live items are indexed. Forgetting takes the derived rows away, restoring makes them anew from the item.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import takewhile

from commonplace.model import Draft, Item, Kind, Passage
from commonplace.store.indexed_text import COLUMNS, columns_of
from commonplace.store.sqlite.connection import SqliteConnection
from commonplace.store.sqlite.scope import NO_PROJECT, PART, kind_token, project_token, space_token
from commonplace.text.tokens import index_text

_INSERT_FTS = (
    f"INSERT INTO passages_fts (rowid, {', '.join(COLUMNS)}, scope) VALUES ({', '.join('?' * (len(COLUMNS) + 2))})"
)

# Columns that say the same of very many items.
_FEW = ("type", "speaker")


class Words:
    """Full-text rows of many items, written at once: whenever their ids go back, FTS5 writes out what it gathered."""

    def __init__(self) -> None:
        self._rows: list[tuple[int | str, ...]] = []

    def add(self, rowid: int, words: Mapping[str, str], scope: str) -> None:
        self._rows.append((rowid, *(words.get(name, "") for name in COLUMNS), scope))

    def rows(self) -> dict[int, Mapping[str, str]]:
        """What was gathered, by row."""
        return {int(row[0]): dict(zip((*COLUMNS, "scope"), map(str, row[1:]), strict=True)) for row in self._rows}

    def write(self, connection: SqliteConnection) -> None:
        for row in sorted(self._rows):
            connection.execute(_INSERT_FTS, row)
        self._rows = []


def add(
    connection: SqliteConnection,
    space_id: int,
    item_id: int,
    project_id: int | None,
    draft: Draft,
    words: Words | None = None,
) -> None:
    """Cut, index and queue a new or rewritten item; given `words`, its own wait there to be written."""
    passages = add_passages(connection, space_id, item_id, draft.passages)
    columns = columns_of(draft.kind, draft.type, draft.title, draft.body, draft.details, draft.tags)
    _derive(connection, space_id, item_id, project_id, draft.kind, columns, passages, words=words)


def add_passages(
    connection: SqliteConnection, space_id: int, item_id: int, passages: Sequence[Passage]
) -> list[tuple[int, str | None]]:
    """Write passages; (id, text) of each."""
    written = []
    for passage in passages:
        connection.execute(
            "INSERT INTO passages (space_id, item_id, seq, text) VALUES (?, ?, ?, ?)",
            (space_id, item_id, passage.seq, passage.text),
        )
        written.append((connection.last_insert_rowid(), passage.text))
    return written


def regrow(connection: SqliteConnection, space_id: int, item_id: int, project_id: int | None, draft: Draft) -> None:
    """Index an item that goes on: the passages that stay as they were keep their vectors and their links."""
    old = _cut(connection, space_id, item_id)
    pairs = zip((text for _id, text in old), (passage.text for passage in draft.passages), strict=False)
    kept = sum(1 for _same in takewhile(lambda pair: pair[0] is not None and pair[0] == pair[1], pairs))
    _unindex(connection, item_id, [id_ for id_, _text in old])
    _drop(connection, space_id, [id_ for id_, _text in old[kept:]])
    new = add_passages(connection, space_id, item_id, draft.passages[kept:])
    columns = columns_of(draft.kind, draft.type, draft.title, draft.body, draft.details, draft.tags)
    _derive(connection, space_id, item_id, project_id, draft.kind, columns, [*old[:kept], *new], known=kept)


def show(connection: SqliteConnection, space_id: int, project_id: int | None, item: Item) -> None:
    """Index an item again from its rows."""
    columns = columns_of(item.kind, item.type, item.title, item.body, item.details, item.tags)
    passages = _cut(connection, space_id, item.id)
    _derive(connection, space_id, item.id, project_id, item.kind, columns, passages)


def reindex_items(connection: SqliteConnection, space_id: int, project_id: int | None, item: Item) -> None:
    """Write the words of an item anew; its vectors stay."""
    columns = columns_of(item.kind, item.type, item.title, item.body, item.details, item.tags)
    passages = _cut(connection, space_id, item.id)
    _unindex(connection, item.id, [id_ for id_, _text in passages])
    _derive(connection, space_id, item.id, project_id, item.kind, columns, passages, known=len(passages))


def hide(connection: SqliteConnection, space_id: int, item_id: int) -> None:
    """Take an item's words, vectors and jobs away; its passages stay."""
    passages = _passages_of(connection, space_id, item_id)
    _unindex(connection, item_id, passages)
    _unembed(connection, space_id, passages)


def drop_passages(connection: SqliteConnection, space_id: int, item_id: int) -> None:
    """Forget how an item was cut, because its text changes."""
    passages = _passages_of(connection, space_id, item_id)
    _unindex(connection, item_id, passages)
    _drop(connection, space_id, passages)


def count(connection: SqliteConnection, space_id: int, project_id: int | None, kind: Kind, difference: int) -> None:
    """Keep the tally of live items."""
    connection.execute(
        "INSERT INTO tally (space_id, project_id, kind, items) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (space_id, project_id, kind) DO UPDATE SET items = items + excluded.items",
        (space_id, project_id or NO_PROJECT, kind, difference),
    )


def _cut(connection: SqliteConnection, space_id: int, item_id: int) -> list[tuple[int, str | None]]:
    """(id, text) of an item's passages, in order."""
    question = "SELECT id, text FROM passages WHERE space_id = ? AND item_id = ? ORDER BY seq"
    return connection.rows(question, (space_id, item_id))


def _passages_of(connection: SqliteConnection, space_id: int, item_id: int) -> list[int]:
    return [id_ for id_, _text in _cut(connection, space_id, item_id)]


def _unindex(connection: SqliteConnection, item_id: int, passages: Sequence[int]) -> None:
    for rowid in (-item_id, *passages):
        connection.execute("DELETE FROM passages_fts WHERE rowid = ?", (rowid,))


def _unembed(connection: SqliteConnection, space_id: int, passages: Sequence[int]) -> None:
    for passage_id in passages:
        for rows in ("vectors WHERE", "jobs WHERE kind = 'embed' AND"):
            connection.execute(f"DELETE FROM {rows} space_id = ? AND passage_id = ?", (space_id, passage_id))


def _drop(connection: SqliteConnection, space_id: int, passages: Sequence[int]) -> None:
    """Delete passages and all that hangs from them."""
    _unembed(connection, space_id, passages)
    for passage_id in passages:
        for rows in ("edges WHERE space_id = ?1 AND src", "edges WHERE space_id = ?1 AND dst"):
            connection.execute(f"DELETE FROM {rows} = ?2", (space_id, passage_id))
        for table in ("mentions", "cluster_passages"):
            connection.execute(f"DELETE FROM {table} WHERE passage_id = ?", (passage_id,))
        connection.execute("DELETE FROM passages WHERE id = ?", (passage_id,))


@lru_cache(1000)
def _said_often(text: str) -> str:
    return index_text(text)


def rows_of(
    connection: SqliteConnection, space_id: int, project_id: int | None, item: Item
) -> dict[int, Mapping[str, str]]:
    """What the index should hold of an item: its rows, with the words of each column and of where it belongs."""
    columns = columns_of(item.kind, item.type, item.title, item.body, item.details, item.tags)
    gathered = Words()
    _gather(gathered, space_id, item.id, project_id, item.kind, columns, _cut(connection, space_id, item.id))
    return gathered.rows()


def _derive(
    connection: SqliteConnection,
    space_id: int,
    item_id: int,
    project_id: int | None,
    kind: Kind,
    columns: Mapping[str, str],
    passages: Sequence[tuple[int, str | None]],
    known: int = 0,
    words: Words | None = None,
) -> None:
    """Write the words of an item, and a job for each passage but those that have been embedded before."""
    gathered = words or Words()
    _gather(gathered, space_id, item_id, project_id, kind, columns, passages)
    if words is None:
        gathered.write(connection)
    for passage_id, _text in passages[known:]:
        connection.execute(
            "INSERT OR IGNORE INTO jobs (space_id, kind, passage_id) VALUES (?, 'embed', ?)", (space_id, passage_id)
        )


def _gather(
    gathered: Words,
    space_id: int,
    item_id: int,
    project_id: int | None,
    kind: Kind,
    columns: Mapping[str, str],
    passages: Sequence[tuple[int, str | None]],
) -> None:
    """The words of an item, for each of its rows."""
    place = project_id or NO_PROJECT
    scope = f"{space_token(space_id)} {project_token(space_id, place)} {kind_token(space_id, kind)}"
    parts = [index_text(text or "") for _id, text in passages] if len(passages) > 1 else []
    # The passages of a message are its text, cut at blanks: their words are its words.
    known_words = {"text": " ".join(parts)} if parts and kind == "message" else {}
    whole = known_words | {
        name: _said_often(text) if name in _FEW else index_text(text)
        for name, text in columns.items()
        if text and name not in known_words
    }
    if len(passages) == 1:
        gathered.add(passages[0][0], whole, scope)
    else:
        gathered.add(-item_id, whole, scope)
        head = {name: whole[name] for name in ("title", "files", "tags", "type", "speaker") if name in whole}
        for (passage_id, _text), part in zip(passages, parts, strict=True):
            gathered.add(passage_id, head | {"text": part}, f"{scope} {PART}")
