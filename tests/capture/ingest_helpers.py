"""Ingesting for tests: a session as an agent leaves it, and what became of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from commonplace.capture.ingest_transcripts import IngestReport, IngestRun
from commonplace.capture.transcripts import read_sessions, turn_messages
from commonplace.memory.conversations import find_session, messages_after
from commonplace.memory.local_memory import LocalMemory
from commonplace.model import Item, Session

from .transcripts.corpus import SESSION, Claude

KEY = f"claude-code:{SESSION}"


def place(folder: Path) -> Path:
    """Where Claude Code would put the session below a folder."""
    return folder / "projects" / "-srv-code-my-api" / f"{SESSION}.jsonl"


def ingest(memory: LocalMemory, *paths: Path, **more: Any) -> IngestReport:
    reading = IngestRun(memory, **more)
    reading.add(paths, named=True)
    return reading.report


def session(memory: LocalMemory, key: str = KEY) -> Session:
    return find_session(memory, key, forgotten=True)


def messages(memory: LocalMemory, key: str = KEY) -> list[Item]:
    return messages_after(memory, key, 10_000)[0]


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
    return [
        message.content
        for reading in read_sessions(path, "claude-code")
        for turn in reading
        for message in turn_messages(turn)
    ]
