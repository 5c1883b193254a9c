"""Ingesting for tests: a session as an agent leaves it, and what became of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from commonplace.capture.ingest import Ingest, Ingested
from commonplace.capture.transcripts.reading import read
from commonplace.capture.transcripts.telling import told
from commonplace.memory.book import Book
from commonplace.memory.conversations import find, messages_after
from commonplace.model import Item, Session

from .transcripts.corpus import SESSION, Claude

KEY = f"claude-code:{SESSION}"


def place(folder: Path) -> Path:
    """Where Claude Code would put the session below a folder."""
    return folder / "projects" / "-srv-code-my-api" / f"{SESSION}.jsonl"


def ingest(book: Book, *paths: Path, **more: Any) -> Ingested:
    reading = Ingest(book, **more)
    reading.add(paths, named=True)
    return reading.summary


def session(book: Book, key: str = KEY) -> Session:
    return find(book, key, forgotten=True)


def messages(book: Book, key: str = KEY) -> list[Item]:
    return messages_after(book, key, 10_000)[0]


def talk() -> Claude:
    claude = Claude()
    claude.user("Why does the login test fail?")
    claude.calls("Bash", "t1", command="pytest tests/test_login.py")
    claude.answers("t1", "E   TimeoutError: no answer in 30 s\nexit code: 1", error=True)
    claude.calls("Edit", "t2", file_path="/srv/code/my-api/src/login.py", old_string="30", new_string="60")
    claude.answers("t2", "The file was changed.")
    claude.says("The token server is slow, so I doubled the time it gets.")
    claude.user("Thanks. Now write it down.")
    claude.says("It is in the changelog.")
    return claude


def bodies_at_once(path: Path) -> list[str]:
    """What all messages of a file say."""
    return [said.content for reading in read(path, "claude-code") for turn in reading for said in told(turn)]
