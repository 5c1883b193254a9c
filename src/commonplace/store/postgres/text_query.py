"""What a query looks for, as PostgreSQL can: a superset by the index, a condition on the rows, and a BM25 score.

The index knows which tokens a row has, not where they stand. One token anywhere is decided by it alone; a phrase, or a
token in some columns, is looked up in the streams of the rows that the index finds.

For BM25, counting the rows of a word is most of the work of a search. In a large space a process remembers what it
counted for as long as the space has about as many rows: what a word is worth hardly changes meanwhile.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from commonplace.model import KINDS, Kind
from commonplace.store.postgres.connection import BORDER, kind_token, lexeme, project_token, translate, type_token
from commonplace.store.postgres.pool_and_replicas import Connection
from commonplace.store.rows import COLUMNS, WEIGHTS
from commonplace.store.sql.items import NO_PROJECT, Filter
from commonplace.text.query import COMMON_MOST, SAMPLE_ROWS, Word, word_forms
from commonplace.text.query_grammar import And, Node, Not, Or, Term

# BM25's, as in FTS5.
_K1, _B, _LEAST_IDF = 1.2, 0.75, 1e-6


class Bound:
    """Values of a statement that is put together from parts: each gets a name of its own."""

    def __init__(self, space_id: int) -> None:
        self.space_id = space_id
        self.values: dict[str, object] = {"space": space_id}

    def add(self, value: object) -> str:
        name = f"b{len(self.values)}"
        self.values[name] = value
        return f"%({name})s"


@dataclass(frozen=True, slots=True)
class Leaf:
    """Tokens side by side, the last one perhaps only begun, anywhere or in some columns."""

    tokens: tuple[str, ...]
    prefix: bool = False
    columns: tuple[str, ...] = ()

    @property
    def exact(self) -> bool:
        """Whether the index alone decides."""
        return len(self.tokens) == 1 and not self.columns

    def query(self, space_id: int) -> str:
        """A tsquery for every row that may have it."""
        wanted = [lexeme(space_id, token) for token in dict.fromkeys(self.tokens[:-1])]
        return " & ".join([*wanted, lexeme(space_id, self.tokens[-1]) + ":*" * self.prefix])

    def condition(self, bound: Bound) -> str:
        """Whether a row `w` has it."""
        by_index = f"w.v @@ {bound.add(self.query(bound.space_id))}::tsquery"
        if self.exact:
            return by_index
        text = bound.add(f" {' '.join(self.tokens)}" + " " * (not self.prefix))
        where = [_stream(name) for name in self.columns] or ["w.streams"]
        return f"({by_index} AND ({' OR '.join(f'position({text} in {stream}) > 0' for stream in where)}))"

    def weight(self, bound: Bound) -> str:
        """How often a row `w` has it, weighted by columns."""
        if self.exact and not self.prefix:
            return f"word_weight(w.v, {bound.add(self.query(bound.space_id))}::tsquery)"
        first, *rest = map(re.escape, self.tokens)
        ahead = "".join(f" {token}" for token in rest) + " " * (not self.prefix)
        pattern = bound.add(f" {first}(?={ahead})" if ahead else f" {first}")
        columns = self.columns or COLUMNS
        return " + ".join(
            f"{WEIGHTS[COLUMNS.index(name)]} * regexp_count({_stream(name)}, {pattern})" for name in columns
        )


def _stream(column: str) -> str:
    """The tokens of a column in a row `w`."""
    return f"split_part(w.streams, '{BORDER}', {COLUMNS.index(column) + 1})"


Leaves = tuple[Leaf, ...]
"""What a word may be: it stands where any of them does."""


@dataclass(frozen=True, slots=True)
class CompiledQuery:
    """A tsquery that finds at least the rows sought, and whether it finds no others."""

    query: str
    exact: bool


def leaves_of_word(word: Word, *, with_parts: bool = True) -> Leaves:
    return tuple(Leaf(tokens) for tokens in word_forms(word, with_parts=with_parts))


def leaves_of(node: Node) -> Iterator[Leaf]:
    """What a row that satisfies a tree may have; what it must not have does not count for it."""
    match node:
        case Term():
            yield from (Leaf(form.tokens, form.prefix, node.columns) for form in node.forms)
        case And() | Or():
            for part in node.parts:
                yield from leaves_of(part)
        case Not():
            yield from leaves_of(node.left)


def compile_leaves(leaves: Sequence[Leaf], space_id: int) -> CompiledQuery:
    """Rows with any of these."""
    # A phrase is of no interest where one of its tokens will do.
    enough = {leaf.tokens[0] for leaf in leaves if leaf.exact and not leaf.prefix}
    exact = all(leaf.exact or (not leaf.columns and not enough.isdisjoint(leaf.tokens)) for leaf in leaves)
    return CompiledQuery(" | ".join(f"({leaf.query(space_id)})" for leaf in leaves), exact)


def compile_query(node: Node, space_id: int) -> CompiledQuery:
    """Rows that satisfy a tree."""
    match node:
        case Term():
            return compile_leaves([*leaves_of(node)], space_id)
        case Not():
            left, right = compile_query(node.left, space_id), compile_query(node.right, space_id)
            if not right.exact:
                return CompiledQuery(left.query, exact=False)
            return CompiledQuery(f"({left.query}) & !({right.query})", left.exact)
        case And() | Or():
            parts = [compile_query(part, space_id) for part in node.parts]
            operator = " & " if isinstance(node, And) else " | "
            return CompiledQuery(operator.join(f"({part.query})" for part in parts), all(part.exact for part in parts))


def condition(node: Node, bound: Bound) -> str:
    """Whether a row `w` satisfies a tree."""
    match node:
        case Term():
            return _either([leaf.condition(bound) for leaf in leaves_of(node)], "OR")
        case And():
            return _either([condition(part, bound) for part in node.parts], "AND")
        case Or():
            return _either([condition(part, bound) for part in node.parts], "OR")
        case Not():
            return f"({condition(node.left, bound)} AND NOT {condition(node.right, bound)})"


def condition_of_leaves(leaves: Sequence[Leaf], bound: Bound) -> str:
    return _either([leaf.condition(bound) for leaf in leaves], "OR")


def _either(parts: Sequence[str], operator: Literal["AND", "OR"]) -> str:
    return "(" + f" {operator} ".join(parts) + ")"


def bm25_score(weights: Sequence[str], idfs: Sequence[str], average: float, bound: Bound) -> str:
    """The score of a row by how much each leaf weighs in it, as FTS5 reckons it. Both are names of columns."""
    # Every number has its type: decimal ones, which they would be without, are slow to reckon with.
    room = f"({_K1 * (1 - _B)}::float8 + {bound.add(_K1 * _B / max(average, 1e-9))}::float8 * length)"
    parts = [
        f"{idf} * ({name} * {_K1 + 1}::float8) / ({name} + {room})" for name, idf in zip(weights, idfs, strict=True)
    ]
    return " + ".join(parts) or "0.0::float8"


def idf(rows: int, with_leaf: int) -> float:
    """What a leaf is worth that so many of all rows have."""
    return max(math.log((rows - with_leaf + 0.5) / (with_leaf + 0.5)) if with_leaf <= rows else 0.0, _LEAST_IDF)


def idf_sql(rows: str, with_leaf: str) -> str:
    """The same as the server reckons it."""
    return f"greatest(ln(({rows}::bigint - {with_leaf} + 0.5::float8) / ({with_leaf} + 0.5)), {_LEAST_IDF})"


_TALLY = """
SELECT t.project_id, t.kind, t.items, coalesce(w.rows, 0), coalesce(w.length, 0)
  FROM tally t LEFT JOIN word_totals w ON w.space_id = t.space_id WHERE t.space_id = %s
