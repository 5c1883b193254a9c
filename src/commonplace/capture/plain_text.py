"""Conversations as plain text: lines such as `User: ...` and `AI: ...`; any other text is one message."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePath

from commonplace.capture.foreign import Found, Skipped, Stream
from commonplace.capture.speakers import Marker, Turn, conversation_of, document_of, speaker, turns_in, whole_text
from commonplace.errors import TooLarge

SOURCE = "text"
_LINE = re.compile(r"(?P<who>[^:]{1,30}?(?:[(\[][^()\[\]]{4,40}[)\]])?\s*):(?:\s+(?P<rest>.*))?")


def read(stream: Stream, name: str) -> Iterator[Found]:
    """The conversation in a text file."""
    text = whole_text(stream, name)
    if isinstance(text, Skipped):
        yield text
        return
    try:
        before, turns = turns_in(text, mark)
    except TooLarge as error:
        yield Skipped(name, error.message)
        return
    title = PurePath(name).stem
    if not turns:
        yield document_of(text.strip(), source=SOURCE, name=name, title=title)
        return
    if before.strip():
        turns = [Turn("system", turns[0].at_ms, before.strip()), *turns]
    yield conversation_of(turns, source=SOURCE, name=name, title=title)


def mark(line: str) -> Marker | None:
    """`User: words`, perhaps with a time: `Human (2026-01-20 10:00): words`."""
    found = _LINE.fullmatch(line)
    who = speaker(found["who"]) if found else None
    return Marker("text", *who, found["rest"] or "") if found and who else None
