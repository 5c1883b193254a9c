"""Reading JSON of any length in little memory: element by element, or line by line.

A line that cannot be read costs only itself; in other JSON, the rest of the file is skipped from there on.
"""

from __future__ import annotations

import codecs
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeVar

from commonplace.capture.import_report import Entry, Skipped, Stream, max_held
from commonplace.errors import CommonplaceError
from commonplace.memory.conversations import NewMessage
from commonplace.text.untrusted_json import check_json, values_for

T = TypeVar("T")
CHUNK = 1 << 20
MAX_ELEMENT = 1 << 26
"""Characters that one element may have; more is not a conversation."""

# A decoder that runs out of text fails within this many characters of its end, or at an open string.
_MARGIN = 64
# The rest of a value whose end is missing.
_OPEN_NUMBER = re.compile(r"(?:[.]|[eE][+-]?)?")
_INCOMPLETE = re.compile(r"\\?[\w.+-]*\s*")
_SPACE = re.compile(r"[ \t\n\r]*")
_BLANK = b" \t\r\n\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Element:
    """One value, its number (from 1), the character at which it begins, and the array it is in."""

    number: int
    at: int
    value: Any
    within: str = ""


class _Malformed(Exception):
    """What is wrong, and at which character."""

    def __init__(self, why: str, at: int) -> None:
        super().__init__(why)
        self.why, self.at = why, at


def elements(stream: Stream, within: str, chunk: int = CHUNK) -> Iterator[Element | Skipped]:
    """The elements of a top-level array, or of the array `within` in a top-level object, or that object itself.

    Several values may follow each other, as in JSON lines. If the text cannot be read, the rest is skipped.
    """
    return _read(stream, (within,), chunk, rest=False)


def records(stream: Stream, within: Collection[str], chunk: int = CHUNK) -> Iterator[Element | Skipped]:
    """The same for several arrays of an object, and after them its other fields."""
    return _read(stream, within, chunk, rest=True)


def _read(stream: Stream, within: Collection[str], chunk: int, *, rest: bool) -> Iterator[Element | Skipped]:
    window = _Window(stream, chunk)
    number = 0
    try:
        while window.peek():
            for at, value, name in _values(window, within, rest):
                number += 1
                yield Element(number, at, value, name)
        window.check()
    except _Malformed as error:
        yield Skipped(f"everything from character {error.at:,} on", f"{error.why} at character {error.at:,}", "file")


def read_conversations(stream: Stream, read: Callable[[Any, str], Iterable[Entry]]) -> Iterator[Entry]:
    """Every conversation of a `conversations.json`, made by `read` of a value and its place, and what was skipped."""
    for element in elements(stream, "conversations"):
        if isinstance(element, Skipped):
            yield element
        else:
            yield from read(element.value, f"conversation {element.number} at character {element.at:,}")


class UnreadableMessage(Exception):
    """Why a message cannot be imported."""


def collect_messages(
    sources: Iterable[T], read: Callable[[T, int | None], NewMessage | None], started_ms: int | None
) -> tuple[list[NewMessage], Counter[str]]:
    """The messages that `read` makes of each source and the time of the one before, and why others were skipped."""
    messages: list[NewMessage] = []
    skipped: Counter[str] = Counter()
    latest = started_ms
    for source in sources:
        try:
            message = read(source, latest)
        except UnreadableMessage as error:
            skipped[str(error)] += 1
        except RecursionError:
            skipped["nested too deeply"] += 1
        else:
            if message is not None:
                messages.append(message)
                latest = message.at_ms
    return messages, skipped


def skipped_messages(where: str, messages: Sequence[NewMessage], skipped: Mapping[str, int]) -> Iterator[Skipped]:
    """What to report of a conversation besides its messages."""
    for why, count in skipped.items():
        yield Skipped(where, why, "message", count)
    if not messages:
        yield Skipped(where, "it has no messages")


def _values(window: _Window, within: Collection[str], rest: bool) -> Iterator[tuple[int, Any, str]]:
    opening = window.peek()
    if opening == "[":
        for at, value in _array(window):
            yield at, value, ""
    elif opening == "{":
        yield from _object(window, within, rest)
    else:
        raise _Malformed("it is not JSON", window.position)


def _array(window: _Window) -> Iterator[tuple[int, Any]]:
    window.take("[")
    if window.peek() != "]":
        yield window.value()
        while window.peek() == ",":
            window.take(",")
            yield window.value()
    window.take("]")


def _object(window: _Window, within: Collection[str], rest: bool) -> Iterator[tuple[int, Any, str]]:
    start, streamed = window.position, False
    fields: dict[str, Any] = {}
    window.take("{")
    while window.peek() != "}":
        if fields or streamed:
            window.take(",")
            window.peek()
        at, name = window.value()
        if not isinstance(name, str):
            raise _Malformed("a field has no name", at)
        window.peek()
        window.take(":")
        if name in within and window.peek() == "[":
            for at, value in _array(window):
                yield at, value, name
            streamed = True
        else:
            fields[name] = window.value()[1]
    window.take("}")
    if not streamed or (rest and fields):
        yield start, fields, ""


