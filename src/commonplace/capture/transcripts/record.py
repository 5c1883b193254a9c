"""What a session of a coding agent is made of, whichever product wrote it: a transcript, its turns, their blocks."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Source = Literal["claude-code", "codex", "gemini", "cursor"]
Kind = Literal["text", "thinking", "tool_call", "tool_result", "summary"]
Role = Literal["user", "assistant", "system"]
READERS: Mapping[Source, int] = {"claude-code": 1, "codex": 1, "gemini": 1, "cursor": 1}
"""The version of each reader. One that learns to see more gets the next, and every file is read again."""


@dataclass(frozen=True, slots=True)
class Block:
    """One thing said, thought, asked of a tool or answered by it. `who` tells a person's text from an agent's."""

    kind: Kind
    text: str
    who: Role = "assistant"
    tool: str = ""
    call_id: str = ""
    files: tuple[str, ...] = ()
    command: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """What a person asked, and all that was done until the next question.

    `role` is who began it: a person, the agent (a long turn is cut, a retry stands alone), or the product (a summary).
    `parent` is the turn it follows; where two follow the same one, the conversation branched. `spawned` names the
    sub-agents it started, each with the call that did.
    """

    identity: str
    role: Role
    at_ms: int | None
    blocks: tuple[Block, ...]
    until_ms: int | None = None
    parent: str | None = None
    sidechain: bool = False
    agent_id: str = ""
    model: str = ""
    spawned: tuple[tuple[str, str], ...] = ()

    @property
    def digest(self) -> str:
        """Changes when the turn does; a turn that grew has another one."""
        return named(self.role, self.parent, self.spawned, [asdict(block) for block in self.blocks])


@dataclass(frozen=True, slots=True)
class Transcript:
    """Where turns come from. A sub-agent's names the session and, where known, the call that started it."""

    source: Source
    path: str
    session: str = ""
    folder: str = ""
    branch: str = ""
    remote: str = ""
    title: str = ""
    version: str = ""
    model: str = ""
    started_ms: int | None = None
    agent_id: str = ""
    agent_type: str = ""
    parent_session: str = ""
    parent_call: str = ""
    continued_from: str = ""


@dataclass(frozen=True, slots=True)
class Position:
    """Where to go on: at the beginning of the last turn, since that one may have grown.

    `trail` holds the turns before it, newest last; `links` which turn the records that it hangs from belong to.
    Offsets count the bytes of the text as UTF-8, unpacked, so that they outlive compression.
    """

    transcript: Transcript
    offset: int = 0
    trail: tuple[str, ...] = ()
    links: tuple[tuple[str, str], ...] = ()

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Position:
        return cls(
            Transcript(**data["transcript"]),
            data["offset"],
            tuple(data["trail"]),
            tuple((uuid, turn) for uuid, turn in data["links"]),
        )


@dataclass(slots=True)
class Counts:
    """What one reading met and did not take: told, never fatal."""

    records: int = 0
    malformed: int = 0
    oversize: int = 0
    replaced: int = 0
    """Lines with bytes that are no text; they stand as U+FFFD."""
    unknown: Counter[str] = field(default_factory=Counter)


def named(*parts: object) -> str:
    """A name made of content: the same for the same parts."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


def off_path(lineage: Iterable[tuple[str, str | None]]) -> frozenset[str]:
    """The turns that the conversation left behind, given all (turn, parent) in order: not before its last one."""
    parents = dict(lineage)
    left = set(parents)
    turn = next(reversed(parents), None)
    while turn in left:
        left.discard(turn)
        turn = parents[turn]
    return frozenset(left)
