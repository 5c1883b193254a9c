"""The little JSON that the start of a session needs, without `json`: what that loads takes longer than the whole hook.

The interpreter's own scanner and quoter are what `json` is built on; where there are none, `json` does it.
"""

from __future__ import annotations


def parsed(text: str) -> object:
    """What a text says, up to where its value ends; a ValueError if it says nothing."""
    try:
        from _json import make_scanner
    except ImportError:
        import json

        return json.loads(text)
    try:
        return make_scanner(_Plain())(text.lstrip(), 0)[0]  # type: ignore[arg-type] # whatever has these names will do
    except StopIteration:
        raise ValueError("no JSON") from None


def quoted(text: str) -> str:
    """A text as JSON, in letters of ASCII."""
    try:
        from _json import encode_basestring_ascii
    except ImportError:
        import json

        return json.dumps(text)
    return encode_basestring_ascii(text)


class _Plain:
    """How a scanner is to read: like `json` does if it is told nothing else."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float, parse_int, parse_constant = float, int, float
