"""Messages longer than one item may be, cut into several at the ends of lines, so that nothing of them is lost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from commonplace.memory.conversations import Conversation, Said
from commonplace.memory.remember import MAX_TEXT
from commonplace.text.redact import redact

# A border is looked for in the last tenth of a part.
_SEARCHED = MAX_TEXT // 10


def fitting(conversation: Conversation) -> Conversation:
    """The conversation with messages that all can be kept."""
    if all(len(said.content) <= MAX_TEXT for said in conversation.messages):
        return conversation
    return replace(conversation, messages=[part for said in conversation.messages for part in _parts(said)])


def _parts(said: Said) -> Iterator[Said]:
    if len(said.content) <= MAX_TEXT:
        yield said
        return
    # Redacted first: half a secret in one part, and half in the next, would be told for none.
    pieces = [piece for piece in _pieces(redact(said.content)) if piece.strip()]
    if len(pieces) == 1:
        yield replace(said, content=pieces[0])
        return
    for number, piece in enumerate(pieces, 1):
        yield replace(
            said,
            content=piece,
            meta={**said.meta, "part": number, "parts": len(pieces)},
            identity=f"{said.identity}#{number}" if said.identity else "",
            uid=said.uid if number == 1 else None,
        )


def _pieces(text: str) -> Iterator[str]:
    start = 0
    while len(text) - start > MAX_TEXT:
        end = start + MAX_TEXT
        border = text.rfind("\n", end - _SEARCHED, end) + 1
        yield text[start : border or end]
        start = border or end
    yield text[start:]
