"""The frame of every page: who is there, whether a form is one of ours, what is shown, and how errors are told."""

from __future__ import annotations

import hmac
import logging
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote_to_bytes

from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from commonplace.errors import CommonplaceError, Forbidden, InvalidInput, TooLarge, Unauthorized, WrongMethod
from commonplace.memory import keys
from commonplace.memory.local_memory import LocalMemory
from commonplace.model import Key
from commonplace.web.cookies import set_cookie, theme_of, visit_of
from commonplace.web.page import FileReply, Page, PageReply, PageRequest, Redirect, ServerContext
from commonplace.web.rendering import Templates

log = logging.getLogger(__name__)

# A part of a page is asked for by its name in this header.
PART_HEADER = "x-part"
# An item of a megabyte, written so that every character takes three.
MAX_FORM_BYTES = 4 * 1024 * 1024
MAX_FIELDS = 5_000
_PIECE = 1 << 14
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
_MENU = ("home", "search", "timeline", "conversations", "rules", "topics", "prune", "feed", "settings")


class PageHandler:
    """One path, and the pages behind it by their methods."""

    def __init__(self, path: str, pages: Mapping[str, Page], server: ServerContext, templates: Templates) -> None:
        self._path, self._pages, self._server, self._templates = path, pages, server, templates

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await self.response(Request(scope, receive))
        await response(scope, receive, send)

    async def response(self, request: Request) -> Response:
        try:
            response = await self._response(request)
        except ClientDisconnect:
            response = Response(status_code=400)
        response.headers.update(SECURITY_HEADERS)
        return response

    async def _response(self, request: Request) -> Response:
        page = self._pages.get("GET" if request.method == "HEAD" else request.method)
        common = self._common(request, page)
        try:
            if page is None:
                raise WrongMethod(f"{request.method[:20]} is not for {self._path}.", "Go back, and try it from there.")
            check_same_origin(request)
            form = await read_form(request) if page.method == "POST" else {}
            key: Key | None = getattr(request.state, "key", None)
            if key is None:
                return self._sign_in(request, form, common)
            check_form_mark(request, form)
            if not key.allows(page.scope):
                raise Forbidden(f"Your key may only {key.scope}; this takes one that may {page.scope}.")
            asked = PageRequest(request.path_params, read_query(request), form, key, self._server, request.headers)
            memory = request.state.memory
            return await self._server.workers.do(lambda: self._answer(page, memory, asked, common, request), key.id)
        except CommonplaceError as error:
            return self._told(error, common, request)
        except ClientDisconnect:
            raise
        except Exception as error:
            log.exception("the page %s failed", self._path)
            return self._told(CommonplaceError(f"The page failed: {type(error).__name__}."), common, request)

    def _answer(
        self, page: Page, memory: LocalMemory, asked: PageRequest, common: Mapping[str, Any], request: Request
    ) -> Response:
        memory.embeddings.note_request()
        reply = page.call(memory, asked)
        return self._rendered(page, reply, {**common, "now": memory.clock(), "asked": asked}, request)

    def _rendered(self, page: Page, reply: PageReply, common: Mapping[str, Any], request: Request) -> Response:
        if isinstance(reply, Redirect):
            response: Response = RedirectResponse(reply.address, 303)
            for name, value in reply.cookies.items():
                set_cookie(response, request, name, value)
            return response
        if isinstance(reply, FileReply):
            return _file_response(reply)
        values = {**common, **reply.values}
        part = request.headers.get(PART_HEADER, "")
        if part and part in page.parts:
            return HTMLResponse(self._templates.part(reply.template, part, values), reply.status)
        return HTMLResponse(self._templates.page(reply.template, values), reply.status)

    def _told(self, error: CommonplaceError, common: Mapping[str, Any], request: Request) -> Response:
        values = {**common, "error": error, "now": 0}
        if request.headers.get(PART_HEADER):
            return HTMLResponse(self._templates.part("error", "told", values), error.http_status)
        return HTMLResponse(self._templates.page("error", values), error.http_status)

    def _sign_in(self, request: Request, form: Mapping[str, list[str]], common: Mapping[str, Any]) -> Response:
        """Nobody is there: to the door, or, if something was being sent, hold it until they have signed in."""
        refused = getattr(request.state, "refused", None)
        if refused is not None and not isinstance(refused, Unauthorized):
            return self._told(refused, common, request)
        here = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        if not form and not request.headers.get(PART_HEADER):
            expired = "&over=1" if visit_of(request) else ""
            return RedirectResponse(f"/login?next={quote(here, safe='')}{expired}", 303)
        values = {**common, "next": here, "carried": _form_pairs(form), "over": True, "wrong": ""}
        if request.headers.get(PART_HEADER):
            return HTMLResponse(self._templates.part("login", "over", values), 401)
        return HTMLResponse(self._templates.page("login", values), 401)

    def _common(self, request: Request, page: Page | None) -> dict[str, Any]:
        """What every template can use."""
        key: Key | None = getattr(request.state, "key", None)
        query = read_query(request)
        return {
            "menu": _MENU,
            "place": page.place if page is not None else "",
            "key": key,
            "theme": theme_of(request),
            "form_mark": keys.csrf_token(visit_of(request)),
            "here": request.url.path + (f"?{request.url.query}" if request.url.query else ""),
            "did": (query.get("did") or [""])[-1],
            "about": (query.get("about") or [""])[-1],
        }


