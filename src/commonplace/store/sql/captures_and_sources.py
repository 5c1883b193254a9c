"""What hooks captured, each event once, and the files that sessions were read from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from commonplace.model import Author, Draft, Item, SessionDraft
from commonplace.store.damaged_values import object_of
from commonplace.store.maintenance import HOOK_DIGEST, CapturedEvent, SessionProgress
from commonplace.store.sql import item_changes, item_writes, items, projects, sessions
from commonplace.store.sql.connection import IN_BLOBS, Connection, Space, json_field
from commonplace.store.sql.item_changes import ItemLocation

# An event that comes again later than this is taken for another one.
REMEMBERED_MS = 30 * 86_400_000
# As in the index, which leaves out messages.
_IN_SESSION = "/*pg space_id = ?1 AND */ session_id = ?2 AND kind <> 'message' AND kind = ?3"
_LIVE = "forgotten_ms IS NULL AND superseded_by IS NULL"


class Captures(Space):
    """Captured events of one space."""

    def known_events(self, events: Sequence[bytes]) -> set[bytes]:
        with self._database.read() as connection:
            return _known(connection, self._space_id, events)

    def session_progress(self, key: str, opening: int, recent: int) -> SessionProgress | None:
        with self._database.read(self._query_timeout) as connection:
            select = "SELECT id FROM sessions WHERE space_id = ? AND key = ?"
            row = connection.first(select, (self._space_id, key))
            if row is None:
                return None
            place = (self._space_id, row[0])
            prompts = _observations(connection, *place, "AND type = 'prompt'", "created_ms, id", opening)
            newest = _observations(connection, *place, "", "created_ms DESC, id DESC", recent)
            summaries = [_summary_id(connection, *place, kind) for kind in ("summary", "checkpoint")]
            found = items.get(connection, self._space_id, [*prompts, *newest, *(id_ for id_ in summaries if id_)])
            counts = connection.rows(
                f"SELECT type, count(*) FROM items WHERE {_IN_SESSION} AND {_LIVE} GROUP BY type",
                (*place, "observation"),
            )
            return SessionProgress(
                sessions.get_one(connection, *place),
                tuple(found[id_] for id_ in prompts),
                tuple(found[id_] for id_ in reversed(newest)),
                dict(counts),
                *(found[id_] if id_ else None for id_ in summaries),
            )

    def capture_events(
        self,
        drafts: Sequence[SessionDraft],
        events: Sequence[CapturedEvent],
        summaries: Sequence[Draft],
        now_ms: int,
    ) -> list[bool]:
        with self._database.write() as connection:
            _drop_old(connection, self._space_id, now_ms)
            new = _take(connection, self._space_id, events, now_ms)
            taken = [event for event, is_new in zip(events, new, strict=True) if is_new]
            _tally(connection, self._space_id, Counter(event.outcome for event in taken))
            places = {draft.key: _find_or_create(connection, self._space_id, draft, now_ms) for draft in drafts}
            _write(connection, self._space_id, places, [event.draft for event in taken if event.draft], now_ms)
            for draft in summaries:
                _update_summary(connection, self._space_id, places[str(draft.session)], draft, now_ms)
            return new

    def capture_counts(self) -> Mapping[str, int]:
        with self._database.read() as connection:
            select = "SELECT outcome, events FROM capture_tally WHERE space_id = ? ORDER BY outcome"
            return dict(connection.rows(select, (self._space_id,)))


def _known(connection: Connection, space_id: int, events: Sequence[bytes]) -> set[bytes]:
    select = f"SELECT event FROM captured_events WHERE space_id = ? AND event {IN_BLOBS}"
    return {row[0] for row in connection.rows(select, (space_id, connection.array(events)))} if events else set()


def _take(connection: Connection, space_id: int, events: Sequence[CapturedEvent], now_ms: int) -> list[bool]:
    """Write events down. False for one that was captured before."""
    known = _known(connection, space_id, [event.event for event in events])
    new = []
    for event in events:
        new.append(event.event not in known)
        known.add(event.event)
    connection.run_all(
        "INSERT INTO captured_events (space_id, event, at_ms) VALUES (?, ?, ?)",
        [(space_id, event.event, now_ms) for event, is_new in zip(events, new, strict=True) if is_new],
    )
    return new


def _drop_old(connection: Connection, space_id: int, now_ms: int) -> None:
    """Delete events so old that they will not come again."""
    old = (space_id, now_ms - REMEMBERED_MS)
    connection.run("DELETE FROM captured_events WHERE space_id = ? AND at_ms < ?", old)


def _tally(connection: Connection, space_id: int, outcomes: Mapping[str, int]) -> None:
    connection.run_all(
        "INSERT INTO capture_tally (space_id, outcome, events) VALUES (?, ?, ?)"
        " ON CONFLICT (space_id, outcome) DO UPDATE SET events = capture_tally.events + excluded.events",
        [(space_id, outcome, number) for outcome, number in outcomes.items()],
    )


def _find_or_create(connection: Connection, space_id: int, draft: SessionDraft, now_ms: int) -> ItemLocation:
    """The session of that key, created on first mention; an existing one only learns what it did not know."""
    project_id = None if draft.project is None else projects.find_or_create(connection, space_id, draft.project, now_ms)
    row = connection.first(
        "SELECT id, label, folder, source, project_id, meta FROM sessions WHERE space_id = ? AND key = ?",
        (space_id, draft.key),
    )
    if row is None:
        return ItemLocation(project_id, sessions.insert(connection, space_id, draft, project_id, now_ms))
    session_id, label, folder, source, known_project, meta = row
    learnt: dict[str, object] = {} if label else {"label": draft.label}
    if not source:
        learnt |= {"source": draft.source, **({"folder": draft.folder} if folder == "/" else {})}
    if known_project is None:
        learnt["project_id"] = known_project = project_id
    merged = connection.as_json(_merged(draft.meta, object_of(meta)))
    if merged != meta:
        learnt["meta"] = merged
    if learnt:
        columns = ", ".join(f"{column} = ?" for column in learnt)
        change = f"UPDATE sessions SET {columns} WHERE space_id = ? AND id = ?"
        connection.run(change, (*learnt.values(), space_id, session_id))
    return ItemLocation(known_project, session_id)


def _merged(new: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """What is known, completed by what is new, also in objects further in."""
    both = {**new, **known}
    inner = [name for name, value in both.items() if isinstance(value, dict) and isinstance(new.get(name), dict)]
    return {**both, **{name: _merged(new[name], both[name]) for name in inner}}


def _write(
    connection: Connection,
    space_id: int,
    places: Mapping[str, ItemLocation],
    drafts: Sequence[Draft],
    now_ms: int,
) -> None:
    """Write the items of events that are new, counted once for each session."""
    located = [(places[str(draft.session)], draft) for draft in drafts]
    stored = item_writes.insert_all(connection, space_id, located, now_ms)
    new = [one for one, made in zip(located, stored, strict=True) if not made.duplicate]
    item_changes.count_items(connection, space_id, new, +1)


def _update_summary(connection: Connection, space_id: int, place: ItemLocation, draft: Draft, now_ms: int) -> None:
    """Write a session's summary or checkpoint; what it said stays in its history. A forgotten one stays forgotten."""
    assert place.session_id is not None
    item_id = _summary_id(connection, space_id, place.session_id, draft.kind)
    if item_id is None:
        _write(connection, space_id, {str(draft.session): place}, [draft], now_ms)
        return
    old = items.get_one(connection, space_id, item_id)
    if not item_changes.is_live(old) or _content(old) == _content(draft):
        return
    draft = replace(draft, content_hash=old.content_hash, project=old.project)
    item_changes.rewrite(connection, space_id, item_id, draft, now_ms, None, Author(draft.author, draft.origin))
    change = "UPDATE items SET created_ms = ? WHERE space_id = ? AND id = ?"
    connection.run(change, (draft.created_ms, space_id, item_id))


