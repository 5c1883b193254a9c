"""A month of two developers with Claude Code and Cursor, to look at pages with and to ask questions of.

Three projects, about 25 sessions as the hooks of the two agents tell them, what was decided and why, rules,
constraints, ideas that were given up, conversations, what replaced what, what contradicts, what says the same, and
proposals that wait for somebody. All of it is relative to now. By hand:

    python -m tests.web.month FOLDER && commonplace --data-dir FOLDER serve
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

from tests.web.month_sessions import PROJECTS, SESSIONS, Act, Work
from tests.web.month_statements import SAID, TALKS, Statement

from commonplace import config
from commonplace.capture.hooks.drain import read_event
from commonplace.capture.hooks.remember_events import remember_events
from commonplace.capture.hooks.working_folder import WorkingFolder, WorkingFolders
from commonplace.hosts.hook_event import Event, HookRecord
from commonplace.library.memory import Memory
from commonplace.memory.authors import with_writer
from commonplace.memory.background_tasks import BackgroundWorker
from commonplace.memory.callers import agent_writer
from commonplace.memory.conversations import NewConversation, NewMessage, store_conversation
from commonplace.memory.local_memory import LocalMemory, open_memory
from commonplace.model import Author
from commonplace.store.protocol import Store

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
FOLDERS = {project: f"/home/dev/{project.rsplit('/', 1)[1]}" for project in PROJECTS}
"""Where the projects are on the developers' machines."""


def fill(memory: LocalMemory) -> None:
    """Put the month into a memory, in the order of time, each thing at the time at which it happened."""
    now = memory.clock()
    store = cast("Store", memory.store)
    usual, moment = store.clock, _Moment(now)
    store.clock = moment
    try:
        for at_ms, happen in sorted(_everything(replace(memory, clock=moment), now), key=lambda one: one[0]):
            moment.now_ms = at_ms
            happen()
    finally:
        store.clock = usual
    memory.embeddings.catch_up()
    worker = BackgroundWorker(memory)
    while worker.step():
        pass


class _Moment:
    """A clock that stands still until it is set."""

    def __init__(self, now_ms: int) -> None:
        self.now_ms = now_ms

    def __call__(self) -> int:
        return self.now_ms


def _everything(memory: LocalMemory, now: int) -> Iterator[tuple[int, Callable[[], object]]]:
    """What happened and when, in no order."""
    folders = WorkingFolders({path: WorkingFolder(path, name, path) for name, path in FOLDERS.items()})
    for number, work in enumerate(SESSIONS):
        events = list(_events(work, number, _start(work, now)))
        yield events[-1].at_ms, partial(remember_events, _by(memory, work.who), events, folders)
    for message in SAID:
        stated = Memory.over(_by(memory, message.who, message.via))
        yield now - int(message.days * DAY), partial(_state, stated, message, now)
        for days, who, text in message.becomes:
            yield now - int(days * DAY), partial(_edit, Memory.over(_by(memory, who)), message.text, text)
    for label, project, who, days, messages in TALKS:
        at_ms = now - int(days * DAY)
        turns = [NewMessage(role, text, at_ms + place * MINUTE) for place, (role, text) in enumerate(messages)]
        talk = NewConversation(label, turns, project=project, source="claude", folder="/talks", started_ms=at_ms)
        yield at_ms, partial(store_conversation, _by(memory, who), talk)
    yield now - int(2.5 * DAY), partial(_review, Memory.over(_by(memory, "anna")))
    yield now - int(2.4 * DAY), partial(_forget, Memory.over(_by(memory, "anna")), "Look at WebAuthn")


def _by(memory: LocalMemory, who: str, agent: str = "") -> LocalMemory:
    person = Author(who, "person")
    return with_writer(memory, agent_writer(person, agent) if agent else person)


