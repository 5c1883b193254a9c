"""Reading items and their passages: by id, by their words, by their place in a session, and what they were before.

A plain question is an OR of its words, ranked by BM25. Ranking every row that holds a common word is what makes
full-text search slow, so a word that stands in a great many rows does not find passages by itself when rarer words
are there: it only counts for those already found. A question of nothing but common words takes the newest rows
that hold them all. A query with operators is a filter, and every hit satisfies it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from commonplace.errors import NotFound
from commonplace.model import (
    Change,
    Item,
    PassageText,
    Ref,
    Scope,
    Session,
)
from commonplace.store.damaged_values import text_of
from commonplace.store.rows import (
    CONTEXT_CHARACTERS,
    SHORT_MESSAGE,
    change_of,
    item_of,
    passage_text,
    speaker_of,
    spoken_passage,
    turn_of,
    with_speaker,
)
from commonplace.store.sql import sessions
from commonplace.store.sql.connection import IN_LIST, Connection, Space, allow_replica
from commonplace.store.sql.scope_filter import NO_PROJECT as NO_PROJECT
from commonplace.store.sql.scope_filter import Filter as Filter
from commonplace.store.sql.scope_filter import filter_of as filter_of
from commonplace.store.types import TextAnswer, Turn, Use
from commonplace.text.plain_form import fingerprint
from commonplace.text.query import Query, Word

_T = TypeVar("_T")

SELECT_ITEMS = """
SELECT i.id, i.uid, i.kind, i.type, i.title, i.body, i.details, i.meta, p.name, s.key,
       CASE WHEN i.tagged THEN (SELECT json_group_array(tag /*pg ORDER BY tag */) FROM item_tags t
                                 WHERE t.space_id = i.space_id AND t.item_id = i.id) END,
       i.importance, i.status, i.tokens, i.created_ms, i.updated_ms, i.rev, i.forgotten_ms, i.superseded_by,
       i.content_hash, i.valid_from_ms, i.valid_until_ms, i.expires_ms, i.author, i.origin, i.review
  FROM {rows} LEFT JOIN projects p ON p.space_id = i.space_id AND p.id = i.project_id
       LEFT JOIN sessions s ON s.space_id = i.space_id AND s.id = i.session_id
"""
ITEMS = SELECT_ITEMS.format(rows="items i")
_BY_FINGERPRINT = f"""
{SELECT_ITEMS.format(rows="items i INDEXED BY items_fingerprint")}
 WHERE i.space_id = ? AND i.fingerprint = ? AND {{condition}} ORDER BY i.id LIMIT ?
"""
_BY_ID = f"{ITEMS} WHERE +i.space_id = ? AND i.id {IN_LIST}"
# First what is of the same moment: an import may date thousands alike.
_TURNS = """
SELECT i.id, i.session_id, i.details, coalesce(
         (SELECT n.id FROM items n WHERE +n.space_id = i.space_id AND n.session_id = i.session_id
             AND n.created_ms = i.created_ms AND n.id > i.id ORDER BY n.id LIMIT 1),
         (SELECT n.id FROM items n WHERE +n.space_id = i.space_id AND n.session_id = i.session_id
             AND n.created_ms > i.created_ms ORDER BY n.created_ms, n.id LIMIT 1))
  FROM items i WHERE +i.space_id = ? AND i.id IN (SELECT value FROM json_each(?)) AND i.session_id IS NOT NULL
"""
_PASSAGE_TEXTS = f"""
SELECT p.id, p.item_id, p.text, i.kind, i.type, i.title, i.body, i.details
  FROM passages p JOIN items i ON i.space_id = p.space_id AND i.id = p.item_id
 WHERE +p.space_id = ? AND p.id {IN_LIST}
"""
_PASSAGES_IN_CONTEXT = f"""
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


