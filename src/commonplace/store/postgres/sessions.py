"""Sessions: their rows, what is counted of them, and which of them a scope means."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from commonplace.errors import NotFound
from commonplace.identity import Ref, new_uid
from commonplace.model import Draft, Item, Session, SessionDraft, SessionScope
from commonplace.store.postgres import sql
from commonplace.store.postgres.pool import Connection
from commonplace.store.rows import session_of
from commonplace.store.sql import projects
from commonplace.store.types import SessionCounts
from commonplace.text.near_duplicates import Sketch, merge_sketches, pack_sketch, sketch, unpack_sketch
from commonplace.text.paths import ROOT_FOLDER, folder_names
from commonplace.text.tokens import count_words

_DAY = 86_400_000
LIVE = "s.forgotten_ms IS NULL AND s.messages > 0"
# Also those without messages, if anything else that happened in them is remembered.
NOT_EMPTY = (
    "s.forgotten_ms IS NULL AND (s.messages > 0 OR EXISTS (SELECT 1 FROM items i WHERE i.space_id = s.space_id"
    " AND i.session_id = s.id AND i.kind <> 'message' AND i.forgotten_ms IS NULL AND i.superseded_by IS NULL))"
)
_SELECT = """
SELECT s.id, s.uid, s.key, s.source, p.name, s.label, s.folder, s.status, s.importance, s.meta,
       s.started_ms, s.ended_ms, s.updated_ms, s.accessed_ms, s.rev, s.messages, s.words, s.bytes, s.forgotten_ms
  FROM sessions s LEFT JOIN projects p ON p.space_id = s.space_id AND p.id = s.project_id
"""


def find_or_create(
    connection: Connection, space_id: int, key: str, project_id: int | None, started_ms: int, now_ms: int
) -> int:
    """The session an agent calls `key`, made on first mention; its project is learnt when one is first named."""
    row = sql.first(connection, "SELECT id, project_id FROM sessions WHERE space_id = %s AND key = %s", (space_id, key))
    if row is None:
        made = sql.value(
            connection,
            "INSERT INTO sessions (space_id, uid, key, project_id, started_ms, ended_ms, updated_ms)"
            " VALUES (%s, %s, %s, %s, %s, %s, %s) RETURNING id",
            (space_id, new_uid(now_ms), key, project_id, started_ms, started_ms, now_ms),
        )
        return int(made)
    if row[1] is None and project_id is not None:
        change = "UPDATE sessions SET project_id = %s WHERE space_id = %s AND id = %s"
        sql.run(connection, change, (project_id, space_id, row[0]))
    return int(row[0])


def insert(connection: Connection, space_id: int, draft: SessionDraft, project_id: int | None, now_ms: int) -> int:
    """Write a new session, and tell its id."""
    made = sql.value(
        connection,
        "INSERT INTO sessions (space_id, uid, key, source, project_id, label, folder, status, importance, meta,"
        " started_ms, ended_ms, accessed_ms, updated_ms)"
        " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s) RETURNING id",
        (
            space_id,
            draft.uid or new_uid(now_ms),
            draft.key,
            draft.source,
            project_id,
            draft.label,
            draft.folder,
            draft.status,
            draft.importance,
            sql.as_json(draft.meta),
            draft.started_ms,
            draft.started_ms,
            draft.accessed_ms,
            now_ms,
        ),
    )
    return int(made)


def settled(connection: Connection, space_id: int, keys: Collection[str]) -> dict[str, int]:
    """Those of the sessions that are there and know their project: nothing more is learnt of them."""
    question = "SELECT key, id FROM sessions WHERE space_id = %s AND key = ANY(%s::text[]) AND project_id IS NOT NULL"
    return dict(sql.rows(connection, question, (space_id, [*keys]))) if keys else {}


def count(connection: Connection, space_id: int, items: Mapping[int, Sequence[Draft | Item]], sign: int) -> None:
    """Keep what sessions count of their live messages; something that comes or comes back brings them back too."""
    said = {id_: [item for item in came if item.kind == "message"] for id_, came in items.items()}
    sketched = _sketched(
        connection, space_id, {id_: [m.body for m in some] for id_, some in said.items() if some}, sign
    )
    rows = [
        (
            id_,
            sign * len(said[id_]),
            sign * sum(count_words(item.body) for item in said[id_]),
            sign * sum(map(_size, said[id_])),
            sketched.get(id_),
            max(item.created_ms for item in came),
        )
        for id_, came in items.items()
    ]
    if rows:
        sql.run(
            connection,
            "UPDATE sessions s SET messages = s.messages + n.messages, words = s.words + n.words,"
            "       bytes = s.bytes + n.bytes, sketch = coalesce(n.sketch, s.sketch),"
            "       ended_ms = greatest(s.ended_ms, n.ended_ms),"
            "       forgotten_ms = CASE WHEN %s THEN NULL ELSE s.forgotten_ms END"
            "  FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bytea[], %s::bigint[])"
            "       AS n (id, messages, words, bytes, sketch, ended_ms)"
            " WHERE s.space_id = %s AND s.id = n.id",
            (sign > 0, *map(list, zip(*rows, strict=True)), space_id),
        )


def sketches(connection: Connection, space_id: int) -> dict[int, Sketch]:
    """The sketch of each session with messages; one that is not kept is made of what it says."""
    rows = sql.rows(connection, f"SELECT s.id, s.sketch FROM sessions s WHERE s.space_id = %s AND {LIVE}", (space_id,))
    said = _bodies(connection, space_id, [id_ for id_, kept in rows if not kept])
    return {id_: unpack_sketch(kept) if kept else sketch(said[id_]) for id_, kept in rows}


def _sketched(
    connection: Connection, space_id: int, bodies: Mapping[int, Sequence[str]], sign: int
) -> dict[int, bytes]:
    """Sketches after these came or went: empty while nobody knows them, since nothing can be taken out."""
    if not bodies or sign < 0:
        return dict.fromkeys(bodies, b"")
    question = "SELECT id, messages, sketch FROM sessions WHERE space_id = %s AND id = ANY(%s::bigint[])"
    return {
        id_: b"" if messages and not kept else pack_sketch(merge_sketches(unpack_sketch(kept), sketch(bodies[id_])))
        for id_, messages, kept in sql.rows(connection, question, (space_id, [*bodies]))
    }


def _bodies(connection: Connection, space_id: int, session_ids: Sequence[int]) -> defaultdict[int, list[str]]:
    """What is said in each of these sessions, all asked for at once."""
    said: defaultdict[int, list[str]] = defaultdict(list)
    question = "SELECT session_id, body FROM items WHERE space_id = %s AND session_id = ANY(%s::bigint[])"
    live = "kind = 'message' AND forgotten_ms IS NULL AND superseded_by IS NULL"
    for session_id, body in sql.rows(connection, f"{question} AND {live}", (space_id, [*session_ids])):
        said[session_id].append(body)
    return said


def counted(connection: Connection, space_id: int, session_id: int) -> tuple[int, int, int]:
    """How many messages, words and bytes its live messages have, counted anew."""
    question = (
        "SELECT body, CASE meta WHEN '{}' THEN 0 ELSE octet_length(meta) END FROM items"
        " WHERE space_id = %s AND session_id = %s AND kind = 'message'"
        "   AND forgotten_ms IS NULL AND superseded_by IS NULL"
    )
    rows = sql.rows(connection, question, (space_id, session_id))
    return len(rows), sum(count_words(body) for body, _more in rows), sum(len(b.encode()) + more for b, more in rows)


def is_counted(connection: Connection, space_id: int, session_id: int, sums: tuple[int, ...], kept: bytes) -> bool:
    """Whether a session counts its messages as they are; a sketch that is not kept is none that is wrong."""
    if sums != counted(connection, space_id, session_id):
        return False
    return not kept or kept == pack_sketch(sketch(_bodies(connection, space_id, [session_id])[session_id]))


def _size(item: Draft | Item) -> int:
    """Bytes of a message's text and metadata, as they are kept."""
    meta = json.dumps(item.meta, ensure_ascii=False, separators=(",", ":")) if item.meta else ""
    return len(f"{item.body}{meta}".encode("utf-8", "replace"))


