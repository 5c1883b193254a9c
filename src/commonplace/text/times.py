"""Times as people and programs write them, and as people read them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from commonplace.errors import InvalidInput

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# The first and the last moment of the years 1 to 9999, which are all that calendars know.
EARLIEST_MS, LATEST_MS = -62_135_596_800_000, 253_402_300_799_999
_HINT = "Write it like 2025-03-15, 2025-03-15T14:30, 2025-03-15T14:30:00Z, or as milliseconds since 1970."


def moment(text: str, *, local: bool) -> int:
    """Milliseconds since 1970 of an ISO 8601 time or of a number of milliseconds.

    A time without an offset is local when a person typed it, and UTC when it comes from a file.
    """
    text = text.strip()
    if re.fullmatch(r"-?[0-9]{9,15}", text):
        number = int(text)
        if 10**9 <= number < 10**10:
            raise InvalidInput(f"{text} looks like seconds since 1970.", _HINT)
        return number
    try:
        parsed = datetime.fromisoformat(text)
        if parsed.tzinfo is None:
            parsed = parsed.astimezone() if local else parsed.replace(tzinfo=UTC)
        return (parsed - _EPOCH) // timedelta(milliseconds=1)
    except (ValueError, OverflowError, OSError):
        raise InvalidInput(f"{text[:60]!r} is not a time.", _HINT) from None


def on_calendar(ms: int) -> int:
    """The nearest moment that a calendar knows: a damaged row may have a time beyond the years 1 to 9999."""
    return min(max(int(ms), EARLIEST_MS), LATEST_MS)


def iso(ms: int) -> str:
    """As programs read it: 2025-03-15T14:30:00.000Z."""
    second, rest = divmod(on_calendar(ms), 1000)
    return f"{_to_the_second(second)}.{rest:03}Z"


@lru_cache(10_000)
def _to_the_second(second: int) -> str:
    return (_EPOCH + timedelta(seconds=second)).isoformat().removesuffix("+00:00")


def stamp(ms: int) -> str:
    """As conversations write it: 2025-03-15T14:30:00Z, with milliseconds only where there are some."""
    return iso(ms).replace(".000Z", "Z")


def ago(then_ms: int, now_ms: int) -> str:
    """How long ago, as people say it; a date when that says more."""
    seconds = (now_ms - then_ms) // 1000
    for limit, unit, name in ((60, 1, "s"), (3600, 60, "min"), (86_400, 3600, "h"), (14 * 86_400, 86_400, "d")):
        if 0 <= seconds < limit:
            return "now" if seconds < 10 else f"{seconds // unit} {name} ago"
    return iso(then_ms)[:10]
