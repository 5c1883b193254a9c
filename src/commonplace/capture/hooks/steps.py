"""Open steps of a session: what its prompts, answers and actions add and close, here and in earlier sessions."""

from __future__ import annotations

import re
from collections.abc import Collection

from commonplace.capture.hooks.answers import Heard
from commonplace.capture.hooks.course import Course, Deed
from commonplace.capture.hooks.observations import ANSWER, PROMPT
from commonplace.memory.open_steps import STILL_FAILING, failing_command, steps_in
from commonplace.memory.remember import Note
from commonplace.model import Item
from commonplace.text.commands import covers, essence, is_whole_run
from commonplace.text.steps import done_steps, is_same_step

_WHY = re.compile(
    r"\b(?:why|cause|reason|bugs?|fix|debug|fail(?:s|ed|ing|ure)?|errors?|crash\w*|broken|wrong|investigate|find out"
    r"|how come|what happen\w*|explain|deadlocks?|slow|leak\w*|flaky|warum|ursache|fehler)\b",
    re.IGNORECASE,
)
_RUN = re.compile(r"^(?:please )?(?:re-?)?run (?:the )?(?P<what>.+?)(?: again| once more)?\.?$", re.IGNORECASE)
_TESTS = re.compile(
    r"(?:full |whole |complete |entire |all )?(?:the )?(?:test suite|tests|suite|unit tests)", re.IGNORECASE
)
_GIT = (
    (re.compile(r"^commit\b", re.IGNORECASE), "git commit"),
    (re.compile(r"^push\b", re.IGNORECASE), "git push"),
    (re.compile(r"^(?:open|create|make) (?:a |the )?(?:pr|pull request)\b", re.IGNORECASE), "gh pr create"),
)
_MOST_WORDS_OF_GIT = 5
_FILE = re.compile(
    r"^(?:please )?(?P<verb>create|add|write|update|edit|delete|remove)\s+(?:the )?(?:file )?"
    r"`?(?P<path>[\w./\\-]+\.\w{1,8})`?\.?$",
    re.IGNORECASE,
)
_GONE = ("delete", "remove")


def heard_in(course: Course, before: Heard) -> Heard:
    """What the answers of a session say by now, given what they said when it was last summed up."""
    heard, request, explains = before, "", False
    for _at, one in _since(course):
        if not isinstance(one, Deed):
            heard = heard.after(one, request, explains=explains)
        elif one.type == PROMPT:
            heard, request = heard.without(done_steps(heard.left, one.text)), one.text
            explains = bool(_WHY.search(one.text))
        else:
            heard = heard.without({step for step in heard.left if is_done_by(one, step)})
            explains = explains or bool(one.error)
    return heard


def closed_elsewhere(course: Course, written: Item | Note, named: Collection[str]) -> set[str]:
    """The steps of another session's summary or checkpoint that this session closed after it was written.

    What is among the steps that this session names itself is taken over by it.
    """
    steps = steps_in(written)
    since = [one for at_ms, one in _since(course) if at_ms > (written.created_ms or 0)] if steps else []
    if not since:
        return set()
    closed = {step for step in steps if any(is_same_step(step, own) for own in named)}
    request = ""
    for one in since:
        if not isinstance(one, Deed):
            closed |= done_steps(steps, one, request)
        elif one.type == PROMPT:
            closed, request = closed | done_steps(steps, one.text), one.text
        else:
            closed |= {step for step in steps if is_done_by(one, step)}
    return closed


def is_done_by(deed: Deed, step: str) -> bool:
    """Whether an action is plainly what a step asks for: its command went well, its file was written."""
    if deed.error or deed.agent:
        return False
    if deed.type == "command":
        return deed.went_well and _is_command_of(deed.facts, step)
    found = _FILE.match(step) if deed.type == "file-write" else None
    if found is None:
        return False
    path, gone = found["path"].replace("\\", "/"), found["verb"].lower() in _GONE
    written = next((file for file in deed.modified if file == path or file.endswith(f"/{path}")), "")
    deleted = str(deed.verbs.get(written) or deed.title.partition(" ")[0]) == "Deleted"
    return bool(written) and deleted == gone


def _is_command_of(line: str, step: str) -> bool:
    if step.startswith(STILL_FAILING):
        return covers(line, failing_command(step))
    if found := _RUN.match(step):
        what = found["what"]
        return (
            is_whole_run(line) if _TESTS.fullmatch(what) else what[:1] == "`" == what[-1:] and covers(line, what[1:-1])
        )
    brief = len(step.split()) <= _MOST_WORDS_OF_GIT
    return brief and any(sign.match(step) and done in essence(line).split(" && ") for sign, done in _GIT)


def _since(course: Course) -> list[tuple[int, Deed | str]]:
    """The prompts, actions and answers since the session was last summed up, in the order of time."""
    deeds = [(deed.at_ms, deed) for deed in course.deeds if deed.at_ms > course.summed_up_ms and deed.type != ANSWER]
    # Of one moment, the answer comes last.
    return sorted([*deeds, *course.answers], key=lambda pair: (pair[0], isinstance(pair[1], str)))