def read_query(request: Request) -> dict[str, list[str]]:
    return _fields(request.scope["query_string"])


async def read_form(request: Request) -> dict[str, list[str]]:
    """The fields of a form; TooLarge before it fills the memory."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_FORM_BYTES:
            raise TooLarge("The form is too long.", f"Send at most {MAX_FORM_BYTES // 1024 // 1024} MB.")
    return _fields(bytes(body))


def check_form_mark(request: Request, form: Mapping[str, list[str]]) -> None:
    """Refuse a form that no page of this visit made."""
    if request.method != "POST":
        return
    mark = (form.get("form_mark") or [""])[-1]
    # Who shows a key in a header is no browser that can be misled.
    if request.state.by_visit and not hmac.compare_digest(mark.encode(), keys.csrf_token(visit_of(request)).encode()):
        raise Forbidden("The form is not one of this visit.", "Go back, load the page again and send it once more.")


def check_same_origin(request: Request) -> None:
    """Refuse what another site, or another program on this machine, had a browser send, signed in or not."""
    if request.method != "POST":
        return
    site = request.headers.get("sec-fetch-site", "")
    origin = request.headers.get("origin", "")
    if site not in ("", "same-origin", "none") or (origin and origin.rpartition("/")[2] != request.headers["host"]):
        raise Forbidden("Pages of other sites may not send anything here.", "Open the page here and send it from it.")


def _fields(raw: bytes) -> dict[str, list[str]]:
    """The fields of a form or a query, in the order they come."""
    if raw.count(b"&") >= MAX_FIELDS:
        raise InvalidInput("The form cannot be read.", "Go back, and send it from the page.")
    found: dict[str, list[str]] = {}
    for part in raw.split(b"&"):
        name, _, value = part.partition(b"=")
        if part:
            found.setdefault(_unquoted(name), []).append(_unquoted(value))
    return found


def _unquoted(raw: bytes) -> str:
    """A text without its escapes. It is taken in pieces, because many escapes at once take a lot of memory."""
    plain, at = bytearray(), 0
    while at < len(raw):
        piece = raw[at : at + _PIECE]
        # An escape at the end belongs to the next piece.
        cut = piece.rfind(b"%", max(1, len(piece) - 2)) if at + _PIECE < len(raw) else -1
        piece = piece if cut < 0 else piece[:cut]
        plain += unquote_to_bytes(piece.replace(b"+", b" "))
        at += len(piece)
    return plain.decode("utf-8", "replace")


def _form_pairs(form: Mapping[str, list[str]]) -> list[tuple[str, str]]:
    return [(name, value) for name, values in form.items() if name != "form_mark" for value in values]


def _file_response(reply: FileReply) -> Response:
    headers = {}
    if reply.name:
        headers["Content-Disposition"] = f"attachment; filename*=UTF-8''{quote(reply.name, safe='')}"
    if reply.stream is not None:
        return StreamingResponse(reply.stream(), headers=headers, media_type=reply.media)
    return Response(reply.content, headers=headers, media_type=reply.media)
