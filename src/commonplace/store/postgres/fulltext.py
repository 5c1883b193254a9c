"""Finding passages by their words, at a bounded cost, with the same answers as on SQLite.

A plain question is an OR of its words, ranked by BM25. Ranking every row that holds a common word is what makes
full-text search slow, so a word that stands in a great many rows does not find passages by itself when rarer words
are there: it only counts for those already found. A question of nothing but common words takes the newest rows
that hold them all. A query with operators is a filter, and every hit satisfies it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from commonplace.model import TextHit
from commonplace.store.postgres import sql
from commonplace.store.postgres.pool import Connection
from commonplace.store.postgres.scope import Filter
from commonplace.store.postgres.sought import (
    Bound,
    Leaf,
    condition,
    condition_of_leaves,
    leaves_of,
    leaves_of_word,
    sought,
    sought_leaves,
)
from commonplace.store.postgres.statistics import COMMON_MOST, Statistics, counted, estimated, scored
from commonplace.store.postgres.within import Within, bound_condition, narrowed
from commonplace.store.postgres.words import PART, lexeme
from commonplace.store.protocol import TextAnswer
from commonplace.text.query import Query, Word

# A word in more rows than this share, within these bounds, is common.
COMMON_SHARE, COMMON_LEAST = 0.2, 2_000
NEWEST = 2_000
# In a space of so many items, the newest tell which words are common before anything is counted.
JUDGED_FROM = 20_000

ROWS = "FROM searched_words w WHERE w.space_id = %(space)s AND "


def search(
    connection: Connection,
    space_id: int,
    query: Query,
    filter_: Filter,
    k: int,
    also: Sequence[int],
    *,
    shares: bool = True,
) -> TextAnswer:
    """The best `k` passages inside the filter, and, with `shares`, the share of the words in them and in `also`."""
    asked = Asked(connection, space_id, filter_, narrowed(connection, space_id, filter_), k)
    if query.strict and query.tree is not None:
        return asked.strictly(query)
    if not query.words:
        return TextAnswer((), {}, 0)
    if not asked.within.rows:
        return TextAnswer((), dict.fromkeys(also, 0.0), 0)
    return asked.plainly(query.words, also, shares=shares)


@dataclass(frozen=True, slots=True)
class _Weighed:
    """A plain question's words by how many rows hold them, what each is worth, and the rows of the commonest."""

    leaves: Sequence[Sequence[Leaf]]
    together: Sequence[Sequence[Leaf]]
    rare: tuple[int, ...]
    common: tuple[int, ...]
    worth: tuple[float, ...]
    most: int = 0
    known: Mapping[Leaf, int] = field(default_factory=dict)

    def any_of(self, numbers: Iterable[int]) -> list[Leaf]:
        return [leaf for n in numbers for leaf in self.leaves[n]]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question to one space, inside a filter."""

    connection: Connection
    space_id: int
    filter: Filter
    within: Within
    k: int

    def strictly(self, query: Query) -> TextAnswer:
        """Rows that satisfy a tree: items that are one passage, and the wholes of those that were cut."""
        assert query.tree is not None
        found = sought(query.tree, self.space_id)
        leaves = [] if query.inverted else [*leaves_of(query.tree)]
        statistics = Statistics.of(self.connection, self.space_id, leaves)
        part = lexeme(self.space_id, PART)
        total, scores = 0, []
        for side, newest in ((">", "DESC"), ("<", "ASC")):
            bound = Bound(self.space_id)
            clauses = [f"w.id {side} 0", self.within.among(bound, wholes=side == "<")]
            if side == ">":
                clauses.append(f"NOT w.v @@ {bound.add(part)}::tsquery")
            around = self.within.around("" if query.inverted else found.query)
            if around:
                clauses.append(f"w.v @@ {bound.add(around)}::tsquery")
            if query.inverted:
                clauses.append(f"NOT {condition(query.tree, bound)}")
            elif not found.exact:
                clauses.append(condition(query.tree, bound))
            rows = f"{ROWS}{' AND '.join(clauses)} ORDER BY w.id {newest} LIMIT {NEWEST}"
            here, ranked = scored(self.connection, rows, bound, leaves, statistics, self.k)
            total += here
            scores += ranked
        hits = self._inside(scores)
        hits.sort(key=lambda hit: (-hit.score, -hit.passage_id))
        return TextAnswer(tuple(hits[: self.k]), {hit.passage_id: 1.0 for hit in hits[: self.k]}, total)

    def plainly(self, words: Sequence[Word], also: Sequence[int], *, shares: bool) -> TextAnswer:
        weighed = self._weigh(words, shares=shares)
        hits, matches = self._best(weighed)
        if not shares:
            return TextAnswer(tuple(hits), {}, len(hits))
        found = self._found(weighed, list(dict.fromkeys([*(hit.passage_id for hit in hits), *also])))
        if not weighed.rare:
            matches = self._matches(weighed)
        return TextAnswer(tuple(hits), found, max(matches, len(hits)))

    def _best(self, weighed: _Weighed) -> tuple[list[TextHit], int]:
        """The best passages, and how many hold any of the rare words."""
        scores: list[tuple[int, float]] = []
        matches = 0
        if weighed.rare:
            leaves = weighed.any_of(weighed.rare)
            bound = Bound(self.space_id)
            rows = ROWS + self._holding(leaves, bound)
            statistics = Statistics.of(self.connection, self.space_id, leaves, weighed.known)
            matches, scores = scored(self.connection, rows, bound, leaves, statistics, self.k)
        if len(weighed.common) > 1 or not weighed.rare:
            together = self._newest(weighed, "AND")
            either = self._newest(weighed, "OR") if len(together) < self.k and not weighed.rare else []
            known = {rowid for rowid, _score in scores}
            value = sum(weighed.worth[n] for n in weighed.common)
            scores += [(rowid, value) for rowid in dict.fromkeys([*together, *either]) if rowid not in known]
        return self._inside(scores)[: self.k], matches

    def _weigh(self, words: Sequence[Word], *, shares: bool) -> _Weighed:
        leaves = [leaves_of_word(word) for word in words]
        together = [leaves_of_word(word, with_parts=False) for word in words]
        if not shares and self.within.rows < COMMON_LEAST:
            # So few rows that no word can be common, and nobody asks what it is worth.
            return _Weighed(leaves, together, tuple(range(len(words))), (), ())
        rows = self.within.rows
        common_from = int(min(max(rows * COMMON_SHARE, COMMON_LEAST), COMMON_MOST))
        # What is clearly common among the newest rows need not be counted.
        judged = self._judged(leaves) if self.within.everything and rows >= JUDGED_FROM else [0] * len(words)
        doubtful = [n for n, found in enumerate(judged) if found < 2 * common_from]
        counts = dict(zip(doubtful, self._counted([leaves[n] for n in doubtful], common_from), strict=True))
        count = [counts[n][0] if n in counts else found for n, found in enumerate(judged)]
        rare = tuple(n for n, found in enumerate(count) if 0 < found < common_from)
        common = tuple(n for n, found in enumerate(count) if found >= common_from)
        for n, found in zip(common, self._judged([leaves[n] for n in common]), strict=True):
            count[n] = found
        known = {leaves[n][0]: counts[n][1] for n in rare if self.within.everything and len(leaves[n]) == 1}
        worth = tuple(_worth(rows, found) for found in count)
        return _Weighed(leaves, together, rare, common, worth, max(count, default=0), known)

    def _judged(self, sought: Sequence[Sequence[Leaf]]) -> list[int]:
        """How many passages hold any of each, judged by the newest."""
        return [int(self.within.rows * share) for share in estimated(self.connection, self.space_id, sought)]

    def _counted(self, sought: Sequence[Sequence[Leaf]], limit: int) -> list[tuple[int, int]]:
        """How many passages inside the filter hold any of each, up to a limit; without a filter also how many rows."""
        bound = Bound(self.space_id)
        if not self.within.everything:
            return counted(self.connection, [ROWS + self._holding(some, bound) for some in sought], bound, limit)
        # A word that stands in the whole of an item stands in a passage of it: at most half of the rows are wholes.
        held = [ROWS + self._holding(some, bound, wholes=True) for some in sought]
        return counted(self.connection, held, bound, 2 * limit)

    def _found(self, weighed: _Weighed, asked: Sequence[int]) -> dict[int, float]:
        """The share of the words' worth in each of the passages asked about."""
        bound = Bound(self.space_id)
        sought_ones = (*weighed.rare, *weighed.common)
        holds = ", ".join(condition_of_leaves(weighed.leaves[n], bound) for n in sought_ones)
        clauses = [f"w.id = ANY({bound.add(list(asked))}::bigint[])", self.within.among(bound)]
        if self.within.query:
            clauses.append(f"w.v @@ {bound.add(self.within.query)}::tsquery")
        found = dict.fromkeys(asked, 0.0)
        whole = sum(weighed.worth) or 1.0
        if sought_ones:
            rows = sql.rows(self.connection, f"SELECT w.id, {holds} {ROWS}{' AND '.join(clauses)}", bound.values)
            for rowid, *held in rows:
                found[rowid] = sum(weighed.worth[n] for n, has in zip(sought_ones, held, strict=True) if has) / whole
        return found

    def _matches(self, weighed: _Weighed) -> int:
        """How many passages hold any of the common words: counted as far as that is quick, and judged beyond."""
        bound = Bound(self.space_id)
        rows = ROWS + self._holding(weighed.any_of(weighed.common), bound)
        ((found, _rows),) = counted(self.connection, [rows], bound)
        return found if found < COMMON_MOST else max(found, weighed.most)

    def _newest(self, weighed: _Weighed, operator: Literal["AND", "OR"]) -> list[int]:
        if not weighed.common:
            return []
        bound = Bound(self.space_id)
        if operator == "OR":
            holding = self._holding(weighed.any_of(weighed.common), bound)
        else:
            holding = " AND ".join(self._holding(weighed.together[n], bound) for n in weighed.common)
        rows = sql.rows(
            self.connection, f"SELECT w.id {ROWS}{holding} ORDER BY w.id DESC LIMIT {int(self.k)}", bound.values
        )
        return [row[0] for row in rows]

    def _holding(self, leaves: Sequence[Leaf], bound: Bound, *, wholes: bool = False) -> str:
        """A condition for the passages inside the filter that hold any of these, or with `wholes` all such rows."""
        if not leaves:
            return "false"
        found = sought_leaves(leaves, self.space_id)
        clauses = [f"w.v @@ {bound.add(self.within.around(found.query))}::tsquery"]
        if not wholes:
            clauses.append("w.id > 0")
        if not found.exact:
            clauses.append(condition_of_leaves(leaves, bound))
        return " AND ".join([*clauses, self.within.among(bound)])

    def _inside(self, scores: Sequence[tuple[int, float]]) -> list[TextHit]:
        """Scored rows as hits, in the order given."""
        bound = Bound(self.space_id)
        score = dict(scores)
        of = bound.add(list(score))
        inside = bound_condition(self.filter, bound)
        rows = sql.rows(
            self.connection,
            f"""
            SELECT p.id, p.id, i.id
              FROM passages p JOIN items i ON i.space_id = p.space_id AND i.id = p.item_id
             WHERE p.space_id = %(space)s AND p.id = ANY({of}::bigint[]) AND {inside}
            UNION ALL
            SELECT -i.id, p.id, i.id
              FROM unnest({of}::bigint[]) j(id) JOIN items i ON i.space_id = %(space)s AND i.id = -j.id
              JOIN passages p ON p.space_id = i.space_id AND p.item_id = i.id AND p.seq = 0
             WHERE j.id < 0 AND {inside}
            """,
            bound.values,
        )
        found = {rowid: TextHit(passage_id, item_id, score[rowid]) for rowid, passage_id, item_id in rows}
        return [found[rowid] for rowid in score if rowid in found]


def _worth(rows: int, with_word: int) -> float:
    return math.log(1.0 + (max(rows, with_word) - with_word + 0.5) / (with_word + 0.5))
