"""Answers: what an agent said when it stopped, in its own sentences: done, learnt, left to do, and asked.

Steps stay open until something says that they are done; everything else but what was learnt is of the last answer.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from commonplace.capture.transcripts.wording import said
from commonplace.text.extract import Line
from commonplace.text.redact import redact
from commonplace.text.sentences import sentences
from commonplace.text.steps import done_steps, merge_steps

MOST_LEARNT, MOST_EACH, MOST_STEPS = 12, 5, 20
# What is looked at of a long answer: how it ends.
_LOOKED_AT = 20_000
_FEWEST_WORDS = 4
# An explanation without a word that gives it away has at least so many.
_FEWEST_OF_EXPLANATION = 7
_WHAT = r"(?:actual |real )?(?:cause|problem|reason|issue|bug|culprit|fix)(?: here)?"
_FINDINGS = (
    *(
        "because",
        "root cause",
        r"turn(?:s|ed) out",
        rf"the {_WHAT} (?:was|is)",
        "due to",
        "caused by",
        "which explains",
    ),
    *(r"(?:I|we) (?:found|learned|learnt|discovered|noticed|decided|chose|confirmed)", "decided to", "chose to"),
    *("instead of", "rather than", "by design", "(?:this|which) means", "the trick is", "as a result", "led to"),
    *(
        r"so (?:I|we|it|they|that|the|this|both|all|each|every|no|nothing|two|there|any)",
        r"that['’]s why",
        "this is why",
    ),
    *(r"which (?:caused|made|let|broke|meant|led|left)", r"while (?:\w+ ){1,4}(?:was|were) (?:still |being )?\w+"),
    *(
        "note that",
        "keep in mind",
        r"important(?:ly)?",
        "gotcha",
        "caveat",
        "only works",
        r"must (?:not )?be",
        "requires?",
    ),
    *(r"(?:does not|doesn['’]t|cannot|can['’]t) (?:work|support|handle)", "weil", "deshalb", "ursache", "entschieden"),
)
_OWED = "(?:done|added|fixed|tested|updated|checked|migrated|written|removed|reviewed|deployed)"
_LEFTOVERS = (
    *("next steps?", "next,", "next up", "to-?dos?", r"remain(?:s|ing)", "not yet", "left to do", r"what['’]s left"),
    *(r"still (?:needs?|to|fails?|failing|missing|open|have to)", r"follow[- ]ups?", "yet to be", "out of scope"),
    *(r"(?:I|we)['’]ll (?:next|then|need)", r"you (?:should|will need|need to|may want to|might want to|have to)"),
    *(rf"(?:will|would|should|needs? to|has to|have to) (?:now |next |also |still )?be {_OWED}", "noch offen"),
)
_HEADINGS = (
    *("next steps?", "next", "to-?dos?", r"remaining(?: work| steps| tasks)?", r"what['’]s (?:left|next)"),
    *(r"follow[- ]ups?", r"still (?:open|to do|missing)", r"open (?:ends|points|items|tasks)", "nächste schritte"),
)
_FINDING = re.compile(rf"\b(?:{'|'.join(_FINDINGS)})\b", re.IGNORECASE)
_LEFT = re.compile(rf"\b(?:{'|'.join(_LEFTOVERS)})(?!\w)", re.IGNORECASE)
_HEADING = re.compile(rf"^[\s#>*_-]*(?:{'|'.join(_HEADINGS)})[\s*_:]*$", re.IGNORECASE)
_LABEL = re.compile(rf"^[\s*_]*(?:{'|'.join(_HEADINGS)})[\s*_]*:[\s*_]*(?=\S)", re.IGNORECASE)
_ENTRY = re.compile(r"^\s*(?:[-*+•]|\d{1,2}[.)])\s+(?:\[(?P<done>[ xX])\]\s+)?(?P<text>\S.*)$")
_OURSELVES = re.compile(r"^\W*(?:i|we|let me|let us|let['’]s|now|next|you|understood|sure|okay|ok)\b", re.IGNORECASE)
_STARS = re.compile(r"\*\*|__(?=\s|$)|(?<=\s)__")


@dataclass(frozen=True, slots=True)
class Heard:
    """What answers said, newest last: learnt in all, left to do and not done since; the rest is of the last one."""

    learnt: tuple[str, ...] = ()
    done: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()

    def after(self, answer: str, request: str = "", *, explains: bool = False) -> Heard:
        """With one more answer to a request. One that `explains` was asked for a cause, or follows a failure."""
        text = _STARS.sub("", redact(said(answer))[-_LOOKED_AT:])
        told = [sentence for sentence in sentences(text) if len(sentence.split()) >= _FEWEST_WORDS]
        asked = [sentence for sentence in told if sentence.endswith(("?", "？"))]
        listed = _listed(text)
        owed = [one for one in told if one not in asked and (_LABEL.match(one) or _LEFT.search(one))]
        named = _each(listed + [_LABEL.sub("", one) for one in owed])
        rest = [one for one in told if one not in asked and one not in owed and one not in named]
        learnt = [sentence for sentence in rest if _FINDING.search(sentence)]
        if explains and not learnt:
            learnt = [sentence for sentence in rest if _explains(sentence)][:1]
        done = [sentence for sentence in rest if sentence not in learnt and Line(sentence, 0.0).is_outcome]
        known = dict.fromkeys(self.learnt)
        open_ = self.without(done_steps(self.left, _without_steps(text, named), request)).left
        return Heard(
            tuple({**known, **dict.fromkeys(_each(learnt))})[-MOST_LEARNT:],
            _each(done),
            tuple(merge_steps(open_, named, listed=bool(listed)))[-MOST_STEPS:],
            _each(asked[-MOST_EACH:]),
        )

    def without(self, steps: Collection[str]) -> Heard:
        """With these steps no longer open."""
        return replace(self, left=tuple(step for step in self.left if step not in steps)) if steps else self

    def as_json(self) -> dict[str, object]:
        kept = {"learnt": self.learnt, "done": self.done, "left": self.left, "questions": self.questions}
        return {name: list(lines) for name, lines in kept.items() if lines}

    @classmethod
    def from_json(cls, kept: object) -> Heard:
        if not isinstance(kept, Mapping):
            return cls()
        return cls(*(_lines(kept.get(name)) for name in ("learnt", "done", "left", "questions")))


def _listed(text: str) -> list[str]:
    """What stands in a list under a heading that says that it is left to do, unless it is ticked off."""
    found: list[str] = []
    below = False
    for line in text.splitlines():
        entry = _ENTRY.match(line)
        if _HEADING.match(line):
            below = True
        elif below and entry:
            found += [] if (entry["done"] or " ") in "xX" else sentences(entry["text"])[:1]
        elif line.strip():
            below = False
    return found


def _explains(sentence: str) -> bool:
    """Whether it says how something is, and not what the agent did or wants."""
    return len(sentence.split()) >= _FEWEST_OF_EXPLANATION and not _OURSELVES.match(sentence)


def _without_steps(text: str, steps: Collection[str]) -> str:
    """The text without the lines that name what is still to be done: they do not say that it is done."""
    return "\n".join(line for line in text.splitlines() if not any(step in line for step in steps))


def _each(lines: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(lines))[:MOST_EACH]


def _lines(kept: object) -> tuple[str, ...]:
    return tuple(line for line in kept if isinstance(line, str)) if isinstance(kept, (list, tuple)) else ()
