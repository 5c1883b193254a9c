"""Rows of `items` and what hangs on them: reading, writing, history, forgetting."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import apsw

from commonplace.errors import Conflict, NotFound
from commonplace.identity import Ref, new_uid
from commonplace.model import KINDS, Change, Draft, Item, Kind, Stored
from commonplace.store.sqlite import index, projects, sessions, sql
from commonplace.store.sqlite.scope import NO_PROJECT, Filter

_SELECT = """
SELECT i.id, i.uid, i.kind, i.type, i.title, i.body, i.details, i.meta, p.name, s.key,
       CASE WHEN i.tagged THEN (SELECT json_group_array(tag) FROM item_tags t WHERE t.item_id = i.id) END,
       i.importance, i.status, i.tokens, i.created_ms, i.updated_ms, i.rev, i.forgotten_ms, i.superseded_by,
       i.content_hash
  FROM {rows} LEFT JOIN projects p ON p.id = i.project_id LEFT JOIN sessions s ON s.id = i.session_id
"""
# Cross joined, so that SQLite looks up what was asked for instead of walking an index and comparing.
_BY_ID = _SELECT.format(rows="json_each(?2) j CROSS JOIN items i ON i.id = j.value")
_BY_TIME = _SELECT.format(rows="items i")
_SAME = "space_id = ? AND coalesce(project_id, 0) = ? AND content_hash = ?"


def get(connection: apsw.Connection, space_id: int, item_ids: Iterable[int]) -> dict[int, Item]:
    """Items by id, forgotten ones too; ids that do not exist are absent."""
    ids = [i for i in dict.fromkeys(item_ids) if -(2**63) <= i < 2**63]
    rows = sql.rows(connection, _BY_ID + " WHERE i.space_id = ?1", (space_id, json.dumps(ids)))
    return {item.id: item for item in map(_item, rows)}


def get_one(connection: apsw.Connection, space_id: int, item_id: int) -> Item:
    item = get(connection, space_id, [item_id]).get(item_id)
    if item is None:
        raise NotFound(f"There is no item {item_id}.")
    return item


def newest(
    connection: apsw.Connection, space_id: int, filter_: Filter, limit: int, before: tuple[int, int] | None
) -> list[Item]:
    """Live items, newest first; `before` is the (created_ms, id) to go on from."""
    found: list[Item] = []
    for walk in _walks(filter_):
        condition, bindings = walk.sql()
        if before:
            condition += " AND (i.created_ms, i.id) < (?, ?)"
            bindings += before
        rows = sql.rows(
            connection,
            f"{_BY_TIME} WHERE i.space_id = ? AND {condition} ORDER BY i.created_ms DESC, i.id DESC LIMIT ?",
            [space_id, *bindings, limit],
        )
        found += map(_item, rows)
    return sorted(found, key=_when, reverse=True)[:limit]


def around(
    connection: apsw.Connection, space_id: int, anchor: Item, before: int, after: int, kinds: Sequence[Kind]
) -> list[Item]:
    """The anchor with its neighbours in time, from its own project, oldest first."""
    row = sql.first(connection, "SELECT project_id FROM items WHERE id = ?", (anchor.id,))
    project = NO_PROJECT if row is None or row[0] is None else int(row[0])
    neighbours: list[Item] = []
    for sign, order, limit in (("<", "DESC", before), (">", "ASC", after)):
        side: list[Item] = []
        for walk in _walks(Filter(projects=(project,), kinds=tuple(kinds))):
            condition, bindings = walk.sql()
            rows = sql.rows(
                connection,
                f"{_BY_TIME} WHERE i.space_id = ? AND {condition} AND (i.created_ms, i.id) {sign} (?, ?)"
                f" ORDER BY i.created_ms {order}, i.id {order} LIMIT ?",
                [space_id, *bindings, anchor.created_ms, anchor.id, limit],
            )
            side += map(_item, rows)
        neighbours += sorted(side, key=_when, reverse=order == "DESC")[:limit]
    return sorted([*neighbours, anchor], key=_when)


def _walks(filter_: Filter) -> Iterator[Filter]:
    """The filter in parts that are each one walk along an index in the order of time."""
    places: list[tuple[int, ...]] = [(project,) for project in filter_.projects]
    types: list[tuple[str, ...]] = [(type_,) for type_ in filter_.types]
    kinds: list[tuple[Kind, ...]] = [filter_.kinds]
    if places and not types:
        # With types the kind is checked on the way; without, it is part of the index.
        kinds = [(kind,) for kind in filter_.kinds or KINDS]
    for place, type_, kind in product(places or [()], types or [()], kinds):
        yield replace(filter_, projects=place, types=type_, kinds=kind)


def _when(item: Item) -> tuple[int, int]:
    return item.created_ms, item.id


def resolve(connection: apsw.Connection, space_id: int, ref: Ref) -> int | None:
    """The integer id behind any spelling."""
    for clause, value in (("uid = ?", ref.uid), ("substr(uid, -12) = ?", ref.short), ("id = ?", ref.number)):
        if value is None:
            continue
        rows = sql.rows(connection, f"SELECT id FROM items WHERE space_id = ? AND {clause} LIMIT 2", (space_id, value))
        ids = [int(row[0]) for row in rows]
        if len(ids) == 1:
            return ids[0]
    return None


def put(connection: apsw.Connection, space_id: int, draft: Draft, now_ms: int) -> Stored:
    """Write one item with its passages, words and job, or find that it is there already."""
    project_id = None if draft.project is None else projects.find_or_create(connection, space_id, draft.project, now_ms)
    session_id = None
    if draft.session is not None:
        session_id = sessions.find_or_create(connection, space_id, draft.session, project_id, draft.created_ms, now_ms)
    if draft.uid is not None:
        _check_uid(connection, space_id, project_id, draft)
    uid = draft.uid or new_uid(now_ms)
    row = sql.first(
        connection,
        """
        INSERT INTO items (uid, space_id, project_id, session_id, kind, type, title, body, details, meta, importance,
                           tokens, tagged, content_hash, created_ms, updated_ms)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (space_id, coalesce(project_id, 0), content_hash) DO NOTHING RETURNING id
        """,
        (
            uid,
            space_id,
            project_id,
            session_id,
            draft.kind,
            draft.type,
            draft.title,
            draft.body,
            _json(draft.details),
            _json(draft.meta),
            draft.importance,
            draft.tokens,
            bool(draft.tags),
            draft.content_hash,
            draft.created_ms,
            now_ms,
        ),
    )
    if row is None:
        return _found_again(connection, space_id, project_id, draft, now_ms)
    item_id = int(row[0])
    _write_tags(connection, space_id, item_id, draft.tags)
    index.add(connection, space_id, item_id, project_id, draft)
    index.count(connection, space_id, project_id, draft.kind, +1)
    return Stored(item_id, uid, duplicate=False)


def rewrite(
    connection: apsw.Connection, space_id: int, item_id: int, draft: Draft, now_ms: int, expect_rev: int | None
) -> Item:
    """Replace an item's content, keeping what it was in its history."""
    old = get_one(connection, space_id, item_id)
    if expect_rev is not None and old.rev != expect_rev:
        raise Conflict(f"Item {item_id} is at revision {old.rev}, not {expect_rev}.")
    if draft.kind != old.kind:
        raise Conflict(f"Item {item_id} is a {old.kind} and stays one.", "Remember it anew and forget the old one.")
    project_id = None if draft.project is None else projects.find_or_create(connection, space_id, draft.project, now_ms)
    twin = sql.first(
        connection,
        f"SELECT id FROM items WHERE {_SAME} AND id <> ?",
        (space_id, project_id or 0, draft.content_hash, item_id),
    )
    if twin:
        raise Conflict(
            f"Item {twin[0]} already says exactly this in the same place.", f"Keep {twin[0]} and forget {item_id}."
        )
    _remember_before(connection, space_id, old, "edit", now_ms)
    old_project = _project_of(connection, item_id)
    connection.execute(
        """
        UPDATE items SET project_id = ?, type = ?, title = ?, body = ?, details = ?, meta = ?, importance = ?,
               tokens = ?, tagged = ?, content_hash = ?, updated_ms = ?, rev = rev + 1
         WHERE id = ?
        """,
        (
            project_id,
            draft.type,
            draft.title,
            draft.body,
            _json(draft.details),
            _json(draft.meta),
            draft.importance,
            draft.tokens,
            bool(draft.tags),
            draft.content_hash,
            now_ms,
            item_id,
        ),
    )
    connection.execute("DELETE FROM item_tags WHERE item_id = ?", (item_id,))
    _write_tags(connection, space_id, item_id, draft.tags)
    index.drop_passages(connection, space_id, item_id)
    if old.forgotten_ms is None and old.superseded_by is None:
        index.add(connection, space_id, item_id, project_id, draft)
        index.count(connection, space_id, old_project, old.kind, -1)
        index.count(connection, space_id, project_id, old.kind, +1)
    else:
        index.add_passages(connection, space_id, item_id, draft.passages)
    return get_one(connection, space_id, item_id)


