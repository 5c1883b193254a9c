"""Is the score what it says? `python -m benchmarks.calibration FOLDER [--keep STORES]`

FOLDER is laid out as benchmarks/dialogues.py says. Every question is asked of its own dialogue, where the gold turns
among the first ten should score 0.5 or more; of a dialogue of another set, another world, where `recall` should answer
NO_RESULTS; and of another dialogue of the same set, which is near its own. Worlds have questions of their own that
nothing in them answers (`python -m benchmarks.calibration training`). All of it with default settings.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from benchmarks.dialogue_store import StoredDialogue, Way, stored_dialogue
from benchmarks.dialogues import Dialogue, Question, sets
from benchmarks.tool_clients import InProcess

SEARCHED, RECALLED = Way("memory_search", "memory_search"), Way("recall", "recall")
# The best that there is, however bad.
BEST = Way("recall", "recall", {"minScore": 0})
BORDERS = (0.1, 0.2, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.8, 0.9)


@dataclass(frozen=True, slots=True)
class World:
    """A set of dialogues, each in its own store."""

    name: str
    dialogues: Sequence[Dialogue]
    stored_dialogue: Sequence[StoredDialogue]

    def gold(self) -> list[float]:
        """The scores of the gold turns among the first ten for each question."""
        return [
            score
            for dialogue, store in zip(self.dialogues, self.stored_dialogue, strict=True)
            for question in dialogue.questions
            for turn, score in store.ask(SEARCHED, question.text).items()
            if turn in question.gold
        ]

    def own(self, *, answerable: bool) -> list[tuple[StoredDialogue, Question]]:
        """The questions of each dialogue that something in it answers, or those that nothing does."""
        return [
            (store, question)
            for dialogue, store in zip(self.dialogues, self.stored_dialogue, strict=True)
            for question in (dialogue.questions if answerable else dialogue.unanswerable)
        ]

    def strangers(self) -> list[tuple[StoredDialogue, Question]]:
        """The questions of each dialogue with another dialogue of the same set."""
        return [
            (
                self.stored_dialogue[(number + 1 + at % (len(self.stored_dialogue) - 1)) % len(self.stored_dialogue)],
                question,
            )
            for number, dialogue in enumerate(self.dialogues)
            for at, question in enumerate(dialogue.questions)
            if len(self.stored_dialogue) > 1
        ]

    def visitors(self, other: World) -> list[tuple[StoredDialogue, Question]]:
        """This set's questions, each with a dialogue of another, in turn."""
        questions = [question for dialogue in self.dialogues for question in dialogue.questions]
        return [
            (other.stored_dialogue[at % len(other.stored_dialogue)], question) for at, question in enumerate(questions)
        ]


def best(results: Sequence[tuple[StoredDialogue, Question]]) -> list[float]:
    """The best score that each question gets; 0 if nothing is found at all."""
    return [max(store.ask(BEST, question.text).values(), default=0.0) for store, question in results]


def refused(results: Sequence[tuple[StoredDialogue, Question]]) -> float:
    """The share of the questions that `recall` answers with NO_RESULTS by default."""
    return sum(not store.ask(RECALLED, question.text) for store, question in results) / len(results)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--keep", type=Path, help="where the stores are kept for the next run")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary, ExitStack() as stack:
        work = options.keep or Path(temporary)
        worlds = [
            World(
                name,
                dialogues,
                [stack.enter_context(stored_dialogue(one, work / name, InProcess)) for one in dialogues],
            )
            for name, dialogues in sets(options.folder).items()
        ]
        foreign = {
            f"{one.name} of {other.name}": one.visitors(other) for one in worlds for other in worlds if one != other
        }
        near = {
            f"{world.name} of another {world.name}": world.strangers()
            for world in worlds
            if len(world.stored_dialogue) > 1
        }
        table("Gold turns among the first ten that are kept", {world.name: world.gold() for world in worlds})
        table("Own questions with a hit", {world.name: best(world.own(answerable=True)) for world in worlds})
        without = {world.name: world.own(answerable=False) for world in worlds if world.own(answerable=False)}
        for title, results in (
            ("Questions that nothing answers", without),
            ("Questions of another world", foreign),
            ("Questions of another dialogue", near),
        ):
            table(f"{title} that are refused", {name: best(pairs) for name, pairs in results.items()}, below=True)
        print("\nAnswered with NO_RESULTS by `recall` as it is called without options:")
        for name, pairs in (without | foreign | near).items():
            print(f"- {name}: {refused(pairs):.1%} of {len(pairs)}")


def table(title: str, scores: Mapping[str, Sequence[float]], *, below: bool = False) -> None:
    """For each border the share of the scores that reach it, or that stay below."""
    print(f"\n### {title}\n")
    print("| border | " + " | ".join(f"{name} ({len(values)})" for name, values in scores.items()) + " |")
    print("|---|" + "---|" * len(scores))
    for border in BORDERS:
        reached = [sum(score >= border for score in values) / max(1, len(values)) for values in scores.values()]
        cells = [f"{1 - share if below else share:.1%}" for share in reached]
        print(f"| {border:.2f} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
