"""Phrases: how observations say what happened: counts, outcomes, names of files, the gist of a command line."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping

from commonplace.capture.hooks.arguments import Edits
from commonplace.capture.hooks.verdicts import count_line
from commonplace.text.commands import telling_part
from commonplace.text.redact import redact
from commonplace.text.summarise import shorten

LONGEST = 150
_VERDICT = re.compile(r"exit(?:ed with)? (?:code|status)|={4}|-{4}|_{4}", re.IGNORECASE)
_NAMED = re.compile(r"(?:Error|Exception)\b|\b(?:error|fatal|panic)(?:\[\w+\])?:|\berror \w+\d+:")
_WORDS = re.compile(r"[^\W\d_]{2}")


def brief(command: str) -> str:
    """A command line as a title: its first part that does something, without where its output goes."""
    return shorten(redact(telling_part(command)), 60)


def names(files: tuple[str, ...]) -> str:
    if not files:
        return "a file"
    first = files[0].rstrip("/").replace("\\", "/").rpartition("/")[2] or files[0]
    return f"{first} and {len(files) - 1} more" if files[1:] else first


def several(verbs: Mapping[str, str]) -> str:
    """What was done to files, if it differs: `Modified a.ts, created b.ts`."""
    alike = {verb: tuple(file for file, done in verbs.items() if done == verb) for verb in verbs.values()}
    told = ", ".join(f"{verb.lower()} {names(files)}" for verb, files in alike.items())
    return told[:1].upper() + told[1:] if len(alike) > 1 else ""


def change(made: Edits) -> str:
    if made.removed and made.added:
        return f"replacing {counted(made.removed)} with {counted(made.added)}"
    if made.removed:
        return f"removing {counted(made.removed)}"
    return f"{'writing' if made.verb == 'Created' else 'adding'} {counted(made.added)}" if made.added else ""


def counted(lines: int) -> str:
    return "1 line" if lines == 1 else f"{lines} lines"


def size(lines: int) -> str:
    return counted(lines) if lines else ""


def found(lines: int) -> str:
    return f"{counted(lines)} of results" if lines else ""


def sentence(told: str, *more: str, failed: str = "") -> str:
    why = f"failed: {complaint(failed)}" if failed else ""
    return " — ".join(part for part in (told, *more, why) if part)


def complaint(error: str) -> str:
    """The line of an error that says what it was, rather than that there was one."""
    lines = error.splitlines()
    named = [line for line in lines if _NAMED.search(line) and not _VERDICT.search(line)]
    other = [line for line in lines if not _VERDICT.search(line)]
    return shorten(next(iter(named or other or lines), ""), LONGEST)


def telling_line(output: str) -> str:
    """The line of an output that says most: what a test runner counted, else the last one that has words."""
    lines = [line.strip() for line in output[-4000:].splitlines() if line.strip() and not _VERDICT.search(line)]
    worded = (line for line in reversed(lines) if _WORDS.search(line))
    last = next(worded, lines[-1] if lines and any(map(str.isalnum, lines[-1])) else "")
    return shorten(count_line(output) or last, LONGEST)


def body(given: str, answered: str) -> str:
    parts = (("Input", given), ("Output", answered))
    return "\n".join(f"{name}: {text.strip()}" for name, text in parts if text.strip())


def digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:16]


def tokens(*texts: str) -> int:
    return (sum(map(len, texts)) + 3) // 4
