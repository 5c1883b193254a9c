"""The way in for whoever starts the server at a terminal: a link that signs in once, opened where there is a screen."""

from __future__ import annotations

import os
import sys
import threading
import webbrowser

from commonplace.web.login import Tickets


def link(address: str, secret: str | None, tickets: Tickets) -> str:
    """The address of the first page; with a ticket if it is told to a person who has the key anyway."""
    if secret is None or not sys.stderr.isatty():
        return f"{address}/"
    return f"{address}/enter?ticket={tickets.issue(secret)}"


def may_open(wanted: bool | None) -> bool:
    """Whether to open a browser: if told so, or if a person sits at a terminal on a screen."""
    if wanted is not None:
        return wanted
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty() and _has_screen()


def open_page(address: str) -> None:
    """Have the browser show the page, without waiting for it: some return only when they are closed."""
    threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()


def _has_screen() -> bool:
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
