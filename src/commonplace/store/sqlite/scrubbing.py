"""Cleaning in the file: every table that holds somebody's words is a row of `PARTS`, but items, which are more work."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import apsw

from commonplace.model import Draft, Item
from commonplace.store.scrubbing import Holder, Mark
from commonplace.store.sqlite import changes, index, items, sql
from commonplace.store.sqlite.content_mark import WIPED
from commonplace.store.sqlite.space import Space

ITEMS = "items"
_OURS = "space_id = ?"


@dataclass(frozen=True, slots=True)
class Part:
    """A table: what tells its rows apart, and its texts. `lossy`: a row that would change goes instead."""

    table: str
    keys: tuple[str, ...]
    texts: tuple[str, ...] = ()
    json: tuple[str, ...] = ()
    ours: str = _OURS
    lossy: bool = False


PARTS: dict[str, Part] = {
    "history": Part("history", ("id",), json=("before",)),
    "sessions": Part("sessions", ("id",), ("key", "source", "label", "folder"), ("meta",)),
    "history of sessions": Part("session_history", ("id",), json=("before",)),
    "streams": Part("streams", ("id",), ("type",), ("tags", "meta")),
    "chunks": Part(
        "stream_parts", ("stream_id", "seq"), ("text",), ours="stream_id IN (SELECT id FROM streams WHERE space_id = ?)"
    ),
    "projects": Part("projects", ("id",), ("name",)),
    "names of projects": Part("project_aliases", ("alias",), ("alias",), lossy=True),
    "topics": Part("clusters", ("id",), ("label",)),
    "answers": Part("replies", ("caller", "name"), ("name", "headers", "CAST(body AS TEXT)"), lossy=True),
    "sources": Part("sources", ("path",), ("path",), ("mark",), lossy=True),
    "jobs": Part("jobs", ("id",), ("error",)),
    "keys": Part("keys", ("id",), ("name",)),
}


class Scrubbing(Space):
    """The engine's part about cleaning."""

    def parts(self) -> Sequence[str]:
        return (ITEMS, *PARTS)

    def holders(self, part: str, after: Mark | None, limit: int) -> list[Holder]:
        with self._database.read() as connection:
            if part == ITEMS:
                return _item_holders(connection, self._space_id, after, limit)
            rows = _rows(connection, self._space_id, PARTS[part], after, limit)
            return [
                Holder(
                    mark, f"{part} {' '.join(map(str, mark)) if _is_number(mark) else ''}".strip(), tuple(_said(values))
                )
                for mark, values in rows
            ]

    def clean_holders(self, part: str, marks: Sequence[Mark], clean: Callable[[str], str]) -> None:
        with self._database.write() as connection:
            for mark in marks:
                _clean_row(connection, self._space_id, PARTS[part], mark, clean)

    def clean_items(self, marks: Sequence[Mark], redraft: Callable[[Item], Draft]) -> None:
        with self._database.write() as connection:
            for item in items.get(connection, self._space_id, [mark[0] for mark in marks]).values():
                _clean_item(connection, self._space_id, item, redraft(item))

    def wipe(self) -> bool:
        with self._database.write() as connection:
            # What was deleted from the index is still in it until its pieces are joined; there must be two to join.
            connection.execute("INSERT INTO passages_fts (rowid, text) VALUES (-9223372036854775807, 'x')")
            connection.execute("DELETE FROM passages_fts WHERE rowid = -9223372036854775807")
            connection.execute("INSERT INTO passages_fts (passages_fts) VALUES ('optimize')")
            # Cleaning leaves no history, and what was told before it must not pass for true.
            connection.execute(
                "INSERT INTO meta (key, value) VALUES (?, '1')"
                " ON CONFLICT (key) DO UPDATE SET value = CAST(value AS INTEGER) + 1",
                (WIPED,),
            )
        return self._database.compact()


def _item_holders(connection: apsw.Connection, space_id: int, after: Mark | None, limit: int) -> list[Holder]:
    question = "SELECT id FROM items WHERE space_id = ? AND id > ? ORDER BY id LIMIT ?"
    ids = [row[0] for row in sql.rows(connection, question, (space_id, after[0] if after else 0, limit))]
    found = items.get(connection, space_id, ids)
    return [
        Holder((id_,), f"item {id_}", tuple(_said([one.type, one.title, one.body, one.details, one.meta, one.tags])))
        for id_, one in sorted(found.items())
    ]


