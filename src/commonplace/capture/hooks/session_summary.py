"""The summary and the checkpoint of a session when it stops, and the open steps that it closes, here and elsewhere.

Both are made of the session's actions and its last answers. Nothing is invented: what nobody did or said stays empty,
and a session in which nothing happened has neither.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import TypeVar

from commonplace.capture.hooks.observations import ANSWER, COMPACTION, DELEGATION, PROMPT, Action, SessionState
from commonplace.capture.hooks.prompts_and_answers import AnswerNotes, is_reply, printed_steps
from commonplace.capture.hooks.tool_calls import OTHER_TOOL, find_concepts, test_counts
from commonplace.errors import Conflict, InvalidInput, NotFound, TooLarge
from commonplace.memory.captured_events import HOOK_DIGEST, StartedSession, is_edited_by_person
from commonplace.memory.draft import as_new_item
from commonplace.memory.edit_and_forget import Changes, edit_item
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.open_steps import (
    HOOK_NOTES,
    STILL_FAILING,
    completed_steps,
    dismissed_steps,
    failing_command,
    is_same_step,
    steps_in,
    summaries_and_checkpoints,
)
from commonplace.memory.remember import NewItem
from commonplace.model import Item, Kind
from commonplace.text.proposed_memories import only_states
from commonplace.text.quoted_text import shown_beside
from commonplace.text.sentences import shorten
from commonplace.text.shell_commands import command_covers, is_full_test_run, normalise_command

# What a single action does: it runs a command or the tests, commits or pushes, or writes a file.
_ASKS = re.compile(
    r"(?i)(?:please )?(?:(?:re-?)?run (?:the )?(?:`(?P<command>[^`]+)`|(?P<tests>(?:\w+ ){0,2}(?:tests|suite)))"
    r"(?: again| once more)?|(?P<git>commit|push)(?: \S+){0,4}"
    r"|(?P<verb>create|add|write|update|edit|delete|remove) (?:the )?(?:file )?`?(?P<path>[\w./\\-]+\.\w{1,8})`?)\.?"
)

# Types of actions that change something or run something, and that bring in what others say.
_WORKING, _ELSEWHERE = ("file-write", "command"), ("research", OTHER_TOOL, DELEGATION)
# Files that are written for readers: `README` has no ending.
_PROSE = ("", ".md", ".mdx", ".rst", ".txt", ".adoc", ".org", ".html", ".htm", ".pdf", ".eml", ".docx", ".ipynb")

Note = TypeVar("Note", Item, NewItem)


def update_answer_notes(state: SessionState, before: AnswerNotes) -> AnswerNotes:
    """The notes of a session's answers by now, given those of its last summary."""
    notes, request, explains = before, "", False
    turn: list[Action] = []
    printed = _printed(state.actions)
    # A compaction tells again what was read and said, whoever said it.
    retold = {action.at_ms for action in state.actions if action.type == COMPACTION}
    for at_ms, one in _since_summary(state):
        if not isinstance(one, Action):
            reports = at_ms in retold or _only_reports(turn, request, one)
            notes = notes.after(one, request, explains=explains, reports=reports, printed=printed)
        elif one.type == PROMPT:
            notes, request, turn = notes.without(completed_steps(notes.left, one.text)), one.text, []
            explains = request.rstrip().endswith(("?", "？"))
        else:
            turn.append(one)
            notes = notes.without({step for step in notes.left if is_done_by(one, step)})
            explains = explains or bool(one.error)
    return notes


def _printed(actions: Iterable[Action]) -> set[str]:
    """The keys of steps that tools printed, and that stand in what was pasted into a prompt.

    A file that the session wrote says what its agent says.
    """
    found: set[str] = set()
    written: set[str] = set()
    for action in actions:
        if action.type == PROMPT:
            found.update(printed_steps(shown_beside(action.text)))
        elif not (action.read and written.issuperset(action.read)):
            found.update(action.printed)
        written.update(action.modified)
    return found


