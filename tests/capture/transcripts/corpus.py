"""Sessions like those that coding agents write, made by hand: every shape of record that the readers know."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from commonplace.capture.transcripts import FileReading
from commonplace.hosts.transcript import Position, Source, Turn

Record = dict[str, Any]
SESSION = "0a1b2c3d-1111-4222-8333-444455556666"
FOLDER = "/srv/code/my-api"


def write(path: Path, records: Iterable[Record]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(jsonl(records))
    return path


def jsonl(records: Iterable[Record]) -> bytes:
    return b"".join(json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in records)


def reading(path: Path, source: Source, position: Position | None = None) -> tuple[list[Turn], FileReading]:
    """All turns of a file, and the reading that gave them."""
    one = FileReading(path, source, position)
    return list(one), one


def texts(turn: Turn) -> list[tuple[str, str]]:
    return [(block.kind, block.text) for block in turn.blocks]


class Claude:
    """A session of Claude Code as it grows; each record hangs from the last one unless it is told otherwise."""

    def __init__(self, session: str = SESSION) -> None:
        self.records: list[Record] = []
        self.session, self._minute = session, 0
        self._last: str | None = None

    def add(self, kind: str, **more: Any) -> str:
        self._minute += 1
        uuid = f"u{len(self.records):03}"
        record = {
            "parentUuid": self._last,
            "isSidechain": False,
            "cwd": FOLDER,
            "sessionId": self.session,
            "version": "2.1.0",
            "gitBranch": "main",
            "type": kind,
            "uuid": uuid,
            "timestamp": f"2026-03-15T{10 + self._minute // 60:02}:{self._minute % 60:02}:00.000Z",
            **more,
        }
        self.records.append(record)
        self._last = uuid
        return uuid

    def user(self, content: Any, **more: Any) -> str:
        return self.add("user", message={"role": "user", "content": content}, **more)

    def assistant(self, *content: Any, **more: Any) -> str:
        return self.add(
            "assistant", message={"role": "assistant", "model": "claude-x", "content": list(content)}, **more
        )

    def says(self, text: str, **more: Any) -> str:
        return self.assistant({"type": "text", "text": text}, **more)

    def calls(self, name: str, call_id: str, **given: Any) -> str:
        return self.assistant({"type": "tool_use", "id": call_id, "name": name, "input": given})

    def answers(self, call_id: str, content: Any, error: bool = False, **more: Any) -> str:
        part = {"type": "tool_result", "tool_use_id": call_id, "content": content, "is_error": error}
        return self.user([part], **more)


def item(minute: int, kind: str, **payload: Any) -> Record:
    """A line of a Codex rollout: an item of the model's conversation."""
    return line(minute, "response_item", type=kind, **payload)


def event(minute: int, kind: str, **payload: Any) -> Record:
    return line(minute, "event_msg", type=kind, **payload)


def line(minute: int, outer: str, **payload: Any) -> Record:
    return {"timestamp": f"2026-03-15T10:{minute:02}:00.000Z", "type": outer, "payload": payload}


def question_records(minute: int, text: str) -> list[Record]:
    """A question, told twice as Codex does."""
    content = [{"type": "input_text", "text": text}]
    return [item(minute, "message", role="user", content=content), event(minute, "user_message", message=text)]


def replied(minute: int, text: str) -> list[Record]:
    content = [{"type": "output_text", "text": text}]
    return [event(minute, "agent_message", message=text), item(minute, "message", role="assistant", content=content)]


def codex_meta(**more: Any) -> Record:
    git = {"branch": "main", "repository_url": "https://user:secret@github.com/acme/my-api.git"}
    return line(0, "session_meta", id=SESSION, timestamp="2026-03-15T10:00:00Z", cwd=FOLDER, git=git, **more)