def resolve(connection: Connection, space_id: int, ref: Ref, key: str) -> int | None:
    """The session behind any spelling of its id, or behind the name its agent gave it."""
    readings = (("uid = %s", ref.uid), ("right(uid, 12) = %s", ref.short), ("key = %s", key), ("id = %s", ref.number))
    for clause, value in readings:
        if value is None:
            continue
        question = f"SELECT id FROM sessions WHERE space_id = %s AND {clause} LIMIT 2"
        rows = sql.rows(connection, question, (space_id, value))
        if len(rows) == 1:
            return int(rows[0][0])
    return None


def get(connection: Connection, space_id: int, session_ids: Iterable[int]) -> dict[int, Session]:
    ids = [id_ for id_ in session_ids if -(2**63) <= id_ < 2**63]
    found = selected(connection, "s.space_id = %s AND s.id = ANY(%s::bigint[])", (space_id, ids))
    return {session.id: session for session in found}


def get_one(connection: Connection, space_id: int, session_id: int) -> Session:
    session = get(connection, space_id, [session_id]).get(session_id)
    if session is None:
        raise NotFound(f"There is no conversation {session_id}.")
    return session


def selected(connection: Connection, condition: str, bindings: Sequence[object], order: str = "s.id") -> list[Session]:
    """Sessions for which a condition on `sessions s` holds, which names their space."""
    return [*map(session_of, sql.rows(connection, f"{_SELECT} WHERE {condition} ORDER BY {order}", bindings))]


