"""Records of a space for sync: listed in the order of their changes, read by name, and merged with those of others.

Writers of a space take turns, so no change appears before one that was already read.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from commonplace.model import Change
from commonplace.store.damage import list_of
from commonplace.store.merge import FoundRecord, merge_arrivals
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
from commonplace.store.sql import items, sessions
from commonplace.store.sql.connection import IN_LIST, Connection
from commonplace.store.sql.record_writer import RowWriter
from commonplace.store.sql.space import Space

_ROW = "SELECT r.what, r.id, r.seq, r.version, r.awaits"
_OF_TABLE = "{table} t CROSS JOIN records r ON r.space_id = t.space_id AND r.what = '{what}' AND r.id = t.id"
# Where the names of records are.
_NAMED = {"item": ("items", "uid"), "session": ("sessions", "key"), "project": ("projects", "name")}
_HISTORY = {"item": ("history", "item_id"), "session": ("session_history", "session_id")}

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
    table, column = _HISTORY[what]
    histories: defaultdict[int, list[Change]] = defaultdict(list)
    rows = connection.rows(
        f"SELECT {column}, rev, op, at_ms, before FROM {table}"
        f" WHERE +space_id = ? AND {column} {IN_LIST} ORDER BY rev, id",
        (space_id, connection.array(ids)),
    )
    for id_, rev, op, at_ms, before in rows:
        histories[id_].append(change_of(rev, op, at_ms, before))
    return histories