def _content(item: Draft | Item) -> tuple[object, ...]:
    return item.title, item.body, dict(item.details), dict(item.meta)


def _summary_id(connection: Connection, space_id: int, session_id: int, kind: str) -> int | None:
    """The one summary or checkpoint of a session that hooks keep up to date."""
    select = f"SELECT id, meta FROM items WHERE {_IN_SESSION} AND meta <> '{{}}' ORDER BY id"
    rows = connection.rows(select, (space_id, session_id, kind))
    return next((int(id_) for id_, meta in rows if object_of(meta).get(HOOK_DIGEST) is not None), None)


def _observations(
    connection: Connection, space_id: int, session_id: int, condition: str, order: str, limit: int
) -> list[int]:
    select = f"SELECT id FROM items WHERE {_IN_SESSION} AND {_LIVE} {condition} ORDER BY {order} LIMIT ?4"
    return [row[0] for row in connection.rows(select, (space_id, session_id, "observation", limit))]


# What being abandoned adds to the text of a message's metadata, whose size its session counts.
_ABANDONED = ',"off_path":true'
_UNLINKED = f"""
SELECT id, key, meta FROM sessions WHERE space_id = ?
   AND {json_field("meta", "parent_session")} = ? AND {json_field("meta", "parent_message")} IS NULL
"""


