"""The noise filter: which events and observations are not worth storing, each with the reason it is counted under."""

from __future__ import annotations

import re

from commonplace.capture.hooks import tool_calls
from commonplace.capture.hooks.observations import COMPACTION, DELEGATION, PROMPT, Observation, SessionState
from commonplace.capture.hooks.tool_calls import OWN_MEMORY_TOOL, THINKING_TOOL, is_our_command, tool_type
from commonplace.hosts.hook_event import Event
from commonplace.hosts.tool_text import clean_text
from commonplace.text.dates import MINUTE_MS
from commonplace.text.quoted_text import without_markup
from commonplace.text.redact import only_private
from commonplace.text.sentences import is_filler, is_small_talk

OWN_MEMORY_USE, THOUGHTS, EMPTY, PRIVATE, JUST_SEEN = "own-memory", "thinking", "empty", "private", "just-seen"
LOOKING, REPEATED, SMALL_TALK, FORGOTTEN = "looking-around", "repeated", "small-talk", "forgotten-session"
BY_PROGRAM = "by-a-program"
INGESTED = "ingested"
REASONS = {
    OWN_MEMORY_USE: "a use of this memory, which would be stored again and again",
    THOUGHTS: "an agent's own lists and thoughts",
    EMPTY: "nothing was said, found or answered",
    PRIVATE: "a prompt or an answer that is marked as private as a whole",
    JUST_SEEN: "a read of a file that was read or written a moment ago",
    LOOKING: "a look around, such as pwd, or ls and git status when repeated",
    REPEATED: "the same event with the same result as last time",
    SMALL_TALK: "a prompt such as yes, continue or thanks, a command to the editor, or an answer that says as little",
    BY_PROGRAM: "a prompt that a program sent, such as the report of a background task",
    INGESTED: "an answer that was already ingested with its transcript",
    FORGOTTEN: "it belongs to a session that was forgotten",
}
JUST_SEEN_MS = 10 * MINUTE_MS
_TRIVIAL_COMMAND = re.compile(
    r"(?:pwd|cd(?:\s+\S+)?|clear|true|whoami|date|history|exit|echo(?:\s[^|>;&]*)?|sleep\s+\S+)"
)
_LOOK_COMMAND = re.compile(
    r"(?:ls|ll|dir|tree|git (?:status|branch|diff --stat|log -\d+)|which|type|env|ps|cat|head|tail|wc)\b"
)
_COMMAND_SEPARATOR = re.compile(r"&&|;|\n")
_EDITOR_COMMAND = re.compile(
    r"/(?:add-dir|agents|bug|clear|compact|config|context|cost|doctor|exit|export|help|hooks|ide|init|login|logout|mcp|memory"
    r"|model|permissions|plugin|quit|resume|rewind|status|theme|usage|vim)(?:\s.{0,80})?"
)
# What an agent is about to do: nothing has happened yet.
_ANNOUNCEMENT = re.compile(
    r"\W*(?:(?:ok(?:ay)?|sure|great|good|perfect|now|next|first|alright)\W+)*"
    r"(?:i['’]ll|i will|i['’]m going to|let me|let['’]s|now i|next,? i)\b",
    re.IGNORECASE,
)
_LONGEST_ANNOUNCEMENT = 200


def reason_to_skip(event: Event, state: SessionState) -> str | None:
    """Why an event is not worth observing; None if it may be."""
    if state.forgotten:
        return FORGOTTEN
    if event.kind == "stop":
        return _answer_reason(clean_text(event.text), state)
    if event.kind == "tool":
        return _tool_reason(event, state)
    return _text_reason(clean_text(event.text), by_person=event.kind == "prompt")


def _tool_reason(event: Event, state: SessionState) -> str | None:
    type_, line = tool_type(event.tool), tool_calls.command_line(event)
    if type_ == OWN_MEMORY_TOOL or (type_ == "command" and is_our_command(line)):
        return OWN_MEMORY_USE
    if type_ == THINKING_TOOL:
        return THOUGHTS
    if not event.tool.strip() and not event.input:
        return EMPTY
    if type_ == "command":
        reason = _command_reason(line, state)
        has_failed = reason and tool_calls.output_and_error(event, shell=True)[1]
        return None if has_failed else reason
    return EMPTY if type_ in ("file-read", "research") and tool_calls.has_empty_output(event) else None


def reason_to_drop(observation: Observation, state: SessionState, at_ms: int) -> str | None:
    """Why an observation adds nothing to its session; None if it does."""
    is_read = observation.type == "file-read" and observation.files_read and not observation.error
    if is_read and _just_seen(observation, state, at_ms):
        return JUST_SEEN
    return REPEATED if _is_repeated(observation, state) else None


def is_small_talk_prompt(text: str) -> bool:
    """Whether a prompt says nothing by itself."""
    return bool(_EDITOR_COMMAND.fullmatch(text)) or is_filler(text)


def _text_reason(text: str, *, by_person: bool) -> str | None:
    if not text:
        return EMPTY
    if only_private(text):
        return PRIVATE
    if by_person and not without_markup(text).strip():
        return BY_PROGRAM
    return SMALL_TALK if by_person and is_small_talk_prompt(text) else None


def _answer_reason(text: str, state: SessionState) -> str | None:
    """Why an answer says too little to be stored: it answers no prompt, only announces something, or only agrees."""
    if not text:
        return EMPTY
    if only_private(text):
        return PRIVATE
    announces = len(text) <= _LONGEST_ANNOUNCEMENT and _ANNOUNCEMENT.match(text)
    return SMALL_TALK if not state.counts or announces or is_small_talk(text) or is_filler(text) else None


def _command_reason(line: str, state: SessionState) -> str | None:
    if not line:
        return EMPTY
    parts = [part.strip() for part in _COMMAND_SEPARATOR.split(line) if part.strip()]
    telling = [part for part in parts if not _TRIVIAL_COMMAND.fullmatch(part)]
    if parts and not telling:
        return LOOKING
    if telling and all(_only_looks(part) for part in telling) and _was_run(line, state):
        return LOOKING
    return None


def _was_run(line: str, state: SessionState) -> bool:
    return any(action.type == "command" and action.facts == line for action in state.actions)


def _only_looks(command: str) -> bool:
    return bool(_LOOK_COMMAND.match(command)) and "|" not in command and ">" not in command


def _is_repeated(observation: Observation, state: SessionState) -> bool:
    """Whether it is the same as last time. A success between two failures makes the second one new."""
    similar = (action for action in reversed(state.actions) if action.type == observation.type)
    # A sub-agent's answer arrives twice: with its own end, and as the output of the tool that started it.
    if (observation.facts and observation.type != DELEGATION) or observation.type in (PROMPT, COMPACTION):
        last = next((action for action in similar if action.facts == observation.facts), None)
        return last is not None and last.digest == observation.digest
    return any(action.digest == observation.digest for action in similar)


def _just_seen(observation: Observation, state: SessionState, at_ms: int) -> bool:
    left = set(observation.files_read)
    for action in state.actions_since(at_ms - JUST_SEEN_MS):
        left -= {*action.read, *action.modified}
    return not left
