"""Sessions: their rows, what is counted of them, and which of them a scope means."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from commonplace.errors import NotFound
from commonplace.identity import Ref, new_uid
from commonplace.model import Draft, Item, Session, SessionScope
from commonplace.store.damage import Reader, text_of
from commonplace.store.rows import session_of
from commonplace.store.sql import projects
from commonplace.store.sql.connection import json_field
from commonplace.store.sqlite.connection import SqliteConnection
from commonplace.store.types import SessionCounts
from commonplace.text.dates import clamp_time
from commonplace.text.near_duplicates import Sketch, merge_sketches, pack_sketch, sketch, unpack_sketch
from commonplace.text.paths import ROOT_FOLDER, folder_names
from commonplace.text.tokens import count_words

_DAY, _SHIFT = 86_400_000, 1_000_000
LIVE = "s.forgotten_ms IS NULL AND s.messages > 0"
# Also those without messages, if anything else that happened in them is remembered.
NOT_EMPTY = (
    "s.forgotten_ms IS NULL AND (s.messages > 0 OR EXISTS (SELECT 1 FROM items i WHERE i.session_id = s.id"
    " AND i.kind <> 'message' AND i.forgotten_ms IS NULL AND i.superseded_by IS NULL))"
)
_SELECT = """
SELECT s.id, s.uid, s.key, s.source, p.name, s.label, s.folder, s.status, coalesce(s.importance, 5.0), s.meta,
       s.started_ms, coalesce(s.ended_ms, s.started_ms), s.updated_ms, s.accessed_ms, s.rev, s.messages, s.words,
       s.bytes, s.forgotten_ms
  FROM {rows} LEFT JOIN projects p ON p.id = s.project_id
"""


def in_meta(name: str) -> str:
    """A field in the metadata of `sessions s`, as the indexes of sessions know it (0014_damaged_rows.sql)."""
    return json_field("s.meta", name)


def find_or_create(
    connection: SqliteConnection, space_id: int, key: str, project_id: int | None, started_ms: int, now_ms: int
) -> int:
    """The session an agent calls `key`, made on first mention; its project is learnt when one is first named."""
    row = connection.first("SELECT id, project_id FROM sessions WHERE space_id = ? AND key = ?", (space_id, key))
    if row is None:
        (session_id,) = connection.rows(
            "INSERT INTO sessions (uid, space_id, key, project_id, importance, started_ms, ended_ms, updated_ms)"
            " VALUES (?, ?, ?, ?, 5.0, ?, ?, ?) RETURNING id",
            (new_uid(now_ms), space_id, key, project_id, started_ms, started_ms, now_ms),
        )[0]
        return int(session_id)
    if row[1] is None and project_id is not None:
        connection.execute("UPDATE sessions SET project_id = ? WHERE id = ?", (project_id, row[0]))
    return int(row[0])


def count(connection: SqliteConnection, session_id: int, items: Iterable[Draft | Item], sign: int) -> None:
    """Keep what a session counts of its live messages; something that comes or comes back brings it back too."""
    came = list(items)
    if not came:
        return
    said = [item for item in came if item.kind == "message"]
    connection.execute(
        "UPDATE sessions SET messages = messages + ?, words = words + ?, bytes = bytes + ?, sketch = ?,"
        " ended_ms = max(coalesce(ended_ms, started_ms), ?), forgotten_ms = iif(?, NULL, forgotten_ms) WHERE id = ?",
        (
            sign * len(said),
            sign * sum(count_words(item.body) for item in said),
            sign * sum(map(_size, said)),
            _sketch(connection, session_id, [item.body for item in said], sign),
            max(item.created_ms for item in came),
            sign > 0,
            session_id,
        ),
    )


def sketches(connection: SqliteConnection, space_id: int) -> dict[int, Sketch]:
    """The sketch of each session with messages; one that is not kept is made of what it says."""
    rows = connection.rows(f"SELECT s.id, s.sketch FROM sessions s WHERE s.space_id = ? AND {LIVE}", (space_id,))
    return {id_: unpack_sketch(kept) if kept else sketch(_bodies(connection, id_)) for id_, kept in rows}


def _sketch(connection: SqliteConnection, session_id: int, bodies: Sequence[str], sign: int) -> bytes:
    """A session's sketch after these came or went: empty while nobody knows it, since nothing can be taken out."""
    messages, kept = connection.rows("SELECT messages, sketch FROM sessions WHERE id = ?", (session_id,))[0]
    if not bodies:
        return bytes(kept)
    if sign < 0 or (messages and not kept):
        return b""
    return pack_sketch(merge_sketches(unpack_sketch(kept), sketch(bodies)))


def _bodies(connection: SqliteConnection, session_id: int) -> list[str]:
    question = "SELECT body FROM items WHERE session_id = ? AND kind = 'message'"
    rows = connection.rows(f"{question} AND forgotten_ms IS NULL AND superseded_by IS NULL", (session_id,))
    return [text_of(row[0]) for row in rows]


