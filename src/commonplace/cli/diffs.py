"""What would change in a file, as people and programs know it from `diff -u`."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from commonplace.hosts.writing import Change


def diff(change: Change, name: str | None = None) -> str:
    """A change as a unified diff, under its path or under another name for that."""
    path = change.path if name is None else name
    old, new = (
        f"{side}/{path.removeprefix('/')}" if data is not None else "/dev/null"
        for side, data in (("a", change.before), ("b", change.after))
    )
    return "".join(difflib.unified_diff(_lines(change.before), _lines(change.after), old, new)).rstrip("\n")


def _lines(data: bytes | None) -> list[str]:
    text = (data or b"").decode("utf-8")
    return [line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in _cut(text)]


def _cut(text: str) -> list[str]:
    """Lines at LF only, as diff cuts them."""
    pieces = text.split("\n")
    return [piece + "\n" for piece in pieces[:-1]] + ([pieces[-1]] if pieces[-1] else [])
