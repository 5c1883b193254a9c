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
from functools import lru_cache
from itertools import islice
from typing import Protocol

from commonplace.errors import Conflict, NotFound
from commonplace.memory.local_memory import LocalMemory
from commonplace.model import Item, Scope
from commonplace.text.redact import redact
from commonplace.text.sentences import sentences, shorten
from commonplace.text.tokens import stem, words_of

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
    from commonplace.memory.edit_and_forget import revert_to_revision
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
_EMPTY = frozenset(
    "a about all also an and any are as at be been both by can do does done finally first for from had has have here i"
    " in into is it its itself just me more my new next now of off on once one only or our out please s so some soon"
    " still that the their them then there these they this those to too up us we were will with you your".split()
)
# Forms that a stemmer does not bring together, and words for the same kind of work.
_FORMS = {
    **dict.fromkeys(
        "told tell tells telling inform informed notified notify notifying messaged emailed".split(), "tell"
    ),
    **dict.fromkeys("wrote written write writes writing document documented documenting documents".split(), "write"),
    **dict.fromkeys("add added adding adds implement implemented create created creating introduced".split(), "add"),
    **dict.fromkeys("ran run runs running rerun reran".split(), "run"),
    **dict.fromkeys("sent send sends sending".split(), "send"),
    **dict.fromkeys("made make makes making".split(), "make"),
    **dict.fromkeys("built build builds building".split(), "build"),
    **dict.fromkeys("chose chosen choose choosing".split(), "choose"),
    **dict.fromkeys("remove removed removing delete deleted deleting drop dropped dropping".split(), "remove"),
    **dict.fromkeys("fix fixed fixes fixing repair repaired resolve resolved solve solved".split(), "fix"),
    **dict.fromkeys("update updated updating bump bumped upgrade upgraded change changed changing".split(), "update"),
    **dict.fromkeys("raise raised raising increase increased".split(), "raise"),
    **dict.fromkeys("ask asked asking request requested".split(), "ask"),
    **dict.fromkeys("check checked checking verify verified verifying test tested testing tests".split(), "check"),
    **dict.fromkeys("took taken take takes taking".split(), "take"),
    **dict.fromkeys("split splits splitting".split(), "split"),
    **dict.fromkeys("put puts putting".split(), "put"),
}
_VERBS = frozenset(_FORMS.values())
_FINISHED = (
    r"(?:is|are|was|were|has been|have been|'s|’s|all|now|both|already) (?:now |already |all )?"
    r"(?:done|finished|complete[d]?|in place|live|merged|deployed|shipped|added|told|written|fixed|removed|updated)"
)
_DONE = re.compile(
    rf"^\W*(?:done|finished|completed|✅|✔)|\b(?:{_FINISHED})\b|[-–—:] ?(?:done|finished|completed)\W*$|✅|✔"
    r"|\b(?:i|we)(?:['’]ve| have)?(?: now| also| just| already| then)* (?:\w+ed|ran|wrote|written|told|sent|made|built"
    r"|chose|took|put|split|did|got|cut|set|let)\b"
    r"|^\W*(?:(?:also|then|now|and|finally) )*(?:\w{2,}ed|ran|wrote|told|sent|made|built|chose|took|split)\b",
    re.IGNORECASE,
)
_NOT_DONE = re.compile(
    r"\b(?:not|never|no|nor|cannot|without|will|would|should|shall|could|can|may|might|must|going to|needs?(?: to)?"
    r"|to be|yet|plan(?:ned|s)?|todo|to-do|next|if|before|once|until|unless|still|tried|trying|try|failed|unable|wants?"
    r"|let['’]s|let us|later|tomorrow|remain(?:s|ing)?|left to|half|partly|partially|almost|nearly|only part)\b"
    r"|n['’]t\b|['’]ll\b",
    re.IGNORECASE,
)
_DISMISSED = re.compile(
    r"\b(?:never ?mind|skip|drop|forget(?! to\b)(?: about)?|cancel|ignore|leave out|no need (?:to|for)|not needed"
    r"|no longer(?: needed| wanted| necessary)?|not necessary|(?:do not|don['’]t) (?:need|bother|want)(?: to| with)?"
    r"|won['’]t|will not|decided against|decided not to)\b",
    re.IGNORECASE,
)
_FOR_NOW = re.compile(
    r"\b(?:yet|until|before|unless|for now|right now|today|later|this time|(?:not|n['’]t|never) forget)\b",
    re.IGNORECASE,
)
_ALL = re.compile(
    r"\b(?:all|both|everything|each)(?: of)?(?: the| those| these| our| my| your)?(?: \w+)? ?"
    r"(?:next steps|steps|to-?dos|open (?:points|ends|items)|follow-?ups)\b",
    re.IGNORECASE,
)
_THE_STEPS = re.compile(r"\b(?:next steps|(?:those|these|all|both)(?: of the| the)? steps)\b", re.IGNORECASE)
_BRIEFLY_DONE = re.compile(r"^\W*(?:all )?(?:done|finished|completed|all set|✅|✔)", re.IGNORECASE)
_HEADING = re.compile(
    r"^[ \t\xa0#>*_-]*(?:next steps?|to-?dos?|remaining|follow[- ]?ups?|what['’]s (?:left|next))\b[^\n]{0,40}$",
    re.IGNORECASE | re.MULTILINE,
)
_CLAUSE = re.compile(r",? and |; |, ")
_TICKED = re.compile(
    r"^[ \t\xa0]*+(?:(?:[-*+•]|\d{1,2}[.)])[ \t\xa0]*+)?(?:\[[xX]\]|✅|✔️?|☑)[^\S\n]*+(?P<text>\S.*)$", re.MULTILINE
)
_STRUCK = re.compile(r"~~(?P<text>[^~\n]{3,300})~~")


