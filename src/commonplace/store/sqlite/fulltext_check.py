"""The words in the full-text index held against those that the items give.

The index keeps no rows to compare: it lists each word with the places where it stands, word by word. So every place
is hashed and added up for its row, in one walk over the index, and the same is done with what each item should have
there. 16 bytes a row are kept in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING, Any

import apsw

from commonplace.store.indexed_text import COLUMNS
from commonplace.store.invariants import LIVE
from commonplace.store.maintenance import ReportProgress
from commonplace.store.sql import indexing, items
from commonplace.store.sqlite.connection import SqliteConnection

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_PLACES = 100_000
_ITEMS = 200
_ODD = 0x9E3779B97F4A7C15
_MASK = 2**64 - 1
# Column and offset of a place, in one number.
_SHIFT = 40
_NUMBER = {name: n for n, name in enumerate((*COLUMNS, "scope"))}
# As the table is made (0001_everything.sql).
_TOKENIZER = ("unicode61", ["remove_diacritics", "0", "tokenchars", "="])

Tokens = Callable[[str], Sequence[str]]


def differing(connection: SqliteConnection, space_id: int, advance: ReportProgress) -> list[int]:
    """Live items of a space whose rows in the index are not as they should be. Those without a row are among them."""
    held = _Held(connection)
    tokens = _tokens(connection)
    found, after = [], 0
    question = f"SELECT id, project_id FROM items i WHERE space_id = ? AND id > ? AND {LIVE} ORDER BY id LIMIT ?"
    while rows := connection.rows(question, (space_id, after, _ITEMS)):
        after = rows[-1][0]
        read = items.get(connection, space_id, [id_ for id_, _project in rows])
        located = [(project_id, read[id_]) for id_, project_id in rows]
        for item, wanted in indexing.wanted_rows(connection, space_id, located):
            if any(held.sum_of(rowid) != _sum(columns, tokens) for rowid, *columns in wanted.rows):
                found.append(item.id)
        advance(len(rows))
    return found


class _Held:
    """For each row of the index, the sum of the hashes of its places."""

    def __init__(self, connection: SqliteConnection) -> None:
        import numpy as np

        question = "SELECT id FROM passages_fts_docsize ORDER BY id"
        self._rows = np.fromiter((row[0] for row in connection.stream(question)), np.int64)
        self._sums = np.zeros(len(self._rows), np.uint64)
        connection.execute(
            "CREATE VIRTUAL TABLE IF NOT EXISTS temp.places USING fts5vocab (main, passages_fts, instance)"
        )
        cursor = connection.stream("SELECT term, doc, col, offset FROM temp.places")
        while places := list(islice(cursor, _PLACES)):
            self._add(places)

    def _add(self, places: Sequence[tuple[Any, ...]]) -> None:
        import numpy as np

        terms, docs, columns, offsets = zip(*places, strict=True)
        known: dict[str, int] = {}
        hashes = np.array([known.get(t) or known.setdefault(t, _hash(t)) for t in terms], np.uint64)
        spots = np.array([_NUMBER[c] << _SHIFT for c in columns], np.uint64) + np.array(offsets, np.uint64)
        at = np.searchsorted(self._rows, np.array(docs, np.int64))
        # A word of a row that is not listed belongs to nothing, which is told of elsewhere.
        there = at < len(self._rows)
        there[there] = self._rows[at[there]] == np.array(docs, np.int64)[there]
        np.add.at(self._sums, at[there], _mixed(hashes[there], spots[there]))

    def sum_of(self, rowid: int) -> int | None:
        import numpy as np

        at = int(np.searchsorted(self._rows, rowid))
        return int(self._sums[at]) if at < len(self._rows) and self._rows[at] == rowid else None


def _mixed(hashes: NDArray[np.uint64], spots: NDArray[np.uint64]) -> NDArray[np.uint64]:
    import numpy as np

    mixed = (hashes ^ (spots * np.uint64(_ODD))) * np.uint64(_ODD)
    return mixed ^ (mixed >> np.uint64(29))


def _sum(columns: Sequence[str], tokens: Tokens) -> int:
    """The sum of the hashes of a row, given its columns in the order of the table."""
    import numpy as np

    hashes, spots = [], []
    for number, text in enumerate(columns):
        for offset, token in enumerate(tokens(text)):
            hashes.append(_hash(token))
            spots.append((number << _SHIFT) + offset)
    return int(_mixed(np.array(hashes, np.uint64), np.array(spots, np.uint64)).sum(dtype=np.uint64))


def _hash(term: str) -> int:
    return int.from_bytes(blake2b(term.encode("utf-8", "replace"), digest_size=8).digest(), "big")


def _tokens(connection: SqliteConnection) -> Tokens:
    """How the index cuts a text that was made for it."""
    cut = connection.fts5_tokenizer(*_TOKENIZER)

    def tokens(text: str) -> Sequence[str]:
        flags = apsw.FTS5_TOKENIZE_DOCUMENT
        return [*map(str, cut(text.encode(), flags, None, include_offsets=False, include_colocated=False))]

    return tokens
