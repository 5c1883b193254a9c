"""Open steps: what the summaries and checkpoints of a project leave to do. A step stays until it is done or dismissed.

Hooks take a step out of the summary and the checkpoint that name it once a later turn or session says it is done. A
person dismisses one by editing or forgetting them.

Whether a sentence says that a step is done is decided by words, and conservatively: one that stays open too long is a
nuisance, one that vanishes is a loss.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import islice
from typing import Protocol

from commonplace.errors import Conflict, NotFound
from commonplace.memory.local_memory import LocalMemory
from commonplace.model import Item, Scope
from commonplace.text.redact import redact
from commonplace.text.sentences import sentences, shorten
from commonplace.text.tokens import stem, words_of
from commonplace.text.word_lists import phrase_pattern, word_map, word_set

STILL_FAILING = "Still failing: "
# How many summaries and checkpoints of a project are looked at, the newest.
MAX_NOTES = 100
HOOK_NOTES, LEFT = "heard", "left"
# Characters of a step in a list.
LONGEST_STEP = 500


class SessionNotes(Protocol):
    """A summary or a checkpoint, whole or as a line of a report."""

    @property
    def details(self) -> Mapping[str, str]: ...
    @property
    def meta(self) -> Mapping[str, object]: ...


@dataclass(frozen=True, slots=True)
class OpenStep:
    """A step, and the newest summary or checkpoint of its session that names it."""

    text: str
    item: Item


def open_steps(memory: LocalMemory, project: str | None, limit: int) -> list[OpenStep]:
    """The steps that are open in a project, those of its newest sessions first, each once."""
    return open_steps_of(summaries_and_checkpoints(memory, project))[:limit]


def open_steps_of(notes: Iterable[Item]) -> list[OpenStep]:
    """The steps that summaries and checkpoints, the newest first, leave open."""
    sessions: dict[object, list[Item]] = {}
    for item in notes:
        sessions.setdefault(item.session or item.uid, []).append(item)
    found: dict[str, OpenStep] = {}
    for own in sessions.values():
        newest, gone = next((item for item in own if steps_in(item)), own[0]), dismissed_steps(own)
        for line in steps_in(newest):
            if line not in gone:
                found.setdefault(line.casefold(), OpenStep(line, newest))
    return list(found.values())


def summaries_and_checkpoints(memory: LocalMemory, project: str | None, most: int = MAX_NOTES) -> list[Item]:
    """The newest summaries and checkpoints of a project."""
    return memory.store.newest(Scope.inside(project, kinds=("summary", "checkpoint")), most)


def close_step(memory: LocalMemory, project: str | None, text: str) -> list[Item]:
    """Mark a step or question as done: take it out of every note of the project that names it.

    Returns the notes as they were. NotFound if none names it.
    """
    from commonplace.memory.edit_and_forget import Changes, edit_item

    wanted = _as_listed(text)
    closed: list[Item] = []
    for item in summaries_and_checkpoints(memory, project):
        left = {
            name: "\n".join(line for line in lines if _as_listed(line) != wanted)
            for name in ("next_steps", "open_questions")
            if (lines := item.details.get(name, "").splitlines())
        }
        changed = {name: text for name, text in left.items() if text != "\n".join(item.details[name].splitlines())}
        if changed:
            edit_item(memory, item.id, Changes(details=changed), item.rev)
            closed.append(item)
    if not closed:
        raise NotFound(
            "No such step is open.",
            "`commonplace overview` lists those that are; it may be done by now.",
        )
    return closed


def reopen_step(memory: LocalMemory, notes: Iterable[tuple[str, int]]) -> None:
    """Undo `close_step`: bring notes, by their ids, back to the revisions that they had; Conflict if they changed."""
    from commonplace.memory.history import revert_to_revision
    from commonplace.memory.items import get_item

    found = [(get_item(memory, id_), rev) for id_, rev in notes]
    if any(item.rev != rev + 1 for item, rev in found):
        raise Conflict("The session has continued since then.", "Add the step again by editing its summary.")
    for item, rev in found:
        revert_to_revision(memory, item.id, rev)


def _as_listed(line: str) -> str:
    """A step as lists and pages show it, to be recognised by."""
    return redact(shorten(line, LONGEST_STEP)).casefold()


def steps_in(notes: SessionNotes) -> list[str]:
    """The steps that a summary or checkpoint names, a line each."""
    return [line for line in map(str.strip, notes.details.get("next_steps", "").splitlines()) if line]


def dismissed_steps(notes: Iterable[SessionNotes]) -> set[str]:
    """The steps that hooks wrote and a person took out of one of a session's summary and checkpoint."""
    return {step for one in notes for step in _written(one) if step not in steps_in(one)}


