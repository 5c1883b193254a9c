"""Markdown as HTML that is safe to show: what is remembered may be written by anybody.

No HTML passes as such, pictures become links (nothing is fetched from elsewhere), and the result is cleaned once more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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

# Longer texts are shown as plain text: rendering takes time, and nobody reads that much.
LONGEST = 200_000
# The rules by which a language is coloured may take quadratic time on hostile text. So they get small pieces of it,
# only so much of one text is coloured, and only in languages that were tried (tests/security/test_pages.py).
LONGEST_COLOURED, PIECE = 10_000, 1_000
LANGUAGES = frozenset(
    "bash batch c clojure cmake console cpp csharp css dart diff docker elixir erlang fish fsharp go graphql groovy"
    " haskell html http ini java javascript json jsx julia kotlin lua make markdown matlab nginx nix objective-c ocaml"
    " perl php powershell protobuf python r ruby rust scala scss sql swift terraform toml tsx typescript vim xml yaml"
    " zig".split()
)
_SPELLINGS = dict(
    pair.split("=")
    for pair in (
        "c#=csharp c++=cpp cs=csharp dockerfile=docker golang=go hcl=terraform js=javascript jsonc=json kt=kotlin"
        " makefile=make md=markdown objc=objective-c patch=diff postgresql=sql ps1=powershell py=python python3=python"
        " rb=ruby rs=rust sh=bash shell=bash sqlite=sql ts=typescript yml=yaml zsh=bash"
    ).split()
)
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
    """A Markdown text as safe HTML."""
    if len(text) > LONGEST:
        return Markup('<pre class="plain" tabindex="0">{}</pre>').format(text)
    return _rendered(text)


@lru_cache(256)
def _rendered(text: str) -> Markup:
    html = _PARSER.render(text)
    return Markup(nh3.clean(html, tags=TAGS, attributes=ATTRIBUTES, url_schemes=SCHEMES, link_rel="noopener nofollow"))


def code(text: str, language: str, coloured: int) -> str:
    """Code as HTML, highlighted if the language is known and not too much was highlighted before."""
    name = _SPELLINGS.get(language.lower(), language.lower())
    wanted = name in LANGUAGES and coloured + len(text) <= LONGEST_COLOURED
    inside = "".join(_coloured(piece, name) for piece in _pieces(text)) if wanted else escape(text)
    return f'<pre tabindex="0"><code class="code">{inside}</code></pre>\n'


def _coloured(text: str, language: str) -> str:
    lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    made: str = highlight(text, lexer, HtmlFormatter(nowrap=True))
    return made if text.endswith("\n") else made.removesuffix("\n")


def _pieces(text: str) -> Iterator[str]:
    """The text in pieces that end with a line where they can."""
    while len(text) > PIECE:
        end = text.rfind("\n", 0, PIECE) + 1 or PIECE
        yield text[:end]
        text = text[end:]
    if text:
        yield text


class _Renderer(RendererHTML):
    """Differs from the usual one where that would trust the text."""

    def fence(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        token = tokens[idx]
        before = env.get("coloured", 0)
        env["coloured"] = before + len(token.content)
        return code(token.content, token.info.split()[0] if token.info.split() else "", before)

    def code_block(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return code(tokens[idx].content, "", 0)

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
