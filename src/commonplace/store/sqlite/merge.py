"""What joining does to the rows of the file (joining.py decides): written like any other item, with its own times."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence

from commonplace.model import Change, Draft
from commonplace.store.damage import content_checksum
from commonplace.store.merge import FoundRecord, ItemToWrite, keep_numbers
from commonplace.store.records import Name, Record, RecordKind
from commonplace.store.sql import projects
from commonplace.store.sqlite import index, sessions, sql, writing
from commonplace.store.sqlite.changes import SAME, Place, as_json, changeable, count_item, place_of, write_tags
from commonplace.store.sqlite.connection import SqliteConnection

_TABLES = {"item": ("items", "history", "item_id"), "session": ("sessions", "session_history", "session_id")}


class SqliteRowWriter:
    """The rows of one space, in one transaction."""

    def __init__(
        self,
        connection: SqliteConnection,
        space_id: int,
        now_ms: int,
        find: Callable[[Sequence[Name]], dict[Name, FoundRecord]],
    ) -> None:
        self._connection, self._space_id, self._now = connection, space_id, now_ms
        self.find = find

    def find_session(self, uid: str) -> FoundRecord | None:
        question = "SELECT key FROM sessions WHERE space_id = ? AND uid = ?"
        row = sql.first(self._connection, question, (self._space_id, uid))
        return None if row is None else self.find([("session", row[0])])["session", row[0]]

    def twin(self, draft: Draft) -> FoundRecord | None:
        place = (self._space_id, self._project_id(draft.project) or 0, draft.content_hash)
        row = sql.first(self._connection, f"SELECT uid FROM items WHERE {SAME} AND uid <> ?", (*place, draft.uid))
        return None if row is None else self.find([("item", row[0])])["item", row[0]]

    def number(self, uid: str) -> int | None:
        question = "SELECT id FROM items WHERE space_id = ? AND uid = ?"
        row = sql.first(self._connection, question, (self._space_id, uid))
        return None if row is None else int(row[0])

    def awaiting(self, uids: Sequence[str]) -> list[tuple[int, str]]:
        return sql.rows(
            self._connection,
            "SELECT r.id, r.awaits FROM json_each(?2) j CROSS JOIN records r ON r.space_id = ?1 AND r.awaits = j.value",
            (self._space_id, json.dumps(uids)),
        )

    def leads_to(self, other_id: int, item_id: int) -> bool:
        question = "SELECT superseded_by FROM items WHERE id = ?"
        above: int | None = other_id
        while above is not None and above != item_id:
            above = sql.value(self._connection, question, (above,))
        return above is not None

    def project(self, name: str, created_ms: int, apart: Collection[str] = ()) -> str:
        number = projects.find_or_create(self._connection, self._space_id, name, created_ms, apart)
        return str(sql.value(self._connection, "SELECT name FROM projects WHERE id = ?", (number,)))

    def add_aliases(self, name: str, aliases: Sequence[str]) -> int:
        added = 0
        for alias in aliases:
            self._connection.execute(
                "INSERT OR IGNORE INTO project_aliases (space_id, alias, project_id) VALUES (?, ?, ?)",
                (self._space_id, alias, self._project_id(name)),
            )
            added += self._connection.changes()
        return added

    def add_session(self, record: Record) -> int:
        told = record.fields
        self._connection.execute(
            "INSERT INTO sessions (uid, space_id, key, started_ms, ended_ms, accessed_ms) VALUES (?, ?, ?, ?, ?, ?)",
            (told["uid"], self._space_id, record.name, told["started_ms"], told["started_ms"], told["accessed_ms"]),
        )
        number = self._connection.last_insert_rowid()
        self.change_session(number, record)
        return number

    def change_session(self, session_id: int, record: Record) -> None:
        told = record.fields
        self._connection.execute(
            "UPDATE sessions SET source = ?, project_id = ?, label = ?, folder = ?, status = ?, importance = ?,"
            " meta = ?, started_ms = ?, updated_ms = ?, forgotten_ms = ?, rev = ? WHERE id = ?",
            (
                told["source"],
                self._project_id(told["project"]),
                told["label"],
                told["folder"],
                told["status"],
                told["importance"],
                as_json(told["meta"]),
                told["started_ms"],
                told["updated_ms"],
                told["forgotten_ms"],
                told["rev"],
                session_id,
            ),
        )

    def add_items(self, added: Sequence[ItemToWrite]) -> list[int]:
        words, numbers = index.Words(), []
        for item in added:
            place = Place(self._project_id(item.draft.project), self._session_id(item.record))
            stored = writing.insert(self._connection, self._space_id, place, item.draft, self._now, words)
            assert not stored.duplicate
            numbers.append(stored.id)
        words.write(self._connection)
        for number, item in zip(numbers, added, strict=True):
            self._stand(number, item)
            self.set_version("item", number, item.record.version)
            if item.live:
                self._count(place_of(self._connection, number), item.draft)
            else:
                index.hide(self._connection, self._space_id, number)
        return numbers

    def change_item(self, item_id: int, item: ItemToWrite) -> None:
        old = changeable(self._connection, self._space_id, item_id)
        draft, before = item.draft, place_of(self._connection, item_id)
        place = Place(self._project_id(draft.project), before.session_id)
        if old.forgotten_ms is None and old.superseded_by is None:
            count_item(self._connection, self._space_id, before, old, -1)
        self._connection.execute(
            "UPDATE items SET project_id = ?, type = ?, title = ?, body = ?, details = ?, meta = ?, importance = ?,"
            " tokens = ?, tagged = ?, content_hash = ?, checksum = ?, created_ms = ? WHERE id = ?",
            (
                place.project_id,
                draft.type,
                draft.title,
                draft.body,
                as_json(draft.details),
                as_json(draft.meta),
                draft.importance,
                draft.tokens,
                bool(draft.tags),
                draft.content_hash,
                content_checksum(draft.title, draft.body, as_json(draft.details)),
                draft.created_ms,
                item_id,
            ),
        )
        self._stand(item_id, item)
        self._connection.execute("DELETE FROM item_tags WHERE item_id = ?", (item_id,))
        write_tags(self._connection, self._space_id, item_id, draft.tags)
        index.drop_passages(self._connection, self._space_id, item_id)
        if item.live:
            index.add(self._connection, self._space_id, item_id, place.project_id, draft)
            self._count(place, draft)
        else:
            index.add_passages(self._connection, self._space_id, item_id, draft.passages)

    def replace_item(self, item_id: int, by: int) -> None:
        item = changeable(self._connection, self._space_id, item_id)
        mine = (self._space_id, item_id)
        version = sql.value(
            self._connection, "SELECT version FROM records WHERE space_id = ? AND what = 'item' AND id = ?", mine
        )
        change = "UPDATE items SET superseded_by = ?, valid_until_ms = ? WHERE id = ?"
        self._connection.execute(change, (by, version, item_id))
        self._await(item_id, None)
        self.set_version("item", item_id, version)
        if item.forgotten_ms is None:
            index.hide(self._connection, self._space_id, item_id)
            count_item(self._connection, self._space_id, place_of(self._connection, item_id), item, -1)

    def step_aside(self, item_id: int, content_hash: bytes, awaits: str | None) -> None:
        self._connection.execute("UPDATE items SET content_hash = ? WHERE id = ?", (content_hash, item_id))
        if awaits is not None:
            self._await(item_id, awaits)

    def add_lines(self, what: RecordKind, id_: int, lines: Sequence[Change], rev: int) -> None:
        table, history, column = _TABLES[what]
        for line in lines:
            self._connection.execute(
                f"INSERT INTO {history} (space_id, {column}, rev, op, at_ms, before) VALUES (?, ?, ?, ?, ?, ?)",
                (self._space_id, id_, line.rev, line.op, line.at_ms, as_json(line.before)),
            )
        question = f"SELECT id FROM {history} WHERE {column} = ? ORDER BY at_ms, rev, id"
        ids = [row[0] for row in sql.rows(self._connection, question, (id_,))]
        if keep_numbers(lines, len(ids), rev):
            ids = []
        rev = max(rev, len(ids) + 1)
        for number, line_id in enumerate(ids, rev - len(ids)):
            self._connection.execute(f"UPDATE {history} SET rev = ? WHERE id = ?", (number, line_id))
        self._connection.execute(f"UPDATE {table} SET rev = ? WHERE id = ?", (rev, id_))

    def set_version(self, what: RecordKind, id_: int, version: int) -> None:
        change = "UPDATE records SET version = ? WHERE space_id = ? AND what = ? AND id = ?"
        self._connection.execute(change, (version, self._space_id, what, id_))

    def _stand(self, item_id: int, item: ItemToWrite) -> None:
        """When an item changed, and whether it is forgotten or replaced."""
        told = item.record.fields
        self._connection.execute(
            "UPDATE items SET updated_ms = ?, rev = ?, status = ?, forgotten_ms = ?, superseded_by = ?,"
            " valid_until_ms = ? WHERE id = ?",
            (
                told["updated_ms"],
                told["rev"],
                told["status"],
                told["forgotten_ms"],
                item.by,
                None if item.by is None else item.record.version,
                item_id,
            ),
        )
        self._await(item_id, item.awaits)

    def _count(self, place: Place, draft: Draft) -> None:
        """Count an item that came. It brings no session back: whether one is forgotten, its own record tells."""
        question = (
            "SELECT s.forgotten_ms, r.version FROM sessions s JOIN records r"
            " ON r.space_id = s.space_id AND r.what = 'session' AND r.id = s.id WHERE s.id = ?"
        )
        before = sql.first(self._connection, question, (place.session_id,))
        count_item(self._connection, self._space_id, place, draft, +1)
        if before is not None and before[0] is not None:
            assert place.session_id is not None
            change = "UPDATE sessions SET forgotten_ms = ? WHERE id = ?"
            self._connection.execute(change, (before[0], place.session_id))
            self.set_version("session", place.session_id, before[1])

    def _await(self, item_id: int, uid: str | None) -> None:
        change = "UPDATE records SET awaits = ? WHERE space_id = ? AND what = 'item' AND id = ?"
        self._connection.execute(change, (uid, self._space_id, item_id))

    def _project_id(self, name: str | None) -> int | None:
        if name is None:
            return None
        return projects.find_or_create(self._connection, self._space_id, name, self._now)

    def _session_id(self, record: Record) -> int | None:
        """The session of an item. One that is not here yet is made, and gives way to whatever is told of it."""
        key, started_ms = record.fields["session"], record.fields["created_ms"]
        if key is None:
            return None
        row = sql.first(
            self._connection, "SELECT id FROM sessions WHERE space_id = ? AND key = ?", (self._space_id, key)
        )
        if row is not None:
            return int(row[0])
        number = sessions.find_or_create(self._connection, self._space_id, key, None, started_ms, self._now)
        self.set_version("session", number, 0)
        return number