def failing_command(step: str) -> str:
    """The command that a step says still fails."""
    return step.removeprefix(STILL_FAILING).partition(" — ")[0]


def failure_reason(step: str) -> str:
    """Why that command fails, as far as the step says."""
    return step.partition(" — ")[2].removesuffix(" (failed)")


def _written(notes: SessionNotes) -> Iterator[str]:
    noted = notes.meta.get(HOOK_NOTES)
    left = noted.get(LEFT) if isinstance(noted, Mapping) else None
    yield from (step for step in left if isinstance(step, str)) if isinstance(left, list) else ()


# So much of a step's words has to be named before a sentence is about it.
_NAMED = 0.75
# And so much of the shorter of two steps before they are the same.
_SAME = 0.8
_LOOKED_AT = 20_000
# Of a longer list only so many steps are compared, the first; the others stay as they are.
_MOST_COMPARED = 200
_FINISHED = (
    r"(?:done|finished|complete[d]?|in place|live|merged|deployed|shipped|added|told|written|fixed|removed|updated)"
)
_DONE_WORDS = "finished completed place live merged deployed shipped already"
_IRREGULAR = r"(?:ran|wrote|written|told|sent|made|built|chose|took|put|split|did|got|cut|set|let)"
# "Done", "is in place", "I have added", "Added": that something was done, whatever it is.
_DONE = re.compile(
    rf"^\W*(?:done|finished|completed)|\b(?:is|are|was|were|been|now|all|both|already|['’]s)(?: now| already| all)?"
    rf" {_FINISHED}\b|[-–—:] ?(?:done|finished|completed)\W*$|✅|✔"
    rf"|\b(?:i|we)(?:['’]ve| have)?(?: now| also| just| already| then)* (?:\w+ed|{_IRREGULAR})\b"
    rf"|^\W*(?:(?:also|then|now|and|finally) )*(?:\w{{2,}}ed|{_IRREGULAR})\b",
    re.IGNORECASE,
)
_BRIEFLY_DONE = re.compile(r"^\W*(?:all )?(?:done|finished|completed|all set|✅|✔)", re.IGNORECASE)
_ALL_STEPS = re.compile(
    r"\b(?:(?:all|both|everything|each)(?: of)?(?: the| those| these| our| my| your)?(?: \w+)?|the|those|these)"
    r"(?: next| open)? ?(?:steps|to-?dos?|open (?:points|ends|items)|follow-?ups)\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r",? and |; |, ")
_TICKED = re.compile(
    r"^[ \t\xa0]*+(?:(?:[-*+•]|\d{1,2}[.)])[ \t\xa0]*+)?(?:\[[xX]\]|✅|✔️?|☑)[^\S\n]*+(?P<text>\S.*)$", re.MULTILINE
)
_STRUCK = re.compile(r"~~(?P<text>[^~\n]{3,300})~~")
_STATED_DEED = re.compile(r"\b(?:i|we)(?:['’]ve| have)?(?: \w+)? \w+ed\b", re.IGNORECASE)


@lru_cache(maxsize=4096)
def step_words(text: str) -> tuple[str, ...]:
    """The words of a step or a sentence that tell what it is about, in order, each in one form."""
    forms, fillers = word_map("verb_forms"), word_set("step_fillers")
    found = (forms.get(word) or stem(word) for word in words_of(text[:_LOOKED_AT]) if word not in fillers)
    return tuple(dict.fromkeys(found))


def is_same_step(one: str, other: str) -> bool:
    """Whether two steps ask for the same."""
    a, b = set(step_words(one)), set(step_words(other))
    if not a or not b:
        return one.strip().casefold() == other.strip().casefold()
    return len(a & b) >= _SAME * max(len(a), len(b)) or (min(len(a), len(b)) > 2 and (a <= b or b <= a))


def merge_steps(older: Sequence[str], newer: Sequence[str], *, listed: bool) -> list[str]:
    """What is open after more steps were named.

    A new list that repeats one of the old steps is the list as it stands now: what it leaves out is not open any more.
    """
    compared = newer[:_MOST_COMPARED]
    repeats = {step for step in older[:_MOST_COMPARED] if any(is_same_step(step, new) for new in compared)}
    still_open = [] if listed and repeats else [step for step in older if step not in repeats]
    return list(dict.fromkeys([*still_open, *newer]))


def is_step_heading(line: str) -> bool:
    """Whether a line stands above a list of what is left to do: "## Next steps"."""
    return phrase_pattern("step_headings", r"^[\s#>*_-]*", r"[\s*_:]*").fullmatch(line) is not None


def text_before_steps(text: str) -> str:
    """A text up to where it goes on to what is left to do."""
    kept: list[str] = []
    for line in text.splitlines():
        if is_step_heading(line):
            return "\n".join(kept).rstrip()
        kept.append(line)
    return text


def completed_steps(steps: Sequence[str], answer: str, request: str = "") -> set[str]:
    """The steps that an answer or a prompt says are done, or no longer wanted.

    `request` is what was asked before an answer: "Done." then means what was asked for.
    """
    if not steps or not answer.strip():
        return set()
    listed = _Steps(steps)
    closed = listed.ticked_in(answer[-_LOOKED_AT:])
    statements = [one for one in sentences(answer[-_LOOKED_AT:]) if not one.endswith(("?", "？"))]
    for sentence in dict.fromkeys(statements):
        if _is_dismissal(sentence):
            closed |= listed.named_in(sentence, any_clause=True)
        elif _DONE.search(sentence) and not _is_not_done(sentence):
            closed |= listed.named_in(sentence)
    if request and _BRIEFLY_DONE.match(answer) and not _is_not_done("".join(statements[:1])):
        closed |= listed.named_by(request)
    return closed


def _is_dismissal(sentence: str) -> bool:
    put_off = phrase_pattern("for_now").search(sentence)
    return phrase_pattern("not_wanted").search(sentence) is not None and not put_off


def _is_not_done(sentence: str) -> bool:
    return phrase_pattern("not_done").search(sentence) is not None


class _Steps:
    """Steps by their words, to find those that a sentence is about."""

    def __init__(self, steps: Sequence[str]) -> None:
        self._all = set(steps)
        self._words = {step: step_words(step) for step in islice(steps, _MOST_COMPARED)}
        self._with: dict[str, set[str]] = {}
        for step, words in self._words.items():
            for word in words:
                self._with.setdefault(word, set()).add(step)

    def ticked_in(self, text: str) -> set[str]:
        """The steps that a text ticks off or strikes out."""
        ticks = [*_TICKED.finditer(text), *_STRUCK.finditer(text)]
        return set().union(*(self.named_by(tick["text"]) for tick in ticks))

    def named_in(self, sentence: str, *, any_clause: bool = False) -> set[str]:
        """The steps that a sentence or one of its clauses says are done, or with `any_clause` names at all."""
        found: set[str] = set()
        for clause in dict.fromkeys([sentence, *_CLAUSE.split(sentence)]):
            if any_clause or _DONE.search(clause):
                found |= self.named_by(clause, verb=not any_clause)
        return found

    def named_by(self, sentence: str, *, verb: bool = True) -> set[str]:
        """The steps that a sentence is about: it names nearly all of one, or nothing but it and no other step.

        With `verb` what it says was done has to be what the step asks for, and may be all of them.
        """
        if verb and _ALL_STEPS.search(sentence):
            return self._all
        verbs, named = _verbs(), set(step_words(sentence))
        about = named - verbs - set(step_words(_DONE_WORDS))
        # "The metric is in place" says of no verb that it was done.
        any_verb = not (verb and (verbs & named or _STATED_DEED.search(sentence)))
        meant = self._with_any(about)
        found: set[str] = set()
        for step in self._with_any(named):
            wanted = self._words[step]
            if not any_verb and wanted[0] in verbs - named:
                continue
            objects = set(wanted) - verbs
            met = objects & named
            only_it = about <= objects and meant <= {step}
            if met and (only_it or len(met) >= _NAMED * len(objects)):
                found.add(step)
        return found

    def _with_any(self, words: Iterable[str]) -> set[str]:
        return set().union(*(self._with.get(word, ()) for word in words))


@cache
def _verbs() -> frozenset[str]:
    return frozenset(word_map("verb_forms").values())
