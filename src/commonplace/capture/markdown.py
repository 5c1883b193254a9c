"""Conversations as Markdown: our own export, and the common layouts with speakers in headings or in bold."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice, pairwise
from pathlib import PurePath

from commonplace.capture.foreign import Found, Skipped, Stream
from commonplace.capture.speakers import (
    Marker,
    Turn,
    conversation_of,
    document_of,
    speaker,
    turns_in,
    whole_text,
)
from commonplace.errors import TooLarge
from commonplace.memory.conversations import MAX_MESSAGES, Conversation

SOURCE = "markdown"
_TITLE = re.compile(r"\s*# +([^\n]+)(?:\n|\Z)")
_OWN = re.compile(
    r"\A# [^\n]*\n\n(?P<head>(?:(?:\*\*\w+:\*\*[^\n]*\n)+\n---\n\n)?)## Conversation\n\n"
    r"(?=\*\*(?:User|Assistant|System|Tool)\*\* \([^()\n]*\):)"
)
_OWN_FIELD = re.compile(r"\*\*(\w+):\*\*(.*)$", re.MULTILINE)
_OWN_TURN = re.compile(r"^\*\*(?:User|Assistant|System|Tool)\*\* \([^()\n]*\): *$", re.MULTILINE)
_HEADING = re.compile(r"(?P<level>#{1,6})\s+(?P<who>.{1,80})")
_BOLD = re.compile(
    r"(?:[-*>]\s+)?\*\*(?P<who>[^*]{1,60}?)(?::\*\*|\*\*(?P<time>\s*\([^()]{4,40}\))?:|\*\*\s*$)(?:\s*(?P<rest>.*))?"
)
_RULE = re.compile(r"^[ \t]*(?:-{3,}|\*{3,}|_{3,})[ \t]*$", re.MULTILINE)


def read(stream: Stream, name: str) -> Iterator[Found]:
    """The conversation in a Markdown file."""
    text = whole_text(stream, name)
    if isinstance(text, Skipped):
        yield text
        return
    if not _OWN.match(text):
        text = text.replace("\r\n", "\n")
    titled = _TITLE.match(text)
    title = titled[1].strip() if titled else PurePath(name).stem
    own = _OWN.match(text)
    if own:
        yield _own(text[own.end() :], own["head"], title, name)
        return
    yield conversation_in(text, name, source=SOURCE, title=title)


def conversation_in(text: str, name: str, *, source: str, title: str) -> Conversation | Skipped:
    """The conversation that a Markdown text is; one without speakers is a document."""
    titled = _TITLE.match(text)
    if titled and titled[1].strip() != title:
        titled = None
    try:
        before, turns = turns_in(text, mark)
    except TooLarge as error:
        return Skipped(name, error.message)
    if not turns:
        # The title stands above it; without one there is nothing but the text.
        content = text[titled.end() if titled else 0 :].strip() or title
        return document_of(content, source=source, name=name, title=title)
    before = _RULE.sub("", before[titled.end() :] if titled else before).strip()
    turns = [*([Turn("system", turns[0].at_ms, before)] if before else []), *map(_without_rule, turns)]
    return conversation_of(turns, source=source, name=name, title=title)


def mark(line: str) -> Marker | None:
    """`## User`, `**User:** words`, `**Assistant** (2026-01-20 10:00:00):`."""
    heading = _HEADING.fullmatch(line.rstrip())
    if heading:
        who = speaker(heading["who"])
        return Marker(heading["level"], *who) if who else None
    bold = _BOLD.fullmatch(line.rstrip())
    who = speaker(f"{bold['who']}{bold['time'] or ''}") if bold else None
    return Marker("**", *who, bold["rest"] or "") if bold and who else None


def _own(body: str, head: str, title: str, name: str) -> Found:
    """Our own layout, where words are kept as they are: only an empty line stands between two turns."""
    borders = [found.span() for found in islice(_OWN_TURN.finditer(body), MAX_MESSAGES + 1)]
    if len(borders) > MAX_MESSAGES:
        return Skipped(name, f"it has more than {MAX_MESSAGES:,} messages; split it into several files")
    turns = []
    for (start, end), (following, _) in pairwise([*borders, (len(body) + 1, 0)]):
        marker = mark(body[start:end])
        content = body[end + 1 : following - 1].rpartition("\n")[0]
        if marker and content.strip():
            turns.append(Turn(marker.role, marker.at_ms, content))
    if not turns:
        return Skipped(name, "it has no messages")
    fields = {found[1].lower(): found[2].strip() for found in _OWN_FIELD.finditer(head)}
    score = re.match(r"\d+(?:\.\d+)?", fields.get("importance", ""))
    return conversation_of(
        turns,
        source=SOURCE,
        name=name,
        title=title,
        folder=fields.get("folder", ""),
        importance=min(float(score[0]), 10.0) if score else None,
    )


def _without_rule(turn: Turn) -> Turn:
    """A turn without the line that parts it from the next."""
    lines = turn.content.split("\n")
    if len(lines) > 1 and _RULE.fullmatch(lines[-1]):
        return Turn(turn.role, turn.at_ms, "\n".join(lines[:-1]).rstrip())
    return turn
