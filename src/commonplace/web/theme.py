"""Light or dark, or as the system has it: chosen once, for this browser."""

from __future__ import annotations

from commonplace.memory.book import Book
from commonplace.web.cookies import THEME_COOKIE, THEMES
from commonplace.web.page import Asked, Gone, own_path


def choose(_book: Book, asked: Asked) -> Gone:
    """Keep the choice, and back to where it was made."""
    theme = asked.given("theme")
    return Gone(own_path(asked.given("back")), cookies={THEME_COOKIE: theme if theme in THEMES else ""})
