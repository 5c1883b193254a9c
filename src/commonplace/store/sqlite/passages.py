"""Reading passages: which an item has, and the text that stands for each."""

from __future__ import annotations

import json
from collections.abc import Sequence

from commonplace.model import PassageText
from commonplace.store.damage import text_of
from commonplace.store.indexed_text import CONTEXT_CHARACTERS, SHORT_MESSAGE, with_speaker
from commonplace.store.rows import passage_text, speaker_of
from commonplace.store.sqlite.connection import SqliteConnection

_IN_CONTEXT = f"""
SELECT p.id, p.item_id, p.text, i.kind, i.type, i.title, i.body, i.details,
       substr(b.body, -{CONTEXT_CHARACTERS}), b.details
  FROM json_each(?2) j CROSS JOIN passages p ON p.id = j.value CROSS JOIN items i ON i.id = p.item_id
  LEFT JOIN items b ON b.id = CASE WHEN i.kind = 'message' AND length(i.body) <= {SHORT_MESSAGE} THEN coalesce(
       (SELECT n.id FROM items n WHERE n.session_id = i.session_id AND n.created_ms = i.created_ms AND n.id < i.id
           AND n.kind = 'message' AND n.forgotten_ms IS NULL ORDER BY n.id DESC LIMIT 1),
       (SELECT n.id FROM items n WHERE n.session_id = i.session_id AND n.created_ms < i.created_ms
           AND n.kind = 'message' AND n.forgotten_ms IS NULL ORDER BY n.created_ms DESC, n.id DESC LIMIT 1)) END
 WHERE p.space_id = ?1
"""


def texts(connection: SqliteConnection, space_id: int, passage_ids: Sequence[int]) -> dict[int, PassageText]:
    """The text that stands for each passage: its own, or its item's when it is the whole of it."""
    rows = connection.rows(
        """
        SELECT p.id, p.item_id, p.text, i.kind, i.type, i.title, i.body, i.details
          FROM json_each(?2) j CROSS JOIN passages p ON p.id = j.value CROSS JOIN items i ON i.id = p.item_id
         WHERE p.space_id = ?1
        """,
        (space_id, json.dumps(list(passage_ids))),
    )
    found = {}
    for id_, item_id, text, kind, type_, title, body, details in rows:
        whole = passage_text(text, kind, type_, title, body, details)
        found[id_] = PassageText(id_, item_id, whole)
    return found


def in_context(
    connection: SqliteConnection, space_id: int, passage_ids: Sequence[int]
) -> dict[int, tuple[PassageText, str]]:
    """Passages as they are to be understood: what was said with who said it, a few words with what was said before."""
    rows = connection.rows(_IN_CONTEXT, (space_id, json.dumps(list(passage_ids))))
    found = {}
    for id_, item_id, text, kind, type_, title, body, details, before, of_before in rows:
        whole = passage_text(text, kind, type_, title, body, details)
        own = with_speaker(speaker_of(details), whole) if kind == "message" else whole
        context = with_speaker(speaker_of(of_before), text_of(before)) if before else ""
        found[id_] = PassageText(id_, item_id, own), context
    return found


def of_items(connection: SqliteConnection, space_id: int, item_ids: Sequence[int]) -> dict[int, list[int]]:
    """The ids of each item's passages, in their order."""
    rows = connection.rows(
        "SELECT p.item_id, p.id FROM json_each(?2) j CROSS JOIN passages p ON p.space_id = ?1 AND p.item_id = j.value"
        " ORDER BY p.item_id, p.seq",
        (space_id, json.dumps(list(dict.fromkeys(item_ids)))),
    )
    found: dict[int, list[int]] = {}
    for item_id, passage_id in rows:
        found.setdefault(item_id, []).append(passage_id)
    return found
