"""What stands in the messages of Codex: words of a person, or context that the product put in a person's mouth."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from commonplace.hosts.tool_text import call_block, clean_text, result_block, text_of
from commonplace.hosts.transcript import Block
from commonplace.text.json_fields import text_in

_INJECTED = (
    *("<environment_context>", "<user_instructions>", "<INSTRUCTIONS>", "# AGENTS.md instructions", "<skill>"),
    *("<permissions instructions>", "<turn_aborted>", "<collaboration_mode>", "<apps_instructions>", "<skills_"),
    *("<model_switch>", "<personality_spec>", "<plugins_instructions>", "<user_action>", "<memory_"),
)
_NOTICES = ("<subagent_notification>", "<inter_agent")
_SHELL = re.compile(r"<user_shell_command>.*?<command>(.*?)</command>(?:.*?<result>(.*?)</result>)?", re.DOTALL)
_PICTURE = re.compile(r"</?image[^>]*>")
# The editor puts what is open there before what was asked.
_EDITOR = re.compile(r"\A# Context from my IDE setup:.*?^## My request for Codex:\s*", re.DOTALL | re.MULTILINE)


def user_blocks(content: Any) -> Iterator[Block]:
    """What a person said or ran; nothing of what was injected. A picture counts where nothing was said."""
    words, pictures = "", ""
    for part in content if isinstance(content, list) else [content]:
        text = text_of(part)
        bare = text.strip()
        if isinstance(part, dict) and text_in(part, "type") == "input_image":
            pictures = text
        elif shell := _SHELL.match(bare):
            yield call_block("shell", "", {"command": shell[1].strip()}, "user")
            yield result_block("shell", "", shell[2])
        elif bare.startswith(_NOTICES):
            yield result_block("", "", bare)
        elif not bare.startswith(_INJECTED) and not _PICTURE.fullmatch(bare):
            words += text
    if spoken := clean_text(_EDITOR.sub("", words)) or pictures:
        yield Block("text", spoken, "user")


def tool_call(kind: str, item: dict[str, Any], call_id: str) -> Block:
    """A call, whichever way its tool takes its arguments."""
    name = item.get("name")
    tool = name if isinstance(name, str) and name else kind.removesuffix("_call")
    if kind in ("local_shell_call", "web_search_call"):
        return call_block(tool, call_id, item.get("action"))
    if kind == "image_generation_call":
        return call_block(tool, call_id, item.get("revised_prompt"))
    return call_block(tool, call_id, decoded(item.get("arguments", item.get("input"))))


def tool_result(tool: str, call_id: str, output: Any) -> Block:
    """An answer: plain text, blocks, or an object in a string with the exit code beside the output."""
    told = decoded(output)
    if not isinstance(told, dict):
        return result_block(tool, call_id, output)
    about = told.get("metadata")
    exit_code = about.get("exit_code") if isinstance(about, dict) else told.get("exit_code")
    return result_block(tool, call_id, told, told.get("success") is False, exit_code)


def decoded(value: Any) -> Any:
    """An object written as a string; anything else as it is."""
    if isinstance(value, str) and value[:1] == "{":
        try:
            found = json.loads(value)
        except (ValueError, RecursionError):
            return value
        return found if isinstance(found, dict) else value
    return value