"""
_ITEMS = "SELECT {} FROM items i WHERE i.space_id = %(space)s AND {}"
_PASSAGES = """
SELECT {} FROM items i JOIN passages p ON p.space_id = i.space_id AND p.item_id = i.id
 WHERE i.space_id = %(space)s AND {}
"""


@dataclass(frozen=True, slots=True)
class Within:
    """A filter as the index can apply it; `rows` is how many it leaves, `rest` what the index cannot apply.

    `all_rows` of words has the space, with or without the filter, and `all_words` are in them.
    """

    query: str
    rest: Filter | None
    rows: int
    all_rows: int
    all_words: int

    @property
    def everything(self) -> bool:
        return not self.query and self.rest is None

    def around(self, query: str) -> str:
        """A tsquery that keeps to the filter."""
        return f"({query}) & {self.query}" if query and self.query else query or self.query

    def among(self, connection: Connection, bound: Bound, *, wholes: bool = False) -> str:
        """A condition on rows `w` for what the index cannot apply: sessions, tags and times."""
        if self.rest is None:
            return "true"
        condition = bound_condition(connection, self.rest, bound)
        if wholes:
            return f"-w.id IN ({_ITEMS.format('i.id', condition)})"
        return f"w.id IN ({_PASSAGES.format('p.id', condition)})"


def narrowed(connection: Connection, space_id: int, filter_: Filter) -> Within:
    """The filter, with how many rows are inside."""
    counted = connection.native_rows(_TALLY, (space_id,), prepared=True)
    all_rows, all_words = counted[0][3:] if counted else (0, 0)
    tally = [row[:3] for row in counted]
    total = sum(row[2] for row in tally)
    parts, rows = [], total
    if filter_.projects:
        rows = min(rows, sum(n for project, kind, n in tally if _is_inside(filter_, project, kind)))
        parts.append(in_projects(space_id, filter_))
    if filter_.kinds:
        inside = sum(n for _project, kind, n in tally if kind in filter_.kinds)
        rows = min(rows, inside)
        if inside * 2 > total:
            parts += [f"!{lexeme(space_id, kind_token(kind))}" for kind in KINDS if kind not in filter_.kinds]
        else:
            parts.append(_any(space_id, map(kind_token, filter_.kinds)))
    if filter_.types:
        parts.append(_any(space_id, map(type_token, filter_.types)))
    rest = filter_.unindexed
    if rest is not None:
        bound = Bound(space_id)
        chosen = _PASSAGES.format("count(*)", bound_condition(connection, rest, bound))
        rows = min(rows, int(connection.native_rows(chosen, bound.values)[0][0]))
    return Within(" & ".join(parts), rest, rows, all_rows, all_words)


def _is_inside(filter_: Filter, project: int, kind: Kind) -> bool:
    applies = project != NO_PROJECT or not filter_.global_kinds or kind in filter_.global_kinds
    return project in filter_.projects and applies


def in_projects(space_id: int, filter_: Filter) -> str:
    """A tsquery for the rows of the projects of a filter."""
    if not (filter_.global_kinds and NO_PROJECT in filter_.projects):
        return _any(space_id, map(project_token, filter_.projects))
    kinds = _any(space_id, map(kind_token, filter_.global_kinds))
    places = [_any(space_id, [project_token(one)]) for one in filter_.projects if one != NO_PROJECT]
    return f"({' | '.join([*places, f'({_any(space_id, [project_token(NO_PROJECT)])} & {kinds})'])})"


def bound_condition(connection: Connection, filter_: Filter, bound: Bound) -> str:
    """A filter's condition on `items i`, in a statement that is put together."""
    shared, values = filter_.sql(connection)
    condition = translate(shared)
    for value in values:
        condition = condition.replace("%s", bound.add(value), 1)
    return condition


