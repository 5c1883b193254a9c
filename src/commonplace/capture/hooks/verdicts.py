"""Verdicts: how a command went, as far as its host, its exit code or a test runner's own words tell; else nothing."""

from __future__ import annotations

import re
from typing import Literal

from commonplace.capture.hooks.adapters.told import exit_code
from commonplace.capture.hooks.concepts import concepts
from commonplace.capture.hooks.event import Event
from commonplace.capture.transcripts.wording import told_exit_code
from commonplace.text.commands import hides_failure

Verdict = Literal["success", "failed", ""]
# Commands whose words about failures are their own, and not those of a file or a log that they show.
_CHECKS = frozenset(("testing", "build", "code-quality", "dependencies"))
_LOOKED_AT = 20_000
_NUMBER = r"(?<![\d.,:/-])[1-9]\d*"
_FAILED = re.compile(
    rf"{_NUMBER} (?:[a-z]+ )?(?:failed|failing|failures?|errors?)\b(?!.{{0,20}}\bfixed)"
    r"|\b(?:Failed|Failures|Errors): {0,8}[1-9]|^FAIL(?:ED|URES)?\b|: FAILED\b|\berror TS\d|\berror\[E\d"
    r"|\bBUILD FAIL(?:ED|URE)\b|\bBuild failed\b|^npm (?:ERR!|error)|^make(?:\[\d+\])?: \*\*\*"
    r"|^error: (?:test failed|could not compile)",
    re.MULTILINE,
)
_PASSED = re.compile(
    rf"{_NUMBER} (?:[a-z]+ )?(?:passed|passing)\b|\btest result: ok\b|^ok\s+\S+\s+(?:[\d.]+s|\(cached\))"
    r"|\bBUILD SUCCESS(?:FUL)?\b|^OK(?: \(|$)|\b0 (?:failures|errors)\b|\bAll checks passed|^Success: no issues",
    re.MULTILINE,
)
_COUNT = re.compile(r"(?<![\d.])(\d{1,7}) (?:[a-z]+ )?(passed|passing|failed|failing|failures?|errors?|examples?)\b")


def verdict(event: Event, line: str, answer: str) -> Verdict:
    """How a command line went, given what it printed. Empty if nothing tells."""
    code = exit_code(event.output)
    if code is None:
        code = told_exit_code(answer)
    if event.failed or code:
        return "failed"
    hidden = hides_failure(line)
    if code == 0 and not hidden:
        return "success"
    if _CHECKS.intersection(concepts(command=line).split(", ")) and (told := _told(answer)):
        return told
    return "success" if event.succeeded and not hidden else ""


def count_line(answer: str) -> str:
    """The line in which a test runner counts: that with failures, else that which counts most; empty if none does."""
    best, found = (0, 0), ""
    for line in answer[-_LOOKED_AT:].splitlines():
        counts = [(int(number), word) for number, word in _COUNT.findall(line[:400])]
        failed = sum(number for number, word in counts if word.startswith(("fail", "error")))
        weight = (failed, sum(number for number, _ in counts))
        if weight > best:
            best, found = weight, line.strip()
    return found


def _told(answer: str) -> Verdict:
    said = answer[-_LOOKED_AT:]
    return "failed" if _FAILED.search(said) else "success" if _PASSED.search(said) else ""
