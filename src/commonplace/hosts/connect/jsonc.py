"""JSON as people write it in settings, with comments and trailing commas, read together with where everything is."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

_SPACE = re.compile(r"[ \t\r\n]*")
_TRIVIA = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_NAME = re.compile(r'"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*"')


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


# Most files, and most parts of the others, are plain JSON, which this reads much faster than we could.
_PLAIN = json.JSONDecoder(parse_constant=_refuse)


@dataclass(frozen=True, slots=True)
class Child:
    """A member of an object or an item of a list: where it starts (a member with its key), and its value."""

    key: str | int
    start: int
    node: Node


@dataclass(frozen=True, slots=True)
class Node:
    """A value in a text, from `start` up to `end`."""

    text: str = field(repr=False)
    start: int
    end: int
    value: Any

    @property
    def children(self) -> tuple[Child, ...]:
        """The members or items, looked up when they are asked for."""
        return _scanned(self.text, self.start)[0] if isinstance(self.value, dict | list) else ()

    def child(self, key: str | int) -> Child | None:
        """The member of this name, or the item at this place. Of two with one name the last one counts."""
        return next((child for child in reversed(self.children) if child.key == key), None)

    def at(self, path: tuple[str | int, ...]) -> Node | None:
        """The value at a path; None if the path leads nowhere."""
        node: Node | None = self
        for key in path:
            child = node.child(key) if node else None
            node = child.node if child else None
        return node


def parse(text: str) -> Node:
    """The value of a text. ValueError, with the line, if it is not JSON even with comments and trailing commas."""
    node = _value(text, skip(text, 0))
    end = skip(text, node.end)
    if end != len(text):
        raise _wrong(text, end, "nothing more")
    return node


def skip(text: str, at: int) -> int:
    """Where the next thing is that is neither space nor comment."""
    match = _TRIVIA.match(text, at)
    assert match is not None
    return match.end()


def skip_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    assert match is not None
    return match.end()


def comments(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """The comments between two places that only space and comments (and a comma) are between."""
    return [match.span() for match in re.compile(r"//[^\r\n]*|/\*.*?\*/", re.DOTALL).finditer(text, start, end)]


def _value(text: str, at: int) -> Node:
    try:
        value, end = _PLAIN.raw_decode(text, at)
        return Node(text, at, end, value)
    except ValueError:
        # Not plain: it may have comments in it.
        pass
    if text[at : at + 1] not in ("{", "["):
        raise _wrong(text, at, "a value")
    children, end = _scanned(text, at)
    if text[at] == "{":
        return Node(text, at, end, {child.key: child.node.value for child in children})
    return Node(text, at, end, [child.node.value for child in children])


def _scanned(text: str, start: int) -> tuple[tuple[Child, ...], int]:
    """What is in the object or list that starts here, and where that ends."""
    closing = "}" if text[start] == "{" else "]"
    children: list[Child] = []
    at = skip(text, start + 1)
    while text[at : at + 1] != closing:
        child = _member(text, at) if closing == "}" else Child(len(children), at, _value(text, at))
        children.append(child)
        at = skip(text, child.node.end)
        if text[at : at + 1] == ",":
            at = skip(text, at + 1)
        elif text[at : at + 1] != closing:
            raise _wrong(text, at, f"a comma or {closing}")
    return tuple(children), at + 1


def _member(text: str, start: int) -> Child:
    name = _NAME.match(text, start)
    if name is None:
        raise _wrong(text, start, "a name in quotes")
    colon = skip(text, name.end())
    if text[colon : colon + 1] != ":":
        raise _wrong(text, colon, "a colon")
    return Child(json.loads(name[0]), start, _value(text, skip(text, colon + 1)))


def _wrong(text: str, at: int, wanted: str) -> ValueError:
    line, column = text.count("\n", 0, at) + 1, at - (text.rfind("\n", 0, at) + 1) + 1
    there = f"{text[at]!r}" if at < len(text) else "the end"
    return ValueError(f"line {line}, column {column} has {there} where {wanted} should be")
