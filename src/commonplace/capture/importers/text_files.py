"""Text files: conversations as Markdown, plain text or a web page, split into turns at the names of their speakers.

A text in which nobody speaks is a document: one message, which follows its file when that is imported again.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import unescape
from html.parser import HTMLParser
from itertools import islice, pairwise
from pathlib import Path, PurePath

from commonplace.capture.import_report import Entry, Skipped, Stream, conversation_label, max_held, stable_key
from commonplace.errors import TooLarge
from commonplace.memory.conversations import MAX_MESSAGES, NewConversation, NewMessage
from commonplace.text.untrusted_json import time_in

MARKDOWN, PLAIN_TEXT, HTML = "markdown", "text", "html"
MAX_TEXT_BYTES = 1 << 25
"""Bytes that a text file may have; it is read whole."""
MAX_LINES = 2_000_000

SPEAKER_NAMES: Mapping[str, str] = {
    **dict.fromkeys(("user", "you", "human", "me", "prompt"), "user"),
    **dict.fromkeys(("assistant", "ai", "ai assistant", "bot", "model", "response", "answer"), "assistant"),
    **dict.fromkeys(("chatgpt", "gpt", "claude", "gemini", "copilot", "deepseek", "grok", "mistral"), "assistant"),
    "system": "system",
    "tool": "tool",
}
_SPEAKER = re.compile(
    r"[\W_]*+(?P<name>[A-Za-z][A-Za-z ]{0,20}?)(?: said)? ?(?:[(\[](?P<time>[^()\[\]]{4,40})[)\]] ?)?:? ?"
)
_FENCE = re.compile(r"\s{0,3}(`{3,}+|~{3,}+)(.*)")
_BREAKS = dict.fromkeys(map(ord, "\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"), "\n")
# Characters that are split into lines at once.
_PIECE = 1 << 16
# A text from an upload may take this part of the memory: it is copied several times on its way.
_TEXT_SHARE = 2
_MARKDOWN_TITLE = re.compile(r"\s*# +([^\n]+)(?:\n|\Z)")
_OWN = re.compile(
    r"\A# [^\n]*\n\n(?P<head>(?:(?:\*\*\w+:\*\*[^\n]*\n)+\n---\n\n)?)## Conversation\n\n"
    r"(?=\*\*(?:User|Assistant|System|Tool)\*\* \([^()\n]*\):)"
)
_OWN_FIELD = re.compile(r"\*\*(\w+):\*\*(.*)$", re.MULTILINE)
_OWN_TURN = re.compile(r"^\*\*(?:User|Assistant|System|Tool)\*\* \([^()\n]*\): *$", re.MULTILINE)
_HEADING = re.compile(r"(?P<level>#{1,6})\s+(?P<who>.{1,80})")
_BOLD = re.compile(
    r"(?:[-*>]\s+)?\*\*(?P<who>[^*]{1,60}?)(?::\*\*|\*\*(?P<time>\s*+\([^()]{4,40}\))?:|\*\*\s*+$)\s*+(?P<rest>.*)"
)
_RULE = re.compile(r"^[ \t]*(?:-{3,}|\*{3,}|_{3,})[ \t]*$", re.MULTILINE)
_LINE = re.compile(r"(?P<who>[^:]{1,30}?(?:[(\[][^()\[\]]{4,40}[)\]])?\s*+):(?:\s++(?P<rest>.*))?")
_UNSEEN = frozenset("script style title template noscript svg iframe object nav".split())
# The title is near the beginning, and short.
_HEAD, _HTML_TITLE = 100_000, re.compile(r"<title[^>]{0,200}>([^<]{1,500})", re.IGNORECASE)
_BLOCKS = frozenset(
    "p div section article main header footer aside table tr ul ol dl dt dd blockquote pre hr figure h1 h2 h3 h4 h5 h6"
    " form fieldset li br".split()
)
# Elements that begin a new line and need none after it.
_LINE_STARTS = frozenset("li br tr dt dd".split())
_DECLARATION = re.compile(r"<[!?][^<>]{0,2000}>")
# Characters that look like the beginning of a tag.
_NO_TAG = re.compile(r"<(?!/?[A-Za-z][^<>]{0,2000}>)")
_HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
_SPACE = re.compile(r"[ \t\r\n\f]+")
_BLANK_LINES = re.compile(r"\n{3,}")
_BOTH_SIDES = {"user", "assistant"}
DOCUMENT = "document"
"""In the metadata of the one message of a document."""


@dataclass(frozen=True, slots=True)
class Marker:
    """A line that names a speaker: in which style, whose role, when, and the words that follow on the same line."""

    style: str
    role: str
    at_ms: int | None
    rest: str = ""


FindMarker = Callable[[str], Marker | None]


@dataclass(frozen=True, slots=True)
class Turn:
    """The words of one speaker up to the next."""

    role: str
    at_ms: int | None
    content: str


def parse_speaker(text: str) -> tuple[str, int | None] | None:
    """The role and time in words such as `You said:` or `Assistant (2026-01-20 10:00:00)`."""
    found = _SPEAKER.fullmatch(" ".join(text.split()))
    role = SPEAKER_NAMES.get(found["name"].lower()) if found else None
    return (role, time_in({"at": found["time"]}, "at")) if found and role else None


def split_turns(text: str, find_marker: FindMarker) -> tuple[str, list[Turn]]:
    """The text before the first speaker, and the turns; none unless both sides of a conversation speak.

    Only speakers in the style that comes first count: an answer may quote another chat, in another style or in a fence.
    TooLarge if there are more turns than a conversation may have, or too many lines.
    """
    found = _Markers()
    for line in _lines(text):
        found.add(line, find_marker)
    return _split_at(text, found.of_first_style())


# Where a line begins and ends in its text, and its content.
_Line = tuple[int, int, str]
_PlacedMarker = tuple[int, int, Marker]


def _lines(text: str) -> Iterator[_Line]:
    """The lines of a text, of which only a few are in memory at once."""
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


class _Markers:
    """The lines that name a speaker, by their style, without those inside code fences.

    A fence that is never closed is none.
    """

    def __init__(self) -> None:
        self._found: dict[str, list[_PlacedMarker]] = {}
        self._roles: dict[str, set[str]] = {}
        self._fence = ""
        # Found since the fence was opened: they count if it is never closed.
        self._fenced: list[_PlacedMarker] = []

    def add(self, line: _Line, find_marker: FindMarker) -> None:
        start, end, content = line
        if self._closes_fence(content):
            return
        marker = find_marker(content)
        if marker is None:
            return
        if not self._fence:
            self._add((start, end, marker))
        elif len(self._fenced) <= MAX_MESSAGES:
            self._fenced.append((start, end, marker))

    def of_first_style(self) -> list[_PlacedMarker]:
        """The markers of the first style in which both sides of a conversation speak."""
        for one in self._fenced:
            self._add(one)
        self._fenced = []
        return next((self._found[style] for style, roles in self._roles.items() if roles >= _BOTH_SIDES), [])

    def _closes_fence(self, content: str) -> bool:
        """Whether a line closes a fence. One that opens a fence may still be a marker, if nothing closes it."""
        found = _FENCE.fullmatch(content)
        if found is None:
            return False
        if not self._fence:
            self._fence = found[1]
            return False
        if found[1].startswith(self._fence) and not found[2].strip():
            self._fence, self._fenced = "", []
            return True
        return False

    def _add(self, one: _PlacedMarker) -> None:
        style, role = one[2].style, one[2].role
        found = self._found.setdefault(style, [])
        self._roles.setdefault(style, set()).add(role)
        if len(found) < MAX_MESSAGES:
            found.append(one)
        elif next((other for other, roles in self._roles.items() if roles >= _BOTH_SIDES), "") == style:
            raise TooLarge(f"it has more than {MAX_MESSAGES:,} messages; split it into several files")


def _split_at(text: str, markers: Sequence[_PlacedMarker]) -> tuple[str, list[Turn]]:
    """The text before the first marker, and a turn from each marker to the next."""
    if not markers:
        return "", []
    borders = [start for start, _end, _marker in markers] + [len(text)]
    turns = []
    for (_start, after, marker), end in zip(markers, borders[1:], strict=True):
        content = f"{marker.rest}\n{_normalise_breaks(text[after:end])}".strip()
        if content:
            turns.append(Turn(marker.role, marker.at_ms, content))
    return _normalise_breaks(text[: borders[0]]), turns


def _normalise_breaks(text: str) -> str:
    """The text with every kind of line break as a newline, without ever being a list of lines in memory."""
    return text.replace("\r\n", "\n").translate(_BREAKS).removesuffix("\n")


def read_text(stream: Stream, name: str) -> str | Skipped:
    """The text of a file, or why it has none."""
    most = min(MAX_TEXT_BYTES, max_held(stream) // _TEXT_SHARE)
    raw = stream.read(most + 1)
    if len(raw) > most:
        split = "; unpack it first, or split it" if most < MAX_TEXT_BYTES else "; split it"
        return Skipped(name, f"a text of more than {most:,} bytes{split}", "file")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return Skipped(name, f"not UTF-8 text: see byte {error.start:,}", "file")
    return text if text.strip() else Skipped(name, "nothing in it", "file")


def conversation_of(
    turns: Sequence[Turn], *, source: str, name: str, title: str, folder: str = "", importance: float | None = None
) -> NewConversation:
    """Turns as a conversation. With the same beginning, in a file of the same name, it is the same one grown."""
    first = turns[0]
    return NewConversation(
        label=conversation_label(title, first.content),
        messages=[
            NewMessage(turn.role, turn.content, turn.at_ms, identity=identity)
            for turn, identity in zip(turns, _identities(turns), strict=True)
        ],
        folder=folder or f"/imports/{source}",
        importance=importance,
        source=source,
        key=stable_key(name, title, first.role, first.at_ms, first.content),
        meta={"file": name},
        started_ms=first.at_ms,
    )


def document_of(text: str, *, source: str, name: str, title: str) -> NewConversation:
    """A text without speakers, as one message."""
    made = conversation_of([Turn("user", None, text)], source=source, name=name, title=title)
    (message,) = made.messages
    return replace(made, messages=[replace(message, meta={DOCUMENT: True})])


def follow_file(conversation: NewConversation, path: Path) -> NewConversation:
    """A document that follows its file: when that is imported again, the document is updated."""
    messages = conversation.messages
    if len(messages) != 1 or not messages[0].meta.get(DOCUMENT):
        return conversation
    key = stable_key(DOCUMENT, conversation.source, str(path.resolve()))
    return replace(conversation, key=key, follows=True, messages=[replace(messages[0], identity=DOCUMENT)])


def _identities(turns: Sequence[Turn]) -> list[str]:
    """A key for each turn; equal words of the same speaker are numbered."""
    before: Counter[tuple[str, str]] = Counter()
    keys = []
    for turn in turns:
        words = (turn.role, turn.content)
        keys.append(stable_key(*words, before[words]))
        before[words] += 1
    return keys


def _markdown(text: str, name: str) -> Entry:
    if not _OWN.match(text):
        text = text.replace("\r\n", "\n")
    titled = _MARKDOWN_TITLE.match(text)
    title = titled[1].strip() if titled else PurePath(name).stem
    own = _OWN.match(text)
    if own:
        return _own_export(text[own.end() :], own["head"], title, name)
    return markdown_conversation(text, name, source=MARKDOWN, title=title)


def markdown_conversation(text: str, name: str, *, source: str, title: str) -> NewConversation:
    """The conversation in a Markdown text; without speakers, a document."""
    titled = _MARKDOWN_TITLE.match(text)
    if titled and titled[1].strip() != title:
        titled = None
    before, turns = split_turns(text, markdown_speaker)
    if not turns:
        # A title is not part of the document.
        content = text[titled.end() if titled else 0 :].strip() or title
        return document_of(content, source=source, name=name, title=title)
    before = _RULE.sub("", before[titled.end() :] if titled else before).strip()
    turns = [*([Turn("system", turns[0].at_ms, before)] if before else []), *map(_without_rule, turns)]
    return conversation_of(turns, source=source, name=name, title=title)


def markdown_speaker(line: str) -> Marker | None:
    """`## User`, `**User:** words`, `**Assistant** (2026-01-20 10:00:00):`."""
    heading = _HEADING.fullmatch(line.rstrip())
    if heading:
        who = parse_speaker(heading["who"])
        return Marker(heading["level"], *who) if who else None
    bold = _BOLD.fullmatch(line.rstrip())
    who = parse_speaker(f"{bold['who']}{bold['time'] or ''}") if bold else None
    return Marker("**", *who, bold["rest"] or "") if bold and who else None


def _own_export(body: str, head: str, title: str, name: str) -> Entry:
    """Commonplace's own export, with the exact words of each turn: only an empty line separates two turns."""
    borders = [found.span() for found in islice(_OWN_TURN.finditer(body), MAX_MESSAGES + 1)]
    if len(borders) > MAX_MESSAGES:
        return Skipped(name, f"it has more than {MAX_MESSAGES:,} messages; split it into several files")
    turns = []
    for (start, end), (following, _) in pairwise([*borders, (len(body) + 1, 0)]):
        marker = markdown_speaker(body[start:end])
        content = body[end + 1 : following - 1].rpartition("\n")[0]
        if marker and content.strip():
            turns.append(Turn(marker.role, marker.at_ms, content))
    if not turns:
        return Skipped(name, "it has no messages")
    fields = {found[1].lower(): found[2].strip() for found in _OWN_FIELD.finditer(head)}
    score = re.match(r"\d+(?:\.\d+)?", fields.get("importance", ""))
    return conversation_of(
        turns,
        source=MARKDOWN,
        name=name,
        title=title,
        folder=fields.get("folder", ""),
        importance=min(float(score[0]), 10.0) if score else None,
    )


