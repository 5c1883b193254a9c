"""Who speaks in a text: the names that chats are written with, and the text cut into turns at its speakers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from commonplace.capture.foreign import Skipped, Stream, digest, label_of, time_in
from commonplace.memory.conversations import Conversation, Said

MAX_BYTES = 1 << 25
"""Bytes that a text file may have; it is read whole."""

NAMES: Mapping[str, str] = {
    **dict.fromkeys(("user", "you", "human", "me", "prompt"), "user"),
    **dict.fromkeys(("assistant", "ai", "ai assistant", "bot", "model", "response", "answer"), "assistant"),
    **dict.fromkeys(("chatgpt", "gpt", "claude", "gemini", "copilot", "deepseek", "grok", "mistral"), "assistant"),
    "system": "system",
    "tool": "tool",
}
_SPEAKER = re.compile(
    r"[\W_]*(?P<name>[A-Za-z][A-Za-z ]{0,20}?)(?:\s+said)?\s*(?:[(\[](?P<time>[^()\[\]]{4,40})[)\]])?\s*:?\s*"
)
_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})(.*)")


@dataclass(frozen=True, slots=True)
class Marker:
    """A line that says who speaks: in which shape, whose role, when, and the words that follow on the same line."""

    shape: str
    role: str
    at_ms: int | None
    rest: str = ""


Mark = Callable[[str], Marker | None]


@dataclass(frozen=True, slots=True)
class Turn:
    """What one speaker said before the next."""

    role: str
    at_ms: int | None
    content: str


def speaker(text: str) -> tuple[str, int | None] | None:
    """The role and time in words such as `You said:` or `Assistant (2026-01-20 10:00:00)`."""
    found = _SPEAKER.fullmatch(text)
    role = NAMES.get(found["name"].lower()) if found else None
    return (role, time_in({"at": found["time"]}, "at")) if found and role else None


def turns_in(text: str, mark: Mark) -> tuple[str, list[Turn]]:
    """What stands before the first speaker, and the turns; none unless both sides of a conversation speak.

    Speakers are those of the shape that comes first: an answer may hold another chat, in another shape or in a fence.
    """
    lines = text.splitlines()
    fenced = fenced_lines(lines)
    marks = [(n, found) for n, line in enumerate(lines) if n not in fenced and (found := mark(line))]
    roles: dict[str, set[str]] = {}
    for _n, found in marks:
        roles.setdefault(found.shape, set()).add(found.role)
    shape = next((shape for shape, spoken in roles.items() if spoken >= {"user", "assistant"}), None)
    return _cut_at(lines, [(n, found) for n, found in marks if found.shape == shape])


def _cut_at(lines: Sequence[str], marks: Sequence[tuple[int, Marker]]) -> tuple[str, list[Turn]]:
    """The lines before the first mark, and a turn from each mark to the next."""
    borders = [n for n, _marker in marks] + [len(lines)]
    turns = []
    for (n, marker), end in zip(marks, borders[1:], strict=True):
        content = "\n".join([marker.rest, *lines[n + 1 : end]]).strip()
        if content:
            turns.append(Turn(marker.role, marker.at_ms, content))
    return "\n".join(lines[: borders[0]]), turns


def fenced_lines(lines: Sequence[str]) -> set[int]:
    """The lines of code between fences; a fence that nothing closes is none."""
    inside: set[int] = set()
    start, fence = 0, ""
    for n, line in enumerate(lines):
        found = _FENCE.fullmatch(line)
        if found is None:
            continue
        if not fence:
            start, fence = n, found[1]
        elif found[1].startswith(fence) and not found[2].strip():
            inside.update(range(start, n + 1))
            fence = ""
    return inside


def whole_text(stream: Stream, name: str) -> str | Skipped:
    """The text of a file, or why it has none."""
    raw = stream.read(MAX_BYTES + 1)
    if len(raw) > MAX_BYTES:
        return Skipped(name, f"a text of more than {MAX_BYTES:,} bytes", "file")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return Skipped(name, f"not UTF-8 text: see byte {error.start:,}", "file")
    return text if text.strip() else Skipped(name, "nothing in it", "file")


def conversation_of(
    turns: Sequence[Turn], *, source: str, name: str, title: str, folder: str = "", importance: float | None = None
) -> Conversation:
    """Turns as a conversation. One that begins the same way, in a file of the same name, is the same one grown."""
    first = turns[0]
    return Conversation(
        label=label_of(title, first.content),
        messages=[
            Said(turn.role, turn.content, turn.at_ms, identity=identity)
            for turn, identity in zip(turns, _identities(turns), strict=True)
        ],
        folder=folder or f"/imports/{source}",
        importance=importance,
        source=source,
        key=digest(name, title, first.role, first.at_ms, first.content),
        meta={"file": name},
        started_ms=first.at_ms,
    )


DOCUMENT = "document"
"""In the metadata of the one message of a document: text in which nobody speaks."""


def document_of(text: str, *, source: str, name: str, title: str) -> Conversation:
    """A text without speakers, as one message."""
    made = conversation_of([Turn("user", None, text)], source=source, name=name, title=title)
    (message,) = made.messages
    return replace(made, messages=[replace(message, meta={DOCUMENT: True})])


def following(conversation: Conversation, path: Path) -> Conversation:
    """A document as its file's: when the file is imported again, it says what the file says by then."""
    messages = conversation.messages
    if len(messages) != 1 or not messages[0].meta.get(DOCUMENT):
        return conversation
    key = digest(DOCUMENT, conversation.source, str(path.resolve()))
    return replace(conversation, key=key, follows=True, messages=[replace(messages[0], identity=DOCUMENT)])


def _identities(turns: Sequence[Turn]) -> list[str]:
    """The same words by the same speaker are told apart by how often they were said before."""
    before: Counter[tuple[str, str]] = Counter()
    made = []
    for turn in turns:
        said = (turn.role, turn.content)
        made.append(digest(*said, before[said]))
        before[said] += 1
    return made
