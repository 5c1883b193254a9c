"""Signing in and out: a key opens a visit, and what was being sent when the last one ended is not lost."""

from __future__ import annotations

import secrets
import time
from typing import Protocol

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from commonplace.errors import CommonplaceError, Unauthorized
from commonplace.memory import keys
from commonplace.memory.local_memory import LocalMemory
from commonplace.model import Key
from commonplace.web.cookies import set_cookie, theme_of, visit_cookie, visit_of
from commonplace.web.page import local_path
from commonplace.web.page_handler import SECURITY_HEADERS, check_same_origin, read_form, read_query
from commonplace.web.rendering import Templates

PATH = "/login"
TICKET_SECONDS = 600.0
_AFTER = ("key", "who", "next", "form_mark")


class SignedIn(Protocol):
    """Whoever has a good key."""

    @property
    def key(self) -> Key: ...
    @property
    def memory(self) -> LocalMemory: ...


class KeyCheck(Protocol):
    """Where people come in and go out."""

    # Whom a secret lets in, or the error that keeps the door shut; wrong ones from an address are counted.
    async def caller(self, secret: str, address: str) -> SignedIn: ...

    # The visit with this token is over, whoever else has it.
    async def leave(self, token: str) -> None: ...


class LoginTickets:
    """Links that sign in whoever starts the server, each once and soon: a secret in an address is seen by many."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[str, float]] = {}

    def issue(self, secret: str) -> str:
        """A ticket for the owner of this key."""
        ticket = secrets.token_urlsafe(24)
        self._open[ticket] = secret, time.monotonic() + TICKET_SECONDS
        return ticket

    def redeem(self, ticket: str) -> str:
        """The key that it stands for; the ticket is no good any more."""
        secret, until = self._open.pop(ticket, ("", 0.0))
        if time.monotonic() >= until:
            raise Unauthorized("This link was used already, or is too old.", "Sign in with a key.")
        return secret


class LoginPages:
    """The pages at the door."""

    def __init__(self, door: KeyCheck, templates: Templates, tickets: LoginTickets) -> None:
        self._door, self._templates, self._tickets = door, templates, tickets

    async def form(self, request: Request) -> Response:
        """Ask for a key."""
        query = read_query(request)
        target = local_path((query.get("next") or ["/"])[-1])
        return self._asking(request, target, over=bool(query.get("over")))

    async def enter(self, request: Request) -> Response:
        """Sign in with what the form holds."""
        try:
            form = await read_form(request)
            check_same_origin(request)
        except CommonplaceError as error:
            return self._asking(request, "/", wrong=error)
        target = local_path((form.get("next") or ["/"])[-1])
        carried = [(name, value) for name, values in form.items() if name not in _AFTER for value in values]
        secret = (form.get("key") or [""])[-1].strip()
        try:
            token = await self._token(secret, request)
        except CommonplaceError as error:
            return self._asking(request, target, wrong=error, carried=carried)
        if not carried:
            return self._let_in(RedirectResponse(target, 303), request, token)
        values = {"theme": theme_of(request), "next": target, "carried": carried}
        page = self._templates.page("resend", {**values, "form_mark": keys.csrf_token(token)})
        return self._let_in(HTMLResponse(page), request, token)

    async def ticket(self, request: Request) -> Response:
        """Sign in by the link that the server told when it started."""
        try:
            secret = self._tickets.redeem((read_query(request).get("ticket") or [""])[-1])
            return self._let_in(RedirectResponse("/", 303), request, await self._token(secret, request))
        except CommonplaceError as error:
            return self._asking(request, "/", wrong=error)

    async def leave(self, request: Request) -> Response:
        """Sign out."""
        try:
            check_same_origin(request)
        except CommonplaceError as error:
            return self._asking(request, "/", wrong=error)
        wrong: CommonplaceError | None = None
        try:
            await self._door.leave(visit_of(request))
        except CommonplaceError as error:
            wrong = error
        response = RedirectResponse(PATH, 303) if wrong is None else self._asking(request, "/", wrong=wrong)
        response.headers.update(SECURITY_HEADERS)
        set_cookie(response, request, visit_cookie(request), "")
        return response

    async def _token(self, secret: str, request: Request) -> str:
        caller = await self._door.caller(secret, request.state.address)
        return keys.start_login(caller.key, secret, caller.memory.clock())

    def _let_in(self, response: Response, request: Request, token: str) -> Response:
        response.headers.update(SECURITY_HEADERS)
        set_cookie(response, request, visit_cookie(request), token, keys.LOGIN_MS // 1000)
        return response

    def _asking(
        self,
        request: Request,
        target: str,
        *,
        over: bool = False,
        wrong: CommonplaceError | None = None,
        carried: list[tuple[str, str]] | None = None,
    ) -> Response:
        values = {"theme": theme_of(request), "next": target, "carried": carried or [], "over": over, "wrong": wrong}
        status = 200 if wrong is None else wrong.http_status
        return HTMLResponse(self._templates.page("login", values), status, SECURITY_HEADERS)
