"""Finding passages: by their words with FTS5, at the bounded cost that `store/sql/items.py` promises, and by vectors.

The nearest vectors are found by their sign bits, which each process keeps, and then by the vectors themselves. Queries
with operators are in text_query.py.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Literal

from commonplace.model import Scope, TextHit, VectorHit
from commonplace.store.rows import WEIGHTS
from commonplace.store.sql.embedding_jobs import EmbeddingJobs
from commonplace.store.sql.items import Filter, Items, filter_of, passage_texts
from commonplace.store.sql.vectors import GONE_SHARE, RESCORED, VectorIndex, pack_bits, score, vector_hits
from commonplace.store.sqlite.connection import SqliteConnection
from commonplace.store.sqlite.database import Database
from commonplace.store.sqlite.search_filter import FtsFilter, passages_inside, plan_filter, wide_share
from commonplace.store.types import TextAnswer
from commonplace.text import query as query_words
from commonplace.text.query import (
    COMMON_LEAST,
    QueryWords,
    Word,
    common_from,
    word_value,
    words_to_fts5,
)
from commonplace.text.tokens import index_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BM25 = f"-bm25(passages_fts, {', '.join(map(str, WEIGHTS))})"
# The rows of a word that stands in fewer than these are read at once; of others they are counted first.
FEW_ROWS = COMMON_LEAST
# Vectors that are read at a time, and the most that are kept in memory: they take 0.5 kB each.
READ_ROWS, MOST_CACHED = 4_000, 125_000
# A word in very many rows may be nobody's name in any of them: only so many of the newest are looked at.
SPEAKER_ROWS = 50_000


class Search(Items, EmbeddingJobs):
    """Finding passages of one space by their words and by their vectors."""

    _database: Database

    _model_name = ""
    _index: SpaceVectorIndex | None = None

    def search_vectors(self, query: NDArray[np.float32], scope: Scope, k: int) -> list[VectorHit]:
        with self._database.read(self._query_timeout) as connection:
            filter_ = filter_of(connection, self._space_id, scope, self.clock())
            index = self._current_index(connection)
            if filter_ is None or index is None:
                return []
            found = index.nearest(connection, query, filter_.including_lapsed, filter_.overfetch(k))
            return filter_.holding(found)[:k]

    def cosines(self, query: NDArray[np.float32], passage_ids: Sequence[int]) -> dict[int, float]:
        with self._database.read(self._query_timeout) as connection:
            if self._model is None:
                return {}
            known, index = {}, self._index
            if index is not None and index.model_id == self._model[0]:
                with index.lock:
                    known = index.index.cosines(query, passage_ids)
            unknown = [id_ for id_ in passage_ids if id_ not in known]
            return known | dict(score(connection, self._space_id, self._model[0], query, unknown)) if unknown else known

    def scan_ahead(self, query: NDArray[np.float32]) -> None:
        """Compare the signs, so that `search_vectors` finds that done. It may add what was written since."""
        index = self._index
        if index is not None and index.dim == len(query):
            with index.lock:
                index.index.distances(query)

    def _reread_vectors(self) -> None:
        """Another file has taken the place of the store."""
        model, self._model, self._index = self._model, None, None
        if model is not None and self._space_id:
            self.use_model(self._model_name, model[1])

    def _adopt(self, name: str, model_id: int, dim: int) -> None:
        super()._adopt(name, model_id, dim)
        self._model_name = name

    def _current_index(self, connection: SqliteConnection) -> SpaceVectorIndex | None:
        if self._model is None or not self._is_current(connection):
            return None
        model_id, dim = self._model
        with self._lock:
            if self._index is None or self._index.model_id != model_id:
                self._index = SpaceVectorIndex(self._space_id, model_id, dim)
            return self._index

    def _search_plain(
        self, connection: SqliteConnection, words: Sequence[Word], filter_: Filter, k: int, *, count: bool
    ) -> TextAnswer:
        fts = plan_filter(connection, self._space_id, filter_)
        if not fts.rows:
            return TextAnswer((), 0)
        if not count:
            return TextAnswer(tuple(self._best_alone(connection, words, filter_, fts, k)), 0)
        answer = self._counted(connection, words, filter_, fts, k)
        if fts.loose and len(answer.hits) < min(k, answer.total):
            # Better matches outside took the places: worth the cost of keeping them out from the start.
            fts = plan_filter(connection, self._space_id, filter_, exact=True, timely=True)
            answer = self._counted(connection, words, filter_, fts, k)
        return answer

    def _best_alone(
        self, connection: SqliteConnection, words: Sequence[Word], filter_: Filter, fts: FtsFilter, k: int
    ) -> list[TextHit]:
        """The best passages of a search that counts nothing."""
        if fts.rows < query_words.COMMON_LEAST:
            # So few rows that no word can be common.
            known = QueryWords(tuple(range(len(words))), (), (), 0)
        else:
            known = _known_words(connection, words, fts).known
        scored, _together, _all_seen = _scored(connection, words, known, fts, k)
        return hits_inside(connection, self._space_id, filter_, scored)[:k]

    def _counted(
        self, connection: SqliteConnection, words: Sequence[Word], filter_: Filter, fts: FtsFilter, k: int
    ) -> TextAnswer:
        """The best passages, how many others match, and what was learned of the words."""
        found = _known_words(connection, words, fts)
        known = found.known
        scored, together, all_seen = _scored(connection, words, known, fts, k)
        hits = hits_inside(connection, self._space_id, filter_, scored)[:k]
        for n in known.rare:
            if n not in found.rows:
                found.rows[n] = _rows(connection, fts, words[n])
        if fts.share < 1.0 and all_seen:
            matches = len(hits)
        elif known.rare:
            matches = len(set[int]().union(*(found.rows[n] for n in known.rare)))
        else:
            common = [words[n] for n in known.common]
            matches = known.matches(_count(connection, fts, common, query_words.COMMON_MOST))
        return TextAnswer(tuple(hits), max(matches, len(hits)), replace(found, together=together))

    def _word_shares(
        self, connection: SqliteConnection, words: FoundWords, passage_ids: Sequence[int]
    ) -> dict[int, float]:
        def read(some: Sequence[int]) -> dict[int, list[int]]:
            """Which common words a few passages hold: quicker than asking the index for each of them."""
            held = {}
            for id_, passage in passage_texts(connection, self._space_id, some).items():
                tokens = set(index_text(passage.text).split())
                held[id_] = [n for n in words.known.common if words.words[n].token in tokens]
            return held

        return words.known.shares(passage_ids, words.rows.__getitem__, words.together, read)

    def _speakers(self, connection: SqliteConnection, words: Sequence[Word], filter_: Filter) -> list[Word]:
        fts = plan_filter(connection, self._space_id, filter_, exact=True)
        since = max(0, _highest_passage(connection) - SPEAKER_ROWS)
        select = "SELECT 1 FROM passages_fts WHERE passages_fts MATCH ? AND rowid > ? LIMIT 1"

        def speaks(some: Sequence[Word]) -> bool:
            match = fts.around(words_to_fts5(some, columns=("speaker",)))
            return connection.first(select, (match, since)) is not None

        # Most questions name nobody.
        return [word for word in words if speaks([word])] if speaks(words) else []


@dataclass(frozen=True, slots=True)
class FoundWords:
    """What a search learned of its words: what they are worth, and which rows hold them.

    `rows` has those of each rare word, by its number; `together` are some of those that hold all the common words.
    """

    words: Sequence[Word]
    known: QueryWords
    rows: dict[int, set[int]]
    together: frozenset[int] = frozenset()


def _known_words(connection: SqliteConnection, words: Sequence[Word], fts: FtsFilter) -> FoundWords:
    """The words by what they are worth, and the rows of those which stand in only a few."""
    common_rows = common_from(fts.rows)
    few: dict[int, set[int]] = {}
    counts = []
    for n, word in enumerate(words):
        rows = _rows(connection, fts, word, FEW_ROWS)
        if len(rows) < FEW_ROWS:
            few[n] = rows
            counts.append(len(rows))
        else:
            counts.append(_count(connection, fts, [word], common_rows))
    rare = tuple(n for n, count in enumerate(counts) if 0 < count < common_rows)
    common = tuple(n for n, count in enumerate(counts) if count >= common_rows)
    for n in common:
        counts[n] = _estimated(connection, words_to_fts5([words[n]]), fts.rows)
    worth = tuple(word_value(fts.rows, count) for count in counts)
    return FoundWords(words, QueryWords(rare, common, worth, max(counts, default=0)), few)


def _scored(
    connection: SqliteConnection, words: Sequence[Word], known: QueryWords, fts: FtsFilter, k: int
) -> tuple[list[tuple[int, float]], frozenset[int], bool]:
    """The best rows with their scores, those of them that hold all common words, and whether no other holds a rare one.

    Two scopes of a question are often the same to the index: its rare words are then scored once in a snapshot.
    """
    reach = fts.reach(k)
    scored: list[tuple[int, float]] = []
    if known.rare:
        match = fts.around(words_to_fts5([words[n] for n in known.rare]))
        if fts.ids is not None:
            scored = _best_rows(connection, fts, match, reach)
        else:
            once = connection.once(("scored", match), lambda: (reach, _best_rows(connection, fts, match, reach)))
            limit, scored = once
            if reach > limit and len(scored) == limit:
                scored = _best_rows(connection, fts, match, reach)
            scored = scored[:reach]
    all_seen = 0 < len(scored) < reach

    def newest(operator: Literal["AND", "OR"]) -> list[int]:
        match = fts.around(words_to_fts5([words[n] for n in known.common], operator))
        rows = connection.rows(f"{_holding(fts)} ORDER BY rowid DESC LIMIT ?", (match, reach))
        return [row[0] for row in rows]

    scored, together = known.add_newest(scored, newest, k)
    return scored, together, all_seen


def _best_rows(connection: SqliteConnection, fts: FtsFilter, match: str, most: int) -> list[tuple[int, float]]:
    return connection.rows(
        f"SELECT rowid, {BM25} AS score FROM passages_fts WHERE passages_fts MATCH ?{fts.passages}"
        " ORDER BY score DESC, rowid DESC LIMIT ?",
        (match, most),
    )


def _count(connection: SqliteConnection, fts: FtsFilter, words: Sequence[Word], limit: int) -> int:
    """How many passages hold any of some words, counted up to a limit."""
    select = f"SELECT count(*) FROM ({_holding(fts)} LIMIT ?)"
    return int(connection.value(select, (fts.around(words_to_fts5(words)), limit)))


def _rows(connection: SqliteConnection, fts: FtsFilter, word: Word, limit: int = -1) -> set[int]:
    """The rows that hold a word, read once in a snapshot unless they are limited to the ids of this filter."""
    match = fts.around(words_to_fts5([word]))

    def read() -> set[int]:
        return {row[0] for row in connection.rows(f"{_holding(fts)} LIMIT ?", (match, limit))}

    return read() if fts.ids is not None else connection.once(("rows", match, limit), read)


def _holding(fts: FtsFilter) -> str:
    return f"SELECT rowid FROM passages_fts WHERE passages_fts MATCH ?{fts.passages}"


def _estimated(connection: SqliteConnection, expression: str, rows: int) -> int:
    """How many rows hold a common word, judged by the newest few thousand: counting them all would cost too much."""
    highest = _highest_passage(connection)
    question = "SELECT count(*) FROM passages_fts WHERE passages_fts MATCH ? AND rowid > ?"
    seen = connection.value(question, (expression, highest - query_words.SAMPLE_ROWS))
    return int(rows * seen / max(1, min(query_words.SAMPLE_ROWS, highest)))


def hits_inside(
    connection: SqliteConnection, space_id: int, filter_: Filter, scored: Sequence[tuple[int, float]]
) -> list[TextHit]:
    """Scored rows as hits, without those that the full-text filter let slip through, in the order given."""
    condition, bindings = filter_.sql(connection)
    score = dict(scored)
    rows = connection.rows(
        "SELECT p.id, p.id, i.id FROM json_each(?) j CROSS JOIN passages p ON p.id = j.value"
        f" CROSS JOIN items i ON i.id = p.item_id WHERE i.space_id = ? AND {condition}",
        (connection.array([rowid for rowid in score if rowid > 0]), space_id, *bindings),
    )
    if wholes := [rowid for rowid in score if rowid < 0]:
        rows += connection.rows(
            "SELECT j.value, p.id, i.id FROM json_each(?) j CROSS JOIN items i ON i.id = -j.value"
            " CROSS JOIN passages p ON p.space_id = i.space_id AND p.item_id = i.id AND p.seq = 0"
            f" WHERE i.space_id = ? AND {condition}",
            (connection.array(wholes), space_id, *bindings),
        )
    found = {rowid: TextHit(passage_id, item_id, score[rowid]) for rowid, passage_id, item_id in rows}
    return [found[rowid] for rowid in score if rowid in found]


def _highest_passage(connection: SqliteConnection) -> int:
    select = "SELECT coalesce(max(id), 0) FROM passages"
    return connection.until_changed("passages", lambda: int(connection.value(select)))


class SpaceVectorIndex:
    """The vectors of one model in one space, caught up with the file before each use.

    The vector of a passage is always the same; that it has none any more is known to the file alone.
    """

    def __init__(self, space_id: int, model_id: int, dim: int) -> None:
        self.space_id, self.model_id, self.dim = space_id, model_id, dim
        self.lock = threading.Lock()
        self._start_over()

    def _start_over(self) -> None:
        self.index = VectorIndex(self.dim, MOST_CACHED)

    def nearest(
        self, connection: SqliteConnection, query: NDArray[np.float32], filter_: Filter, k: int, *, afresh: bool = False
    ) -> list[VectorHit]:
        """The `k` passages inside the filter whose vectors are nearest to the query."""
        with self.lock:
            # In a snapshot once, for all scopes of a question.
            connection.once(self.index, lambda: self._catch_up(connection))
            rows = self._near(connection, query, filter_, max(RESCORED, k))
            cached = self.index.caches_vectors or not len(rows)
            near = {} if cached else self.index.seq_of_passages(rows)
            scored = self.index.scored(query, rows) if cached and len(rows) else []
        scored = score(connection, self.space_id, self.model_id, query, near, near) if near else scored
        # Some more, in place of those that are gone.
        some = scored[: k + int(GONE_SHARE * k)]
        hits = vector_hits(connection, self.space_id, some, self.model_id if cached else None)
        most_are_there = len(scored) >= len(near) * (1 - GONE_SHARE) and len(hits) >= len(some) * (1 - GONE_SHARE)
        if afresh or most_are_there:
            return hits[:k]
        with self.lock:
            self._start_over()
        return self.nearest(connection, query, filter_, k, afresh=True)

    def _catch_up(self, connection: SqliteConnection) -> None:
        import numpy as np

        while True:
            rows = connection.rows(
                "SELECT seq, passage_id, project_id, kind, scale, v FROM vectors"
                " WHERE seq > ? AND +space_id = ? AND +model_id = ? ORDER BY seq LIMIT ?",
                (self.index.seen, self.space_id, self.model_id, READ_ROWS),
            )
            if not rows:
                return
            seqs, passages, projects, kinds, scales, blobs = zip(*rows, strict=True)
            values = np.frombuffer(b"".join(blobs), np.int8).reshape(len(rows), self.dim)
            self.index.add(seqs, passages, projects, kinds, pack_bits(values > 0), (scales, values))

    def _near(
        self, connection: SqliteConnection, query: NDArray[np.float32], filter_: Filter, most: int
    ) -> NDArray[np.intp]:
        """The rows of about so many passages inside the filter whose signs are nearest."""
        index, beyond = self.index, filter_.anywhere
        nearest = partial(index.nearest, query, filter_.projects, filter_.kinds, filter_.global_kinds)
        if beyond == Filter():
            return nearest(None, most)
        if not beyond.types and (share := wide_share(connection, self.space_id, beyond, index.size)):
            more = int(2 * most / share)
            near = nearest(None, more)
            passages = index.passages(near)
            inside = passages_inside(connection, self.space_id, beyond, passages)
            if len(inside) >= most or len(near) < more:
                return near[[passage in inside for passage in passages]]
        return nearest([*passages_inside(connection, self.space_id, beyond)], most)
