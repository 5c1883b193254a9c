"""The engine's part about captured events: each written once, with the session that it belongs to."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from commonplace.identity import new_uid
from commonplace.model import Draft, Item, SessionDraft
from commonplace.store.maintenance import HOOK_DIGEST, CapturedEvent, SessionProgress
from commonplace.store.sql import projects
from commonplace.store.sqlite import changes, index, items, sessions, sql, writing
from commonplace.store.sqlite.connection import SqliteConnection
from commonplace.store.sqlite.space import SqliteSpace

# An event that is told again later than this is taken for another one.
REMEMBERED_MS = 30 * 86_400_000
# Said of the index, which leaves out messages.
_IN_SESSION = "session_id = ? AND kind <> 'message' AND kind = ?"
_LIVE = "forgotten_ms IS NULL AND superseded_by IS NULL"


class Captures(SqliteSpace):
    """Events of one space."""

    def known_events(self, events: Sequence[bytes]) -> set[bytes]:
        with self._database.read() as connection:
            return {event for event in events if _is_known(connection, self._space_id, event)}

    def session_progress(self, key: str, opening: int, recent: int) -> SessionProgress | None:
        with self._database.read(self._query_timeout) as connection:
            row = sql.first(connection, "SELECT id FROM sessions WHERE space_id = ? AND key = ?", (self._space_id, key))
            if row is None:
                return None
            (session_id,) = row
            prompts = _ids(connection, session_id, "type = 'prompt'", f"ASC LIMIT {opening}")
            newest = _ids(connection, session_id, "1", f"DESC LIMIT {recent}")
            told = [_told(connection, session_id, kind) for kind in ("summary", "checkpoint")]
            found = items.get(connection, self._space_id, [*prompts, *newest, *(id_ for id_ in told if id_)])
            counts = sql.rows(
                connection,
                f"SELECT type, count(*) FROM items WHERE {_IN_SESSION} AND {_LIVE} GROUP BY type",
                (session_id, "observation"),
            )
            return SessionProgress(
                sessions.get_one(connection, self._space_id, session_id),
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
            new = [_take(connection, self._space_id, event, now_ms) for event in events]
            taken = [event for event, is_new in zip(events, new, strict=True) if is_new]
            _tally(connection, self._space_id, Counter(event.outcome for event in taken))
            places = {draft.key: _place(connection, self._space_id, draft, now_ms) for draft in drafts}
            _write(connection, self._space_id, places, [event.draft for event in taken if event.draft], now_ms)
            for draft in told:
                _tell(connection, self._space_id, places[str(draft.session)], draft, now_ms)
            return new

    def capture_counts(self) -> Mapping[str, int]:
        with self._database.read() as connection:
            question = "SELECT outcome, events FROM capture_tally WHERE space_id = ? ORDER BY outcome"
            return dict(sql.rows(connection, question, (self._space_id,)))


def _is_known(connection: SqliteConnection, space_id: int, event: bytes) -> bool:
    question = "SELECT 1 FROM captured_events WHERE space_id = ? AND event = ?"
    return sql.first(connection, question, (space_id, event)) is not None


def _take(connection: SqliteConnection, space_id: int, event: CapturedEvent, now_ms: int) -> bool:
    """Note an event. False if it was noted before."""
    connection.execute(
        "INSERT OR IGNORE INTO captured_events (space_id, event, at_ms) VALUES (?, ?, ?)",
        (space_id, event.event, now_ms),
    )
    return bool(connection.changes())


def _drop_old(connection: SqliteConnection, space_id: int, now_ms: int) -> None:
    """Forget events so old that nobody tells them again."""
    old = (space_id, now_ms - REMEMBERED_MS)
    connection.execute("DELETE FROM captured_events WHERE space_id = ? AND at_ms < ?", old)


def _tally(connection: SqliteConnection, space_id: int, outcomes: Mapping[str, int]) -> None:
    for outcome, number in outcomes.items():
        connection.execute(
            "INSERT INTO capture_tally (space_id, outcome, events) VALUES (?, ?, ?)"
            " ON CONFLICT (space_id, outcome) DO UPDATE SET events = events + excluded.events",
            (space_id, outcome, number),
        )


def _place(connection: SqliteConnection, space_id: int, draft: SessionDraft, now_ms: int) -> changes.Place:
    """The session of that key, made on first mention; one that is there only learns what it did not know."""
    project_id = None if draft.project is None else projects.find_or_create(connection, space_id, draft.project, now_ms)
    connection.execute(
        """
        INSERT INTO sessions (uid, space_id, key, source, project_id, label, folder, status, importance, meta,
                              started_ms, ended_ms, updated_ms)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (space_id, key) DO UPDATE SET
            label = iif(label = '', excluded.label, label),
            folder = iif(source = '' AND folder = '/', excluded.folder, folder),
            source = iif(source = '', excluded.source, source),
            project_id = coalesce(project_id, excluded.project_id),
            meta = json_patch(excluded.meta, iif(json_valid(meta), meta, '{}'))
        """,
        (
            new_uid(now_ms),
            space_id,
            draft.key,
            draft.source,
            project_id,
            draft.label,
            draft.folder,
            draft.status,
            draft.importance,
            changes.as_json(draft.meta),
            draft.started_ms,
            draft.started_ms,
            now_ms,
        ),
    )
    question = "SELECT project_id, id FROM sessions WHERE space_id = ? AND key = ?"
    return changes.Place(*sql.rows(connection, question, (space_id, draft.key))[0])


def _write(
    connection: SqliteConnection,
    space_id: int,
    places: Mapping[str, changes.Place],
    drafts: Sequence[Draft],
    now_ms: int,
) -> None:
    """Write the items of events that are new, counted once for each session."""
    words = index.Words()
    written: defaultdict[changes.Place, list[Draft]] = defaultdict(list)
    for draft in drafts:
        place = places[str(draft.session)]
        if not writing.insert(connection, space_id, place, draft, now_ms, words).duplicate:
            written[place].append(draft)
    words.write(connection)
    for place, new in written.items():
        for kind, number in Counter(draft.kind for draft in new).items():
            index.count(connection, space_id, place.project_id, kind, number)
        if place.session_id is not None:
            sessions.count(connection, place.session_id, new, +1)


def _tell(connection: SqliteConnection, space_id: int, place: changes.Place, draft: Draft, now_ms: int) -> None:
    """Let a session's summary or checkpoint say this; what it said stays in its history. Forgotten, it stays so."""
    assert place.session_id is not None
    item_id = _told(connection, place.session_id, draft.kind)
    if item_id is None:
        _write(connection, space_id, {str(draft.session): place}, [draft], now_ms)
        return
    old = items.get_one(connection, space_id, item_id)
    if old.forgotten_ms is not None or old.superseded_by is not None or _says(old) == _says(draft):
        return
    changes.rewrite(
        connection, space_id, item_id, replace(draft, content_hash=old.content_hash, project=old.project), now_ms, None
    )
    connection.execute("UPDATE items SET created_ms = ? WHERE id = ?", (draft.created_ms, item_id))


def _says(told: Draft | Item) -> tuple[object, ...]:
    return told.title, told.body, dict(told.details), dict(told.meta)


def _told(connection: SqliteConnection, session_id: int, kind: str) -> int | None:
    """The one summary or checkpoint of a session that hooks keep up to date."""
    told = f"{sql.readable_json('meta')} ->> '$.{HOOK_DIGEST}' IS NOT NULL"
    question = f"SELECT id FROM items WHERE {_IN_SESSION} AND {told} LIMIT 1"
    row = sql.first(connection, question, (session_id, kind))
    return None if row is None else int(row[0])


def _ids(connection: SqliteConnection, session_id: int, condition: str, order: str) -> list[int]:
    question = f"SELECT id FROM items WHERE {_IN_SESSION} AND {_LIVE} AND {condition} ORDER BY created_ms {order}"
    return [row[0] for row in sql.rows(connection, question, (session_id, "observation"))]
