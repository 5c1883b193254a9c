"""Front matter: the few lines of YAML on top of a rule file that tell a tool when to apply it.

Only the part of YAML that rule files use, and read more tolerantly than YAML: `globs: **/*.ts` is no valid YAML, yet
it is what editors write themselves.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence

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
