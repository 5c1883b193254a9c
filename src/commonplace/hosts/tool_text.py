"""Tool calls and their results as text: results come in every shape, and some are huge."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from commonplace.hosts.transcript import Block, Role
from commonplace.text.delimited import texts_outside
from commonplace.text.redact import redact, without_private

MAX_TEXT = 20_000
"""Characters of one tool result that are stored, half from each end."""
MAX_MESSAGE_TEXT = 200_000
"""Characters of one message; people paste whole logs."""
_LONGEST_SECRET = 16_000

_MAX_DEPTH = 20
_MAX_FILES, _MAX_PATH = 200, 1024
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
_REMINDER = ("<system-reminder>", "</system-reminder>")
# A field whose value is the answer; what is next to it is bookkeeping.
_ANSWERS = ("text", "content", "output", "result", "response", "functionResponse", "parts", "file", "message", "error")
_FILES = {
    *("file_path", "filePath", "filepath", "path", "paths", "notebook_path", "target_file", "targetFile"),
    *("absolute_path", "relative_workspace_path", "relativeWorkspacePath", "file", "files", "filename"),
}
_PATCHED = re.compile(
    r"^\*\*\* (?:(?:Update|Add|Delete) File|Move to): (.*\S)[^\S\n]*$|^\+\+\+ (?:b/)?(?!/dev/null)([^\t\n]+)",
    re.MULTILINE,
)
_PATCHES = ("patch", "diff", "input", "command", "cmd", "arguments")
_SHELLS = re.compile(r"(?:.*[/\\])?(?:ba|z|da|fi|k)?sh|(?:.*[/\\])?(?:cmd|powershell|pwsh)(?:\.exe)?", re.IGNORECASE)
_COMPLAINT = re.compile(
    r"error|exception|failed|failure|fatal|panic|denied|not found|no such|cannot|undefined|invalid", re.IGNORECASE
)
_EXIT = re.compile(
    r"^(?:(?:process|command) )?(?:exit|exited with|failed with|failed with exit) (?:code|status):? (-?\d{1,10})",
    re.IGNORECASE | re.MULTILINE,
)
# A shell's verdict stands at either end of what it says; further in, it is somebody's words.
_NEAR = 300
_MAX_ERROR, _ERROR_LINES = 1000, 5


def text_of(value: Any, depth: int = 0) -> str:
    """The text in a string, a list of blocks, an object with stdout and stderr, an image, or anything else."""
    if value is None or depth > _MAX_DEPTH:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(filter(None, (text_of(part, depth + 1) for part in value)))
    return _text_of_object(value, depth) if isinstance(value, dict) else json.dumps(value)


def _text_of_object(value: dict[str, Any], depth: int) -> str:
    kind = value.get("type")
    if kind in ("image", "input_image", "document", "image_url", "audio") or "inlineData" in value:
        return f"[{kind or 'image'}]"
    if "stdout" in value or "stderr" in value:
        return text_of([value.get("stdout"), value.get("stderr")], depth)
    for name in _ANSWERS:
        if value.get(name) not in (None, "", [], {}):
            return text_of(value[name], depth + 1)
    fields = ((name, text_of(part, depth + 1)) for name, part in value.items() if name != "type")
    return "\n".join(f"{name}: {text}" for name, text in fields if text)


def clean_text(text: str) -> str:
    """What a person or an agent wrote, without what the product added."""
    return cut_middle("".join(texts_outside(text, *_REMINDER)), MAX_MESSAGE_TEXT).strip()


def cut_middle(text: str, limit: int = MAX_TEXT) -> str:
    """The head and the tail of a long text, with a mark that says how much was left out between them.

    A secret that is cut in two cannot be recognised any more, so private parts and secrets are redacted first: of a
    huge text, in the ends with more than their share, which is then dropped.
    """
    text = without_private(_UNSTORABLE.sub("\ufffd", text))
    if len(text) <= limit:
        return text
    half, size = limit // 2, len(text)
    if size <= limit + _LONGEST_SECRET:
        head = tail = redact(text)
        if len(head) <= limit:
            return head
    else:
        head = redact(text[: half + _LONGEST_SECRET])[:-_LONGEST_SECRET]
        tail = redact(text[-half - _LONGEST_SECRET :])[_LONGEST_SECRET:]
    return f"{head[:half]}\n[... {size - 2 * half:,} characters cut ...]\n{tail[-half:]}"


def call_block(tool: str, call_id: str, given: Any, who: Role = "assistant") -> Block:
    """A tool call: its command or its arguments as text, and the files it names."""
    command = command_of(given)
    text = command or ("\n".join(_arguments(given)) if isinstance(given, dict) else text_of(given))
    return Block("tool_call", cut_middle(text), who, tool, call_id, files_of(given), cut_middle(command))


def result_block(tool: str, call_id: str, given: Any, failed: bool = False, exit_code: object = None) -> Block:
    """A tool result; what went wrong is noted separately when the tool failed."""
    text = cut_middle(_COLOUR.sub("", "".join(texts_outside(text_of(given), *_REMINDER)))).strip()
    failed = failed or exit_code not in (None, 0, "0", "") or bool(exit_code_in_text(text))
    return Block("tool_result", text, tool=tool, call_id=call_id, error=error_lines(text) if failed else "")


def exit_code_in_text(text: str) -> int | None:
    """What a shell says at either end that a command exited with."""
    found = _EXIT.search(text[:_NEAR]) or _EXIT.search(text[-_NEAR:])
    return int(found[1]) if found else None


def error_lines(text: str) -> str:
    """The last meaningful lines of a failing output: those that name an error, else simply the last."""
    written = [line.strip() for line in redact(text).splitlines() if line.strip()]
    telling = [line for line in written if _COMPLAINT.search(line) and not _EXIT.match(line)]
    return "\n".join((telling or written)[-_ERROR_LINES:])[-_MAX_ERROR:]


def command_of(given: Any) -> str:
    """The command line of a call to a shell, in any of the ways it is passed."""
    if not isinstance(given, dict):
        return ""
    command = given.get("command", given.get("cmd"))
    if isinstance(command, list):
        words = [word for word in command if isinstance(word, str)]
        if len(words) > 2 and _SHELLS.fullmatch(words[0]) and words[1][:1] in ("-", "/"):
            return words[-1]
        return " ".join(words)
    return command if isinstance(command, str) else ""


def files_of(given: Any) -> tuple[str, ...]:
    """The files that a call names in its arguments or patches, in order."""
    found = dict.fromkeys(_named(given) if isinstance(given, dict) else _patched(given))
    names = (_UNSTORABLE.sub("\ufffd", name) for name in found if 0 < len(name) <= _MAX_PATH and "\n" not in name)
    return tuple(names)[:_MAX_FILES]


def _named(given: dict[str, Any]) -> Iterator[str]:
    for name, value in given.items():
        if name in _PATCHES:
            yield from _patched(value)
        elif name in _FILES or name == "edits":
            for entry in value if isinstance(value, list) else (value,):
                yield from _paths(entry) if isinstance(entry, dict) else (entry,) if isinstance(entry, str) else ()


def _paths(entry: dict[str, Any]) -> Iterator[str]:
    yield from (value for name, value in entry.items() if name in _FILES and isinstance(value, str))


def _patched(value: Any) -> Iterator[str]:
    for text in value if isinstance(value, list) else (value,):
        if isinstance(text, str):
            yield from (match[1] or match[2].strip() for match in _PATCHED.finditer(text))


def _arguments(given: dict[str, Any]) -> Iterator[str]:
    for name, value in given.items():
        if text := text_of(value):
            yield f"{name}: {text}"
