"""Worlds as the product reads them: passages with who spoke and what was said before, questions without names.

`python -m training.examples OUT` writes all of them as JSON, for a machine that has PyTorch but not this package:
the worlds, a third of them once more with their lines joined to long messages, and their translations.
`--dialogues FOLDER` adds dialogues to check on (benchmarks/dialogues.py says how they lie there); `--ranked` adds what
the product itself finds for each question, which takes some minutes.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from commonplace.store.rows import CONTEXT_CHARACTERS, SHORT_MESSAGE, spoken_passage, with_speaker
from commonplace.text.passages import split_passages
from commonplace.text.query import without_names
from training.product_ranking import product_ranking
from training.worlds import FOLDER, Line, Question, World, read_worlds

# Who speaks under these names is not part of what a question may name.
ROLES = ("user", "assistant", "agent", "tool", "system")
# Lines are joined until a message has so many words; every so many-th world is joined.
JOINED_WORDS, JOINED_EVERY = 110, 3
TRANSLATED = FOLDER.with_name("translated")


@dataclass(frozen=True, slots=True)
class ReadPassage:
    """What the model reads of an item: `before` helps to understand it and is not part of its vector."""

    item: int
    text: str
    before: str
    session: int


@dataclass(frozen=True, slots=True)
class ReadQuestion:
    """A question as the model reads it, as it was asked, the items that answer it, and those that the product finds."""

    text: str
    original: str
    type: str
    gold: tuple[int, ...]
    found: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Example:
    """One memory with its questions. `part` is `train`, `check` (with `+` if joined, or a language) or a set's name."""

    name: str
    kind: str
    part: str
    passages: tuple[ReadPassage, ...]
    questions: tuple[ReadQuestion, ...]


def joined(world: World) -> World:
    """A world whose lines are joined to long messages, as people and assistants write them to each other."""
    groups: list[list[Line]] = []
    words = 0
    for line in world.lines:
        if not groups or groups[-1][0].day != line.day or words >= JOINED_WORDS:
            groups.append([])
            words = 0
        groups[-1].append(line)
        words += len(line.text.split())
    number = {line.number: place for place, group in enumerate(groups, 1) for line in group}
    lines = [Line(place, group[0].who, _told(group), group[0].day) for place, group in enumerate(groups, 1)]
    questions = [
        Question(question.type, tuple(sorted({number[line] for line in question.gold})), question.text)
        for question in world.questions
    ]
    return World(world.name, world.kind, lines, questions)


def _told(group: Sequence[Line]) -> str:
    who = group[0].who
    return "\n".join(line.text if line.who == who else f"{line.who}: {line.text}" for line in group)


def from_world(world: World, mark: str = "") -> Example:
    """A world as the product would store and ask it; `mark` tells a joined or translated one from the world itself."""
    lines = [(line.who, line.text, line.day.toordinal()) for line in world.lines]
    names = {line.who for line in world.lines if line.who.casefold() not in ROLES} if world.kind == "chat" else set()
    questions = [
        (question.text, question.type, [number - 1 for number in question.gold]) for question in world.questions
    ]
    part = f"check{mark}" if world.held_out else "train"
    return _example(world.name + mark, world.kind, part, lines, names, questions, spoken=world.kind != "notes")


def from_worlds(*, ranked: bool) -> Iterable[Example]:
    """Every world, joined ones and translations."""
    worlds = list(read_worlds())
    marked = [(world, "") for world in worlds]
    marked += [(joined(world), "+") for n, world in enumerate(worlds) if n % JOINED_EVERY == 0 or world.held_out]
    for folder in sorted(path for path in TRANSLATED.iterdir() if path.is_dir()):
        marked += [(world, f"-{folder.name}") for world in read_worlds(folder)]
    for world, mark in marked:
        example = from_world(world, mark)
        if ranked and not world.held_out:
            found = product_ranking(world)
            example = replace(
                example, questions=tuple(replace(q, found=f) for q, f in zip(example.questions, found, strict=True))
            )
        yield example


def from_dialogues(folder: Path) -> Iterable[Example]:
    """Dialogues of other people, to check on only."""
    from benchmarks.dialogues import sets

    for part, dialogues in sets(folder).items():
        for dialogue in dialogues:
            number = {turn.id: n for n, turn in enumerate(dialogue.turns)}
            sessions = {session: n for n, session in enumerate(dialogue.sessions)}
            lines = [(turn.speaker, turn.text, sessions[turn.session]) for turn in dialogue.turns]
            names = {turn.speaker for turn in dialogue.turns if turn.speaker.casefold() not in ROLES}
            results = [
                (question.text, question.category, [number[id_] for id_ in question.gold if id_ in number])
                for question in dialogue.questions
            ]
            yield _example(dialogue.name, "dialogue", part, lines, names, results, spoken=True)


def _example(
    name: str,
    kind: str,
    part: str,
    lines: Sequence[tuple[str, str, int]],
    names: Iterable[str],
    questions: Iterable[tuple[str, str, Sequence[int]]],
    *,
    spoken: bool,
) -> Example:
    passages = []
    for number, (who, text, session) in enumerate(lines):
        before = ""
        if spoken and len(text) <= SHORT_MESSAGE and number and lines[number - 1][2] == session:
            earlier = lines[number - 1]
            before = with_speaker(earlier[0], earlier[1][-CONTEXT_CHARACTERS:])
        for piece in split_passages(text):
            own = spoken_passage(who, piece.text) if spoken else piece.text
            passages.append(ReadPassage(number, own, before, session))
    named = sorted({part for name in names for part in (name, *name.split())}, key=len, reverse=True)
    results = [
        ReadQuestion(without_names(text, named) or text, text, type_, tuple(gold)) for text, type_, gold in questions
    ]
    return Example(name, kind, part, tuple(passages), tuple(results))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="a file of JSON lines, compressed")
    parser.add_argument("--dialogues", type=Path, help="a folder of dialogues to check on")
    parser.add_argument("--ranked", action="store_true", help="with what the product finds for each question")
    options = parser.parse_args(arguments)
    examples = list(from_worlds(ranked=options.ranked))
    if options.dialogues:
        examples += from_dialogues(options.dialogues)
    with gzip.open(options.out, "wt", encoding="utf-8") as file:
        for example in examples:
            file.write(json.dumps(asdict(example)) + "\n")
    results = sum(len(example.questions) for example in examples)
    print(f"{len(examples)} memories, {results} questions.")


if __name__ == "__main__":
    main()
