"""Whole conversations over stdio: stored, read, searched, pruned and counted, with many of them in the store."""

from __future__ import annotations

import itertools
import random
import time
from pathlib import Path
from typing import Any

from benchmarks.client import StdioClient, commonplace_server, median_ms
from benchmarks.corpus import START_MS, questions, vocabulary
from commonplace import config
from commonplace.memory.conversations import NewConversation, NewMessage, store_conversations
from commonplace.memory.local_memory import LocalMemory, open_memory

CALLS = 40
MESSAGES, LONG = 100_000, 1_000
EACH = 50
BATCH = 100


def figures(folder: Path) -> list[tuple[str, str, str]]:
    """Medians over one store; ratios are to reading a conversation of ten messages."""
    data_dir = _store(folder / f"conversations-{MESSAGES}")
    command, env = commonplace_server(data_dir, embedder="off")
    with StdioClient(command, env) as client:
        short = [f"short-{n}" for n in range(CALLS)]
        results = questions(CALLS)
        kinds: dict[str, list[tuple[str, dict[str, Any]]]] = {
            "memory_get_context, 10 messages": [("memory_get_context", {"conversation_id": key}) for key in short],
            f"memory_get_context, {LONG:,} messages": [("memory_get_context", {"conversation_id": "long"})] * CALLS,
            f"memory_export, {LONG:,} messages": [
                ("memory_export", {"conversation_id": "long", "format": "markdown"}),
            ]
            * CALLS,
            "memory_stats": [("memory_stats", {})] * CALLS,
            "memory_stats of a folder": [("memory_stats", {"folder": f"/area-{n % 20}"}) for n in range(CALLS)],
            "memory_search": [("memory_search", {"query": question}) for question in results],
            "memory_search by a label": [
                ("memory_search", {"query": question, "filter_labels": [f"area-{n % 20}"]})
                for n, question in enumerate(results)
            ],
            "memory_prune": [("memory_prune", {})] * (CALLS // 4),
            "memory_store, 10 messages": [("memory_store", _given(n)) for n in range(CALLS)],
        }
        taken = {name: _median(client, calls) for name, calls in kinds.items()}
    base = taken["memory_get_context, 10 messages"]
    return [(f"{name}, of {MESSAGES:,}", f"{ms:.1f} ms", f"{ms / base:.1f} x") for name, ms in taken.items()]


def _median(client: StdioClient, calls: list[tuple[str, dict[str, Any]]]) -> float:
    client.call(calls[0][0], **calls[0][1])
    taken = []
    for tool, arguments in calls:
        began = time.perf_counter()
        client.call(tool, **arguments)
        taken.append(time.perf_counter() - began)
    return median_ms(taken)


def _given(number: int) -> dict[str, Any]:
    """A conversation that was never stored before: told apart by the moment."""
    moment = time.time_ns()
    messages = [{"role": "user", "content": f"{moment} {turn}: retry the upload queue"} for turn in range(10)]
    return {"label": f"Stored {number}", "folder": "/stored", "messages": messages}


def _store(data_dir: Path) -> Path:
    """A store with that many messages, made through the production path and kept between runs."""
    if not (data_dir / "ready").exists():
        memory = open_memory(config.load({"data_dir": str(data_dir), "embedder": "off"}, env={}))
        _fill(memory)
        memory.close()
        (data_dir / "ready").touch()
    return data_dir


def _fill(memory: LocalMemory) -> None:
    chance, words = random.Random(7), vocabulary()
    weights = list(itertools.accumulate(1 / (rank + 1) for rank in range(len(words))))

    def talk(key: str, messages: int, number: int) -> NewConversation:
        start = START_MS + number * 3_600_000
        content = [
            NewMessage(
                "assistant" if turn % 2 else "user",
                " ".join(chance.choices(words, cum_weights=weights, k=40)),
                start + turn,
            )
            for turn in range(messages)
        ]
        folder = f"/area-{number % 20}/topic-{number % 100}"
        return NewConversation(f"Talk {number}", content, folder, importance=number % 11, key=key)

    talks = [("long", LONG), *((f"short-{n}", 10) for n in range(CALLS))]
    rest = MESSAGES - sum(messages for _key, messages in talks)
    talks += [(f"talk-{n}", EACH) for n in range(rest // EACH)]
    for start in range(0, len(talks), BATCH):
        batch = [talk(key, messages, start + n) for n, (key, messages) in enumerate(talks[start : start + BATCH])]
        store_conversations(memory, batch)
