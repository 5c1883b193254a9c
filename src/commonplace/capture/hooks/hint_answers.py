"""Answers to hooks that ask for hints, in the resident process or, by words alone, in the hook's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any

from commonplace.capture.hooks.redact_event import redact_event
from commonplace.capture.hooks.tool_calls import (
    command_line,
    edits_of,
    is_our_command,
    is_patch,
    named_files,
    output_and_error,
    tool_type,
)
from commonplace.capture.hooks.working_folder import (
    WorkingFolder,
    WorkingFolders,
    checked_out_branch,
    is_known_repository,
)
from commonplace.config import load
from commonplace.hosts.hook_event import Event, HookRecord
from commonplace.hosts.host import hooks_of
from commonplace.memory.hints import Hint, Seen, hint_text, is_warm, prompt_hints, warm_up
from commonplace.memory.local_memory import LocalMemory, open_memory
from commonplace.memory.tool_hints import failure_hints, tool_hints
from commonplace.text.command_actions import Action, command_action, edit_action

# A hook does not wait for other writers.
_BUSY_TIMEOUT = 0.05
NO_HINTS: dict[str, Any] = {"text": "", "hints": [], "breaches": []}


def read_hints(data: str, env: Mapping[str, str], request: Mapping[str, Any]) -> dict[str, Any]:
    """Answer from the store as it is: nothing is migrated, written or waited for, and no model is loaded."""
    settings = load({"data_dir": data}, env)
    if settings.hooks_recall == "off":
        return NO_HINTS
    quick = replace(settings, busy_timeout=_BUSY_TIMEOUT, embedder="off", reranker="off")
    memory = open_memory(quick, migrate=False)
    try:
        return answer_hints(memory, request)
    finally:
        memory.close()


def answer_hints(memory: LocalMemory, request: Mapping[str, Any]) -> dict[str, Any]:
    """The text to show at a moment, and the ids and telling words of each hint in it."""
    moment, mode = str(request["moment"]), memory.settings.hooks_recall
    event = read_request(request) if is_wanted(mode, moment) else None
    if event is None:
        return NO_HINTS
    folder = WorkingFolders().of(event.cwd)
    if folder.project and not is_known_repository(memory.settings.data_dir, folder.project, Path(event.cwd)):
        return NO_HINTS
    session, branch = str(request["session"]), checked_out_branch(folder.root)
    return event_hints(memory, event, folder, moment, seen_of(request), session, mode, branch)


def seen_of(request: Mapping[str, Any]) -> Seen:
    """What the session of a request has seen."""
    return Seen(*(frozenset(map(str, request.get(name, ()))) for name in ("shown", "at_start", "breaches")))


def is_wanted(mode: str, moment: str) -> bool:
    """Whether the setting `hooks_recall` lets anything be shown at a moment."""
    return mode == "full" or (mode == "rules" and moment != "prompt")


def event_hints(
    memory: LocalMemory,
    event: Event,
    folder: WorkingFolder,
    moment: str,
    seen: Seen,
    session: str,
    mode: str,
    branch: str = "",
) -> dict[str, Any]:
    """The same for an event of a session in a folder with a branch, which may be on another machine."""
    if event.kind == "prompt":
        if not is_warm(memory) and memory.settings.embedder == "builtin":
            # This prompt is answered by its words, the next ones by their meaning too.
            Thread(target=warm_up, args=(memory,), name="commonplace-warm-up", daemon=True).start()
        hints = prompt_hints(memory, folder.project, event.text, seen, session)
    else:
        hints = _of_tool(memory, folder, event, seen, session, mode, branch)
    text, chosen = hint_text(moment, hints)
    return {
        "text": text,
        "hints": [[list(hint.shown), list(hint.words)] for hint in chosen],
        "breaches": [hint.breach for hint in chosen if hint.breach],
    }


def _of_tool(
    memory: LocalMemory, folder: WorkingFolder, event: Event, seen: Seen, session: str, mode: str, branch: str
) -> list[Hint]:
    """What concerns the files or the command of a tool; after a failed command, what helped the last time."""
    type_ = tool_type(event.tool)
    command = command_line(event) if type_ == "command" else ""
    if type_ not in ("command", "file-write") or is_our_command(command):
        return []
    hints: list[Hint] = []
    if mode == "full" and type_ == "command" and event.output is not None:
        text, error = output_and_error(event, shell=True)
        hints = failure_hints(memory, folder.project, f"{text}\n{error}", seen.shown, session) if error else []
    return [*hints, *tool_hints(memory, folder.project, _action(event, folder, command, branch), seen)]


def _action(event: Event, folder: WorkingFolder, command: str, branch: str) -> Action:
    """What a tool does, for the rules that it may break."""
    if command and not is_patch(event):
        return command_action(command, branch)
    edits = edits_of(event)
    files = tuple(dict.fromkeys((*folder.relative(named_files(event)), *folder.relative(edits.verbs))))
    # Some tools write a file without telling whether it is there already.
    creates = None if edits.verb == "Created" else False
    return edit_action(files, edits.text, creates)


def read_request(request: Mapping[str, Any]) -> Event | None:
    """The event that a hook tells of, without secrets."""
    host, payload = str(request["host"]), request["payload"]
    hooks = hooks_of(host)
    if hooks is None or not isinstance(payload, dict):
        return None
    before = request["moment"] == "before-tool"
    # What a tool is used on is told in the same way before and after.
    after = (event for event, moment in hooks.hints.items() if moment == "after-tool")
    name = next(after, "") if before else str(request["event"])
    record = HookRecord("", host, name, 0, str(request["cwd"]), str(request["prompt"]), 0, "whole", b"")
    event = hooks.read(name, payload, record)
    return redact_event(replace(event, output=None) if before else event) if event else None
