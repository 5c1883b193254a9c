"""Records of a space for sync: listed in the order of their changes, read by name, and merged with those of others.

Writers of a space take turns, so no change appears before one that was already read. What a merge decides
(merge_conflicts.py) is written like any other item, with its own times.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from typing import Any

from commonplace.model import SOURCE_FIELDS, VALIDITY_FIELDS, Change, Draft
from commonplace.store.damaged_values import list_of
from commonplace.store.merge_conflicts import FoundRecord, ItemToWrite, keep_numbers, merge_arrivals
from commonplace.store.records import (
    Arrival,
    Name,
    Outcome,
    Peer,
    Record,
    RecordKind,
    item_record,
    project_record,
    replacement_ids,
    session_record,
)
from commonplace.store.rows import change_of, refused_of
from commonplace.store.sql import indexing, item_writes, items, projects, sessions
from commonplace.store.sql.connection import IN_LIST, Connection, Space
from commonplace.store.sql.item_changes import (
    SAME,
    ItemLocation,
    changeable,
    content_columns,
    count_items,
    end_before_superseding,
    end_when_replaced,
    is_live,
    location_of,
    write_tags,
)

_TABLES = {"item": ("items", "history", "item_id"), "session": ("sessions", "session_history", "session_id")}
_STATE = (
    "UPDATE items SET updated_ms = ?, rev = ?, status = ?, forgotten_ms = ?, superseded_by = ?,"
    " valid_from_ms = ?, valid_until_ms = ?, expires_ms = ?, author = ?, origin = ?, review = ?"
    " WHERE space_id = ? AND id = ?"
)
_RECORD = "UPDATE records SET version = ?, awaits = ? WHERE space_id = ? AND what = 'item' AND id = ?"


class RowWriter:
    """The rows of one space, in one transaction. It decides nothing."""

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
        row = self._connection.first("SELECT key FROM sessions WHERE space_id = ? AND uid = ?", (self._space_id, uid))
        return None if row is None else self.find([("session", row[0])])["session", row[0]]

    def twin(self, draft: Draft) -> FoundRecord | None:
        """The item with the same content in the same project, apart from the one of this uid."""
        place = (self._space_id, self._project_id(draft.project) or 0, draft.content_hash)
        row = self._connection.first(f"SELECT uid FROM items WHERE {SAME} AND uid <> ?", (*place, draft.uid))
        return None if row is None else self.find([("item", row[0])])["item", row[0]]

    def number(self, uid: str) -> int | None:
        row = self._connection.first("SELECT id FROM items WHERE space_id = ? AND uid = ?", (self._space_id, uid))
        return None if row is None else int(row[0])

    def awaiting(self, uids: Sequence[str]) -> list[tuple[int, str]]:
        """The id, and the uid of the replacement, of items that wait for one of these to replace them."""
        select = f"SELECT id, awaits FROM records WHERE space_id = ? AND awaits {IN_LIST}"
        return self._connection.rows(select, (self._space_id, self._connection.array(uids))) if uids else []

    def leads_to(self, other_id: int, item_id: int) -> bool:
        """Whether the other item is this one, or was replaced by it over any number of others."""
        select = "SELECT superseded_by FROM items WHERE space_id = ? AND id = ?"
        above: int | None = other_id
        while above is not None and above != item_id:
            above = self._connection.value(select, (self._space_id, above))
        return above is not None

    def project(self, name: str, created_ms: int, apart: Collection[str] = ()) -> str:
        """The name of a project here; a new one is added. Those of names that are known to be `apart` are others."""
        number = projects.find_or_create(self._connection, self._space_id, name, created_ms, apart)
        select = "SELECT name FROM projects WHERE space_id = ? AND id = ?"
        return str(self._connection.value(select, (self._space_id, number)))

    def add_aliases(self, name: str, aliases: Sequence[str]) -> int:
        """How many of the names are new: one that another project has stays with that."""
        insert = "INSERT INTO project_aliases (space_id, alias, project_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
        return sum(self._connection.run(insert, (self._space_id, alias, self._project_id(name))) for alias in aliases)

    def add_session(self, record: Record) -> int:
        fields = record.fields
        number = self._connection.insert(
            "INSERT INTO sessions (space_id, uid, key, started_ms, ended_ms, accessed_ms) VALUES (?, ?, ?, ?, ?, ?)",
            (
                self._space_id,
                fields["uid"],
                record.name,
                fields["started_ms"],
                fields["started_ms"],
                fields["accessed_ms"],
            ),
        )
        assert number is not None
        self.change_session(number, record)
        return number

    def change_session(self, session_id: int, record: Record) -> None:
        names = ("source", "label", "folder", "status", "importance", "started_ms", "updated_ms", "forgotten_ms", "rev")
        columns = {name: record.fields[name] for name in names} | {
            "project_id": self._project_id(record.fields["project"]),
            "meta": self._connection.as_json(record.fields["meta"]),
        }
        self._update("sessions", session_id, columns)

    def add_items(self, added: Sequence[ItemToWrite]) -> list[int]:
        located = [
            (ItemLocation(self._project_id(item.draft.project), self._session_id(item.record)), item.draft)
            for item in added
        ]
        stored = item_writes.insert_all(self._connection, self._space_id, located, self._now)
        assert not any(one.duplicate for one in stored)
        numbers = [one.id for one in stored]
        pairs = [*zip(numbers, added, strict=True)]
        self._connection.run_all(_STATE, [self._state(number, item) for number, item in pairs])
        recorded = [(item.record.version, item.awaits, self._space_id, number) for number, item in pairs]
        self._connection.run_all(_RECORD, recorded)
        hidden = [number for number, item in pairs if not item.live]
        if hidden:
            indexing.hide(self._connection, self._space_id, hidden)
        self._count([one for one, item in zip(located, added, strict=True) if item.live])
        return numbers

    def change_item(self, item_id: int, item: ItemToWrite) -> None:
        old = changeable(self._connection, self._space_id, item_id)
        draft, before = item.draft, location_of(self._connection, self._space_id, item_id)
        place = ItemLocation(self._project_id(draft.project), before.session_id)
        if is_live(old):
            count_items(self._connection, self._space_id, [(before, old)], -1)
        columns = {
            "project_id": place.project_id,
            "type": draft.type,
            "importance": draft.importance,
            "tagged": bool(draft.tags),
            "content_hash": draft.content_hash,
            "created_ms": draft.created_ms,
        }
        self._update("items", item_id, columns | content_columns(self._connection, draft))
        self._connection.run(_STATE, self._state(item_id, item))
        self._await(item_id, item.awaits)
        delete = "DELETE FROM item_tags WHERE +space_id = ? AND item_id = ?"
        self._connection.run(delete, (self._space_id, item_id))
        write_tags(self._connection, self._space_id, [(item_id, draft.tags)])
        indexing.delete_passages(self._connection, self._space_id, item_id)
        if item.live:
            indexing.add(self._connection, self._space_id, item_id, place.project_id, draft)
            self._count([(place, draft)])
        else:
            indexing.add_passages(self._connection, self._space_id, item_id, draft.passages)

    def replace_item(self, item_id: int, by: int) -> None:
        """Mark an item as replaced, without a line in its history."""
        item = changeable(self._connection, self._space_id, item_id)
        select = "SELECT version FROM records WHERE space_id = ? AND what = 'item' AND id = ?"
        version = self._connection.value(select, (self._space_id, item_id))
        select = "SELECT max(at_ms) FROM history WHERE +space_id = ? AND item_id = ? AND op = 'supersede'"
        superseded = self._connection.value(select, (self._space_id, item_id))
        new = items.get_one(self._connection, self._space_id, by)
        until = end_when_replaced(item, new, version if superseded is None else superseded)
        self._update("items", item_id, {"superseded_by": by, "valid_until_ms": until})
        self._connection.run(_RECORD, (version, None, self._space_id, item_id))
        if item.forgotten_ms is None:
            indexing.hide(self._connection, self._space_id, [item_id])
            place = location_of(self._connection, self._space_id, item_id)
            count_items(self._connection, self._space_id, [(place, item)], -1)

    def step_aside(self, item_id: int, content_hash: bytes, awaits: str | None) -> None:
        """Let another item have the content of this one, without a line in its history."""
        self._update("items", item_id, {"content_hash": content_hash})
        if awaits is not None:
            self._await(item_id, awaits)

    def add_lines(self, what: RecordKind, id_: int, lines: Sequence[Change], rev: int) -> None:
        """Add lines to a history and number all of them up to the revision, which grows if they are more.

        The first lines of a history keep their numbers.
        """
        table, history, column = _TABLES[what]
        by = ", author, origin" if what == "item" else ""
        self._connection.run_all(
            f"INSERT INTO {history} (space_id, {column}, rev, op, at_ms, before{by})"
            f" VALUES (?, ?, ?, ?, ?, ?{', ?, ?' if by else ''})",
            [
                (
                    *(self._space_id, id_, one.rev, one.op, one.at_ms, self._connection.as_json(one.before)),
                    *((one.author, one.origin) if by else ()),
                )
                for one in lines
            ],
        )
        select = f"SELECT id FROM {history} WHERE +space_id = ? AND {column} = ? ORDER BY at_ms, rev, id"
        ids = [row[0] for row in self._connection.rows(select, (self._space_id, id_))]
        if keep_numbers(lines, len(ids), rev):
            ids = []
        rev = max(rev, len(ids) + 1)
        numbered = [(number, self._space_id, line_id) for number, line_id in enumerate(ids, rev - len(ids))]
        self._connection.run_all(f"UPDATE {history} SET rev = ? WHERE space_id = ? AND id = ?", numbered)
        self._update(table, id_, {"rev": rev})

    def set_version(self, what: RecordKind, id_: int, version: int) -> None:
        change = "UPDATE records SET version = ? WHERE space_id = ? AND what = ? AND id = ?"
        self._connection.run(change, (version, self._space_id, what, id_))

    def _update(self, table: str, id_: int, columns: dict[str, object]) -> None:
        changes = ", ".join(f"{name} = ?" for name in columns)
        bindings = (*columns.values(), self._space_id, id_)
        self._connection.run(f"UPDATE {table} SET {changes} WHERE space_id = ? AND id = ?", bindings)

    def _state(self, item_id: int, item: ItemToWrite) -> tuple[object, ...]:
        """When an item changed, and whether it is forgotten or replaced."""
        fields = item.record.fields
        state = (fields["updated_ms"], fields["rev"], fields["status"], fields["forgotten_ms"], item.by)
        newer = {name: fields.get(name) for name in (*VALIDITY_FIELDS, *SOURCE_FIELDS)}
        superseded = [line for line in item.record.history if line.op == "supersede"]
        if item.by is not None and newer["valid_until_ms"] is None:
            newer["valid_until_ms"] = max((line.at_ms for line in superseded), default=item.record.version)
        elif item.by is None and item.awaits is not None:
            # It is found until what replaced it is here, so its interval is not closed before.
            newer["valid_until_ms"] = end_before_superseding([line.before for line in superseded])
        return *state, *newer.values(), self._space_id, item_id

    def _count(self, located: Sequence[tuple[ItemLocation, Draft]]) -> None:
        """Count new items. They bring no session back: whether one is forgotten, its own record says."""
        ids = sorted({place.session_id for place, _draft in located if place.session_id is not None})
        forgotten = self._connection.rows(
            "SELECT s.id, s.forgotten_ms, r.version FROM sessions s CROSS JOIN records r"
            " ON r.space_id = s.space_id AND r.what = 'session' AND r.id = s.id"
            f" WHERE +s.space_id = ? AND s.id {IN_LIST} AND s.forgotten_ms IS NOT NULL",
            (self._space_id, self._connection.array(ids)),
        )
        count_items(self._connection, self._space_id, located, +1)
        for session_id, forgotten_ms, version in forgotten:
            self._update("sessions", session_id, {"forgotten_ms": forgotten_ms})
            self.set_version("session", session_id, version)

    def _await(self, item_id: int, uid: str | None) -> None:
        change = "UPDATE records SET awaits = ? WHERE space_id = ? AND what = 'item' AND id = ?"
        self._connection.run(change, (uid, self._space_id, item_id))

    def _project_id(self, name: str | None) -> int | None:
        if name is None:
            return None
        if name not in self._projects:
            self._projects[name] = projects.find_or_create(self._connection, self._space_id, name, self._now)
        return self._projects[name]

    def _session_id(self, record: Record) -> int | None:
        """The session of an item. A missing one is created, and gives way to whatever record of it arrives."""
        key, started_ms = record.fields["session"], record.fields["created_ms"]
        if key is None or key in self._sessions:
            return self._sessions.get(key)
        row = self._connection.first("SELECT id FROM sessions WHERE space_id = ? AND key = ?", (self._space_id, key))
        if row is None:
            number = sessions.find_or_create(self._connection, self._space_id, key, None, started_ms, self._now)
            self.set_version("session", number, 0)
        else:
            number = int(row[0])
        self._sessions[key] = number
        return number


_ROW = "SELECT r.what, r.id, r.seq, r.version, r.awaits"
_OF_TABLE = "{table} t CROSS JOIN records r ON r.space_id = t.space_id AND r.what = '{what}' AND r.id = t.id"
# Where the names of records are.
_NAMED = {"item": ("items", "uid"), "session": ("sessions", "key"), "project": ("projects", "name")}

Row = tuple[RecordKind, int, int, int, str | None]


class Records(Space):
    """The records of one space."""

    def space_uid(self) -> str:
        with self._database.read() as connection:
            return str(connection.value("SELECT uid FROM spaces WHERE id = ?", (self._space_id,)))

    def last_change(self) -> int:
        with self._database.read() as connection:
            select = "SELECT coalesce(max(seq), 0) FROM records WHERE space_id = ?"
            return int(connection.value(select, (self._space_id,)))

    def records_since(self, after: int, limit: int) -> tuple[list[Record], int]:
        with self._database.read() as connection:
            select = f"{_ROW} FROM records r WHERE r.space_id = ? AND r.seq > ? ORDER BY r.seq LIMIT ?"
            rows = connection.rows(select, (self._space_id, after, limit))
            records = [one.record for one in _read(connection, self._space_id, rows)]
            return sorted(records, key=lambda record: record.seq), rows[-1][2] if rows else after

    def records_of(self, what: RecordKind, after: str, limit: int) -> tuple[list[Record], str | None]:
        table, column = _NAMED[what]
        select = (
            f"{_ROW} FROM {_OF_TABLE.format(table=table, what=what)}"
            f" WHERE t.space_id = ? AND t.{column} > ? ORDER BY t.{column} LIMIT ?"
        )
        with self._database.read() as connection:
            rows = connection.rows(select, (self._space_id, after, limit))
            records = [one.record for one in _read(connection, self._space_id, rows)]
        records.sort(key=lambda record: record.name)
        return records, records[-1].name if len(rows) == limit else None

    def records_named(self, names: Sequence[Name]) -> list[Record]:
        with self._database.read() as connection:
            return [one.record for one in _find(connection, self._space_id, names).values()]

    def merge_records(self, arrivals: Sequence[Arrival], now_ms: int) -> list[Outcome]:
        with self._database.write() as connection:
            writer = RowWriter(
                connection, self._space_id, now_ms, lambda names: _find(connection, self._space_id, names)
            )
            outcomes = merge_arrivals(writer, arrivals, now_ms)
        self._database.wrote(len(outcomes))
        return outcomes

    def peer(self, uid: str, extent: str) -> Peer:
        select = "SELECT pulled, pushed, refused FROM peers WHERE space_id = ? AND peer = ? AND extent = ?"
        with self._database.read() as connection:
            row = connection.first(select, (self._space_id, uid, extent))
        return Peer() if row is None else Peer(row[0], row[1], refused_of(row[2]))

    def note_peer(self, uid: str, extent: str, peer: Peer) -> None:
        with self._database.write() as connection:
            connection.run(
                "INSERT INTO peers (space_id, peer, extent, pulled, pushed, refused) VALUES (?, ?, ?, ?, ?, ?)"
                " ON CONFLICT (space_id, peer, extent) DO UPDATE SET pulled = excluded.pulled,"
                " pushed = excluded.pushed, refused = excluded.refused",
                (self._space_id, uid, extent, peer.pulled, peer.pushed, json.dumps(peer.refused)),
            )


def _find(connection: Connection, space_id: int, names: Sequence[Name]) -> dict[Name, FoundRecord]:
    """The records of these names that are there."""
    rows: list[Row] = []
    for what, (table, column) in _NAMED.items():
        wanted = [name for kind, name in names if kind == what]
        if wanted:
            rows += connection.rows(
                f"{_ROW} FROM {_OF_TABLE.format(table=table, what=what)} WHERE t.space_id = ? AND t.{column} {IN_LIST}",
                (space_id, connection.array(wanted)),
            )
    return {(one.record.what, one.record.name): one for one in _read(connection, space_id, rows)}


def _read(connection: Connection, space_id: int, rows: Sequence[Row]) -> list[FoundRecord]:
    """Records of their rows, with all that belongs to them."""
    of: defaultdict[str, dict[int, tuple[Any, ...]]] = defaultdict(dict)
    for what, id_, *row in rows:
        of[what][id_] = tuple(row)
    return [
        *(_items(connection, space_id, of["item"]) if of["item"] else ()),
        *(_sessions(connection, space_id, of["session"]) if of["session"] else ()),
        *(_projects(connection, space_id, of["project"]) if of["project"] else ()),
    ]


def _items(connection: Connection, space_id: int, rows: dict[int, tuple[Any, ...]]) -> list[FoundRecord]:
    found = items.get(connection, space_id, rows)
    histories = _histories(connection, space_id, "item", rows)
    ids = sorted(replacement_ids([*found.values()], histories))
    select = f"SELECT id, uid FROM items WHERE +space_id = ? AND id {IN_LIST}"
    uids = dict(connection.rows(select, (space_id, connection.array(ids)))) if ids else {}
    return [FoundRecord(id_, item_record(item, histories[id_], uids, rows[id_])) for id_, item in found.items()]


def _sessions(connection: Connection, space_id: int, rows: dict[int, tuple[Any, ...]]) -> list[FoundRecord]:
    histories = _histories(connection, space_id, "session", rows)
    found = sessions.get(connection, space_id, rows)
    return [FoundRecord(id_, session_record(session, histories[id_], rows[id_])) for id_, session in found.items()]


def _projects(connection: Connection, space_id: int, rows: dict[int, tuple[Any, ...]]) -> list[FoundRecord]:
    found = connection.rows(
        "SELECT p.id, p.name, p.created_ms, (SELECT json_group_array(a.alias) FROM project_aliases a"
        " WHERE a.space_id = p.space_id AND a.project_id = p.id)"
        f" FROM projects p WHERE +p.space_id = ? AND p.id {IN_LIST}",
        (space_id, connection.array(rows)),
    )
    return [
        FoundRecord(id_, project_record(name, list_of(aliases), created_ms, rows[id_]))
        for id_, name, created_ms, aliases in found
    ]


def _histories(
    connection: Connection, space_id: int, what: str, ids: dict[int, tuple[Any, ...]]
) -> defaultdict[int, list[Change]]:
    _table, history, column = _TABLES[what]
    histories: defaultdict[int, list[Change]] = defaultdict(list)
    by = ", author, origin" if what == "item" else ""
    rows = connection.rows(
        f"SELECT {column}, rev, op, at_ms, before{by} FROM {history}"
        f" WHERE +space_id = ? AND {column} {IN_LIST} ORDER BY rev, id",
        (space_id, connection.array(ids)),
    )
    for id_, *line in rows:
        histories[id_].append(change_of(*line))
    return histories
