"""Reading passages: which an item has, and the text that stands for each."""

from __future__ import annotations

from collections.abc import Sequence

from commonplace.model import PassageText
from commonplace.store.damaged_values import text_of
from commonplace.store.indexed_text import CONTEXT_CHARACTERS, SHORT_MESSAGE, with_speaker
from commonplace.store.rows import passage_text, speaker_of
from commonplace.store.sql.connection import IN_LIST, Connection
from commonplace.store.sql.space import Space

_TEXTS = f"""
SELECT p.id, p.item_id, p.text, i.kind, i.type, i.title, i.body, i.details
  FROM passages p JOIN items i ON i.space_id = p.space_id AND i.id = p.item_id
 WHERE +p.space_id = ? AND p.id {IN_LIST}
"""
_IN_CONTEXT = f"""
SELECT p.id, p.item_id, p.text, i.kind, i.type, i.title, i.body, i.details,
       substr(b.body, -{CONTEXT_CHARACTERS}), b.details
  FROM json_each(?2) j CROSS JOIN passages p ON +p.space_id = ?1 AND p.id = j.value
  CROSS JOIN items i ON i.space_id = p.space_id AND i.id = p.item_id
  LEFT JOIN items b ON b.space_id = p.space_id AND b.id = CASE
       WHEN i.kind = 'message' AND length(i.body) <= {SHORT_MESSAGE} THEN coalesce(
       (SELECT n.id FROM items n WHERE +n.space_id = i.space_id AND n.session_id = i.session_id
           AND n.created_ms = i.created_ms AND n.id < i.id AND n.kind = 'message' AND n.forgotten_ms IS NULL
         ORDER BY n.id DESC LIMIT 1),
       (SELECT n.id FROM items n WHERE +n.space_id = i.space_id AND n.session_id = i.session_id
           AND n.created_ms < i.created_ms AND n.kind = 'message' AND n.forgotten_ms IS NULL
         ORDER BY n.created_ms DESC, n.id DESC LIMIT 1)) END
"""


class Passages(Space):
    """The passages of one space."""

    def passages_of(self, item_ids: Sequence[int]) -> dict[int, list[int]]:
        with self._database.read() as connection:
            return of_items(connection, self._space_id, item_ids)

    def passage_texts(self, passage_ids: Sequence[int]) -> dict[int, PassageText]:
        with self._database.read() as connection:
            return texts(connection, self._space_id, passage_ids)

    def passages_in_context(self, passage_ids: Sequence[int]) -> dict[int, tuple[PassageText, str]]:
        with self._database.read() as connection:
            return in_context(connection, self._space_id, passage_ids)


def texts(connection: Connection, space_id: int, passage_ids: Sequence[int]) -> dict[int, PassageText]:
    """The text that stands for each passage: its own, or its item's when it is the whole of it."""
    found = {}
    for id_, item_id, *rest in connection.rows(_TEXTS, (space_id, connection.array(passage_ids))):
        found[id_] = PassageText(id_, item_id, passage_text(*rest))
    return found


def in_context(connection: Connection, space_id: int, passage_ids: Sequence[int]) -> dict[int, tuple[PassageText, str]]:
    """Passages as they are to be understood: what was said with who said it, a few words with what was said before."""
    found = {}
    rows = connection.rows(_IN_CONTEXT, (space_id, connection.array(passage_ids)))
    for id_, item_id, text, kind, type_, title, body, details, before, of_before in rows:
        whole = passage_text(text, kind, type_, title, body, details)
        own = with_speaker(speaker_of(details), whole) if kind == "message" else whole
        context = with_speaker(speaker_of(of_before), text_of(before)) if before else ""
        found[id_] = PassageText(id_, item_id, own), context
    return found


def of_items(connection: Connection, space_id: int, item_ids: Sequence[int]) -> dict[int, list[int]]:
    """The ids of each item's passages, in their order."""
    select = f"SELECT item_id, id FROM passages WHERE space_id = ? AND item_id {IN_LIST} ORDER BY item_id, seq"
    found: dict[int, list[int]] = {}
    for item_id, passage_id in connection.rows(select, (space_id, connection.array(item_ids)), prepared=True):
        found.setdefault(item_id, []).append(passage_id)
    return found


def items_of(connection: Connection, space_id: int, passage_ids: Sequence[int]) -> dict[int, int]:
    """The item of each passage."""
    select = f"SELECT id, item_id FROM passages WHERE +space_id = ? AND id {IN_LIST}"
    rows = connection.rows(select, (space_id, connection.array(passage_ids)), prepared=True) if passage_ids else ()
    return dict(rows)


def firsts_of(connection: Connection, space_id: int, item_ids: Sequence[int]) -> dict[int, int]:
    """The first passage of each item."""
    select = f"SELECT item_id, id FROM passages WHERE space_id = ? AND item_id {IN_LIST} AND seq = 0"
    rows = connection.rows(select, (space_id, connection.array(item_ids)), prepared=True) if item_ids else ()
    return dict(rows)
