"""JSON and gzip from outside: limits that are checked first, and fields that are read without trust.

Two characters of JSON can become more than a hundred bytes of objects, and a byte of gzip a thousand characters. So
the values of a text are counted, and its depth is measured, while it is still bytes: by counting commas and brackets,
and only where those are many by leaving out the ones inside strings. A field may be missing, of another type or
nonsense.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import Any

from commonplace.errors import InvalidInput, TooLarge
from commonplace.text.dates import EARLIEST_MS, LATEST_MS, parse_time

MAX_DEPTH = 100
# For a request that is one thing, and for one that may hold many.
MAX_VALUES, MAX_VALUES_OF_MANY = 50_000, 250_000
# An object takes as much memory as so many other values.
OBJECT_COUNTS = 4
# One more value is allowed for each so many bytes of a file: texts may have many, if they are long.
_BYTES_PER_VALUE = 20
# What gzip may unpack to beyond a multiple of its size.
UNPACKED, UNPACKED_PER_BYTE = 4 << 20, 2
_SPLIT = "Send it in smaller parts."
_PIECE = 1 << 16
_NO_STRUCTURE = bytes({*range(256)} - {*b',[]{}"'})
_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_NO_BRACKETS = bytes({*range(256)} - {*_STEPS})


def values_for(size: int) -> int:
    """How many values a JSON text of a file may hold, by its size in bytes."""
    return MAX_VALUES_OF_MANY + size // _BYTES_PER_VALUE


def unpacked_for(size: int) -> int:
    """How many bytes a packed body may unpack to, by its packed size."""
    return UNPACKED + UNPACKED_PER_BYTE * size


def check_json(raw: bytes, max_values: int, what: str = "The request body", *, max_depth: int = MAX_DEPTH) -> None:
    """Refuse JSON with more values than this, or nested deeper. Whether it is JSON at all is for its parser to say."""
    opening = raw.count(b"[") + raw.count(b"{")
    # Inside strings there may be as many as you like, but only a large text has that many.
    if opening <= max_depth and opening * OBJECT_COUNTS + raw.count(b",") <= max_values:
        return
    values = level = 0
    # Sound JSON has no more brackets than that; unsound JSON is refused where the first one is too many.
    brackets = 2 * max_values
    for piece in _structure(raw):
        levels = [*accumulate(map(_STEPS.__getitem__, piece.translate(None, _NO_BRACKETS)[:brackets]), initial=level)]
        if max(levels) > max_depth:
            raise InvalidInput(f"{what} is nested too deeply to parse.", f"Nest at most {max_depth} levels.")
        level, brackets = levels[-1], brackets - len(levels) + 1
        values += piece.count(b",") + piece.count(b"[") + OBJECT_COUNTS * piece.count(b"{")
        if values > max_values:
            raise TooLarge(f"{what} has more than {max_values:,} values.", _SPLIT)


def unpack_gzip(raw: bytes, most: int, what: str = "The request body") -> bytes:
    """What was packed, unless that is more than `most` bytes."""
    reader = zlib.decompressobj(wbits=31)
    try:
        body = reader.decompress(raw, most + 1)
    except zlib.error as error:
        raise InvalidInput(f"{what} is not valid gzip.", "Compress it again, or send it uncompressed.") from error
    if len(body) > most:
        raise TooLarge(f"{what} unpacks to more than {most:,} bytes.", "Send it uncompressed, or in smaller parts.")
    if not reader.eof or reader.unused_data:
        where = "goes on after" if reader.eof else "ends in the middle of"
        raise InvalidInput(f"{what} {where} its gzip data.", "Send all of it, compressed once.")
    return body


def _structure(raw: bytes) -> Iterator[bytes]:
    """The commas and brackets outside of strings, in pieces."""
    inside, held = False, b""
    for at in range(0, len(raw), _PIECE):
        piece = held + raw[at : at + _PIECE]
        # A backslash at the end belongs to what follows, if it is not itself what a backslash stands before.
        odd = (len(piece) - len(piece.rstrip(b"\\"))) % 2
        held = b"\\" * odd
        piece = piece[: len(piece) - odd].replace(b"\\\\", b"").replace(b'\\"', b"")
        parts = piece.translate(None, _NO_STRUCTURE).split(b'"')
        yield b"".join(parts[inside::2])
        inside ^= len(parts) % 2 == 0


def text_in(data: Mapping[str, Any], *names: str) -> str:
    """The first of these fields that holds some text; empty if none does."""
    for name in names:
        value = data.get(name)
        if isinstance(value, str) and value.strip():
            return value
    return ""


def as_object(value: object) -> dict[str, Any]:
    """An object, given as it is or written as JSON; empty where it is neither."""
    if isinstance(value, dict):
        return value
    try:
        found = json.loads(value) if isinstance(value, str | bytes) else {}
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def object_in(data: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A field that is an object; empty if it is anything else."""
    value = data.get(name)
    return value if isinstance(value, dict) else {}


def objects_in(data: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """The objects in a field that is a list; other entries are ignored."""
    value = data.get(name)
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def seconds_in(data: Mapping[str, Any], name: str) -> int | None:
    """Seconds since 1970 as milliseconds; None if missing or outside the calendar."""
    value = data.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < LATEST_MS:
        return None
    return _within_calendar(round(value * 1000))


def time_in(data: Mapping[str, Any], name: str) -> int | None:
    """An ISO 8601 time as milliseconds; None if missing or unreadable."""
    try:
        return _within_calendar(parse_time(text_in(data, name), local=False))
    except InvalidInput:
        return None


def parse_if_json(value: Any) -> Any:
    """The object or list that a string spells as JSON; any other value unchanged."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _within_calendar(ms: int) -> int | None:
    return ms if EARLIEST_MS <= ms <= LATEST_MS else None
