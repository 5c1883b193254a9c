"""One place of a text changes and nothing else: not a comment, not a comma, not a line end."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.hosts.json_and_toml_edits import append_json, parse_json, put_json, remove_json

from .settings_files import SCALARS, VALUES, settings, texts

ENTRY = {"command": "/x/commonplace", "args": ["mcp"]}


def comments(text: str) -> list[str]:
    """The comments of a text, in order; strings are passed over."""
    tokens = re.findall(r'"(?:[^"\\]|\\.)*"|//[^\r\n]*|/\*.*?\*/', text, re.DOTALL)
    return [token for token in tokens if token.startswith("/")]


@given(st.data())
def test_putting_in_and_taking_out_leave_the_rest(data: st.DataObject) -> None:
    value = data.draw(settings())
    text = data.draw(texts(value))
    entry = data.draw(VALUES)
    value.setdefault("mcpServers", {})
    after = put_json(text, ("mcpServers", "ours"), entry)
    assert parse_json(after).value == {**value, "mcpServers": {**value["mcpServers"], "ours": entry}}
    assert comments(after) == comments(text)
    again = put_json(after, ("mcpServers", "ours"), {"other": entry})
    assert parse_json(again).value["mcpServers"]["ours"] == {"other": entry}
    gone = remove_json(again, ("mcpServers", "ours"))
    assert parse_json(gone).value == value
    assert comments(gone) == comments(text)


@given(st.data())
def test_items_of_lists_come_and_go(data: st.DataObject) -> None:
    value: dict[str, Any] = {"list": data.draw(st.lists(SCALARS, max_size=4))}
    text = data.draw(texts(value))
    more = append_json(append_json(text, ("list",), "one"), ("list",), {"two": 2})
    assert parse_json(more).value["list"] == [*value["list"], "one", {"two": 2}]
    place = data.draw(st.integers(0, len(value["list"]) + 1))
    less = remove_json(more, ("list", place))
    expected = [*value["list"], "one", {"two": 2}]
    del expected[place]
    assert parse_json(less).value["list"] == expected
    assert comments(less) == comments(text)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '{\n  "s": {\n    "n": 1\n  }\n}\n'),
        ("{}", '{\n  "s": {\n    "n": 1\n  }\n}'),
        ('{"a": 1}', '{"a": 1, "s": {"n": 1}}'),
        ('{"a":1,"s":{}}', '{"a":1,"s":{"n": 1}}'),
        ('{\n\t"a": 1\n}\n', '{\n\t"a": 1,\n\t"s": {\n\t\t"n": 1\n\t}\n}\n'),
        ('{\r\n    "a": 1 // x\r\n}', '{\r\n    "a": 1, // x\r\n    "s": {\r\n        "n": 1\r\n    }\r\n}'),
        ('{\n  "s": {\n    "m": 0, // m\n  },\n}', '{\n  "s": {\n    "m": 0, // m\n    "n": 1,\n  },\n}'),
        ('{\n  "s": {\n    // none yet\n  }\n}', '{\n  "s": {\n    // none yet\n    "n": 1\n  }\n}'),
        ('{\n  "s": { "m": 0 }\n}', '{\n  "s": { "m": 0, "n": 1 }\n}'),
        ('{\n  "s": {"n": 0} // mine\n}', '{\n  "s": {"n": 1} // mine\n}'),
    ],
)
def test_what_is_added_looks_as_what_is_there(before: str, after: str) -> None:
    assert put_json(before, ("s", "n"), 1) == after


@pytest.mark.parametrize(
    ("before", "path", "after"),
    [
        ('{"a": 1, "n": 2}', ("n",), '{"a": 1}'),
        ('{"n": 2, "a": 1}', ("n",), '{"a": 1}'),
        ('{"n": 2}', ("n",), "{}"),
        ('{\n  "a": 1, // x\n  "n": 2\n}', ("n",), '{\n  "a": 1 // x\n}'),
        ('{\n  "a": 1,\n  "n": 2,\n}', ("n",), '{\n  "a": 1,\n}'),
        ('{\n  // n\n  "n": 2,\n  "a": 1\n}', ("n",), '{\n  // n\n  "a": 1\n}'),
        ('{ // x\n  "n": 2, "a": 1\n}', ("n",), '{ // x\n  "a": 1\n}'),
        ('{"a": [1, 2, 3]}', ("a", 1), '{"a": [1, 3]}'),
        ('{"a": 1}', ("n", "m"), '{"a": 1}'),
    ],
)
def test_what_is_taken_out_takes_its_comma_and_its_line(before: str, path: tuple[str | int, ...], after: str) -> None:
    assert remove_json(before, path) == after


@pytest.mark.parametrize("text", ['{"s": []}', '{"s": null}', '{"s": "x"}', "[]"])
def test_no_object_is_made_of_something_else(text: str) -> None:
    with pytest.raises(ValueError, match="is not an object"):
        put_json(text, ("s", "n"), 1)
    with pytest.raises(ValueError, match="is not a"):
        append_json(text, ("s", "n"), 1)
