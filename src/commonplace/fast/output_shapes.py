"""The shapes in which hosts read what a hook has to say: each makes the output for an event of the host and a text."""

from __future__ import annotations

from commonplace.fast.json_text import write_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def hook_specific_output(event: str, text: str) -> str:
    output = f'{{"hookEventName": {write_json(event)}, "additionalContext": {write_json(text)}}}'
    return f'{{"hookSpecificOutput": {output}}}\n' if text else ""


def refused_tool(event: str, why: str) -> str:
    """The same for a tool that is about to be used, and must not be."""
    decision = f'"permissionDecision": "deny", "permissionDecisionReason": {write_json(why)}'
    return f'{{"hookSpecificOutput": {{"hookEventName": {write_json(event)}, {decision}}}}}\n'


def additional_context(_event: str, text: str) -> str:
    return f'{{"additional_context": {write_json(text)}}}\n' if text else ""


def plain_text(_event: str, text: str) -> str:
    return text


SHAPES: dict[str, Callable[[str, str], str]] = {
    "hook_specific_output": hook_specific_output,
    "additional_context": additional_context,
    "plain_text": plain_text,
}
