"""The words of passages as PostgreSQL keeps them, made by the same tokens as on SQLite.

A row has its tokens twice. `v` holds each of them once, led by its space, so that the index tells spaces apart; how
much a token weighs in the row is written as so many positions, in halves, since that is what the server can count
without reading the text. `streams` holds them in order, column by column, for phrases and columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from commonplace.model import Kind
from commonplace.store.rows import COLUMNS, PART, WEIGHTS
from commonplace.store.sql.connection import FullTextRows

if TYPE_CHECKING:
    from commonplace.store.postgres.connection import PostgresConnection

# The server keeps no more positions of a word, and no more bytes of a row.
MOST_HALVES, MOST_BYTES = 255, 1_000_000
_HALVES = tuple(int(2 * weight) for weight in WEIGHTS[: len(COLUMNS)])
_SPEAKER = COLUMNS.index("speaker")
_POSITIONS = tuple(",".join(map(str, range(1, n + 1))) for n in range(MOST_HALVES + 1))

# Stands between the streams of two columns.
BORDER = "|"
_INSERT = """
INSERT INTO words (space_id, id, length, streams, v) SELECT %s, id, length, streams, v::tsvector
  FROM unnest(%s::bigint[], %s::integer[], %s::text[], %s::text[]) AS w (id, length, streams, v)
"""
_TOTALS = """
INSERT INTO word_totals (space_id, rows, length) VALUES (%s, %s, %s) ON CONFLICT (space_id) DO UPDATE
   SET rows = word_totals.rows + excluded.rows, length = word_totals.length + excluded.length
"""


def project_token(project_id: int) -> str:
    """Said of a row of where it belongs; the double mark keeps this and those below apart from any word of a text."""
    return f"==p{project_id}"


def kind_token(kind: Kind) -> str:
    return f"==k{kind}"


def type_token(type_: str) -> str:
    return f"==t{type_}"


def name_token(token: str) -> str:
    """Said of a row for each token of the name of who speaks in it."""
    return f"==n{token}"


def lexeme(space_id: int, token: str) -> str:
    """A token as the index knows it, quoted for a tsvector or a tsquery."""
    safe = token.replace("\\", "\\\\").replace("'", "''") if "'" in token or "\\" in token else token
    return f"'{space_id}:{safe}'"


class PostgresFullTextRows(FullTextRows):
    """Written in one statement, besides the sums over all rows of the space."""

    def _row(self, words: Mapping[str, str], project_id: int, kind: Kind, type_: str, *, part: bool) -> tuple[Any, ...]:
        columns = [words.get(name, "") for name in COLUMNS]
        tokens = [column.split() for column in columns]
        scope = [project_token(project_id), kind_token(kind), type_token(type_), *([PART] if part else ())]
        # On SQLite the space is one of the tokens that tell where a row belongs, and the type is not.
        length = sum(map(len, tokens)) + len(scope)
        streams = BORDER.join(f" {column} " if column else "" for column in columns)
        return length, streams, _vector(self._space_id, tokens, scope)

    def _write(self) -> None:
        self._connection.execute(_INSERT, (self._space_id, *map(list, zip(*self.rows, strict=True))))
        length = sum(row[1] for row in self.rows)
        self._connection.execute(_TOTALS, (self._space_id, len(self.rows), length))


def delete_rows(connection: PostgresConnection, space_id: int, rowids: Sequence[int]) -> None:
    delete = "DELETE FROM words WHERE space_id = %s AND id = ANY(%s::bigint[]) RETURNING length"
    gone = connection.execute(delete, (space_id, list(rowids))).fetchall()
    if gone:
        connection.execute(_TOTALS, (space_id, -len(gone), -sum(row[0] for row in gone)))


def _vector(space_id: int, columns: Sequence[Sequence[str]], scope: Sequence[str]) -> str:
    halves: dict[str, int] = {}
    for tokens, weight in zip(columns, _HALVES, strict=True):
        for token in tokens:
            halves[token] = halves.get(token, 0) + weight
    names = map(name_token, dict.fromkeys(columns[_SPEAKER]))
    parts = [lexeme(space_id, token) for token in (*scope, *names)]
    room = MOST_BYTES
    for token, weight in halves.items():
        weight = min(weight, MOST_HALVES)
        room -= len(token.encode()) + 16 + 2 * weight
        if room < 0:
            # A text of a megabyte without repetitions; its passages have all of their words.
            break
        parts.append(f"{lexeme(space_id, token)}:{_POSITIONS[weight]}")
    return " ".join(parts)
