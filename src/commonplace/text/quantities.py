"""Numbers, units, dates and times in a sentence, each in a form in which two can be compared."""

from __future__ import annotations

import re
from collections.abc import Mapping

from commonplace.text.tokens import fold

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*%?")
_TIME = re.compile(r"\d{1,2}:\d{2}")
_ISO_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})")
_COUNTED = {
    word: float(n)
    for n, word in enumerate("zero one two three four five six seven eight nine ten eleven twelve".split())
}
MONTHS = {
    name: n // 2 + 1
    for n, name in enumerate(
        "january jan february feb march mar april apr may may june jun july jul august aug september sep october oct"
        " november nov december dec".split()
    )
}
WEEKDAYS = {
    name: n % 7
    for n, name in enumerate(
        "monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays"
        " saturdays"
        " sundays".split()
    )
}
UNITS: Mapping[str, tuple[str, float]] = {
    word: (dimension, factor)
    for dimension, units in {
        "time": {
            "ms millisecond milliseconds": 0.001,
            "s sec secs second seconds": 1.0,
            "min mins minute minutes": 60.0,
            "h hr hrs hour hours": 3600.0,
            "d day days": 86400.0,
            "week weeks": 604800.0,
            "month months": 2629800.0,
            "year years": 31557600.0,
        },
        "size": {"kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12, "bytes byte": 1.0},
        "money": {"euro euros eur €": 1.0},
        "dollar": {"dollar dollars usd $": 1.0},
        "percent": {"percent % pct": 1.0},
        "request": {"request requests req reqs": 1.0},
        "pixel": {"px pixel pixels": 1.0},
    }.items()
    for names, factor in units.items()
    for word in names.split()
}


def read_number(piece: str) -> float | None:
    """A number in digits or words; a version counts by its parts."""
    if piece in _COUNTED:
        return _COUNTED[piece]
    if not _NUMBER.fullmatch(piece):
        return None
    plain = piece.rstrip("%")
    # "1,020" is a thousand; "1.2.3" and other versions count by their parts.
    plain = plain.replace(",", "") if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", plain) else plain.replace(",", ".")
    parts = plain.split(".")
    if len(parts) > 2:
        return float(int(parts[0])) * 1e6 + float(int(parts[1])) * 1e3 + float(int(parts[2]))
    return float(plain)


def _clock(piece: str, half: str) -> str:
    hour, minute = piece.split(":")[:2]
    shifted = int(hour) % 12 + 12 if half == "pm" else int(hour)
    return f"{shifted}:{minute}"


def read_when(written: str, following: str, *, is_first: bool, is_dated: bool) -> tuple[dict[str, str], int]:
    """A date, a day or a time of day by its parts, and how many more words belong to it; nothing if it is none.

    A year counts at the end of a sentence, or if it `is_dated`; "may" is a month where it has a capital letter.
    """
    piece = fold(written)
    if found := _ISO_DATE.fullmatch(piece):
        return {"year": found[1], "month": str(int(found[2])), "day": str(int(found[3]))}, 0
    if _TIME.fullmatch(piece):
        return {"time": _clock(piece, following)}, int(following in ("am", "pm"))
    if piece.isdigit() and following in ("am", "pm"):
        return {"time": _clock(piece + ":00", following)}, 1
    if piece in ("noon", "midnight"):
        return {"time": "12:00" if piece == "noon" else "0:00"}, 0
    is_month = piece in MONTHS and (len(piece) != 3 or piece == "may" or following.isdigit())
    if is_month and (piece != "may" or (written[0] == "M" and not is_first)):
        day = following if following.isdigit() and len(following) <= 2 else ""
        return {"month": str(MONTHS[piece])} | ({"day": str(int(day))} if day else {}), int(bool(day))
    if piece.isdigit() and len(piece) <= 2 and following in MONTHS:
        return {"month": str(MONTHS[following]), "day": str(int(piece))}, 1
    if piece in WEEKDAYS:
        return {"weekday": str(WEEKDAYS[piece])}, 0
    if re.fullmatch(r"q[1-4]", piece):
        return {"quarter": piece}, 0
    if piece == "week" and following.isdigit():
        return {"week": following}, 1
    if piece in ("next", "this") and following in ("month", "week", "year", "quarter"):
        return {"relative": f"{piece} {following}"}, 1
    if re.fullmatch(r"20\d\d", piece) and (is_dated or not following):
        return {"year": piece}, 0
    return {}, 0
