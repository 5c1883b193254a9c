"""What a tool was asked and what it answered, in the words of every host: commands, files, edits, queries, results."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from commonplace.capture.hooks.adapters.told import exit_code, opened
from commonplace.capture.hooks.event import Event
from commonplace.capture.hooks.verdicts import verdict
from commonplace.capture.transcripts.wording import command_of, complaint, cut, files_of, result, text_of
from commonplace.text.redact import redact

LONGEST_COMMAND = 4000
_LOOKED_AT = 200_000
_BEGIN_PATCH = "*** Begin Patch"
_COMMANDS = ("command_line", "commandLine", "script", "code", "input", "chars")
_OLD = ("old_string", "old_str", "oldStr", "oldText", "search", "old_source", "target_content", "TargetContent")
_NEW = (
    *("new_string", "new_str", "newStr", "newText", "replace", "content", "file_text", "contents", "text"),
    *("new_source", "code_edit", "replacement_content", "ReplacementContent", "insert_text", "fileText"),
)
_EDITS = ("edits", "replacements", "ReplacementChunks", "operations")
_QUERIES = ("query", "pattern", "regex", "search_term", "explanation", "q", "prompt", "url", "Query", "queries")
_TASKS = ("description", "task", "prompt", "message", "instructions", "objective", "query")
_AGENTS = ("subagent_type", "agent_type", "agent", "agent_name", "agentName", "name", "role")
_PATCHED = re.compile(
    r"^\*\*\* (?:(?P<kind>Update|Add|Delete) File: (?P<file>.+?)|Move to: (?P<moved>.+?))\s*$", re.MULTILINE
)
_VERBS = {"Update": "Modified", "Add": "Created", "Delete": "Deleted"}


@dataclass(frozen=True, slots=True)
class Edits:
    """What a tool wrote: whether the file was there before, the lines that went and came, and the new text.

    `verbs` says what was done to each file of a patch. Of a call that was told in part, the lines are not counted.
    """

    verb: str
    removed: int
    added: int
    text: str
    verbs: Mapping[str, str] = field(default_factory=dict)


def command(event: Event) -> str:
    """The command line; empty where there is none."""
    given = dict(event.input)
    return cut((command_of(given) or first_text(given, *_COMMANDS)).strip(), LONGEST_COMMAND)


def files(event: Event) -> tuple[str, ...]:
    """The files that a call names."""
    given = dict(event.input)
    within = (file for entry in _entries(given, *_EDITS) for file in files_of(entry))
    return tuple(dict.fromkeys((*files_of(given), *within, *texts(given, "TargetFile", "AbsolutePath", "uri"))))


def is_patch(event: Event) -> bool:
    """Whether a shell was used to apply a patch, as some agents do."""
    return _BEGIN_PATCH in command(event)[:LONGEST_COMMAND]


def edits(event: Event) -> Edits:
    """What was written, told from the arguments, or from the patch in them."""
    given = dict(event.input)
    patch = next((text for text in _patches(given) if _BEGIN_PATCH in text), "")
    made = _patched(patch) if patch else _edited(event, given)
    return replace(made, removed=0, added=0) if event.partial else made


def _edited(event: Event, given: Mapping[str, object]) -> Edits:
    parts = _entries(given, *_EDITS) or [dict(given)]
    removed = sum(_lines(first_text(part, *_OLD)) for part in parts)
    new = [first_text(part, *_NEW) for part in parts]
    verb = "Created" if _is_new(event, given, removed) else "Modified"
    return Edits(verb, removed, sum(map(_lines, new)), "\n".join(text[:_LOOKED_AT] for text in new if text))


def query(event: Event) -> str:
    """What was looked for."""
    return first_text(dict(event.input), *_QUERIES)


def task(event: Event) -> str:
    """What another agent was asked to do."""
    return first_text(dict(event.input), *_TASKS)


def agent(event: Event) -> str:
    """Who was asked."""
    return first_text(dict(event.input), *_AGENTS)


def answer(event: Event, *, shell: bool = False) -> tuple[str, str]:
    """What a tool answered, cut if it is long, and what went wrong if it failed. Of a shell, more tells how it went."""
    try:
        told = result(event.tool, "", _unwrapped(event.output), event.failed)
    except (TypeError, ValueError, RecursionError):
        # No host writes such a thing; what cannot be told is no answer.
        return "", "It failed." if event.failed else ""
    text = redact(told.text)
    failed = verdict(event, command(event), text) == "failed" if shell else event.failed
    return text, (complaint(text) or "It failed.") if failed else ""


def lines_of_answer(event: Event) -> int:
    """How many lines a tool answered with; 0 if that is not known."""
    try:
        return 0 if event.partial else _lines(text_of(_unwrapped(event.output)))
    except (TypeError, ValueError, RecursionError):
        return 0


def answered_nothing(event: Event) -> bool:
    """Whether a tool is known to have answered, and with nothing."""
    return event.output is not None and not answer(event)[0] and not event.failed


def first_text(given: Mapping[str, object], *names: str) -> str:
    """The first of the arguments that says something."""
    return next((text for text in texts(given, *names)), "")


def texts(given: Mapping[str, object], *names: str) -> Iterator[str]:
    for name in names:
        value = given.get(name)
        if isinstance(value, list) and all(isinstance(part, str) for part in value):
            value = ", ".join(value)
        if isinstance(value, str) and value.strip():
            yield value


def told(given: Mapping[str, object]) -> str:
    """All arguments, as one text."""
    try:
        return text_of(dict(given))
    except (TypeError, ValueError, RecursionError):
        return ""


def _entries(given: Mapping[str, object], *names: str) -> list[dict[str, object]]:
    for name in names:
        value = given.get(name)
        if isinstance(value, list):
            return [entry for entry in value if isinstance(entry, dict)]
    return []


def _patches(given: Mapping[str, object]) -> Iterator[str]:
    yield from texts(given, "patch", "input", "diff", "patch_text", "patchText")
    yield command_of(given)


def _patched(patch: str) -> Edits:
    lines = patch.splitlines()
    added = [line[1:] for line in lines if line.startswith("+") and not line.startswith("+++")]
    removed = sum(line.startswith("-") and not line.startswith("---") for line in lines)
    verbs: dict[str, str] = {}
    for match in _PATCHED.finditer(patch):
        if match["moved"] and verbs:
            # It was named before, by its old name.
            verbs[next(reversed(verbs))] = verbs[match["moved"]] = "Moved"
        elif match["file"]:
            verbs[match["file"]] = _VERBS[match["kind"]]
    done = set(verbs.values())
    verb = done.pop() if len(done) == 1 else "Modified"
    return Edits(verb, removed, len(added), "\n".join(added)[:_LOOKED_AT], verbs)


def _is_new(event: Event, given: Mapping[str, object], removed: int) -> bool:
    """Whether a file was made: an edit names what it replaces, and some hosts say whether there was one."""
    output = event.output if isinstance(event.output, dict) else {}
    if output.get("type") in ("create", "update"):
        return bool(output["type"] == "create")
    if given.get("command") in ("create", "append", "insert", "str_replace"):
        return given["command"] == "create"
    named = event.tool.lower()
    edits_it = any(word in named for word in ("edit", "replace", "append", "insert", "patch"))
    return not removed and not edits_it and not any(name in given for name in (*_OLD, *_EDITS))


def _unwrapped(output: object) -> object:
    """What a tool told the model, where a host tells that apart from what it showed, or from how it went."""
    told = opened(output) if exit_code(output) is not None else output
    return told.get("llmContent", told) if isinstance(told, dict) else told


def _lines(text: str) -> int:
    return len(text.splitlines())
