"""The engine's part about turns: names are looked up among the words, and the order is that of an index."""

from __future__ import annotations

from collections.abc import Sequence

from commonplace.model import Scope
from commonplace.store.damage import text_of
from commonplace.store.postgres import sql
from commonplace.store.postgres.fulltext import ROWS
from commonplace.store.postgres.scope import resolve
from commonplace.store.postgres.space import PostgresSpace
from commonplace.store.postgres.text_query import Bound, Leaf, condition_of_leaves
from commonplace.store.postgres.within import in_projects
from commonplace.store.postgres.words import lexeme, name_token
from commonplace.store.sql.space import allow_replica
from commonplace.store.types import Turn, turn_of
from commonplace.text.query import Word, word_forms

_TURNS = """
SELECT i.id, i.session_id, i.details,
       CASE WHEN i.kind = 'message' THEN octet_length(i.body) END,
       (SELECT n.id FROM items n
         WHERE n.space_id = i.space_id AND n.session_id = i.session_id
           AND (n.created_ms, n.id) > (i.created_ms, i.id) ORDER BY n.created_ms, n.id LIMIT 1)
  FROM items i WHERE i.space_id = %s AND i.id = ANY(%s::bigint[]) AND i.session_id IS NOT NULL
"""


class Turns(PostgresSpace):
    """Who said what when, in one space."""

    @allow_replica
    def speakers(self, words: Sequence[Word], project: str | None = None) -> list[Word]:
        if not words:
            return []
        with self._database.read(self._query_timeout) as connection:
            filter_ = resolve(connection, self._space_id, Scope(project=project))
            if filter_ is None:
                return []
            within = in_projects(self._space_id, filter_.projects) if filter_.projects else ""
            bound = Bound(self._space_id)
            speaks = ", ".join(f"EXISTS (SELECT 1 {ROWS}{_named(word, within, bound)})" for word in words)
            answers = sql.rows(connection, f"SELECT {speaks}", bound.values, prepared=True)[0]
            return [word for word, is_name in zip(words, answers, strict=True) if is_name]

    @allow_replica
    def conversations_by_title(self, patterns: Sequence[str], least: int, scope: Scope, limit: int) -> dict[int, str]:
        with self._database.read(self._query_timeout) as connection:
            filter_ = resolve(connection, self._space_id, scope)
            if filter_ is None or not patterns:
                return {}
            condition, bindings = filter_.sql()
            matching = " + ".join(["(s.label ILIKE %s)::integer"] * len(patterns))
            rows = sql.rows(
                connection,
                "SELECT (SELECT i.id FROM items i WHERE i.space_id = s.space_id AND i.session_id = s.id"
                f"          AND i.kind = 'message' AND {condition} ORDER BY i.created_ms, i.id LIMIT 1), s.label"
                "  FROM sessions s WHERE s.space_id = %s AND s.forgotten_ms IS NULL AND s.messages > 0"
                f"   AND ({matching} >= %s OR s.label ~ '[^ -~]') ORDER BY s.ended_ms DESC, s.id DESC LIMIT %s",
                (*bindings, self._space_id, *patterns, least, limit),
            )
        return {first: text_of(label) for first, label in rows if first is not None}

    def turns(self, item_ids: Sequence[int]) -> dict[int, Turn]:
        with self._database.read(self._query_timeout) as connection:
            rows = sql.rows(connection, _TURNS, (self._space_id, sql.ids(item_ids)), prepared=True)
        return {row[0]: turn_of(row) for row in rows}


def _named(word: Word, within: str, bound: Bound) -> str:
    """Whether a row `w` has a word in the name of who speaks: the index tells, but not in which order."""
    leaves = [Leaf(tokens, columns=("speaker",)) for tokens in word_forms(word, with_parts=True)]
    names = [" & ".join(lexeme(bound.space_id, name_token(token)) for token in leaf.tokens) for leaf in leaves]
    query = " | ".join(f"({name})" for name in names)
    query = f"({query}) & {within}" if within else query
    by_index = f"w.v @@ {bound.add(query)}::tsquery"
    if all(len(leaf.tokens) == 1 for leaf in leaves):
        return by_index
    return f"{by_index} AND {condition_of_leaves(leaves, bound)}"
