"""Replies: a call that names itself is done once, however often it is sent; repeating it repeats the answer."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable

from commonplace.errors import Conflict, InvalidInput
from commonplace.memory.book import Book
from commonplace.store.replies import Answered, Claim

__all__ = ["Answered", "once"]

KEPT_MS = 24 * 3_600_000
# Whoever has not answered for so long has died over it.
PATIENCE_MS = 60_000


def once(book: Book, caller: str, name: str, fingerprint: bytes, work: Callable[[], Answered]) -> tuple[Answered, bool]:
    """The answer to a call, and whether it is an earlier one. An answer of 500 and more is none: it may be retried."""
    now = book.clock()
    # By its hash: what a caller puts into a name is nothing to be kept.
    claim = Claim(caller, hashlib.sha256(name.encode()).hexdigest(), fingerprint, secrets.token_hex(8))
    known = book.store.claim_reply(claim, now, now - PATIENCE_MS, now - KEPT_MS)
    if known is not None:
        if known.fingerprint != fingerprint:
            raise InvalidInput(
                f"The Idempotency-Key {name[:60]!r} was used for another request.", "Use a new key for a new request."
            )
        if known.answer is None:
            raise Conflict("The same request is being worked on.", "Wait a moment and send it again.")
        return known.answer, True
    try:
        answer = work()
    except BaseException:
        book.store.drop_claim(claim)
        raise
    if answer.status < 500:
        book.store.keep_reply(claim, answer)
    else:
        book.store.drop_claim(claim)
    return answer, False
