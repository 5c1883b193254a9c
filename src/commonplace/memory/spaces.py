"""Spaces: made, listed and limited, and people invited into them by a key.

Whoever is at the server's machine (no `key`) may do all of this, and so may an admin of the space that the server was
started for, its home. An admin of another space looks after that one; everybody may know what their own space holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from commonplace.errors import Conflict, Forbidden, InvalidInput, NotFound
from commonplace.memory import keys
from commonplace.memory.book import Book, beside
from commonplace.model import Key
from commonplace.store.spaces import Limits, SpaceEntry
from commonplace.text.redact import redact

__all__ = [
    "Limits",
    "SpaceEntry",
    "books_of",
    "create",
    "invite",
    "limit",
    "listed",
    "looks_after_all",
    "one",
    "people",
    "revoke",
]

# More than any database can hold, and no more than every program can count.
MOST = 10**15
# It stands in addresses and on command lines.
NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
_ASK = "Ask whoever runs the server: it takes an admin's key of its own space."


def create(book: Book, name: str, limits: Limits, key: Key | None = None) -> SpaceEntry:
    """Make an empty space."""
    if not looks_after_all(book, key):
        raise Forbidden("This key makes no spaces.", _ASK)
    name, limits = _checked_name(name), _checked(limits)
    twins = [known.name for known in book.store.spaces(book.clock()) if known.name.casefold() == name.casefold()]
    if twins or not book.store.add_space(name, book.clock(), limits):
        raise Conflict(f"There is a space {(twins or [name])[0]!r} already.", "Choose another name, or invite into it.")
    return one(book, name)


def listed(book: Book, key: Key | None = None) -> list[SpaceEntry]:
    """Every space that the caller may know of, by name."""
    return book.store.spaces(book.clock(), None if looks_after_all(book, key) else book.settings.space)


def one(book: Book, name: str, key: Key | None = None) -> SpaceEntry:
    """One of these; a space that the caller may not know of is none."""
    known = looks_after_all(book, key) or name == book.settings.space
    found = book.store.spaces(book.clock(), name) if known else []
    if not found:
        raise NotFound(f"There is no space {name[:64]!r}.", "`commonplace spaces` lists them.")
    return found[0]


def limit(book: Book, name: str, limits: Limits, key: Key | None = None) -> SpaceEntry:
    """Change what a space may hold. What it holds already stays; it only grows no more."""
    one(book, name, key)
    if not looks_after_all(book, key):
        raise Forbidden("This key does not change what its space may hold.", _ASK)
    book.store.limit_space(name, _checked(limits))
    return one(book, name)


def people(book: Book, name: str, key: Key | None = None) -> list[Key]:
    """Who has a key to a space: every key, the oldest first; revoked and expired ones too."""
    return keys.listed(_book_of(book, name, key))


def invite(
    book: Book,
    name: str,
    who: str,
    role: str = "write",
    project: str | None = None,
    expires_ms: int | None = None,
    key: Key | None = None,
) -> tuple[Key, str]:
    """A new key to a space, and its secret, which cannot be told again."""
    return keys.create(_book_of(book, name, key), who, role, project, expires_ms)


def revoke(book: Book, name: str, id_or_prefix: int | str, key: Key | None = None) -> Key:
    """Let a key to a space work no longer."""
    return keys.revoke(_book_of(book, name, key), id_or_prefix)


def books_of(book: Book, secret: str) -> Iterator[Book]:
    """The spaces that a key, or a visit by it, may belong to, by how it begins; the book itself if there is none."""
    for name in book.store.spaces_of_key(keys.prefix_of(secret)) or [book.settings.space]:
        yield beside(book, name)


def looks_after_all(book: Book, key: Key | None) -> bool:
    """Whether somebody looks after the server and all of its spaces; a key to one project does not."""
    if key is None:
        return True
    return key.allows("admin") and key.project is None and book.settings.space == book.neighbours.home


def _book_of(book: Book, name: str, key: Key | None) -> Book:
    """The memory of a space, for one who looks after it."""
    if key is not None and not key.allows("admin"):
        raise Forbidden("This key invites nobody.", "Use an admin's key.")
    return beside(book, one(book, name, key).name)


def _checked_name(name: str) -> str:
    name = name.strip()
    if not re.fullmatch(NAME, name) or redact(name) != name:
        raise InvalidInput(
            f"{redact(name)[:64]!r} cannot be the name of a space.",
            "Use up to 64 letters from a to z, digits and . - _, beginning with a letter or digit, such as `team`.",
        )
    return name


def _checked(limits: Limits) -> Limits:
    for most in (limits.items, limits.bytes):
        if most is not None and not 0 <= most <= MOST:
            raise InvalidInput("A limit is a number from 0 on.", "Name a number, or none for no limit.")
    return limits
