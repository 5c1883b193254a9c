"""The engine's part about turns: names are looked up among the words, and the order is that of an index."""

from __future__ import annotations

import json
from collections.abc import Sequence

from commonplace.model import Scope
from commonplace.store.damage import text_of
from commonplace.store.sqlite.scope import resolve
from commonplace.store.sqlite.space import SqliteSpace
from commonplace.store.sqlite.within import narrowed
from commonplace.store.types import Turn, turn_of
from commonplace.text.query import Word, words_to_fts5

# A word in very many rows may be nobody's name in any of them: only so many of the newest are looked at.
LOOKED_AT = 50_000

# First what is of the same moment: an import may date thousands alike.
_TURNS = """
SELECT i.id, i.session_id, i.details,
       CASE WHEN i.kind = 'message' THEN octet_length(i.body) END, coalesce(
         (SELECT n.id FROM items n WHERE n.session_id = i.session_id AND n.created_ms = i.created_ms AND n.id > i.id
           ORDER BY n.id LIMIT 1),
         (SELECT n.id FROM items n WHERE n.session_id = i.session_id AND n.created_ms > i.created_ms
           ORDER BY n.created_ms, n.id LIMIT 1))
  FROM json_each(?2) j CROSS JOIN items i ON i.id = j.value
 WHERE i.space_id = ?1 AND i.session_id IS NOT NULL
"""


class Turns(SqliteSpace):
    """Who said what when, in one space."""

    def speakers(self, words: Sequence[Word], project: str | None = None) -> list[Word]:
        with self._database.read(self._query_timeout) as connection:
            filter_ = resolve(connection, self._space_id, Scope(project=project))
            if filter_ is None:
                return []
            within = narrowed(connection, self._space_id, filter_, exact=True)
            since = connection.value("SELECT coalesce(max(id), 0) FROM passages") - LOOKED_AT
            question = "SELECT 1 FROM passages_fts WHERE passages_fts MATCH ? AND rowid > ? LIMIT 1"

            def speaks(word: Word) -> bool:
                match = within.around(words_to_fts5([word], columns=("speaker",)))
                return connection.first(question, (match, max(0, since))) is not None

            return [word for word in words if speaks(word)]

    def conversations_by_title(self, patterns: Sequence[str], least: int, scope: Scope, limit: int) -> dict[int, str]:
        with self._database.read(self._query_timeout) as connection:
            filter_ = resolve(connection, self._space_id, scope)
            if filter_ is None or not patterns:
                return {}
            condition, bindings = filter_.sql()
            matching = " + ".join(["(s.label LIKE ?)"] * len(patterns))
            rows = connection.rows(
                "SELECT (SELECT i.id FROM items i WHERE i.session_id = s.id AND i.space_id = s.space_id"
                f"          AND i.kind = 'message' AND {condition} ORDER BY i.created_ms, i.id LIMIT 1), s.label"
                "  FROM sessions s WHERE s.space_id = ? AND s.forgotten_ms IS NULL AND s.messages > 0"
                f"   AND ({matching} >= ? OR s.label GLOB '*[^ -~]*') ORDER BY s.ended_ms DESC, s.id DESC LIMIT ?",
                (*bindings, self._space_id, *patterns, least, limit),
            )
        return {first: text_of(label) for first, label in rows if first is not None}

    def turns(self, item_ids: Sequence[int]) -> dict[int, Turn]:
        with self._database.read(self._query_timeout) as connection:
            rows = connection.rows(_TURNS, (self._space_id, json.dumps(list(item_ids))))
        return {row[0]: turn_of(row) for row in rows}
