"""Rows of the full-text table: the words of each column of a passage, and tokens that tell where it belongs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from commonplace.model import Kind
from commonplace.store.indexed_text import COLUMNS, PART
from commonplace.store.sql.connection import FullTextRows

if TYPE_CHECKING:
    from commonplace.store.sqlite.connection import SqliteConnection

# What every full-text row says of where it belongs: its space, with that its project, and with that its kind.
space_token, project_token, kind_token = "==s{}".format, "==s{}p{}".format, "==s{}k{}".format
_INSERT = (
    f"INSERT INTO passages_fts (rowid, {', '.join(COLUMNS)}, scope) VALUES ({', '.join('?' * (len(COLUMNS) + 2))})"
)


class SqliteFullTextRows(FullTextRows):
    """Written in the order of their ids: whenever these go back, FTS5 writes out what it gathered."""

    def _row(self, words: Mapping[str, str], project_id: int, kind: Kind, type_: str, *, part: bool) -> tuple[Any, ...]:
        space = self._space_id
        scope = f"{space_token(space)} {project_token(space, project_id)} {kind_token(space, kind)}"
        return *(words.get(name, "") for name in COLUMNS), f"{scope} {PART}" if part else scope

    def _write(self) -> None:
        for row in sorted(self.rows):
            self._connection.execute(_INSERT, row)


def delete_rows(connection: SqliteConnection, rowids: Sequence[int]) -> None:
    for rowid in rowids:
        connection.execute("DELETE FROM passages_fts WHERE rowid = ?", (rowid,))
