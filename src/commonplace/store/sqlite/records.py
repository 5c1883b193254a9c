"""The engine's part about records: walked in the order of their changes, read by name, and joined with others."""

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
from commonplace.store.sqlite import items, sessions, sql
from commonplace.store.sqlite.connection import SqliteConnection
from commonplace.store.sqlite.merge import SqliteRowWriter
from commonplace.store.sqlite.space import SqliteSpace

_ROW = "SELECT what, id, seq, version, awaits FROM records"
# Where the names of records are.
_NAMED = {"item": ("items", "uid"), "session": ("sessions", "key"), "project": ("projects", "name")}
_HISTORY = {"item": ("history", "item_id"), "session": ("session_history", "session_id")}

Row = tuple[RecordKind, int, int, int, str | None]


class Records(SqliteSpace):
    """Records of one space."""

    def space_uid(self) -> str:
        with self._database.read() as connection:
            return str(sql.value(connection, "SELECT uid FROM spaces WHERE id = ?", (self._space_id,)))

    def last_change(self) -> int:
        with self._database.read() as connection:
            question = "SELECT coalesce(max(seq), 0) FROM records WHERE space_id = ?"
            return int(sql.value(connection, question, (self._space_id,)))

    def records_since(self, after: int, limit: int) -> tuple[list[Record], int]:
        with self._database.read() as connection:
            walk = f"{_ROW} WHERE space_id = ? AND seq > ? ORDER BY seq LIMIT ?"
            rows = sql.rows(connection, walk, (self._space_id, after, limit))
            records = [one.record for one in read(connection, self._space_id, rows)]
            return sorted(records, key=lambda record: record.seq), rows[-1][2] if rows else after

    def records_of(self, what: RecordKind, after: str, limit: int) -> tuple[list[Record], str | None]:
        table, column = _NAMED[what]
        walk = (
            f"SELECT r.what, r.id, r.seq, r.version, r.awaits FROM {table} t"
            f" CROSS JOIN records r ON r.space_id = ?1 AND r.what = '{what}' AND r.id = t.id"
            f" WHERE t.space_id = ?1 AND t.{column} > ?2 ORDER BY t.{column} LIMIT ?3"
        )
        with self._database.read() as connection:
            rows = sql.rows(connection, walk, (self._space_id, after, limit))
            records = [one.record for one in read(connection, self._space_id, rows)]
        records.sort(key=lambda record: record.name)
        return records, records[-1].name if len(rows) == limit else None

    def records_named(self, names: Sequence[Name]) -> list[Record]:
        with self._database.read() as connection:
            return [one.record for one in find(connection, self._space_id, names).values()]

    def merge_records(self, arrivals: Sequence[Arrival], now_ms: int) -> list[Outcome]:
        with self._database.write() as connection:
            hands = SqliteRowWriter(
                connection, self._space_id, now_ms, lambda names: find(connection, self._space_id, names)
            )
            return merge_arrivals(hands, arrivals, now_ms)

    def peer(self, uid: str, extent: str) -> Peer:
        question = "SELECT pulled, pushed, refused FROM peers WHERE space_id = ? AND peer = ? AND extent = ?"
        with self._database.read() as connection:
            row = sql.first(connection, question, (self._space_id, uid, extent))
        return Peer() if row is None else Peer(row[0], row[1], refused_of(row[2]))

    def note_peer(self, uid: str, extent: str, peer: Peer) -> None:
        with self._database.write() as connection:
            connection.execute(
                "INSERT INTO peers (space_id, peer, extent, pulled, pushed, refused) VALUES (?, ?, ?, ?, ?, ?)"
                " ON CONFLICT (space_id, peer, extent) DO UPDATE SET pulled = excluded.pulled,"
                " pushed = excluded.pushed, refused = excluded.refused",
                (self._space_id, uid, extent, peer.pulled, peer.pushed, json.dumps(peer.refused)),
            )


def find(connection: SqliteConnection, space_id: int, names: Sequence[Name]) -> dict[Name, FoundRecord]:
    """The records of these names that are there."""
    rows: list[Row] = []
    for what, (table, column) in _NAMED.items():
        asked = json.dumps([name for kind, name in names if kind == what])
        if asked != "[]":
            rows += sql.rows(
                connection,
                f"SELECT r.what, r.id, r.seq, r.version, r.awaits FROM json_each(?2) j"
                f" CROSS JOIN {table} t ON t.space_id = ?1 AND t.{column} = j.value"
                f" CROSS JOIN records r ON r.space_id = ?1 AND r.what = '{what}' AND r.id = t.id",
                (space_id, asked),
            )
    return {(one.record.what, one.record.name): one for one in read(connection, space_id, rows)}


def read(connection: SqliteConnection, space_id: int, rows: Sequence[Row]) -> list[FoundRecord]:
    """Records of their rows, with all that belongs to them."""
    of: defaultdict[str, dict[int, tuple[Any, ...]]] = defaultdict(dict)
    for what, id_, *row in rows:
        of[what][id_] = tuple(row)
    return [
        *_items(connection, space_id, of["item"]),
        *_sessions(connection, space_id, of["session"]),
        *_projects(connection, space_id, of["project"]),
    ]


def _items(connection: SqliteConnection, space_id: int, rows: dict[int, tuple[Any, ...]]) -> list[FoundRecord]:
    found = items.get(connection, space_id, rows)
    histories = _histories(connection, "item", rows)
    numbers = json.dumps(sorted(replacement_ids([*found.values()], histories)))
    uids = sql.rows(connection, "SELECT i.id, i.uid FROM json_each(?) j JOIN items i ON i.id = j.value", (numbers,))
    return [FoundRecord(id_, item_record(item, histories[id_], dict(uids), rows[id_])) for id_, item in found.items()]


def _sessions(connection: SqliteConnection, space_id: int, rows: dict[int, tuple[Any, ...]]) -> list[FoundRecord]:
    histories = _histories(connection, "session", rows)
    found = sessions.get(connection, space_id, rows)
    return [FoundRecord(id_, session_record(session, histories[id_], rows[id_])) for id_, session in found.items()]


def _projects(connection: SqliteConnection, space_id: int, rows: dict[int, tuple[Any, ...]]) -> list[FoundRecord]:
    found = sql.rows(
        connection,
        "SELECT p.id, p.name, p.created_ms, (SELECT json_group_array(alias) FROM project_aliases a"
        " WHERE a.space_id = p.space_id AND a.project_id = p.id)"
        "  FROM json_each(?2) j CROSS JOIN projects p ON p.id = j.value WHERE p.space_id = ?1",
        (space_id, json.dumps([*rows])),
    )
    return [
        FoundRecord(id_, project_record(name, list_of(aliases), created_ms, rows[id_]))
        for id_, name, created_ms, aliases in found
    ]


def _histories(
    connection: SqliteConnection, what: str, ids: dict[int, tuple[Any, ...]]
) -> defaultdict[int, list[Change]]:
    table, column = _HISTORY[what]
    histories: defaultdict[int, list[Change]] = defaultdict(list)
    rows = sql.rows(
        connection,
        f"SELECT h.{column}, h.rev, h.op, h.at_ms, h.before FROM json_each(?) j"
        f" CROSS JOIN {table} h ON h.{column} = j.value ORDER BY h.rev, h.id",
        (json.dumps([*ids]),),
    )
    for id_, rev, op, at_ms, before in rows:
        histories[id_].append(change_of(rev, op, at_ms, before))
    return histories
