"""Templates and their filters: texts, times, numbers, Markdown, highlighted words. Whatever they show is redacted."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from commonplace.text.dates import DAY_MS, LATEST_MS, iso_time, time_ago
from commonplace.text.redact import redact
from commonplace.text.sentences import excerpt
from commonplace.text.tokens import index_text
from commonplace.web.markdown import markdown
from commonplace.web.static import address_of
from commonplace.web.texts import counted, load_texts

KILO = 1024
RECENT_MS = 7 * DAY_MS


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
        self._all.globals.update(say=load_texts(), static=address_of, counted=counted)
        self._all.filters.update(
            ago=format_ago,
            iso=iso_time,
            day=format_day,
            clock=format_clock,
            size=format_size,
            markdown=_markdown,
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


def _markdown(text: str) -> Markup:
    return markdown(redact(text))


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
