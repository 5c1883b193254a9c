"""The difference between two texts for people to read: changed words within changed lines, with a few lines around."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import takewhile
from typing import Literal

PieceKind = Literal["same", "gone", "new"]

# Lines shown around a change.
AROUND = 2
# Longer texts are not compared line by line or word by word: it would take too long, and be unreadable.
MOST_LINES, MOST_WORDS = 1_000, 1_000
# Passages that share less than this are shown one after the other.
ALIKE = 0.4
# With the blanks after it: alone, they would be found everywhere.
_WORD = re.compile(r"\w+\s*|[^\w\s]\s*|\s+")


@dataclass(frozen=True, slots=True)
class DiffPiece:
    """A part of the text: the same, gone or new."""

    sort: PieceKind
    text: str


@dataclass(frozen=True, slots=True)
class DiffHunk:
    """Lines that belong together, as pieces; or the number of unchanged lines that are left out."""

    pieces: tuple[DiffPiece, ...] = ()
    left_out: int = 0


def diff_texts(old: str, new: str) -> list[DiffHunk]:
    """The difference of two texts; nothing if they are the same."""
    if old == new:
        return []
    before, after = old.split("\n"), new.split("\n")
    start = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False)))
    room = min(len(before), len(after)) - start
    ends = zip(before[::-1][:room], after[::-1][:room], strict=True)
    end = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], ends))
    changed = list(_changed(before[start : len(before) - end], after[start : len(after) - end]))
    return _with_surroundings(before[:start], changed, before[len(before) - end :])


def _changed(before: Sequence[str], after: Sequence[str]) -> Iterator[DiffHunk | list[str]]:
    """Changed stretches, and between them the lines that are the same."""
    if max(len(before), len(after)) > MOST_LINES:
        yield _apart("\n".join(before), "\n".join(after))
        return
    for tag, i, i_end, j, j_end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            yield list(before[i:i_end])
        else:
            yield _compared("\n".join(before[i:i_end]), "\n".join(after[j:j_end]))


def _compared(old: str, new: str) -> DiffHunk:
    """The words that went and came; the whole, where little is the same."""
    before, after = _WORD.findall(old), _WORD.findall(new)
    if not before or not after or max(len(before), len(after)) > MOST_WORDS:
        return _apart(old, new)
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    if matcher.ratio() < ALIKE:
        return _apart(old, new)
    pieces: list[DiffPiece] = []
    for tag, i, i_end, j, j_end in matcher.get_opcodes():
        if tag == "equal":
            pieces.append(DiffPiece("same", "".join(before[i:i_end])))
            continue
        pieces += [DiffPiece("gone", "".join(before[i:i_end]))] if i < i_end else []
        pieces += [DiffPiece("new", "".join(after[j:j_end]))] if j < j_end else []
    return DiffHunk(tuple(pieces))


def _apart(old: str, new: str) -> DiffHunk:
    """What was and what is, on lines of their own."""
    gone = [DiffPiece("gone", old)] if old else []
    border = [DiffPiece("same", "\n")] if old and new else []
    return DiffHunk((*gone, *border, *([DiffPiece("new", new)] if new else [])))


def _with_surroundings(
    head: Sequence[str], changed: Sequence[DiffHunk | list[str]], tail: Sequence[str]
) -> list[DiffHunk]:
    """Changes with a few lines around them; what stands further away is only counted."""
    shown: list[DiffHunk] = []
    between = [one for one in changed if one != []]
    for n, lines in enumerate([list(head), *between, list(tail)]):
        if isinstance(lines, DiffHunk):
            shown.append(lines)
            continue
        before = 0 if n == 0 else AROUND
        after = 0 if n == len(between) + 1 else AROUND
        if len(lines) <= before + after + 1:
            shown += [DiffHunk((DiffPiece("same", "\n".join(lines)),))] if lines else []
            continue
        shown += [DiffHunk((DiffPiece("same", "\n".join(lines[:before])),))] if before else []
        shown.append(DiffHunk(left_out=len(lines) - before - after))
        shown += [DiffHunk((DiffPiece("same", "\n".join(lines[len(lines) - after :])),))] if after else []
    return shown
