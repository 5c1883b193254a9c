"""Web pages as text: what a reader sees, with headings, lists and code as Markdown; a chat in it is a conversation."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser
from pathlib import PurePath

from commonplace.capture.foreign import Found, Skipped, Stream
from commonplace.capture.markdown import conversation_in
from commonplace.capture.speakers import whole_text

SOURCE = "html"
_UNSEEN = frozenset("script style title template noscript svg iframe object nav".split())
# The title stands near the beginning, and is short.
_HEAD, _TITLE = 100_000, re.compile(r"<title[^>]{0,200}>([^<]{1,500})", re.IGNORECASE)
_BLOCKS = frozenset(
    "p div section article main header footer aside table tr ul ol dl dt dd blockquote pre hr figure h1 h2 h3 h4 h5 h6"
    " form fieldset li br".split()
)
# What begins a line of its own and needs none after it.
_LINE_STARTS = frozenset("li br tr dt dd".split())
_DECLARATION = re.compile(r"<[!?][^<>]{0,2000}>")
# What begins like a tag and is none.
_NO_TAG = re.compile(r"<(?!/?[A-Za-z][^<>]{0,2000}>)")
_HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
_SPACE = re.compile(r"[ \t\r\n\f]+")
_LINES = re.compile(r"\n{3,}")


def read(stream: Stream, name: str) -> Iterator[Found]:
    """The text of a page."""
    source = whole_text(stream, name)
    if isinstance(source, Skipped):
        yield source
        return
    title = _TITLE.search(source[:_HEAD])
    page = _Page()
    page.feed(_well_formed(source))
    page.close()
    text = page.text()
    if not text:
        yield Skipped(name, "a page without any text", "file")
        return
    called = _SPACE.sub(" ", unescape(title[1])).strip() if title else ""
    yield conversation_in(text, name, source=SOURCE, title=called or PurePath(name).stem)


def _well_formed(source: str) -> str:
    """The page without comments, in which every `<` begins a tag that ends.

    For broken tags the parser of the standard library would take quadratic time.
    """
    pieces, at = [], 0
    while (begin := source.find("<!--", at)) >= 0:
        pieces.append(source[at:begin])
        end = source.find("-->", begin)
        at = len(source) if end < 0 else end + 3
    pieces.append(source[at:])
    return _NO_TAG.sub("&lt;", _DECLARATION.sub("", "".join(pieces)))


class _Page(HTMLParser):
    """Collects the text of a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        # A list of so many small texts would take many times as much memory.
        self._pieces = io.StringIO()
        self._unseen = self._code = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _UNSEEN:
            self._unseen += 1
        if tag in _BLOCKS:
            self._pieces.write("\n")
        if tag in _HEADINGS:
            self._pieces.write(f"\n{_HEADINGS[tag]} ")
        elif tag == "li":
            self._pieces.write("- ")
        elif tag == "pre":
            self._pieces.write("```\n")
            self._code += 1
        elif tag in ("td", "th"):
            self._pieces.write(" | ")

    def handle_endtag(self, tag: str) -> None:
        if tag in _UNSEEN:
            self._unseen = max(0, self._unseen - 1)
        if tag == "pre" and self._code:
            self._pieces.write("\n```")
            self._code -= 1
        if tag in _BLOCKS - _LINE_STARTS:
            self._pieces.write("\n")

    def handle_data(self, data: str) -> None:
        if not self._unseen:
            self._pieces.write(data if self._code else _SPACE.sub(" ", data))

    def text(self) -> str:
        self._pieces.seek(0)
        trimmed = io.StringIO()
        for line in self._pieces:
            trimmed.write(line.rstrip() + "\n")
        return _LINES.sub("\n\n", trimmed.getvalue()).strip()
