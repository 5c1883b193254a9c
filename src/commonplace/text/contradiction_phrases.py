"""Phrases that say the same as plainer ones: a sentence is rewritten before its words are read. And its numbers.

What a sentence names as past goes to its end after "formerly", where the reader looks for it: "Redis is out", "it was
Redis", "Goodbye Redis". Names of attributes become the verb that is used for them elsewhere: retention is how long
something is kept, the runtime is what it uses. Every rule has words, of which a sentence must have one to be tried.
Numbers, units, dates and times are read in a form in which two can be compared.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from commonplace.text.tokens import fold

# A name, a value or a subject: up to six words without a border.
_SOME = r"[^\s,;:]+(?: [^\s,;:]+){0,5}?"
# What goes on up to the next border.
_ALL = r"[^,;:]+?"
_END = r"[.!]*$"
# Said of a value that holds no longer.
_OVER = r"(?:is|was|are|were) (?:out|off|history|gone|wrong|over|obsolete|too \w+)"
_FAILS = rf"(?:{_OVER}|does not work|doesn't work|did not work)"
_TURNING = "(?:review|release|outage|incident|rename|audit|meeting|move|migration|upgrade|relaunch|merger|vote)"
_COUNT = r"(?:\d+|an?|one|two|three|four|five|six|seven|eight|nine|ten|twelve) (?:day|week|month|year|hour)s?\b"

# Since when something holds is not the time that a sentence is about, and who says so not what it is about.
_MOMENTS = (
    (
        "after since with",
        (
            rf"^(?:after|since|with) (?:the|our|this|that) (?:last |latest |new )?{_TURNING},? "
            r"(?=.*\b(?:no longer|any ?more|again|now|instead of)\b)"
        ),
        "from now on ",
    ),
    (
        "changed swapped corrected updated",
        r"^we (?:changed|swapped|corrected|updated) (?:the \w+|that|it|this): ",
        "from now on ",
    ),
    ("voted decided agreed", r"^(?:the team|we) (?:voted|decided|agreed): ", "from now on "),
    ("finished completed", "^(?:finished|completed) the (?:move|migration|switch): ", ""),
    ("day week month", r"\b(day|week|month) of the (?:year|month|week)\b", r"\1"),
    ("true", "^it is (?:no longer|not) true (?:any ?more )?that ", "no longer "),
    (
        "ops team operations",
        (
            r"^(?:ops|the (?:\w+ )?team|operations) "
            r"(?=(?:have |has )?(?:moved|shifted|migrated|switched|put|brought) (?:the|our)\b)"
        ),
        "we ",
    ),
    ("forever indefinitely", r"\b(?:forever|indefinitely)\b", "for 99999 days"),
)
# The same attribute in other words: where something is, its name, its owner, its runtime, how long it is kept.
_ATTRIBUTES = (
    ("production hosting", r"^(?:production of|hosting:) (?=(?:the|our) .*\b(?:is|are|runs?) on\b)", ""),
    (
        "migration move switch transfer",
        (
            rf"^(?:the )?(?:migration|move|switch|transfer) of ({_ALL}) to (.+?) "
            rf"(?:is|was) (?:done|complete|completed|finished|over){_END}"
        ),
        r"\1 moved to \2",
    ),
    ("where", rf"^({_SOME}) is where ({_ALL}) (runs?|lives?|sits?|is hosted|is deployed){_END}", r"\2 \3 on \1"),
    ("hosts", rf"^((?:the|an?|our) {_SOME}) hosts ((?:the|our) {_ALL})( now)?{_END}", r"\2 is hosted on \1\3"),
    ("over", r"\b(\w+) over to\b", r"\1 to"),
    ("out", rf"\bout of ({_SOME}) (?:in)?to\b", r"from \1 to"),
    ("home", r"\b(?:has |have )?found a new home (?:on|in|at|with)\b", "moved to"),
    ("name", rf"^({_SOME}) is the name of ({_ALL})( now)?{_END}", r"\2 is called \1\3"),
    ("rename", rf"^since the rename,? ({_ALL}) is (\S+?){_END}", r"\1 is now called \2"),
    ("name", rf"^we gave ({_ALL}) the (?:new )?name (\S+?){_END}", r"\1 is now called \2"),
    ("by", r"\b(?:goes|go) by\b", "is called"),
    (
        "handed gave passed",
        rf"^((?!we\b|they\b|i\b|you\b)\w+) (?:handed|gave|passed) ({_ALL}) (?:over )?to (\w+){_END}",
        r"\2 was handed to \3, formerly \1",
    ),
    ("owner maintainer lead", r"\bthe new (?:owner|maintainer|lead) of\b", "now maintains"),
    ("ask", rf"\bask (\w+) about ({_ALL}) now\b", r"\1 maintains \2 now"),
    ("with rely relies", r"\b(?:goes|went) with\b|\brel(?:y|ies) on\b", "uses"),
    ("adopted", r"\b(?:has|have) adopted\b", "now uses"),
    ("runtime", rf"^({_SOME}) is the runtime of ({_ALL})( now)?{_END}", r"\2 uses \1\3"),
    ("runtime", r"^(?:the )?runtime of (?=\w)", ""),
    ("retention", r"^(?:the )?retention (?:time |period )?(?:of|for) (?=\w)", "kept "),
    ("retention", ": retention (?=.* -> )", ": kept "),
    (
        "deleted purged removed erased wiped",
        rf"\b(?:deleted|purged|removed|erased|wiped) after (?={_COUNT})",
        "kept for ",
    ),
    ("want wants", rf"^(?:the )?\w+ wants? ({_ALL} kept for )", r"\1"),
)
_PAST_VALUES = (
    (
        "longer",
        rf"^({_SOME}) no longer (\w+) ({_ALL})[,;] ({_SOME}) does(?: now)?{_END}",
        r"\4 now \2 \3, formerly \1",
    ),
    ("for", rf"^({_SOME}) {_FAILS} for ({_ALL})[,;] (?:so )?(?:it|they)\b(.+?){_END}", r"\2\3, formerly \1"),
    ("for", rf"^({_SOME}) {_FAILS} for ({_ALL})[,;] (?:so )?we \w+ it\b(.+?){_END}", r"\2 is now\3, formerly \1"),
    (
        "so",
        rf"^({_SOME}) (?:was|is) (?:already )?(?:taken|gone|wrong|full|too \w+)[,;] so (?!it\b|they\b)(.+?){_END}",
        r"\2, formerly \1",
    ),
    (
        "goodbye bye farewell",
        rf"^(?:goodbye|bye|farewell)(?: to)? ({_SOME})[:,;!] (.+?){_END}",
        r"\2, formerly \1",
    ),
    (
        "left stepped resigned retired quit dead",
        (
            rf"^({_SOME}) (?:(?:has )?(?:left(?: the team| the company| us)?|stepped down|resigned|retired|quit)[,;]"
            rf"|is dead(?: to us)?[,;:])(?: so| and)? (?!it\b|they\b)(.+?){_END}"
        ),
        r"\2, formerly \1",
    ),
    (
        "kicked threw got dropped ditched scrapped abandoned",
        (
            r"^we (?:kicked out|threw out|got rid of|dropped|ditched|scrapped|abandoned) "
            rf"([^\s,;:]+(?: [^\s,;:]+)?)[;,](?: so| and)? (?!it\b|they\b)(.+?){_END}"
        ),
        r"\2, formerly \1",
    ),
    (
        "said parted got",
        rf"^({_ALL}) (?:said (?:goodbye|farewell) to|parted with|got rid of) ({_SOME}) and (.+?){_END}",
        r"\1 now \3, formerly \2",
    ),
    ("has", rf"[,;] ({_SOME}) has (?:left(?: the team| the company)?|moved to another team){_END}", r", formerly \1"),
    ("is was are were", rf"[,;] ({_SOME}) {_OVER}{_END}", r", formerly \1"),
    ("was were", rf"[,;] (?:it|they) (?:was|were) ({_SOME})(?: before)?{_END}", r", formerly \1"),
    ("before", rf": ({_SOME}) now, ({_SOME}) before{_END}", r" is \1 now, formerly \2"),
    (
        "was were",
        rf"^({_ALL}) (?:was|were) ({_SOME})(?:[;,] (?:but )?(?:it is|they are)| but (?:is|are)) ({_SOME}) now{_END}",
        r"\1 is \3 now, formerly \2",
    ),
    (
        "but",
        rf"^({_ALL}) (?:was|were) not (\w+)( {_ALL})? but (?:is|are) \2 now{_END}",
        r"\1 is now \2\3",
    ),
    (
        "but",
        rf"^({_ALL}) (?:was|were) (\w+)( {_ALL})? but (?:is|are) not \2 now{_END}",
        r"\1 is now not \2\3",
    ),
    ("off", rf"\b(is|are) off ({_SOME}) and on (.+?){_END}", r"\1 now on \3, formerly \2"),
    (
        "dropped done",
        (
            rf"^({_ALL}) (?:dropped|is done with) ({_SOME})[,;] "
            rf"(?:build it with|it (?:uses|needs|requires)) ({_SOME}){_END}"
        ),
        r"\1 now uses \3, formerly \2",
    ),
    (
        "dropped done",
        rf"^({_ALL}) (?:dropped|is done with) ({_SOME})[,;] ({_SOME}) is (?:required|used|needed)(?: now)?{_END}",
        r"\1 now uses \3, formerly \2",
    ),
    ("became", rf"^({_SOME}) became ({_SOME}): ({_ALL}) has a new name{_END}", r"\3 is now called \2, formerly \1"),
)
_VERBS = (
    ("place", r"\b(?:has taken|took|takes) the place of\b", "replaces"),
    ("steps stepped", r"\b(?:steps|stepped) in for\b", "replaces"),
    (
        "favor favour",
        r"\b(?:was |were |is |has been )?(?:dropped|abandoned|retired|given up) in favou?r of\b",
        "was replaced by",
    ),
    ("favor favour", r"\bin favou?r of\b", "->"),
    (
        "for",
        r"\b(?:swapped|exchanged|gave up|traded|dropped|ditched) (\S+(?: \S+){0,2}?) for\b",
        r"replaced \1 with",
    ),
    ("gave", r"\bgave (\S+(?: \S+){0,3}) to\b", r"handed \1 to"),
    (
        "put pushed brought moved",
        r"\b(?:put off|pushed back|brought forward|pushed out|moved back|moved up)\b",
        "postponed",
    ),
    ("put", r"\bput on (?=\w+day)", "moved to "),
    ("lost", r"\blost the name\b", "is no longer called"),
    (
        "look looks looking take takes taking charge owner",
        r"\b(?:looks?|looking) after\b|\b(?:takes?|taking) care of\b|\b(?:in charge|the (?:new )?owner) of\b",
        "maintains",
    ),
    (
        "responsible maintainer lead manager",
        r"\b(?:is|are) responsible for\b|\bis the (?:maintainer|lead|manager) of\b",
        "maintains",
    ),
    (
        "ownership responsibility maintenance administration leadership",
        r"\b(?:ownership|responsibility|maintenance|administration|leadership) (?:of|for)\b",
        "",
    ),
    ("to", r"\b(?:went|passed|was given|was passed) to(?= [A-Z]\w+\W*$)", "was handed to"),
    ("push pushed pushing", r"\b(?:push|pushed|pushing) (.+?) (?:back )?to\b", r"postponed \1 to"),
    ("every each", r"\b(?:every|each) (?=(?:day|week|month|year|hour|minute|second)\b)", "every 1 "),
    ("later earlier", r",? an? (?:day|week|month|year) (?:later|earlier)(?: than \w+)?", ""),
    ("back", r"\b(is|are) back from\b", r"\1 no longer on"),
    ("only", r"^only (?=\w+ (?:can|may|are|is)\b)", "some-only "),
    ("weekly", r"\bweekly\b", "every 1 week"),
    ("daily nightly", r"\b(?:daily|nightly)\b", "every 1 day"),
    ("->", r"(?<=[:,] )((?:[^:,]|(?<=\d):(?=\d))+?) -> (.+)$", r"changed from \1 to \2"),
)
_RULES = tuple(
    (frozenset(words.split()), re.compile(phrase, re.IGNORECASE), plainer)
    for words, phrase, plainer in (*_MOMENTS, *_ATTRIBUTES, *_PAST_VALUES, *_VERBS)
)
_WORD = re.compile(r"\w+|->")


def in_plainer_words(text: str) -> str:
    """A sentence as a plainer speaker would say it."""
    words = set(_WORD.findall(text.lower()))
    for needed, phrase, plainer in _RULES:
        if not needed.isdisjoint(words):
            rewritten = phrase.sub(plainer, text)
            if rewritten != text:
                text, words = rewritten, set(_WORD.findall(rewritten.lower()))
    return text


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
