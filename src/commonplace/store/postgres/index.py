"""Passages and what is derived from them in the same transaction: their words, embedding jobs, the tally.

Only live items are indexed. Forgetting takes the derived rows away, restoring makes them anew from the item.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import takewhile

from commonplace.model import Draft, Item, Kind, Passage
from commonplace.store.indexed_text import columns_of
from commonplace.store.postgres import sql
from commonplace.store.postgres.pool import Connection
from commonplace.store.postgres.scope import NO_PROJECT
from commonplace.store.postgres.words import PART, Words, erase, kind_token, project_token, type_token
from commonplace.text.tokens import index_text

# Columns that say the same of very many items.
_FEW = ("type", "speaker")
_OF_PASSAGES = "WHERE space_id = %s AND {} = ANY(%s::bigint[])"


def add(connection: Connection, space_id: int, item_id: int, project_id: int | None, draft: Draft) -> None:
    """Cut, index and queue a new or rewritten item."""
    add_all(connection, space_id, [(item_id, project_id, draft)])


def add_all(connection: Connection, space_id: int, items: Sequence[tuple[int, int | None, Draft]]) -> None:
    """The same for many of them (id, project, what it says)."""
    cut = _write_passages(connection, space_id, [(item_id, draft.passages) for item_id, _project, draft in items])
    words = Words(space_id)
    for (item_id, project_id, draft), passages in zip(items, cut, strict=True):
        columns = columns_of(draft.kind, draft.type, draft.title, draft.body, draft.details, draft.tags)
        _derive(words, item_id, project_id, draft.kind, columns, passages)
    words.write(connection)


def add_passages(
    connection: Connection, space_id: int, item_id: int, passages: Sequence[Passage]
) -> list[tuple[int, str | None]]:
    """Write passages; (id, text) of each."""
    return _write_passages(connection, space_id, [(item_id, passages)])[0]


def _write_passages(
    connection: Connection, space_id: int, items: Sequence[tuple[int, Sequence[Passage]]]
) -> list[list[tuple[int, str | None]]]:
    rows = [(item_id, passage.seq, passage.text) for item_id, passages in items for passage in passages]
    made = sql.rows(
        connection,
        "INSERT INTO passages (space_id, item_id, seq, text) SELECT %s, item_id, seq, text"
        "  FROM unnest(%s::bigint[], %s::integer[], %s::text[]) WITH ORDINALITY AS cut (item_id, seq, text, place)"
        " ORDER BY place RETURNING item_id, seq, id",
        (space_id, [row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows]),
    )
    of = {(item_id, seq): int(id_) for item_id, seq, id_ in made}
    return [[(of[item_id, passage.seq], passage.text) for passage in passages] for item_id, passages in items]


def regrow(connection: Connection, space_id: int, item_id: int, project_id: int | None, draft: Draft) -> None:
    """Index an item that goes on: the passages that stay as they were keep their vectors and their links."""
    old = _cut(connection, space_id, [item_id])[item_id]
    pairs = zip((text for _id, text in old), (passage.text for passage in draft.passages), strict=False)
    kept = sum(1 for _same in takewhile(lambda pair: pair[0] is not None and pair[0] == pair[1], pairs))
    erase(connection, space_id, [-item_id, *(id_ for id_, _text in old)])
    _drop(connection, space_id, [id_ for id_, _text in old[kept:]])
    new = add_passages(connection, space_id, item_id, draft.passages[kept:])
    columns = columns_of(draft.kind, draft.type, draft.title, draft.body, draft.details, draft.tags)
    words = Words(space_id)
    _derive(words, item_id, project_id, draft.kind, columns, [*old[:kept], *new], known=kept)
    words.write(connection)


def show(connection: Connection, space_id: int, items: Sequence[tuple[int | None, Item]]) -> None:
    """Index items (project, item) again from their rows."""
    cut = _cut(connection, space_id, [item.id for _project, item in items])
    words = Words(space_id)
    for project_id, item in items:
        columns = columns_of(item.kind, item.type, item.title, item.body, item.details, item.tags)
        _derive(words, item.id, project_id, item.kind, columns, cut[item.id])
    words.write(connection)


def rows_of(
    connection: Connection, space_id: int, items: Sequence[tuple[int | None, Item]]
) -> list[tuple[int, tuple[object, ...]]]:
    """What the index should hold of items (project, item): of each its rows, as they are written."""
    cut = _cut(connection, space_id, [item.id for _project, item in items])
    wanted = []
    for project_id, item in items:
        columns = columns_of(item.kind, item.type, item.title, item.body, item.details, item.tags)
        words = Words(space_id)
        _derive(words, item.id, project_id, item.kind, columns, cut[item.id])
        wanted += [(item.id, row) for row in words.rows]
    return wanted


def reindex_items(connection: Connection, space_id: int, project_id: int | None, item: Item) -> None:
    """Write the words of an item anew; its vectors stay."""
    columns = columns_of(item.kind, item.type, item.title, item.body, item.details, item.tags)
    passages = _cut(connection, space_id, [item.id])[item.id]
    erase(connection, space_id, [-item.id, *(id_ for id_, _text in passages)])
    words = Words(space_id)
    _derive(words, item.id, project_id, item.kind, columns, passages, known=len(passages))
    words.write(connection)


def hide(connection: Connection, space_id: int, item_ids: Sequence[int]) -> None:
    """Take the words, vectors and jobs of items away; their passages stay."""
    passages = _passages_of(connection, space_id, item_ids)
    erase(connection, space_id, [*(-item_id for item_id in item_ids), *passages])
    _unembed(connection, space_id, passages)


def drop_passages(connection: Connection, space_id: int, item_id: int) -> None:
    """Forget how an item was cut, because its text changes."""
    passages = _passages_of(connection, space_id, [item_id])
    erase(connection, space_id, [-item_id, *passages])
    _drop(connection, space_id, passages)


def count(connection: Connection, space_id: int, project_id: int | None, kind: Kind, difference: int) -> None:
    """Keep the tally of live items."""
    sql.run(
        connection,
        "INSERT INTO tally (space_id, project_id, kind, items) VALUES (%s, %s, %s, %s)"
        " ON CONFLICT (space_id, project_id, kind) DO UPDATE SET items = tally.items + excluded.items",
        (space_id, project_id or NO_PROJECT, kind, difference),
    )


def _cut(connection: Connection, space_id: int, item_ids: Sequence[int]) -> dict[int, list[tuple[int, str | None]]]:
    """(id, text) of the passages of each item, in order."""
    cut: dict[int, list[tuple[int, str | None]]] = {item_id: [] for item_id in item_ids}
    question = f"SELECT item_id, id, text FROM passages {_OF_PASSAGES.format('item_id')} ORDER BY item_id, seq"
    for item_id, id_, text in sql.rows(connection, question, (space_id, list(item_ids))):
        cut[item_id].append((id_, text))
    return cut


def _passages_of(connection: Connection, space_id: int, item_ids: Sequence[int]) -> list[int]:
    question = f"SELECT id FROM passages {_OF_PASSAGES.format('item_id')}"
    return [row[0] for row in sql.rows(connection, question, (space_id, list(item_ids)))]


def _unembed(connection: Connection, space_id: int, passages: Sequence[int]) -> None:
    of = (space_id, list(passages))
    sql.run(connection, f"DELETE FROM vectors {_OF_PASSAGES.format('passage_id')}", of)
    sql.run(connection, f"DELETE FROM jobs {_OF_PASSAGES.format('passage_id')} AND kind = 'embed'", of)


def _drop(connection: Connection, space_id: int, passages: Sequence[int]) -> None:
    """Delete passages and all that hangs from them."""
    _unembed(connection, space_id, passages)
    for table, column in (
        ("edges", "src"),
        ("edges", "dst"),
        ("mentions", "passage_id"),
        ("cluster_passages", "passage_id"),
        ("passages", "id"),
    ):
        sql.run(connection, f"DELETE FROM {table} {_OF_PASSAGES.format(column)}", (space_id, list(passages)))


@lru_cache(1000)
def _said_often(text: str) -> str:
    return index_text(text)


def _derive(
    gathered: Words,
    item_id: int,
    project_id: int | None,
    kind: Kind,
    columns: Mapping[str, str],
    passages: Sequence[tuple[int, str | None]],
    known: int = 0,
) -> None:
    """Gather the words of an item, and a job for each passage but those that have been embedded before."""
    scope = (project_token(project_id or NO_PROJECT), kind_token(kind), type_token(columns["type"]))
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
            gathered.add(passage_id, head | {"text": part}, (*scope, PART))
    gathered.embed(passage_id for passage_id, _text in passages[known:])
