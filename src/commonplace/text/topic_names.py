"""Names for topics, made of the words that tell one group of texts from the others: "Rate Limiting", "Authentication".

A term is a stem, or two stems side by side. What counts is in how large a share of a group's texts a term stands, and
how much larger that is than elsewhere; what is shown is the form it is mostly written in. What texts begin with, what
stands in them as a thing does ("the event bus is"), two words that stand together, and what people themselves tagged
texts with count for more; a sentence that several texts repeat, as a summary repeats a prompt, for less.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import islice, repeat
from math import log

from commonplace.text.tokens import STOP_WORDS, fold, is_paired, stem, words_of
from commonplace.text.word_lists import word_set

# A term has to stand in this share of a group's texts, and in two at least.
LEAST_SHARE = 0.06
# A phrase replaces its better word if it stands in this share of the texts that have the word.
PHRASE_SHARE = 0.4
# A name of one term that covers less than this share of the texts gets a second one.
COVERING = 0.3
# A previous name stays while each of its terms tells groups apart at least this well, compared with the best term.
STILL_TRUE = 0.25
# Added to the share elsewhere: being nowhere else is not enough, a word is to stand in many texts here.
ELSEWHERE = 0.02
# What looks like something done, not like a thing, counts for less; JWT and GitHub are names, and count for more.
VERBAL, PROPER = 0.6, 1.2
# A word that texts of the group are tagged with is what people call it.
TAGGED = 2.2
# What is only repeated counts for less.
REPEATED = 0.35
LEAST_TEXTS = 1.6
# What texts begin with is what they are about.
OPENING, OPENING_WORDS = 0.5, 8
# People name things by two words where they have them, and by what stands in their sentences as a thing does.
PHRASE, THING, TOO_GENERAL = 1.3, 0.6, 0.5
MAX_TOPIC_NAME = 40
_SAMPLED_WORDS = 400

# A line such as "[Bash] npm test" is a call of a tool, whatever the tool is called.
_CODE = re.compile(
    r"```.*?(?:```|\Z)|^\[[A-Za-z][\w.:-]+\](?: [^\n]*)?$|\[REDACTED:[^\]\n]{0,80}\]|\b\w++://\S+|<[^<>\n]{1,80}>",
    re.DOTALL | re.MULTILINE,
)
# Words of letters. What is glued to digits, slashes, underscores, dots or brackets is code, a path or a number.
_WORD = re.compile(r"(?<![\w/\\@#$.-])[^\W\d_]+(?:['’-][^\W\d_]+)*(?![\w/\\@(=\[-]|\.\w)|[^\w\s\"'`*’]+|\n")
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|\n+")
_CAMEL = re.compile(r"[a-z]+[A-Z]|(?:[A-Z][a-z]+){3}")
_GOES_ON = frozenset(",;()&+")
# They stand in many texts of a group and say nothing about it, however rare they are elsewhere.
_VERBAL = ("ed", "ly")
_NOT_VERBAL = frozenset(
    "assembly daily early family hourly monthly nightly reply supply weekly yearly feed speed".split()
)
# What stands before the name of a thing, and what follows it.
_BEFORE_A_THING = frozenset(
    "a an the our my your their its his her this that these those every each no any some all both of for with"
    " about".split()
)
_AFTER_A_THING = frozenset("is are was were has have had must can will does do of".split())


@dataclass(slots=True)
class _Counted:
    """In how many texts each term stands, in how many it is what they begin with, and how it is written."""

    texts: float = 0.0
    terms: dict[tuple[str, ...], float] = field(default_factory=lambda: defaultdict(float))
    opening: dict[tuple[str, ...], float] = field(default_factory=lambda: defaultdict(float))
    things: dict[tuple[str, ...], float] = field(default_factory=lambda: defaultdict(float))
    written: dict[tuple[str, ...], Counter[str]] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)

    def add(self, text: str) -> None:
        fresh = _terms(self._unseen(text))
        whole = _terms(text)
        if not whole:
            return
        self.texts += 1.0 if fresh else REPEATED
        things = _things(text)
        begins = _terms(" ".join(text.split()[:OPENING_WORDS]))
        for term, form in whole.items():
            weight = 1.0 if term in fresh else REPEATED
            self.terms[term] += weight
            self.opening[term] += weight if term in begins else 0.0
            self.things[term] += weight if term in things else 0.0
            self.written.setdefault(term, Counter())[form] += 1

    def _unseen(self, text: str) -> str:
        """The text without the lines and sentences that another one had."""
        parts = _SENTENCE_END.split(text)
        fresh = [part for part in parts if fold(part.strip()) not in self.seen]
        self.seen.update(fold(part.strip()) for part in parts)
        return "\n".join(fresh)


def _terms(text: str) -> dict[tuple[str, ...], str]:
    """The terms of a text, and how each is written."""
    found: dict[tuple[str, ...], str] = {}
    before: tuple[str, str] | None = None
    for word in _words(text):
        if word is None:
            before = None
            continue
        stemmed = stem(fold(word))
        found[(stemmed,)] = word
        if before is not None and before[0] != stemmed:
            found[(before[0], stemmed)] = f"{before[1]} {word}"
        before = (stemmed, word)
    return found


def _things(text: str) -> set[tuple[str, ...]]:
    """The terms that stand in a text as things do: after an article, or before what they are or do."""
    found: set[tuple[str, ...]] = set()
    words = [match[0].lower() for match in islice(_WORD.finditer(_CODE.sub("\n", text)), _SAMPLED_WORDS)]
    run: list[str] = []
    before = ""
    for word in (*words, ""):
        bare = word.removesuffix("'s").removesuffix("’s")
        if word and word[0].isalpha() and _tells(bare) and bare not in word_set("no_part_of_a_name"):
            run.append(stem(fold(bare)))
            continue
        if run and (before in _BEFORE_A_THING or word in _AFTER_A_THING or word in word_set("no_part_of_a_name")):
            found.update(((run[-1],), tuple(run[-2:])))
        run, before = [], word
    return found


def name_topics(
    groups: Sequence[Sequence[str]],
    others: Iterable[str] = (),
    previous_names: Sequence[str] = (),
    tags: Sequence[Iterable[str]] = (),
) -> list[str]:
    """A name for each group of texts, all different; "" for a group that no word tells from the others.

    `others` are texts of no group. `previous_names` are those that the groups had so far, or "": each stays while it
    is true. Of two groups that would have the same name the larger one gets it. `tags` are those of each group's texts,
    as often as they were given.
    """
    counted = list(map(_counted, groups))
    everything = _counted(others)
    for one in counted:
        everything.texts += one.texts
        for term, number in one.terms.items():
            everything.terms[term] += number
    tagged = map(_tag_terms, tags or [()] * len(groups))
    ranked = list(map(_ranked, counted, repeat(everything), tagged))
    names = [""] * len(groups)
    taken: set[str] = set()
    for place, name in enumerate(previous_names):
        best = ranked[place][0][0] if ranked[place] else 0.0
        if name and fold(name) not in taken and _still_true(name, counted[place], everything, best):
            names[place] = name
            taken.add(fold(name))
    for place in sorted(range(len(groups)), key=lambda place: (-len(groups[place]), place)):
        if not names[place]:
            names[place] = _first_free(_candidates(counted[place], ranked[place]), taken)
            taken.add(fold(names[place]))
    return names


def _words(text: str) -> Iterator[str | None]:
    """The content words of a text, without the capital at the start of a sentence; None where a phrase ends."""
    begins = True
    for match in islice(_WORD.finditer(_CODE.sub("\n", text)), _SAMPLED_WORDS):
        word = match[0]
        if not word[0].isalpha():
            begins = begins or not _GOES_ON.issuperset(word)
            yield None
        elif is_paired(word):
            for pair in words_of(word):
                yield pair
                yield None
        else:
            word = word.removesuffix("'s").removesuffix("’s")
            if begins and word[1:] == word[1:].lower():
                word = word.lower()
            begins = False
            yield word if _tells(word) else None


def _tells(word: str) -> bool:
    short = len(word) < 3 and not (len(word) == 2 and word.isupper())
    return not (short or _CAMEL.match(word) or "'" in word or "’" in word or fold(word) in STOP_WORDS)


def _counted(texts: Iterable[str]) -> _Counted:
    counted = _Counted()
    for text in texts:
        counted.add(text)
    return counted


def _tag_terms(tags: Iterable[str]) -> frozenset[tuple[str, ...]]:
    """The tags of a group that were given more than once, as terms."""
    often = (tag for tag, number in Counter(tags).items() if number > 1)
    return frozenset(tuple(stem(fold(word)) for word in re.split(r"[\s_-]+", tag) if word) for tag in often)


def _ranked(
    group: _Counted, everything: _Counted, tagged: frozenset[tuple[str, ...]]
) -> list[tuple[float, tuple[str, ...]]]:
    """The terms of a group, the most characteristic first."""
    least = max(LEAST_TEXTS if group.texts > 2 else 1, LEAST_SHARE * group.texts)
    scored: dict[tuple[str, ...], float] = {}
    for term, number in group.terms.items():
        if number >= least and not _is_dull(group, term) and _is_name(group, term):
            gain = _gain(group, everything, term) * _weight(group, term) * (TAGGED if term in tagged else 1.0)
            if gain > 0.0:
                scored[term] = gain * (1.0 + OPENING * group.opening[term] / number)
    return sorted(((gain, term) for term, gain in scored.items()), key=lambda pair: (-pair[0], pair[1]))


def _is_dull(group: _Counted, term: tuple[str, ...]) -> bool:
    forms = _form(group, term)
    return any(word in _dull() and form.lower() not in _NOT_VERBAL for word, form in zip(term, forms, strict=True))


def _is_name(group: _Counted, term: tuple[str, ...]) -> bool:
    """Whether a phrase is one that could name something; a word always is."""
    return len(term) == 1 or not any(word.lower() in word_set("no_part_of_a_name") for word in _form(group, term))


def _gain(group: _Counted, everything: _Counted, term: tuple[str, ...]) -> float:
    """How characteristic a term is of a group: its share here, and its ratio to the share elsewhere."""
    inside = group.terms[term]
    here = inside / max(1, group.texts)
    there = (everything.terms[term] - inside + 0.5) / (everything.texts - group.texts + 1) + ELSEWHERE
    return here * log(here / there) if here > there else 0.0


def _weight(group: _Counted, term: tuple[str, ...]) -> float:
    """How much a term looks like what people would call a topic."""
    words = _form(group, term)
    thing = THING + (1.0 - THING) * min(1.0, group.things[term] / group.terms[term])
    if any(_is_verbal(word) for word in words) or (len(term) == 1 and _is_done(words[0])):
        return VERBAL * thing if group.things[term] or len(term) > 1 else 0.0
    if len(term) > 1:
        thing *= PHRASE
    elif term[0] in _too_general():
        return TOO_GENERAL * thing if group.things[term] else 0.0
    return thing * (PROPER if any(word != word.lower() for word in words) else 1.0)


def _is_verbal(word: str) -> bool:
    return word.endswith(_VERBAL) and word.lower() not in _NOT_VERBAL


def _is_done(word: str) -> bool:
    """Whether a word alone says what is done: Deleting, Sends. In a phrase, as in Rate Limiting, it may be a thing."""
    return word.endswith("ing") or word.lower() in word_set("no_part_of_a_name")


def _form(group: _Counted, term: tuple[str, ...]) -> list[str]:
    """How a term is mostly written; of two ways the one with more small letters."""
    forms = group.written[term]
    return max(forms, key=lambda form: (forms[form], form)).split()


def _candidates(group: _Counted, ranked: Sequence[tuple[float, tuple[str, ...]]]) -> Iterator[str]:
    """Names in the order in which they would suit."""
    terms = [term for _gain, term in ranked]
    for place, term in enumerate(terms[:8]):
        phrase = _phrase(group, term, terms)
        share = group.terms[phrase] / group.texts
        if share < COVERING:
            second = _second(group, phrase, terms[place + 1 :])
            if second is not None:
                yield f"{_shown(group, phrase)} & {_shown(group, second)}"
        yield _shown(group, phrase)
    for first in terms[:8]:
        for other in terms[:8]:
            if first != other:
                yield f"{_shown(group, first)} & {_shown(group, other)}"


def _phrase(group: _Counted, term: tuple[str, ...], terms: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The most common phrase around a word, if the word mostly occurs in it; else the word."""
    if len(term) > 1:
        return term
    longer = [other for other in terms if len(other) > 1 and term[0] in other]
    best = max(longer, key=lambda other: group.terms[other], default=term)
    return best if group.terms[best] >= PHRASE_SHARE * group.terms[term] else term


def _second(group: _Counted, first: tuple[str, ...], terms: Sequence[tuple[str, ...]]) -> tuple[str, ...] | None:
    for term in terms[:6]:
        phrase = _phrase(group, term, terms)
        if not set(phrase) & set(first) and not any(_is_verbal(word) for word in _form(group, phrase)):
            return phrase if len(phrase) + len(first) <= 3 else term
    return None


def _shown(group: _Counted, term: tuple[str, ...]) -> str:
    """A term as it is mostly written, each word beginning with a capital."""
    return " ".join(word[:1].upper() + word[1:] for word in _form(group, term))


def _still_true(name: str, group: _Counted, everything: _Counted, best: float) -> bool:
    terms = [tuple(stem(fold(word)) for word in part.split()) for part in name.split(" & ")]
    return all(_gain(group, everything, term) > STILL_TRUE * best for term in terms)


def _first_free(names: Iterable[str], taken: set[str]) -> str:
    return next((name for name in names if len(name) <= MAX_TOPIC_NAME and fold(name) not in taken), "")


@cache
def _dull() -> frozenset[str]:
    return frozenset(map(stem, word_set("dull")))


@cache
def _too_general() -> frozenset[str]:
    return frozenset(map(stem, word_set("too_general")))
