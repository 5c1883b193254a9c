"""The front matter of rule files, as tools and people write it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.hosts import rule_file_parts
from commonplace.hosts.rule_file_parts import bracketed, comma_globs, cut, globs_in, listed, quoted, read, write


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("globs: **/*.ts", {"globs": "**/*.ts"}),
        ("globs: src/**/*.{ts,tsx}, *.md", {"globs": "src/**/*.{ts,tsx}, *.md"}),
        ("globs:", {"globs": ""}),
        ("paths:\n  - \"a/**\"\n  - 'b/*'\n  - c", {"paths": ("a/**", "b/*", "c")}),
        ("paths:\n- a\n- b\nnext: x", {"paths": ("a", "b"), "next": "x"}),
        ('fileMatchPattern: ["a, b", "{c,d}/**"]', {"fileMatchPattern": ("a, b", "{c,d}/**")}),
        ("globs: []", {"globs": ()}),
        ("alwaysApply: false # not always", {"alwaysApply": "false"}),
        ('description: "It\'s: a \\"test\\" # x" # comment', {"description": 'It\'s: a "test" # x'}),
        ("description: 'it''s'", {"description": "it's"}),
        ("description: >-\n  two\n  lines\nkey: v", {"description": "two lines", "key": "v"}),
        ("# a comment\n\nkey: v", {"key": "v"}),
        ("not yaml at all\n\tkey: v", {}),
        ("url: http://x.y/z#a", {"url": "http://x.y/z#a"}),
    ],
)
def test_what_people_write_is_understood(text: str, fields: dict[str, object]) -> None:
    for eol in ("\n", "\r\n"):
        head, rest = cut(f"---\n{text}\n---\nBody".replace("\n", eol))
        assert read(head) == fields and rest == "Body"


@pytest.mark.parametrize("text", ["", "Body", "--- x\n", "---\nkey: v\nno end", " ---\n---\n", "---"])
def test_text_without_a_front_matter_is_all_text(text: str) -> None:
    assert cut(text) == ("", text)


def test_globs_come_from_the_first_key_that_has_some() -> None:
    assert globs_in({"globs": "", "glob": "*.{a,b}, 'c'"}, ("globs", "glob")) == ("*.{a,b}", "c")
    assert globs_in({"paths": ("a", " ", "a")}, ("paths",)) == ("a",)
    assert globs_in({}, ("paths",)) == ()


def test_globs_with_commas_between_them_hold_no_comma_themselves() -> None:
    assert comma_globs(["src/*.{js,ts}", "{a,b}/{c,d}", "x,y", "*.js"]) == (
        "src/*.js,src/*.ts,a/c,a/d,b/c,b/d,x?y,*.js"
    )
    assert comma_globs(["{a,b}" * 6]) == "{a?b}" * 6


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), min_size=1))
def test_what_is_written_is_read_back(texts: list[str]) -> None:
    head = write([("one", quoted(texts[0])), ("paths", listed(texts)), ("list", bracketed(texts[:1])), ("last", "x")])
    fields = read(head)
    assert fields["one"] == texts[0] and fields["paths"] == tuple(texts) and fields["last"] == "x"
    assert fields["list"] == tuple(texts[:1])


@given(st.text())
def test_any_text_can_be_read(text: str) -> None:
    head, rest = cut(f"---\n{text}\n---\n")
    assert head + rest == f"---\n{text}\n---\n"
    read(head)
    rule_file_parts.digest(head)
