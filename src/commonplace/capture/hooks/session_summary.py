"""The summary and the checkpoint of a session, made of its actions and its last answers when it stops.

Nothing is invented: what nobody did or said stays empty, and a session in which nothing happened has neither.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from commonplace.capture.hooks.closed_steps import update_answer_notes
from commonplace.capture.hooks.concepts import find_concepts
from commonplace.capture.hooks.observations import ANSWER, COMPACTION, DELEGATION, PROMPT
from commonplace.capture.hooks.prompts_and_answers import AnswerNotes, is_reply
from commonplace.capture.hooks.session_state import Action, SessionState
from commonplace.memory.captured_events import is_edited_by_person
from commonplace.memory.open_steps import HOOK_NOTES, STILL_FAILING, dismissed_steps
from commonplace.memory.remember import NewItem
from commonplace.text.shell_commands import command_covers, normalise_command
from commonplace.text.titles import shorten

MAX_FILES, MAX_KNOWN_FILES, MAX_LINES, MAX_SHOWN = 20, 200, 5, 10
_LONGEST_LINE, _LONGEST_COMMAND, _MAX_FAILURES = 200, 120, 3
# Concepts of commands whose success or failure is worth a line.
_NOTABLE = frozenset(("testing", "build", "code-quality", "dependencies", "database", "devops"))
_NOTABLE_GIT = re.compile(
    r"\bgit (?:\S+ )*?(?:commit|push|merge|rebase|tag|revert|cherry-pick)\b|\bgh (?:pr|release) create\b"
)
_COUNTED: Mapping[str, tuple[str, str]] = {
    PROMPT: ("prompt", "prompts"),
    "file-write": ("edit", "edits"),
    "command": ("command", "commands"),
    "file-read": ("read", "reads"),
    "research": ("look-up", "look-ups"),
    DELEGATION: ("delegation", "delegations"),
    "tool-use": ("tool use", "tool uses"),
}


def session_notes(state: SessionState) -> Iterator[NewItem]:
    """The current summary and checkpoint of a session that stopped; none if nothing happened.

    One that a person edited is left alone.
    """
    if state.closes_ms is None:
        return
    stored = [item for item in (state.summary, state.checkpoint) if item]
    edited = [item for item in stored if is_edited_by_person(item)]
    # An edited one is not updated any more, so the other one says how far the hooks were.
    latest = next((item for item in stored if item not in edited), stored[0] if stored else None)
    before = AnswerNotes.from_json(latest.meta.get(HOOK_NOTES) if latest else None).without(dismissed_steps(stored))
    notes = update_answer_notes(state, before)
    actions = [action for action in state.actions if action.type not in (PROMPT, ANSWER, COMPACTION)]
    if not (actions or (state.first_prompts and notes != AnswerNotes())):
        return
    known = _texts(state.summary.meta.get("written")) if state.summary else []
    written = _recent_first([*known, *(file for action in actions for file in action.modified)])
    meta = {HOOK_NOTES: notes.as_json()} if notes != AnswerNotes() else {}
    summary = _summary(state, actions, notes, written)
    if state.summary not in edited:
        files: dict[str, object] = {"written": list(reversed(written[:MAX_KNOWN_FILES]))} if written else {}
        yield _new_item(state, "summary", summary, {**meta, **files})
    if state.checkpoint not in edited:
        yield _new_item(state, "checkpoint", _checkpoint(state, actions, notes, summary, written), meta)


def _summary(
    state: SessionState, actions: Sequence[Action], notes: AnswerNotes, written: Sequence[str]
) -> dict[str, str]:
    counts = ((state.counts[type_], names) for type_, names in _COUNTED.items())
    return {
        "request": "\n".join(dict.fromkeys([*state.first_prompts[:1], *_requests(state)[-2:]])),
        "investigated": _investigated(actions),
        "learned": "\n".join(notes.learnt),
        "completed": "\n".join([*_changes(actions, written), *_successes(actions)]),
        "next_steps": "\n".join(dict.fromkeys([*notes.left, *_open_failures(actions)])),
        "notes": ", ".join(f"{count} {names[count != 1]}" for count, names in counts if count),
    }


def _checkpoint(
    state: SessionState,
    actions: Sequence[Action],
    notes: AnswerNotes,
    summary: Mapping[str, str],
    written: Sequence[str],
) -> dict[str, str]:
    read = _recent_first(file for action in actions for file in action.read)
    shown = [action for action in state.actions if action.type != ANSWER][-MAX_SHOWN:]
    requests = _requests(state)
    return {
        "task": requests[-1] if requests else summary["request"].partition("\n")[0],
        "progress": "\n".join(notes.done) or summary["completed"],
        "next_steps": summary["next_steps"],
        "open_questions": "\n".join(notes.questions),
        "relevant_files": ", ".join(list(dict.fromkeys([*written, *read]))[:MAX_FILES]),
        "snapshot": "\n".join(f"{action.type}: {action.title}" for action in shown),
    }


def _requests(state: SessionState) -> list[str]:
    """What was asked. A reply such as "no, keep it" is no request by itself."""
    return [action.title for action in state.actions if action.type == PROMPT and not is_reply(action.title)]


def _investigated(actions: Sequence[Action]) -> str:
    read = _recent_first(file for action in actions for file in action.read)
    searches = [action.title for action in actions if action.type == "file-read" and not (action.read or action.error)]
    look_ups = [action.title for action in actions if action.type == "research" and not action.error]
    delegations = [action.title for action in actions if action.type == DELEGATION]
    more = f" and {len(read) - MAX_SHOWN} more" if read[MAX_SHOWN:] else ""
    lines = [
        f"Read {', '.join(read[:MAX_SHOWN])}{more}" if read else "",
        *_latest(searches),
        *(f"Looked up: {title}" for title in _latest(look_ups)),
        *(f"Delegated: {title}" for title in _latest(delegations)),
    ]
    return "\n".join(line for line in lines if line)


def _changes(actions: Sequence[Action], written: Sequence[str]) -> Iterator[str]:
    """The files that were written, the latest first."""
    verbs: dict[str, str] = {}
    for action in actions:
        for file in action.modified:
            verb = str(action.verbs.get(file) or action.title.partition(" ")[0])
            verbs[file] = verb if verb in ("Deleted", "Moved") else verbs.get(file, verb)
    if written:
        named = ", ".join(f"{verbs.get(file, 'Modified')} {file}" for file in written[:MAX_FILES])
        yield named + (f" and {len(written) - MAX_FILES} more" if written[MAX_FILES:] else "")


def _successes(actions: Sequence[Action]) -> list[str]:
    """Tests, builds, commits and the like that are known to have succeeded."""
    commands = [action for action in actions if action.type == "command" and _is_notable(action.facts)]
    last = {normalise_command(action.facts): action for action in commands}
    return _latest([action.narrative for action in last.values() if action.succeeded])


def _is_notable(line: str) -> bool:
    return bool(_NOTABLE_GIT.search(line) or _NOTABLE.intersection(find_concepts(command=line).split(", ")))


def _open_failures(actions: Sequence[Action]) -> list[str]:
    """Commands that failed and have not succeeded since, alone or as part of a larger test run."""
    failing: dict[str, Action] = {}
    for action in actions:
        if action.type != "command" or not action.facts:
            continue
        command = normalise_command(action.facts)
        if not action.error:
            failing = {
                name: other
                for name, other in failing.items()
                if name != command and not (action.succeeded and command_covers(action.facts, other.facts))
            }
        elif _is_notable(action.facts):
            failing.pop(command, None)
            failing[command] = action
    return [f"{STILL_FAILING}{_describe_failure(action)}" for action in list(failing.values())[-_MAX_FAILURES:]]


def _describe_failure(action: Action) -> str:
    """The command, and how it failed by its narrative."""
    command, why = action.facts.partition("\n")[0], action.narrative.partition(" — ")[2] or "failed"
    return shorten(f"{shorten(command, _LONGEST_COMMAND)} — {why}", _LONGEST_LINE)


def _new_item(
    state: SessionState, kind: Literal["summary", "checkpoint"], details: Mapping[str, str], meta: Mapping[str, object]
) -> NewItem:
    return NewItem(
        kind=kind,
        title=(details.get("request") or details.get("task") or state.label).partition("\n")[0],
        details={name: value for name, value in details.items() if value},
        meta=meta,
        project=state.project,
        session=state.key,
        created_ms=state.closes_ms,
    )


def _recent_first(files: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(reversed(list(files))))


def _latest(lines: Sequence[str]) -> list[str]:
    """The last few different lines, in their order."""
    return [shorten(line, _LONGEST_LINE) for line in reversed(_recent_first(lines)[:MAX_LINES])]


def _texts(value: object) -> list[str]:
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []
