"""Open steps of a session: what its prompts, answers and actions add and close, here and in earlier sessions."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from commonplace.capture.hooks.answers import Heard
from commonplace.capture.hooks.course import Course, Deed
from commonplace.capture.hooks.observations import ANSWER, PROMPT
from commonplace.memory.open_steps import STILL_FAILING, failing_command
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


def closed_elsewhere(course: Course, steps: Mapping[str, int], named: Collection[str]) -> set[str]:
    """The steps of other sessions, each with when it was named, that this session closed since.

    What is among the steps that this session names itself is taken over by it.
    """
    since = _since(course) if steps else []
    last_ms = max((at_ms for at_ms, _one in since), default=0)
    closed = {step for step, at_ms in steps.items() if at_ms < last_ms and any(is_same_step(step, n) for n in named)}
    doable = {step for step in steps if _names_an_action(step)}
    request = ""
    for at_ms, one in since:
        if isinstance(one, Deed) and one.type != PROMPT and not doable:
            continue
        open_ = [step for step, named_ms in steps.items() if named_ms < at_ms and step not in closed]
        if not isinstance(one, Deed):
            closed |= done_steps(open_, one, request)
        elif one.type == PROMPT:
            closed, request = closed | done_steps(open_, one.text), one.text
        else:
            closed |= {step for step in open_ if step in doable and is_done_by(one, step)}
    return closed


def _names_an_action(step: str) -> bool:
    """Whether an action could be all that a step asks for."""
    return bool(
        step.startswith(STILL_FAILING) or _RUN.match(step) or _FILE.match(step) or any(s.match(step) for s, _d in _GIT)
    )


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
