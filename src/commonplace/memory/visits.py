"""Visits: a person who showed a key in the browser is known by a token for some days, so that the key stays at home.

A token is sealed with the digest of its key: any server of the store can check it, and it ends with its key.
"""

from __future__ import annotations

import hashlib
import hmac

from commonplace.errors import Unauthorized
from commonplace.memory import keys
from commonplace.memory.book import Book
from commonplace.model import Key

VISIT_MS = 7 * 86_400_000
_OVER = "You were signed out."


def begin(key: Key, secret: str, now_ms: int) -> str:
    """A token for whoever has shown this key."""
    until = now_ms + VISIT_MS
    return f"{key.prefix}.{until}.{_seal(keys.digest(secret), key.prefix, until)}"


def check(book: Book, token: str) -> Key:
    """The key that a token stands for, if the visit is not over and the key still works."""
    prefix, _, rest = token.partition(".")
    until, _, seal = rest.partition(".")
    if not until.isdecimal() or not until.isascii() or len(until) > 15 or int(until) <= book.clock():
        raise Unauthorized(_OVER)
    for key, digest in book.store.keys_beginning(prefix):
        if hmac.compare_digest(_seal(digest, prefix, int(until)).encode(), seal.encode()):
            return keys.working_one(key, book.clock())
    raise Unauthorized(_OVER)


def is_token(secret: str) -> bool:
    """Whether this is meant to be a token, not a key."""
    return "." in secret


def mark_of(token: str) -> str:
    """What forms carry, so that only our own pages can send them: it cannot be told from outside, nor lead back."""
    return hashlib.sha256(f"form {token}".encode()).hexdigest()[:32]


def _seal(digest: bytes, prefix: str, until: int) -> str:
    return hmac.new(digest, f"visit {prefix} {until}".encode(), hashlib.sha256).hexdigest()
