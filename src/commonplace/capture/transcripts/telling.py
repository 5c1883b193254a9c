"""A turn as messages: what was asked, and what was said and done until the next question.

Tool results stand in code fences, which a passage never tears where they fit into one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from commonplace.capture.transcripts.record import Block, Transcript, Turn
from commonplace.memory.conversations import Said
from commonplace.memory.remember import MAX_TEXT

_MAX_NAMED = 100
_FENCE = re.compile(r"^\s{0,3}(`{3,})", re.MULTILINE)
_HEADS = {"thinking": "Thought", "summary": "Summary"}


def told(turn: Turn) -> Iterator[Said]:
    """The messages of a turn: the question if a person asked one, and the answer if there is any yet."""
    asked = [block for block in turn.blocks if block.who == "user" and block.kind == "text"]
    done = [block for block in turn.blocks if block not in asked]
    if text := "\n\n".join(block.text for block in asked if block.text.strip()):
        yield _said(turn, "user", text, asked)
    if text := "\n\n".join(filter(None, map(_rendered, done))):
        yield _said(turn, "system" if turn.role == "system" else "assistant", text, done)


def title_of_turns(transcript: Transcript, said: Iterable[Said]) -> str:
    """What to call a session: its title, else its first question."""
    first = next((message.content for message in said if message.role == "user"), "")
    return transcript.title.strip() or first.strip()


def _said(turn: Turn, role: str, text: str, blocks: list[Block]) -> Said:
    meta: dict[str, object] = {"turn": turn.identity}
    if role != "user" and turn.spawned:
        meta["spawned"] = sorted({name for pair in turn.spawned for name in pair if name})
    if turn.sidechain:
        meta["sidechain"] = True
    if turn.model and role != "user":
        meta["model"] = turn.model
    details = {
        "files": _named(file for block in blocks for file in block.files),
        "commands": _named((block.command for block in blocks), "\n"),
        "errors": _named((block.error for block in blocks), "\n"),
    }
    at = turn.at_ms if role == "user" or turn.until_ms is None else turn.until_ms
    said = {name: value for name, value in details.items() if value}
    return Said(role, text[:MAX_TEXT], at, meta, f"{turn.identity}/{role}", details=said)


def _rendered(block: Block) -> str:
    text = block.text.strip()
    if block.kind == "tool_call":
        return f"[{block.tool or 'tool'}] {block.command or text}"
    if not text:
        return ""
    if block.kind == "tool_result":
        fence = max((match[1] for match in _FENCE.finditer(text)), key=len, default="``") + "`"
        return f"{fence}\n{text}\n{fence}"
    head = _HEADS.get(block.kind)
    return f"{head}: {text}" if head else text


def _named(names: Iterable[str], separator: str = ", ") -> str:
    found = dict.fromkeys(name for name in names if name)
    return separator.join(list(found)[:_MAX_NAMED])
