"""JSON with comments is read for what it says and where; anything else is refused with the place of the fault."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.hosts.json_and_toml_edits import Node, parse_json

from .settings_files import VALUES, settings, texts


@given(st.data())
def test_it_says_what_was_written(data: st.DataObject) -> None:
    value = data.draw(settings())
    text = data.draw(texts(value))
    assert parse_json(text).value == value


@given(st.data())
def test_every_value_is_where_it_is_said_to_be(data: st.DataObject) -> None:
    text = data.draw(texts(data.draw(settings())))

    def check(node: Node) -> None:
        assert parse_json(text[node.start : node.end]).value == node.value
        for child in node.children:
            assert text[child.start :].startswith(text[child.node.start]) or text[child.start] == '"'
            check(child.node)

    check(parse_json(text))


@given(VALUES)
def test_plain_json_means_the_same(value: Any) -> None:
    assert parse_json(json.dumps(value)).value == value


@given(st.text(alphabet='{}[]",:/*\\ \n0aé-', max_size=20))
def test_nothing_else_happens_on_any_text(text: str) -> None:
    with contextlib.suppress(ValueError):
        assert parse_json(text).end <= len(text)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("", "line 1, column 1 has the end"),
        ("{", "has the end where a name in quotes"),
        ('{"a": 1', "has the end where a comma or }"),
        ('{"a" 1}', "line 1, column 6 has '1' where a colon"),
        ('{\n  "a": 1\n  "b": 2\n}', "line 3, column 3"),
        ("{,}", "column 2"),
        ("[1,,2]", "column 4"),
        ("{'a': 1}", "column 2"),
        ("[NaN]", "column 2"),
        ("[01]", "column 3"),
        ('["a\nb"]', "column 2"),
        ('["\\x"]', "column 2"),
        ("[1] 2", "column 5"),
        ("/* open", "column 1"),
        ("[1}", "column 3"),
    ],
)
def test_a_fault_is_told_with_its_place(text: str, where: str) -> None:
    with pytest.raises(ValueError, match="line") as caught:
        parse_json(text)
    assert where in str(caught.value)


def test_of_two_members_with_one_name_the_last_counts() -> None:
    node = parse_json('{"a": {"x": 1}, "a": {"y": 2}}')
    inner = node.at(("a", "y"))
    assert node.value == {"a": {"y": 2}} and inner is not None and inner.value == 2


def test_depth_beyond_reason_is_an_error_and_not_a_crash() -> None:
    with pytest.raises(RecursionError):
        parse_json("[" * 100_000)