def forget(connection: apsw.Connection, space_id: int, item_id: int, now_ms: int) -> bool:
    """Take an item out of every answer but its own history. False if it was forgotten already."""
    item = get_one(connection, space_id, item_id)
    if item.forgotten_ms is not None:
        return False
    _remember_before(connection, space_id, item, "forget", now_ms)
    connection.execute("UPDATE items SET forgotten_ms = ?, rev = rev + 1 WHERE id = ?", (now_ms, item_id))
    if item.superseded_by is None:
        index.hide(connection, space_id, item_id)
        index.count(connection, space_id, _project_of(connection, item_id), item.kind, -1)
    return True


def restore(connection: apsw.Connection, space_id: int, item_id: int, now_ms: int) -> bool:
    """Undo forgetting and superseding. False if the item is live already."""
    item = get_one(connection, space_id, item_id)
    if item.forgotten_ms is None and item.superseded_by is None:
        return False
    _remember_before(connection, space_id, item, "restore", now_ms)
    connection.execute(
        "UPDATE items SET forgotten_ms = NULL, superseded_by = NULL, valid_until_ms = NULL, rev = rev + 1 WHERE id = ?",
        (item_id,),
    )
    project_id = _project_of(connection, item_id)
    index.show(connection, space_id, project_id, item)
    index.count(connection, space_id, project_id, item.kind, +1)
    return True


