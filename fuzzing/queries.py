"""Queries: any text is a question, and what it becomes is accepted by the index that it is put to."""

from __future__ import annotations

from functools import cache

import apsw

from commonplace.store.postgres.text_query import Leaf, compile_leaves, compile_query, leaves_of, leaves_of_word
from commonplace.store.rows import COLUMNS, QUERY_COLUMNS
from commonplace.text.query import Query, parse_query, to_fts5, words_to_fts5
from fuzzing.target import must

DOCUMENT = {"title": "Rate limits of the API", "text": 'token_bucket "per key" (v1.2) in src/auth.ts', "tags": "api"}
WORDS = (
    *("AND", "OR", "NOT", "NEAR(", "NEAR(a b, 2)", '"', "*", "(", ")", ":", "^", "+", "-", ",", "?", "'", "\\"),
    *("title:", "tags:", "path:", "{title text}:", "-title:", "rate", "limit*", '"a phrase"', "a.b/c", "camelCase"),
    *(
        "snake_case",
        "v1.2.3",
        "日本語",
        "é",
        "\0",
        "\ud7ff",
        "\u200b",
        "\u0301",
        "ﬁ",
        "ß",
        "İ",
        "&",
        "|",
        "!",
        "<->",
        ":*",
    ),
)


def take(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    query = parse_query(text, QUERY_COLUMNS)
    accepted(query)
    query.accepts(DOCUMENT)
    must(query.strict == (query.tree is not None), "a strict query has a tree")
    must(parse_query(text, QUERY_COLUMNS) == query, "a query always means the same")
    tsqueries(query)


def accepted(query: Query) -> None:
    """SQLite takes all that a query can become; apsw raises if it does not."""
    matches = [words_to_fts5(query.words, "OR"), words_to_fts5(query.words, "AND", ("title", "text"))]
    if query.tree is not None:
        matches += [to_fts5(query.tree), to_fts5(query.tree, ("title",))]
    for match in matches:
        _index().execute("SELECT count(*) FROM words WHERE words MATCH ?", (match,)).fetchall()


def tsqueries(query: Query) -> list[str]:
    """What a query becomes for PostgreSQL, to be tried where there is one."""
    leaves: list[Leaf] = [leaf for word in query.words for leaf in leaves_of_word(word)]
    made = [compile_leaves(leaves, 1).query] if leaves else []
    if query.tree is not None:
        made.append(compile_query(query.tree, 1).query)
        made += [leaf.query(1) for leaf in leaves_of(query.tree)]
    return made


@cache
def _index() -> apsw.Connection:
    connection = apsw.Connection(":memory:")
    connection.execute(f"CREATE VIRTUAL TABLE words USING fts5 ({', '.join(COLUMNS)}, content='')")
    return connection
