"""Real files and real processes. Scripts run in an interpreter of their own and speak in lines."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

import pytest

import commonplace

SOURCE = Path(commonplace.__file__).parents[1]
BOUND = 120

# What every script begins with.
PRELUDE = """
import hashlib, os, sys
from pathlib import Path
from commonplace.errors import CommonplaceError
from commonplace.model import ref
from commonplace.model import Draft, Passage, Scope
from commonplace.store.rows import QUERY_COLUMNS
from commonplace.store.sqlite.store import SqliteStore
from commonplace.text.query import parse_query

NOW = 1_742_049_000_000

def draft(body, **more):
    return Draft("memory", "note", "", body, hashlib.sha256(body.encode()).digest(), created_ms=NOW, **more)

def say(*words):
    print(*words, flush=True)

def found(store, query):
    return sorted({hit.item_id for hit in store.search_text(parse_query(query, QUERY_COLUMNS), Scope(), 10_000).hits})

"""


class Run(Protocol):
    def __call__(self, script: str, *arguments: object, package: Path = SOURCE) -> list[str]: ...


class Start(Protocol):
    def __call__(self, script: str, *arguments: object, package: Path = SOURCE) -> subprocess.Popen[str]: ...


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts a script with pipes; whatever still runs at the end of the test is killed."""
    running: list[subprocess.Popen[str]] = []

    def starter(script: str, *arguments: object, package: Path = SOURCE) -> subprocess.Popen[str]:
        running.append(
            subprocess.Popen(
                [sys.executable, "-W", "ignore::DeprecationWarning", "-c", PRELUDE + script, *map(str, arguments)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env={**os.environ, "PYTHONPATH": str(package)},
            )
        )
        return running[-1]

    yield starter
    for process in running:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=BOUND)


@pytest.fixture
def run(start: Start) -> Run:
    """Runs a script to its end and gives its lines; a failure shows what it wrote."""

    def runner(script: str, *arguments: object, package: Path = SOURCE) -> list[str]:
        return finish(start(script, *arguments, package=package))

    return runner


@pytest.fixture
def ended() -> Callable[[subprocess.Popen[str]], list[str]]:
    return finish


def finish(process: subprocess.Popen[str]) -> list[str]:
    out, err = process.communicate(timeout=BOUND)
    assert process.returncode == 0, err
    return out.splitlines()
