"""Who speaks in a text: the names that chats are written with, and the text cut into turns at its speakers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from commonplace.capture.foreign import Skipped, Stream, digest, label_of, max_held, time_in
from commonplace.errors import TooLarge
from commonplace.memory.conversations import MAX_MESSAGES, Conversation, Said

MAX_BYTES = 1 << 25
"""Bytes that a text file may have; it is read whole."""
MAX_LINES = 2_000_000

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
_BREAKS = dict.fromkeys(map(ord, "\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"), "\n")
# Characters that are taken apart into lines at once.
_PIECE = 1 << 16
# A text from an upload takes up to this part of what may be held: it is copied several times on its way.
_HELD_BY_TEXT = 2


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
    TooLarge if there are more turns than a conversation may have, or more lines than can be looked at in time.
    """
    found = _Marks()
    for line in _lines(text):
        found.take(line, mark)
    return _cut_at(text, found.of_first_shape())


# A line: where it begins and ends in its text, and its words.
_Line = tuple[int, int, str]
_Mark = tuple[int, int, Marker]


def _lines(text: str) -> Iterator[_Line]:
    """The lines of a text, of which only a few are held at once."""
    at = count = 0
    while at < len(text):
        border = text.find("\n", at + _PIECE) + 1
        piece = text[at : border or len(text)]
        whole = piece.splitlines(keepends=True)
        count += len(whole)
        if count > MAX_LINES:
            raise TooLarge(f"it has more than {MAX_LINES:,} lines; split it into several files")
        for line, words in zip(whole, piece.splitlines(), strict=True):
            yield at, at + len(line), words
            at += len(line)


class _Marks:
    """The lines that say who speaks, by their shapes, without those between fences.

    A fence that nothing closes is none.
    """

    def __init__(self) -> None:
        self._found: dict[str, list[_Mark]] = {}
        self._roles: dict[str, set[str]] = {}
        self._fence = ""
        # Found since the fence was opened: they count if it is never closed.
        self._fenced: list[_Mark] = []

    def take(self, line: _Line, mark: Mark) -> None:
        start, end, words = line
        if self._is_border(words):
            return
        marker = mark(words)
        if marker is None:
            return
        if not self._fence:
            self._add((start, end, marker))
        elif len(self._fenced) <= MAX_MESSAGES:
            self._fenced.append((start, end, marker))

    def of_first_shape(self) -> list[_Mark]:
        """The marks of the shape that comes first, of those in which both sides of a conversation speak."""
        for one in self._fenced:
            self._add(one)
        self._fenced = []
        return next((self._found[shape] for shape, roles in self._roles.items() if roles >= _BOTH), [])

    def _is_border(self, words: str) -> bool:
        """Whether a line opens or closes a fence. An opening one may still be a mark, if nothing closes it."""
        found = _FENCE.fullmatch(words)
        if found is None:
            return False
        if not self._fence:
            self._fence = found[1]
            return False
        if found[1].startswith(self._fence) and not found[2].strip():
            self._fence, self._fenced = "", []
            return True
        return False

    def _add(self, one: _Mark) -> None:
        shape, role = one[2].shape, one[2].role
        found = self._found.setdefault(shape, [])
        self._roles.setdefault(shape, set()).add(role)
        if len(found) < MAX_MESSAGES:
            found.append(one)
        elif next((other for other, roles in self._roles.items() if roles >= _BOTH), "") == shape:
            raise TooLarge(f"it has more than {MAX_MESSAGES:,} messages; split it into several files")


_BOTH = {"user", "assistant"}


def _cut_at(text: str, marks: Sequence[_Mark]) -> tuple[str, list[Turn]]:
    """What stands before the first mark, and a turn from each mark to the next."""
    if not marks:
        return "", []
    borders = [start for start, _end, _marker in marks] + [len(text)]
    turns = []
    for (_start, after, marker), end in zip(marks, borders[1:], strict=True):
        content = f"{marker.rest}\n{_same_breaks(text[after:end])}".strip()
        if content:
            turns.append(Turn(marker.role, marker.at_ms, content))
    return _same_breaks(text[: borders[0]]), turns


def _same_breaks(text: str) -> str:
    """The lines of a text joined by newlines, whatever parted them, without ever being a list of lines."""
    return text.replace("\r\n", "\n").translate(_BREAKS).removesuffix("\n")


def whole_text(stream: Stream, name: str) -> str | Skipped:
    """The text of a file, or why it has none."""
    most = min(MAX_BYTES, max_held(stream) // _HELD_BY_TEXT)
    raw = stream.read(most + 1)
    if len(raw) > most:
        split = "; unpack it first, or split it" if most < MAX_BYTES else "; split it"
        return Skipped(name, f"a text of more than {most:,} bytes{split}", "file")
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
