"""Closing: one summary and one checkpoint of a session, made of what happened in it and of what was answered last.

Nothing is invented: what nobody did or said stays empty, and a session in which nothing happened has none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from commonplace.capture.hooks.closed_steps import update_answer_notes
from commonplace.capture.hooks.concepts import find_concepts
from commonplace.capture.hooks.observations import ANSWER, COMPACTION, PROMPT
from commonplace.capture.hooks.prompts_and_answers import AnswerNotes, is_reply
from commonplace.capture.hooks.session_state import Action, SessionState
from commonplace.memory.captured_events import is_edited_by_person
from commonplace.memory.open_steps import HEARD, STILL_FAILING, dismissed_steps
from commonplace.memory.remember import NewItem
from commonplace.model import Item
from commonplace.text.shell_commands import command_covers, normalise_command
from commonplace.text.titles import shorten

MOST_FILES, MOST_KNOWN, MOST_LINES, MOST_SHOWN = 20, 200, 5, 10
_LONGEST, _LONGEST_COMMAND = 200, 120
_NEWLINE = "\n"
# What a command has to be about to be worth telling that it went well.
_FEATS = frozenset(("testing", "build", "code-quality", "dependencies", "database", "devops"))
_DEED_OF_GIT = re.compile(
    r"\bgit (?:\S+ )*?(?:commit|push|merge|rebase|tag|revert|cherry-pick)\b|\bgh (?:pr|release) create\b"
)
_COUNTED: Mapping[str, tuple[str, str]] = {
    PROMPT: ("prompt", "prompts"),
    "file-write": ("edit", "edits"),
    "command": ("command", "commands"),
    "file-read": ("read", "reads"),
    "research": ("look-up", "look-ups"),
    "delegation": ("delegation", "delegations"),
    "tool-use": ("tool use", "tool uses"),
}


def session_notes(state: SessionState) -> Iterator[NewItem]:
    """The summary and the checkpoint of a session that stopped, as they should be by now; none if nothing happened.

    What a person rewrote is left as it is.
    """
    if state.closes_ms is None:
        return
    kept = [item for item in (state.summary, state.checkpoint) if item]
    # What a person edited is not written any more, so the other one tells where hooks were.
    latest = next((item for item in kept if not is_edited_by_person(item)), kept[0] if kept else None)
    notes = update_answer_notes(
        state, AnswerNotes.from_json(latest.meta.get(HEARD) if latest else None).without(dismissed_steps(kept))
    )
    actions = [action for action in state.actions if action.type not in (PROMPT, ANSWER, COMPACTION)]
    if not (actions or (state.opening and notes != AnswerNotes())):
        return
    before = _texts(state.summary.meta.get("written")) if state.summary else []
    written = _recent_first([*before, *(file for action in actions for file in action.modified)])
    told = {HEARD: notes.as_json()} if notes != AnswerNotes() else {}
    details = _summary(state, actions, notes, written)
    if not _is_kept(state.summary):
        files: dict[str, object] = {"written": list(reversed(written[:MOST_KNOWN]))} if written else {}
        yield _note(state, "summary", details, {**told, **files})
    if not _is_kept(state.checkpoint):
        yield _note(state, "checkpoint", _checkpoint(state, actions, notes, details, written), told)


def _is_kept(item: Item | None) -> bool:
    """Whether a person wrote in it."""
    return item is not None and is_edited_by_person(item)


def _summary(
    state: SessionState, actions: Sequence[Action], notes: AnswerNotes, written: Sequence[str]
) -> dict[str, str]:
    return {
        "request": _request(state),
        "investigated": _investigated(actions),
        "learned": "\n".join(notes.learnt),
        "completed": "\n".join([*_changes(actions, written), *_feats(actions)]),
        "next_steps": "\n".join(dict.fromkeys([*notes.left, *_open_failures(actions)])),
        "notes": _notes(state),
    }


def _checkpoint(
    state: SessionState,
    actions: Sequence[Action],
    notes: AnswerNotes,
    summary: Mapping[str, str],
    written: Sequence[str],
) -> dict[str, str]:
    read = _recent_first(file for action in actions for file in action.read)
    steps = [action for action in state.actions if action.type != ANSWER]
    asked = [action.title for action in state.actions if action.type == PROMPT and not is_reply(action.title)]
    return {
        "task": asked[-1] if asked else summary["request"].partition("\n")[0],
        "progress": "\n".join(notes.done) or summary["completed"],
        "next_steps": summary["next_steps"],
        "open_questions": "\n".join(notes.questions),
        "relevant_files": ", ".join(list(dict.fromkeys([*written, *read]))[:MOST_FILES]),
        "snapshot": "\n".join(f"{action.type}: {action.title}" for action in steps[-MOST_SHOWN:]),
    }


def _request(state: SessionState) -> str:
    """How it began, and what was asked last. A reply such as "no, keep it" asks for nothing by itself."""
    last = [action.title for action in state.actions if action.type == PROMPT and not is_reply(action.title)][-2:]
    return "\n".join(dict.fromkeys([*state.opening[:1], *last]))


def _investigated(actions: Sequence[Action]) -> str:
    read = _recent_first(file for action in actions for file in action.read)
    sought = [action.title for action in actions if action.type == "file-read" and not (action.read or action.error)]
    looked_up = [action.title for action in actions if action.type == "research" and not action.error]
    asked = [action.title for action in actions if action.type == "delegation"]
    lines = [
        f"Read {_some(read)}" if read else "",
        *_latest(sought),
        *(f"Looked up: {title}" for title in _latest(looked_up)),
        *(f"Delegated: {title}" for title in _latest(asked)),
    ]
    return "\n".join(line for line in lines if line)


def _changes(actions: Sequence[Action], written: Sequence[str]) -> Iterator[str]:
    """What was written, by file, the latest first."""
    verbs: dict[str, str] = {}
    for action in actions:
        for file in action.modified:
            verb = str(action.verbs.get(file) or action.title.partition(" ")[0])
            verbs[file] = verb if verb in ("Deleted", "Moved") else verbs.get(file, verb)
    told = [f"{verbs.get(file, 'Modified')} {file}" for file in written[:MOST_FILES]]
    if told:
        yield ", ".join(told) + (f" and {len(written) - MOST_FILES} more" if written[MOST_FILES:] else "")


def _feats(actions: Sequence[Action]) -> list[str]:
    """Commands that are known to have gone well and mean something: tests, builds, commits."""
    last = {
        normalise_command(action.facts): action
        for action in actions
        if action.type == "command" and _is_feat(action.facts)
    }
    return _latest([action.narrative for action in last.values() if action.went_well])


def _is_feat(line: str) -> bool:
    return bool(_DEED_OF_GIT.search(line) or _FEATS.intersection(find_concepts(command=line).split(", ")))


def _open_failures(actions: Sequence[Action]) -> list[str]:
    """Commands that failed and have not gone well since, alone or as part of a larger test run."""
    failing: dict[str, Action] = {}
    for action in actions:
        if action.type != "command" or not action.facts:
            continue
        if not action.error:
            same = normalise_command(action.facts)
            failing = {
                name: other
                for name, other in failing.items()
                if name != same and not (action.went_well and command_covers(action.facts, other.facts))
            }
        elif _is_feat(action.facts):
            failing.pop(normalise_command(action.facts), None)
            failing[normalise_command(action.facts)] = action
    return [f"{STILL_FAILING}{_failing(action)}" for action in list(failing.values())[-3:]]


def _failing(action: Action) -> str:
    """The command, and what its narrative says of how it failed."""
    why = action.narrative.partition(" — ")[2] or "failed"
    return shorten(f"{shorten(action.facts.partition(_NEWLINE)[0], _LONGEST_COMMAND)} — {why}", _LONGEST)


def _notes(state: SessionState) -> str:
    numbers = ((state.counts[type_], names) for type_, names in _COUNTED.items())
    return ", ".join(f"{number} {names[number != 1]}" for number, names in numbers if number)


def _note(state: SessionState, kind: str, details: Mapping[str, str], meta: Mapping[str, object]) -> NewItem:
    title = (details.get("request") or details.get("task") or state.label).partition("\n")[0]
    return NewItem(
        kind="summary" if kind == "summary" else "checkpoint",
        title=title,
        details={name: value for name, value in details.items() if value},
        meta=meta,
        project=state.project,
        session=state.key,
        created_ms=state.closes_ms,
    )


def _recent_first(files: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(reversed(list(files))))


def _latest(lines: Sequence[str]) -> list[str]:
    """The last few that differ, in their order."""
    return [shorten(line, _LONGEST) for line in reversed(_recent_first(lines)[:MOST_LINES])]


def _some(files: Sequence[str]) -> str:
    told = ", ".join(files[:MOST_SHOWN])
    return f"{told} and {len(files) - MOST_SHOWN} more" if files[MOST_SHOWN:] else told


def _texts(kept: object) -> list[str]:
    return [text for text in kept if isinstance(text, str)] if isinstance(kept, list) else []
