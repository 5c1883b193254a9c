"""Templates and their filters: texts, times, numbers, highlighted words, Markdown. Whatever they show is redacted.

What is remembered may be written by anybody: no HTML in Markdown passes as such, pictures become links (nothing is
fetched from elsewhere), and the result is cleaned once more. The URLs of styles, scripts and pictures change with their
content, so browsers can cache them.
"""

from __future__ import annotations

import hashlib
import logging
import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

import nh3
import pygments
from jinja2 import Environment, PackageLoader, StrictUndefined
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from markupsafe import Markup, escape
from pygments.formatters.html import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from commonplace.text.dates import DAY_MS, LATEST_MS, iso_time, time_ago
from commonplace.text.redact import redact
from commonplace.text.sentences import excerpt
from commonplace.text.tokens import index_text

log = logging.getLogger(__name__)

KILO = 1024
RECENT_MS = 7 * DAY_MS


class MissingText(str):
    """Stands where a text is missing: its own name, so that the rest of the page is still there."""

    __slots__ = ()

    def __getattr__(self, name: str) -> MissingText:
        return self


class Texts:
    """Texts by name. A missing one is noted in the log and fails the tests; the page shows its name in its place."""

    def __init__(self, values: Mapping[str, Any], name: str = "say") -> None:
        self._values, self._name = values, name

    def __getattr__(self, name: str) -> Any:
        return self[name]

    def __getitem__(self, name: str) -> Any:
        if name not in self._values:
            log.error("%s.%s is not in the texts", self._name, name)
            return MissingText(name.replace("_", " "))
        value = self._values[name]
        return Texts(value, f"{self._name}.{name}") if isinstance(value, Mapping) else value

    def get(self, name: str) -> str | None:
        """A text that may be missing."""
        value = self._values.get(name)
        return value if isinstance(value, str) else None


def load_texts() -> Texts:
    """The texts of all pages, one file for each: `say.home.title` is `title` in texts/home.toml."""
    found = [file for file in (files("commonplace.web") / "texts").iterdir() if file.name.endswith(".toml")]
    return Texts({file.name.removesuffix(".toml"): tomllib.loads(file.read_text("utf-8")) for file in found})


def counted(forms: Texts, number: int) -> str:
    """`one` or `many` of a text, with its number."""
    text: str = forms.one if number == 1 else forms.many
    return text.format(n=f"{number:,}")


