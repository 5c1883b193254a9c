"""Text between two marks, such as `<tag>` and `</tag>`, found in one walk.

The pattern `<tag>.*?</tag>` looks through the rest of a text for each mark that is never closed.
"""

from __future__ import annotations

from collections.abc import Iterator


def spans_between(text: str, opening: str, closing: str) -> Iterator[tuple[int, int]]:
    """Where each text between the marks lies, with the marks."""
    end = 0
    while (start := text.find(opening, end)) >= 0:
        closed = text.find(closing, start + len(opening))
        if closed < 0:
            return
        end = closed + len(closing)
        yield start, end


def texts_between(text: str, opening: str, closing: str) -> Iterator[str]:
    """Each text between the marks, without them."""
    for start, end in spans_between(text, opening, closing):
        yield text[start + len(opening) : end - len(closing)]


def first_between(text: str, opening: str, closing: str) -> str | None:
    """The first text between the marks; None if there is none."""
    return next(texts_between(text, opening, closing), None)


def texts_outside(text: str, opening: str, closing: str) -> Iterator[str]:
    """What is left of a text without the marks and all that is between them: one piece more than there are gaps."""
    end = 0
    for start, closed in spans_between(text, opening, closing):
        yield text[end:start]
        end = closed
    yield text[end:]
