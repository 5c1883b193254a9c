"""Reading passages: which an item has, and the text that stands for each."""

from __future__ import annotations

from collections.abc import Sequence

from commonplace.model import PassageText
from commonplace.store.damage import text_of
from commonplace.store.indexed_text import CONTEXT_CHARACTERS, SHORT_MESSAGE, with_speaker
from commonplace.store.postgres import sql
from commonplace.store.postgres.pool import Connection
from commonplace.store.rows import passage_text, speaker_of

_IN_CONTEXT = f"""
SELECT p.id, p.item_id, p.text, i.kind, i.type, i.title, i.body, i.details,
       right(b.body, {CONTEXT_CHARACTERS}), b.details
  FROM unnest(%(ids)s::bigint[]) j(id) JOIN passages p ON p.space_id = %(space)s AND p.id = j.id
  JOIN items i ON i.space_id = %(space)s AND i.id = p.item_id
  LEFT JOIN items b ON b.space_id = %(space)s AND b.id = CASE
       WHEN i.kind = 'message' AND length(i.body) <= {SHORT_MESSAGE} THEN coalesce(
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
        (space_id, sql.ids(passage_ids)),
    )
    found = {}
    for id_, item_id, text, kind, type_, title, body, details in rows:
        whole = passage_text(text, kind, type_, title, body, details)
        found[id_] = PassageText(id_, item_id, whole)
    return found


def in_context(connection: Connection, space_id: int, passage_ids: Sequence[int]) -> dict[int, tuple[PassageText, str]]:
    """Passages as they are to be understood: what was said with who said it, a few words with what was said before."""
    rows = sql.rows(connection, _IN_CONTEXT, {"space": space_id, "ids": sql.ids(passage_ids)})
    found = {}
    for id_, item_id, text, kind, type_, title, body, details, before, of_before in rows:
        whole = passage_text(text, kind, type_, title, body, details)
        own = with_speaker(speaker_of(details), whole) if kind == "message" else whole
        context = with_speaker(speaker_of(of_before), text_of(before)) if before else ""
        found[id_] = PassageText(id_, item_id, own), context
    return found


def of_items(connection: Connection, space_id: int, item_ids: Sequence[int]) -> dict[int, list[int]]:
    """The ids of each item's passages, in their order."""
    rows = sql.rows(
        connection,
        "SELECT item_id, id FROM passages WHERE space_id = %s AND item_id = ANY(%s::bigint[]) ORDER BY item_id, seq",
        (space_id, sql.ids(item_ids)),
        prepared=True,
    )
    found: dict[int, list[int]] = {}
    for item_id, passage_id in rows:
        found.setdefault(item_id, []).append(passage_id)
    return found


def items_of(connection: Connection, space_id: int, passage_ids: Sequence[int]) -> dict[int, int]:
    """The item of each passage."""
    question = "SELECT id, item_id FROM passages WHERE space_id = %s AND id = ANY(%s::bigint[])"
    return dict(sql.rows(connection, question, (space_id, sql.ids(passage_ids)), prepared=True)) if passage_ids else {}


def firsts_of(connection: Connection, space_id: int, item_ids: Sequence[int]) -> dict[int, int]:
    """The first passage of each item."""
    question = "SELECT item_id, id FROM passages WHERE space_id = %s AND item_id = ANY(%s::bigint[]) AND seq = 0"
    return dict(sql.rows(connection, question, (space_id, sql.ids(item_ids)), prepared=True)) if item_ids else {}
