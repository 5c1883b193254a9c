"""Names for groups of texts, made of the words that tell each group from the others: "Rate Limiting", "Authentication".

A term is a stem, or two stems side by side. What counts is in how large a share of a group's texts a term stands, and
how much larger that is than elsewhere; what is shown is the form it is mostly written in.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import log

from commonplace.text.tokens import STOP_WORDS, fold, is_paired, stem, words_of

# A term has to stand in this share of a group's texts, and in two at least.
LEAST_SHARE = 0.06
# A phrase replaces its better word if it stands in this share of the texts that have the word.
PHRASE_SHARE = 0.5
# A name of one term that covers less than this share of the texts gets a second one beside it.
COVERING = 0.3
# A kept name is true as long as its words are among this many best terms.
STILL_TRUE = 12
LONGEST = 40
ELSEWHERE = 0.02
VERBAL_FACTOR = 0.6
_SAMPLED_WORDS = 400

_CODE = re.compile(r"```.*?(?:```|\Z)|\[REDACTED:[^\]]*\]|\w+://\S+|<[^<>\n]{1,80}>", re.DOTALL)
# Words of letters. What is glued to digits, slashes, underscores, dots or brackets is code, a path or a number.
_WORD = re.compile(r"(?<![\w/\\@#$.-])[^\W\d_]+(?:['’-][^\W\d_]+)*(?![\w/\\@(=\[-]|\.\w)|[^\w\s\"'`*’]+|\n")
_CAMEL = re.compile(r"[a-z]+[A-Z]|(?:[A-Z][a-z]+){3}")
_TAILS = ("'s", "’s")
# They stand in many texts of a group and say nothing about it, however rare they are elsewhere.
_DULL = frozenset(
    stem(word)
    for word in """
    able absolutely ago agree again already although always amazing anyway around ask asked available away awesome back
    bad based basically because before behind best better between big bit both bring broken busy call called came case
    cause certain change check clear come common complete completely consider consist contain correct count couple
    course current currently day days decide definitely describe detail different due during early easy end enjoy
    enough ensure even exactly example excellent expect explain fact feel feeling few find fine first five fix follow
    following four free full fun further future general get given glad go going gonna gone good great guess guy guys
    haha happen happy hard hear heard high hope hour however idea implement important improve include including instead
    interesting keep kind last late later least leave less look looking lot love low made main make matter mean mention
    min minute moment month morning most move much name never new next nice night none nothing now number often okay old
    once one only open option otherwise out over part particular past people perfect place plan point possible pretty
    probably provide put quick quite rather ready real reason recently relate remember require result return right run
    said same saw say second see seem seen sense set several short similar simple since small soon sorry sort sound
    specific start started still stop stuff such super sure take taken talk test than think thought three thus time
    times today together tomorrow tonight total totally track tried true try trying turn two type under understand
    until up upon use used useful user using usually value various version wait was way week weekend well went while
    whole wish within without word work worked working world worry worth would wow wrong year years yeah yep yesterday
    lol omg hey btw photo shares share excited step cannot aim approach shes hes thats theyre dont didnt cant wont ive
    hmm nope hows whats everyone everybody told tell true cool felt feels shown
    """.split()
)
_VERBAL = ("ed", "ly")


@dataclass(slots=True)
class _Counted:
    """In how many texts each term stands, and how often it is written in which way."""

    texts: int = 0
    terms: Counter[tuple[str, ...]] = field(default_factory=Counter)
    written: dict[tuple[str, ...], Counter[str]] = field(default_factory=dict)

    def add(self, text: str) -> None:
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
        self.texts += 1
        self.terms.update(found.keys())
        for term, form in found.items():
            self.written.setdefault(term, Counter())[form] += 1


def name_topics(groups: Sequence[Sequence[str]], others: Iterable[str] = (), kept: Sequence[str] = ()) -> list[str]:
    """A name for each group of texts, all different; "" for a group that no word tells from the others.

    `others` are texts of no group. `kept` has the name that each group had so far, or "": it stays while it is true.
    Of two groups that would have the same name the larger one gets it.
    """
    counted = [_counted(group) for group in groups]
    everything = _counted(others)
    for one in counted:
        everything.texts += one.texts
        everything.terms.update(one.terms)
    ranked = [_ranked(one, everything) for one in counted]
    names = [""] * len(groups)
    taken: set[str] = set()
    for place, name in enumerate(kept):
        if name and fold(name) not in taken and _still_true(name, ranked[place]):
            names[place] = name
            taken.add(fold(name))
    for place in sorted(range(len(groups)), key=lambda place: (-len(groups[place]), place)):
        if not names[place]:
            names[place] = _first_free(_candidates(counted[place], ranked[place]), taken)
            taken.add(fold(names[place]))
    return names


def _words(text: str) -> Iterator[str | None]:
    """The telling words of a text; None where a phrase cannot go on."""
    for number, match in enumerate(_WORD.finditer(_CODE.sub("\n", text))):
        if number > _SAMPLED_WORDS:
            return
        word = match[0]
        if not word[0].isalpha():
            yield None
        elif is_paired(word):
            for pair in words_of(word):
                yield pair
                yield None
        else:
            for tail in _TAILS:
                word = word.removesuffix(tail)
            folded = fold(word)
            dull = len(folded) < 3 and not (len(folded) == 2 and word.isupper())
            yield None if dull or _CAMEL.match(word) or folded in STOP_WORDS or "'" in word or "’" in word else word


def _counted(texts: Iterable[str]) -> _Counted:
    counted = _Counted()
    for text in texts:
        counted.add(text)
    return counted


def _ranked(group: _Counted, everything: _Counted) -> list[tuple[float, tuple[str, ...]]]:
    """The terms of a group, the most telling first."""
    least = max(2 if group.texts > 2 else 1, LEAST_SHARE * group.texts)
    rest = everything.texts - group.texts
    scored = []
    for term, inside in group.terms.items():
        if inside < least or any(word in _DULL for word in term):
            continue
        here = inside / group.texts
        # A word that is nowhere else must not win by that alone: it is to stand in many texts here.
        there = (everything.terms[term] - inside + 0.5) / (rest + 1) + ELSEWHERE
        gain = here * log(here / there) if here > there else 0.0
        if gain > 0.0:
            scored.append((gain * (VERBAL_FACTOR if _verbal(group, term) else 1.0), term))
    return sorted(scored, key=lambda pair: (-pair[0], pair[1]))


def _verbal(group: _Counted, term: tuple[str, ...]) -> bool:
    """Whether a term looks like something done or how it was done, not like a thing."""
    return any(word.endswith(_VERBAL) for word in group.written[term].most_common(1)[0][0].split())


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
    """The commonest telling phrase around a word, if the word mostly stands in it; else the word."""
    if len(term) > 1:
        return term
    longer = [other for other in terms if len(other) > 1 and term[0] in other]
    best = max(longer, key=lambda other: group.terms[other], default=term)
    return best if group.terms[best] >= PHRASE_SHARE * group.terms[term] else term


def _second(group: _Counted, first: tuple[str, ...], terms: Sequence[tuple[str, ...]]) -> tuple[str, ...] | None:
    for term in terms[:6]:
        phrase = _phrase(group, term, terms)
        if not set(phrase) & set(first) and not _verbal(group, phrase):
            return phrase if len(phrase) + len(first) <= 3 else term
    return None


def _shown(group: _Counted, term: tuple[str, ...]) -> str:
    """A term as it is mostly written, each word beginning with a capital."""
    forms: Counter[str] = Counter()
    for form, times in group.written[term].items():
        # At the start of a sentence every word has a capital: it is the same form.
        forms[" ".join(word.lower() if word[1:].islower() else word for word in form.split())] += times
    best = max(forms, key=lambda form: (forms[form], form))
    return " ".join(word[:1].upper() + word[1:] for word in best.split())


def _still_true(name: str, ranked: Sequence[tuple[float, tuple[str, ...]]]) -> bool:
    best = {word for _gain, term in ranked[:STILL_TRUE] for word in term}
    words = {stem(fold(word)) for word in name.split() if word != "&"}
    return bool(words) and words <= best


def _first_free(names: Iterable[str], taken: set[str]) -> str:
    return next((name for name in names if len(name) <= LONGEST and fold(name) not in taken), "")
