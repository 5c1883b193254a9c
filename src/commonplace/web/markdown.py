"""Markdown as HTML that is safe to show: what is remembered may be written by anybody.

No HTML passes as such, pictures become links (nothing is fetched from elsewhere), and the result is cleaned once more.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from markupsafe import Markup, escape
from pygments import highlight
from pygments.formatters.html import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

# More than this is shown as plain text: nobody reads it rendered, and rendering takes its time.
LONGEST = 200_000
LONGEST_CODE = 50_000
TAGS = set(
    "a blockquote br code dd del details div dl dt em h1 h2 h3 h4 h5 h6 hr li ol p pre s span strong sub summary sup"
    " table tbody td th thead tr ul".split()
)
ATTRIBUTES = {
    "a": {"href", "title"},
    "code": {"class"},
    "span": {"class"},
    "div": {"class"},
    "ol": {"start"},
    "pre": {"tabindex"},
}
SCHEMES = {"http", "https", "mailto"}
# Headings of a text are below those of the page it is shown in.
_LOWER = {"h1": "h3", "h2": "h4", "h3": "h5", "h4": "h6", "h5": "h6", "h6": "h6"}


def markdown(text: str) -> Markup:
    """A text as HTML."""
    if len(text) > LONGEST:
        return Markup('<pre class="plain" tabindex="0">{}</pre>').format(text)
    return _rendered(text)


@lru_cache(256)
def _rendered(text: str) -> Markup:
    html = _PARSER.render(text)
    return Markup(nh3.clean(html, tags=TAGS, attributes=ATTRIBUTES, url_schemes=SCHEMES, link_rel="noopener nofollow"))


def code(text: str, language: str) -> str:
    """Code as HTML, with classes for its colours where the language is known."""
    if language and len(text) <= LONGEST_CODE:
        try:
            inside = highlight(text, get_lexer_by_name(language), HtmlFormatter(nowrap=True))
            return f'<pre tabindex="0"><code class="code">{inside}</code></pre>\n'
        except ClassNotFound:
            pass
    return f'<pre tabindex="0"><code class="code">{escape(text)}</code></pre>\n'


class _Renderer(RendererHTML):
    """Differs from the usual one where that would trust the text."""

    def fence(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        token = tokens[idx]
        return code(token.content, token.info.split()[0] if token.info.split() else "")

    def code_block(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return code(tokens[idx].content, "")

    def image(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        token = tokens[idx]
        return str(Markup('<a href="{}">{}</a>').format(token.attrs.get("src", ""), token.content or "picture"))

    def heading_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return f"<{_LOWER[tokens[idx].tag]}>"

    def heading_close(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return f"</{_LOWER[tokens[idx].tag]}>\n"


_PARSER = MarkdownIt("commonmark", {"html": False, "breaks": True}, renderer_cls=_Renderer).enable(
    ["table", "strikethrough"]
)
