"""The documentation over HTTP: the OpenAPI document, and a page that shows it and lets one try it."""

from __future__ import annotations

from functools import cache
from importlib import resources

from commonplace.memory.book import Book
from commonplace.rest.endpoint import Answer, Asked

# Everything comes from this server; nothing is run that is not in docs.js.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:;"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


def openapi(_book: Book, asked: Asked[None, None]) -> Answer:
    """Every endpoint, as OpenAPI 3.1."""
    return Answer(content=asked.house.document())


def page(_book: Book, _asked: Asked[None, None]) -> Answer:
    """The page for people."""
    return Answer(content=_file("index.html"), headers=_HEADERS)


def script(_book: Book, _asked: Asked[None, None]) -> Answer:
    """What makes the page work."""
    return Answer(content=_file("docs.js"), headers=_HEADERS)


def style(_book: Book, _asked: Asked[None, None]) -> Answer:
    """What makes it pleasant."""
    return Answer(content=_file("docs.css"), headers=_HEADERS)


@cache
def _file(name: str) -> bytes:
    return (resources.files("commonplace.rest") / "docs_page" / name).read_bytes()
