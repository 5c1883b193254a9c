"""Secrets of Kubernetes: every value under `data` and `stringData` of an object whose `kind` is `Secret`.

The names there say nothing (`tls.crt`, `username`), and values are in base64. Objects are read as they are printed: by
indentation, as in YAML and in JSON over several lines, or by braces, as in JSON on one line. Every line is read once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from commonplace.text.secret_values import Found

Span = tuple[int, int]

_FIELDS = ("data", "stringData")
_MENTION = re.compile(r"""\bkind["']?\s{0,8}:\s{0,8}["']?Secret\b""")
# A key and its value. Marks of quotations, changes and items of a list count as indentation.
_LINE = re.compile(
    r"""(?P<indent>[ \t>+-]*+)(?P<quote>["']?)(?P<key>[\w./-]{1,253})(?P=quote)[ \t]*+:"""
    r"(?:[ \t]++(?P<value>.*+))?\r?$",
    re.MULTILINE,
)
_INDENT = re.compile(r"[ \t>+-]*+")
_ITEM = re.compile(r"-[ \t]")
_QUOTED = re.compile(r'"((?:[^"\\\n]|\\.)*+)"|\'([^\'\n]*+)\'')
_COMMENT = re.compile(r"[ \t]#")
_TOKEN = re.compile(
    r"""(?P<string>"(?:[^"\\\n]|\\.)*+"?|'[^'\n]*+'?)|\[REDACTED:[\w-]{1,40}\]|[{}\[\],:]|[^\s{}\[\],:"']++"""
)
# What stands in place of a value, and what begins a text of several lines.
_NO_VALUE = re.compile(r"\{\{.*|\$[{(].*|<[^<>]*>|\[REDACTED:[\w-]+\]|[|>][+-]?\d?[+-]?|null|~|\W{0,3}")


@dataclass(slots=True)
class _Object:
    """An object that is being read."""

    column: int
    # Where values within it belong: to the object around it whose `data` this is.
    values_of: list[Span] | None
    # The values of its own `data`.
    data: list[Span] = field(default_factory=list)
    key: str = ""
    is_secret: bool = False

    def of_child(self) -> list[Span] | None:
        if self.values_of is not None:
            return self.values_of
        return self.data if self.key in _FIELDS else None

    def note(self, text: str, start: int, end: int) -> None:
        """Note a value of the object."""
        if self.values_of is not None:
            _note_value(text, start, end, self.values_of)
        elif self.key == "kind" and text[start:end] == "Secret":
            self.is_secret = True


def secrets_in_manifests(text: str) -> list[Found]:
    """The values of all Kubernetes secrets in a text, in order."""
    if not _MENTION.search(text):
        return []
    found: list[Found] = []
    done = 0
    for start, end in sorted([*_by_indentation(text), *_by_braces(text)]):
        if start >= done:
            found.append((start, end, "secret"))
            done = end
    return found


def _by_indentation(text: str) -> Iterator[Span]:
    around: list[_Object] = []
    at = 0
    while at < len(text):
        start = at
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        at = end + 1
        indent = _INDENT.match(text, start, end)
        first = indent.end() if indent else start
        if first == end and "---" not in text[start:end]:
            continue
        column = first - start if first < end else -1
        # An item of a list ends the one before it, which stands as far to the right.
        ends_at = column if _ITEM.search(text, start, first) else column + 1
        while around and around[-1].column >= ends_at:
            yield from _secrets_of(around.pop())
        _note_line(text, start, first, end, around)
    while around:
        yield from _secrets_of(around.pop())


def _note_line(text: str, start: int, first: int, end: int, around: list[_Object]) -> None:
    """Note a line, whose words begin at `first`, in the object that it belongs to."""
    column = first - start if first < end else -1
    outer = around[-1] if around and around[-1].column < column else None
    line = _LINE.match(text, start, end)
    if line is None:
        # The next line of a text, or prose.
        values = outer.of_child() if outer else None
        if values is not None and text[first] != "#":
            _note_value(text, first, end, values)
        return
    if outer or not around:
        around.append(_Object(column, outer.of_child() if outer else None))
    current = around[-1]
    current.key = line["key"]
    if line["value"]:
        _note_written(text, line.start("value"), end, current)


def _note_written(text: str, start: int, end: int, current: _Object) -> None:
    """Note what stands after a key on its line."""
    if text[start] == "{" and not text.startswith("{{", start):
        values = current.of_child()
        if values is not None:
            _read_braces(text, start, end, _Object(0, None, values, "data"))
        return
    if quoted := _QUOTED.match(text, start, end):
        start, end = quoted.span(quoted.lastindex or 0)
    elif comment := _COMMENT.search(text, start, end):
        end = comment.start()
    current.note(text, start, start + len(text[start:end].rstrip()))


def _note_value(text: str, start: int, end: int, values: list[Span]) -> None:
    end = start + len(text[start:end].rstrip())
    if not _NO_VALUE.fullmatch(text, start, end):
        values.append((start, end))


def _secrets_of(ended: _Object) -> list[Span]:
    return ended.data if ended.is_secret else []


def _by_braces(text: str) -> Iterator[Span]:
    """The values of secrets that stand on one line."""
    done = 0
    for mention in _MENTION.finditer(text):
        if mention.start() < done:
            continue
        end = text.find("\n", mention.end())
        done = len(text) if end < 0 else end
        brace = text.find("{", text.rfind("\n", 0, mention.start()) + 1, mention.start())
        if brace >= 0:
            yield from _read_braces(text, brace, done, _Object(0, None))


def _read_braces(text: str, at: int, end: int, outside: _Object) -> list[Span]:
    """The values of secrets between braces; values of the data of `outside` are noted there."""
    found: list[Span] = []
    around = [outside]
    written: Span | None = None
    for token in _TOKEN.finditer(text, at, end):
        sign, current = token[0], around[-1]
        if sign in "{}," and written:
            current.note(text, *written)
        if sign == "{":
            around.append(_Object(0, current.of_child()))
            written = None
        elif sign == "}":
            if len(around) > 1:
                found += _secrets_of(around.pop())
            written = None
        elif sign == ",":
            current.key, written = "", None
        elif sign == ":" and not current.key:
            current.key, written = text[slice(*written)] if written else "", None
        elif sign not in "[]":
            quoted = token["string"] is not None and _QUOTED.fullmatch(sign)
            start, stop = token.span()
            written = (written[0] if written else start, stop)
            if quoted and written[0] == start:
                written = (start + 1, stop - 1)
    for unclosed in around[1:]:
        found += _secrets_of(unclosed)
    return found
