"""A value of JSON on each line: one that cannot be read costs only itself."""

from __future__ import annotations

import json
from collections.abc import Iterator

from commonplace.capture.foreign import Skipped, Stream, max_held
from commonplace.capture.json_stream import CHUNK, MAX_ELEMENT, Element, records
from commonplace.errors import CommonplaceError
from commonplace.input_limits import check_json, values_for

_BLANK = b" \t\r\n\xef\xbb\xbf"


def lines_or_records(stream: Stream, name: str, chunk: int = CHUNK) -> Iterator[Element | Skipped]:
    """The lines of a file whose first one is a value by itself, or whose name says so; else its records."""
    lines = _lines(stream, chunk)
    first = next(lines, b"")
    if name.lower().endswith(".jsonl") or not isinstance(_value(first), Skipped):
        yield from _elements(first, lines)
    else:
        yield from records(_Rejoined(first, lines), ())


def _elements(first: bytes | None, rest: Iterator[bytes | None]) -> Iterator[Element | Skipped]:
    number, at, line = 0, 0, first
    while True:
        number += 1
        if line is None or line.strip(_BLANK):
            value = _value(line, f"line {number}")
            yield value if isinstance(value, Skipped) else Element(number, at, value)
        at += len(line or b"")
        try:
            line = next(rest)
        except StopIteration:
            return


def _value(line: bytes | None, where: str = "") -> object:
    if line is None:
        return Skipped(where, "it is too long", "item")
    try:
        check_json(line, values_for(len(line)), "it")
        return json.loads(line.decode("utf-8-sig"))
    except CommonplaceError as error:
        return Skipped(where, error.message.rstrip("."), "item")
    except (ValueError, RecursionError):
        return Skipped(where, "it is not JSON", "item")


def _lines(stream: Stream, chunk: int) -> Iterator[bytes | None]:
    """Each line with its end; None for one that nobody could hold."""
    held, too_long = b"", False
    # A letter of a line may take four bytes once it is text.
    most = min(MAX_ELEMENT, max_held(stream) // 4)
    while piece := stream.read(chunk):
        *whole, held = (held + piece).split(b"\n")
        for line in whole:
            yield None if too_long else line + b"\n"
            too_long = False
        if len(held) > most:
            held, too_long = b"", True
    if held or too_long:
        yield None if too_long else held


class _Rejoined:
    """Lines that were taken apart, as bytes again."""

    def __init__(self, first: bytes | None, rest: Iterator[bytes | None]) -> None:
        self._next, self._rest = first, rest

    def read(self, _size: int = -1, /) -> bytes:
        now, self._next = self._next, None
        while now is None:
            try:
                now = next(self._rest)
            except StopIteration:
                return b""
        return now
