"""Marks in a text: the words that a question asked for, wherever they stand in any of their forms."""

from __future__ import annotations

import re
from collections.abc import Collection

from markupsafe import Markup, escape

from commonplace.text.excerpt import excerpt
from commonplace.text.tokens import index_text

_WORD = re.compile(r"\w+")


def marked(text: str, sought: Collection[str]) -> Markup:
    """The text as HTML, with what is sought inside <mark>.

    `sought` are index tokens, or with an asterisk their beginnings.
    """
    wanted = frozenset(sought)
    beginnings = tuple(token.removesuffix("*") for token in wanted if token.endswith("*"))
    parts: list[Markup] = []
    end = 0
    for found in _WORD.finditer(text):
        if not wanted.isdisjoint(index_text(found[0]).split()) or found[0].casefold().startswith(beginnings):
            parts += [escape(text[end : found.start()]), Markup("<mark>{}</mark>").format(found[0])]
            end = found.end()
    return Markup("").join([*parts, escape(text[end:])])


def marked_excerpt(text: str, sought: Collection[str], limit: int) -> Markup:
    """The part of a long text that speaks to a question, with its words marked."""
    return marked(excerpt(text, sought, limit), sought)