def _only_reports(turn: Sequence[Action], request: str, answer: str) -> bool:
    """Whether an answer only tells what was read: nothing was changed or run, and the talk is of what was read.

    A page, another program's tool and a sub-agent speak for somebody else whatever is said of them; of documents, those
    that the request or the answer names.
    """
    if any(action.type in _WORKING for action in turn):
        return False
    if any(action.type in _ELSEWHERE for action in turn):
        return True
    said = f"{request}\n{answer}".casefold()
    files = (PurePosixPath(file.replace("\\", "/")) for action in turn for file in action.read)
    names = {file.stem.casefold() for file in files if file.suffix.lower() in _PROSE}
    return any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", said) for name in names if len(name) > 1)


def steps_closed_by(state: SessionState, steps: Mapping[str, int], named: Collection[str]) -> set[str]:
    """The steps of other sessions, each with the time it was named, that this session closed since.

    A step that this session names as its own is closed in the others.
    """
    since = _since_summary(state) if steps else []
    closed = _taken_over(steps, named, since[-1][0]) if since else set[str]()
    doable = [step for step in steps if step.startswith(STILL_FAILING) or _ASKS.fullmatch(step)]
    request = ""
    for at_ms, one in since:
        if isinstance(one, Action) and one.type != PROMPT:
            closed.update(step for step in doable if steps[step] < at_ms and is_done_by(one, step))
            continue
        open_ = [step for step, named_ms in steps.items() if named_ms < at_ms and step not in closed]
        text, asked = (one.text, "") if isinstance(one, Action) else (one, request)
        closed |= completed_steps(open_, text, asked)
        request = text if isinstance(one, Action) else request
    return closed


def _taken_over(steps: Mapping[str, int], named: Collection[str], last_ms: int) -> set[str]:
    """The steps that a session names as its own after they were named elsewhere."""
    return {step for step, at_ms in steps.items() if at_ms < last_ms and any(is_same_step(step, own) for own in named)}


def is_done_by(action: Action, step: str) -> bool:
    """Whether an action is exactly what a step asks for: its command succeeded, its file was written."""
    if action.error or action.agent:
        return False
    asks = _ASKS.fullmatch(step)
    if action.type == "file-write":
        return asks is not None and asks["path"] is not None and _wrote(action, asks["verb"].lower(), asks["path"])
    if not action.succeeded:
        return False
    if step.startswith(STILL_FAILING):
        return command_covers(action.facts, failing_command(step))
    if asks is None or asks["path"]:
        return False
    if asks["tests"]:
        return is_full_test_run(action.facts)
    return command_covers(action.facts, asks["command"] or f"git {asks['git'].lower()}")


def _wrote(action: Action, verb: str, path: str) -> bool:
    path = path.replace("\\", "/")
    file = next((file for file in action.modified if file == path or file.endswith(f"/{path}")), "")
    return bool(file) and (_verb_of(action, file) == "Deleted") == (verb in ("delete", "remove"))


def _verb_of(action: Action, file: str) -> str:
    """What was done to a file: Created, Modified, Deleted."""
    return str(action.verbs.get(file) or action.title.partition(" ")[0])


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
    stopped = sorted((state for state in states if state.closes_ms is not None), key=lambda one: one.closes_ms or 0)
    keys = {state.key for state in stopped}
    stored: dict[int, Item] = {}
    known: dict[int, Item] = {}
    new = list(notes)
    for state in stopped:
        for item in summaries_and_checkpoints(memory, state.project):
            if item.session not in keys:
                stored.setdefault(item.id, item)
                known.setdefault(item.id, item)
        named = {step for note in notes if note.session == state.key for step in steps_in(note)}
        closed = steps_closed_by(state, _when_named(state, [*known.values(), *new]), named)
        known = {id_: _without(item, closed, state) for id_, item in known.items()}
        new = [_without(note, closed, state) for note in new]
    sessions: list[StartedSession] = []
    for id_, item in known.items():
        if item is stored[id_]:
            continue
        if item.session and HOOK_DIGEST in item.meta and not is_edited_by_person(stored[id_]):
            meta = {name: value for name, value in item.meta.items() if name != HOOK_DIGEST}
            new.append(replace(as_new_item(item), uid=None, meta=meta))
            sessions.append(StartedSession(item.session, "", "", item.created_ms, item.project))
        else:
            _edit(memory, item)
    return sessions, new


