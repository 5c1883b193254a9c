"""What does each sign that a memory answers a prompt count for? `python -m benchmarks.hint_weights`

Fits the weights of memory/hints.py on worlds of the training set: those of agents, and those of notes, whose
items are in no session. For every question the likeliest few memories are taken with their signals; whether the answer
key names a line that their hint would show is what the weights have to foresee. Then it says what each border would do
if one memory is shown: how many prompts get one, how many of those are relevant, how many prompts are served.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from training.worlds import World, read_worlds

from benchmarks.hints import FOREIGN, PROJECT, remember_world
from commonplace import config
from commonplace.memory.hints import KINDS, items_to_show, prompt_question, rank_candidates, signals_of
from commonplace.memory.local_memory import LocalMemory, open_memory
from commonplace.memory.recall import recall
from commonplace.memory.search_candidates import parse_question
from commonplace.model import Scope

# The likeliest so many memories of a question are learned from.
LEARNED = 3
# How much large weights cost.
PENALTY = 1.0
NAMES = ("OFFSET", "ALONE_OFFSET", "answer", "cosine", "lexical", "support", "rival")
BORDERS = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8)
Row = tuple[list[float], bool]


@dataclass(frozen=True, slots=True)
class Prompt:
    """A question, whether something answers it, and its likeliest memories: their signals, and whether they do."""

    answerable: bool
    rows: list[Row]


def prompts_of(worlds: Sequence[World]) -> Iterator[Prompt]:
    """The questions of each world, and some of the next, which nothing there answers."""
    for number, world in enumerate(worlds):
        following = [question for question in worlds[(number + 1) % len(worlds)].questions if question.gold]
        foreign = [replace(question, type="foreign", gold=()) for question in following[::FOREIGN]]
        with tempfile.TemporaryDirectory() as folder:
            memory = open_memory(config.load({"data_dir": folder, "embedder": "builtin"}, env={}))
            lines = remember_world(memory, world)
            memory.embeddings.catch_up()
            recall(memory, "Is everything there?", Scope(), 1)
            for question in (*world.questions, *foreign):
                rows = list(_rows(memory, lines, question.text, set(question.gold)))
                yield Prompt(bool(question.gold), rows)
            memory.close()
        print(world.name, file=sys.stderr, flush=True)


def _rows(memory: LocalMemory, lines: dict[str, int], prompt: str, gold: set[int]) -> Iterator[Row]:
    question = prompt_question(prompt)
    if not question:
        return
    parsed = parse_question(memory, question)
    found = recall(memory, parsed, Scope.around(PROJECT, kinds=KINDS), 10)
    read = [hit for hit in found.hits if hit.answer is not None]
    sessions = {id_: one.id for id_, one in memory.store.sessions_of([hit.item.id for hit in read]).items()}
    for candidate in rank_candidates(memory, parsed, read)[:LEARNED]:
        one = signals_of(candidate.hit, read, sessions)
        alone = one.support is None
        signals = [not alone, alone, one.answer, one.cosine, one.lexical, one.support or 0.0, one.rival]
        shown = items_to_show(memory, candidate, ())
        yield [float(value) for value in signals], any(lines.get(item.short_id) in gold for item in shown)


def fit(rows: Sequence[Row]) -> list[float]:
    """The weights of a logistic regression, by Newton's method."""
    signals, relevant = np.array([row[0] for row in rows]), np.array([row[1] for row in rows], dtype=float)
    weights = np.zeros(signals.shape[1])
    penalty = PENALTY * np.eye(len(weights))
    for _ in range(50):
        chance = 1.0 / (1.0 + np.exp(-signals @ weights))
        slope = signals.T @ (chance - relevant) + penalty @ weights
        bend = (signals * (chance * (1.0 - chance))[:, None]).T @ signals + penalty
        weights -= np.linalg.solve(bend, slope)
    return [float(weight) for weight in weights]


def _borders(prompts: Sequence[Prompt], weights: Sequence[float]) -> Iterator[str]:
    best: list[tuple[float, bool, bool]] = []
    for prompt in prompts:
        scores = [(float(np.dot(signals, weights)), relevant) for signals, relevant in prompt.rows]
        score, relevant = max(scores, default=(-np.inf, False))
        best.append((1.0 / (1.0 + float(np.exp(-score))), relevant, prompt.answerable))
    answerable = sum(prompt.answerable for prompt in prompts)
    for border in BORDERS:
        shown = [relevant for certainty, relevant, _answerable in best if certainty >= border]
        right = sum(shown)
        yield (
            f"{border}: {len(shown) / len(prompts):.2f} per prompt, {right / max(1, len(shown)):.1%} relevant,"
            f" {right / answerable:.1%} served"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agents", type=int, default=24, help="how many worlds of agents")
    parser.add_argument("--notes", type=int, default=8, help="how many worlds of notes")
    options = parser.parse_args()
    found: list[tuple[str, list[Prompt]]] = []
    for kind, most in (("agent", options.agents), ("notes", options.notes)):
        worlds = [world for world in read_worlds() if world.kind == kind and not world.held_out]
        found.append((kind, list(prompts_of(worlds[:: max(1, len(worlds) // most)][:most]))))
    weights = fit([row for _kind, prompts in found for prompt in prompts for row in prompt.rows])
    print(", ".join(f"{name} {value:.2f}" for name, value in zip(NAMES, weights, strict=True)))
    for kind, prompts in found:
        print(f"{kind}: {len(prompts)} prompts", *_borders(prompts, weights), sep="\n  ")


if __name__ == "__main__":
    main()