def _rows(
    connection: apsw.Connection, space_id: int, part: Part, after: Mark | None, limit: int
) -> list[tuple[Mark, list[Any]]]:
    keys = ", ".join(part.keys)
    beyond = f"AND ({keys}) > ({', '.join('?' * len(part.keys))})" if after else ""
    found = sql.rows(
        connection,
        f"SELECT {', '.join((*part.keys, *part.texts, *part.json))} FROM {part.table}"
        f" WHERE {part.ours} {beyond} ORDER BY {keys} LIMIT ?",
        (space_id, *(after or ()), limit),
    )
    return [(row[: len(part.keys)], _values(part, row[len(part.keys) :])) for row in found]


def _values(part: Part, row: Sequence[Any]) -> list[Any]:
    """The texts of a row, and its JSON as what it says."""
    plain = len(part.texts)
    return [*row[:plain], *(json.loads(text) for text in row[plain:])]


def _said(value: object) -> Iterator[str]:
    """Every text in a value, names of fields too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, entry in value.items():
            yield from (str(name), *_said(entry))
    elif isinstance(value, (list, tuple)):
        for entry in value:
            yield from _said(entry)


def _cleaned(value: Any, clean: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(name): _cleaned(entry, clean) for name, entry in value.items()}
    return [_cleaned(entry, clean) for entry in value] if isinstance(value, list) else value


def _clean_row(connection: apsw.Connection, space_id: int, part: Part, mark: Mark, clean: Callable[[str], str]) -> None:
    here = f"{part.ours} AND ({', '.join(part.keys)}) = ({', '.join('?' * len(mark))})"
    columns = (*part.texts, *part.json)
    row = sql.first(connection, f"SELECT {', '.join(columns)} FROM {part.table} WHERE {here}", (space_id, *mark))
    if row is None:
        return
    before = _values(part, row)
    after = [_cleaned(value, clean) for value in before]
    if after == before:
        return
    if part.lossy:
        connection.execute(f"DELETE FROM {part.table} WHERE {here}", (space_id, *mark))
        return
    plain = len(part.texts)
    update = f"UPDATE {part.table} SET {', '.join(f'{column} = ?' for column in columns)} WHERE {here}"

    def write(ending: str) -> None:
        # Only a name that changed may have met another.
        texts = [f"{new}{ending}" if new != old else new for new, old in zip(after[:plain], before, strict=False)]
        connection.execute(update, (*texts, *map(_as_json, after[plain:]), space_id, *mark))

    try:
        write("")
    except apsw.ConstraintError:
        write(f" {mark[0]}")


def _clean_item(connection: apsw.Connection, space_id: int, item: Item, draft: Draft) -> None:
    place = changes.place_of(connection, item.id)
    same = (space_id, place.project_id or 0, draft.content_hash)
    content_hash = draft.content_hash
    if sql.first(connection, f"SELECT 1 FROM items WHERE {changes.SAME} AND id <> ?", (*same, item.id)):
        # Cleaning is not saying: two that differed only in a secret stay two.
        content_hash = hashlib.sha256(content_hash + item.uid.encode()).digest()
    connection.execute(
        "UPDATE items SET type = ?, title = ?, body = ?, details = ?, meta = ?, tokens = ?, tagged = ?,"
        " content_hash = ?, rev = rev + 1 WHERE id = ?",
        (
            draft.type,
            draft.title,
            draft.body,
            changes.as_json(draft.details),
            changes.as_json(draft.meta),
            draft.tokens,
            bool(draft.tags),
            content_hash,
            item.id,
        ),
    )
    connection.execute("DELETE FROM item_tags WHERE item_id = ?", (item.id,))
    changes.write_tags(connection, space_id, item.id, draft.tags)
    index.drop_passages(connection, space_id, item.id)
    if item.forgotten_ms is None and item.superseded_by is None:
        index.add(connection, space_id, item.id, place.project_id, draft)
        changes.count_item(connection, space_id, place, item, -1)
        changes.count_item(connection, space_id, place, draft, +1)
    else:
        index.add_passages(connection, space_id, item.id, draft.passages)


def _as_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _is_number(mark: Mark) -> bool:
    return all(isinstance(key, int) for key in mark)
