"""The summary and the checkpoint of a session when it stops, and the open steps that it closes, here and elsewhere.

Both are made of the session's actions and its last answers. Nothing is invented: what nobody did or said stays empty,
and a session in which nothing happened has neither.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Literal, TypeVar

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
from commonplace.model import Item
from commonplace.text.proposed_memories import only_states
from commonplace.text.quoted_text import shown_beside
from commonplace.text.sentences import shorten
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
            explains = bool(_WHY.search(one.text))
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


MAX_FILES, MAX_KNOWN_FILES, MAX_LINES, MAX_SHOWN = 20, 200, 5, 10
_LONGEST_LINE, _LONGEST_COMMAND, _MAX_FAILURES = 200, 120, 3
# Concepts of commands whose success or failure is worth a line.
_NOTABLE = frozenset(("testing", "build", "code-quality", "dependencies", "database", "devops"))
_GIT_CALL, _GIT_VERB = re.compile(r"\bgit "), re.compile(r" (?:commit|push|merge|rebase|tag|revert|cherry-pick)\b")
_GH_VERB = re.compile(r"\bgh (?:pr|release) create\b")
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
    """What was asked. A reply such as "no, keep it" is no request by itself, nor is a decision that is only stated."""
    prompts = (action for action in state.actions if action.type == PROMPT)
    return [one.title for one in prompts if not (is_reply(one.title) or only_states(one.text))]


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
    return _latest([_describe_success(action) for action in last.values() if action.succeeded])


def _describe_success(action: Action) -> str:
    """The command and what a test runner counted. Nothing else of what it printed: that is no result of ours."""
    return f"Ran {_quoted(action.facts)} — {test_counts(action.narrative) or 'success'}"


def _quoted(command: str) -> str:
    return f"`{shorten(command.partition(chr(10))[0], _LONGEST_COMMAND).replace('`', chr(39))}`"


def _is_notable(line: str) -> bool:
    git = _GIT_CALL.search(line)
    if (git and _GIT_VERB.search(line, git.end() - 1)) or _GH_VERB.search(line):
        return True
    return bool(_NOTABLE.intersection(find_concepts(command=line).split(", ")))


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
    command = action.facts.partition("\n")[0]
    return f"{shorten(command, _LONGEST_COMMAND)} — {test_counts(action.narrative) or 'failed'}"


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