@lru_cache(maxsize=4096)
def step_words(text: str) -> tuple[str, ...]:
    """The words of a step or a sentence that tell what it is about, in order, each in one form."""
    found = (_FORMS.get(word) or stem(word) for word in words_of(text[:_LOOKED_AT]) if word not in _EMPTY)
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


def text_before_steps(text: str) -> str:
    """A text up to where it goes on to what is left to do."""
    found = _HEADING.search(text)
    return text[: found.start()].rstrip() if found else text


def ticked_off(text: str) -> list[str]:
    """What a text ticks off or strikes out, as it is written there."""
    return [found["text"] for pattern in (_TICKED, _STRUCK) for found in pattern.finditer(text[-_LOOKED_AT:])]


def completed_steps(steps: Sequence[str], answer: str, request: str = "") -> set[str]:
    """The steps that an answer or a prompt says are done, or no longer wanted.

    `request` is what was asked before an answer: "Done." then means what was asked for.
    """
    if not steps or not answer.strip():
        return set()
    statements = [sentence for sentence in sentences(answer[-_LOOKED_AT:]) if not sentence.endswith(("?", "？"))]
    listed = _Steps(steps)
    if any(_ALL.search(one) and _DONE.search(one) and not _NOT_DONE.search(one) for one in statements):
        return set(steps)
    closed = {step for tick in dict.fromkeys(ticked_off(answer)) for step in listed.named_by(tick)}
    for sentence in dict.fromkeys(statements):
        wanted_no_more = bool(_DISMISSED.search(sentence)) and not _FOR_NOW.search(sentence)
        if not wanted_no_more and (not _DONE.search(sentence) or _NOT_DONE.search(sentence)):
            continue
        for clause in dict.fromkeys([sentence, *_CLAUSE.split(sentence)]):
            if wanted_no_more or _DONE.search(clause):
                closed.update(listed.named_by(clause, verb=not wanted_no_more))
    if request and _BRIEFLY_DONE.match(answer) and not _NOT_DONE.search(statements[0] if statements else ""):
        if _THE_STEPS.search(request):
            return set(steps)
        closed.update(listed.named_by(request))
    return closed


class _Steps:
    """Steps by their words, to find those that a sentence is about."""

    def __init__(self, steps: Iterable[str]) -> None:
        self._words = {step: step_words(step) for step in islice(steps, _MOST_COMPARED)}
        self._with: dict[str, set[str]] = {}
        for step, words in self._words.items():
            for word in words:
                self._with.setdefault(word, set()).add(step)

    def named_by(self, sentence: str, *, verb: bool = True) -> set[str]:
        """The steps that a sentence is about: it names nearly all of one, or nothing but it and no other step.

        With `verb` what it says was done has to be what the step asks for.
        """
        named = set(step_words(sentence))
        about = named - _VERBS - _DONE_WORDS
        only_done, meant = _only_done(sentence), self._with_any(about)
        found: set[str] = set()
        for step in self._with_any(named):
            wanted = self._words[step]
            objects = [word for word in wanted if word not in _VERBS]
            verbs = [word for word in wanted[:1] if word in _VERBS]
            if verb and verbs and verbs[0] not in named and not only_done:
                continue
            met = [word for word in objects if word in named]
            nearly_all = len(met) >= _NAMED * len(objects)
            if met and (nearly_all or (about.issubset(objects) and meant <= {step})):
                found.add(step)
        return found

    def _with_any(self, words: Iterable[str]) -> set[str]:
        return set().union(*(self._with.get(word, ()) for word in words))


_DONE_WORDS = frozenset(
    map(stem, "done finished completed complete place live merged deployed shipped already".split())
)


def _only_done(sentence: str) -> bool:
    """Whether it says that something is done without saying what was done to it."""
    return not _VERBS.intersection(step_words(sentence)) and not re.search(
        r"\b(?:i|we)(?:['’]ve| have)?(?: \w+)? \w+ed\b", sentence, re.IGNORECASE
    )
