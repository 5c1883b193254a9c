"""Our part of a file: the lines between two markers. Whatever is outside of them belongs to someone else."""

from __future__ import annotations

import re
from typing import NamedTuple

from commonplace.text.redact import strip_control_characters

BEGIN = "<!-- commonplace:begin -->"
END = "<!-- commonplace:end -->"
NOTE = "<!-- Written by `commonplace generate`: what is changed between these markers is lost.{} -->"

_MARKER = re.compile(r"^[ \t]*<!--[ \t]*commonplace:(begin|end)[ \t]*-->[ \t]*(?=\r?$)", re.MULTILINE)
_LOOKS_LIKE_ONE = re.compile(r"<!--(\s*commonplace:(?:begin|end))", re.IGNORECASE)
# Claude Code and Gemini CLI put the file that `@path` names in its place.
_IMPORT = re.compile(r"(?<!\S)@(?=\S)")
# Text in which every backtick opens or closes a code span within its line.
_SIMPLE_CODE = re.compile(r"(?:[^`\\\n]|\\(?!`)|`[^`\n]+`(?!`)|\n)*+")
_CODE = re.compile(r"(`[^`\n]+`)")
_FRONT = re.compile(r"Front matter: ([0-9a-f]{8})")


class BadMarkers(ValueError):
    """The markers of a file are not one beginning and one end after it."""


class Parts(NamedTuple):
    """A text cut at our block; `block` is None when it has none, and then everything is `before`."""

    before: str
    block: str | None = None
    after: str = ""

    @property
    def front_digest(self) -> str:
        """Of the front matter that we wrote above the block; empty if we wrote none."""
        found = _FRONT.search(self.block or "")
        return found[1] if found else ""


def parts(text: str) -> Parts:
    """The text around our block. Raises BadMarkers where it cannot be told what is ours."""
    found = list(_MARKER.finditer(text))
    if not found:
        return Parts(text)
    if [marker[1] for marker in found] != ["begin", "end"]:
        lines = ", ".join(f"{m[1]} in line {text.count(chr(10), 0, m.start()) + 1}" for m in found[:4])
        raise BadMarkers(f"its markers are not one begin and one end: {lines}")
    begin, end = found
    return Parts(text[: begin.start()], text[begin.start() : end.end()], text[end.end() :])


def block(inner: str, front_digest: str = "") -> str:
    """Our block around a text, with LF between its lines and none after the last."""
    note = NOTE.format(f" Front matter: {front_digest}" if front_digest else "")
    return f"{BEGIN}\n{note}\n\n{inner.strip(chr(10))}\n\n{END}"


def appended(text: str, made: str) -> str:
    """A text with our block below it; `removed` gives back exactly the text. No last newline stays no last newline."""
    eol = line_end(text)
    made = made.replace("\n", eol)
    if not text:
        return made + eol
    return text + eol + made + (eol if text.endswith("\n") else "")


def replaced(cut: Parts, made: str) -> str:
    """The text with another block in place of ours."""
    text = cut.before + (cut.block or "") + cut.after
    return cut.before + made.replace("\n", line_end(text)) + cut.after


def removed(cut: Parts) -> str:
    """The text without our block and without the blank line that came with it."""
    before, after = cut.before, re.sub(r"\A\r?\n", "", cut.after, count=1)
    if not cut.after or (not after and re.search(r"\n\r?\n\Z", before)):
        before = re.sub(r"\r?\n\Z", "", before)
    return before + after


def line_end(text: str) -> str:
    """How the first line ends: what a file uses."""
    first = text.partition("\n")[0]
    return "\r\n" if first.endswith("\r") else "\n"


def disarmed(text: str) -> str:
    """A text in which nothing is taken for a marker of ours, and nothing is hidden from a reader."""
    return _LOOKS_LIKE_ONE.sub(r"&lt;!--\1", strip_control_characters(text))


def without_imports(text: str) -> str:
    """The same, and `@path` is only words: editors would put that file in its place."""
    text = disarmed(text)
    if "@" not in text:
        return text
    # Within a code span nothing is imported; where it is not plain what is one, nothing counts as one.
    pieces = _CODE.split(text) if _SIMPLE_CODE.fullmatch(text) else [text]
    return "".join(piece if number % 2 else _IMPORT.sub(r"\\@", piece) for number, piece in enumerate(pieces))
