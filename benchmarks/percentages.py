"""Do the percentages mean something? `python -m benchmarks.percentages [MONTH...] [--each]`

A month is a file in the format of the training worlds, in which `who` is the type of a memory and its project
(`rule@deck-app`; nothing after the `@` is for all projects), or who spoke in a conversation. Its questions are asked
of everything, as `commonplace search` does. What counts is what stands at 50 % or more: the first hit of a question
that is answered, wrong hits beside it, and whether nothing does where nothing answers.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path

from training.worlds import Line, Question, World, read_world

from commonplace import config
from commonplace.memory.conversations import NewConversation, NewMessage, open_conversation, store_conversation
from commonplace.memory.local_memory import LocalMemory, open_memory
from commonplace.memory.recall import Hit, recall
from commonplace.memory.remember import NewItem, remember
from commonplace.model import Scope

MONTHS = tuple(Path(__file__).with_name(name) for name in ("developers_month.txt", "developers_month_blind.txt"))
ROLES = {"user": "user", "agent": "assistant", "tool": "tool"}
LIKELY, FIRST = 0.5, 10


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with its first hits: the line of each, and how likely it answers."""

    question: Question
    hits: tuple[tuple[int, float], ...]

    @property
    def place(self) -> int | None:
        """Where the first right hit stands, from 0."""
        return next((place for place, (line, _share) in enumerate(self.hits) if line in self.question.gold), None)

    @property
    def wrong(self) -> int:
        """How many wrong hits are called likely."""
        return sum(share >= LIKELY and line not in self.question.gold for line, share in self.hits)

    @property
    def is_right_likely(self) -> bool:
        return any(share >= LIKELY and line in self.question.gold for line, share in self.hits)

    @property
    def is_refused(self) -> bool:
        return all(share < LIKELY for _line, share in self.hits)


@contextmanager
def stored(worlds: Sequence[World], folder: str) -> Iterator[tuple[LocalMemory, dict[int, tuple[str, int]]]]:
    """A memory with some worlds, and the world and line of each item by its id."""
    memory = open_memory(config.load({"data_dir": folder, "embedder": "builtin"}, env={}))
    lines: dict[int, tuple[str, int]] = {}
    for world in worlds:
        for who_and_day, group in groupby(world.lines, key=lambda line: (_place(line)[1], line.day)):
            lines |= {id_: (world.name, number) for id_, number in _store(memory, world, who_and_day[0], [*group])}
    memory.embeddings.catch_up()
    try:
        yield memory, lines
    finally:
        memory.close()


def _place(line: Line) -> tuple[str, str]:
    who, _at, project = line.who.partition("@")
    return who, project


def _store(memory: LocalMemory, world: World, project: str, group: Sequence[Line]) -> Iterator[tuple[int, int]]:
    """Store lines of one project and day: what was said as a conversation, everything else as memories."""
    name = project or (None if "@" in group[0].who else world.name)
    day = group[0].day
    began = int(datetime(day.year, day.month, day.day, 9, tzinfo=UTC).timestamp() * 1000)
    said = [line for line in group if _place(line)[0] in ROLES]
    if said:
        messages = [NewMessage(ROLES[_place(line)[0]], line.text, began + 60_000 * n) for n, line in enumerate(said)]
        label = " ".join(said[0].text.split()[:8])
        conversation = store_conversation(memory, NewConversation(label, messages, project=name))
        items = open_conversation(memory, conversation.session.id)[1]
        yield from ((item.id, line.number) for item, line in zip(items, said, strict=True))
    for line in group:
        if line not in said:
            item = NewItem(line.text, "memory", _place(line)[0], project=name, created_ms=began + 1000 * line.number)
            yield remember(memory, item).id, line.number


def ask(memory: LocalMemory, lines: dict[int, tuple[str, int]], world: World) -> list[Asked]:
    """Every question of a world."""

    def hits(question: Question) -> tuple[Hit, ...]:
        return recall(memory, question.text, Scope(), FIRST).hits

    return [
        Asked(question, tuple((lines[hit.item.id][1], hit.relevance) for hit in hits(question)))
        for question in world.questions
    ]


def summary(asked: Sequence[Asked]) -> str:
    answered, refused = [one for one in asked if one.question.gold], [one for one in asked if not one.question.gold]
    first = sum(one.place == 0 for one in answered)
    in_three = sum(one.place is not None and one.place < 3 for one in answered)
    likely = sum(one.is_right_likely for one in answered)
    return (
        f"right first {first} of {len(answered)}, in the first three {in_three}, at 50 % {likely};"
        f" wrong hits at 50 % {sum(one.wrong for one in answered) / max(1, len(answered)):.2f} per question;"
        f" refused {sum(one.is_refused for one in refused)} of {len(refused)} that nothing answers"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("months", type=Path, nargs="*", default=MONTHS)
    parser.add_argument("--each", action="store_true", help="print the first hits of each question")
    options = parser.parse_args()
    for path in options.months:
        world = read_world(path.stem, path.read_text(encoding="utf-8"))
        with tempfile.TemporaryDirectory() as folder, stored([world], folder) as (memory, lines):
            asked = ask(memory, lines, world)
        for one in asked if options.each else ():
            found = ", ".join(f"{line}{'*' * (line in one.question.gold)} {share:.0%}" for line, share in one.hits)
            print(f"{'-' if one.question.gold else 'none'} {one.question.text}\n    {found}")
        print(f"{path.stem}: {summary(asked)}")


if __name__ == "__main__":
    main()
