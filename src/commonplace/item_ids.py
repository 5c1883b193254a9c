"""One identity, three spellings: an integer, a UUIDv7, and the UUID's last twelve hex digits."""

from __future__ import annotations

import os
import re
import threading
from typing import NamedTuple

from commonplace.errors import InvalidInput

_UUID = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}")
# A number after it names a part of a long item.
_SHORT = re.compile(r"([0-9a-f]{12})(?:-[0-9]{1,6})?")
_NUMBER = re.compile(r"-?[0-9]{1,40}")
MAX_INTEGER = 2**63 - 1

HINT = "An id is a number, a UUID, or the last twelve hex digits of one. A search or a list shows them."

_lock = threading.Lock()
_last = 0


def new_uid(now_ms: int) -> str:
    """A UUIDv7. Within a process they never go back, so that sorting by uid is sorting by birth."""
    global _last
    with _lock:
        # 12 bits of sequence below the 48 bits of time; a burst or a clock going back borrows from the future.
        _last = max(now_ms << 12, _last + 1)
        stamp = _last
    random = int.from_bytes(os.urandom(8), "big") & ((1 << 62) - 1)
    number = (stamp >> 12) << 80 | 0x7 << 76 | (stamp & 0xFFF) << 64 | 0b10 << 62 | random
    digits = f"{number:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


class Ref(NamedTuple):
    """A spelled identity: the readings to try, in order."""

    text: str
    number: int | None = None
    uid: str | None = None
    short: str | None = None


def is_spelled_out(text: str) -> bool:
    """Whether a text is a UUID or its short form, which no number is taken for."""
    spelled = text.strip().lower()
    return bool(_UUID.fullmatch(spelled) or _SHORT.fullmatch(spelled))


def ref(value: int | str) -> Ref:
    """Read any spelling of an item's identity."""
    text = "" if isinstance(value, bool) else str(value).strip().lower().removeprefix("#")
    if not text:
        raise InvalidInput(f"{value!r} is not an id.", HINT)
    if _UUID.fullmatch(text):
        digits = text.replace("-", "")
        uid = f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
        return Ref(text, uid=uid)
    spelled = _SHORT.fullmatch(text) if isinstance(value, str) else None
    short = spelled[1] if spelled else None
    number = int(text) if _NUMBER.fullmatch(text) else None
    # What no item can be called is an id all the same: one that nothing answers to.
    return Ref(text, number if number is not None and abs(number) <= MAX_INTEGER else None, short=short)
