"""Text becomes the index words it should, and SQLite's tokenizer leaves them as they are."""

from __future__ import annotations

import sys
import threading

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commonplace.text import tokens
from commonplace.text.tokens import (
    MAX_SEQUENCE,
    MAX_WORD,
    STOP_WORDS,
    Form,
    count_tokens,
    fold,
    index_text,
    phrase_forms,
    prefix_forms,
    term_forms,
    words_of,
)

TOKENIZER = "unicode61 remove_diacritics 0 tokenchars '='"


@pytest.mark.parametrize(
    ("text", "stream"),
    [
        ("", ""),
        ("...", ""),
        ("token", "token"),
        ("validating tokens", "valid =validating token =tokens"),
        ("getUserName", "getusernam =getusername get user name"),
        ("get_user_name", "getusernam =getusername get user name"),
        ("HTTPServer", "httpserver http server"),
        ("MAX_SIZE", "maxsiz =maxsize max size"),
        ("__init__", "init"),
        ("src/auth.ts", "src auth ts"),
        ("v1.2.3", "v1 2 3"),
        ("sha256 utf8 k8s K8S E2E", "sha256 utf8 k8s k8s e2e"),
        ("base64Encode", "base64encode base64 encod =encode"),
        ("APIs and userIDs", "api =apis and userid =userids user id =ids"),
        ("OAuth useOAuthToken", "oauth useoauthtoken use oauth token"),
        ("rate-limit", "rate limit"),
        ("Crème brûlée", "creme brule =brulee"),
        ("cafe\u0301", "cafe"),
        ("straße", "strass =strasse"),
        ("İstanbul", "istanbul"),
        ("ﬁle x²", "file x2"),
        ("数据库", "数据 据库"),
        ("中", "中"),
        ("使用JWT认证", "使用 jwt 认证"),
        ("ガラス カラス", "ガラ ラス カラ ラス"),
        ("서버를", "서버 버를"),
        ("ภาษาไทย", "ภา าษ ษา าไ ไท ทย"),
        ("a\0b\ud800c", "a b c"),
        ("_ __ _", ""),
    ],
)
def test_text_becomes_its_index_stream(text: str, stream: str) -> None:
    assert index_text(text) == stream


def test_spelling_variants_fold_to_one() -> None:
    assert fold("ÉCOLE") == fold("e\u0301cole") == "ecole"
    assert fold("a\0b\ud800") == "a b "
    assert fold("ＡＢＣ") == "abc"


def test_folding_any_character_twice_changes_nothing_more() -> None:
    odd = [char for char in map(chr, range(0x20000)) if fold(fold(char)) != fold(char)]
    assert odd == []


def test_an_encoded_blob_is_one_cut_token_and_not_many() -> None:
    assert len(index_text("aGVsbG8gd29ybGQgdGhpcyBpcyBiYXNlNjQ").split()) == 1
    assert index_text("Ab1" * 1000) == ("ab1" * 1000)[:MAX_WORD]


def test_a_term_is_its_stem_and_a_compound_its_sequence() -> None:
    assert term_forms("validating") == (Form(("valid",)),)
    assert term_forms("getUserNames") == (Form(("getusernam",)), Form(("get", "user", "name")))
    assert term_forms("src/auth.ts") == (Form(("src", "auth", "ts")),)
    assert term_forms("rate-limiting") == (Form(("rate", "limit")),)
    assert term_forms("数据库") == (Form(("数据", "据库")),)
    assert term_forms("中") == (Form(("中",), prefix=True),)
    assert term_forms("++") == ()


def test_a_prefix_is_looked_for_among_stems_and_among_words_as_written() -> None:
    assert prefix_forms("authen") == (Form(("authen",), True), Form(("=authen",), True))
    assert Form(("rate", "limit", "=limiti"), True) in prefix_forms("rate limiti")
    assert prefix_forms("!") == ()


def test_forms_are_bounded() -> None:
    long = "word " * 1000
    for forms in (phrase_forms(long), prefix_forms(long), term_forms("a/" * 1000)):
        assert all(len(form.tokens) <= MAX_SEQUENCE for form in forms)


def test_stop_words_are_folded_words_and_spare_the_telling_ones() -> None:
    assert all(words_of(word) == [word] for word in STOP_WORDS)
    assert STOP_WORDS.isdisjoint({"last", "after", "before", "new", "first", "go", "error", "without", "use"})
    assert STOP_WORDS.issuperset({"what", "how", "did", "we", "our", "us", "please", "the"})


def test_tokens_are_counted_by_four_characters() -> None:
    assert [count_tokens("x" * n) for n in (0, 1, 4, 5, 8)] == [0, 1, 1, 2, 2]


def test_the_cache_stays_within_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "_CACHE_SIZE", 100)
    tokens._emitted.clear()
    index_text(" ".join(f"word{i}" for i in range(1000)))
    assert len(tokens._emitted) <= 100


def test_threads_may_stem_at_once() -> None:
    text = " ".join(f"running{chr(97 + i % 26)}ing validations" for i in range(300))
    expected = index_text(text)
    results: list[str] = []

    def work() -> None:
        for _ in range(20):
            tokens._emitted.clear()
            results.append(index_text(text))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(results) == {expected}


@settings(derandomize=True, deadline=None)
@given(st.text())
def test_tokens_are_letters_and_digits_with_at_most_a_leading_sign(text: str) -> None:
    for token in index_text(text).split(" ") if index_text(text) else []:
        assert token.removeprefix("=").isalnum()
        assert len(token) <= MAX_WORD + 1


@settings(derandomize=True, deadline=None, max_examples=300)
@given(st.lists(st.text(), min_size=1, max_size=20))
def test_the_stream_survives_the_tokenizer_of_sqlite_unchanged(texts: list[str]) -> None:
    streams = [index_text(text) for text in texts]
    assert _tokenized(streams) == [stream.split() for stream in streams]


def test_every_letter_there_is_survives_the_tokenizer_of_sqlite() -> None:
    letters = [char for char in map(chr, range(128, sys.maxunicode + 1)) if char.isalnum()]
    streams = list(dict.fromkeys(index_text(f"a{char}b") for char in letters))
    assert _tokenized(streams) == [stream.split() for stream in streams]


def test_a_megabyte_without_a_space_is_at_most_one_long_word() -> None:
    assert index_text("_" * 1_000_000) == ""
    for blob in ("aB" * 500_000, "é" * 300_000):
        assert all(len(token.lstrip("=")) <= MAX_WORD for token in index_text(blob).split())


def _tokenized(streams: list[str]) -> list[list[str]]:
    with apsw.Connection(":memory:") as db:
        db.execute(f'create virtual table f using fts5(t, tokenize="{TOKENIZER}")')
        db.execute("create virtual table v using fts5vocab(f, instance)")
        db.executemany("insert into f(rowid, t) values (?, ?)", list(enumerate(streams)))
        found: list[dict[int, str]] = [{} for _ in streams]
        for term, row, offset in db.execute("select term, doc, offset from v"):
            found[row][offset] = term
    return [[terms[i] for i in sorted(terms)] for terms in found]
