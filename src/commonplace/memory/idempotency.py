"""Idempotency keys: a request with a key is done once, however often it is sent; repeating it repeats the answer."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable

from commonplace.errors import Conflict, InvalidInput
from commonplace.memory.local_memory import LocalMemory
from commonplace.store.types import RequestClaim
from commonplace.store.types import SavedReply as SavedReply
from commonplace.text.dates import DAY_MS, MINUTE_MS

REPLY_LIFETIME_MS = DAY_MS
# Whoever has not answered for so long has died over it.
CLAIM_TIMEOUT_MS = MINUTE_MS


def run_once(
    memory: LocalMemory, caller: str, name: str, fingerprint: bytes, work: Callable[[], SavedReply]
) -> tuple[SavedReply, bool]:
    """The answer to a call, and whether it is an earlier one. An answer of 500 and more is none: it may be retried."""
    now = memory.clock()
    # By its hash: what a caller puts into a name is nothing to be kept.
    claim = RequestClaim(caller, hashlib.sha256(name.encode()).hexdigest(), fingerprint, secrets.token_hex(8))
    known = memory.store.claim_reply(claim, now, now - CLAIM_TIMEOUT_MS, now - REPLY_LIFETIME_MS)
    if known is not None:
        if known.fingerprint != fingerprint:
            raise InvalidInput(
                f"The Idempotency-Key {name[:60]!r} was used for another request.", "Use a new key for a new request."
            )
        if known.answer is None:
            raise Conflict("The same request is still in progress.", "Wait a moment and send it again.")
        return known.answer, True
    try:
        answer = work()
    except BaseException:
        memory.store.release_claim(claim)
        raise
    if answer.status < 500:
        memory.store.store_reply(claim, answer)
    else:
        memory.store.release_claim(claim)
    return answer, False
