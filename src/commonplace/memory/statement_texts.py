"""What a memory states: its text, after a title of its own. Contradictions and names are looked for in that."""

from __future__ import annotations

from functools import lru_cache

from commonplace.model import Draft, Item
from commonplace.text.sentences import title_of

# Statements are short; of a long text the beginning says what it is about.
_STATEMENT_READ = 2_000


def statement_text(written: Draft | Item) -> str:
    """What a memory states: its text, after a title of its own."""
    return titled_statement(written.title, written.body)


def titled_statement(title: str, body: str) -> str:
    """What a text states, after a title that is not its own beginning."""
    return _short_statement(title, body) if len(body) <= _STATEMENT_READ else _titled(title, body)


@lru_cache(maxsize=512)
def _short_statement(title: str, body: str) -> str:
    """The same statements are compared with each new one."""
    return _titled(title, body)


def _titled(title: str, body: str) -> str:
    text = body.strip()
    named = "" if title_of(text) == title else title
    return "\n".join(part for part in (named, text) if part)[:_STATEMENT_READ]
