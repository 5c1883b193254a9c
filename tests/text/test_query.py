"""Queries mean what the Kiro reference says, nothing makes them fail, and SQLite finds what `matches` says."""

from __future__ import annotations

from collections.abc import Iterator

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commonplace.text.query import MAX_WORDS, Query, matches, parse_query, to_fts5, words_to_fts5
from commonplace.text.query_grammar import parse_strict
from commonplace.text.tokens import index_text

COLUMNS = {
    "title": "title",
    "narrative": "text",
    "content": "text",
    "concepts": "tags",
    "files_read": "files",
    "files_modified": "files",
}
INDEX = ("title", "text", "tags", "files")


def ask(query: str) -> Query:
    return parse_query(query, COLUMNS)


def shown(query: str) -> str:
    parsed = ask(query)
    assert parsed.strict, query
    return ("everything but " if parsed.inverted else "") + str(parsed.tree)


def tokens(query: str) -> list[str]:
    parsed = ask(query)
    assert not parsed.strict, query
    return [word.token for word in parsed.words]


@pytest.mark.parametrize(
    ("query", "tree"),
    [
        ('"JWT token validation"', "[jwt token valid =validation]"),
        ("authentication AND middleware", "([authent] AND [middlewar])"),
        ("authentication OR authorization", "([authent] OR [author])"),
        ("authentication NOT OAuth", "([authent] NOT [oauth])"),
        ("authen*", "[authen* | =authen*]"),
        ("title:auth*", "title:[auth* | =auth*]"),
        ("concepts:security", "tags:[secur]"),
    ],
)
def test_the_examples_of_the_reference_are_strict_queries(query: str, tree: str) -> None:
    assert shown(query) == tree


def test_the_plain_examples_of_the_reference_are_words() -> None:
    assert tokens("authentication") == ["authent"]
    assert tokens("JWT authentication middleware") == ["jwt", "authent", "middlewar"]
    assert tokens("authentication rate limiting") == ["authent", "rate", "limit"]


@pytest.mark.parametrize(
    ("query", "tree"),
    [
        ("x OR y AND z", "([x] OR ([y] AND [z]))"),
        ("x AND y NOT z", "([x] AND ([y] NOT [z]))"),
        ("x NOT y z", "([x] NOT ([y] AND [z]))"),
        ("x NOT y NOT z", "([x] NOT ([y] OR [z]))"),
        ("(x OR y) z", "(([x] OR [y]) AND [z])"),
        ("((x)) AND (((y)))", "([x] AND [y])"),
        ("x AND NOT y", "([x] NOT [y])"),
        ("NOT y", "everything but [y]"),
        ("NOT x AND NOT y", "everything but ([x] OR [y])"),
        ("x OR NOT y", "everything but ([y] NOT [x])"),
        ("(NOT y) x", "([x] NOT [y])"),
        ("x NOT (NOT y)", "([x] AND [y])"),
        ('title:"rate limit"', "title:[rate limit]"),
        ("Title:(x OR y) AND z", "((title:[x] OR title:[y]) AND [z])"),
        ("{title concepts}: x", "title+tags:[x]"),
        ("-title:x", "text+tags+files:[x]"),
        ("files_read:src/auth.ts", "files:[src auth ts]"),
        ("NEAR(x y, 5) AND z", "([x] AND [y] AND [z])"),
        ("x + y AND z", "([x y] AND [z])"),
        ('"rate lim"*', "[rate lim* | rate lim =lim*]"),
        ("src/auth.ts AND getUserName", "([src auth ts] AND [getusernam | get user name])"),
        ("getToken() AND x", "([gettoken | get token] AND [x])"),
        ("“curved quotes”", "[curv =curved quot =quotes]"),
        ("std::vector AND x", "([std vector] AND [x])"),
        ("IT AND HR", "([it] AND [hr])"),
        ("help AND menu", "([help] AND [menu])"),
        ("jwt and oauth NOT session", "(([jwt] AND [oauth]) NOT [session])"),
    ],
)
def test_operators_combine_as_documented(query: str, tree: str) -> None:
    assert shown(query) == tree


@pytest.mark.parametrize(
    "query",
    [
        "Should I use AND or OR here?",
        "We do NOT want Redis",
        "DO NOT use tabs",
        "users should be able to read AND write the file",
        "foo(bar, baz)",
        "a sentence (with an aside) and nothing else",
        "title: foo",
        "error: no such file",
        "http://example.com/x",
        "std::vector",
        '{"name": "foo", "size": 3}',
        'a 5" by 3" screen',
        'name="foo"',
        "**bold** text",
        "src/* and *.py",
        'unbalanced "quote',
        "(unbalanced",
        "unbalanced)",
        "x AND",
        "OR x",
        "x AND OR y",
        "x NOT NOT y",
        "x AND -",
        'x AND "!!"',
        "vim + tmux",
        "^start",
    ],
)
def test_what_only_looks_like_an_operator_is_plain(query: str) -> None:
    assert not ask(query).strict


