"""Secrets in the columns of tables, known by their headings: Markdown, CSV and TSV."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from commonplace.text.secret_values import (
    Found,
    is_pin,
    is_secret_in_prose,
    is_user_and_password,
    looks_like_joined_words,
)
from commonplace.text.secrets_by_context import KEY_OWNERS, PASSWORD_NAMES, TRIMMED

_HEADING = re.compile(
    rf"(?:[^\W_]{{1,30}}[ ._-]){{0,3}}(?:(?P<password>{PASSWORD_NAMES})|(?P<pin>pin(?:[ ._-]?(?:code|number))?)"
    rf"|(?P<basic_auth>auth)|(?:secret|token|credentials?|{KEY_OWNERS}[ ._-]?key))(?:[ ._-]?(?:key|value|hash))?",
    re.IGNORECASE,
)
_HASHED = re.compile(r"hash\Z", re.IGNORECASE)
_RULE = re.compile(r"[ \t>]*+(?:\|[ \t]*+)?(?::?-++:?[ \t]*+(?:\|[ \t]*+|\Z))++")
_PLAIN_HEADER = re.compile(r"[\w.-]{1,40}(?: [\w.-]{1,40}){0,2}")
_JUDGES: Mapping[str, Callable[[str], bool]] = {
    "password": lambda value: is_secret_in_prose(value, password=True) or looks_like_joined_words(value),
    "pin": is_pin,
    "basic-auth": is_user_and_password,
    "secret": lambda value: is_secret_in_prose(value, password=False),
}


def secrets_in_columns(text: str, starts: list[int]) -> Iterator[Found]:
    """Cells under a heading such as `Password`, in Markdown tables, CSV and TSV.

    `starts` are the places where such a heading may be, in order. Every line is read once.
    """
    done = 0
    for start in starts:
        if start < done:
            continue
        at, end = text.rfind("\n", 0, start) + 1, _line_end(text, start)
        done = end
        header = text[at:end]
        delimiter = _delimiter(header)
        columns = _telling_columns(header, delimiter) if delimiter else {}
        if delimiter is None or not columns:
            continue
        number, at = len(header.split(delimiter)), end + 1
        if delimiter == "|":
            at = _after_rule(text, at)
        while 0 <= at < len(text):
            end = _line_end(text, at)
            cells = text[at:end].split(delimiter)
            if len(cells) < 2 or (delimiter != "|" and len(cells) != number):
                break
            yield from filter(None, (_cell(cells, index, at, kind) for index, kind in columns.items()))
            at = done = end + 1


def _after_rule(text: str, at: int) -> int:
    """Where the rows of a Markdown table begin, below its rule; -1 without one."""
    end = _line_end(text, at)
    return end + 1 if _RULE.fullmatch(text, at, end) else -1


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _delimiter(header: str) -> str | None:
    return next((sign for sign in ("|", "\t", ",", ";") if sign in header), None)


def _telling_columns(header: str, delimiter: str) -> dict[int, str]:
    """The columns that hold secrets, and of which kind those are."""
    cells = [cell.strip(" \t\r>" + TRIMMED) for cell in header.split(delimiter)]
    if delimiter != "|" and not all(map(_PLAIN_HEADER.fullmatch, cells)):
        return {}
    return {
        index: (heading.lastgroup or "secret").replace("_", "-")
        for index, cell in enumerate(cells)
        if (heading := _HEADING.fullmatch(cell)) and not _HASHED.search(cell)
    }


def _cell(cells: list[str], index: int, at: int, kind: str) -> Found | None:
    raw = cells[index] if index < len(cells) else ""
    value = raw.strip(" \t\r" + TRIMMED)
    if " " in value or not _JUDGES[kind](value):
        return None
    start = at + sum(len(cell) + 1 for cell in cells[:index]) + raw.index(value)
    return start, start + len(value), kind
