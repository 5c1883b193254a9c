"""Sessions: their rows, what is counted of them, and which of them a scope means."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from commonplace.errors import NotFound
from commonplace.model import Draft, Item, Ref, Session, SessionDraft, SessionScope, new_uid
from commonplace.store.damaged_values import Reader, text_of
from commonplace.store.rows import session_of
from commonplace.store.sql import projects
from commonplace.store.sql.connection import IN_LIST, Connection
from commonplace.store.types import SessionCounts
from commonplace.text.near_duplicates import Sketch, merge_sketches, pack_sketch, sketch, unpack_sketch
from commonplace.text.paths import ROOT_FOLDER, folder_names
from commonplace.text.tokens import count_words

_DAY = 86_400_000
# Days are counted from so many before 1970: integer division rounds towards zero, and days are to be rounded down.
_SHIFT = 1_000_000
_ALL = 2**62
LIVE = "s.forgotten_ms IS NULL AND s.messages > 0"
# Also those without messages, if anything else that happened in them is remembered.
NOT_EMPTY = (
    "s.forgotten_ms IS NULL AND (s.messages > 0 OR EXISTS (SELECT 1 FROM items i WHERE +i.space_id = s.space_id"
    " AND i.session_id = s.id AND i.kind <> 'message' AND i.forgotten_ms IS NULL AND i.superseded_by IS NULL))"
)
_SELECT = """
SELECT s.id, s.uid, s.key, s.source, p.name, s.label, s.folder, s.status, coalesce(s.importance, 5.0), s.meta,
       s.started_ms, coalesce(s.ended_ms, s.started_ms), s.updated_ms, s.accessed_ms, s.rev, s.messages, s.words,
       s.bytes, s.forgotten_ms
  FROM sessions s LEFT JOIN projects p ON p.space_id = s.space_id AND p.id = s.project_id
"""
_MESSAGES = f"""
FROM items WHERE +space_id = ? AND session_id {IN_LIST} AND kind = 'message'
 AND forgotten_ms IS NULL AND superseded_by IS NULL
