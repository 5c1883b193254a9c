"""Stores of a given size, made through the production path and kept between runs.

Vectors are drawn around random centres instead of embedded, and the token vectors are those of a few texts: at two
hundred texts a second a million would take hours.
Questions are embedded by the real model, so a search does all the work that it does in life.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from training.worlds import read_worlds

from benchmarks.corpus import notes
from commonplace import config
from commonplace.memory.local_memory import LocalMemory, open_memory
from commonplace.memory.remember import NewItem, remember_all

BATCH = 500
CENTRES = 1500
# Texts whose token vectors the passages get.
EMBEDDED = 300


@dataclass(frozen=True)
class Built:
    """A store ready to be asked, and how long it took to write its items (0 if it was there already)."""

    data_dir: Path
    items: int
    ingest_seconds: float


def store_of(size: int, folder: Path) -> Built:
    """A store with `size` items, each with a vector."""
    data_dir = folder / f"store-{size}"
    if (data_dir / "ready").exists():
        return Built(data_dir, size, float((data_dir / "ready").read_text(encoding="ascii")))
    settings = config.load({"data_dir": str(data_dir), "embedder": "off"}, env={})
    memory = open_memory(settings)
    seconds = write(memory, size)
    give_vectors(memory)
    memory.close()
    (data_dir / "ready").write_text(str(seconds), encoding="ascii")
    return Built(data_dir, size, seconds)


def write(memory: LocalMemory, size: int, seed: int = 7) -> float:
    """Write so many items in batches; returns how many seconds that took."""
    started = time.perf_counter()
    batch = []
    for note in notes(size, seed):
        batch.append(note)
        if len(batch) == BATCH:
            remember_all(memory, batch)
            batch = []
    if batch:
        remember_all(memory, batch)
    return time.perf_counter() - started


def give_vectors(memory: LocalMemory) -> None:
    """A vector for each passage that waits for one."""
    from commonplace.embed.model_files import MiniLM

    model = MiniLM()
    chance = np.random.default_rng(3)
    centres = chance.standard_normal((CENTRES, model.dim)).astype(np.float32)
    _, tokens = model.embed_with_tokens([note.content for note in notes(EMBEDDED, seed=11)])
    memory.maintenance.use_model(model.name, model.dim)
    while jobs := memory.maintenance.claim_jobs("bench", 5000, memory.clock(), 600_000):
        made = centres[chance.integers(CENTRES, size=len(jobs))]
        made = made + 0.7 * chance.standard_normal(made.shape).astype(np.float32)
        unit = made / np.linalg.norm(made, axis=1, keepdims=True)
        given = [tokens[number] for number in chance.integers(EMBEDDED, size=len(jobs))]
        memory.maintenance.finish_jobs(jobs, unit, "bench", tokens=given)


def store_of_worlds(size: int, folder: Path) -> tuple[Built, list[str]]:
    """A store with so many lines of the training worlds, embedded by the real model, and questions about them."""
    data_dir = folder / f"worlds-{size}"
    lines: list[str] = []
    asked: list[str] = []
    for world in read_worlds():
        if len(lines) < size:
            lines += [f"{line.who}: {line.text}" for line in world.lines]
            asked += [question.text for question in world.questions if question.gold]
    if not (data_dir / "ready").exists():
        memory = open_memory(config.load({"data_dir": str(data_dir)}, env={}))
        remember_all(memory, [NewItem(text) for text in lines[:size]])
        memory.embeddings.catch_up()
        memory.close()
        (data_dir / "ready").touch()
    return Built(data_dir, min(size, len(lines)), 0.0), asked
