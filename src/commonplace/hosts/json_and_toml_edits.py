"""JSON as people write it in settings, with comments and trailing commas, read together with where everything is."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from tomlkit.items import InlineTable


_SPACE = re.compile(r"[ \t\r\n]*")
_TRIVIA = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_NAME = re.compile(r'"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*"')


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


# Most files, and most parts of the others, are plain JSON, which this reads much faster than we could.
_PLAIN = json.JSONDecoder(parse_constant=_refuse)


class Child(NamedTuple):
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


def parse_json(text: str) -> Node:
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


Keys = tuple[str | int, ...]
_INDENT = re.compile(r"^[ \t]+(?=\S)", re.MULTILINE)


def put_json(text: str, path: Keys, value: Any) -> str:
    """The text with a value at a path of names; what is missing on the way is made. ValueError if it cannot be."""
    text = text if text.strip() else "{}" + line_end(text)
    root = parse_json(text)
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


def append_json(text: str, path: Keys, value: Any) -> str:
    """The text with one more item in the list at a path."""
    there = parse_json(text).at(path) if text.strip() else None
    if there is None:
        return put_json(text, path, [value])
    if not isinstance(there.value, list):
        raise ValueError(f"{'.'.join(map(str, path))} is not a list")
    return _inserted(text, there, value)


def remove_json(text: str, path: Keys) -> str:
    """The text without what is at a path. Comments stay."""
    parent = parse_json(text).at(path[:-1])
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
    if "\n" not in text.strip() and len(parse_json(text).children):
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


def put_toml(text: str, servers: str, name: str, entry: dict[str, Any]) -> str:
    """The text with a server in it; ValueError if there is no place for one."""
    import tomlkit
    from tomlkit.items import InlineTable, Table

    document = tomlkit.parse(text)
    table = document.get(servers)
    if table is not None and not isinstance(table, dict):
        raise ValueError(f"{servers} is not a table")
    if table is not None and name in table:
        there = table[name]
        for key in [key for key in there if key not in entry]:
            del there[key]
        for key, value in entry.items():
            if there.get(key) != value:
                there[key] = _inline(value)
        return tomlkit.dumps(document)
    if isinstance(table, InlineTable):
        table[name] = _inline(entry)
        return tomlkit.dumps(document)
    made = tomlkit.document()
    made[servers] = tomlkit.table(is_super_table=True)
    body = made[servers]
    assert isinstance(body, Table)
    body[name] = {key: _inline(value) for key, value in entry.items()}
    return _on_a_new_line(text) + tomlkit.dumps(made).replace("\n", line_end(text))


def remove_toml(text: str, path: tuple[str, ...]) -> str:
    """The text without the table at a path."""
    import tomlkit

    document = tomlkit.parse(text)
    parent: Any = document
    for key in path[:-1]:
        parent = parent[key]
    del parent[path[-1]]
    return tomlkit.dumps(document)


def _on_a_new_line(text: str) -> str:
    end = line_end(text)
    if not text.strip():
        return text
    return text + ("" if text.endswith("\n") else end) + ("" if text.endswith(end * 2) else end)


def _inline(value: Any) -> Any:
    """A table within a server's is written on one line."""
    import tomlkit

    if not isinstance(value, dict):
        return value
    table: InlineTable = tomlkit.inline_table()
    for key, inner in value.items():
        table[key] = _inline(inner)
    return table