def test_a_question_that_quotes_something_is_a_question() -> None:
    parsed = ask('What did we say about "rate limit" last week?')
    assert not parsed.strict
    assert [word.token for word in parsed.words] == ["say", "rate", "limit", "last", "week"]


@pytest.mark.parametrize(
    "query", ['"rate limit"', '"rate limit"?', 'redis "rate limit"', 'what is title:"rate limit"?']
)
def test_a_phrase_alone_or_among_terms_is_a_filter(query: str) -> None:
    assert ask(query).strict and "[rate limit]" in str(ask(query).tree).replace("title:", "")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", []),
        ("*", []),
        ('"', []),
        ("🎉", []),
        ("()", []),
        ("AND", ["and"]),
        ("C++", ["c"]),
        ("what's", ["what", "s"]),
        ("what is it", ["what", "is", "it"]),
        ("how did we fix the login?", ["fix", "login"]),
        ("token tokens Token", ["token"]),
        ("数据库 怎么", ["数据", "据库", "怎么"]),
        ("IT budget", ["it", "budget"]),
    ],
)
def test_plain_text_gives_its_meaningful_words(query: str, expected: list[str]) -> None:
    assert tokens(query) == expected


def test_compounds_carry_their_phrase_and_parts() -> None:
    name, path, version = ask("getUserName src/auth.ts v1.2.3").words
    assert (name.token, name.phrase, name.parts) == ("getusernam", ("get", "user", "name"), ("get", "user", "name"))
    assert (path.token, path.phrase, path.parts) == ("auth", ("src", "auth", "ts"), ("src", "auth", "ts"))
    assert (version.token, version.phrase, version.parts) == ("v1", ("v1", "2", "3"), ("v1",))
    assert words_to_fts5([path]) == '(("src auth ts" OR "src" OR "auth" OR "ts"))'
    assert words_to_fts5([name, path], "AND") == '(("get user name" OR "getusernam") AND "src auth ts")'
    assert words_to_fts5([], columns=INDEX) == '""'


def test_the_text_to_embed_has_no_operators_columns_quotes_or_excluded_terms() -> None:
    assert ask('title:login AND "rate limit" NOT (redis OR memcached) OR cach*').text == "login rate limit cach"
    assert ask("NOT redis").text == ""
    assert ask("NOT redis").words == ()
    assert ask("  why\n does\0it \ud800 fail? ").text == "why does it fail?"


def test_queries_are_hashable_and_equal_by_value() -> None:
    assert hash(ask("x AND y")) == hash(ask("x AND y"))
    assert ask("x AND y") == ask("x AND y") != ask("x OR y")


@pytest.mark.parametrize(
    "query",
    [
        "(" * 100_000,
        "(" * 100_000 + "x AND y" + ")" * 100_000,
        "(" * 9_000 + "x AND y" + ")" * 9_000,
        "NOT " * 25_000,
        "x AND " * 16_000 + "x",
        "x OR (" * 3_000,
        '"' * 99_999,
        '"a" ' * 25_000,
        "{" * 100_000,
        "NEAR(" * 20_000,
        "title:" * 16_000,
        "a*" * 50_000,
        "a." * 50_000,
        "aB" * 50_000,
        "_" * 100_000,
        "数" * 100_000,
        " " * 100_000,
        "word" + " the" * 25_000,
        " ".join(f"w{i}" for i in range(18_000)),
        "\u0301" * 100_000,
    ],
    ids=range(20),
)
def test_enormous_queries_become_a_bounded_number_of_words(query: str, index: apsw.Connection) -> None:
    parsed = ask(query)
    assert len(parsed.words) <= MAX_WORDS
    run(index, parsed)


def test_the_largest_queries_the_grammar_takes_are_accepted_by_sqlite(index: apsw.Connection) -> None:
    nested = "x"
    for level in range(15):
        nested = f"({nested} AND y{level} NOT z{level} OR w{level})"
    column = f"-title:({nested})"
    for query in (
        nested,
        column,
        " AND ".join(f'"a{i} b"*' for i in range(128)),
        " NOT ".join(f"x{i}" for i in range(128)),
    ):
        parsed = ask(query)
        assert parsed.strict
        run(index, parsed)


@pytest.fixture
def index() -> Iterator[apsw.Connection]:
    with apsw.Connection(":memory:") as db:
        tokenizer = "unicode61 remove_diacritics 0 tokenchars '='"
        db.execute(f'create virtual table f using fts5({", ".join(INDEX)}, tokenize="{tokenizer}")')
        yield db
    db.close()


def run(db: apsw.Connection, question: Query) -> None:
    expressions = [words_to_fts5(question.words), words_to_fts5(question.words, "AND", INDEX)]
    if question.tree is not None:
        expressions += [
            to_fts5(question.tree),
            to_fts5(question.tree, INDEX),
            f'({to_fts5(question.tree)}) AND {{title}} : "x"',
        ]
    for expression in expressions:
        db.execute("select rowid from f where f match ?", (expression,)).fetchall()


