"""Signing in and out with a key. What was being sent when a login expired is not lost."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from typing import Protocol

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from commonplace.errors import CommonplaceError, Unauthorized
from commonplace.memory import api_keys
from commonplace.memory.local_memory import LocalMemory
from commonplace.model import Key
from commonplace.web.page_handler import (
    SECURITY_HEADERS,
    check_same_origin,
    last_value,
    local_path,
    login_cookie,
    login_token,
    read_form,
    read_query,
    set_cookie,
    theme_of,
)
from commonplace.web.rendering import Templates

PATH = "/login"
TICKET_SECONDS = 600.0
_OWN_FIELDS = ("key", "who", "next", "form_mark")


class SignedIn(Protocol):
    """Somebody with a key that works."""

    @property
    def key(self) -> Key: ...
    @property
    def memory(self) -> LocalMemory: ...


class KeyCheck(Protocol):
    """Checks keys, and ends logins."""

    # Whose key this is, or an error; wrong ones from an address are counted.
    async def caller(self, secret: str, address: str) -> SignedIn: ...

    # End the login with this token, whoever else has it.
    async def leave(self, token: str) -> None: ...


class LoginTickets:
    """One-time tickets in links that sign in whoever starts the server; a key in a URL would be seen by many.

    `first_use` says whether no other worker of the server has redeemed one.
    """

    def __init__(self, first_use: Callable[[str], bool] = lambda _ticket: True) -> None:
        self._open: dict[str, tuple[str, float]] = {}
        self._first_use = first_use

    def issue(self, secret: str) -> str:
        """A ticket for the owner of this key."""
        ticket = secrets.token_urlsafe(24)
        self._open[ticket] = secret, time.monotonic() + TICKET_SECONDS
        return ticket

    def redeem(self, ticket: str) -> str:
        """The key it stands for; the ticket cannot be used again."""
        secret, until = self._open.pop(ticket, ("", 0.0))
        if time.monotonic() >= until or not self._first_use(ticket):
            raise Unauthorized("This link was already used, or is too old.", "Sign in with a key.")
        return secret


class LoginPages:
    """The pages for signing in and out."""

    def __init__(self, key_check: KeyCheck, templates: Templates, tickets: LoginTickets) -> None:
        self._key_check, self._templates, self._tickets = key_check, templates, tickets

    async def form(self, request: Request) -> Response:
        """Ask for a key."""
        query = read_query(request)
        target = local_path(last_value(query, "next", "/"))
        return self._asking(request, target, over=bool(query.get("over")))

    async def enter(self, request: Request) -> Response:
        """Sign in with what the form holds."""
        try:
            form = await read_form(request)
            check_same_origin(request)
        except CommonplaceError as error:
            return self._asking(request, "/", wrong=error)
        target = local_path(last_value(form, "next", "/"))
        carried = [(name, value) for name, values in form.items() if name not in _OWN_FIELDS for value in values]
        secret = last_value(form, "key").strip()
        try:
            token = await self._token(secret, request)
        except CommonplaceError as error:
            return self._asking(request, target, wrong=error, carried=carried)
        if not carried:
            return self._let_in(RedirectResponse(target, 303), request, token)
        values = {"theme": theme_of(request), "next": target, "carried": carried}
        page = self._templates.page("resend", {**values, "form_mark": api_keys.csrf_token(token)})
        return self._let_in(HTMLResponse(page), request, token)

    async def ticket(self, request: Request) -> Response:
        """Sign in by the link that the server printed when it started."""
        try:
            secret = self._tickets.redeem(last_value(read_query(request), "ticket"))
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
            await self._key_check.leave(login_token(request))
        except CommonplaceError as error:
            wrong = error
        response = RedirectResponse(PATH, 303) if wrong is None else self._asking(request, "/", wrong=wrong)
        response.headers.update(SECURITY_HEADERS)
        set_cookie(response, request, login_cookie(request), "")
        return response

    async def _token(self, secret: str, request: Request) -> str:
        caller = await self._key_check.caller(secret, request.state.address)
        return api_keys.start_login(caller.key, secret, caller.memory.clock())

    def _let_in(self, response: Response, request: Request, token: str) -> Response:
        response.headers.update(SECURITY_HEADERS)
        set_cookie(response, request, login_cookie(request), token, api_keys.LOGIN_MS // 1000)
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
        # The hint of an unknown key is for programs; below the box stands where to find one.
        values["unknown"] = isinstance(wrong, Unauthorized)
        status = 200 if wrong is None else wrong.http_status
        return HTMLResponse(self._templates.page("login", values), status, SECURITY_HEADERS)