def counted(connection: SqliteConnection, session_id: int) -> tuple[int, int, int]:
    """How many messages, words and bytes its live messages have, counted anew."""
    question = (
        "SELECT body, iif(meta = '{}', 0, octet_length(meta)) FROM items WHERE session_id = ? AND kind = 'message'"
    )
    messages = words = size = 0
    for body, more in connection.stream(
        f"{question} AND forgotten_ms IS NULL AND superseded_by IS NULL", (session_id,)
    ):
        text = text_of(body)
        messages, words, size = (
            messages + 1,
            words + count_words(text),
            size + len(text.encode("utf-8", "replace")) + more,
        )
    return messages, words, size


def is_counted(connection: SqliteConnection, session_id: int, sums: tuple[int, ...], kept: bytes) -> bool:
    """Whether a session counts its messages as they are; a sketch that is not kept is none that is wrong."""
    if sums != counted(connection, session_id):
        return False
    return not kept or kept == pack_sketch(sketch(_bodies(connection, session_id)))


def _size(item: Draft | Item) -> int:
    """Bytes of a message's text and metadata, as they are kept."""
    meta = json.dumps(item.meta, ensure_ascii=False, separators=(",", ":")) if item.meta else ""
    return len(f"{item.body}{meta}".encode("utf-8", "replace"))


def resolve(connection: SqliteConnection, space_id: int, ref: Ref, key: str) -> int | None:
    """The session behind any spelling of its id, or behind the name its agent gave it."""
    readings = (("uid = ?", ref.uid), ("substr(uid, -12) = ?", ref.short), ("key = ?", key), ("id = ?", ref.number))
    for clause, value in readings:
        if value is None:
            continue
        question = f"SELECT id FROM sessions WHERE space_id = ? AND {clause} LIMIT 2"
        rows = connection.rows(question, (space_id, value))
        if len(rows) == 1:
            return int(rows[0][0])
    return None


def get(connection: SqliteConnection, space_id: int, session_ids: Iterable[int]) -> dict[int, Session]:
    select = _SELECT.format(rows="json_each(?2) j CROSS JOIN sessions s ON s.id = j.value")
    rows = connection.rows(f"{select} WHERE s.space_id = ?1", (space_id, json.dumps(list(session_ids))))
    return {session.id: session for session in map(session_of, rows)}


def get_one(connection: SqliteConnection, space_id: int, session_id: int) -> Session:
    session = get(connection, space_id, [session_id]).get(session_id)
    if session is None:
        raise NotFound(f"There is no conversation {session_id}.")
    return session


def write_readable(connection: SqliteConnection, session: Session) -> Session:
    """Write a damaged session as it was read, so that it can be changed; what was found is for its history to keep."""
    if session.damaged:
        connection.execute(
            "UPDATE sessions SET uid = ?, key = ?, source = ?, label = ?, folder = ?, status = ?, importance = ?,"
            " meta = ?, started_ms = ?, ended_ms = ?, updated_ms = ?, accessed_ms = ?, rev = ?, messages = ?,"
            " words = ?, bytes = ?, forgotten_ms = ?, sketch = iif(typeof(sketch) = 'blob', sketch, x''),"
            " project_id = iif(typeof(project_id) = 'integer', project_id, NULL) WHERE id = ?",
            (
                new_uid(clamp_time(session.started_ms)) if "uid" in session.damaged else session.uid,
                session.key or f"damaged-{session.id}",
                session.source,
                session.label,
                session.folder,
                session.status,
                session.importance,
                json.dumps(session.meta, ensure_ascii=False) if session.meta else "{}",
                session.started_ms,
                session.ended_ms,
                session.updated_ms,
                session.accessed_ms,
                session.rev,
                session.messages,
                session.words,
                session.bytes,
                session.forgotten_ms,
                session.id,
            ),
        )
    return session


def selected(
    connection: SqliteConnection, condition: str, bindings: Sequence[object], order: str = "s.id"
) -> list[Session]:
    """Sessions for which a condition on `sessions s` holds."""
    select = _SELECT.format(rows="sessions s")
    return [*map(session_of, connection.rows(f"{select} WHERE {condition} ORDER BY {order}", bindings))]


