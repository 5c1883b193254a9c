"""The words by which a rule says what it wants, what it rejects and what narrows that: data of `rule_statements.py`."""

from __future__ import annotations

from commonplace.text.tokens import STOP_WORDS, stem

# Words after which something is rejected, and those after which it is wanted.
REJECTS = frozenset(
    "never not no dont doesnt mustnt cannot cant shouldnt wont isnt arent avoid avoiding forbid ban stop nobody noone"
    " neither nor nothing reject rejected refuse refused".split()
)
WANTS = frozenset("use uses using prefer prefers always only must should".split())
MOVED = frozenset("moved switched migrated changed went".split())
INSTEAD = (("instead", "of"), ("rather", "than"), ("in", "place", "of"))
# How people say that they turned an idea down, before they name it or after; and who says it.
SPEAKERS = frozenset(("we", "i", "they", "you"))
TURNED_DOWN = tuple(
    tuple(phrase.split())
    for phrase in (
        "decided against",
        "voted against",
        "ruled out",
        "turned down",
        "gave up on",
        "dropped the idea of",
        "dropped",
        "abandoned",
        "discarded",
        "dismissed",
    )
)
# Verbs that only bring the thing in that they name, or run it.
USING = frozenset(
    map(
        stem,
        "use using adopt bring introduce have need want rely depend run call execute invoke try write switch take get"
        " allow permit support consider choose add install pick go do make rejected considered tried propose"
        " proposed host hosting be".split(),
    )
)
ALLOWING = frozenset(map(stem, "allowed permitted used supported wanted accepted acceptable okay ok welcome".split()))
FORBIDDING = frozenset(map(stem, "forbidden banned prohibited disallowed deprecated taboo off-limits".split()))
EDITING = frozenset(map(stem, "edit touch change modify alter rewrite overwrite update hand-edit edited write".split()))
# What says of files that they are there already.
THERE_ALREADY = frozenset(
    map(stem, "existing applied executed merged released deployed published shipped committed previous past".split())
)
# What is said of files that may only be added to, and of those that are written by no hand.
UNCHANGING = frozenset(("append-only", "immutable", "appendonly"))
UNTOUCHED = frozenset(("read-only", "readonly", "frozen", "off-limits", "untouchable"))
PREPOSITIONS = frozenset(
    "for in on at to into onto from with via through by under inside within against of during outside between across"
    " among".split()
)
# With these the thing itself is named, not where it is.
MEANS = frozenset("with via through by from at on using".split())
CONDITIONS = frozenset("unless except without while when before after until if because since as so due during".split())
EXCEPTIONS = frozenset(("unless", "except", "without"))
# Words of a kind, beside a name or without one; and words that say nothing here.
KINDS = frozenset(
    map(
        stem,
        "database library package client server service tool framework module api file folder directory command"
        " dependency image container plugin sdk method function call comment branch test code app one thing statement"
        " usage kind version url address bucket cluster instance".split(),
    )
)
EMPTY = frozenset(
    "ever directly direct straight please again just simply new any anything other more additional extra raw"
    " plain bare system own old a an the this that these those our your their its it we you i they one ones agent"
    " agents people everyone everybody somebody anybody all every each here there also really very too yet still"
    " hand manually longer even".split()
)
BE = frozenset("is are was were be been being get gets".split())
AUXILIARIES = BE | frozenset("do does did will would can could may might has have had".split())
JOINING = frozenset(("and", "or", "nor", "plus"))
SAYING_NOTHING = EMPTY | AUXILIARIES | STOP_WORDS
DAYS = frozenset(
    map(stem, "monday tuesday wednesday thursday friday saturday sunday weekend christmas january february".split())
)
