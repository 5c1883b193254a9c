"""Settings as people and editors write them: JSON with comments, trailing commas, any indents and line ends."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

SPACES = st.sampled_from(
    ["", "", " ", "\n", "\t", "\r\n", "\n\n    ", "/* c */", " // c\n", "\n  // two\r\n  /* a\n b */ "]
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**9), 10**9),
    st.text(max_size=6),
    st.sampled_from(['a"b', "\\", "//", "é"]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
SERVER = st.fixed_dictionaries({"command": st.text(max_size=6), "args": st.lists(st.text(max_size=4), max_size=2)})
HOOK = st.fixed_dictionaries({"hooks": st.lists(st.fixed_dictionaries({"command": st.just("lint")}), max_size=2)})
EVENTS = st.sampled_from(["Stop", "SessionStart", "AfterTool", "AfterAgent", "Other"])


# What holds servers or hooks is an object, or the file is refused.
TAKEN = {"hooks", "mcpServers", "servers", "mcp", "context_servers", "version"}


@st.composite
def settings(draw: st.DrawFn) -> dict[str, Any]:
    """What a file says: anything, perhaps with servers and hooks that are not ours."""
    value = draw(st.dictionaries(st.text(max_size=5).filter(lambda key: key not in TAKEN), VALUES, max_size=3))
    if draw(st.booleans()):
        value["mcpServers"] = draw(st.dictionaries(st.text(max_size=5), SERVER, max_size=2))
    if draw(st.booleans()):
        value["hooks"] = draw(st.dictionaries(EVENTS, st.lists(HOOK, max_size=2), max_size=2))
    return value


def texts(value: dict[str, Any]) -> st.SearchStrategy[str]:
    """Ways to write it down."""
    return _wild(value) | _neat(value)


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """The bytes of a file with settings, sometimes of an empty one."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.sampled_from([b"", b"\n", b"{}", b"{ }\n", b"{\n}\n", b"{ // nothing yet\n}", b"{/* c */}"]))
    return draw(st.sampled_from(["", "\ufeff"])).encode() + draw(texts(draw(settings()))).encode()


@st.composite
def _neat(draw: st.DrawFn, value: dict[str, Any]) -> str:
    indent = draw(st.sampled_from([None, 2, 4, "\t", 1]))
    text = json.dumps(value, indent=indent, ensure_ascii=draw(st.booleans()))
    lines = text.split("\n")
    for place in draw(st.lists(st.integers(0, len(lines) - 1), max_size=3)):
        if indent is not None:
            lines[place] += " // note"
    end = draw(st.sampled_from(["\n", "\r\n"]))
    return end.join(lines) + draw(st.sampled_from(["", end]))


@st.composite
def _wild(draw: st.DrawFn, value: Any) -> str:
    return draw(SPACES) + _written(draw, value) + draw(SPACES)


def _written(draw: st.DrawFn, value: Any) -> str:
    if not isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=draw(st.booleans()))
    parts: list[str] = []
    for entry in value.items() if isinstance(value, dict) else value:
        name = ""
        if isinstance(value, dict):
            name, entry = json.dumps(entry[0]) + draw(SPACES) + ":" + draw(SPACES), entry[1]
        parts.append(draw(SPACES) + name + _written(draw, entry) + draw(SPACES))
    trailing = "," + draw(SPACES) if draw(st.booleans()) and parts else ""
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return opening + (",".join(parts) + trailing or draw(SPACES)) + closing
