"""The formats that can be imported, in one table, and how a file is recognised by what is in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from commonplace.capture import chatgpt, claude, html, markdown, own_archive, own_json, plain_text
from commonplace.capture.foreign import Found, Stream
from commonplace.capture.move_in import causantic, claude_mem, database, kiro_memory, memories_sh, server_memory

HEAD = 1 << 18
"""Bytes at the beginning of a file that tell its format."""

ZIP = (b"PK\x03\x04", b"PK\x05\x06")


# Documents whose source is no text to read, though it may be ASCII.
_DOCUMENTS: Mapping[bytes, str] = {
    b"%PDF-": "a PDF (`pdftotext` does that)",
    b"{\\rtf": "a document in RTF",
    b"%!PS": "a document in PostScript",
}
_PAGE = re.compile(
    r"(?:<\?xml[^>]{0,200}>\s*)?(?:<!--.{0,2000}?-->\s*)?<(?:!doctype\s+html|html)\b", re.IGNORECASE | re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Format:
    """A format: its reader, and for JSON the field by which its conversations are known."""

    read: Callable[[Stream, str], Iterator[Found]]
    what: str
    field: str = ""


FORMATS: Mapping[str, Format] = {
    "chatgpt": Format(chatgpt.read, "conversations.json of ChatGPT's data export", r'"mapping"\s*:\s*\{'),
    "claude": Format(claude.read, "conversations.json of Claude's data export", r'"chat_messages"\s*:\s*\['),
    "json": Format(own_json.read, "conversations as Commonplace exports them", r'"messages"\s*:\s*\['),
    "archive": Format(
        own_archive.read,
        "everything as Commonplace exports it: a zip or a folder",
        r'"format"\s*:\s*"commonplace-archive"|"what"\s*:\s*"(?:item|session|project)"',
    ),
    "kiro-memory": Format(
        kiro_memory.read_export,
        "JSON or JSON lines of `kiro-memory export`",
        r'"_(?:meta|type)"\s*:|^\[\s*\{\s*"id"\s*:\s*\d+,\s*"memory_session_id"\s*:',
    ),
    "memories.sh": Format(memories_sh.read_export, "JSON of `memories export`", r'"memories"\s*:\s*\['),
    "causantic": Format(causantic.read_export, "an archive of `causantic export`", r'"causantic-archive"'),
    "claude-mem": Format(claude_mem.read_export, "JSON of claude-mem's export", r'"totalObservations"\s*:'),
    "server-memory": Format(
        server_memory.read, "memory.jsonl of the reference memory server", r'"(?:entity|relation)Type"\s*:'
    ),
    "markdown": Format(markdown.read, "a conversation as Markdown, or any Markdown text"),
    "html": Format(html.read, "the text of a web page"),
    "text": Format(plain_text.read, "a conversation as plain text, or any text"),
}


def detect(head: bytes, name: str) -> str | None:
    """The name of the format that a file begins like; None if it is none of them."""
    if b"\0" in head or head.lstrip().startswith(tuple(_DOCUMENTS)):
        return None
    text = head.decode("utf-8-sig", "replace").lstrip()
    if text.startswith(("[", "{")):
        fields = ((name, re.search(format_.field, text)) for name, format_ in FORMATS.items() if format_.field)
        first = min(((found.start(), name) for name, found in fields if found), default=None)
        if first:
            return first[1]
    if name.lower().endswith((".json", ".jsonl", *database.SUFFIXES)):
        return None
    if name.lower().endswith((".html", ".htm")) or _PAGE.match(text):
        return "html"
    if name.lower().endswith((".md", ".markdown")) or (not name.lower().endswith(".txt") and _marked(text)):
        return "markdown"
    return "text"


def why_unknown(head: bytes, name: str, expected: str | None = None) -> str:
    """What to say of a file that is in no format."""
    if not head.strip():
        return "it is empty"
    if expected or name.lower().endswith(database.SUFFIXES):
        return "it is no SQLite database, or an encrypted one, which its product has to decrypt first"
    for beginning, what in _DOCUMENTS.items():
        if head.lstrip().startswith(beginning):
            return f"it is {what}: save it as text first"
    if head[:4] in ZIP:
        return "a zip inside another or in a pipe"
    return "it is no text" if b"\0" in head else "its JSON holds nothing that is known here"


def _marked(text: str) -> bool:
    """Whether it is Markdown by its looks: a title first, or speakers in headings or in bold."""
    return text.startswith("# ") or any(markdown.mark(line) for line in text.splitlines())