def _without_rule(turn: Turn) -> Turn:
    """A turn without the rule that separates it from the next."""
    lines = turn.content.split("\n")
    if len(lines) > 1 and _RULE.fullmatch(lines[-1]):
        return Turn(turn.role, turn.at_ms, "\n".join(lines[:-1]).rstrip())
    return turn


def _plain_text(text: str, name: str) -> Entry:
    before, turns = split_turns(text, plain_text_speaker)
    title = PurePath(name).stem
    if not turns:
        return document_of(text.strip(), source=PLAIN_TEXT, name=name, title=title)
    if before.strip():
        turns = [Turn("system", turns[0].at_ms, before.strip()), *turns]
    return conversation_of(turns, source=PLAIN_TEXT, name=name, title=title)


def plain_text_speaker(line: str) -> Marker | None:
    """`User: words`, perhaps with a time: `Human (2026-01-20 10:00): words`."""
    found = _LINE.fullmatch(line)
    who = parse_speaker(found["who"]) if found else None
    return Marker("text", *who, found["rest"] or "") if found and who else None


def _html(source: str, name: str) -> Entry:
    title = _HTML_TITLE.search(source[:_HEAD])
    page = _Page()
    page.feed(_well_formed(source))
    page.close()
    text = page.text()
    if not text:
        return Skipped(name, "a page without any text", "file")
    label = _SPACE.sub(" ", unescape(title[1])).strip() if title else ""
    return markdown_conversation(text, name, source=HTML, title=label or PurePath(name).stem)