"""


def find_or_create(
    connection: Connection, space_id: int, key: str, project_id: int | None, started_ms: int, now_ms: int
) -> int:
    """The session an agent calls `key`, made on first mention; its project is learnt when one is first named."""
    row = connection.first("SELECT id, project_id FROM sessions WHERE space_id = ? AND key = ?", (space_id, key))
    if row is None:
        made = connection.insert(
            "INSERT INTO sessions (space_id, uid, key, project_id, importance, started_ms, ended_ms, updated_ms)"
            " VALUES (?, ?, ?, ?, 5.0, ?, ?, ?)",
            (space_id, new_uid(now_ms), key, project_id, started_ms, started_ms, now_ms),
        )
        assert made is not None
        return made
    if row[1] is None and project_id is not None:
        change = "UPDATE sessions SET project_id = ? WHERE space_id = ? AND id = ?"
        connection.run(change, (project_id, space_id, row[0]))
    return int(row[0])


def insert(connection: Connection, space_id: int, draft: SessionDraft, project_id: int | None, now_ms: int) -> int:
    """Write a new session, and return its id."""
    made = connection.insert(
        "INSERT INTO sessions (space_id, uid, key, source, project_id, label, folder, status, importance, meta,"
        " started_ms, ended_ms, accessed_ms, updated_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
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
            connection.as_json(draft.meta),
            draft.started_ms,
            draft.started_ms,
            draft.accessed_ms,
            now_ms,
        ),
    )
    assert made is not None
    return made


def with_project(connection: Connection, space_id: int, keys: Collection[str]) -> dict[str, int]:
    """Those of the sessions that are there and know their project: nothing more is learnt of them."""
    select = f"SELECT key, id FROM sessions WHERE space_id = ? AND key {IN_LIST} AND project_id IS NOT NULL"
    return dict(connection.rows(select, (space_id, connection.array(keys)))) if keys else {}


def count(connection: Connection, space_id: int, items: Mapping[int, Sequence[Draft | Item]], sign: int) -> None:
    """Keep what sessions count of their live messages; something that comes or comes back brings them back too."""
    messages = {id_: [item for item in came if item.kind == "message"] for id_, came in items.items()}
    texts = {id_: [message.body for message in some] for id_, some in messages.items() if some}
    sketched = _sketches_after(connection, space_id, texts, sign)
    connection.run_all(
        "UPDATE sessions SET messages = messages + ?1, words = words + ?2, bytes = bytes + ?3,"
        "       sketch = coalesce(?4, sketch),"
        "       ended_ms = CASE WHEN coalesce(ended_ms, started_ms) > ?5 THEN coalesce(ended_ms, started_ms)"
        "                       ELSE ?5 END,"
        "       forgotten_ms = CASE WHEN ?6 THEN NULL ELSE forgotten_ms END"
        " WHERE space_id = ?7 AND id = ?8",
        [
            (
                sign * len(messages[id_]),
                sign * sum(count_words(item.body) for item in messages[id_]),
                sign * sum(map(_size, messages[id_])),
                sketched.get(id_),
                max(item.created_ms for item in came),
                sign > 0,
                space_id,
                id_,
            )
            for id_, came in items.items()
            if came
        ],
    )


def sketches(connection: Connection, space_id: int) -> dict[int, Sketch]:
    """The sketch of each session with messages; one that is not kept is made of what it says."""
    rows = connection.rows(f"SELECT s.id, s.sketch FROM sessions s WHERE s.space_id = ? AND {LIVE}", (space_id,))
    texts = _bodies(connection, space_id, [id_ for id_, known in rows if not known])
    return {id_: unpack_sketch(known) if known else sketch(texts[id_]) for id_, known in rows}


def _sketches_after(
    connection: Connection, space_id: int, bodies: Mapping[int, Sequence[str]], sign: int
) -> dict[int, bytes]:
    """Sketches after these came or went: empty while nobody knows them, since nothing can be taken out."""
    if not bodies or sign < 0:
        return dict.fromkeys(bodies, b"")
    select = f"SELECT id, messages, sketch FROM sessions WHERE +space_id = ? AND id {IN_LIST}"
    return {
        id_: b"" if messages and not known else pack_sketch(merge_sketches(unpack_sketch(known), sketch(bodies[id_])))
        for id_, messages, known in connection.rows(select, (space_id, connection.array(bodies)))
    }


def _bodies(connection: Connection, space_id: int, session_ids: Sequence[int]) -> defaultdict[int, list[str]]:
    """What is said in each of these sessions, all asked for at once."""
    texts: defaultdict[int, list[str]] = defaultdict(list)
    select = f"SELECT session_id, body {_MESSAGES}"
    for session_id, body in connection.rows(select, (space_id, connection.array(session_ids))) if session_ids else ():
        texts[session_id].append(text_of(body))
    return texts


def count_messages(connection: Connection, space_id: int, session_id: int) -> tuple[int, int, int]:
    """How many messages, words and bytes its live messages have, counted again."""
    messages = words = size = 0
    select = f"SELECT body, CASE meta WHEN '{{}}' THEN 0 ELSE octet_length(meta) END {_MESSAGES}"
    for body, more in connection.stream(select, (space_id, connection.array([session_id]))):
        text = text_of(body)
        messages += 1
        words += count_words(text)
        size += len(text.encode("utf-8", "replace")) + more
    return messages, words, size


def is_counted(connection: Connection, space_id: int, session_id: int, sums: tuple[int, ...], known: bytes) -> bool:
    """Whether a session counts its messages as they are; a sketch that is not kept is none that is wrong."""
    if sums != count_messages(connection, space_id, session_id):
        return False
    return not known or known == pack_sketch(sketch(_bodies(connection, space_id, [session_id])[session_id]))


def _size(item: Draft | Item) -> int:
    """Bytes of a message's text and metadata, as they are kept."""
    meta = json.dumps(item.meta, ensure_ascii=False, separators=(",", ":")) if item.meta else ""
    return len(f"{item.body}{meta}".encode("utf-8", "replace"))


