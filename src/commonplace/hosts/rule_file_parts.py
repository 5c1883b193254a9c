"""The parts of a rule file: front matter, lines of YAML that tell a tool when to apply it, and our marked section.

Only the part of YAML that rule files use, and read more tolerantly than YAML: `globs: **/*.ts` is no valid YAML, yet
it is what editors write themselves. Our section is the lines between two markers; whatever is outside of them belongs
to someone else.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from commonplace.text.redact import strip_control_characters

Fields = Mapping[str, str | tuple[str, ...]]

MAX_LINES = 200

_KEY = re.compile(r"([A-Za-z_][\w.-]*)[ \t]*:(?:[ \t]+(.*))?\Z", re.DOTALL)
_ENTRY = re.compile(r"[ \t]*-[ \t]+(.*)\Z", re.DOTALL)
_COMMENT = re.compile(r"(?:\A|[ \t])#.*\Z", re.DOTALL)
_BLOCK = re.compile(r"[|>][+-]?\d?\Z")
_PLAIN = re.compile(r"[A-Za-z][\w ,.()/-]*")
MAX_EXPANDED = 32


def cut(text: str) -> tuple[str, str]:
    """The front matter with both its fences, and the text below it; an empty one if there is none."""
    lines = text.split("\n", MAX_LINES)
    if lines[0].rstrip() != "---":
        return "", text
    for number, line in enumerate(lines[1:], 1):
        if line.rstrip() in ("---", "..."):
            head = "\n".join(lines[: number + 1])
            return (head, "") if len(head) == len(text) else (head + "\n", text[len(head) + 1 :])
    return "", text


def read(head: str) -> dict[str, str | tuple[str, ...]]:
    """The fields of a front matter as `cut` returned it. What cannot be understood is left out."""
    fields: dict[str, str | tuple[str, ...]] = {}
    key = ""
    entries: list[str] = []
    for line in head.replace("\r\n", "\n").split("\n")[1:]:
        if line.rstrip() in ("---", "..."):
            break
        entry = _ENTRY.match(line)
        if key and entry and fields[key] in ("", tuple(entries)):
            entries.append(_scalar(entry[1]))
            fields[key] = tuple(entries)
        elif key and line[:1] in (" ", "\t") and line.strip() and not entries:
            fields[key] = f"{fields[key]} {line.strip()}".strip()
        elif found := _KEY.match(line):
            key, entries = found[1], []
            fields[key] = _value(found[2] or "")
    return fields


def globs_in(fields: Fields, keys: Sequence[str]) -> tuple[str, ...]:
    """The globs under any of these keys: a list, or one text with commas between them."""
    for key in keys:
        value = fields.get(key, "")
        values = split_globs(value) if isinstance(value, str) else value
        globs = tuple(dict.fromkeys(glob.strip() for glob in values if glob.strip()))
        if globs:
            return globs
    return ()


def split_globs(text: str) -> tuple[str, ...]:
    """Parts between commas, but not those inside braces or quotes: `*.{js,ts}, *.md` are two."""
    parts, depth, start = [], 0, 0
    quote, escaped, begun = "", False, False
    for at, char in enumerate(text):
        if quote:
            quote = "" if char == quote and not escaped else quote
            escaped = char == "\\" and not escaped and quote == '"'
        elif char == "," and not depth:
            parts.append(text[start:at])
            start, begun = at + 1, False
        elif char in "\"'" and not begun:
            quote, begun = char, True
        else:
            depth = max(0, depth + (char == "{") - (char == "}"))
            begun = begun or not char.isspace()
    return tuple(_unquoted(part.strip()) for part in (*parts, text[start:]) if part.strip())


def write(fields: Sequence[tuple[str, str]]) -> str:
    """A front matter of these lines; an empty one is none. Values are made by the functions below."""
    lines = [f"{name}:{value if value.startswith(chr(10)) or not value else ' ' + value}" for name, value in fields]
    return "---\n" + "\n".join(lines) + "\n---\n" if lines else ""


def quoted(text: str) -> str:
    """A text as YAML reads it back, whatever is in it."""
    return json.dumps(text, ensure_ascii=False)


def words(text: str) -> str:
    """A text as a person would write it, quoted only if YAML would misread it."""
    plain = _PLAIN.fullmatch(text) and not text.endswith(" ") and text.lower() not in ("true", "false", "null", "yes")
    return text if plain else quoted(text)


def listed(texts: Sequence[str]) -> str:
    """A list, one entry to a line."""
    return "".join(f"\n  - {quoted(text)}" for text in texts)


def listed_paths(paths: Sequence[str]) -> str:
    """The front matter of hosts that read the globs of a file as `paths`."""
    return write([("paths", listed(paths))]) if paths else ""


def bracketed(texts: Sequence[str]) -> str:
    """A list in one line."""
    return f"[{', '.join(map(quoted, texts))}]"


def comma_globs(globs: Sequence[str]) -> str:
    """Globs with commas between them, for tools that split at every comma: no glob holds one itself."""
    flat = [one.replace(",", "?") for glob in globs for one in _expanded(glob)]
    return ",".join(dict.fromkeys(flat))


def digest(head: str) -> str:
    """Tells whether a front matter still says what we wrote, however it is formatted."""
    fields = {name: value if isinstance(value, str) else list(value) for name, value in read(head).items()}
    return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()[:8]


def _expanded(glob: str) -> list[str]:
    """`*.{js,ts}` as `*.js` and `*.ts`. Left as it is where that would be too many."""
    ready, waiting = [], [glob]
    while waiting:
        one = waiting.pop(0)
        brace = re.search(r"\{([^{}]*,[^{}]*)\}", one)
        if brace is None:
            ready.append(one)
        else:
            waiting = [one[: brace.start()] + part + one[brace.end() :] for part in brace[1].split(",")] + waiting
        if len(ready) + len(waiting) > MAX_EXPANDED:
            return [glob]
    return ready


def _value(text: str) -> str | tuple[str, ...]:
    text = text.strip()
    if text.startswith("["):
        inner = text if text.endswith("]") else _COMMENT.sub("", text).strip()
        if inner.endswith("]"):
            return split_globs(inner[1:-1])
    return "" if _BLOCK.match(text) else _scalar(text)


def _scalar(text: str) -> str:
    text = text.strip()
    if text[:1] in ('"', "'"):
        end = re.match(r'"(?:[^"\\]|\\.)*"|\'(?:[^\']|\'\')*\'', text)
        if end and not _COMMENT.sub("", text[end.end() :]).strip():
            return _unquoted(end[0])
    return _COMMENT.sub("", text).strip()


def _unquoted(text: str) -> str:
    if len(text) < 2 or text[0] != text[-1] or text[0] not in "\"'":
        return text
    if text[0] == "'":
        return text[1:-1].replace("''", "'")
    try:
        value = json.loads(text)
    except ValueError:
        return text[1:-1]
    return value if isinstance(value, str) else text[1:-1]


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
