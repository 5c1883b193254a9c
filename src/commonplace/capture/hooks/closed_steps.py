"""Closing open steps: which next steps a session's prompts, answers and actions close, its own and earlier ones."""

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
from commonplace.memory.open_steps import (
    HOOK_NOTES,
    STILL_FAILING,
    failing_command,
    steps_in,
    summaries_and_checkpoints,
)
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
_LONGEST_GIT_STEP = 5
_FILE = re.compile(
    r"^(?:please )?(?P<verb>create|add|write|update|edit|delete|remove)\s+(?:the )?(?:file )?"
    r"`?(?P<path>[\w./\\-]+\.\w{1,8})`?\.?$",
    re.IGNORECASE,
)
_DELETING = ("delete", "remove")

Note = TypeVar("Note", Item, NewItem)


def update_answer_notes(state: SessionState, before: AnswerNotes) -> AnswerNotes:
    """The notes of a session's answers by now, given those of its last summary."""
    notes, request, explains = before, "", False
    for _at, one in _since_summary(state):
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
    """The steps of other sessions, each with the time it was named, that this session closed since.

    A step that this session names as its own is closed in the others.
    """
    since = _since_summary(state) if steps else []
    last_ms = max((at_ms for at_ms, _one in since), default=0)
    closed = {step for step, at_ms in steps.items() if at_ms < last_ms and any(is_same_step(step, n) for n in named)}
    doable = {step for step in steps if _names_action(step)}
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


def _names_action(step: str) -> bool:
    """Whether a single action could be all that a step asks for."""
    return bool(
        step.startswith(STILL_FAILING) or _RUN.match(step) or _FILE.match(step) or any(s.match(step) for s, _d in _GIT)
    )


def is_done_by(action: Action, step: str) -> bool:
    """Whether an action is exactly what a step asks for: its command succeeded, its file was written."""
    if action.error or action.agent:
        return False
    if action.type == "command":
        return action.succeeded and _is_command_of(action.facts, step)
    found = _FILE.match(step) if action.type == "file-write" else None
    if found is None:
        return False
    path, deletes = found["path"].replace("\\", "/"), found["verb"].lower() in _DELETING
    written = next((file for file in action.modified if file == path or file.endswith(f"/{path}")), "")
    deleted = str(action.verbs.get(written) or action.title.partition(" ")[0]) == "Deleted"
    return bool(written) and deleted == deletes


def _is_command_of(line: str, step: str) -> bool:
    if step.startswith(STILL_FAILING):
        return command_covers(line, failing_command(step))
    if found := _RUN.match(step):
        what = found["what"]
        if _TESTS.fullmatch(what):
            return is_full_test_run(line)
        return what[:1] == "`" == what[-1:] and command_covers(line, what[1:-1])
    if len(step.split()) > _LONGEST_GIT_STEP:
        return False
    commands = normalise_command(line).split(" && ")
    return any(pattern.match(step) and command in commands for pattern, command in _GIT)


def _since_summary(state: SessionState) -> list[tuple[int, Action | str]]:
    """The prompts, actions and answers since the session's last summary, in the order of time."""
    actions = [action for action in state.actions if action.at_ms > state.summarised_ms and action.type != ANSWER]
    timed: list[tuple[int, Action | str]] = [(action.at_ms, action) for action in actions]
    # At the same time, the answer comes last.
    return sorted([*timed, *state.answers], key=lambda pair: (pair[0], isinstance(pair[1], str)))


def close_steps_elsewhere(
    memory: LocalMemory, states: Sequence[SessionState], notes: Sequence[NewItem]
) -> tuple[list[StartedSession], list[NewItem]]:
    """The sessions and notes to write, given the sessions that stopped and their new summaries and checkpoints.

    The summaries and checkpoints of other sessions lose the steps that were closed since. Those written by a person or
    an agent are edited at once, and lose nothing but the step.
    """
    stored: dict[int, Item] = {}
    changed: dict[int, Item] = {}
    new = list(notes)
    stopped = sorted((state for state in states if state.closes_ms is not None), key=lambda one: one.closes_ms or 0)
    keys = {state.key for state in stopped}
    for state in stopped:
        known = summaries_and_checkpoints(memory, state.project)
        stored |= {item.id: item for item in known if item.session not in keys}
        items = [changed.get(id_, item) for id_, item in stored.items() if item.project == state.project]
        others = [note for note in new if note.session != state.key and note.project == state.project]
        named = {step for note in notes if note.session == state.key for step in steps_in(note)}
        steps: dict[str, int] = {}
        open_notes: list[Item | NewItem] = [*items, *others]
        for one in open_notes:
            for step in steps_in(one):
                # Named again later, it was still open then.
                steps[step] = max(one.created_ms or 0, steps.get(step, 0))
        closed = steps_closed_by(state, steps, named)
        changed |= {item.id: _without(item, closed) for item in items if closed.intersection(steps_in(item))}
        for note in others:
            if closed.intersection(steps_in(note)):
                new[new.index(note)] = _without(note, closed)
    sessions: list[StartedSession] = []
    for id_, item in changed.items():
        if item.session and HOOK_DIGEST in item.meta and not is_edited_by_person(stored[id_]):
            meta = {name: value for name, value in item.meta.items() if name != HOOK_DIGEST}
            new.append(replace(as_new_item(item), uid=None, meta=meta))
            sessions.append(StartedSession(item.session, "", "", item.created_ms, item.project))
        else:
            _edit(memory, item)
    return sessions, new


def _without(note: Note, closed: set[str]) -> Note:
    left = "\n".join(step for step in steps_in(note) if step not in closed)
    details = {name: text for name, text in note.details.items() if name != "next_steps"}
    answers = AnswerNotes.from_json(note.meta.get(HOOK_NOTES)).without(closed)
    meta = {**note.meta, HOOK_NOTES: answers.as_json()} if HOOK_NOTES in note.meta else note.meta
    return replace(note, details={**details, "next_steps": left} if left else details, meta=meta)


def _edit(memory: LocalMemory, item: Item) -> None:
    try:
        edit_item(memory, item.id, Changes(details={"next_steps": item.details.get("next_steps", "")}, meta=item.meta))
    except (Conflict, InvalidInput, NotFound, TooLarge):
        # It changed meanwhile, or would duplicate another: the step stays open.
        return
