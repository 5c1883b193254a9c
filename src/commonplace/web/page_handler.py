"""A page is a row of a table, with a function that gets the request and replies with a template and values.

The handler of a path sees who is signed in and whether a form is ours (CSRF), and renders the page, also of an error.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal
from urllib.parse import quote, unquote_to_bytes, urlencode

from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from commonplace.errors import CommonplaceError, Forbidden, InvalidInput, TooLarge, Unauthorized
from commonplace.http_responses import MethodHandler, key_of, memory_of
from commonplace.memory import api_keys
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.projects import list_projects, short_project_names
from commonplace.model import Key
from commonplace.text.dates import DAY_SECONDS
from commonplace.web.rendering import Templates
from commonplace.worker_threads import Workers

Method = Literal["GET", "POST"]
KeyScope = Literal["read", "write", "admin"]
# Its value is the part of a page that is requested instead of the whole.
PART_HEADER = "x-part"
_LOCAL_PATH = re.compile(r"/(?![/\\])[!-~]{0,2000}")


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A request of somebody who is signed in: the values in its path, its query and its form."""

    path: Mapping[str, str]
    query: Mapping[str, Sequence[str]]
    form: Mapping[str, Sequence[str]]
    key: Key
    headers: Mapping[str, str]

    def one(self, name: str, default: str = "") -> str:
        """A value of the query, stripped."""
        return last_value(self.query, name).strip() or default

    def many(self, name: str) -> list[str]:
        """All values of the query with this name that are not blank."""
        return [value.strip() for value in self.query.get(name, ()) if value.strip()]

    def given(self, name: str) -> str:
        """A value of the form, as it was written."""
        return last_value(self.form, name)

    def chosen(self, name: str) -> list[str]:
        """All values of the form with this name."""
        return list(self.form.get(name, ()))

    def number(self, name: str, default: int, least: int, most: int) -> int:
        """A whole number of the query or the form."""
        text = last_value(self.form, name).strip() or self.one(name)
        if not text:
            return default
        if not re.fullmatch(r"-?[0-9]{1,12}", text) or not least <= int(text) <= most:
            raise InvalidInput(f"{name} is {text[:40]!r}.", f"Choose a whole number from {least} to {most}.")
        return int(text)

    @property
    def rev(self) -> int:
        """The revision that a form was made for."""
        return self.number("rev", 0, 0, 10**9)

    def may(self, scope: KeyScope) -> bool:
        return self.key.allows(scope)


@dataclass(frozen=True, slots=True)
class Rendered:
    """A page to render: the template of this name with these values."""

    template: str
    values: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200


@dataclass(frozen=True, slots=True)
class Redirect:
    """Another page of ours to go to; `did` names the notice to show there (texts/done.toml), about `about`."""

    path: str
    did: str = ""
    about: str = ""
    cookies: Mapping[str, str] = field(default_factory=dict)

    @property
    def address(self) -> str:
        path, mark, place = self.path.partition("#")
        return with_query(path, {"did": self.did, "about": self.about}) + mark + place


@dataclass(frozen=True, slots=True)
class FileReply:
    """A file to download, or data."""

    content: bytes = b""
    media: str = "application/octet-stream"
    name: str = ""


PageReply = Rendered | Redirect | FileReply
PageFunction = Callable[[LocalMemory, PageRequest], PageReply]


@dataclass(frozen=True, slots=True)
class Page:
    """One row of the table: its path, the scope it takes, its function. `place` is its entry in the menu.

    `parts` are blocks of the template that can be requested alone, to be put into an open page.
    """

    method: Method
    path: str
    scope: KeyScope
    call: PageFunction
    place: str = ""
    parts: tuple[str, ...] = ()


def last_value(fields: Mapping[str, Sequence[str]], name: str, default: str = "") -> str:
    """The value of a field; of several with the same name, the last."""
    return (fields.get(name) or (default,))[-1]


def with_query(path: str, values: Mapping[str, str | Sequence[str]]) -> str:
    """A path with these values in its query, after those it has; empty ones are left out."""
    query = urlencode({name: value for name, value in values.items() if value}, doseq=True)
    return f"{path}{'&' if '?' in path else '?'}{query}" if query else path


def project_names(memory: LocalMemory) -> list[str]:
    """The projects that pages offer to choose from, the one used last first; the others have their own page."""
    return [project.name for project in list_projects(memory)[:_MOST_OFFERED]]


