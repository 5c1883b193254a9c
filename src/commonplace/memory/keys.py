"""Keys: who may call over HTTP, and what for. A secret is told once, when it is made; only its digest is kept."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets

from commonplace.errors import InvalidInput, NotFound, Unauthorized
from commonplace.memory.book import Book
from commonplace.memory.remember import LATEST_MS
from commonplace.model import ROLES, Key
from commonplace.text.names import normalise_project
from commonplace.text.redact import redact

# Clients of Sekha take only keys that begin so.
BEGINNING = "sk-sekha-"
MAX_NAME = 100
# How often the time of a key's last use is written.
USE_MS = 60_000
_SECRET = re.compile(rf"{BEGINNING}[0-9a-f]{{48}}")
_PREFIX = len(BEGINNING) + 8
UNKNOWN = "This key is not known here."


def create(
    book: Book, name: str, scope: str = "write", project: str | None = None, expires_ms: int | None = None
) -> tuple[Key, str]:
    """A new key and its secret, which cannot be told again."""
    name = redact(" ".join(name.split()))
    if not 0 < len(name) <= MAX_NAME or not name.isprintable():
        raise InvalidInput(f"A key's name has 1 to {MAX_NAME} characters.", "Name it after who uses it.")
    scope = scope_of(scope)
    now = book.clock()
    if expires_ms is not None and expires_ms <= now:
        raise InvalidInput("The key would have expired already.", "Choose a later time.")
    if expires_ms is not None and expires_ms > LATEST_MS:
        raise InvalidInput("The key would expire after the year 9999.", "Leave its end out.")
    secret = BEGINNING + secrets.token_hex(24)
    place = None if project is None else normalise_project(project)
    key = Key(0, name, prefix_of(secret), scope, place, now, expires_ms)
    return book.store.add_key(key, digest(secret)), secret


def scope_of(word: str) -> str:
    """What a key may do, said by its scope or by the role of whoever has it."""
    scope = next((scope for scope, role in ROLES.items() if word in (scope, role)), None)
    if scope is None:
        raise InvalidInput(f"{word[:60]!r} is not a role.", f"Choose one of {', '.join(ROLES.values())}.")
    return scope


def listed(book: Book) -> list[Key]:
    """Every key, the oldest first; revoked and expired ones too."""
    return book.store.all_keys()


def working(book: Book) -> list[Key]:
    """The keys that open the door now."""
    return [key for key in book.store.all_keys() if key.works(book.clock())]


def revoke(book: Book, id_or_prefix: int | str) -> Key:
    """Let a key, named by its number or by how it begins, work no longer. That cannot be undone."""
    named = str(id_or_prefix).strip()
    meant = [key for key in book.store.all_keys() if _is_named(key, named)]
    if len(meant) > 1:
        raise InvalidInput(f"{named[:60]!r} means {len(meant)} keys.", "Name one by its number.")
    revoked = book.store.revoke_key(meant[0].id, book.clock()) if meant else None
    if revoked is None:
        raise NotFound(f"There is no key {named[:_PREFIX]!r}.", "`commonplace keys` lists them.")
    return revoked


def check(book: Book, secret: str) -> Key:
    """The key that this is the secret of. Whoever does not have the whole of it learns nothing about any key."""
    key = _known(book, secret)
    if key is None:
        raise Unauthorized(UNKNOWN)
    return working_one(key, book.clock())


def is_spent(book: Book, secret: str) -> bool:
    """Whether this is the secret of a key that was revoked or has expired; one of another store is not."""
    key = _known(book, secret)
    return key is not None and not key.works(book.clock())


def works_here(book: Book, secret: str) -> Key | None:
    """The key of this memory that a secret belongs to, if it works; None for one of another memory."""
    key = _known(book, secret)
    return key if key is not None and key.works(book.clock()) else None


def prefix_of(secret: str) -> str:
    """How a secret begins: what its key is looked up by."""
    return secret[:_PREFIX]


def looks_like_one(secret: str) -> bool:
    return _SECRET.fullmatch(secret) is not None


def note_use(book: Book, key: Key) -> None:
    """Write down that a key was used, at most once a minute."""
    now = book.clock()
    if key.used_ms is None or now - key.used_ms >= USE_MS:
        book.store.touch_key(key.id, now)


def _known(book: Book, secret: str) -> Key | None:
    if not looks_like_one(secret):
        return None
    kept = digest(secret)
    found = book.store.keys_beginning(prefix_of(secret))
    return next((key for key, known in found if hmac.compare_digest(kept, known)), None)


def working_one(key: Key, now_ms: int) -> Key:
    """The key, if it opens the door now; else why it does not."""
    if key.revoked_ms is not None:
        raise Unauthorized("This key was revoked.")
    if not key.works(now_ms):
        raise Unauthorized("This key has expired.")
    return key


def _is_named(key: Key, named: str) -> bool:
    if named.isdecimal():
        return str(key.id) == named
    # A whole secret names its key as well: that is what its owner has at hand.
    return len(named) > len(BEGINNING) and (key.prefix.startswith(named) or named.startswith(key.prefix))


def digest(secret: str) -> bytes:
    """What is kept of a secret."""
    return hashlib.sha256(secret.encode()).digest()
