"""Reading passages: which an item has, and the text that stands for each."""

from __future__ import annotations

import json
from collections.abc import Sequence

import apsw

from commonplace.model import PassageText
from commonplace.store.columns import standing_text
from commonplace.store.sqlite import sql


def texts(connection: apsw.Connection, space_id: int, passage_ids: Sequence[int]) -> dict[int, PassageText]:
    """The text that stands for each passage: its own, or its item's when it is the whole of it."""
    rows = sql.rows(
        connection,
        """
        SELECT p.id, p.item_id, p.text, i.kind, i.type, i.title, i.body, i.details
          FROM json_each(?2) j CROSS JOIN passages p ON p.id = j.value CROSS JOIN items i ON i.id = p.item_id
         WHERE p.space_id = ?1
        """,
        (space_id, json.dumps(list(passage_ids))),
    )
    found = {}
    for id_, item_id, text, kind, type_, title, body, details in rows:
        whole = text if text is not None else standing_text(kind, type_, title, body, json.loads(details), ())
        found[id_] = PassageText(id_, item_id, whole)
    return found


def of_items(connection: apsw.Connection, space_id: int, item_ids: Sequence[int]) -> dict[int, list[int]]:
    """The ids of each item's passages, in their order."""
    rows = sql.rows(
        connection,
        "SELECT p.item_id, p.id FROM json_each(?2) j CROSS JOIN passages p ON p.space_id = ?1 AND p.item_id = j.value"
        " ORDER BY p.item_id, p.seq",
        (space_id, json.dumps(list(dict.fromkeys(item_ids)))),
    )
    found: dict[int, list[int]] = {}
    for item_id, passage_id in rows:
        found.setdefault(item_id, []).append(passage_id)
    return found