def _start(work: Work, now: int) -> int:
    if work.days == 0:
        return now - int(work.hour * HOUR)
    return (now // DAY - work.days) * DAY + int(work.hour * HOUR)


def _state(memory: Memory, statement: Statement, now: int) -> None:
    starts, ends = statement.valid_for or (None, None)
    item = memory.remember(
        statement.text,
        type=statement.type,
        project=statement.project,
        tags=statement.tags,
        importance=statement.importance,
        expires=None if statement.expires_in is None else now + int(statement.expires_in * DAY),
        valid_from=None if starts is None else now + int(starts * DAY),
        valid_until=None if ends is None else now + int(ends * DAY),
        paths=statement.paths,
    )
    if statement.replaces:
        memory.supersede(_find(memory, statement.replaces), by=item.id)


def _edit(memory: Memory, text: str, becomes: str) -> None:
    memory.edit(_find(memory, text[:30]), content=becomes)


def _review(memory: Memory) -> None:
    """Half of what the prompts stated by then is accepted, one is dismissed, the rest waits."""
    for place, proposal in enumerate(memory.proposals().items[::-1]):
        if place % 3 == 0:
            memory.accept(proposal.id)
        elif place == 4:
            memory.dismiss(proposal.id)


def _forget(memory: Memory, beginning: str) -> None:
    memory.forget(_find(memory, beginning))


def _find(memory: Memory, beginning: str) -> int:
    return next(item.id for item in memory.list(limit=100, kind="memory").items if item.body.startswith(beginning))


def _events(work: Work, number: int, start: int) -> Iterator[Event]:
    """The session as the hooks of its agent tell it, about three minutes for each act."""
    session = f"{number:08x}-6d6f-4e74-a000-{number:012x}"
    tell = _claude_code if work.host == "claude-code" else _cursor
    at_ms = start
    for place, (name, payload) in enumerate(tell(work, session)):
        at_ms = start + place * 3 * MINUTE
        content = json.dumps(payload).encode()
        id_ = f"month-{number}-{place}"
        record = HookRecord(id_, work.host, name, at_ms, FOLDERS[work.project], "", len(content), "whole", content)
        if event := read_event(record):
            yield event


Payloads = Iterator[tuple[str, dict[str, Any]]]


def _claude_code(work: Work, session: str) -> Payloads:
    common = {"session_id": session, "cwd": FOLDERS[work.project]}
    yield "SessionStart", {**common, "source": "startup"}
    for act in work.acts:
        if act.kind == "prompt":
            yield "UserPromptSubmit", {**common, "prompt": act.text}
        elif act.kind == "answer":
            yield "Stop", {**common, "last_assistant_message": act.text}
        else:
            tool, given, response = _tool(act, FOLDERS[work.project])
            used = {**common, "tool_name": tool, "tool_input": given}
            if act.passed:
                yield "PostToolUse", {**used, "tool_response": response}
            else:
                yield "PostToolUseFailure", {**used, "error": act.output}
    yield "SessionEnd", {**common, "reason": "prompt_input_exit"}


def _tool(act: Act, folder: str) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """The name, the input and the response of the tool that Claude Code used."""
    path = f"{folder}/{act.text}"
    if act.kind == "read":
        return "Read", {"file_path": path}, {"file": {"filePath": path, "content": "...", "numLines": 80}}
    if act.kind == "run":
        return "Bash", {"command": act.text}, {"stdout": act.output, "stderr": "", "interrupted": False}
    if not act.before:
        return "Write", {"file_path": path, "content": act.after}, {"type": "create", "filePath": path}
    given = {"file_path": path, "old_string": act.before, "new_string": act.after}
    return "Edit", given, {"filePath": path, "structuredPatch": []}


def _cursor(work: Work, session: str) -> Payloads:
    folder = FOLDERS[work.project]
    common = {"conversation_id": session, "workspace_roots": [folder]}
    yield "sessionStart", common
    for act in work.acts:
        path = f"{folder}/{act.text}"
        if act.kind == "prompt":
            yield "beforeSubmitPrompt", {**common, "prompt": act.text}
        elif act.kind == "answer":
            yield "afterAgentResponse", {**common, "text": act.text}
            yield "stop", {**common, "status": "completed"}
        elif act.kind == "read":
            yield "postToolUse", {**common, "tool_name": "read_file", "tool_input": {"file_path": path}}
        elif act.kind == "run":
            ran = {"command": act.text, "cwd": folder, "output": act.output, "exit_code": 0 if act.passed else 1}
            yield "afterShellExecution", {**common, **ran}
        else:
            edit = {"old_string": act.before, "new_string": act.after}
            yield "afterFileEdit", {**common, "file_path": path, "edits": [edit]}
    yield "sessionEnd", {**common, "reason": "user_close"}


def main(folder: str) -> None:
    """Fill a folder with the month and say how to look at it."""
    memory = open_memory(config.load({"data_dir": str(Path(folder).absolute())}))
    try:
        fill(memory)
    finally:
        memory.close()
    print(f"Filled {folder}. Look at it: commonplace --data-dir {folder} serve")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m tests.web.month FOLDER")
    main(sys.argv[1])
