"""How quickly passages are linked, how long a walk takes, and ECM's tools: `python -m benchmarks.run --only graph`."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.client import StdioClient, commonplace_server, median_ms
from benchmarks.corpus import PROJECTS, START_MS, vocabulary
from benchmarks.stores import give_vectors
from commonplace import config
from commonplace.memory.conversations import NewConversation, NewMessage, store_conversations
from commonplace.memory.graph import link_new_passages, walk_links
from commonplace.memory.local_memory import LocalMemory, open_memory
from commonplace.memory.topics import update_topics
from commonplace.text.references import references

SIZE = 100_000
TURNS, AT_ONCE = 40, 25
WALKS, SEEDS, CALLS = 200, 10, 60
FILES, NAMES, ERRORS = 300, 800, 60


@dataclass
class Team:
    """People who work on projects, each with its files, names and errors; some are met far more often than others."""

    chance: random.Random
    words: list[str]

    def conversation(self, number: int) -> NewConversation:
        project = self.chance.randrange(PROJECTS)
        start = START_MS + number * TURNS * 60_000
        messages = [
            NewMessage("assistant" if turn % 2 else "user", self._turn(project, turn), start + turn * 60_000)
            for turn in range(TURNS)
        ]
        continues = {"continued_from": f"talk-{number - 1}"} if number % 5 == 4 else {}
        return NewConversation(
            f"Talk {number}",
            messages,
            project=f"project-{project}",
            key=f"talk-{number}",
            meta=continues,
            started_ms=start,
        )

    def _turn(self, project: int, turn: int) -> str:
        parts = [" ".join(self.chance.choices(self.words, k=25)) + "."]
        parts += [
            f"See src/{self._drawn('part', project, FILES)}/{self._drawn('file', project, 9)}.py:12."
            for _ in range(self.chance.randrange(4))
        ]
        parts += [
            f"It calls {self._drawn('compute', project, NAMES)}Total() there." for _ in range(self.chance.randrange(6))
        ]
        if self.chance.random() < 0.15:
            parts.append(f"\nTypeError: the field {self._drawn('field', project, ERRORS)} is not what it was\n")
        if turn and self.chance.random() < 0.1:
            parts.insert(0, "As we discussed, that error is back.")
        return " ".join(parts)

    def _drawn(self, word: str, project: int, among: int) -> str:
        """Zipf: the first is drawn a hundred times as often as the hundredth."""
        number = min(int(among ** self.chance.random()), among)
        return f"{word}{self.words[(project * 997 + number) % len(self.words)]}"


def talks(passages: int, seed: int = 29) -> Iterator[NewConversation]:
    team = Team(random.Random(seed), vocabulary(20_000))
    return map(team.conversation, range(passages // TURNS))


def figures(folder: Path, size: int = SIZE) -> list[tuple[str, str, str]]:
    """Linking from nothing, step by step as a server does, and walks from ten passages each."""
    data_dir = folder / f"talks-{size}"
    fresh = not (data_dir / "ready").exists()
    memory = open_memory(config.load({"data_dir": str(data_dir), "embedder": "off"}, env={}))
    if fresh:
        _write(memory, size)
        (data_dir / "ready").write_text("", encoding="ascii")
    rows = [_reading(size)]
    steps = _link(memory)
    if steps:
        rate = size / sum(steps)
        rows.append((f"{size:,} passages linked", f"{sum(steps):.1f} s", f"{rate:,.0f}/s"))
        slow = sorted(steps)[int(len(steps) * 0.99)]
        rows.append(("one step of linking, median and 99 %", f"{median_ms(steps):.1f} ms", f"{slow * 1000:.1f} ms"))
    for name, most, depth in (("recall", 10, 3), ("explain", 50, 20)):
        taken = _walks(memory, most, depth)
        worst = sorted(taken)[int(len(taken) * 0.95)]
        what = f"walk from {SEEDS} passages to {most} ({name}), median and 95 %"
        rows.append((what, f"{median_ms(taken):.2f} ms", f"{worst * 1000:.1f} ms"))
    give_vectors(memory)
    while update_topics(memory):
        pass
    memory.close()
    return rows + _tools(data_dir)


def _tools(data_dir: Path) -> list[tuple[str, str, str]]:
    """The three tools over stdio, model warm, asked for words of the talks themselves."""
    chance = random.Random(37)
    messages = [messages.content.split() for talk in talks(4000) for messages in talk.messages]
    questions = [" ".join(chance.sample(words[:40], 4)) for words in chance.sample(messages, CALLS)]
    rows = []
    command, env = commonplace_server(data_dir)
    with StdioClient(command, env) as client:
        client.call("recall", query=questions[0], minScore=0)
        for tool, name, more in (
            ("recall", "query", {"minScore": 0}),
            ("explain", "topic", {}),
            ("predict", "context", {}),
        ):
            taken = []
            for question in questions:
                began = time.perf_counter()
                # Nothing found is an answer too.
                client.request("tools/call", {"name": tool, "arguments": {name: question, **more}})
                taken.append(time.perf_counter() - began)
            worst = sorted(taken)[int(len(taken) * 0.95)]
            rows.append((f"{tool} over stdio, median and 95 %", f"{median_ms(taken):.1f} ms", f"{worst * 1000:.1f} ms"))
    return rows


def _reading(size: int) -> tuple[str, str, str]:
    texts = [messages.content for talk in talks(min(size, 4000)) for messages in talk.messages]
    began = time.perf_counter()
    for text in texts:
        references(text)
    seconds = time.perf_counter() - began
    return (
        f"references of {len(texts):,} passages",
        f"{seconds:.2f} s",
        f"{sum(map(len, texts)) / seconds / 1e6:.1f} MB/s",
    )


def _write(memory: LocalMemory, size: int) -> None:
    batch = []
    for talk in talks(size):
        batch.append(talk)
        if len(batch) == AT_ONCE:
            store_conversations(memory, batch)
            batch = []
    store_conversations(memory, batch)


def _link(memory: LocalMemory) -> list[float]:
    steps = []
    more = True
    while more:
        began = time.perf_counter()
        more = link_new_passages(memory)
        steps.append(time.perf_counter() - began)
    return steps[:-1]


def _walks(memory: LocalMemory, most: int, depth: int) -> list[float]:
    chance = random.Random(31)
    highest = memory.store.counts().passages
    taken = []
    for _ in range(WALKS):
        seeds = {chance.randrange(1, highest): 0.5 + chance.random() / 2 for _ in range(SEEDS)}
        began = time.perf_counter()
        walk_links(memory, seeds, depth=depth, most=most)
        taken.append(time.perf_counter() - began)
    return taken
