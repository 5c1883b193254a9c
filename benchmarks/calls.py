"""One write, one search, one context over stdio, at several sizes of the store."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.client import StdioClient, commonplace_server, median_ms
from benchmarks.corpus import common_questions, questions
from benchmarks.stores import Built, store_of_worlds

CALLS = 60
RULES = 20
ASKED = 200


def writes() -> list[tuple[str, str, str]]:
    """A write acknowledged: durable and found by its words. Decisions are also compared with earlier ones."""
    with tempfile.TemporaryDirectory() as folder:
        command, env = commonplace_server(Path(folder), embedder="off")
        with StdioClient(command, env) as client:
            client.call("add_memory", content="warm up")
            taken: dict[str, list[float]] = {"note": [], "decision": []}
            for number in range(CALLS):
                for type_, seconds in taken.items():
                    text = f"{type_} {number}: retry the upload queue {number} times before giving up on it"
                    began = time.perf_counter()
                    client.call("add_memory", content=text, type=type_, project_id="github.com/acme/my-api")
                    seconds.append(time.perf_counter() - began)
            found = client.call("search", query=f"decision {CALLS - 1}")
            assert found["observations"], "an acknowledged write was not found"
            pings = []
            for _ in range(CALLS):
                began = time.perf_counter()
                client.request("ping")
                pings.append(time.perf_counter() - began)
    base = median_ms(pings)
    rows = [("round trip of a ping", f"{base:.2f} ms", "1.00 x")]
    for type_, seconds in taken.items():
        name = f"one write over stdio, synced to disk: a {type_}"
        rows.append((name, f"{median_ms(seconds):.2f} ms", f"{median_ms(seconds) / base:.1f} x"))
    return rows


def reads(built: Built, smallest: dict[str, float]) -> list[tuple[str, str, str]]:
    """Hybrid search and context with a warm model; ratios are to the smallest store of this run."""
    command, env = commonplace_server(built.data_dir)
    with StdioClient(command, env) as client:
        before = client.megabytes()
        client.call("search", query="warm up the model and the matrix")
        for number in range(RULES):
            # Every other one for some files only. Those of an earlier run are found, not repeated.
            paths = [f"src/part{number}/**"] if number % 2 else []
            client.call("add_memory", content=f"Rule {number} of the house", type="rule", paths=paths)
        kinds: dict[str, list[tuple[str, dict[str, Any]]]] = {
            "search": [("search", {"query": question}) for question in questions(CALLS)],
            "search, asked again": [("search", {"query": question}) for question in questions(CALLS)],
            "search, common words only": [("search", {"query": question}) for question in common_questions(CALLS)],
            "search in a project": [
                ("search", {"query": question, "project": f"project-{n % 50}"})
                for n, question in enumerate(questions(CALLS, seed=17))
            ],
            "context": [("get_context", {"project": f"project-{n % 50}"}) for n in range(CALLS)],
            "context with a query": [
                ("get_context", {"project": f"project-{n % 50}", "query": question})
                for n, question in enumerate(questions(CALLS, seed=19))
            ],
            "rules and relevant memories": [
                ("get_context", {"project_id": f"project-{n % 50}", "query": question, "files": ["src/api/users.ts"]})
                for n, question in enumerate(questions(CALLS, seed=23))
            ],
        }
        rows = []
        for name, calls in kinds.items():
            taken = []
            for tool, arguments in calls:
                began = time.perf_counter()
                client.call(tool, **arguments)
                taken.append(time.perf_counter() - began)
            figure = median_ms(taken)
            base = smallest.setdefault(name, figure)
            rows.append((f"{name} at {built.items:,} items", f"{figure:.1f} ms", f"{figure / base:.1f} x"))
        after = client.megabytes()
    rows.append((f"memory at {built.items:,} items", f"{after:.0f} MB", f"{after / before:.1f} x"))
    return rows


def real_questions(folder: Path, size: int = 10_000) -> list[tuple[str, str, str]]:
    """Questions that people ask, about real notes: hits are read together with them where that helps."""
    built, asked = store_of_worlds(size, folder)
    asked = Random(1).sample(asked, ASKED)
    command, env = commonplace_server(built.data_dir)
    with StdioClient(command, env) as client:
        client.call("search", query="warm up the model and the matrix")
        taken: dict[str, list[float]] = {"a question": [], "the same again": []}
        for seconds in taken.values():
            for question in asked:
                began = time.perf_counter()
                client.call("search", query=question)
                seconds.append(time.perf_counter() - began)
    base = median_ms(taken["the same again"])
    return [
        (f"{name} at {built.items:,} notes", f"{median_ms(seconds):.1f} ms", f"{median_ms(seconds) / base:.1f} x")
        for name, seconds in taken.items()
    ]
