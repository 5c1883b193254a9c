"""The cookies of our pages: whose visit it is, and the theme they like."""

from __future__ import annotations

from starlette.requests import HTTPConnection
from starlette.responses import Response

from commonplace.text.dates import DAY_SECONDS

THEME_COOKIE = "commonplace_theme"
THEMES = ("light", "dark")
_VISIT = "commonplace_visit"


def visit_cookie(connection: HTTPConnection) -> str:
    """The name of the cookie of a visit. Browsers show cookies to every port of a host: each port has its own."""
    port = connection.headers.get("host", "").rpartition(":")[2]
    return f"{_VISIT}_{port}" if port.isdecimal() else _VISIT


def visit_of(connection: HTTPConnection) -> str:
    """The token of the visit; empty if there is none."""
    return connection.cookies.get(visit_cookie(connection), "")


def theme_of(connection: HTTPConnection) -> str:
    theme = connection.cookies.get(THEME_COOKIE, "")
    return theme if theme in THEMES else ""


def set_cookie(
    response: Response, connection: HTTPConnection, name: str, value: str, seconds: int = 365 * DAY_SECONDS
) -> None:
    """A cookie for our pages only. An empty one is taken away."""
    response.set_cookie(
        name,
        value,
        max_age=seconds if value else 0,
        httponly=name != THEME_COOKIE,
        samesite="strict",
        secure=connection.url.scheme == "https",
    )
