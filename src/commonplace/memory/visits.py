"""Visits: a person who showed a key in the browser is known by a token for some days, so that the key stays at home.

A token is sealed with the digest of its key: any server of the store can check it, and it ends with its key. That a
visit was ended before its time is written down until then.
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
    prefix, until, seal = _parts(token)
    if until <= book.clock():
        raise Unauthorized(_OVER)
    for key, digest in book.store.keys_beginning(prefix):
        if hmac.compare_digest(_seal(digest, prefix, until).encode(), seal.encode()):
            if book.store.is_visit_over(keys.digest(token)):
                raise Unauthorized(_OVER)
            return keys.working_one(key, book.clock())
    raise Unauthorized(_OVER)


def end(book: Book, token: str) -> None:
    """End a visit, so that its token is good for nobody any more. Only one that goes on can be ended."""
    check(book, token)
    _prefix, until, _seal = _parts(token)
    book.store.end_visit(keys.digest(token), until, book.clock())


def is_token(secret: str) -> bool:
    """Whether this is meant to be a token, not a key."""
    return "." in secret


def mark_of(token: str) -> str:
    """What forms carry, so that only our own pages can send them: it cannot be told from outside, nor lead back."""
    return hashlib.sha256(f"form {token}".encode()).hexdigest()[:32]


def _parts(token: str) -> tuple[str, int, str]:
    """How its key begins, when the visit is over at last, and the seal."""
    prefix, _, rest = token.partition(".")
    until, _, seal = rest.partition(".")
    if not until.isdecimal() or not until.isascii() or len(until) > 15:
        raise Unauthorized(_OVER)
    return prefix, int(until), seal


def _seal(digest: bytes, prefix: str, until: int) -> str:
    return hmac.new(digest, f"visit {prefix} {until}".encode(), hashlib.sha256).hexdigest()
