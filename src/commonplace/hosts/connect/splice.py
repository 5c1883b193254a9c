"""Changing one place of a JSON text and no byte elsewhere: comments, commas, indents and line ends stay as they are."""

from __future__ import annotations

import json
import re
from typing import Any

from commonplace.hosts.connect.jsonc import Node, comments, parse, skip, skip_space

Keys = tuple[str | int, ...]
_INDENT = re.compile(r"^[ \t]+(?=\S)", re.MULTILINE)


def put(text: str, path: Keys, value: Any) -> str:
    """The text with a value at a path of names; what is missing on the way is made. ValueError if it cannot be."""
    text = text if text.strip() else "{}" + line_end(text)
    root = parse(text)
    for depth in range(len(path)):
        node = root.at(path[:depth])
        assert node is not None
        if not isinstance(node.value, dict):
            raise ValueError(f"{'.'.join(map(str, path[:depth])) or 'it'} is not an object")
        if node.child(path[depth]) is None:
            for key in reversed(path[depth + 1 :]):
                value = {key: value}
            return _inserted(text, node, value, path[depth])
    there = root.at(path)
    assert there is not None
    return text[: there.start] + _written(text, value, _line_indent(text, there.start)) + text[there.end :]


def append(text: str, path: Keys, value: Any) -> str:
    """The text with one more item in the list at a path."""
    there = parse(text).at(path) if text.strip() else None
    if there is None:
        return put(text, path, [value])
    if not isinstance(there.value, list):
        raise ValueError(f"{'.'.join(map(str, path))} is not a list")
    return _inserted(text, there, value)


def remove(text: str, path: Keys) -> str:
    """The text without what is at a path. Comments stay."""
    parent = parse(text).at(path[:-1])
    child = parent.child(path[-1]) if parent else None
    if parent is None or child is None:
        return text
    place = parent.children.index(child)
    before = parent.children[place - 1].node.end if place else parent.start + 1
    after = skip(text, child.node.end)
    has_comma = text[after] == ","
    end = after + 1 if has_comma else child.node.end
    if has_comma and comments(text, child.node.end, after):
        return text[: child.start] + text[child.node.end : after] + text[end:]
    if len(parent.children) == 1 and not comments(text, parent.start, child.start) + comments(text, end, parent.end):
        return text[: parent.start + 1] + text[parent.end - 1 :]
    start, end = _with_space(text, before, child.start, end, forwards=has_comma)
    if has_comma or not place:
        return text[:start] + text[end:]
    # It was the last one: the comma before it has nothing to part any more.
    comma = skip(text, before)
    return text[:comma] + text[comma + 1 : start] + text[end:]


def line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _inserted(text: str, parent: Node, value: Any, key: str | int | None = None) -> str:
    """The text with a child at the end of an object or list."""
    name = "" if key is None else json.dumps(key, ensure_ascii=False) + ": "
    if not parent.children:
        return _into_empty(text, parent, name, value)
    last = parent.children[-1]
    comma = skip(text, last.node.end)
    trailing = text[comma] == ","
    if not _starts_its_line(text, last.start):
        if trailing:
            return f"{text[: comma + 1]} {name}{_one_line(value)},{text[comma + 1 :]}"
        return f"{text[: last.node.end]}, {name}{_one_line(value)}{text[last.node.end :]}"
    indent = _line_indent(text, last.start)
    new = line_end(text) + indent + name + _written(text, value, indent)
    at = _end_of_line(text, comma + 1 if trailing else last.node.end)
    if trailing:
        return text[:at] + new + "," + text[at:]
    return text[: last.node.end] + "," + text[last.node.end : at] + new + text[at:]


def _into_empty(text: str, parent: Node, name: str, value: Any) -> str:
    inside = comments(text, parent.start + 1, parent.end - 1)
    at = inside[-1][1] if inside else parent.start + 1
    if "\n" not in text.strip() and parent.start != skip(text, 0):
        return text[:at] + name + _one_line(value) + text[parent.end - 1 :]
    base = _line_indent(text, parent.start)
    indent = base + _unit(text)
    new = line_end(text) + indent + name + _written(text, value, indent)
    rest = text[at:] if inside and "\n" in text[at : parent.end] else line_end(text) + base + text[parent.end - 1 :]
    return text[:at] + new + rest


def _written(text: str, value: Any, indent: str) -> str:
    """A value as lines that fit the text, if it has lines at all."""
    if "\n" not in text.strip() and len(parse(text).children):
        return _one_line(value)
    lines = json.dumps(value, ensure_ascii=False, indent=_unit(text))
    return lines.replace("\n", line_end(text) + indent)


def _one_line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _unit(text: str) -> str:
    """One step of indentation: what the first indented line has."""
    match = _INDENT.search(text)
    return match[0] if match else "  "


def _line_indent(text: str, at: int) -> str:
    start = text.rfind("\n", 0, at) + 1
    return text[start : start + len(text[start:at]) - len(text[start:at].lstrip(" \t"))]


def _starts_its_line(text: str, at: int) -> bool:
    return not text[text.rfind("\n", 0, at) + 1 : at].strip() and "\n" in text[:at]


def _end_of_line(text: str, at: int) -> int:
    """Behind the comments that follow on the same line."""
    stop = skip(text, at)
    for start, end in comments(text, at, stop):
        if "\n" in text[at:start]:
            break
        at = end
    return at


def _with_space(text: str, before: int, start: int, end: int, *, forwards: bool) -> tuple[int, int]:
    """What to cut, with space around it: a whole line where it has one, but no line end that a comment needs."""
    bare = before + len(text[before:start].rstrip())
    behind = skip_space(text, end)
    if "\n" in text[end:behind]:
        return bare, end
    if forwards:
        return start, behind
    return (start if "\n" in text[bare:start] else bare), end