class Items(Space):
    """The items of one space."""

    def snapshot(self, work: Callable[[], _T]) -> _T:
        """All that `work` reads is of one moment."""

        def read() -> _T:
            with self._database.read(self._query_timeout):
                return work()

        return self._database.on_replica(read)

    def resolve(self, refs: Sequence[Ref]) -> list[int | None]:
        with self._database.read() as connection:
            return [find(connection, self._space_id, ref) for ref in refs]

    def get(self, item_ids: Iterable[int]) -> dict[int, Item]:
        with self._database.read() as connection:
            return get(connection, self._space_id, item_ids)

    def statements_like(self, text: str, scope: Scope, limit: int) -> list[Item]:
        with self._database.read(self._query_timeout) as connection:
            filter_ = filter_of(connection, self._space_id, scope, self.clock())
            if filter_ is None:
                return []
            condition, bindings = filter_.sql(connection)
            select = _BY_FINGERPRINT.format(condition=condition)
            rows = connection.rows(select, (self._space_id, fingerprint(text), *bindings, limit))
        return [item_of(row) for row in rows]

    def history(self, item_id: int) -> list[Change]:
        select = (
            "SELECT rev, op, at_ms, before, author, origin FROM history WHERE space_id = ? AND item_id = ?"
            " ORDER BY rev, id"
        )
        with self._database.read() as connection:
            return [change_of(*row) for row in connection.rows(select, (self._space_id, item_id))]

    def uses(self, item_ids: Sequence[int]) -> dict[int, Use]:
        select = f"SELECT item_id, uses, used_ms FROM item_uses WHERE space_id = ? AND item_id {IN_LIST}"
        with self._database.read(self._query_timeout) as connection:
            rows = connection.rows(select, (self._space_id, connection.array(item_ids)), prepared=True)
        return {item_id: Use(number, last_ms) for item_id, number, last_ms in rows}

    def superseded(self, item_id: int) -> list[int]:
        select = "SELECT id FROM items WHERE space_id = ? AND superseded_by = ? ORDER BY id DESC"
        with self._database.read() as connection:
            return [row[0] for row in connection.rows(select, (self._space_id, item_id))]

    @allow_replica
    def search_text(self, query: Query, scope: Scope, k: int, *, count: bool = True) -> TextAnswer:
        if not query.words and not (query.strict and query.tree is not None):
            return TextAnswer((), 0)
        with self._database.read(self._query_timeout) as connection:
            filter_ = filter_of(connection, self._space_id, scope, self.clock())
            if filter_ is None:
                return TextAnswer((), 0)
            inside, most = filter_.including_lapsed, filter_.overfetch(k)
            if query.strict and query.tree is not None:
                answer = self._search_strict(connection, query, inside, most)
            else:
                answer = self._search_plain(connection, query.words, inside, most, count=count)
        held = filter_.holding(answer.hits)
        total = answer.total - (len(answer.hits) - len(held))
        hits = tuple(held[:k])
        return TextAnswer(hits, max(len(hits), total), answer.words)

    @allow_replica
    def word_shares(self, answer: TextAnswer, passage_ids: Sequence[int]) -> dict[int, float]:
        if answer.words is None:
            holding = {hit.passage_id for hit in answer.hits}
            return {passage: float(passage in holding) for passage in passage_ids}
        with self._database.read(self._query_timeout) as connection:
            return self._word_shares(connection, answer.words, passage_ids)

    @allow_replica
    def speakers(self, words: Sequence[Word], project: str | None = None) -> list[Word]:
        with self._database.read(self._query_timeout) as connection:
            filter_ = filter_of(connection, self._space_id, Scope(project=project, lapsed=True), 0)
            return [] if filter_ is None or not words else self._speakers(connection, words, filter_)

    @allow_replica
    def conversations_by_title(self, patterns: Sequence[str], least: int, scope: Scope, limit: int) -> dict[int, str]:
        with self._database.read(self._query_timeout) as connection:
            filter_ = filter_of(connection, self._space_id, scope, self.clock())
            if filter_ is None or not patterns:
                return {}
            condition, bindings = filter_.sql(connection)
            matching = " + ".join(["CASE WHEN s.label LIKE ? THEN 1 ELSE 0 END"] * len(patterns))
            rows = connection.rows(
                "SELECT (SELECT i.id FROM items i WHERE i.session_id = s.id AND i.space_id = s.space_id"
                f"          AND i.kind = 'message' AND {condition} ORDER BY i.created_ms, i.id LIMIT 1), s.label"
                "  FROM sessions s WHERE s.space_id = ? AND s.forgotten_ms IS NULL AND s.messages > 0"
                f"   AND ({matching} >= ? OR s.label GLOB '*[^ -~]*') ORDER BY s.ended_ms DESC, s.id DESC LIMIT ?",
                (*bindings, self._space_id, *patterns, least, limit),
            )
        return {first: label if type(label) is str else text_of(label) for first, label in rows if first is not None}

    def turns(self, item_ids: Sequence[int]) -> dict[int, Turn]:
        with self._database.read(self._query_timeout) as connection:
            rows = connection.rows(_TURNS, (self._space_id, connection.array(item_ids)), prepared=True)
        return {row[0]: turn_of(row) for row in rows}

    def sessions_of(self, item_ids: Sequence[int]) -> dict[int, Session]:
        with self._database.read() as connection:
            rows = connection.rows(
                f"SELECT id, session_id FROM items WHERE +space_id = ? AND id {IN_LIST} AND session_id IS NOT NULL",
                (self._space_id, connection.array(item_ids)),
            )
            found = sessions.get(connection, self._space_id, {session_id for _item_id, session_id in rows})
            return {item_id: found[session_id] for item_id, session_id in rows}

    def passages_of(self, item_ids: Sequence[int]) -> dict[int, list[int]]:
        with self._database.read() as connection:
            return passages_of(connection, self._space_id, item_ids)

    def passage_texts(self, passage_ids: Sequence[int]) -> dict[int, PassageText]:
        with self._database.read() as connection:
            return passage_texts(connection, self._space_id, passage_ids)

    def passages_in_context(self, passage_ids: Sequence[int]) -> dict[int, tuple[PassageText, str]]:
        with self._database.read() as connection:
            return passages_in_context(connection, self._space_id, passage_ids)

    def _search_strict(self, connection: Any, query: Query, filter_: Filter, k: int) -> TextAnswer:
        """The best `k` passages inside the filter that satisfy the query's tree."""
        raise NotImplementedError

    def _search_plain(
        self, connection: Any, words: Sequence[Word], filter_: Filter, k: int, *, count: bool
    ) -> TextAnswer:
        """The best `k` passages inside the filter; with `count` how many match, and what `_word_shares` has to know."""
        raise NotImplementedError

    def _word_shares(self, connection: Any, words: Any, passage_ids: Sequence[int]) -> dict[int, float]:
        """The share of the words in each of these passages. `words` is what `_search_plain` learned of them."""
        raise NotImplementedError

    def _speakers(self, connection: Any, words: Sequence[Word], filter_: Filter) -> list[Word]:
        """Those of the words that are part of the name of somebody who speaks."""
        raise NotImplementedError


