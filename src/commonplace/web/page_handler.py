"""Answers requests for pages: who is signed in, whether a form is ours, the rendered page, and errors as pages."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from commonplace.errors import CommonplaceError, Forbidden, Unauthorized
from commonplace.http.method_handler import MethodHandler, key_of, memory_of
from commonplace.memory import keys
from commonplace.memory.projects import short_project_names
from commonplace.web.forms import (
    check_form_mark,
    check_same_origin,
    last_value,
    login_token,
    read_form,
    read_query,
    set_cookie,
    theme_of,
)
from commonplace.web.page import PART_HEADER, FileReply, Page, PageRequest, Redirect
from commonplace.web.rendering import Templates
from commonplace.worker_threads import Workers

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
_MENU = ("home", "search", "timeline", "conversations", "rules", "review", "about", "topics", "feed", "settings")


class PageHandler(MethodHandler[Page]):
    """One path, and its pages by their methods."""

    answers_with = "page"

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
        names = cache(lambda: short_project_names(memory))
        values = {**_common_values(request, page), "now": memory.clock(), "short_names": names, **reply.values}
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
        "place": page.place if page is not None else "",
        "key": key_of(request),
        "theme": theme_of(request),
        "form_mark": keys.csrf_token(login_token(request)),
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
