"""What the doctor tells of one thing: whether it is well, in a sentence, and what to do if it is not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "remark", "failure"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of an examination.

    A remark is worth knowing and hurts nobody. `fix` is what a person can do; `mend` does it where that is safe, and
    tells what it did.
    """

    area: str
    what: str
    state: State
    sentence: str
    fix: str = ""
    mend: Callable[[], str] | None = None


def well(area: str, what: str, sentence: str) -> Finding:
    return Finding(area, what, "ok", sentence)


def remark(area: str, what: str, sentence: str, fix: str = "", mend: Callable[[], str] | None = None) -> Finding:
    return Finding(area, what, "remark", sentence, fix, mend)


def failure(area: str, what: str, sentence: str, fix: str, mend: Callable[[], str] | None = None) -> Finding:
    return Finding(area, what, "failure", sentence, fix, mend)
