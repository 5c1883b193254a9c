"""Settings: keys, spaces, the store and its backups, the model, and the editors that are connected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from commonplace.errors import CommonplaceError, Forbidden
from commonplace.hosts.connect.connection import connection
from commonplace.hosts.connect.editors import EDITORS, installed
from commonplace.hosts.connect.places import places_here
from commonplace.memory import keys, spaces
from commonplace.memory.backup import back_up, backups
from commonplace.memory.book import Book
from commonplace.memory.health import known
from commonplace.memory.status import status
from commonplace.model import ROLES
from commonplace.web.page import Asked, Gone, Shown

BACKUPS = 20
MOST_DAYS = 3650
_DAY = 86_400_000


@dataclass(frozen=True, slots=True)
class Host:
    """An editor on the server's machine: whether it is connected, how, and in which file that stands."""

    name: str
    title: str
    state: str
    how: str = ""
    file: str = ""
    hooks: int = 0


def settings(book: Book, asked: Asked) -> Shown:
    """All of it, as far as the key may see it."""
    return Shown("settings", _values(book, asked))


def make_key(book: Book, asked: Asked) -> Shown:
    """A new key. Its secret is on this page and on no other."""
    days = asked.number("days", 0, 0, MOST_DAYS)
    expires = book.clock() + days * _DAY if days else None
    project = asked.given("project").strip() or None
    made, secret = keys.create(book, asked.given("name"), asked.given("role"), project, expires)
    return Shown("settings", _values(book, asked) | {"made": made, "secret": secret}, 201)


def revoke_key(book: Book, asked: Asked) -> Gone:
    """Let a key work no longer."""
    key = keys.revoke(book, int(asked.path["id"]) if asked.path["id"].isdecimal() else asked.path["id"])
    return Gone("/settings#keys", "revoked", key.name)


def make_backup(book: Book, asked: Asked) -> Gone:
    """Copy the store now."""
    check_machine(book, asked)
    return Gone("/settings#backups", "backed_up", back_up(book).path.name)


def check_machine(book: Book, asked: Asked) -> None:
    """What is about the machine, and not about a space, is for those who look after the server."""
    if not spaces.looks_after_all(book, asked.key):
        raise Forbidden("This is about the server's machine.", "It takes an admin's key of the server's own space.")


def _values(book: Book, asked: Asked) -> dict[str, Any]:
    admin = asked.may("admin")
    machine = admin and spaces.looks_after_all(book, asked.key)
    return {
        "status": status(book),
        "keys": keys.listed(book) if admin else None,
        "roles": ROLES,
        "spaces": spaces.listed(book, asked.key) if admin else None,
        "machine": machine,
        "backups": backups(book.settings)[:BACKUPS] if machine and not book.settings.database_url else None,
        "every_hours": book.settings.backup_every_hours,
        "health": known(book.settings) if machine else None,
        "hosts": _hosts() if machine else None,
        "made": None,
        "secret": "",
    }


def _hosts() -> list[Host]:
    """The editors that are here, the connected ones first."""
    places = places_here()
    found = []
    for editor in EDITORS:
        if editor.file(places) is None:
            continue
        try:
            now = connection(editor, places)
        except CommonplaceError as error:
            found.append(Host(editor.name, editor.title, "unclear", error.message))
            continue
        if now is not None and now.entry is not None:
            how = now.url or now.command
            found.append(Host(editor.name, editor.title, "connected", how, str(now.file), len(now.hooks)))
        elif installed(editor, places):
            found.append(Host(editor.name, editor.title, "here"))
    return sorted(found, key=lambda host: host.state != "connected")
