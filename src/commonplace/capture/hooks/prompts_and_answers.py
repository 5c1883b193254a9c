"""Requests: what a prompt asks for, in a line. A greeting, "Here is a log:" or the first of a list say too little."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from commonplace.hosts.tool_text import clean_text
from commonplace.text.next_steps import completed_steps, merge_steps
from commonplace.text.redact import redact
from commonplace.text.sentences import RankedSentence, is_small_talk, sentences
from commonplace.text.titles import title_of

LONGEST_PROMPT_TITLE = 100
_PROMPT_HEAD = 20_000
_FEWEST_PROMPT_WORDS = 3
_MOST_FILLERS = 5
_FILLERS = frozenset(
    (
        "a ahead all alright and awesome be can carry commit continue cool correct do done exactly excellent fine"
        " go going good great hello hey hi it just keep let lgtm looks me more nice next no nope now of off ok okay"
        " on one perfect please proceed really resume right run same see so start stop sure thank thanks that the then"
        " this too try very wait well wonderful works yeah yep yes you again lets sounds approved approve ja nein"
        " weiter danke gut bitte mach si sí oui non"
    ).split()
)
_REPLIES = (
    "no nope nah yes yeah yep ok okay sure right correct wrong not wait actually instead rather hm hmm but and or so"
    " then also thanks thank great good perfect nice fine keep leave stop same both neither either that this it never"
    " nein ja doch lieber stattdessen"
)
_REPLY = re.compile(
    rf"\W*(?:{'|'.join(_REPLIES.split())}|don['’]t|the (?:first|second|latter|former))\b", re.IGNORECASE
)
_LONGEST_REPLY = 12
_LIST_ENTRY = re.compile(r"^\s*(?:[-*+•]|\d{1,2}[.)])\s+(?=\S)")
_FENCE = re.compile(r"\s*(?:```|~~~)")
# How Claude Code writes down that a command of its own was called.
_TAG = re.compile(r"</?command-[a-z]{1,20}>")


def prompt_title(text: str) -> str:
    """The first line that says something, with what follows if it is thin or a list, as far as there is room."""
    told, listed = "", False
    for line in _outside_code(_TAG.sub(" ", text[:_PROMPT_HEAD])):
        entry = _LIST_ENTRY.match(line) is not None
        if told and not (_is_thin(told) or (listed and entry)):
            break
        joint = "; " if listed and entry else " "
        for said in sentences(_LIST_ENTRY.sub("", line)):
            if not told and not entry and is_filler(said):
                continue
            if told and len(told) + len(said) > LONGEST_PROMPT_TITLE and not _is_thin(told):
                return title_of(told, LONGEST_PROMPT_TITLE)
            told, joint = f"{told}{joint if told else ''}{said}", " "
        listed = entry
    return title_of(told, LONGEST_PROMPT_TITLE) or title_of(text, LONGEST_PROMPT_TITLE)


def is_filler(text: str) -> bool:
    """Whether a few words say nothing by themselves: yes, continue, thanks."""
    words = re.findall(r"\w+", text.casefold().replace("'", "").replace("’", ""))
    return len(words) <= _MOST_FILLERS and _FILLERS.issuperset(words)


def is_reply(text: str) -> bool:
    """Whether a prompt only answers what was said before it: "no, keep 15 minutes", "run it again"."""
    return is_small_talk(text) or (len(text.split()) <= _LONGEST_REPLY and _REPLY.match(text) is not None)


def _is_thin(told: str) -> bool:
    return told.endswith(":") or len(told.split()) < _FEWEST_PROMPT_WORDS


def _outside_code(text: str) -> Iterator[str]:
    fenced = False
    for line in text.splitlines():
        if _FENCE.match(line):
            fenced = not fenced
        elif line.strip() and not fenced:
            yield line


MOST_LEARNT, MOST_EACH, MOST_STEPS = 12, 5, 20
# What is looked at of a long answer: how it ends.
_ANSWER_TAIL = 20_000
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
class AnswerNotes:
    """What answers said, newest last: learnt in all, left to do and not done since; the rest is of the last one."""

    learnt: tuple[str, ...] = ()
    done: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()

    def after(self, answer: str, request: str = "", *, explains: bool = False) -> AnswerNotes:
        """With one more answer to a request. One that `explains` was asked for a cause, or follows a failure."""
        text = _STARS.sub("", redact(clean_text(answer))[-_ANSWER_TAIL:])
        told = [sentence for sentence in sentences(text) if len(sentence.split()) >= _FEWEST_WORDS]
        asked = [sentence for sentence in told if sentence.endswith(("?", "？"))]
        listed = _listed(text)
        owed = [one for one in told if one not in asked and (_LABEL.match(one) or _LEFT.search(one))]
        named = _each(listed + [_LABEL.sub("", one) for one in owed])
        rest = [one for one in told if one not in asked and one not in owed and one not in named]
        learnt = [sentence for sentence in rest if _FINDING.search(sentence)]
        if explains and not learnt:
            learnt = [sentence for sentence in rest if _explains(sentence)][:1]
        done = [sentence for sentence in rest if sentence not in learnt and RankedSentence(sentence, 0.0).is_outcome]
        known = dict.fromkeys(self.learnt)
        open_ = self.without(completed_steps(self.left, _without_steps(text, named), request)).left
        return AnswerNotes(
            tuple({**known, **dict.fromkeys(_each(learnt))})[-MOST_LEARNT:],
            _each(done),
            tuple(merge_steps(open_, named, listed=bool(listed)))[-MOST_STEPS:],
            _each(asked[-MOST_EACH:]),
        )

    def without(self, steps: Collection[str]) -> AnswerNotes:
        """With these steps no longer open."""
        return replace(self, left=tuple(step for step in self.left if step not in steps)) if steps else self

    def as_json(self) -> dict[str, object]:
        kept = {"learnt": self.learnt, "done": self.done, "left": self.left, "questions": self.questions}
        return {name: list(lines) for name, lines in kept.items() if lines}

    @classmethod
    def from_json(cls, kept: object) -> AnswerNotes:
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