def condition_of(connection: SqliteConnection, space_id: int, scope: SessionScope) -> tuple[str, list[object]]:
    """A scope as a condition on `sessions s`, with its bindings."""
    clauses = ["s.space_id = ?", NOT_EMPTY if scope.empty else LIVE]
    bindings: list[object] = [space_id]
    # "0" is the letter after "/": everything that begins with the folder and a slash.
    within = "(s.folder = ? OR (s.folder > ? AND s.folder < ?))"
    for trees in ((scope.folder,), scope.folders):
        if any(trees) and ROOT_FOLDER not in trees:
            clauses.append(f"({' OR '.join([within] * len(trees))})")
            bindings += [bound for tree in trees for bound in (tree, f"{tree}/", f"{tree}0")]
    if scope.since_ms is not None:
        clauses.append("s.ended_ms >= ?")
        bindings.append(scope.since_ms)
    if scope.until_ms is not None:
        clauses.append("s.started_ms < ?")
        bindings.append(scope.until_ms)
    if scope.statuses:
        clauses.append(f"s.status IN ({', '.join('?' * len(scope.statuses))})")
        bindings += scope.statuses
    if scope.source:
        clauses.append("s.source = ?")
        bindings.append(scope.source)
    if scope.project is not None:
        ids = projects.find(connection, space_id, scope.project)
        clauses.append(f"s.project_id IN ({', '.join('?' * len(ids))})")
        bindings += ids
    if scope.labels:
        clauses.append("s.id IN (SELECT value FROM json_each(?))")
        bindings.append(json.dumps(_labelled(connection, space_id, scope.labels)))
    if scope.named:
        clauses.append("s.id IN (SELECT value FROM json_each(?))")
        bindings.append(json.dumps(_named(connection, space_id, scope.named)))
    if scope.ids is not None:
        clauses.append("s.id IN (SELECT value FROM json_each(?))")
        bindings.append(json.dumps(scope.ids))
    return " AND ".join(clauses), bindings


def ids_in(connection: SqliteConnection, space_id: int, scope: SessionScope) -> list[int]:
    condition, bindings = condition_of(connection, space_id, scope)
    return [row[0] for row in connection.rows(f"SELECT s.id FROM sessions s WHERE {condition}", bindings)]


def activity(connection: SqliteConnection, space_id: int, scope: SessionScope, since_ms: int) -> dict[int, int]:
    """Live messages by day. Cross joined: walking the sessions' messages is quicker than all items by time."""
    condition, bindings = condition_of(connection, space_id, scope)
    rows = connection.rows(  # Shifted, because SQLite rounds to zero and days before 1970 are to be rounded down.
        f"SELECT (i.created_ms + {_SHIFT * _DAY}) / {_DAY} - {_SHIFT} AS day, count(*)"
        "  FROM sessions s CROSS JOIN items i ON i.session_id = s.id"
        f" WHERE {condition} AND i.created_ms >= ? AND i.kind = 'message'"
        "   AND i.forgotten_ms IS NULL AND i.superseded_by IS NULL GROUP BY day ORDER BY day",
        [*bindings, since_ms],
    )
    return dict(rows)


def sums(connection: SqliteConnection, rows: str, bindings: Sequence[object], most_labels: int) -> SessionCounts:
    """What some sessions add up to; `rows` is where to find them."""
    whole = connection.first(
        "SELECT count(*), coalesce(sum(messages), 0), coalesce(sum(words), 0), coalesce(sum(bytes), 0),"
        f" coalesce(avg(importance), 0.0), min(started_ms), max(ended_ms), count(DISTINCT nullif(label, '')) {rows}",
        bindings,
    )
    by = "SELECT {0}, count(*) {1} GROUP BY {0} ORDER BY count(*) DESC, {0} LIMIT ?"
    folders = connection.rows(by.format("folder", rows), [*bindings, -1])
    labels = connection.rows(by.format("label", f"{rows} AND label <> ''"), [*bindings, most_labels])
    statuses = connection.rows(by.format("status", rows), [*bindings, -1])
    sources = connection.rows(by.format("source", f"{rows} AND source <> ''"), [*bindings, -1])
    count, messages, words, size, importance, oldest, newest, all_labels = whole
    return SessionCounts(
        sessions=count,
        messages=messages,
        words=words,
        bytes=size,
        importance=importance,
        oldest_ms=Reader().integer_or_none("", oldest),
        newest_ms=Reader().integer_or_none("", newest),
        folders=_by_name(folders, ROOT_FOLDER),
        labels=_by_name(labels),
        all_labels=all_labels,
        statuses=_by_name(statuses),
        sources=_by_name(sources),
    )


def _by_name(rows: Sequence[tuple[object, int]], default: str = "") -> dict[str, int]:
    """Counts by name, of damaged names too."""
    found: dict[str, int] = {}
    for name, number in rows:
        text = text_of(name) or default
        found[text] = found.get(text, 0) + number
    return found


def _labelled(connection: SqliteConnection, space_id: int, labels: Sequence[str]) -> list[int]:
    """Sessions that meet one of the labels. Compared here, since SQLite folds the case of ASCII letters only."""
    wanted = {label.strip().casefold() for label in labels}
    rows = connection.rows("SELECT id, label, folder FROM sessions WHERE space_id = ?", (space_id,))
    names = ((id_, text_of(label), text_of(folder)) for id_, label, folder in rows)
    return [
        id_
        for id_, label, folder in names
        if not wanted.isdisjoint(name.strip().casefold() for name in (label, *label.split("/"), *folder_names(folder)))
    ]


def _named(connection: SqliteConnection, space_id: int, part: str) -> list[int]:
    """Sessions that are called something with this in it."""
    wanted = part.strip().casefold()
    rows = connection.rows("SELECT id, label, key FROM sessions WHERE space_id = ?", (space_id,))
    return [id_ for id_, label, key in rows if wanted in text_of(label or key).casefold()]