class Templates:
    """The templates of the dashboard. Every value they show is escaped and has its secrets redacted."""

    def __init__(self) -> None:
        self._all = Environment(
            loader=PackageLoader("commonplace.web"),
            autoescape=True,
            finalize=_redacted,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._all.globals.update(say=load_texts(), static=static_address, counted=counted)
        self._all.filters.update(
            ago=format_ago,
            iso=iso_time,
            day=format_day,
            clock=format_clock,
            moment=format_moment,
            size=format_size,
            markdown=lambda text: markdown(redact(text)),
            as_written=as_written,
            number=format_number,
            breakable=breakable,
            coded=code_in_backticks,
            prose=_prose,
            short_project=short_project,
        )

    def page(self, name: str, values: Mapping[str, Any]) -> str:
        """A whole page."""
        with _labels(values):
            return self._all.get_template(f"{name}.html").render(values)

    def part(self, name: str, block: str, values: Mapping[str, Any]) -> str:
        """One block of a page, to be put into an open page. What stands before the blocks is not run for it."""
        template = self._all.get_template(f"{name}.html")
        shared = self._all.get_template("parts.html").module
        macros = {macro: getattr(shared, macro) for macro in dir(shared) if not macro.startswith("_")}
        context = template.new_context({**macros, **values})
        with _labels(values):
            return "".join(template.blocks[block](context))


ProjectNames = Callable[[], Mapping[str, str]]
_project_names: ContextVar[ProjectNames | None] = ContextVar("project_names", default=None)


@contextmanager
def _labels(values: Mapping[str, Any]) -> Iterator[None]:
    """Let `short_project` know what projects are called, also in macros, which do not see the values of a page."""
    token = _project_names.set(values.get("short_names"))
    try:
        yield
    finally:
        _project_names.reset(token)


def short_project(name: str) -> str:
    """What people call a project: `my-api`, not `github.com/acme/my-api`, unless that could mean another one."""
    names = _project_names.get()
    return names().get(name, name) if names else name


def format_day(ms: int) -> str:
    """A day, such as 15 Mar 2025."""
    return _date(ms).strftime("%d %b %Y").lstrip("0") if 0 <= ms <= LATEST_MS else iso_time(ms)[:10]


def format_moment(ms: int) -> str:
    """A moment, such as 15 March 2025, 20:01 UTC."""
    if not 0 <= ms <= LATEST_MS:
        return iso_time(ms)
    return f"{_date(ms).strftime('%d %B %Y').lstrip('0')}, {format_clock(ms)} UTC"


def format_ago(ms: int, now_ms: int) -> str:
    """How long ago it was, within a week; then the day, with its year unless that is this one."""
    if now_ms - ms < RECENT_MS or not 0 <= ms <= LATEST_MS:
        return time_ago(ms, now_ms)
    return format_day(ms).removesuffix(f" {_date(now_ms).year}")


def format_clock(ms: int) -> str:
    """The time of the day, UTC: 14:30."""
    return iso_time(ms)[11:16]


def format_size(bytes_: int) -> str:
    """A number of bytes, for people."""
    amount = float(bytes_)
    for unit in ("bytes", "KB", "MB", "GB"):
        if amount < KILO or unit == "GB":
            break
        amount /= KILO
    return f"{bytes_:,} bytes" if unit == "bytes" else f"{amount:.1f} {unit}"


def code_in_backticks(text: str) -> Markup:
    """A text of ours as HTML, with what stands between backticks as code."""
    parts = text.split("`")
    return Markup("").join(Markup("<code>{}</code>" if n % 2 else "{}").format(part) for n, part in enumerate(parts))


def breakable(text: str) -> Markup:
    """A name that may be a path, which a narrow line breaks after a slash."""
    return Markup("/<wbr>").join(map(escape, redact(text).split("/")))


def _prose(text: str) -> Markup:
    """A sentence that was made of remembered words: redacted, with what stands between backticks as code."""
    return code_in_backticks(redact(text))


def as_written(text: str) -> Markup:
    """What the reader wrote or is given themselves, such as a form that could not be saved: shown as it is."""
    return escape(text)


def format_number(value: int) -> str:
    return f"{value:,}"


def _redacted(value: object) -> object:
    """Every text that a template shows passes here; HTML was made of redacted text."""
    return redact(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _date(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)


_WORD = re.compile(r"\w+")


def highlight(text: str, tokens: Collection[str]) -> Markup:
    """A text as HTML, with the words of a query inside <mark>.

    `tokens` are index tokens, or with an asterisk their beginnings.
    """
    wanted = frozenset(tokens)
    beginnings = tuple(token.removesuffix("*") for token in wanted if token.endswith("*"))
    parts: list[Markup] = []
    end = 0
    for found in _WORD.finditer(text):
        if not wanted.isdisjoint(index_text(found[0]).split()) or found[0].casefold().startswith(beginnings):
            parts += [escape(text[end : found.start()]), Markup("<mark>{}</mark>").format(found[0])]
            end = found.end()
    return Markup("").join([*parts, escape(text[end:])])


def highlight_excerpt(text: str, tokens: Collection[str], limit: int) -> Markup:
    """The part of a long text that matches a query best, redacted, with the words highlighted."""
    return highlight(excerpt(redact(text), tokens, limit), tokens)


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
    made: str = pygments.highlight(text, lexer, HtmlFormatter(nowrap=True))
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


STATIC_TREE = "/static"
STATIC_KINDS = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
_FOR_EVER = "public, max-age=31536000, immutable"


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file ready to send."""

    content: bytes
    media: str
    mark: str


@cache
def static_files() -> dict[str, StaticFile]:
    """All of them, by name."""
    found = {}
    for file in files("commonplace.web").joinpath("static").iterdir():
        ending = "." + file.name.rpartition(".")[2]
        if ending in STATIC_KINDS:
            content = file.read_bytes()
            found[file.name] = StaticFile(content, STATIC_KINDS[ending], hashlib.sha256(content).hexdigest()[:12])
    return found


def static_address(name: str) -> str:
    """The URL of a file with its current content. Scripts import each other without a version."""
    return f"{STATIC_TREE}/{name}?v={static_files()[name].mark}"


async def send_static_file(request: Request) -> Response:
    """Send the requested file."""
    file = static_files().get(request.path_params["name"])
    if file is None:
        return PlainTextResponse("There is no such file.\n", 404)
    tag = f'"{file.mark}"'
    headers = {"ETag": tag, "X-Content-Type-Options": "nosniff"}
    headers["Cache-Control"] = _FOR_EVER if request.query_params.get("v") == file.mark else "no-cache"
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(file.content, headers=headers, media_type=file.media)