class Sources(Space):
    """How far each source of one space was read."""

    def source_mark(self, path: str) -> Mapping[str, Any] | None:
        with self._database.read() as connection:
            select = "SELECT mark FROM sources WHERE space_id = ? AND path = ?"
            row = connection.first(select, (self._space_id, path))
        return None if row is None else object_of(row[0])

    def source_marks(self, beginning: str) -> dict[str, Mapping[str, Any]]:
        with self._database.read() as connection:
            select = "SELECT path, mark FROM sources WHERE space_id = ? AND substr(path, 1, ?) = ? ORDER BY path"
            rows = connection.rows(select, (self._space_id, len(beginning), beginning))
        return {str(path): object_of(mark) for path, mark in rows}

    def save_source_mark(self, path: str, mark: Mapping[str, Any], now_ms: int) -> None:
        with self._database.write() as connection:
            connection.run(
                "INSERT INTO sources (space_id, path, mark, at_ms) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (space_id, path) DO UPDATE SET mark = excluded.mark, at_ms = excluded.at_ms",
                (self._space_id, path, connection.as_json(mark), now_ms),
            )

    def source_turns(self, key: str) -> list[tuple[str, str | None]]:
        with self._database.read(self._query_timeout) as connection:
            messages = _messages(connection, self._space_id, key)
        turns: dict[str, str | None] = {}
        for _id, _uid, text in messages:
            meta = object_of(text)
            turn = meta.get("turn")
            if turn and not meta.get("sidechain"):
                turns[turn] = meta.get("follows") or turns.get(turn)
        return list(turns.items())

    def mark_abandoned(self, key: str, turns: Collection[str]) -> None:
        with self._database.write() as connection:
            changed, size = [], 0
            for item_id, _uid, text in _messages(connection, self._space_id, key):
                meta = object_of(text)
                known = meta.pop("off_path", False)
                abandoned = meta.get("turn") in turns
                # Damaged metadata stays as it is found.
                if abandoned != bool(known) and type(text) is str:
                    meta = meta | {"off_path": True} if abandoned else meta
                    changed.append((connection.as_json(meta), self._space_id, item_id))
                    size += len(_ABANDONED) if abandoned else -len(_ABANDONED)
            connection.run_all("UPDATE items SET meta = ? WHERE space_id = ? AND id = ?", changed)
            resize = "UPDATE sessions SET bytes = bytes + ? WHERE space_id = ? AND key = ?"
            connection.run(resize, (size, self._space_id, key))

    def link_sub_agents(self, key: str) -> int:
        with self._database.read() as connection:
            if not connection.rows(_UNLINKED, (self._space_id, key)):
                return 0
        with self._database.write() as connection:
            messages = _messages(connection, self._space_id, key)
            started = {call: uid for _id, uid, text in messages for call in object_of(text).get("spawned", ())}
            linked = []
            for session_id, name, text in connection.rows(_UNLINKED, (self._space_id, key)):
                meta = object_of(text)
                uid = started.get(name.rpartition("/")[2]) or started.get(meta.get("started_by"))
                if uid:
                    linked.append((connection.as_json(meta | {"parent_message": uid}), self._space_id, session_id))
            connection.run_all("UPDATE sessions SET meta = ? WHERE space_id = ? AND id = ?", linked)
            return len(linked)


def _messages(connection: Connection, space_id: int, key: str) -> list[tuple[int, str, str]]:
    """The id, uid and metadata of each message in the session of that key, in order."""
    return connection.rows(
        "SELECT i.id, i.uid, i.meta FROM sessions s CROSS JOIN items i"
        " ON +i.space_id = s.space_id AND i.session_id = s.id"
        " WHERE s.space_id = ? AND s.key = ? AND i.kind = 'message' ORDER BY i.id",
        (space_id, key),
    )