class _Window:
    """The part of the text that is being read."""

    def __init__(self, stream: Stream, chunk: int) -> None:
        self._stream, self._chunk = stream, chunk
        self._most = max_held(stream)
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._scan = json.JSONDecoder().raw_decode
        self._text, self._at, self._passed = "", 0, 0
        self._ended, self._fault = False, ""

    @property
    def position(self) -> int:
        return self._passed + self._at

    def peek(self) -> str:
        """The next character that is no space; empty at the end."""
        while True:
            space = _SPACE.match(self._text, self._at)
            self._at = space.end() if space else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more(self._chunk):
                return ""

    def take(self, character: str) -> None:
        found = self.peek()
        if found != character:
            self.check()
            raise _Malformed(f"{character} is missing" if found else "the file ends too early", self.position)
        self._at += 1

    def value(self) -> tuple[int, Any]:
        """The next value and where it begins. Each try reads twice as much, so that nothing is parsed too often."""
        self.peek()
        at = self.position
        while True:
            try:
                value, end = self._scan(self._text, self._at)
            except json.JSONDecodeError as error:
                open_end = error.pos >= len(self._text) - _MARGIN or error.msg.startswith("Unterminated string")
                if open_end and not self._ended:
                    self._check_size(at)
                wanted = min(len(self._text) - self._at, self._most - sys.getsizeof(self._text))
                if open_end and self._more(max(self._chunk, wanted)):
                    continue
                self.check()
                short = error.msg.startswith("Unterminated string") or _INCOMPLETE.fullmatch(self._text, error.pos)
                why = "the file ends in the middle of a value that begins" if short else f"not JSON ({error.msg})"
                raise _Malformed(why, at if short else self._passed + error.pos) from None
            except (ValueError, RecursionError):
                raise _Malformed("a number too long or a nesting too deep, in the value that begins", at) from None
            # A number may continue beyond the text that was read so far, also where that ends with "1." or "1e+".
            if _OPEN_NUMBER.fullmatch(self._text, end) and self._more(self._chunk):
                continue
            self._at = end
            return at, value

    def check(self) -> None:
        """Fail if the text ended because it could not be read."""
        if self._fault:
            raise _Malformed(self._fault, self._passed + len(self._text))

    def _check_size(self, at: int) -> None:
        """Refuse to continue with a value that would take too much memory; the text so far is all part of it."""
        self._text, self._at, self._passed = self._text[self._at :], 0, self._passed + self._at
        if len(self._text) > MAX_ELEMENT:
            raise _Malformed(f"a value of more than {MAX_ELEMENT:,} characters begins", at)
        if sys.getsizeof(self._text) > self._most:
            raise _Malformed("a value that is too long for an upload of this size (unpack it first) begins", at)
        raw = self._text.encode("utf-8", "replace")
        try:
            check_json(raw, values_for(len(raw)), "it")
        except CommonplaceError as error:
            raise _Malformed(f"{error.message.rstrip('.')}, in the value that begins", at) from None

    def _more(self, size: int) -> bool:
        if self._ended:
            return False
        raw = self._stream.read(size)
        self._ended = not raw
        try:
            new = self._decoder.decode(raw, final=self._ended)
        except UnicodeDecodeError as error:
            new = error.object[: error.start].decode("utf-8", "ignore")
            self._fault, self._ended = "bytes that are not UTF-8", True
        rest, self._passed, self._at = self._text[self._at :], self._passed + self._at, 0
        # Released first, so that the old and the new text are not in memory at once.
        self._text = ""
        self._text = rest + new
        return bool(new) or not self._ended


def lines_or_records(stream: Stream, name: str, chunk: int = CHUNK) -> Iterator[Element | Skipped]:
    """The lines of a file if the first is a whole value, or its name ends with .jsonl; else its records."""
    lines = _split_lines(stream, chunk)
    first = next(lines, b"")
    if name.lower().endswith(".jsonl") or not isinstance(_parse_line(first), Skipped):
        yield from _line_elements(chain((first,), lines))
    else:
        yield from records(_LineStream(chain((first,), lines)), ())


def _line_elements(lines: Iterable[bytes | None]) -> Iterator[Element | Skipped]:
    at = 0
    for number, line in enumerate(lines, 1):
        if line is None or line.strip(_BLANK):
            value = _parse_line(line, f"line {number}")
            yield value if isinstance(value, Skipped) else Element(number, at, value)
        at += len(line or b"")


def _parse_line(line: bytes | None, where: str = "") -> object:
    if line is None:
        return Skipped(where, "it is too long", "item")
    try:
        check_json(line, values_for(len(line)), "it")
        return json.loads(line.decode("utf-8-sig"))
    except CommonplaceError as error:
        return Skipped(where, error.message.rstrip("."), "item")
    except (ValueError, RecursionError):
        return Skipped(where, "it is not JSON", "item")


def _split_lines(stream: Stream, chunk: int) -> Iterator[bytes | None]:
    """Each line with its end; None for one that is too long for the memory."""
    held, too_long = b"", False
    # A character takes up to four bytes in memory.
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


class _LineStream:
    """Lines as a stream of bytes again."""

    def __init__(self, lines: Iterator[bytes | None]) -> None:
        self._lines = lines

    def read(self, _size: int = -1, /) -> bytes:
        return next((line for line in self._lines if line is not None), b"")
