"""What stands in a user message of Claude Code: words of a person, or one of the wrappers its product puts there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from commonplace.hosts.tool_text import call_block, clean_text, result_block, text_of
from commonplace.hosts.transcript import COMMAND, Block

_CONTINUED = "This session is being continued from a previous conversation"
_BEFORE = re.compile(r"[/\\]([0-9a-f]{8}-[0-9a-f-]{27})\.jsonl")
_INTERRUPTED = "[Request interrupted by user"
_COMMAND = re.compile(r"<command-name>\s*/?(.*?)\s*</command-name>", re.DOTALL)
_ARGUMENTS = re.compile(r"<command-args>\s*(.*?)\s*</command-args>", re.DOTALL)
_SHELL = re.compile(r"<bash-input>(.*?)</bash-input>", re.DOTALL)
_SHELL_ANSWER = re.compile(r"<bash-(?:stdout|stderr)>(.*?)</bash-(?:stdout|stderr)>", re.DOTALL)
_ECHOES = ("<local-command-stdout>", "<local-command-stderr>", "<local-command-caveat>")
_NOTICES = ("<task-notification>", "<teammate-message", "<agent-notification>")


def user_blocks(content: Any, is_meta: bool, is_summary: bool) -> Iterator[Block]:
    """The blocks of a user message, but for tool results."""
    for part in content if isinstance(content, list) else [content]:
        if isinstance(part, dict) and part.get("type") == "tool_result":
            continue
        text = clean_text(text_of(part))
        if not text or is_meta or text.startswith((_INTERRUPTED, *_ECHOES)):
            continue
        if is_summary or text.startswith(_CONTINUED):
            yield Block("summary", text, "system")
        elif text.startswith(_NOTICES):
            yield result_block("", "", text)
        else:
            yield from _typed(text)


def session_before(blocks: list[Block]) -> str:
    """The session that a summary says it continues, where it names its file."""
    for block in blocks:
        if block.kind == "summary" and (found := _BEFORE.search(block.text)):
            return found[1]
    return ""


def _typed(text: str) -> Iterator[Block]:
    if command := _COMMAND.search(text):
        arguments = _ARGUMENTS.search(text)
        yield Block("text", f"/{command[1]} {arguments[1] if arguments else ''}".rstrip(), "user", COMMAND)
    elif shell := _SHELL.search(text):
        yield call_block("Bash", "", {"command": shell[1]}, "user")
    elif answers := _SHELL_ANSWER.findall(text):
        yield result_block("Bash", "", answers)
    else:
        yield Block("text", text, "user")