def local_path(path: str, default: str = "/") -> str:
    """A path of this site to go back to; anything else, such as another site's, becomes the default."""
    return path if _LOCAL_PATH.fullmatch(path) else default


SECURITY_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
        " form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_MENU = ("home", "search", "timeline", "conversations", "rules", "review", "settings")
# Projects that the menu names; the others are on their own page.
_MENU_PROJECTS = 6
# Projects to choose from: more are no help, and most of what a page weighs.
_MOST_OFFERED = 200


class PageHandler(MethodHandler[Page]):
    """One path, and its pages by their methods."""

    def __init__(self, path: str, pages: Mapping[str, Page], workers: Workers, templates: Templates) -> None:
        super().__init__(path, pages)
        self._workers, self._templates = workers, templates

    async def respond(self, request: Request) -> Response:
        response = await super().respond(request)
        response.headers.update(SECURITY_HEADERS)
        return response

    async def answer(self, row: Page, request: Request) -> Response:
        check_same_origin(request)
        form = await read_form(request) if row.method == "POST" else {}
        key = key_of(request)
        if key is None:
            return self._sign_in(row, request, form)
        check_form_mark(request, form)
        if not key.allows(row.scope):
            raise Forbidden(f"Your key can only {key.scope}; this needs a key that can {row.scope}.")
        page_request = PageRequest(request.path_params, read_query(request), form, key, request.headers)
        return await self._workers.do(lambda: self._call(row, request, page_request), key.id)

    def refuse(self, error: CommonplaceError, request: Request, row: Page | None) -> Response:
        values = {**_common_values(request, row), "error": error, "sent": request.method == "POST", "now": 0}
        return self._html(request, "error", "message", values, error.http_status)

    def failure(self, error: Exception) -> CommonplaceError:
        return CommonplaceError(
            f"This page has a bug ({type(error).__name__}).", "The terminal that runs `commonplace serve` says more."
        )

    def wrong_method_hint(self) -> str:
        return "Go back, and try it from there."

    def _call(self, page: Page, request: Request, page_request: PageRequest) -> Response:
        memory = memory_of(request)
        memory.embeddings.note_request()
        reply = page.call(memory, page_request)
        if isinstance(reply, Redirect):
            response = RedirectResponse(reply.address, 303)
            for name, value in reply.cookies.items():
                set_cookie(response, request, name, value)
            return response
        if isinstance(reply, FileReply):
            return _file_response(reply)
        # Read when a page first names a project.
        projects = cache(lambda: list_projects(memory))
        values = {
            **_common_values(request, page),
            "now": memory.clock(),
            "short_names": cache(lambda: short_project_names(projects())),
            "menu_projects": lambda: projects()[:_MENU_PROJECTS],
            "more_projects": lambda: len(projects()) > _MENU_PROJECTS,
            **reply.values,
        }
        part = request.headers.get(PART_HEADER, "")
        if part in page.parts:
            return HTMLResponse(self._templates.part(reply.template, part, values), reply.status)
        return HTMLResponse(self._templates.page(reply.template, values), reply.status)

    def _sign_in(self, page: Page, request: Request, form: Mapping[str, list[str]]) -> Response:
        """Nobody is signed in: on to the login page; what was being sent is held there until they have signed in."""
        refused = getattr(request.state, "refused", None)
        if refused is not None and not isinstance(refused, Unauthorized):
            return self.refuse(refused, request, page)
        here = _here(request)
        if not form and not request.headers.get(PART_HEADER):
            expired = "&over=1" if login_token(request) else ""
            return RedirectResponse(f"/login?next={quote(here, safe='')}{expired}", 303)
        carried = [(name, value) for name, values in form.items() if name != "form_mark" for value in values]
        values = {**_common_values(request, page), "next": here, "carried": carried, "over": True, "wrong": ""}
        return self._html(request, "login", "over", values, 401)

    def _html(self, request: Request, template: str, part: str, values: Mapping[str, Any], status: int) -> Response:
        """A page, or this part of it if the request is for a part of one."""
        if request.headers.get(PART_HEADER):
            return HTMLResponse(self._templates.part(template, part, values), status)
        return HTMLResponse(self._templates.page(template, values), status)


def _common_values(request: Request, page: Page | None) -> dict[str, Any]:
    """What every template can use."""
    query = read_query(request)
    return {
        "menu": _MENU,
        "menu_projects": list,
        "more_projects": bool,
        "project_shown": None,
        "place": page.place if page is not None else "",
        "key": key_of(request),
        "theme": theme_of(request),
        "form_mark": api_keys.csrf_token(login_token(request)),
        "here": _here(request),
        "did": last_value(query, "did"),
        "about": last_value(query, "about"),
    }


