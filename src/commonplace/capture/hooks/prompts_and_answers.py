"""Reading prompts and answers: what a prompt asks for in one line, and what an answer reports, in its own sentences.

An answer is quoted: what it lists as next steps, its questions, and its sentences with a reason or a result. Steps stay
open until something closes them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import dropwhile
from zlib import crc32

from commonplace.hosts.tool_text import clean_text
from commonplace.memory.open_steps import completed_steps, is_same_step, is_step_heading, merge_steps, step_words
from commonplace.text.quoted_text import is_reported, own_answer, without_markup
from commonplace.text.redact import redact
from commonplace.text.sentences import RankedSentence, is_filler, is_small_talk, main_sentences, sentences, title_of
from commonplace.text.word_lists import phrase_pattern

LONGEST_PROMPT_TITLE = 100
_PROMPT_HEAD = 20_000
_FEWEST_PROMPT_WORDS = 3
_LONGEST_REPLY = 12
_ENTRY = re.compile(r"^\s*(?:[-*+•]|\d{1,2}[.)])\s+(?:\[(?P<done>[ xX])\]\s+)?(?P<text>\S.*)$")
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
_WORKS_NOW = re.compile(r"\b(?:i|we|it|they)\b.*\bnow\b", re.IGNORECASE)
# Some editors print a file with the numbers of its lines.
_LINE_NUMBER = re.compile(r"^\s*\d+(?:→|\t)")
_STARS = re.compile(r"\*\*|__(?=\s|$)|(?<=\s)__")


def prompt_title(text: str) -> str:
    """The first meaningful line, with the next ones if it is too short or a list, up to the longest title.

    A greeting, "Here is a log:" or the first entry of a list say too little by themselves.
    """
    title, in_list = "", False
    for is_entry, said in _prompt_lines(text[:_PROMPT_HEAD]):
        goes_on = in_list and is_entry
        if title and not (goes_on or _is_too_short(title)):
            break
        separator = "; " if goes_on else " "
        for sentence in said:
            if len(title) + len(sentence) > LONGEST_PROMPT_TITLE and not _is_too_short(title):
                return title_of(title, LONGEST_PROMPT_TITLE)
            title = f"{title}{separator}{sentence}".lstrip(" ;")
            separator = " "
        in_list = is_entry
    return title_of(title or text, LONGEST_PROMPT_TITLE)


def _prompt_lines(text: str) -> Iterator[tuple[bool, Iterable[str]]]:
    """The lines of a prompt outside of code: whether each is the entry of a list, and its sentences."""
    fenced = False
    for line in _TAG.sub(" ", without_markup(text)).splitlines():
        entry = _ENTRY.match(line)
        if _FENCE.match(line):
            fenced = not fenced
        elif line.strip() and not fenced:
            yield (True, sentences(entry["text"])) if entry else (False, dropwhile(is_filler, sentences(line)))


def is_reply(text: str) -> bool:
    """Whether a prompt only replies to the answer before it: "no, keep 15 minutes", "run it again"."""
    if len(text.split()) > _LONGEST_REPLY:
        return is_small_talk(text)
    return is_small_talk(text) or phrase_pattern("replies", r"^\W*").match(text) is not None


def _is_too_short(title: str) -> bool:
    return title.endswith(":") or len(title.split()) < _FEWEST_PROMPT_WORDS


def condense_answer(text: str, characters: int) -> str:
    """The sentences of an answer that give reasons, then results, in their order and within a length.

    If there are none, those that say most of it.
    """
    plain = list(filter(_may_tell, sentences(_STARS.sub("", text[-_ANSWER_TAIL:]))))
    reasons: list[str] = []
    results: list[str] = []
    for sentence in plain:
        if _gives_reason(sentence):
            reasons.append(sentence)
        elif _is_result(sentence) or _WORKS_NOW.search(sentence):
            results.append(sentence)
    chosen: set[str] = set()
    for sentence in [*reasons, *results]:
        if sum(len(one) + 1 for one in chosen) + len(sentence) <= characters:
            chosen.add(sentence)
    picked = [one for one in dict.fromkeys(plain) if one in chosen] or main_sentences(plain, characters)
    return " ".join(map(_with_full_stop, picked))


def _with_full_stop(sentence: str) -> str:
    return sentence if sentence.endswith((".", "!", "…")) else f"{sentence}."


def _may_tell(sentence: str) -> bool:
    """Whether it may state something: no question, offer or row of a table, nothing that is left to do."""
    asks = sentence.endswith(("?", "？", ":"))
    empty = sentence.startswith("|") or phrase_pattern("preambles").search(sentence)
    return not (asks or empty or len(sentence.split()) < _FEWEST_WORDS or _label().match(sentence))


def _gives_reason(sentence: str) -> bool:
    return phrase_pattern("reasons").search(sentence) is not None


def _is_result(sentence: str) -> bool:
    return RankedSentence(sentence, 0.0).is_outcome


def _label() -> re.Pattern[str]:
    """What stands before a step in its sentence: "Next steps: add a limit"."""
    return phrase_pattern("step_headings", r"^[\s*_]*", r"[\s*_]*:[\s*_]*(?=\S)")


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
        """With one more answer to a request. It `explains` if the request was a question or something had failed.

        One that `reports` tells what was read elsewhere: what is left to do there is nobody's work here. Nor are the
        steps that a tool `printed` (see `printed_steps`), unless the session had named them before.
        """
        written = redact(clean_text(answer))[-_ANSWER_TAIL:]
        text = _STARS.sub("", written)
        own = "" if reports else _STARS.sub("", own_answer(written))
        listed, labelled = _listed_steps(own), _labelled_steps(own)
        steps = _first_few(filter(partial(self._is_own, printed), (*listed, *labelled)))
        long = [sentence for sentence in sentences(text) if len(sentence.split()) >= _FEWEST_WORDS]
        questions = [sentence for sentence in long if sentence.endswith(("?", "？"))]
        named = {*questions, *listed, *filter(_label().match, long)}
        plain = [sentence for sentence in long if sentence not in named and self._is_own(printed, sentence)]
        learnt = list(filter(_gives_reason, plain)) or list(filter(_explains, plain))[: int(explains)]
        done = [sentence for sentence in filter(_is_result, plain) if sentence not in learnt]
        still_open = self.without(completed_steps(self.left, _without_steps(text, steps), request)).left
        return AnswerNotes(
            tuple(dict.fromkeys([*self.learnt, *_first_few(learnt)]))[-MAX_LEARNT:],
            _first_few(done),
            tuple(merge_steps(still_open, steps, listed=bool(listed)))[-MAX_STEPS:],
            _first_few(questions[-MAX_EACH:]),
        )

    def _is_own(self, printed: Collection[str], sentence: str) -> bool:
        """Whether it is more than what a tool printed: the session had named it as a step, or no tool did."""
        return step_key(sentence) not in printed or any(is_same_step(sentence, known) for known in self.left)

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
    """The entries of lists under a heading such as "Next steps", unless they are ticked off or quoted."""
    found: list[str] = []
    below = False
    for line in text.splitlines():
        entry = _ENTRY.match(line)
        if is_step_heading(line):
            below = True
        elif below and entry:
            found += [] if (entry["done"] or " ") in "xX" else sentences(entry["text"])[:1]
        elif line.strip():
            below = False
    return [step for step in found if not is_reported(step)]


def _labelled_steps(text: str) -> list[str]:
    """The sentences after a label such as "Remaining:", without it."""
    return [_label().sub("", one) for one in sentences(text) if _label().match(one) and not is_reported(one)]


def printed_steps(text: str) -> tuple[str, ...]:
    """The keys of all that an answer could repeat as steps from a text: entries of lists, and what a label names."""
    lines = [_LINE_NUMBER.sub("", line) for line in _STARS.sub("", text[:_MOST_PRINTED]).splitlines()]
    entries = [entry["text"] for line in lines if (entry := _ENTRY.match(line))]
    listed = [sentence for text in entries[:MAX_PRINTED] for sentence in sentences(text)[:1]]
    labelled = [_label().sub("", one) for one in sentences("\n".join(lines)) if _label().match(one)]
    keys = dict.fromkeys(map(step_key, (*listed, *labelled)))
    return tuple(key for key in keys if key)[:MAX_PRINTED]


def step_key(step: str) -> str:
    """The same for steps of the same words; empty for one without any."""
    words = " ".join(sorted(step_words(step)))
    return f"{crc32(words.encode()):08x}" if words else ""


def _explains(sentence: str) -> bool:
    """Whether a sentence says how something is, rather than what the agent did or wants."""
    about_itself = phrase_pattern("beginnings_of_talk", r"^\W*").match(sentence)
    return len(sentence.split()) >= _FEWEST_WORDS_EXPLAINING and not about_itself


def _without_steps(text: str, steps: Collection[str]) -> str:
    """The text without the lines that name these steps: they do not say that a step is done."""
    return "\n".join(line for line in text.splitlines() if not any(step in line for step in steps))


def _first_few(lines: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(lines))[:MAX_EACH]


def _lines(value: object) -> tuple[str, ...]:
    return tuple(line for line in value if isinstance(line, str)) if isinstance(value, (list, tuple)) else ()
