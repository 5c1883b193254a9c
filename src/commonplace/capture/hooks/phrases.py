"""Phrases: how observations say what happened: counts, outcomes, names of files, the gist of a command line."""

from __future__ import annotations

import hashlib
import re

from commonplace.capture.hooks.arguments import Edits
from commonplace.text.redact import redact
from commonplace.text.summarise import shorten

LONGEST = 150
# What joins commands, or sends their output elsewhere: a title tells the first that does something.
_JOINTS = re.compile(r"&&|\|\||[|;\n]|\d?>&?\d?|<<")
_VERDICT = re.compile(r"exit(?:ed with)? (?:code|status)|={4}|-{4}|_{4}", re.IGNORECASE)
_NAMED = re.compile(r"(?:Error|Exception)\b|\b(?:error|fatal|panic)(?:\[\w+\])?:|\berror \w+\d+:")
_ASIDE = re.compile(r"(?:cd|export|source|set|pushd|git add|mkdir|\.)\s|[A-Z_][A-Z0-9_]*=\S*$")


def brief(command: str) -> str:
    """A command line as a title: its first part that does something, without where its output goes."""
    parts = [part.strip() for part in _JOINTS.split(command) if part.strip()]
    telling = next((part for part in parts if not _ASIDE.match(part)), parts[0] if parts else "")
    return shorten(redact(telling), 60)


def names(files: tuple[str, ...]) -> str:
    if not files:
        return "a file"
    first = files[0].rstrip("/").replace("\\", "/").rpartition("/")[2] or files[0]
    return f"{first} and {len(files) - 1} more" if files[1:] else first


def change(made: Edits) -> str:
    if made.removed and made.added:
        return f"replacing {counted(made.removed)} with {counted(made.added)}"
    if made.removed:
        return f"removing {counted(made.removed)}"
    return f"{'writing' if made.verb == 'Created' else 'adding'} {counted(made.added)}" if made.added else ""


def counted(lines: int) -> str:
    return "1 line" if lines == 1 else f"{lines} lines"


def size(output: str) -> str:
    return counted(len(output.splitlines())) if output else ""


def found(output: str) -> str:
    return f"{counted(len(output.splitlines()))} of results" if output else ""


def sentence(told: str, *more: str, failed: str = "") -> str:
    why = f"failed: {complaint(failed)}" if failed else ""
    return " — ".join(part for part in (told, *more, why) if part)


def complaint(error: str) -> str:
    """The line of an error that says what it was, rather than that there was one."""
    lines = error.splitlines()
    named = [line for line in lines if _NAMED.search(line) and not _VERDICT.search(line)]
    other = [line for line in lines if not _VERDICT.search(line)]
    return shorten(next(iter(named or other or lines), ""), LONGEST)


def last_line(output: str) -> str:
    lines = [line.strip() for line in output[-4000:].splitlines() if line.strip()]
    return shorten(redact(lines[-1]), LONGEST) if lines else ""


def body(given: str, answered: str) -> str:
    parts = (("Input", given), ("Output", answered))
    return "\n".join(f"{name}: {text.strip()}" for name, text in parts if text.strip())


def digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:16]


def tokens(*texts: str) -> int:
    return (sum(map(len, texts)) + 3) // 4