def get(connection: Connection, space_id: int, item_ids: Iterable[int]) -> dict[int, Item]:
    """Items by id, forgotten ones too; ids that do not exist are absent."""
    wanted = dict.fromkeys(item_ids)
    known = read_in_snapshot(connection, space_id)
    if missing := [i for i in wanted if i not in known and -(2**63) <= i < 2**63]:
        rows = connection.rows(_BY_ID, (space_id, connection.array(missing)), prepared=True)
        known |= {item.id: item for item in map(item_of, rows)}
    return {i: known[i] for i in wanted if i in known}


def read_in_snapshot(connection: Connection, space_id: int) -> dict[int, Item]:
    """The items that were read in the snapshot that is open, by id, to be added to."""
    return connection.once(("items", space_id), dict[int, Item])


def get_one(connection: Connection, space_id: int, item_id: int) -> Item:
    item = get(connection, space_id, [item_id]).get(item_id)
    if item is None:
        raise NotFound(f"There is no item {item_id}.")
    return item


def find(connection: Connection, space_id: int, ref: Ref) -> int | None:
    """The integer id behind any spelling."""
    for clause, value in (("uid = ?", ref.uid), ("substr(uid, -12) = ?", ref.short), ("id = ?", ref.number)):
        if value is None:
            continue
        rows = connection.rows(f"SELECT id FROM items WHERE space_id = ? AND {clause} LIMIT 2", (space_id, value))
        if len(rows) == 1:
            return int(rows[0][0])
    return None


def passage_texts(connection: Connection, space_id: int, passage_ids: Sequence[int]) -> dict[int, PassageText]:
    """The text that stands for each passage: its own, or its item's when it is the whole of it."""
    found = {}
    for id_, item_id, *rest in connection.rows(_PASSAGE_TEXTS, (space_id, connection.array(passage_ids))):
        found[id_] = PassageText(id_, item_id, passage_text(*rest))
    return found


def passages_in_context(
    connection: Connection, space_id: int, passage_ids: Sequence[int]
) -> dict[int, tuple[PassageText, str]]:
    """Passages as they are to be understood: what was said with who said it, a few words with what was said before."""
    found = {}
    rows = connection.rows(_PASSAGES_IN_CONTEXT, (space_id, connection.array(passage_ids)))
    for id_, item_id, text, kind, type_, title, body, details, before, of_before in rows:
        whole = passage_text(text, kind, type_, title, body, details)
        own = spoken_passage(speaker_of(details), whole) if kind == "message" else whole
        context = (
            with_speaker(speaker_of(of_before), before if type(before) is str else text_of(before)) if before else ""
        )
        found[id_] = PassageText(id_, item_id, own), context
    return found


def passages_of(connection: Connection, space_id: int, item_ids: Sequence[int]) -> dict[int, list[int]]:
    """The ids of each item's passages, in their order."""
    select = f"SELECT item_id, id FROM passages WHERE space_id = ? AND item_id {IN_LIST} ORDER BY item_id, seq"
    found: dict[int, list[int]] = {}
    for item_id, passage_id in connection.rows(select, (space_id, connection.array(item_ids)), prepared=True):
        found.setdefault(item_id, []).append(passage_id)
    return found


def items_of_passages(connection: Connection, space_id: int, passage_ids: Sequence[int]) -> dict[int, int]:
    """The item of each passage."""
    select = f"SELECT id, item_id FROM passages WHERE +space_id = ? AND id {IN_LIST}"
    rows = connection.rows(select, (space_id, connection.array(passage_ids)), prepared=True) if passage_ids else ()
    return dict(rows)


def first_passages(connection: Connection, space_id: int, item_ids: Sequence[int]) -> dict[int, int]:
    """The first passage of each item."""
    select = f"SELECT item_id, id FROM passages WHERE space_id = ? AND item_id {IN_LIST} AND seq = 0"
    rows = connection.rows(select, (space_id, connection.array(item_ids)), prepared=True) if item_ids else ()
    return dict(rows)
