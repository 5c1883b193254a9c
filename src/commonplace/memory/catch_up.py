"""Catch up: what a server does in the background, done by a program that runs once before it answers a question."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from commonplace.errors import StoreError
from commonplace.memory.embedding_worker import NO_WAIT
from commonplace.memory.graph import link_new_passages
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.search_candidates import embed_waiting, parse_question
from commonplace.model import Scope

# What is embedded before an answer, the newest first, in small steps; the rest waits for the next one, or a server.
EMBED_SECONDS, EMBED_STEP = 0.5, 4
# The same before a question: first what holds its words.
QUESTION_SECONDS, QUESTION_PASSAGES = 2.0, 1_000
# The same for what is made of vectors alone.
TOPIC_SECONDS = 10.0
# What is linked before an answer, in steps of a few passages: about a second of work.
LINK_STEPS = 50


def embed_pending(memory: LocalMemory, seconds: float = EMBED_SECONDS) -> None:
    """Embed what was just written. A store that cannot be written now still answers."""
    with contextlib.suppress(StoreError):
        memory.embeddings.catch_up(batch=EMBED_STEP, seconds=seconds, patience=NO_WAIT)


def embed_for_question(memory: LocalMemory, question: str, scopes: Sequence[Scope]) -> None:
    """Embed what may answer a question, however much was just written."""
    embed_waiting(memory, parse_question(memory, question), scopes, QUESTION_PASSAGES, QUESTION_SECONDS)


def link_pending(memory: LocalMemory, steps: int = LINK_STEPS) -> None:
    """Link what was just written, so that its neighbours are found. A store that cannot be written still answers."""
    with contextlib.suppress(StoreError):
        for _ in range(steps):
            if not link_new_passages(memory):
                break


def embed_and_link(memory: LocalMemory, question: str = "", scope: Scope | None = None) -> None:
    """Both, for questions about past sessions."""
    if question:
        embed_for_question(memory, question, [scope or Scope()])
    else:
        embed_pending(memory)
    link_pending(memory)
