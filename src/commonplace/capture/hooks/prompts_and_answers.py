"""Reading prompts and answers: what a prompt asks for in one line, and what an answer reports, in its own sentences.

An answer's sentences are done, learnt, left to do or questions. Steps stay open until something closes them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from zlib import crc32

from commonplace.hosts.tool_text import clean_text
from commonplace.memory.open_steps import completed_steps, is_same_step, merge_steps, step_words
from commonplace.text.quoted_text import is_reported, own_answer, without_markup
from commonplace.text.redact import redact
from commonplace.text.sentences import RankedSentence, is_filler, is_small_talk, main_sentences, sentences, title_of

LONGEST_PROMPT_TITLE = 100
_PROMPT_HEAD = 20_000
_FEWEST_PROMPT_WORDS = 3
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
# Claude Code's marks around a slash command.
_TAG = re.compile(r"</?command-[a-z]{1,20}>")

MAX_LEARNT, MAX_EACH, MAX_STEPS = 12, 5, 20
# Characters that are read of a long answer: its end.
_ANSWER_TAIL = 20_000
# Characters of a tool's output in which steps are looked for, and how many are noted.
_MOST_PRINTED, MAX_PRINTED = 50_000, 100
_FEWEST_WORDS = 4
# Words that a sentence has at least to count as an explanation without any telling phrase.
_FEWEST_WORDS_EXPLAINING = 7
_CAUSE = "(?:actual |real )?(?:cause|problem|reason|issue|bug|culprit|fix)(?: here)?"
_FINDINGS = (
    f"because|root cause|turn(?:s|ed) out|the {_CAUSE} (?:was|is)|due to|caused by|which explains"
    "|(?:I|we) (?:found|learned|learnt|discovered|noticed|decided|chose|confirmed)|decided to|chose to"
    "|instead of|rather than|by design|(?:this|which) means|the trick is|as a result|led to"
    "|so (?:I|we|it|they|that|the|this|both|all|each|every|no|nothing|two|there|any)|that['’]s why|this is why"
    r"|which (?:caused|made|let|broke|meant|led|left)|while (?:\w+ ){1,4}(?:was|were) (?:still |being )?\w+"
    "|note that|keep in mind|important(?:ly)?|gotcha|caveat|only works|must (?:not )?be|requires?"
    "|(?:does not|doesn['’]t|cannot|can['’]t) (?:work|support|handle)|weil|deshalb|ursache|entschieden"
)
_DUE = "(?:done|added|fixed|tested|updated|checked|migrated|written|removed|reviewed|deployed)"
_LEFTOVERS = (
    "next steps?|next,|next up|to-?dos?|remain(?:s|ing)|not yet|left to do|what['’]s left"
    "|still (?:needs?|to|fails?|failing|missing|open|have to)|follow[- ]ups?|yet to be|out of scope"
    "|(?:I|we)['’]ll (?:next|then|need)|you (?:should|will need|need to|may want to|might want to|have to)"
    f"|(?:will|would|should|needs? to|has to|have to) (?:now |next |also |still )?be {_DUE}|noch offen"
)
_HEADINGS = (
    "next steps?|next|to-?dos?|remaining(?: work| steps| tasks)?|what['’]s (?:left|next)"
    "|follow[- ]ups?|still (?:open|to do|missing)|open (?:ends|points|items|tasks)|nächste schritte"
)
_FINDING = re.compile(rf"\b(?:{_FINDINGS})\b", re.IGNORECASE)
_LEFT = re.compile(rf"\b(?:{_LEFTOVERS})(?!\w)", re.IGNORECASE)
_HEADING = re.compile(rf"^[\s#>*_-]*(?:{_HEADINGS})[\s*_:]*$", re.IGNORECASE)
_LABEL = re.compile(rf"^[\s*_]*(?:{_HEADINGS})[\s*_]*:[\s*_]*(?=\S)", re.IGNORECASE)
_ENTRY = re.compile(r"^\s*(?:[-*+•]|\d{1,2}[.)])\s+(?:\[(?P<done>[ xX])\]\s+)?(?P<text>\S.*)$")
_FIRST_PERSON = re.compile(r"^\W*(?:i|we|let me|let us|let['’]s|now|next|you|understood|sure|okay|ok)\b", re.IGNORECASE)
# What an agent says around what it has to say.
_PREAMBLE = re.compile(
    r"\bhere['’]?s? (?:is )?(?:what|a |the |my )|\blet me know\b|\b(?:taken|took|take) a look\b|\bhappy to\b"
    r"|\bfeel free\b|\byou can (?:see|find|now)\b",
    re.IGNORECASE,
)
_WORKS_NOW = re.compile(r"\b(?:i|we|it|they)\b.*\bnow\b", re.IGNORECASE)
# Some editors print a file with the numbers of its lines.
_LINE_NUMBER = re.compile(r"^\s*\d+(?:→|\t)")
_STARS = re.compile(r"\*\*|__(?=\s|$)|(?<=\s)__")


def prompt_title(text: str) -> str:
    """The first meaningful line, with the next ones if it is too short or a list, up to the longest title.

    A greeting, "Here is a log:" or the first entry of a list say too little by themselves.
    """
    title, in_list = "", False
    for line in _outside_code(_TAG.sub(" ", without_markup(text[:_PROMPT_HEAD]))):
        entry = _LIST_ENTRY.match(line) is not None
        if title and not (_is_too_short(title) or (in_list and entry)):
            break
        separator = "; " if in_list and entry else " "
        for sentence in sentences(_LIST_ENTRY.sub("", line)):
            if not title and not entry and is_filler(sentence):
                continue
            if title and len(title) + len(sentence) > LONGEST_PROMPT_TITLE and not _is_too_short(title):
                return title_of(title, LONGEST_PROMPT_TITLE)
            title, separator = f"{title}{separator if title else ''}{sentence}", " "
        in_list = entry
    return title_of(title, LONGEST_PROMPT_TITLE) or title_of(text, LONGEST_PROMPT_TITLE)


def is_reply(text: str) -> bool:
    """Whether a prompt only replies to the answer before it: "no, keep 15 minutes", "run it again"."""
    return is_small_talk(text) or (len(text.split()) <= _LONGEST_REPLY and _REPLY.match(text) is not None)


def _is_too_short(title: str) -> bool:
    return title.endswith(":") or len(title.split()) < _FEWEST_PROMPT_WORDS


def _outside_code(text: str) -> Iterator[str]:
    fenced = False
    for line in text.splitlines():
        if _FENCE.match(line):
            fenced = not fenced
        elif line.strip() and not fenced:
            yield line


def condense_answer(text: str, characters: int) -> str:
    """The sentences of an answer that state causes and decisions, then results, in their order and within a length.

    If there are none, those that say most of it.
    """
    plain = [one for one in sentences(_STARS.sub("", text[-_ANSWER_TAIL:])) if _may_tell(one)]
    causes = [place for place, one in enumerate(plain) if _FINDING.search(one)]
    results = [
        place for place, one in enumerate(plain) if RankedSentence(one, 0.0).is_outcome or _WORKS_NOW.search(one)
    ]
    chosen: list[int] = []
    room = characters
    for place in dict.fromkeys([*causes, *results]):
        if len(plain[place]) <= room:
            chosen.append(place)
            room -= len(plain[place]) + 1
    picked = [plain[place] for place in sorted(chosen)] or main_sentences(plain, characters)
    return " ".join(one if one[-1] in ".!…" else f"{one}." for one in picked)


def _may_tell(sentence: str) -> bool:
    """Whether it may state something: no question, offer or row of a table, nothing that is left to do."""
    asks = sentence.endswith(("?", "？", ":"))
    short = len(sentence.split()) < _FEWEST_WORDS
    empty = sentence.startswith("|") or _PREAMBLE.search(sentence)
    return not (asks or short or empty or _LABEL.match(sentence) or _LEFT.search(sentence))


@dataclass(frozen=True, slots=True)
class AnswerNotes:
    """What a session's answers report: all that was learnt, and the steps still open; the rest is the last one's."""

    learnt: tuple[str, ...] = ()
    done: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()

    def after(
        self,
        answer: str,
        request: str = "",
        *,
        explains: bool = False,
        reports: bool = False,
        printed: Collection[str] = (),
    ) -> AnswerNotes:
        """With one more answer to a request. It `explains` if the request asked for a cause or something had failed.

        One that `reports` tells what was read elsewhere: what is left to do there is nobody's work here. Nor are the
        steps that a tool `printed` (see `printed_steps`), unless the session had named them before.
        """
        written = redact(clean_text(answer))[-_ANSWER_TAIL:]
        text = _STARS.sub("", written)
        all_ = [sentence for sentence in sentences(text) if len(sentence.split()) >= _FEWEST_WORDS]
        questions = [one for one in all_ if one.endswith(("?", "？"))]
        leftovers = [one for one in all_ if one not in questions and (_LABEL.match(one) or _LEFT.search(one))]
        own = "" if reports else _STARS.sub("", own_answer(written))
        listed = [step for step in _listed_steps(own) if not is_reported(step)]
        stated = set(sentences(own))
        left = [_LABEL.sub("", one) for one in leftovers if one in stated and not is_reported(one)]
        repeated = {one for one in (*listed, *left, *all_) if step_key(one) in printed and not self._names(one)}
        steps = _first_few([step for step in (*listed, *left) if step not in repeated])
        told = {*questions, *leftovers, *steps, *repeated}
        rest = [one for one in all_ if one not in told]
        learnt = [one for one in rest if _FINDING.search(one)]
        if explains and not learnt:
            learnt = [one for one in rest if _explains(one)][:1]
        done = [one for one in rest if one not in learnt and RankedSentence(one, 0.0).is_outcome]
        still_open = self.without(completed_steps(self.left, _without_steps(text, steps), request)).left
        return AnswerNotes(
            tuple(dict.fromkeys([*self.learnt, *_first_few(learnt)]))[-MAX_LEARNT:],
            _first_few(done),
            tuple(merge_steps(still_open, steps, listed=bool(listed)))[-MAX_STEPS:],
            _first_few(questions[-MAX_EACH:]),
        )

    def _names(self, step: str) -> bool:
        return any(is_same_step(step, known) for known in self.left)

    def without(self, steps: Collection[str]) -> AnswerNotes:
        """With these steps no longer open."""
        return replace(self, left=tuple(step for step in self.left if step not in steps)) if steps else self

    def as_json(self) -> dict[str, object]:
        fields = {"learnt": self.learnt, "done": self.done, "left": self.left, "questions": self.questions}
        return {name: list(lines) for name, lines in fields.items() if lines}

    @classmethod
    def from_json(cls, data: object) -> AnswerNotes:
        if not isinstance(data, Mapping):
            return cls()
        return cls(*(_lines(data.get(name)) for name in ("learnt", "done", "left", "questions")))


def _listed_steps(text: str) -> list[str]:
    """The entries of lists under a heading such as "Next steps", unless they are ticked off."""
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


def printed_steps(text: str) -> tuple[str, ...]:
    """The keys of all that an answer could repeat as steps from a text: entries of lists, and what is left to do."""
    read = _STARS.sub("", text[:_MOST_PRINTED])
    lines = [_LINE_NUMBER.sub("", line) for line in read.splitlines()]
    entries = [entry["text"] for line in lines if (entry := _ENTRY.match(line))]
    listed = [sentence for text in entries[:MAX_PRINTED] for sentence in sentences(text)[:1]]
    left = [_LABEL.sub("", one) for one in sentences("\n".join(lines)) if _LABEL.match(one) or _LEFT.search(one)]
    keys = dict.fromkeys(map(step_key, (*listed, *left)))
    return tuple(key for key in keys if key)[:MAX_PRINTED]


def step_key(step: str) -> str:
    """The same for steps of the same words; empty for one without any."""
    words = " ".join(sorted(step_words(step)))
    return f"{crc32(words.encode()):08x}" if words else ""


def _explains(sentence: str) -> bool:
    """Whether a sentence says how something is, rather than what the agent did or wants."""
    return len(sentence.split()) >= _FEWEST_WORDS_EXPLAINING and not _FIRST_PERSON.match(sentence)


def _without_steps(text: str, steps: Collection[str]) -> str:
    """The text without the lines that name these steps: they do not say that a step is done."""
    return "\n".join(line for line in text.splitlines() if not any(step in line for step in steps))


def _first_few(lines: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(lines))[:MAX_EACH]


def _lines(value: object) -> tuple[str, ...]:
    return tuple(line for line in value if isinstance(line, str)) if isinstance(value, (list, tuple)) else ()
