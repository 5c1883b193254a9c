"""The floor: plain BM25 over porter stems, every text a document, nothing of this project but its function words."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import apsw

from benchmarks.dialogues import Dialogue
from commonplace.text.query import plain_words

Ranker = Callable[[str], list[str]]


def by_turn(dialogue: Dialogue, others: Sequence[str], most: int) -> Ranker:
    """Ids of turns, best first, and numbers of other texts that they stand among."""
    numbered = [(text, f"other {number}") for number, text in enumerate(others)]
    return _bm25([(turn.text, turn.id) for turn in dialogue.turns] + numbered, most)


def by_session(dialogue: Dialogue, most: int) -> Ranker:
    """Sessions, best first, each of them one text."""
    whole = {
        key: " ".join(f"{turn.speaker}: {turn.text}" for turn in messages)
        for key, messages in dialogue.sessions.items()
    }
    return _bm25([(text, key) for key, text in whole.items()], most)


def _bm25(texts: list[tuple[str, str]], most: int) -> Ranker:
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE VIRTUAL TABLE texts USING fts5(text, name UNINDEXED, tokenize = 'porter unicode61')")
    connection.executemany("INSERT INTO texts (text, name) VALUES (?, ?)", texts)

    def ranked(question: str) -> list[str]:
        words = [word.surface.replace('"', " ") for word in plain_words(question)]
        match = " OR ".join(f'"{word}"' for word in words)
        found = "SELECT name FROM texts WHERE texts MATCH ? ORDER BY bm25(texts) LIMIT ?"
        return [name for (name,) in connection.execute(found, (match, most))] if match else []

    return ranked
