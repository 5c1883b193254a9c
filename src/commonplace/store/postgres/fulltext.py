"""Finding passages by their words, with the same answers as on SQLite: the scores are FTS5's, not the server's."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from commonplace.model import TextHit
from commonplace.store.postgres.connection import lexeme, name_token
from commonplace.store.postgres.pool_and_replicas import Connection
from commonplace.store.postgres.text_query import (
    Bound,
    CountCache,
    Leaf,
    Leaves,
    Scored,
    ScoredRows,
    Statistics,
    Within,
    compile_leaves,
    compile_query,
    condition,
    condition_of_leaves,
    count_rows,
    in_projects,
    leaves_of,
    leaves_of_word,
    narrowed,
)
from commonplace.store.rows import PART
from commonplace.store.sql.items import Filter, Items, first_passages, items_of_passages
from commonplace.store.types import TextAnswer
from commonplace.text import query as query_words
from commonplace.text.query import (
    COMMON_MOST,
    NEWEST_ROWS,
    Query,
    QueryWords,
    Word,
    common_from,
    word_forms,
    word_value,
)

# What so many times as many of the newest rows hold as make a word common need not be counted.
GLANCE, CLEARLY = 1_000, 1.5

ROWS = "FROM searched_words w WHERE w.space_id = %(space)s AND "


class FullText(Items):
    """Finding passages of one space by their words."""

    @functools.cached_property
    def _counted(self) -> CountCache:
        return CountCache()

    def _search_strict(self, connection: Connection, query: Query, filter_: Filter, k: int) -> TextAnswer:
        return self._text_search(connection, filter_, k).strict(query)

    def _search_plain(
        self, connection: Connection, words: Sequence[Word], filter_: Filter, k: int, *, count: bool
    ) -> TextAnswer:
        return self._text_search(connection, filter_, k).plain(words, count=count)

    def _word_shares(self, connection: Connection, words: FoundWords, passage_ids: Sequence[int]) -> dict[int, float]:
        return words.shares(connection, self._space_id, passage_ids)

    def _text_search(self, connection: Connection, filter_: Filter, k: int) -> TextSearch:
        within = narrowed(connection, self._space_id, filter_)
        counts = self._counted.counts(within.all_rows)
        statistics = Statistics(connection, self._space_id, within.all_rows, within.all_words, counts)
        return TextSearch(connection, self._space_id, within, statistics, k)

    def _speakers(self, connection: Connection, words: Sequence[Word], filter_: Filter) -> list[Word]:
        within = in_projects(self._space_id, filter_) if filter_.projects else ""
        bound = Bound(self._space_id)
        speaks = ", ".join(f"EXISTS (SELECT 1 {ROWS}{_named(word, within, bound)})" for word in words)
        answers = connection.native_rows(f"SELECT {speaks}", bound.values, prepared=True)[0]
        return [word for word, is_name in zip(words, answers, strict=True) if is_name]


@dataclass(frozen=True, slots=True)
class _IndexedWords(QueryWords):
    """The same, with what the index holds of each word: in any form, and as it is written."""

    leaves: Sequence[Leaves]
    exact: Sequence[Leaves]

    def any_of(self, numbers: Iterable[int]) -> Leaves:
        return tuple(leaf for n in numbers for leaf in self.leaves[n])


@dataclass(frozen=True, slots=True)
class FoundWords:
    """What a search learned of its words; `together` are some of the passages that hold all the common ones."""

    known: _IndexedWords
    within: Within
    together: frozenset[int]

    def shares(self, connection: Connection, space_id: int, passage_ids: Sequence[int]) -> dict[int, float]:
        """The share of the words in each of these passages."""
        rare = self._held(connection, space_id, passage_ids, self.known.rare)

        def holding(n: int) -> set[int]:
            return {passage for passage, held in rare.items() if n in held}

        def common(some: Sequence[int]) -> dict[int, list[int]]:
            return self._held(connection, space_id, some, self.known.common)

        return self.known.shares(passage_ids, holding, self.together, common)

    def _held(
        self, connection: Connection, space_id: int, passage_ids: Sequence[int], numbers: Sequence[int]
    ) -> dict[int, list[int]]:
        """Which of some words stand in each of these passages."""
        if not numbers or not passage_ids:
            return {}
        bound = Bound(space_id)
        holds = ", ".join(condition_of_leaves(self.known.leaves[n], bound) for n in numbers)
        clauses = [f"w.id = ANY({bound.add(connection.array(passage_ids))}::bigint[])"]
        if self.within.query:
            clauses.append(f"w.v @@ {bound.add(self.within.query)}::tsquery")
        clauses.append(self.within.among(connection, bound))
        rows = connection.native_rows(f"SELECT w.id, {holds} {ROWS}{' AND '.join(clauses)}", bound.values)
        return {id_: [n for n, has in zip(numbers, held, strict=True) if has] for id_, *held in rows}


@dataclass(frozen=True, slots=True)
class TextSearch:
    """A question to one space, inside a filter."""

    connection: Connection
    space_id: int
    within: Within
    statistics: Statistics
    k: int

    def strict(self, query: Query) -> TextAnswer:
        """Rows that satisfy a tree: items that are one passage, and the wholes of those that were cut."""
        assert query.tree is not None
        found = compile_query(query.tree, self.space_id)
        leaves = [] if query.inverted else [*leaves_of(query.tree)]
        worth = self.statistics.worth(leaves)
        part = lexeme(self.space_id, PART)
        total = 0
        scores: list[tuple[int, float]] = []
        items: dict[int, int] = {}
        for side, newest in ((">", "DESC"), ("<", "ASC")):
            bound = Bound(self.space_id)
            clauses = [f"w.id {side} 0", self.within.among(self.connection, bound, wholes=side == "<")]
            if side == ">":
                clauses.append(f"NOT w.v @@ {bound.add(part)}::tsquery")
            around = self.within.around("" if query.inverted else found.query)
            if around:
                clauses.append(f"w.v @@ {bound.add(around)}::tsquery")
            if query.inverted:
                clauses.append(f"NOT {condition(query.tree, bound)}")
            elif not found.exact:
                clauses.append(condition(query.tree, bound))
            rows = f"{ROWS}{' AND '.join(clauses)} ORDER BY w.id {newest} LIMIT {NEWEST_ROWS}"
            scoring = ScoredRows(rows, bound, self.statistics.rows, self.statistics.average, worth)
            here = scoring.scored(self.connection, [(leaf,) for leaf in leaves], self.k)
            total += here.total
            scores += here.best
            items |= here.items
        hits = self._hits(scores, items)
        hits.sort(key=lambda hit: (-hit.score, -hit.passage_id))
        return TextAnswer(tuple(hits[: self.k]), total)

    def plain(self, words: Sequence[Word], *, count: bool) -> TextAnswer:
        if not self.within.rows:
            return TextAnswer((), 0)
        leaves = [leaves_of_word(word) for word in words]
        rare, common = self._rare(leaves)
        known = self._known_words(words, leaves, rare, common)
        scores, together = known.add_newest(rare.best, functools.partial(self._newest, known), self.k)
        hits = self._hits(scores[: self.k], rare.items)
        if not count:
            return TextAnswer(tuple(hits), len(hits))
        matches = rare.total if known.rare else self._matches(known)
        return TextAnswer(tuple(hits), max(matches, len(hits)), FoundWords(known, self.within, together))

    def _rare(self, leaves: Sequence[Leaves]) -> tuple[Scored, frozenset[int]]:
        """The best passages that hold any of the rare words, and the numbers of the common ones."""
        common_rows = common_from(self.within.rows)
        common = self._known_as_common(leaves, common_rows)
        while True:
            rare = [word for n, word in enumerate(leaves) if n not in common]
            found = self._scored(rare)
            counts = dict(zip(rare, found.passages, strict=True))
            if self.within.everything:
                self.statistics.counts.of_words.update(counts)
            more = {n for n, word in enumerate(leaves) if counts.get(word, 0) >= common_rows}
            if not more:
                return found, common
            common |= more

    def _known_as_common(self, leaves: Sequence[Leaves], common_rows: int) -> frozenset[int]:
        """The words that need not be looked for to know that they are common."""
        rows = self.within.rows
        if rows < query_words.COMMON_LEAST:
            return frozenset()
        if self.within.everything:
            known = self.statistics.counts.of_words
            unknown = [word for word in dict.fromkeys(leaves) if word not in known]
            judged = zip(unknown, self.statistics.glance(unknown, GLANCE), strict=True)
            known.update((word, int(rows * share)) for word, share in judged if rows * share >= CLEARLY * common_rows)
            counts = [known.get(word, 0) for word in leaves]
        else:
            bound = Bound(self.space_id)
            holding = [ROWS + self._holding(word, bound) for word in leaves]
            counts = [found for found, _rows in count_rows(self.connection, holding, bound, common_rows)]
        return frozenset(n for n, found in enumerate(counts) if found >= common_rows)

    def _scored(self, words: Sequence[Leaves]) -> Scored:
        """Passages that hold any of these words. Without a filter, all rows that do tell what each word is worth."""
        if not words:
            return Scored()
        leaves = tuple(leaf for word in words for leaf in word)
        bound = Bound(self.space_id)
        rows = ROWS + self._holding(leaves, bound, wholes=self.within.everything)
        worth = None if self.within.everything else self.statistics.worth(leaves)
        by_index = self.within.rest is None
        scoring = ScoredRows(rows, bound, self.statistics.rows, self.statistics.average, worth, by_index)
        return scoring.scored(self.connection, words, self.k, only="id > 0")

    def _known_words(
        self, words: Sequence[Word], leaves: Sequence[Leaves], rare: Scored, common: frozenset[int]
    ) -> _IndexedWords:
        rows = self.within.rows
        found = iter(rare.passages)
        count = [0 if n in common else next(found) for n in range(len(words))]
        shares = self.statistics.shares([leaves[n] for n in sorted(common)])
        for n, share in zip(sorted(common), shares, strict=True):
            count[n] = int(rows * share)
        return _IndexedWords(
            rare=tuple(n for n, found in enumerate(count) if found and n not in common),
            common=tuple(sorted(common)),
            worth=tuple(word_value(rows, found) for found in count),
            most=max(count, default=0),
            leaves=leaves,
            exact=[leaves_of_word(word, with_parts=False) for word in words],
        )

    def _matches(self, known: _IndexedWords) -> int:
        if not known.common:
            return 0
        found = COMMON_MOST
        if common_from(self.within.rows) < COMMON_MOST:
            bound = Bound(self.space_id)
            rows = ROWS + self._holding(known.any_of(known.common), bound)
            ((found, _rows),) = count_rows(self.connection, [rows], bound)
        return known.matches(found)

    def _newest(self, known: _IndexedWords, operator: Literal["AND", "OR"]) -> list[int]:
        """The newest passages that hold any of the common words, or all of them."""
        if not known.common:
            return []
        bound = Bound(self.space_id)
        if operator == "OR":
            holding = self._holding(known.any_of(known.common), bound)
        else:
            holding = " AND ".join(self._holding(known.exact[n], bound) for n in known.common)
        rows = self.connection.native_rows(
            f"SELECT w.id {ROWS}{holding} ORDER BY w.id DESC LIMIT {int(self.k)}", bound.values
        )
        return [row[0] for row in rows]

    def _holding(self, leaves: Sequence[Leaf], bound: Bound, *, wholes: bool = False) -> str:
        """A condition for the passages inside the filter that hold any of these, or with `wholes` all such rows."""
        if not leaves:
            return "false"
        found = compile_leaves(leaves, self.space_id)
        clauses = [f"w.v @@ {bound.add(self.within.around(found.query))}::tsquery"]
        if not wholes:
            clauses.append("w.id > 0")
        if not found.exact:
            clauses.append(condition_of_leaves(leaves, bound))
        return " AND ".join([*clauses, self.within.among(self.connection, bound)])

    def _hits(self, scores: Sequence[tuple[int, float]], items: Mapping[int, int]) -> list[TextHit]:
        """Scored rows as hits, in the order given; the whole of an item is found by its first passage."""
        unknown = [rowid for rowid, _score in scores if rowid not in items]
        more = items_of_passages(self.connection, self.space_id, [rowid for rowid in unknown if rowid > 0])
        firsts = first_passages(self.connection, self.space_id, [-rowid for rowid in unknown if rowid < 0])
        found = {id_: (id_, item_id) for id_, item_id in (*items.items(), *more.items())}
        found |= {-item_id: (id_, item_id) for item_id, id_ in firsts.items()}
        return [TextHit(*found[rowid], score) for rowid, score in scores if rowid in found]


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