def _any(space_id: int, tokens: Iterable[str]) -> str:
    return "(" + " | ".join(lexeme(space_id, token) for token in tokens) + ")"


# From so many rows on counts are remembered, at most so many, until the rows are this share more or fewer.
REMEMBERED_FROM, REMEMBERED_MOST, REMEMBERED_SHARE = 2_000, 20_000, 0.01

_ROWS = "FROM searched_words w WHERE w.space_id = %(space)s AND "


@dataclass(slots=True)
class Counts:
    """What was counted in a space of so many rows: rows of a leaf, passages of a word, the share that has a word."""

    rows: int = 0
    of_leaves: dict[Leaf, int] = field(default_factory=dict)
    of_words: dict[Leaves, int] = field(default_factory=dict)
    shares: dict[Leaves, float] = field(default_factory=dict)

    def still_hold(self, rows: int) -> bool:
        few = len(self.of_leaves) + len(self.of_words) + len(self.shares) < REMEMBERED_MOST
        return rows >= REMEMBERED_FROM and abs(rows - self.rows) <= self.rows * REMEMBERED_SHARE and few


class CountCache:
    """The counts of one space in this process."""

    def __init__(self) -> None:
        self._counts = Counts()

    def counts(self, rows: int) -> Counts:
        """What is known of a space that has so many rows now; empty if too much has changed."""
        known = self._counts
        if not known.still_hold(rows):
            known = self._counts = Counts(rows)
        return known


@dataclass(frozen=True, slots=True)
class Statistics:
    """How many rows of words a space has, how many words are in them, and what was counted there before."""

    connection: Connection
    space_id: int
    rows: int
    words: int
    counts: Counts

    @property
    def average(self) -> float:
        return self.words / max(self.rows, 1)

    def worth(self, leaves: Iterable[Leaf]) -> dict[Leaf, float]:
        """What each leaf is worth to BM25. Those that were not counted yet are."""
        wanted = list(dict.fromkeys(leaves))
        unknown = [leaf for leaf in wanted if leaf not in self.counts.of_leaves]
        bound = Bound(self.space_id)
        having = [_ROWS + _having(leaf, bound) for leaf in unknown]
        found = dict(zip(unknown, (all_ for _some, all_ in count_rows(self.connection, having, bound)), strict=True))
        most = [leaf for leaf in unknown if found[leaf] >= COMMON_MOST]
        for leaf, share in zip(most, self.shares([(leaf,) for leaf in most]), strict=True):
            found[leaf] = max(found[leaf], int(self.rows * share))
        self.counts.of_leaves.update(found)
        return {leaf: idf(self.rows, self.counts.of_leaves[leaf]) for leaf in wanted}

    def shares(self, words: Sequence[Leaves]) -> list[float]:
        """The share of rows that have each of these, judged by the newest: counting all would cost too much."""
        known = self.counts.shares
        unknown = [word for word in dict.fromkeys(words) if word not in known]
        known.update(zip(unknown, self.glance(unknown, SAMPLE_ROWS), strict=True))
        return [known[word] for word in words]

    def glance(self, words: Sequence[Leaves], sample: int) -> list[float]:
        """The same by so many of the newest, not remembered."""
        if not words:
            return []
        bound = Bound(self.space_id)
        seen = ", ".join(f"count(*) FILTER (WHERE {condition_of_leaves(leaves, bound)})" for leaves in words)
        newest = f"SELECT v, streams {_ROWS} w.id > 0 ORDER BY w.id DESC LIMIT {sample:d}"
        rows, *found = self.connection.native_rows(f"SELECT count(*), {seen} FROM ({newest}) w", bound.values)[0]
        return [int(n) / max(1, int(rows)) for n in found]


