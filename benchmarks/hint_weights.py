"""What does each sign that a memory answers a prompt count for? `python -m benchmarks.hint_weights`

Fits the weights of memory/prompt_hints.py on worlds of the training set: those of agents, and those of notes, whose
items are in no session. For every question the likeliest few memories are taken with their signals; whether the answer
key names a line that their hint would show is what the weights have to foresee.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from training.worlds import World, read_worlds

from benchmarks.hints import FOREIGN, PROJECT, remember_world
from commonplace import config
from commonplace.memory.local_memory import LocalMemory, open_memory
from commonplace.memory.prompt_hints import KINDS, items_to_show, prompt_question, rank_candidates, signals_of
from commonplace.memory.question import parse_question
from commonplace.memory.recall import recall, recall_scopes
from commonplace.model import Scope

# The likeliest so many memories of a question are learned from.
LEARNED = 3
# How much large weights cost.
PENALTY = 1.0
NAMES = ("OFFSET", "ALONE_OFFSET", "answer", "cosine", "lexical", "support", "rival")
Row = tuple[list[float], bool]


def rows_of(worlds: Sequence[World]) -> Iterator[Row]:
    """The signals of memories, and whether they are relevant, in each world and with some questions of the next."""
    for number, world in enumerate(worlds):
        following = [question for question in worlds[(number + 1) % len(worlds)].questions if question.gold]
        foreign = [replace(question, type="foreign", gold=()) for question in following[::FOREIGN]]
        with tempfile.TemporaryDirectory() as folder:
            memory = open_memory(config.load({"data_dir": folder, "embedder": "builtin"}, env={}))
            lines = remember_world(memory, world)
            memory.embeddings.catch_up()
            recall(memory, "Is everything there?", Scope(), 1)
            for question in (*world.questions, *foreign):
                yield from _rows(memory, lines, question.text, set(question.gold))
            memory.close()
        print(world.name, file=sys.stderr, flush=True)


def _rows(memory: LocalMemory, lines: dict[str, int], prompt: str, gold: set[int]) -> Iterator[Row]:
    question = prompt_question(prompt)
    if not question:
        return
    parsed = parse_question(memory, question)
    (found,) = recall_scopes(memory, parsed, [Scope.around(PROJECT, kinds=KINDS)], 10)
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agents", type=int, default=24, help="how many worlds of agents")
    parser.add_argument("--notes", type=int, default=8, help="how many worlds of notes")
    options = parser.parse_args()
    rows: list[Row] = []
    for kind, most in (("agent", options.agents), ("notes", options.notes)):
        worlds = [world for world in read_worlds() if world.kind == kind and not world.held_out]
        rows += rows_of(worlds[:: max(1, len(worlds) // most)][:most])
    weights = dict(zip(NAMES, fit(rows), strict=True))
    print(f"{len(rows)} memories: " + ", ".join(f"{name} {value:.2f}" for name, value in weights.items()))


if __name__ == "__main__":
    main()
