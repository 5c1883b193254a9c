"""What the product finds for the questions of a world: the candidates that the cross-encoder will have to read."""

from __future__ import annotations

import tempfile
from pathlib import Path

from training.worlds import World

FOUND = 20


def product_ranking(world: World) -> list[tuple[int, ...]]:
    """For each question the items that a search finds without the cross-encoder, best first, counted from 0."""
    from benchmarks.dialogue_store import Way, stored_dialogue
    from benchmarks.dialogues import of_world
    from benchmarks.tool_clients import Door, InProcess

    def opened(folder: Path) -> Door:
        return InProcess(folder, reranker="off")

    place = {f"L{line.number}": line.number - 1 for line in world.lines}
    way = Way("memory_search", "memory_search", {"limit": FOUND})
    with tempfile.TemporaryDirectory() as folder, stored_dialogue(of_world(world), Path(folder), opened) as store:
        found = [store.ask(way, question.text) for question in world.questions]
    return [tuple(place[id_] for id_ in ids if id_ in place) for ids in found]