def _is_of_another(note: Item | NewItem, state: SessionState) -> bool:
    """Whether a note is of another session of the same project."""
    return note.session != state.key and note.project == state.project


def _when_named(state: SessionState, notes: Iterable[Item | NewItem]) -> dict[str, int]:
    """The steps of other sessions of the project, each with when it was last named: then it was still open."""
    steps: dict[str, int] = {}
    for note in notes:
        if _is_of_another(note, state):
            for step in steps_in(note):
                steps[step] = max(note.created_ms or 0, steps.get(step, 0))
    return steps


def _without(note: Note, closed: set[str], state: SessionState) -> Note:
    """A note without the steps that another session closed."""
    steps = steps_in(note)
    if not closed.intersection(steps) or not _is_of_another(note, state):
        return note
    details = {name: text for name, text in note.details.items() if name != "next_steps"}
    left = "\n".join(step for step in steps if step not in closed)
    if left:
        details["next_steps"] = left
    answers = AnswerNotes.from_json(note.meta.get(HOOK_NOTES)).without(closed)
    meta = {**note.meta, HOOK_NOTES: answers.as_json()} if HOOK_NOTES in note.meta else note.meta
    return replace(note, details=details, meta=meta)


def _edit(memory: LocalMemory, item: Item) -> None:
    try:
        edit_item(memory, item.id, Changes(details={"next_steps": item.details.get("next_steps", "")}, meta=item.meta))
    except (Conflict, InvalidInput, NotFound, TooLarge):
        # It changed meanwhile, or would duplicate another: the step stays open.
        return


MAX_FILES, MAX_KNOWN_FILES, MAX_LINES, MAX_SHOWN = 20, 200, 5, 10
_LONGEST_LINE, _LONGEST_COMMAND, _MAX_FAILURES = 200, 120, 3
# Concepts of commands whose success or failure is worth a line.
_NOTABLE = frozenset(("testing", "build", "code-quality", "dependencies", "database", "devops"))
_NOTABLE_GIT = re.compile(r"git (?:commit|push|merge|rebase|tag|revert|cherry-pick)\b|gh (?:pr|release) create\b")
_COUNTED: Mapping[str, tuple[str, str]] = {
    PROMPT: ("prompt", "prompts"),
    "file-write": ("edit", "edits"),
    "command": ("command", "commands"),
    "file-read": ("read", "reads"),
    "research": ("look-up", "look-ups"),
    DELEGATION: ("delegation", "delegations"),
    "tool-use": ("tool use", "tool uses"),
}


def session_notes(state: SessionState) -> list[NewItem]:
    """The current summary and checkpoint of a session that stopped; none if nothing happened.

    One that a person edited is left alone.
    """
    if state.closes_ms is None:
        return []
    stored = [item for item in (state.summary, state.checkpoint) if item]
    edited = [item for item in stored if is_edited_by_person(item)]
    # An edited one is not updated any more, so the other one says how far the hooks were.
    current = [item for item in stored if item not in edited] or stored
    heard = current[0].meta.get(HOOK_NOTES) if current else None
    notes = update_answer_notes(state, AnswerNotes.from_json(heard).without(dismissed_steps(stored)))
    actions = [action for action in state.actions if action.type not in (PROMPT, ANSWER, COMPACTION)]
    if not (actions or (state.first_prompts and notes != AnswerNotes())):
        return []
    written = _written(state, actions)
    meta: dict[str, object] = {HOOK_NOTES: notes.as_json()} if notes != AnswerNotes() else {}
    with_files = {**meta, "written": list(reversed(written[:MAX_KNOWN_FILES]))} if written else meta
    summary = _summary(state, actions, notes, written)
    made: list[NewItem] = []
    if state.summary not in edited:
        made.append(_new_item(state, "summary", summary, with_files))
    if state.checkpoint not in edited:
        made.append(_new_item(state, "checkpoint", _checkpoint(state, actions, notes, summary, written), meta))
    return made