VOCABULARY = [
    "token",
    "tokens",
    "validate",
    "validating",
    "getUserName",
    "get_user",
    "src/auth.ts",
    "v1.2",
    "数据库",
    "the",
    "naïve",
]
PIECES = [
    *VOCABULARY, "AND", "OR", "NOT", "(", ")", '"', "*", "title:", "-title:", "{title text}:", "{narrative}:",
    "content:", "NEAR(", "+", "^", "-", ",", "?", "tok*", "vali*", '"rate tok"*', '"token validating"', "''", ";", "\0",
    "\ud800",
]  # fmt: skip

words = st.sampled_from(VOCABULARY)
documents = st.lists(
    st.fixed_dictionaries({column: st.lists(words, max_size=5).map(" ".join) for column in INDEX}),
    min_size=1,
    max_size=6,
)
atoms = st.one_of(
    words,
    st.sampled_from(["tok*", "vali*", "valid*", "getU*", "src/aut*", "nai*", "数*", "data"]),
    st.lists(words, min_size=1, max_size=3).map(lambda them: f'"{" ".join(them)}"'),
    st.lists(words, min_size=1, max_size=2).map(lambda them: f'"{" ".join(them)}"*'),
    st.tuples(st.sampled_from(["title:", "-title:", "{narrative concepts}:"]), words).map("".join),
)
trees = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from([" AND ", " OR ", " NOT ", " AND NOT ", " OR NOT ", " "]), inner).map("".join),
        inner.map(lambda text: f"({text})"),
        inner.map(lambda text: f"NOT {text}"),
        inner.map(lambda text: f"files_read:({text})"),
    ),
    max_leaves=8,
)


@settings(derandomize=True, deadline=None, max_examples=400)
@given(
    st.one_of(
        st.text(),
        st.lists(st.sampled_from(PIECES), max_size=15).map(" ".join),
        st.lists(st.sampled_from(PIECES)).map("".join),
    )
)
def test_nothing_makes_a_query_fail_or_sqlite_reject_it(query: str) -> None:
    parsed = ask(query)
    assert parsed.strict == (parsed.tree is not None)
    with apsw.Connection(":memory:") as db:
        db.execute(f"create virtual table f using fts5({', '.join(INDEX)}, tokenize=\"unicode61 tokenchars '='\")")
        run(db, parsed)


@settings(derandomize=True, deadline=None, max_examples=500)
@given(documents, trees)
def test_sqlite_finds_exactly_what_the_tree_means(rows: list[dict[str, str]], query: str) -> None:
    parsed = ask(query)
    if parsed.tree is None:
        return
    with apsw.Connection(":memory:") as db:
        tokenizer = "unicode61 remove_diacritics 0 tokenchars '='"
        db.execute(f'create virtual table f using fts5({", ".join(INDEX)}, tokenize="{tokenizer}")')
        for i, row in enumerate(rows):
            db.execute(
                "insert into f(rowid, title, text, tags, files) values (?, ?, ?, ?, ?)",
                (i, *(index_text(row[column]) for column in INDEX)),
            )
        for expression in (to_fts5(parsed.tree), to_fts5(parsed.tree, INDEX)):
            found = {row for (row,) in db.execute("select rowid from f where f match ?", (expression,))}
            assert found == {i for i, row in enumerate(rows) if matches(parsed.tree, row)}
            accepted = {i for i, row in enumerate(rows) if parsed.accepts(row)}
            assert accepted == (set(range(len(rows))) - found if parsed.inverted else found)


@settings(derandomize=True, deadline=None, max_examples=300)
@given(documents, st.lists(words, min_size=1, max_size=3), st.data())
def test_a_document_is_found_by_its_own_words_phrases_and_prefixes(
    rows: list[dict[str, str]], written: list[str], data: st.DataObject
) -> None:
    row = rows[0] | {"text": " ".join(["before", *written, "after"])}
    word = data.draw(st.sampled_from(written))
    assert ask(f'"{" ".join(written)}"').accepts(row)
    assert ask(f"before AND {word}").accepts(row)
    assert ask(f"{word[: data.draw(st.integers(1, len(word)))].rstrip('/.')}*").accepts(row)
    assert not ask(f'after NOT "{word}"').accepts(row)


MARKS_AND_WORDS = ("redis", "title", "AND", "OR", "NOT", "and", "NEAR(", *'+*:"“„^(){}-?, ', "ANDROID", "é")


@given(st.one_of(st.text(), st.lists(st.sampled_from(MARKS_AND_WORDS)).map("".join)))
def test_only_operators_make_a_query_of_the_language(query: str) -> None:
    """Whatever the grammar accepts holds one of the marks by which plain questions are told from it at once."""
    assert ask(query).strict == (parse_strict(query, COLUMNS) is not None)