def _here(request: Request) -> str:
    """The path and query of a request as they came: the name of a project may hold anything, also a question mark."""
    query = request.scope["query_string"].decode("latin-1")
    return quote(request.scope["path"]) + (f"?{query}" if query else "")


def _file_response(reply: FileReply) -> Response:
    headers = {}
    if reply.name:
        headers["Content-Disposition"] = f"attachment; filename*=UTF-8''{quote(reply.name, safe='')}"
    return Response(reply.content, headers=headers, media_type=reply.media)


Fields = dict[str, list[str]]

# An item of a megabyte, written so that every character takes three.
MAX_FORM_BYTES = 4 * 1024 * 1024
MAX_FIELDS = 5_000
_PIECE = 1 << 14
THEME_COOKIE = "commonplace_theme"
THEMES = ("light", "dark")
_LOGIN_COOKIE = "commonplace_visit"


def read_query(request: Request) -> Fields:
    return _fields(request.scope["query_string"])


async def read_form(request: Request) -> Fields:
    """The fields of a form; TooLarge before it fills the memory."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_FORM_BYTES:
            raise TooLarge("The form is too long.", f"Send at most {MAX_FORM_BYTES // 1024 // 1024} MB.")
    return _fields(bytes(body))


def check_form_mark(request: Request, form: Mapping[str, list[str]]) -> None:
    """Refuse a form that was not made by a page of this login."""
    if request.method != "POST":
        return
    mark, expected = last_value(form, "form_mark"), api_keys.csrf_token(login_token(request))
    # A caller with a key in a header is not a browser that can be misled.
    if request.state.by_login and not hmac.compare_digest(mark.encode(), expected.encode()):
        raise Forbidden("The form does not belong to this login.", "Go back, reload the page and send it again.")


def check_same_origin(request: Request) -> None:
    """Refuse what another site, or another program on this machine, had a browser send, signed in or not."""
    if request.method != "POST":
        return
    site = request.headers.get("sec-fetch-site", "")
    origin = request.headers.get("origin", "")
    if site not in ("", "same-origin", "none") or (origin and origin.rpartition("/")[2] != request.headers["host"]):
        raise Forbidden(
            "Pages from other sites cannot send anything here.",
            "Open the page here and send the form from it.",
        )


def login_cookie(connection: HTTPConnection) -> str:
    """The name of the login cookie. Browsers send cookies to every port of a host, so each port has its own."""
    port = connection.headers.get("host", "").rpartition(":")[2]
    return f"{_LOGIN_COOKIE}_{port}" if port.isdecimal() else _LOGIN_COOKIE


def login_token(connection: HTTPConnection) -> str:
    """The token of the login; empty if there is none."""
    return connection.cookies.get(login_cookie(connection), "")


def theme_of(connection: HTTPConnection) -> str:
    theme = connection.cookies.get(THEME_COOKIE, "")
    return theme if theme in THEMES else ""


def set_cookie(
    response: Response, connection: HTTPConnection, name: str, value: str, seconds: int = 365 * DAY_SECONDS
) -> None:
    """Set a cookie for our pages only; an empty value removes it."""
    response.set_cookie(
        name,
        value,
        max_age=seconds if value else 0,
        httponly=name != THEME_COOKIE,
        samesite="strict",
        secure=connection.url.scheme == "https",
    )


def _fields(raw: bytes) -> Fields:
    """The fields of a form or a query, in order."""
    if raw.count(b"&") >= MAX_FIELDS:
        raise InvalidInput("The form cannot be read.", "Go back, and send it from the page.")
    found: Fields = {}
    for part in raw.split(b"&"):
        name, _, value = part.partition(b"=")
        if part:
            found.setdefault(_unquoted(name), []).append(_unquoted(value))
    return found


def _unquoted(raw: bytes) -> str:
    """A text without its escapes, decoded in pieces because many escapes at once take a lot of memory."""
    plain, at = bytearray(), 0
    while at < len(raw):
        piece = raw[at : at + _PIECE]
        # An escape at the end belongs to the next piece.
        cut = piece.rfind(b"%", max(1, len(piece) - 2)) if at + _PIECE < len(raw) else -1
        piece = piece if cut < 0 else piece[:cut]
        plain += unquote_to_bytes(piece.replace(b"+", b" "))
        at += len(piece)
    return plain.decode("utf-8", "replace")