def _well_formed(source: str) -> str:
    """The page without comments, in which every `<` begins a tag that ends.

    The parser of the standard library takes quadratic time for broken tags.
    """
    pieces, at = [], 0
    while (begin := source.find("<!--", at)) >= 0:
        pieces.append(source[at:begin])
        end = source.find("-->", begin)
        at = len(source) if end < 0 else end + 3
    pieces.append(source[at:])
    return _NO_TAG.sub("&lt;", _DECLARATION.sub("", "".join(pieces)))


class _Page(HTMLParser):
    """Collects the text of a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        # A list of so many small texts would take many times as much memory.
        self._pieces = io.StringIO()
        self._unseen = self._code = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _UNSEEN:
            self._unseen += 1
        if tag in _BLOCKS:
            self._pieces.write("\n")
        if tag in _HEADINGS:
            self._pieces.write(f"\n{_HEADINGS[tag]} ")
        elif tag == "li":
            self._pieces.write("- ")
        elif tag == "pre":
            self._pieces.write("```\n")
            self._code += 1
        elif tag in ("td", "th"):
            self._pieces.write(" | ")

    def handle_endtag(self, tag: str) -> None:
        if tag in _UNSEEN:
            self._unseen = max(0, self._unseen - 1)
        if tag == "pre" and self._code:
            self._pieces.write("\n```")
            self._code -= 1
        if tag in _BLOCKS - _LINE_STARTS:
            self._pieces.write("\n")

    def handle_data(self, data: str) -> None:
        if not self._unseen:
            self._pieces.write(data if self._code else _SPACE.sub(" ", data))

    def text(self) -> str:
        self._pieces.seek(0)
        trimmed = io.StringIO()
        for line in self._pieces:
            trimmed.write(line.rstrip() + "\n")
        return _BLANK_LINES.sub("\n\n", trimmed.getvalue()).strip()


def _reader(convert: Callable[[str, str], Entry]) -> Callable[[Stream, str], Iterator[Entry]]:
    """A reader of files whose whole text, with the name of the file, is one entry."""

    def read(stream: Stream, name: str) -> Iterator[Entry]:
        text = read_text(stream, name)
        try:
            yield text if isinstance(text, Skipped) else convert(text, name)
        except TooLarge as error:
            yield Skipped(name, error.message)

    return read


read_markdown = _reader(_markdown)
read_plain_text = _reader(_plain_text)
read_html = _reader(_html)
