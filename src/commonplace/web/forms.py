"""Forms and cookies of pages: reading them, and refusing what no page of ours sent (CSRF)."""

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence
from urllib.parse import unquote_to_bytes

from starlette.requests import HTTPConnection, Request
from starlette.responses import Response

from commonplace.errors import Forbidden, InvalidInput, TooLarge
from commonplace.memory import keys
from commonplace.text.dates import DAY_SECONDS

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


def last_value(fields: Mapping[str, Sequence[str]], name: str, default: str = "") -> str:
    """The value of a field; of several with the same name, the last."""
    return (fields.get(name) or (default,))[-1]


def check_form_mark(request: Request, form: Mapping[str, list[str]]) -> None:
    """Refuse a form that was not made by a page of this login."""
    if request.method != "POST":
        return
    mark, expected = last_value(form, "form_mark"), keys.csrf_token(login_token(request))
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
