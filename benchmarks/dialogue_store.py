"""Dialogues in a store: kept as conversations through `memory_store`, asked through the tools that find.

A session is a conversation. Whoever speaks first is its user; names and times are told with each message.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import commonplace
from benchmarks.dialogues import Dialogue, Turn
from benchmarks.tool_clients import Door, Opening, Refused
from commonplace.errors import NoResults

# What decides what is stored of a text: a store is used again only if none of it changed.
STORING = (
    "text/passages.py",
    "text/tokens.py",
    "embed/*.py",
    "embed/model/build.json",
    "store/rows.py",
    "store/sql/indexing.py",
    "store/sql/item_writes.py",
    "store/sql/items.py",
    "store/sql/vectors.py",
    "memory/conversations.py",
    "memory/embedding_worker.py",
    "memory/draft.py",
)
NAMES = "turns.json"
# How the last part of a message's id is called by `recall`.
SHORT = 12


@dataclass(frozen=True, slots=True)
class Way:
    """One way to ask: a tool, and its options beside the question."""

    name: str
    tool: str
    options: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StoredDialogue:
    """A dialogue behind a door, and what each of its messages is called there."""

    door: Door
    turns: Mapping[str, str]

    def ask(self, way: Way, question: str) -> dict[str, float]:
        """What is told of a question, best first, with its score: turns by their ids, and whatever else by its own."""
        try:
            results = self.door.call(way.tool, query=question, **way.options)["results"]
        except Refused as refused:
            if refused.code != NoResults.code:
                raise
            return {}
        found: dict[str, float] = {}
        for result in results:
            id_ = str(result["chunkId"]).partition("-")[0] if way.tool == "recall" else result["id"][-SHORT:]
            # A long message may be told in several chunks; the first is its place.
            found.setdefault(self.turns.get(id_, id_), result["score" if way.tool == "recall" else "similarity"])
        return found


@contextmanager
def stored_dialogue(
    dialogue: Dialogue, folder: Path, opening: Opening, among: Path | None = None
) -> Iterator[StoredDialogue]:
    """A dialogue in a store of its own, or in a copy of another; made once in a folder, and used again."""
    data_dir = folder / f"{dialogue.name}-{digest(dialogue.turns, among and among.name)}"
    names = data_dir / NAMES
    if among is not None and not names.exists():
        shutil.rmtree(data_dir, ignore_errors=True)
        shutil.copytree(among, data_dir)
    with closing(opening(data_dir)) as door:
        if not names.exists():
            printed = json.dumps(_store(dialogue, door))
            door.until_understood()
            names.write_text(printed, encoding="utf-8")
        yield StoredDialogue(door, json.loads(names.read_text(encoding="utf-8")))


def digest(*given: object) -> str:
    """What tells a store from others: what is put into it, and how."""
    code = Path(commonplace.__file__).parent
    made = hashlib.sha256(repr(given).encode())
    for pattern in STORING:
        for path in sorted(code.glob(pattern)):
            made.update(path.read_bytes())
    return made.hexdigest()[:SHORT]


def _store(dialogue: Dialogue, door: Door) -> dict[str, str]:
    """Store each session, and learn what its messages are called."""
    turns: dict[str, str] = {}
    first: dict[str, str] = {}
    for session, content in dialogue.sessions.items():
        stored = door.call("memory_store", **_conversation(session, content, first))
        messages = door.call("memory_get_context", conversation_id=stored["id"])["messages"]
        turns |= {message["id"][-SHORT:]: turn.id for message, turn in zip(messages, content, strict=True)}
    return turns


def _conversation(session: str, content: Sequence[Turn], first: dict[str, str]) -> dict[str, Any]:
    place = content[0].id.rpartition("/")[0]
    messages = []
    for turn in content:
        user = first.setdefault(place, turn.speaker)
        message = {
            "role": "user" if turn.speaker == user else "assistant",
            "content": turn.text,
            "metadata": {"name": turn.speaker},
        }
        messages.append(message | ({"timestamp": turn.at} if turn.at else {}))
    return {"label": f"Session {session}", "folder": f"/dialogues/{place}", "messages": messages}
