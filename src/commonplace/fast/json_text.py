"""JSON as `json` reads and writes it, by the parts of the interpreter that `json` is made of.

Importing `json` takes longer than a whole hook, because it imports `re`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_SPACE = " \t\r\n"
_scan: Callable[[str, int], tuple[Any, int]]
_encode: Callable[[object, int], tuple[str, ...]]


class _LikeJson:
    """How the scanner reads: like `json` does by default."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float, parse_int, parse_constant = float, int, float


def _refuse(value: object) -> object:
    raise TypeError(f"{type(value).__name__} is no JSON")


try:
    from _json import encode_basestring_ascii, make_encoder, make_scanner
except ImportError:
    # Another interpreter than CPython.
    import json

    def _encode(value: object, _level: int) -> tuple[str, ...]:
        return (json.dumps(value),)

    _scan = json.JSONDecoder().raw_decode
else:
    _scan = make_scanner(_LikeJson())  # type: ignore[arg-type] # needs these names only
    _encode = make_encoder({}, _refuse, encode_basestring_ascii, None, ": ", ", ", False, False, True)


def write_json(value: object) -> str:
    """A value as `json.dumps` writes it."""
    return "".join(_encode(value, 0))


def read_value(text: str, start: int = 0) -> tuple[Any, int]:
    """The JSON value that begins at a place of a text, and where it ends; ValueError if there is none."""
    try:
        return _scan(text, start)
    except (StopIteration, SystemError):
        # The second where the error for half a value would be one of `json`, which is not loaded.
        raise ValueError("no JSON") from None


def parse_json(text: str) -> Any:
    """The JSON value that a text consists of; ValueError if it is something else."""
    text = text.strip(_SPACE)
    value, end = read_value(text)
    if end != len(text):
        raise ValueError("more than one JSON value")
    return value


def object_in(content: bytes) -> dict[str, Any]:
    """The object at the beginning of what a host sent; an empty one if there is no object."""
    try:
        value, _end = read_value(content.decode("utf-8-sig").lstrip())
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def field_text(fields: dict[str, Any], *names: str) -> str:
    """The first of these fields that holds some text."""
    for name in names:
        value = fields.get(name)
        if value and isinstance(value, str):
            return value
    return ""