def count_rows(
    connection: Connection, rows: Sequence[str], bound: Bound, limit: int = COMMON_MOST
) -> list[tuple[int, int]]:
    """How many passages each of these has, and how many rows with the wholes of cut items, counted up to a limit."""
    if not rows:
        return []
    both = "SELECT ARRAY[count(*) FILTER (WHERE id > 0), count(*)]"
    counts = ", ".join(f"({both} FROM (SELECT w.id {some} LIMIT {limit:d}) c)" for some in rows)
    return [(int(some), int(all_)) for some, all_ in connection.native_rows(f"SELECT {counts}", bound.values)[0]]


def _having(leaf: Leaf, bound: Bound) -> str:
    by_index = f"w.v @@ {bound.add(compile_leaves([leaf], bound.space_id).query)}::tsquery"
    return by_index if leaf.exact else f"{by_index} AND {leaf.condition(bound)}"


@dataclass(frozen=True, slots=True)
class Scored:
    """Rows (id, score), best first, and how many were compared.

    `items` tells of which item each of those is that is a passage, `passages` how many passages have each word.
    """

    best: Sequence[tuple[int, float]] = ()
    total: int = 0
    items: Mapping[int, int] = field(default_factory=dict)
    passages: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class ScoredRows:
    """Rows of a space to be scored by the words in them; `worth` is None if they are all that have any of the words."""

    condition: str
    bound: Bound
    all_rows: int
    average: float
    worth: Mapping[Leaf, float] | None = None
    # Whether the index finds them all, whatever the words are: then one plan will do.
    by_index: bool = False

    def scored(self, connection: Connection, words: Sequence[Leaves], k: int, only: str = "true") -> Scored:
        """The best `k` of these rows, of those that satisfy `only`; the others just count."""
        leaves = [leaf for word in words for leaf in word]
        name = {leaf: f"f{n}" for n, leaf in enumerate(dict.fromkeys(leaves))}
        weights = [f"({leaf.weight(self.bound)})::float8 AS {column}" for leaf, column in name.items()]
        # Bound, not written out: spaces then share their statements.
        rows = self.bound.add(self.all_rows)
        idfs = [f"{leaves.count(leaf)} * {self._idf(leaf, column, rows)} AS i{column}" for leaf, column in name.items()]
        score = bm25_score([*name.values()], [f"i{column}" for column in name.values()], self.average, self.bound)
        holding = [" OR ".join(f"{name[leaf]} > 0" for leaf in word) for word in words]
        counts = ", ".join(f"count(*) FILTER (WHERE id > 0 AND ({held}))" for held in holding)
        known = [f"count(*) FILTER (WHERE {only}) AS total", f"ARRAY[{counts}]::bigint[] AS passages", *idfs]
        found = connection.native_rows(
            f"""
            WITH found AS MATERIALIZED (SELECT {", ".join(["w.id", "w.length", *weights])} {self.condition}),
                 known AS MATERIALIZED (SELECT {", ".join(known)} FROM found)
            SELECT total, passages, best.*, (
                   SELECT p.item_id FROM passages p WHERE p.space_id = %(space)s AND p.id = best.id)
              FROM known, (SELECT {score} AS score, id FROM found, known
                            WHERE {only} ORDER BY score DESC, id DESC LIMIT {int(k)}) best
            """,
            self.bound.values,
            prepared=self.by_index,
        )
        if not found:
            return Scored(passages=[0] * len(words))
        best = sorted(((score, rowid) for _total, _passages, score, rowid, _item_id in found), reverse=True)
        items = {rowid: item_id for _total, _passages, _score, rowid, item_id in found if item_id is not None}
        total, passages = found[0][:2]
        return Scored([(rowid, score) for score, rowid in best], total, items, passages)

    def _idf(self, leaf: Leaf, column: str, rows: str) -> str:
        if self.worth is None:
            return idf_sql(rows, f"count(*) FILTER (WHERE {column} > 0)")
        return f"{self.bound.add(self.worth[leaf])}::float8"
