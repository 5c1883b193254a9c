"""What joining does to the rows of a space (joining.py decides): written like any other item, with its own times."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from commonplace.model import Change, Draft
from commonplace.store.merge import FoundRecord, ItemToWrite, keep_numbers
from commonplace.store.postgres import index, items, sessions, sql
from commonplace.store.postgres.changes import (
    SAME,
    Place,
    count_item,
    count_items,
    place_of,
    places_of,
    write_tags,
)
from commonplace.store.postgres.inserting import insert_all
from commonplace.store.postgres.pool import Connection
from commonplace.store.postgres.sql import as_json
from commonplace.store.records import Name, Record, RecordKind
from commonplace.store.sql import projects

_TABLES = {"item": ("items", "history", "item_id"), "session": ("sessions", "session_history", "session_id")}
_STAND = (
    "UPDATE items SET updated_ms = %s, rev = %s, status = %s, forgotten_ms = %s, superseded_by = %s,"
    " valid_until_ms = %s WHERE space_id = %s AND id = %s"
)
_RECORD = "UPDATE records SET version = %s, awaits = %s WHERE space_id = %s AND what = 'item' AND id = %s"


class PostgresRowWriter:
    """The rows of one space, in one transaction."""

    def __init__(
        self,
        connection: Connection,
        space_id: int,
        now_ms: int,
        find: Callable[[Sequence[Name]], dict[Name, FoundRecord]],
    ) -> None:
        self._connection, self._space_id, self._now = connection, space_id, now_ms
        self.find = find
        self._projects: dict[str, int] = {}
        self._sessions: dict[str, int] = {}

    def find_session(self, uid: str) -> FoundRecord | None:
        question = "SELECT key FROM sessions WHERE space_id = %s AND uid = %s"
        row = sql.first(self._connection, question, (self._space_id, uid))
        return None if row is None else self.find([("session", row[0])])["session", row[0]]

    def twin(self, draft: Draft) -> FoundRecord | None:
        place = (self._space_id, self._project_id(draft.project) or 0, draft.content_hash)
        row = sql.first(self._connection, f"SELECT uid FROM items WHERE {SAME} AND uid <> %s", (*place, draft.uid))
        return None if row is None else self.find([("item", row[0])])["item", row[0]]

    def number(self, uid: str) -> int | None:
        question = "SELECT id FROM items WHERE space_id = %s AND uid = %s"
        row = sql.first(self._connection, question, (self._space_id, uid))
        return None if row is None else int(row[0])

    def awaiting(self, uids: Sequence[str]) -> list[tuple[int, str]]:
        question = "SELECT id, awaits FROM records WHERE space_id = %s AND awaits = ANY(%s::text[])"
        return sql.rows(self._connection, question, (self._space_id, [*uids]))

    def leads_to(self, other_id: int, item_id: int) -> bool:
        question = "SELECT superseded_by FROM items WHERE space_id = %s AND id = %s"
        above: int | None = other_id
        while above is not None and above != item_id:
            above = sql.value(self._connection, question, (self._space_id, above))
        return above is not None

    def project(self, name: str, created_ms: int, apart: Collection[str] = ()) -> str:
        number = projects.find_or_create(self._connection, self._space_id, name, created_ms, apart)
        question = "SELECT name FROM projects WHERE space_id = %s AND id = %s"
        return str(sql.value(self._connection, question, (self._space_id, number)))

    def add_aliases(self, name: str, aliases: Sequence[str]) -> int:
        return sum(
            sql.run(
                self._connection,
                "INSERT INTO project_aliases (space_id, alias, project_id) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING",
                (self._space_id, alias, self._project_id(name)),
            )
            for alias in aliases
        )

    def add_session(self, record: Record) -> int:
        told = record.fields
        number = sql.value(
            self._connection,
            "INSERT INTO sessions (space_id, uid, key, started_ms, ended_ms, accessed_ms)"
            " VALUES (%s, %s, %s, %s, %s, %s) RETURNING id",
            (self._space_id, told["uid"], record.name, told["started_ms"], told["started_ms"], told["accessed_ms"]),
        )
        self.change_session(number, record)
        return int(number)

    def change_session(self, session_id: int, record: Record) -> None:
        told = record.fields
        sql.run(
            self._connection,
            "UPDATE sessions SET source = %s, project_id = %s, label = %s, folder = %s, status = %s, importance = %s,"
            " meta = %s, started_ms = %s, updated_ms = %s, forgotten_ms = %s, rev = %s WHERE space_id = %s AND id = %s",
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
                self._space_id,
                session_id,
            ),
        )

    def add_items(self, added: Sequence[ItemToWrite]) -> list[int]:
        placed = [
            (Place(self._project_id(item.draft.project), self._session_id(item.record)), item.draft) for item in added
        ]
        stored = insert_all(self._connection, self._space_id, placed, self._now)
        assert not any(one.duplicate for one in stored)
        numbers = [one.id for one in stored]
        pairs = [*zip(numbers, added, strict=True)]
        sql.each(self._connection, _STAND, [self._standing(number, item) for number, item in pairs])
        recorded = [(item.record.version, item.awaits, self._space_id, number) for number, item in pairs]
        sql.each(self._connection, _RECORD, recorded)
        hidden = [number for number, item in pairs if not item.live]
        if hidden:
            index.hide(self._connection, self._space_id, hidden)
        self._count([one for one, item in zip(placed, added, strict=True) if item.live])
        return numbers

    def change_item(self, item_id: int, item: ItemToWrite) -> None:
        old = items.get_one(self._connection, self._space_id, item_id)
        draft, before = item.draft, place_of(self._connection, self._space_id, item_id)
        place = Place(self._project_id(draft.project), before.session_id)
        if old.forgotten_ms is None and old.superseded_by is None:
            count_item(self._connection, self._space_id, before, old, -1)
        sql.run(
            self._connection,
            "UPDATE items SET project_id = %s, type = %s, title = %s, body = %s, details = %s, meta = %s,"
            " importance = %s, tokens = %s, tagged = %s, content_hash = %s, created_ms = %s"
            " WHERE space_id = %s AND id = %s",
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
                draft.created_ms,
                self._space_id,
                item_id,
            ),
        )
        sql.run(self._connection, _STAND, self._standing(item_id, item))
        self._await(item_id, item.awaits)
        mine = (self._space_id, item_id)
        sql.run(self._connection, "DELETE FROM item_tags WHERE space_id = %s AND item_id = %s", mine)
        write_tags(self._connection, self._space_id, item_id, draft.tags)
        index.drop_passages(self._connection, self._space_id, item_id)
        if item.live:
            index.add(self._connection, self._space_id, item_id, place.project_id, draft)
            self._count([(place, draft)])
        else:
            index.add_passages(self._connection, self._space_id, item_id, draft.passages)

    def replace_item(self, item_id: int, by: int) -> None:
        item = items.get_one(self._connection, self._space_id, item_id)
        mine = (self._space_id, item_id)
        question = "SELECT version FROM records WHERE space_id = %s AND what = 'item' AND id = %s"
        version = sql.value(self._connection, question, mine)
        change = "UPDATE items SET superseded_by = %s, valid_until_ms = %s WHERE space_id = %s AND id = %s"
        sql.run(self._connection, change, (by, version, *mine))
        sql.run(self._connection, _RECORD, (version, None, *mine))
        if item.forgotten_ms is None:
            index.hide(self._connection, self._space_id, [item_id])
            place = places_of(self._connection, self._space_id, [item_id])[item_id]
            count_item(self._connection, self._space_id, place, item, -1)

    def step_aside(self, item_id: int, content_hash: bytes, awaits: str | None) -> None:
        change = "UPDATE items SET content_hash = %s WHERE space_id = %s AND id = %s"
        sql.run(self._connection, change, (content_hash, self._space_id, item_id))
        if awaits is not None:
            self._await(item_id, awaits)

    def add_lines(self, what: RecordKind, id_: int, lines: Sequence[Change], rev: int) -> None:
        table, history, column = _TABLES[what]
        sql.each(
            self._connection,
            f"INSERT INTO {history} (space_id, {column}, rev, op, at_ms, before) VALUES (%s, %s, %s, %s, %s, %s)",
            [(self._space_id, id_, one.rev, one.op, one.at_ms, as_json(one.before)) for one in lines],
        )
        question = f"SELECT id FROM {history} WHERE space_id = %s AND {column} = %s ORDER BY at_ms, rev, id"
        ids = [row[0] for row in sql.rows(self._connection, question, (self._space_id, id_))]
        if keep_numbers(lines, len(ids), rev):
            ids = []
        rev = max(rev, len(ids) + 1)
        numbered = [(number, self._space_id, line_id) for number, line_id in enumerate(ids, rev - len(ids))]
        sql.each(self._connection, f"UPDATE {history} SET rev = %s WHERE space_id = %s AND id = %s", numbered)
        change = f"UPDATE {table} SET rev = %s WHERE space_id = %s AND id = %s"
        sql.run(self._connection, change, (rev, self._space_id, id_))

    def set_version(self, what: RecordKind, id_: int, version: int) -> None:
        change = "UPDATE records SET version = %s WHERE space_id = %s AND what = %s AND id = %s"
        sql.run(self._connection, change, (version, self._space_id, what, id_))

    def _standing(self, item_id: int, item: ItemToWrite) -> tuple[object, ...]:
        """When an item changed, and whether it is forgotten or replaced."""
        told = item.record.fields
        until = None if item.by is None else item.record.version
        standing = (told["updated_ms"], told["rev"], told["status"], told["forgotten_ms"], item.by, until)
        return *standing, self._space_id, item_id

    def _count(self, placed: Sequence[tuple[Place, Draft]]) -> None:
        """Count items that came. They bring no session back: whether one is forgotten, its own record tells."""
        named = (self._space_id, sorted({place.session_id for place, _draft in placed if place.session_id is not None}))
        forgotten = sql.rows(
            self._connection,
            "SELECT s.id, s.forgotten_ms, r.version FROM sessions s JOIN records r"
            " ON r.space_id = s.space_id AND r.what = 'session' AND r.id = s.id"
            " WHERE s.space_id = %s AND s.id = ANY(%s::bigint[]) AND s.forgotten_ms IS NOT NULL",
            named,
        )
        count_items(self._connection, self._space_id, placed, +1)
        for session_id, forgotten_ms, version in forgotten:
            change = "UPDATE sessions SET forgotten_ms = %s WHERE space_id = %s AND id = %s"
            sql.run(self._connection, change, (forgotten_ms, self._space_id, session_id))
            self.set_version("session", session_id, version)

    def _await(self, item_id: int, uid: str | None) -> None:
        change = "UPDATE records SET awaits = %s WHERE space_id = %s AND what = 'item' AND id = %s"
        sql.run(self._connection, change, (uid, self._space_id, item_id))

    def _project_id(self, name: str | None) -> int | None:
        if name is None:
            return None
        if name not in self._projects:
            self._projects[name] = projects.find_or_create(self._connection, self._space_id, name, self._now)
        return self._projects[name]

    def _session_id(self, record: Record) -> int | None:
        """The session of an item. One that is not here yet is made, and gives way to whatever is told of it."""
        key, started_ms = record.fields["session"], record.fields["created_ms"]
        if key is None or key in self._sessions:
            return self._sessions.get(key)
        question = "SELECT id FROM sessions WHERE space_id = %s AND key = %s"
        row = sql.first(self._connection, question, (self._space_id, key))
        if row is None:
            number = sessions.find_or_create(self._connection, self._space_id, key, None, started_ms, self._now)
            self.set_version("session", number, 0)
        else:
            number = int(row[0])
        self._sessions[key] = number
        return number