def find(connection: Connection, space_id: int, ref: Ref, key: str) -> int | None:
    """The session behind any spelling of its id, or behind the name its agent gave it."""
    readings = (("uid = ?", ref.uid), ("substr(uid, -12) = ?", ref.short), ("key = ?", key), ("id = ?", ref.number))
    for clause, value in readings:
        if value is None:
            continue
        rows = connection.rows(f"SELECT id FROM sessions WHERE space_id = ? AND {clause} LIMIT 2", (space_id, value))
        if len(rows) == 1:
            return int(rows[0][0])
    return _named_by_agent(connection, space_id, key) if len(key) >= _SHORTEST_NAME and ":" not in key else None


# A name that an agent gives a session has at least this many characters.
_SHORTEST_NAME = 6


def _named_by_agent(connection: Connection, space_id: int, name: str) -> int | None:
    """The one session whose key is this name after that of its agent: "claude-code:name"."""
    escaped = name.replace("!", "!!").replace("%", "!%").replace("_", "!_")
    select = "SELECT id FROM sessions WHERE space_id = ? AND key LIKE ? ESCAPE '!' LIMIT 2"
    rows = connection.rows(select, (space_id, f"%:{escaped}"))
    return int(rows[0][0]) if len(rows) == 1 else None


def get(connection: Connection, space_id: int, session_ids: Iterable[int]) -> dict[int, Session]:
    ids = connection.array(id_ for id_ in session_ids if -(2**63) <= id_ < 2**63)
    return {
        session.id: session for session in select(connection, f"+s.space_id = ? AND s.id {IN_LIST}", (space_id, ids))
    }


def get_one(connection: Connection, space_id: int, session_id: int) -> Session:
    session = get(connection, space_id, [session_id]).get(session_id)
    if session is None:
        raise NotFound(f"There is no conversation {session_id}.")
    return session


def select(connection: Connection, condition: str, bindings: Sequence[object], order: str = "s.id") -> list[Session]:
    """Sessions for which a condition on `sessions s` holds, which names their space."""
    return [*map(session_of, connection.rows(f"{_SELECT} WHERE {condition} ORDER BY {order}", bindings))]


def condition_of(connection: Connection, space_id: int, scope: SessionScope) -> tuple[str, list[object]]:
    """A scope as a condition on `sessions s`, with its bindings."""
    clauses = ["s.space_id = ?", NOT_EMPTY if scope.empty else LIVE]
    bindings: list[object] = [space_id]
    # "0" is the letter after "/": everything that begins with the folder and a slash.
    inside = "(s.folder = ? OR (s.folder > ? AND s.folder < ?))"
    for trees in ((scope.folder,), scope.folders):
        if any(trees) and ROOT_FOLDER not in trees:
            clauses.append(f"({' OR '.join([inside] * len(trees))})")
            bindings += [bound for tree in trees for bound in (tree, f"{tree}/", f"{tree}0")]
    for clause, value in (
        ("s.ended_ms >= ?", scope.since_ms),
        ("s.started_ms < ?", scope.until_ms),
        ("s.source = ?", scope.source or None),
    ):
        if value is not None:
            clauses.append(clause)
            bindings.append(value)
    lists: list[tuple[str, Iterable[object]]] = []
    if scope.statuses:
        lists.append(("s.status", scope.statuses))
    if scope.project is not None:
        lists.append(("s.project_id", projects.find(connection, space_id, scope.project)))
    if scope.labels:
        lists.append(("s.id", _labelled(connection, space_id, scope.labels)))
    if scope.named:
        lists.append(("s.id", _named(connection, space_id, scope.named)))
    if scope.ids is not None:
        lists.append(("s.id", scope.ids))
    clauses += [f"{column} {IN_LIST}" for column, _values in lists]
    bindings += [connection.array(values) for _column, values in lists]
    return " AND ".join(clauses), bindings


