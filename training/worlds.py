"""Reads worlds: small memories with questions and the lines that answer them (training/README.md)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

FOLDER = Path(__file__).with_name("worlds")
KINDS = ("chat", "assistant", "agent", "notes")
TYPES = (
    *("single", "paraphrase", "time", "list", "update", "infer", "order", "sessions", "instruction", "lazy", "exact"),
    "none",
)

_KIND = re.compile(r"# kind: (\w+)")
_SITTING = re.compile(r"@ (\d{4}-\d{2}-\d{2})")
_LINE = re.compile(r"(\d+) ([^:]{1,60}): (.+)")
_QUESTION = re.compile(r"\? (\w+) \| ([\d, -]+) \| (.+)")


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that was said or noted."""

    number: int
    who: str
    text: str
    day: date


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the numbers of the lines that answer it; none if nothing does."""

    type: str
    gold: tuple[int, ...]
    text: str


@dataclass(slots=True)
class World:
    """One small memory."""

    name: str
    kind: str = ""
    lines: list[Line] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    @property
    def held_out(self) -> bool:
        """Whether it is kept apart for checking."""
        return self.name.endswith("0")


def read_worlds(folder: Path = FOLDER) -> Iterator[World]:
    """Every world of a folder, by name."""
    for path in sorted(folder.glob("*.txt")):
        yield read_world(path.stem, path.read_text(encoding="utf-8"))


def read_world(name: str, text: str) -> World:
    """A world with what is wrong with it in `faults`."""
    world = World(name)
    day: date | None = None
    for number, raw in enumerate(text.splitlines(), 1):
        fault = ""
        if not raw.strip():
            continue
        if kind := _KIND.fullmatch(raw.strip()):
            world.kind = kind[1]
        elif sitting := _SITTING.fullmatch(raw.strip()):
            fault, day = _sitting(sitting[1], day)
        elif line := _LINE.fullmatch(raw):
            if day is None:
                fault = "a line before the first sitting"
            elif int(line[1]) != len(world.lines) + 1:
                fault = f"line {line[1]} where {len(world.lines) + 1} is due"
            else:
                world.lines.append(Line(int(line[1]), line[2], line[3].replace("\\n", "\n"), day))
        elif question := _QUESTION.fullmatch(raw):
            gold = tuple(int(part) for part in question[2].split(",") if part.strip().isdigit())
            world.questions.append(Question(question[1], gold, question[3].strip()))
        else:
            fault = "neither a kind, a sitting, a line nor a question"
        if fault:
            world.faults.append(f"{number}: {fault}")
    world.faults += _faults(world)
    return world


def _sitting(text: str, before: date | None) -> tuple[str, date | None]:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return f"{text} is no day", before
    return ("its day is before that of the sitting above" if before and day < before else ""), day


def _faults(world: World) -> list[str]:
    """What is wrong with a world as a whole."""
    faults = []
    if world.kind not in KINDS:
        faults.append(f"its kind is {world.kind!r}")
    if len({line.day for line in world.lines}) < 2:
        faults.append("it has fewer than two sittings")
    if not 25 <= len(world.lines) <= 120:
        faults.append(f"it has {len(world.lines)} lines")
    if not 15 <= len(world.questions) <= 60:
        faults.append(f"it has {len(world.questions)} questions")
    texts = [question.text.casefold() for question in world.questions]
    faults += [f"asked twice: {text}" for text in sorted({text for text in texts if texts.count(text) > 1})]
    for question in world.questions:
        if question.type not in TYPES:
            faults.append(f"{question.text}: its type is {question.type!r}")
        if (question.type == "none") != (not question.gold):
            faults.append(f"{question.text}: gold and type {question.type} do not agree")
        if any(not 1 <= number <= len(world.lines) for number in question.gold):
            faults.append(f"{question.text}: its gold is not in the world")
        if len(set(question.gold)) != len(question.gold):
            faults.append(f"{question.text}: its gold is named twice")
        if question.type in ("list", "sessions") and len(question.gold) < 2:
            faults.append(f"{question.text}: {question.type} needs several lines")
    return faults
