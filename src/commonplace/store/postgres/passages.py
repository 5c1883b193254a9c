"""Reading passages: which an item has, and the text that stands for each."""

from __future__ import annotations

import json
from collections.abc import Sequence

from commonplace.model import PassageText
from commonplace.store.columns import standing_text
from commonplace.store.postgres import sql
from commonplace.store.postgres.pool import Connection

# Characters of what stands before a passage that help to understand it.
CONTEXT = 300

_SPEAKER = "coalesce(nullif({0}.details::json ->> 'speaker', ''), {0}.details::json ->> 'role', '')"
_IN_CONTEXT = f"""
SELECT p.id, p.item_id, p.text, i.kind, i.type, i.title, i.body, i.details,
       CASE WHEN p.seq > 0 THEN left(i.body, %(context)s) END, {_SPEAKER.format("i")},
       CASE WHEN p.seq = 0 THEN right(b.body, %(context)s) END, {_SPEAKER.format("b")}
  FROM unnest(%(ids)s::bigint[]) j(id) JOIN passages p ON p.space_id = %(space)s AND p.id = j.id
  JOIN items i ON i.space_id = %(space)s AND i.id = p.item_id
  LEFT JOIN items b ON b.space_id = %(space)s AND b.id = CASE WHEN i.kind = 'message' THEN coalesce(
       (SELECT n.id FROM items n WHERE n.space_id = i.space_id AND n.session_id = i.session_id
           AND n.created_ms = i.created_ms AND n.id < i.id AND n.kind = 'message' AND n.forgotten_ms IS NULL
         ORDER BY n.id DESC LIMIT 1),
       (SELECT n.id FROM items n WHERE n.space_id = i.space_id AND n.session_id = i.session_id
           AND n.created_ms < i.created_ms AND n.kind = 'message' AND n.forgotten_ms IS NULL
         ORDER BY n.created_ms DESC, n.id DESC LIMIT 1)) END
"""


def texts(connection: Connection, space_id: int, passage_ids: Sequence[int]) -> dict[int, PassageText]:
    """The text that stands for each passage: its own, or its item's when it is the whole of it."""
    rows = sql.rows(
        connection,
        """
        SELECT p.id, p.item_id, p.text, i.kind, i.type, i.title, i.body, i.details
          FROM passages p JOIN items i ON i.space_id = p.space_id AND i.id = p.item_id
         WHERE p.space_id = %s AND p.id = ANY(%s::bigint[])
        """,
        (space_id, list(passage_ids)),
    )
    found = {}
    for id_, item_id, text, kind, type_, title, body, details in rows:
        whole = text if text is not None else standing_text(kind, type_, title, body, json.loads(details), ())
        found[id_] = PassageText(id_, item_id, whole)
    return found


def in_context(connection: Connection, space_id: int, passage_ids: Sequence[int]) -> dict[int, tuple[PassageText, str]]:
    """Passages as they are to be understood: what was said with who said it, and with what stands before it.

    That is the end of the message before, and in the middle of something long how that begins.
    """
    rows = sql.rows(connection, _IN_CONTEXT, {"space": space_id, "ids": list(passage_ids), "context": CONTEXT})
    found = {}
    for id_, item_id, text, kind, type_, title, body, details, head, speaker, said, by in rows:
        whole = text if text is not None else standing_text(kind, type_, title, body, json.loads(details), ())
        own = f"{speaker}: " if kind == "message" and speaker else ""
        if head is not None:
            before = f"{own}{head}" if kind == "message" else title
        else:
            before = f"{by}: {said}" if said and by else said or ""
        found[id_] = PassageText(id_, item_id, own + whole), before
    return found


def of_items(connection: Connection, space_id: int, item_ids: Sequence[int]) -> dict[int, list[int]]:
    """The ids of each item's passages, in their order."""
    rows = sql.rows(
        connection,
        "SELECT item_id, id FROM passages WHERE space_id = %s AND item_id = ANY(%s::bigint[]) ORDER BY item_id, seq",
        (space_id, list(item_ids)),
    )
    found: dict[int, list[int]] = {}
    for item_id, passage_id in rows:
        found.setdefault(item_id, []).append(passage_id)
    return found
