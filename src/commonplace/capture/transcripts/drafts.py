"""Turns while they are being read, for the formats that only append: what is open, and where to go on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from commonplace.capture.transcripts.record import Block, Counts, Position, Role, Transcript, Turn, named

MAX_TURN = 200_000
"""Characters after which a turn is cut at the next quiet moment: an agent may work for hours on one question."""
_PATIENCE = 4
"""Times that length, after which it is cut even if a tool has not answered."""
_TRAIL = 50

COMMAND = "command"
"""The tool of a block that is a command to the product itself, such as /clear."""

LookBack = Callable[[], Mapping[str, str]]


def starts_turn(blocks: list[Block]) -> bool:
    """Whether a person said something, or the product began anew from a summary."""
    return any(block.who != "assistant" for block in blocks)


@dataclass(slots=True)
class Draft:
    """A turn that may still grow. One of nothing but a command to the product itself is not worth keeping."""

    identity: str
    role: Role
    at_ms: int | None
    parent: str | None = None
    sidechain: bool = False
    agent_id: str = ""
    model: str = ""
    until_ms: int | None = None
    blocks: list[Block] = field(default_factory=list)
    spawned: dict[str, str] = field(default_factory=dict)
    size: int = 0

    def add(self, block: Block) -> None:
        self.blocks.append(block)
        self.size += len(block.text)

    def touch(self, at_ms: int | None) -> None:
        if at_ms is not None:
            self.until_ms = max(at_ms, self.until_ms or at_ms)

    @property
    def worth(self) -> bool:
        return any(block.tool != COMMAND for block in self.blocks)

    def done(self) -> Turn:
        return Turn(
            self.identity,
            self.role,
            self.at_ms,
            tuple(self.blocks),
            self.until_ms,
            self.parent,
            self.sidechain,
            self.agent_id,
            self.model,
            tuple(sorted(self.spawned.items())),
        )


class Desk:
    """The open turn, the sidechains beside it, and which turn every record belongs to.

    A new turn closes all that is open, so reading can go on from the beginning of the last one and take the same
    decisions. A link to a record before that is looked up by reading the file up to there again, which is rare.
    """

    def __init__(self, position: Position, look_back: LookBack) -> None:
        self.transcript = position.transcript
        self.counts = Counts()
        self.trail = list(position.trail)
        self.links = dict(position.links)
        self.main: Draft | None = None
        self.sides: dict[str, Draft] = {}
        self.calls: dict[str, str] = {}
        self._pending: set[str] = set()
        self._unworthy: dict[str, str | None] = {}
        self._look_back: LookBack | None = look_back if position.offset else None
        self._position = position

    @property
    def position(self) -> Position:
        """Where the last turn begins, with all that is known about the transcript by now."""
        kept = self._position
        # The model is the one that this turn began with, not one that was chosen for the next.
        known = replace(self.transcript, model=kept.transcript.model)
        return replace(kept, transcript=known)

    def begin(self, draft: Draft, offset: int, hangs_from: str = "") -> Iterator[Turn]:
        """Close what is open and open this; its parent is looked up where it hangs from a record."""
        yield from self.close()
        draft.parent = self.worthy(draft.parent)
        links = ((hangs_from, draft.parent),) if hangs_from and draft.parent else ()
        self._position = Position(self.transcript, offset, tuple(self.trail), links)
        self.main = draft

    def beside(self, draft: Draft, offset: int) -> None:
        """Open a sidechain of the open turn."""
        if self.main is None and not self.sides:
            self._position = Position(self.transcript, offset, tuple(self.trail))
        self.sides[draft.identity] = draft

    def close(self) -> Iterator[Turn]:
        """The open turns, which are then closed."""
        yield from self.open_turns()
        if self.main:
            if self.main.worth:
                self.trail = [*self.trail, self.main.identity][-_TRAIL:]
            else:
                self._unworthy[self.main.identity] = self.main.parent
        self.main = None
        self.sides, self.calls, self._pending = {}, {}, set()

    def open_turns(self) -> Iterator[Turn]:
        for draft in (self.main, *self.sides.values()):
            if draft and draft.worth:
                yield draft.done()

    def add(self, draft: Draft, block: Block, at_ms: int | None) -> None:
        """Write a block; a result gets the name of its tool from the call."""
        if block.kind == "tool_call" and block.call_id:
            self.calls[block.call_id] = block.tool
            self._pending.add(block.call_id)
        elif block.kind == "tool_result":
            self._pending.discard(block.call_id)
        draft.add(block)
        draft.touch(at_ms)

    def long(self) -> bool:
        """Whether the open turn should be cut here."""
        size = self.main.size if self.main else 0
        return size > MAX_TURN * (_PATIENCE if self._pending else 1)

    def turn_of(self, uuid: str) -> str | None:
        """The turn that a record belongs to."""
        if uuid and uuid not in self.links and self._look_back:
            self.links = {**self._look_back(), **self.links}
            self._look_back = None
        return self.worthy(self.links.get(uuid))

    def worthy(self, turn: str | None) -> str | None:
        """The turn itself, or what it followed where it was not worth keeping."""
        while turn in self._unworthy:
            turn = self._unworthy[turn]
        return turn

    def is_open(self, turn: str | None) -> bool:
        return turn is not None and (turn in self.sides or (self.main is not None and self.main.identity == turn))

    @property
    def last(self) -> str | None:
        """The newest turn, for formats in which each simply follows the one before."""
        if self.main and self.main.worth:
            return self.main.identity
        return self.trail[-1] if self.trail else None

    def name_of(self, *parts: object) -> str:
        """An identity for a turn that its product gave none."""
        return named(self.transcript.session, *parts)


class AtDesk:
    """A reader of a format that only appends: it keeps its open turns on a desk."""

    def __init__(self, position: Position, look_back: LookBack) -> None:
        self.desk = Desk(position, look_back)

    @property
    def counts(self) -> Counts:
        return self.desk.counts

    @property
    def transcript(self) -> Transcript:
        return self.desk.transcript

    @property
    def position(self) -> Position:
        return self.desk.position

    def rest(self) -> Iterator[Turn]:
        """The turns that are still open; the last of them may grow."""
        return self.desk.open_turns()

    def links(self) -> Mapping[str, str]:
        """Which turn every record belongs to, when no more are read."""
        for _ in self.desk.close():
            pass
        found = ((uuid, self.desk.worthy(turn)) for uuid, turn in self.desk.links.items())
        return {uuid: turn for uuid, turn in found if turn}
