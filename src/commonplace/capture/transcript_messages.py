"""A turn as messages: the question, and all that was written and done until the next one.

Tool results stand in code fences, which a passage never tears where they fit into one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from commonplace.hosts.transcript import Block, Role, Transcript, Turn
from commonplace.memory.conversations import NewMessage
from commonplace.text.redact import redact
from commonplace.text.titles import shorten, title_of, truncate

MAX_MESSAGE = 400_000
"""Characters after which the rest of a turn is another message. A block is shorter, so that it stays whole."""
_LONGEST_TITLE, _LOOKED_AT = 100, 5000
_MAX_NAMED, _LONGEST_NAME = 100, 1000
_FENCE = re.compile(r"^[ \t]{0,40}(`{3,})", re.MULTILINE)
_HEADS = {"thinking": "Thought", "summary": "Summary"}


def turn_messages(turn: Turn) -> Iterator[NewMessage]:
    """The messages of a turn: a summary if it begins with one, the question, and the answer if there is any yet."""
    speakers: dict[Role, list[Block]] = {"system": [], "user": [], "assistant": []}
    for block in turn.blocks:
        speakers[_speaker(block)].append(block)
    follows: dict[str, object] = {"follows": turn.parent} if turn.parent else {}
    for role, blocks in speakers.items():
        for number, (text, part) in enumerate(_parts(blocks), 1):
            yield _message(turn, role, text, part, number, follows)
            follows = {}


def session_title(transcript: Transcript, messages: Iterable[NewMessage]) -> str:
    """What to call a session: its title, else its first question. Nothing secret is cut, and so hidden, by it."""
    title = shorten(redact(transcript.title), _LONGEST_TITLE)
    return title or next((title_of(redact(one.content)) for one in messages if one.role == "user"), "")


def _speaker(block: Block) -> Role:
    if block.kind == "summary":
        return "system"
    return "user" if block.who == "user" and block.kind == "text" else "assistant"


def _parts(blocks: Sequence[Block]) -> Iterator[tuple[str, list[Block]]]:
    """The text of blocks, and which they are; in several where it is long. What comes later changes only the last."""
    texts: list[str] = []
    part: list[Block] = []
    size = 0
    for block in blocks:
        text = _rendered(block)
        if not text:
            continue
        if part and size + len(text) > MAX_MESSAGE:
            yield "\n\n".join(texts), part
            texts, part, size = [], [], 0
        texts.append(text)
        part.append(block)
        size += len(text)
    if part:
        yield "\n\n".join(texts), part


def _message(
    turn: Turn, role: Role, text: str, blocks: list[Block], number: int, more: dict[str, object]
) -> NewMessage:
    meta: dict[str, object] = {"turn": turn.identity, **more}
    if number > 1:
        meta["part"] = number
    if role == "assistant" and turn.spawned:
        meta["spawned"] = sorted({name for pair in turn.spawned for name in pair if name})
    if turn.sidechain:
        meta["sidechain"] = True
    if turn.model and role == "assistant":
        meta["model"] = turn.model
    details = {
        "files": _named(file for block in blocks for file in block.files),
        "commands": _named((block.command for block in blocks), "\n"),
        "errors": _named((block.error for block in blocks), "\n"),
    }
    at = turn.until_ms if role == "assistant" and turn.until_ms is not None else turn.at_ms
    identity = f"{turn.identity}/{role}" + (f"/{number}" if number > 1 else "")
    named = {name: value for name, value in details.items() if value}
    return NewMessage(role, text, at, meta, identity, details=named, title=_title(blocks))


def _title(blocks: Iterable[Block]) -> str:
    """From the text, rather than from thoughts before it or tool calls."""
    text = next((block.text for block in blocks if block.kind == "text" and block.text.strip()), "")
    return title_of(redact(text[:_LOOKED_AT]))


def _rendered(block: Block) -> str:
    text = block.text.strip()
    if block.kind == "tool_call":
        return f"[{block.tool or 'tool'}] {block.command or text}".rstrip()
    if not text:
        return ""
    if block.kind == "tool_result":
        fence = max((match[1] for match in _FENCE.finditer(text)), key=len, default="``") + "`"
        return f"{fence}\n{text}\n{fence}"
    head = _HEADS.get(block.kind)
    return f"{head}: {text}" if head else text


def _named(names: Iterable[str], separator: str = ", ") -> str:
    found = dict.fromkeys(_short(name) for name in names if name)
    return separator.join(list(found)[:_MAX_NAMED])


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else truncate(redact(name), _LONGEST_NAME)