def _written(state: SessionState, actions: Sequence[Action]) -> list[str]:
    """The files that the session wrote by now, the latest first."""
    known = state.summary.meta.get("written") if state.summary else None
    before = [file for file in known if isinstance(file, str)] if isinstance(known, list) else []
    return _recent_first([*before, *(file for action in actions for file in action.modified)])


def _summary(
    state: SessionState, actions: Sequence[Action], notes: AnswerNotes, written: Sequence[str]
) -> dict[str, str]:
    counts = ((state.counts[type_], names) for type_, names in _COUNTED.items())
    return {
        "request": "\n".join(dict.fromkeys([*state.first_prompts[:1], *_requests(state)[-2:]])),
        "investigated": "\n".join(_investigated(actions)),
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
    """What was asked. A reply such as "no, keep it" is no request by itself, nor is a decision that is only stated."""
    prompts = (action for action in state.actions if action.type == PROMPT)
    return [one.title for one in prompts if not (is_reply(one.title) or only_states(one.text))]


def _investigated(actions: Sequence[Action]) -> Iterator[str]:
    """The files that were read, the latest first, and searches, look-ups and delegated tasks."""
    read = _recent_first(file for action in actions for file in action.read)
    if read:
        yield f"Read {_listed(read, MAX_SHOWN)}"
    for type_, said in (("file-read", ""), ("research", "Looked up: "), (DELEGATION, "Delegated: ")):
        found = [action for action in actions if action.type == type_ and not action.read]
        titles = [action.title for action in found if type_ == DELEGATION or not action.error]
        yield from (f"{said}{title}" for title in _latest(titles))


def _changes(actions: Sequence[Action], written: Sequence[str]) -> Iterator[str]:
    """The files that were written, the latest first."""
    verbs: dict[str, str] = {}
    for action in actions:
        for file in action.modified:
            verb = _verb_of(action, file)
            verbs[file] = verb if verb in ("Deleted", "Moved") else verbs.get(file, verb)
    if written:
        yield _listed([f"{verbs.get(file, 'Modified')} {file}" for file in written], MAX_FILES)


def _listed(names: Sequence[str], most: int) -> str:
    more = f" and {len(names) - most} more" if names[most:] else ""
    return f"{', '.join(names[:most])}{more}"


def _successes(actions: Sequence[Action]) -> list[str]:
    """Tests, builds, commits and the like that are known to have succeeded."""
    commands = [action for action in actions if action.type == "command" and _is_notable(action.facts)]
    last = {normalise_command(action.facts): action for action in commands}
    return _latest([_describe_success(action) for action in last.values() if action.succeeded])


def _describe_success(action: Action) -> str:
    """The command and what a test runner counted. Nothing else of what it printed: that is no result of ours."""
    command = _first_line(action.facts).replace("`", "'")
    return f"Ran `{command}` — {test_counts(action.narrative) or 'success'}"


def _first_line(command: str) -> str:
    return shorten(command.partition("\n")[0], _LONGEST_COMMAND)


def _is_notable(line: str) -> bool:
    if any(map(_NOTABLE_GIT.match, normalise_command(line).split(" && "))):
        return True
    return not _NOTABLE.isdisjoint(find_concepts(command=line).split(", "))


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
    """The command, and how many tests failed. Nothing else of what it printed: that is no step of ours."""
    return f"{_first_line(action.facts)} — {test_counts(action.narrative) or 'failed'}"


def _new_item(state: SessionState, kind: Kind, details: Mapping[str, str], meta: Mapping[str, object]) -> NewItem:
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