def condition_of(connection: Connection, space_id: int, scope: SessionScope) -> tuple[str, list[object]]:
    """A scope as a condition on `sessions s`, with its bindings."""
    clauses = ["s.space_id = %s", NOT_EMPTY if scope.empty else LIVE]
    bindings: list[object] = [space_id]
    # "0" is the letter after "/": everything that begins with the folder and a slash.
    within = "(s.folder = %s OR (s.folder > %s AND s.folder < %s))"
    for trees in ((scope.folder,), scope.folders):
        if any(trees) and ROOT_FOLDER not in trees:
            clauses.append(f"({' OR '.join([within] * len(trees))})")
            bindings += [bound for tree in trees for bound in (tree, f"{tree}/", f"{tree}0")]
    if scope.since_ms is not None:
        clauses.append("s.ended_ms >= %s")
        bindings.append(scope.since_ms)
    if scope.until_ms is not None:
        clauses.append("s.started_ms < %s")
        bindings.append(scope.until_ms)
    if scope.statuses:
        clauses.append("s.status = ANY(%s::text[])")
        bindings.append([*scope.statuses])
    if scope.source:
        clauses.append("s.source = %s")
        bindings.append(scope.source)
    if scope.project is not None:
        clauses.append("s.project_id = ANY(%s::bigint[])")
        bindings.append([*projects.find(connection, space_id, scope.project)])
    if scope.labels:
        clauses.append("s.id = ANY(%s::bigint[])")
        bindings.append(_labelled(connection, space_id, scope.labels))
    if scope.named:
        clauses.append("s.id = ANY(%s::bigint[])")
        bindings.append(_named(connection, space_id, scope.named))
    if scope.ids is not None:
        clauses.append("s.id = ANY(%s::bigint[])")
        bindings.append([*scope.ids])
    return " AND ".join(clauses), bindings


def ids_in(connection: Connection, space_id: int, scope: SessionScope) -> list[int]:
    condition, bindings = condition_of(connection, space_id, scope)
    return [row[0] for row in sql.rows(connection, f"SELECT s.id FROM sessions s WHERE {condition}", bindings)]


def activity(connection: Connection, space_id: int, scope: SessionScope, since_ms: int) -> dict[int, int]:
    """Live messages by day; days before 1970 are rounded down, too."""
    condition, bindings = condition_of(connection, space_id, scope)
    rows = sql.rows(
        connection,
        f"SELECT floor(i.created_ms / {_DAY}.0)::bigint AS day, count(*)"
        "  FROM sessions s JOIN items i ON i.space_id = s.space_id AND i.session_id = s.id"
        f" WHERE {condition} AND i.created_ms >= %s AND i.kind = 'message'"
        "   AND i.forgotten_ms IS NULL AND i.superseded_by IS NULL GROUP BY day ORDER BY day",
        [*bindings, since_ms],
    )
    return dict(rows)


def sums(connection: Connection, rows: str, bindings: Sequence[object], most_labels: int) -> SessionCounts:
    """What some sessions add up to; `rows` is where to find them."""
    whole = sql.first(
        connection,
        "SELECT count(*), coalesce(sum(messages), 0)::bigint, coalesce(sum(words), 0)::bigint,"
        " coalesce(sum(bytes), 0)::bigint, coalesce(avg(importance), 0.0), min(started_ms), max(ended_ms),"
        f" count(DISTINCT nullif(label, '')) {rows}",
        bindings,
    )
    by = "SELECT {0}, count(*) {1} GROUP BY {0} ORDER BY count(*) DESC, {0} LIMIT %s"
    folders = sql.rows(connection, by.format("folder", rows), [*bindings, None])
    labels = sql.rows(connection, by.format("label", f"{rows} AND label <> ''"), [*bindings, most_labels])
    statuses = sql.rows(connection, by.format("status", rows), [*bindings, None])
    sources = sql.rows(connection, by.format("source", f"{rows} AND source <> ''"), [*bindings, None])
    count, messages, words, size, importance, oldest, newest, all_labels = whole
    return SessionCounts(
        sessions=count,
        messages=messages,
        words=words,
        bytes=size,
        importance=importance,
        oldest_ms=oldest,
        newest_ms=newest,
        folders=dict(folders),
        labels=dict(labels),
        all_labels=all_labels,
        statuses=dict(statuses),
        sources=dict(sources),
    )


def _labelled(connection: Connection, space_id: int, labels: Sequence[str]) -> list[int]:
    """Sessions that meet one of the labels. Compared here, since each server folds case by a locale of its own."""
    wanted = {label.strip().casefold() for label in labels}
    rows = sql.rows(connection, "SELECT id, label, folder FROM sessions WHERE space_id = %s", (space_id,))
    return [
        id_
        for id_, label, folder in rows
        if not wanted.isdisjoint(name.strip().casefold() for name in (label, *label.split("/"), *folder_names(folder)))
    ]


def _named(connection: Connection, space_id: int, part: str) -> list[int]:
    """Sessions that are called something with this in it."""
    wanted = part.strip().casefold()
    rows = sql.rows(connection, "SELECT id, label, key FROM sessions WHERE space_id = %s", (space_id,))
    return [id_ for id_, label, key in rows if wanted in (label or key).casefold()]
