"""Open steps of a session: what its prompts, answers and actions add and close, here and in earlier sessions."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from commonplace.capture.hooks.observations import ANSWER, PROMPT
from commonplace.capture.hooks.prompts_and_answers import AnswerNotes
from commonplace.capture.hooks.session_state import Action, SessionState
from commonplace.errors import Conflict, InvalidInput, NotFound, TooLarge
from commonplace.memory.captured_events import HOOK_DIGEST, StartedSession, is_edited_by_person
from commonplace.memory.edit_and_forget import Changes, edit_item
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.open_steps import HEARD, STILL_FAILING, failing_command, steps_in, summaries_and_checkpoints
from commonplace.memory.remember import NewItem, as_new_item
from commonplace.model import Item
from commonplace.text.next_steps import completed_steps, is_same_step
from commonplace.text.shell_commands import command_covers, is_full_test_run, normalise_command

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


def update_answer_notes(state: SessionState, before: AnswerNotes) -> AnswerNotes:
    """What the answers of a session say by now, given what they said when it was last summed up."""
    notes, request, explains = before, "", False
    for _at, one in _since(state):
        if not isinstance(one, Action):
            notes = notes.after(one, request, explains=explains)
        elif one.type == PROMPT:
            notes, request = notes.without(completed_steps(notes.left, one.text)), one.text
            explains = bool(_WHY.search(one.text))
        else:
            notes = notes.without({step for step in notes.left if is_done_by(one, step)})
            explains = explains or bool(one.error)
    return notes


def steps_closed_by(state: SessionState, steps: Mapping[str, int], named: Collection[str]) -> set[str]:
    """The steps of other sessions, each with when it was named, that this session closed since.

    What is among the steps that this session names itself is taken over by it.
    """
    since = _since(state) if steps else []
    last_ms = max((at_ms for at_ms, _one in since), default=0)
    closed = {step for step, at_ms in steps.items() if at_ms < last_ms and any(is_same_step(step, n) for n in named)}
    doable = {step for step in steps if _names_an_action(step)}
    request = ""
    for at_ms, one in since:
        if isinstance(one, Action) and one.type != PROMPT and not doable:
            continue
        open_ = [step for step, named_ms in steps.items() if named_ms < at_ms and step not in closed]
        if not isinstance(one, Action):
            closed |= completed_steps(open_, one, request)
        elif one.type == PROMPT:
            closed, request = closed | completed_steps(open_, one.text), one.text
        else:
            closed |= {step for step in open_ if step in doable and is_done_by(one, step)}
    return closed


def _names_an_action(step: str) -> bool:
    """Whether an action could be all that a step asks for."""
    return bool(
        step.startswith(STILL_FAILING) or _RUN.match(step) or _FILE.match(step) or any(s.match(step) for s, _d in _GIT)
    )


def is_done_by(action: Action, step: str) -> bool:
    """Whether an action is plainly what a step asks for: its command went well, its file was written."""
    if action.error or action.agent:
        return False
    if action.type == "command":
        return action.went_well and _is_command_of(action.facts, step)
    found = _FILE.match(step) if action.type == "file-write" else None
    if found is None:
        return False
    path, gone = found["path"].replace("\\", "/"), found["verb"].lower() in _GONE
    written = next((file for file in action.modified if file == path or file.endswith(f"/{path}")), "")
    deleted = str(action.verbs.get(written) or action.title.partition(" ")[0]) == "Deleted"
    return bool(written) and deleted == gone


def _is_command_of(line: str, step: str) -> bool:
    if step.startswith(STILL_FAILING):
        return command_covers(line, failing_command(step))
    if found := _RUN.match(step):
        what = found["what"]
        return (
            is_full_test_run(line)
            if _TESTS.fullmatch(what)
            else what[:1] == "`" == what[-1:] and command_covers(line, what[1:-1])
        )
    brief = len(step.split()) <= _MOST_WORDS_OF_GIT
    return brief and any(sign.match(step) and done in normalise_command(line).split(" && ") for sign, done in _GIT)


def _since(state: SessionState) -> list[tuple[int, Action | str]]:
    """The prompts, actions and answers since the session was last summed up, in the order of time."""
    actions = [
        (action.at_ms, action)
        for action in state.actions
        if action.at_ms > state.summed_up_ms and action.type != ANSWER
    ]
    # Of one moment, the answer comes last.
    return sorted([*actions, *state.answers], key=lambda pair: (pair[0], isinstance(pair[1], str)))


Written = TypeVar("Written", Item, NewItem)


def close_steps_elsewhere(
    memory: LocalMemory, states: Sequence[SessionState], told: Sequence[NewItem]
) -> tuple[list[StartedSession], list[NewItem]]:
    """What is to be written of sessions, given the ones that stopped and what is told of these.

    The summaries and checkpoints of other sessions lose the steps that were closed since. Those that a person or an
    agent wrote are edited at once, and lose nothing but the step.
    """
    stored: dict[int, Item] = {}
    changed: dict[int, Item] = {}
    new = list(told)
    stopped = sorted((state for state in states if state.closes_ms is not None), key=lambda one: one.closes_ms or 0)
    keys = {state.key for state in stopped}
    for state in stopped:
        stored |= {
            item.id: item for item in summaries_and_checkpoints(memory, state.project) if item.session not in keys
        }
        open_ = [changed.get(id_, item) for id_, item in stored.items() if item.project == state.project]
        beside = [note for note in new if note.session != state.key and note.project == state.project]
        named = {step for note in told if note.session == state.key for step in steps_in(note)}
        steps: dict[str, int] = {}
        lines = [(step, item.created_ms) for item in open_ for step in steps_in(item)]
        for step, at_ms in (*lines, *((step, note.created_ms or 0) for note in beside for step in steps_in(note))):
            # Named again later, it was open then.
            steps[step] = max(at_ms, steps.get(step, 0))
        closed = steps_closed_by(state, steps, named)
        changed |= {item.id: _without(item, closed) for item in open_ if closed.intersection(steps_in(item))}
        for note in beside:
            if closed.intersection(steps_in(note)):
                new[new.index(note)] = _without(note, closed)
    sessions: list[StartedSession] = []
    for id_, item in changed.items():
        if item.session and HOOK_DIGEST in item.meta and not is_edited_by_person(stored[id_]):
            new.append(
                replace(as_new_item(item), uid=None, meta={k: v for k, v in item.meta.items() if k != HOOK_DIGEST})
            )
            sessions.append(StartedSession(item.session, "", "", item.created_ms, item.project))
        else:
            _edit(memory, item)
    return sessions, new


def _without(written: Written, gone: set[str]) -> Written:
    left = "\n".join(step for step in steps_in(written) if step not in gone)
    details = {name: text for name, text in written.details.items() if name != "next_steps"}
    notes = AnswerNotes.from_json(written.meta.get(HEARD)).without(gone)
    meta = {**written.meta, HEARD: notes.as_json()} if HEARD in written.meta else written.meta
    return replace(written, details={**details, "next_steps": left} if left else details, meta=meta)


def _edit(memory: LocalMemory, item: Item) -> None:
    try:
        edit_item(memory, item.id, Changes(details={"next_steps": item.details.get("next_steps", "")}, meta=item.meta))
    except (Conflict, InvalidInput, NotFound, TooLarge):
        # It changed meanwhile, or would say the same as another: the step stays open.
        return
