"""How likely a hit answers: what only resembles the question is no answer, and every door says so in the same words."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from commonplace.config import load
from commonplace.dialects import ecm, kiro, memories, sekha
from commonplace.memory.local_memory import LocalMemory, open_memory
from commonplace.memory.recall import LIKELY, NOTHING_CLEAR, RecallResult, recall
from commonplace.memory.remember import NewItem, remember
from commonplace.model import Scope
from commonplace.web.rendering import load_texts

NOTED = (
    ("rule", "Always use pnpm here, never npm."),
    ("rule", "Never log card numbers, not even masked."),
    ("rule", "Never commit directly to main."),
    ("rule", "Use tofu, not terraform."),
    ("decision", "Amounts are stored as integers in cents, because floats lost money."),
    ("decision", "Production runs on three servers at Hetzner in Falkenstein, for the price."),
    ("decision", "Backups go to a bucket in Helsinki every night at two."),
    ("rejected", "MongoDB for the orders: nobody could say how to join them."),
    ("fact", "Tomas owns the reconciliation and reviews its migrations."),
    ("fact", "The staging database is reset every Sunday."),
)
ANSWERED = (
    ("how do we store amounts of money?", 4),
    ("where does production run?", 5),
    ("who owns the reconciliation?", 8),
    ("where do the backups go?", 6),
)
UNANSWERED = (
    "which framework do we use",
    "what language do we use",
    "which payment provider do we use",
    "When is Tomas on holiday?",
    "Do we use Angular anywhere?",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("likelihood")


@pytest.fixture(scope="module")
def memory(folder: Path) -> Iterator[LocalMemory]:
    opened = open_memory(load({"data_dir": str(folder), "embedder": "builtin"}, env={}))
    for type_, text in NOTED:
        remember(opened, NewItem(text, type=type_))
    opened.embeddings.catch_up()
    yield opened
    opened.close()


def ask(memory: LocalMemory, question: str) -> RecallResult:
    return recall(memory, question, Scope(), 10)


@pytest.mark.parametrize(("question", "answer"), ANSWERED)
def test_what_answers_is_likely_and_what_stands_beside_it_is_not(
    memory: LocalMemory, question: str, answer: int
) -> None:
    found = ask(memory, question)
    assert found.hits[0].item.body == NOTED[answer][1] and found.hits[0].relevance >= LIKELY
    assert all(hit.relevance < LIKELY for hit in found.hits[1:]) and not found.note


@pytest.mark.parametrize("question", UNANSWERED)
def test_a_rule_is_no_answer_to_what_it_does_not_speak_of(memory: LocalMemory, question: str) -> None:
    found = ask(memory, question)
    assert all(hit.relevance < LIKELY for hit in found.hits)
    assert found.note == (NOTHING_CLEAR if found.hits else "")
    assert all("instruction" not in hit.why for hit in found.hits)


def test_likelihoods_fall_in_the_order_of_the_hits(memory: LocalMemory) -> None:
    for question in (*UNANSWERED, *(question for question, _answer in ANSWERED)):
        likely = [hit.relevance for hit in ask(memory, question).hits]
        assert likely == sorted(likely, reverse=True)


def test_a_filter_and_a_search_by_words_alone_say_nothing_of_likelihoods(memory: LocalMemory) -> None:
    assert ask(memory, "framework OR pnpm").note == ""
    hits = ask(memory, UNANSWERED[0])
    assert replace(hits, by_meaning=False).note == ""


def test_the_tools_of_each_dialect_say_that_nothing_clearly_answers(memory: LocalMemory) -> None:
    question = UNANSWERED[0]
    replies = (
        kiro.search(memory, question),
        sekha.memory_search(memory, question),
        ecm.recall(memory, question, min_score=0.0),
    )
    assert [NOTHING_CLEAR in reply.data.get("notice", "") for reply in replies] == [True] * 3
    assert NOTHING_CLEAR in memories.search_memories(memory, question).text
    assert NOTHING_CLEAR not in memories.search_memories(memory, ANSWERED[0][0]).text


def test_the_command_says_it_and_leaves_out_what_hardly_answers(memory: LocalMemory, folder: Path) -> None:
    def command(*arguments: str) -> subprocess.CompletedProcess[str]:
        env = {**os.environ, "COMMONPLACE_DATA_DIR": str(folder), "COMMONPLACE_EMBEDDER": "builtin"}
        line = [sys.executable, "-m", "commonplace", "search", *arguments]
        return subprocess.run(line, env=env, capture_output=True, encoding="utf-8", timeout=60, check=True)

    unclear, clear = command(UNANSWERED[0]), command(ANSWERED[0][0])
    assert NOTHING_CLEAR in unclear.stdout + unclear.stderr
    assert NOTHING_CLEAR not in clear.stdout + clear.stderr and "pnpm" not in clear.stdout
    assert json.loads(command(UNANSWERED[0], "--json").stdout)["note"] == NOTHING_CLEAR


def test_the_dashboard_says_it_in_the_same_words() -> None:
    assert load_texts().search.nothing_clear == NOTHING_CLEAR