def supersede(connection: apsw.Connection, space_id: int, old_id: int, new_id: int, now_ms: int) -> None:
    """Mark an item as replaced by another: it leaves search and context, and stays in history."""
    old, new = get_one(connection, space_id, old_id), get_one(connection, space_id, new_id)
    above: Item | None = new
    while above is not None:
        if above.id == old.id:
            raise Conflict(f"Item {old_id} cannot be superseded by {new_id}: they would replace each other.")
        above = None if above.superseded_by is None else get_one(connection, space_id, above.superseded_by)
    if old.superseded_by == new.id:
        return
    _remember_before(connection, space_id, old, "supersede", now_ms)
    connection.execute(
        "UPDATE items SET superseded_by = ?, valid_until_ms = ?, rev = rev + 1 WHERE id = ?", (new_id, now_ms, old_id)
    )
    if old.forgotten_ms is None and old.superseded_by is None:
        index.hide(connection, space_id, old_id)
        index.count(connection, space_id, _project_of(connection, old_id), old.kind, -1)


def history(connection: apsw.Connection, space_id: int, item_id: int) -> list[Change]:
    rows = sql.rows(
        connection,
        "SELECT rev, op, at_ms, before FROM history WHERE space_id = ? AND item_id = ? ORDER BY id",
        (space_id, item_id),
    )
    return [Change(rev, op, at_ms, json.loads(before)) for rev, op, at_ms, before in rows]


def _found_again(
    connection: apsw.Connection, space_id: int, project_id: int | None, draft: Draft, now_ms: int
) -> Stored:
    item_id, uid = sql.rows(
        connection, f"SELECT id, uid FROM items WHERE {_SAME}", (space_id, project_id or 0, draft.content_hash)
    )[0]
    # Saying again what was forgotten or superseded is wanting it back.
    restore(connection, space_id, int(item_id), now_ms)
    return Stored(int(item_id), str(uid), duplicate=True)


def _check_uid(connection: apsw.Connection, space_id: int, project_id: int | None, draft: Draft) -> None:
    """A uid that is taken is fine for the same thing in the same place only."""
    row = sql.first(
        connection,
        "SELECT id, coalesce(project_id, 0), content_hash FROM items WHERE space_id = ? AND uid = ?",
        (space_id, draft.uid),
    )
    if row and row[1:] != (project_id or 0, draft.content_hash):
        raise Conflict(f"Item {row[0]} has the uid {draft.uid} and says something else.", "Edit that item instead.")


def _remember_before(connection: apsw.Connection, space_id: int, item: Item, op: str, now_ms: int) -> None:
    before = {
        "type": item.type,
        "title": item.title,
        "body": item.body,
        "details": item.details,
        "meta": item.meta,
        "project": item.project,
        "tags": item.tags,
        "importance": item.importance,
        "forgotten_ms": item.forgotten_ms,
        "superseded_by": item.superseded_by,
    }
    connection.execute(
        "INSERT INTO history (space_id, item_id, rev, op, at_ms, before) VALUES (?, ?, ?, ?, ?, ?)",
        (space_id, item.id, item.rev, op, now_ms, _json(before)),
    )


def _project_of(connection: apsw.Connection, item_id: int) -> int | None:
    row = sql.first(connection, "SELECT project_id FROM items WHERE id = ?", (item_id,))
    return None if row is None or row[0] is None else int(row[0])


def _write_tags(connection: apsw.Connection, space_id: int, item_id: int, tags: tuple[str, ...]) -> None:
    for tag in tags:
        connection.execute(
            "INSERT OR IGNORE INTO item_tags (space_id, tag, item_id) VALUES (?, ?, ?)", (space_id, tag, item_id)
        )


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) if value else "{}"


def _item(row: tuple[Any, ...]) -> Item:
    id_, uid, kind, type_, title, body, details, meta, project, session, tags, importance, status, tokens = row[:14]
    created_ms, updated_ms, rev, forgotten_ms, superseded_by, content_hash = row[14:]
    return Item(
        id=id_,
        uid=uid,
        kind=kind,
        type=type_,
        title=title,
        body=body,
        details={} if details == "{}" else json.loads(details),
        meta={} if meta == "{}" else json.loads(meta),
        project=project,
        session=session,
        tags=tuple(json.loads(tags)) if tags else (),
        importance=importance,
        status=status,
        tokens=tokens,
        created_ms=created_ms,
        updated_ms=updated_ms,
        rev=rev,
        forgotten_ms=forgotten_ms,
        superseded_by=superseded_by,
        content_hash=content_hash,
    )