def ids_in(connection: Connection, space_id: int, scope: SessionScope) -> list[int]:
    condition, bindings = condition_of(connection, space_id, scope)
    return [row[0] for row in connection.rows(f"SELECT s.id FROM sessions s WHERE {condition}", bindings)]


def activity(connection: Connection, space_id: int, scope: SessionScope, since_ms: int) -> dict[int, int]:
    """Live messages by day. Cross joined: walking the sessions' messages is quicker than all items by time."""
    condition, bindings = condition_of(connection, space_id, scope)
    rows = connection.rows(
        f"SELECT (i.created_ms + {_SHIFT * _DAY}) / {_DAY} - {_SHIFT} AS day, count(*)"
        "  FROM sessions s CROSS JOIN items i ON +i.space_id = s.space_id AND i.session_id = s.id"
        f" WHERE {condition} AND i.created_ms >= ? AND i.kind = 'message'"
        "   AND i.forgotten_ms IS NULL AND i.superseded_by IS NULL GROUP BY day ORDER BY day",
        [*bindings, since_ms],
    )
    return dict(rows)


def sums(connection: Connection, rows: str, bindings: Sequence[object], most_labels: int) -> SessionCounts:
    """What some sessions add up to; `rows` is where to find them."""
    count, messages, words, size, importance, oldest, newest, all_labels = connection.first(
        "SELECT count(*), CAST(coalesce(sum(messages), 0) AS bigint), CAST(coalesce(sum(words), 0) AS bigint),"
        " CAST(coalesce(sum(bytes), 0) AS bigint), coalesce(avg(importance), 0.0), min(started_ms), max(ended_ms),"
        f" count(DISTINCT nullif(label, '')) {rows}",
        bindings,
    )

    def by(column: str, some: str = rows, most: int = _ALL, default: str = "") -> dict[str, int]:
        """How many there are by name, of damaged names too."""
        found: dict[str, int] = {}
        select = f"SELECT {column}, count(*) {some} GROUP BY {column} ORDER BY count(*) DESC, {column} LIMIT ?"
        for name, number in connection.rows(select, [*bindings, most]):
            text = text_of(name) or default
            found[text] = found.get(text, 0) + number
        return found

    return SessionCounts(
        sessions=count,
        messages=messages,
        words=words,
        bytes=size,
        importance=importance,
        oldest_ms=Reader().integer_or_none("", oldest),
        newest_ms=Reader().integer_or_none("", newest),
        folders=by("folder", default=ROOT_FOLDER),
        labels=by("label", f"{rows} AND label <> ''", most_labels),
        all_labels=all_labels,
        statuses=by("status"),
        sources=by("source", f"{rows} AND source <> ''"),
    )


def _labelled(connection: Connection, space_id: int, labels: Sequence[str]) -> list[int]:
    """Sessions that meet one of the labels. Compared here, since engines fold the case of letters differently."""
    wanted = {label.strip().casefold() for label in labels}
    rows = connection.rows("SELECT id, label, folder FROM sessions WHERE space_id = ?", (space_id,))
    names = ((id_, text_of(label), text_of(folder)) for id_, label, folder in rows)
    return [
        id_
        for id_, label, folder in names
        if not wanted.isdisjoint(name.strip().casefold() for name in (label, *label.split("/"), *folder_names(folder)))
    ]


def _named(connection: Connection, space_id: int, part: str) -> list[int]:
    """Sessions that are called something with this in it."""
    wanted = part.strip().casefold()
    rows = connection.rows("SELECT id, label, key FROM sessions WHERE space_id = ?", (space_id,))
    return [id_ for id_, label, key in rows if wanted in text_of(label or key).casefold()]
