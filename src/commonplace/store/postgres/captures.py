"""The engine's part about captured events: each written once, with the session that it belongs to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from commonplace.model import Draft, Item, SessionDraft
from commonplace.store.damage import object_of
from commonplace.store.maintenance import HOOK_DIGEST, CapturedEvent, SessionProgress
from commonplace.store.postgres import changes, items, sessions, sql
from commonplace.store.postgres.inserting import insert_all
from commonplace.store.postgres.pool import Connection
from commonplace.store.postgres.space import PostgresSpace
from commonplace.store.sql import projects

# An event that is told again later than this is taken for another one.
REMEMBERED_MS = 30 * 86_400_000
# Said of the index, which leaves out messages.
_IN_SESSION = "space_id = %s AND session_id = %s AND kind <> 'message' AND kind = %s"
_LIVE = "forgotten_ms IS NULL AND superseded_by IS NULL"


class Captures(PostgresSpace):
    """Events of one space."""

    def known_events(self, events: Sequence[bytes]) -> set[bytes]:
        with self._database.read() as connection:
            question = "SELECT event FROM captured_events WHERE space_id = %s AND event = ANY(%s::bytea[])"
            return {row[0] for row in sql.rows(connection, question, (self._space_id, [*events]))}

    def session_progress(self, key: str, opening: int, recent: int) -> SessionProgress | None:
        with self._database.read(self._query_timeout) as connection:
            question = "SELECT id FROM sessions WHERE space_id = %s AND key = %s"
            row = sql.first(connection, question, (self._space_id, key))
            if row is None:
                return None
            place = (self._space_id, row[0])
            prompts = _ids(connection, *place, "type = 'prompt'", "created_ms, id", opening)
            newest = _ids(connection, *place, "true", "created_ms DESC, id DESC", recent)
            told = [_told(connection, *place, kind) for kind in ("summary", "checkpoint")]
            found = items.get(connection, self._space_id, [*prompts, *newest, *(id_ for id_ in told if id_)])
            counts = sql.rows(
                connection,
                f"SELECT type, count(*) FROM items WHERE {_IN_SESSION} AND {_LIVE} GROUP BY type",
                (*place, "observation"),
            )
            return SessionProgress(
                sessions.get_one(connection, *place),
                tuple(found[id_] for id_ in prompts),
                tuple(found[id_] for id_ in reversed(newest)),
                dict(counts),
                *(found[id_] if id_ else None for id_ in told),
            )

    def capture_events(
        self, drafts: Sequence[SessionDraft], events: Sequence[CapturedEvent], told: Sequence[Draft], now_ms: int
    ) -> list[bool]:
        with self._database.write() as connection:
            _drop_old(connection, self._space_id, now_ms)
            new = _take(connection, self._space_id, events, now_ms)
            taken = [event for event, is_new in zip(events, new, strict=True) if is_new]
            _tally(connection, self._space_id, Counter(event.outcome for event in taken))
            places = {draft.key: _place(connection, self._space_id, draft, now_ms) for draft in drafts}
            _write(connection, self._space_id, places, [event.draft for event in taken if event.draft], now_ms)
            for draft in told:
                _tell(connection, self._space_id, places[str(draft.session)], draft, now_ms)
            return new

    def capture_counts(self) -> Mapping[str, int]:
        with self._database.read() as connection:
            question = "SELECT outcome, events FROM capture_tally WHERE space_id = %s ORDER BY outcome"
            return dict(sql.rows(connection, question, (self._space_id,)))


def _take(connection: Connection, space_id: int, events: Sequence[CapturedEvent], now_ms: int) -> list[bool]:
    """Note events. False for one that was noted before."""
    noted = sql.rows(
        connection,
        "INSERT INTO captured_events (space_id, event, at_ms)"
        " SELECT %s::integer, event, %s::bigint FROM unnest(%s::bytea[]) t(event)"
        " ON CONFLICT DO NOTHING RETURNING event",
        (space_id, now_ms, [event.event for event in events]),
    )
    left, new = {row[0] for row in noted}, []
    for event in events:
        new.append(event.event in left)
        left.discard(event.event)
    return new


def _drop_old(connection: Connection, space_id: int, now_ms: int) -> None:
    """Forget events so old that nobody tells them again."""
    old = (space_id, now_ms - REMEMBERED_MS)
    sql.run(connection, "DELETE FROM captured_events WHERE space_id = %s AND at_ms < %s", old)


def _tally(connection: Connection, space_id: int, outcomes: Mapping[str, int]) -> None:
    sql.each(
        connection,
        "INSERT INTO capture_tally AS t (space_id, outcome, events) VALUES (%s, %s, %s)"
        " ON CONFLICT (space_id, outcome) DO UPDATE SET events = t.events + excluded.events",
        [(space_id, outcome, number) for outcome, number in outcomes.items()],
    )


def _place(connection: Connection, space_id: int, draft: SessionDraft, now_ms: int) -> changes.Place:
    """The session of that key, made on first mention; one that is there only learns what it did not know."""
    project_id = None if draft.project is None else projects.find_or_create(connection, space_id, draft.project, now_ms)
    row = sql.first(
        connection,
        "SELECT id, label, folder, source, project_id, meta FROM sessions WHERE space_id = %s AND key = %s",
        (space_id, draft.key),
    )
    if row is None:
        return changes.Place(project_id, sessions.insert(connection, space_id, draft, project_id, now_ms))
    session_id, label, folder, source, known_project, meta = row
    learnt = (
        label or draft.label,
        draft.folder if not source and folder == "/" else folder,
        source or draft.source,
        project_id if known_project is None else known_project,
        sql.as_json(_beside(draft.meta, object_of(meta))),
    )
    if learnt != row[1:]:
        change = "UPDATE sessions SET label = %s, folder = %s, source = %s, project_id = %s, meta = %s"
        sql.run(connection, f"{change} WHERE space_id = %s AND id = %s", (*learnt, space_id, session_id))
    return changes.Place(learnt[3], session_id)


def _beside(new: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """What is known, with what is new beside it, also further in."""
    both = {**new, **known}
    inner = [name for name, value in both.items() if isinstance(value, dict) and isinstance(new.get(name), dict)]
    return {**both, **{name: _beside(new[name], both[name]) for name in inner}}


def _write(
    connection: Connection,
    space_id: int,
    places: Mapping[str, changes.Place],
    drafts: Sequence[Draft],
    now_ms: int,
) -> None:
    """Write the items of events that are new, counted once for each session."""
    placed = [(places[str(draft.session)], draft) for draft in drafts]
    stored = insert_all(connection, space_id, placed, now_ms)
    new = [one for one, made in zip(placed, stored, strict=True) if not made.duplicate]
    changes.count_items(connection, space_id, new, +1)


def _tell(connection: Connection, space_id: int, place: changes.Place, draft: Draft, now_ms: int) -> None:
    """Let a session's summary or checkpoint say this; what it said stays in its history. Forgotten, it stays so."""
    assert place.session_id is not None
    item_id = _told(connection, space_id, place.session_id, draft.kind)
    if item_id is None:
        _write(connection, space_id, {str(draft.session): place}, [draft], now_ms)
        return
    old = items.get_one(connection, space_id, item_id)
    if old.forgotten_ms is not None or old.superseded_by is not None or _says(old) == _says(draft):
        return
    changes.rewrite(
        connection, space_id, item_id, replace(draft, content_hash=old.content_hash, project=old.project), now_ms, None
    )
    change = "UPDATE items SET created_ms = %s WHERE space_id = %s AND id = %s"
    sql.run(connection, change, (draft.created_ms, space_id, item_id))


def _says(told: Draft | Item) -> tuple[object, ...]:
    return told.title, told.body, dict(told.details), dict(told.meta)


def _told(connection: Connection, space_id: int, session_id: int, kind: str) -> int | None:
    """The one summary or checkpoint of a session that hooks keep up to date."""
    question = f"SELECT id, meta FROM items WHERE {_IN_SESSION} AND meta <> '{{}}' ORDER BY id"
    rows = sql.rows(connection, question, (space_id, session_id, kind))
    return next((int(id_) for id_, meta in rows if object_of(meta).get(HOOK_DIGEST) is not None), None)


def _ids(connection: Connection, space_id: int, session_id: int, condition: str, order: str, limit: int) -> list[int]:
    question = f"SELECT id FROM items WHERE {_IN_SESSION} AND {_LIVE} AND {condition} ORDER BY {order} LIMIT %s"
    return [row[0] for row in sql.rows(connection, question, (space_id, session_id, "observation", limit))]
