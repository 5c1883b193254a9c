"""Sessions of coding agents, whichever product wrote them: transcripts, turns and blocks, and a builder of turns.

Some products keep them in SQLite files: those are read beside the product, and never touched.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from commonplace.errors import InvalidInput
from commonplace.memory.detect_project import detect_project
from commonplace.text.project_names import normalise_project

if TYPE_CHECKING:
    import apsw

Source = str
"""The name of the host that wrote a session."""
Kind = Literal["text", "thinking", "tool_call", "tool_result", "summary"]
Role = Literal["user", "assistant", "system"]


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
    """What one reading could not use: reported, never fatal."""

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


MAX_TURN = 200_000
"""Characters after which a turn is cut at the next quiet moment: an agent may work for hours on one question."""
_WAITING_FACTOR = 4
"""Times that length, after which it is cut even if a tool has not answered."""
_TRAIL = 50

COMMAND = "command"
"""The tool of a block that is a command to the product itself, such as /clear."""

LookBack = Callable[[], Mapping[str, str]]


def starts_turn(blocks: list[Block]) -> bool:
    """Whether a person said something, or the product started over from a summary."""
    return any(block.who != "assistant" for block in blocks)


@dataclass(slots=True)
class Draft:
    """A turn that may still grow. One of nothing but a command to the product itself is not worth storing."""

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


class Message(NamedTuple):
    """What was said or done at once, in a product that lists messages. `by_user` if a person began a turn with it."""

    name: str
    at_ms: int | None
    blocks: list[Block]
    by_user: bool
    model: str = ""


@dataclass(slots=True)
class MessageSession:
    """A session that its product keeps as messages, read when its turns are asked for, each time from the start."""

    transcript: Transcript
    messages: Iterable[Message]
    counts: Counts = field(default_factory=Counts)

    @property
    def position(self) -> Position:
        return Position(self.transcript)

    def turns(self) -> Iterator[Turn]:
        """What a person said, and all that followed up to what they said next."""
        session, agent = self.transcript.session, self.transcript.agent_id
        draft: Draft | None = None
        for name, at_ms, blocks, by_user, model in self.messages:
            self.counts.records += 1
            if not blocks:
                continue
            if draft is None or by_user:
                parent = draft.identity if draft else None
                if draft:
                    yield draft.done()
                identity = named(session, name or named(parent, at_ms, blocks[0].text))
                draft = Draft(identity, blocks[0].who, at_ms, parent, agent_id=agent)
            for block in blocks:
                draft.add(block)
            draft.touch(at_ms)
            draft.model = model or draft.model
        if draft:
            yield draft.done()


class TurnBuilder:
    """The base of readers for files that only grow: the open turn, its sidechains, and the turn of every record.

    A reader adds `take`, which opens turns by `begin` and fills them by `add`. A new turn closes all that is open, so
    reading can go on from the beginning of the last one and take the same decisions. A link to a record before
    that is looked up by reading the file up to there again, which is rare.
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
        start = self._position
        # The model is the one that this turn began with, not one that was chosen for the next.
        known = replace(self.transcript, model=start.transcript.model)
        return replace(start, transcript=known)

    def begin(self, draft: Draft, offset: int, hangs_from: str = "") -> Iterator[Turn]:
        """Close what is open and open this; its parent is looked up where it hangs from a record."""
        yield from self.close()
        draft.parent = self.worthy(draft.parent)
        links = ((hangs_from, draft.parent),) if hangs_from and draft.parent else ()
        self._position = Position(self.transcript, offset, tuple(self.trail), links)
        self.main = draft

    def begin_sidechain(self, draft: Draft, offset: int) -> None:
        """Open a sidechain of the open turn."""
        if self.main is None and not self.sides:
            self._position = Position(self.transcript, offset, tuple(self.trail))
        self.sides[draft.identity] = draft

    def close(self) -> Iterator[Turn]:
        """The open turns, which are then closed."""
        yield from self.rest()
        if self.main:
            if self.main.worth:
                self.trail = [*self.trail, self.main.identity][-_TRAIL:]
            else:
                self._unworthy[self.main.identity] = self.main.parent
        self.main = None
        self.sides, self.calls, self._pending = {}, {}, set()

    def rest(self) -> Iterator[Turn]:
        """The turns that are still open; the last of them may grow."""
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

    def is_long(self) -> bool:
        """Whether the open turn should be cut here."""
        size = self.main.size if self.main else 0
        return size > MAX_TURN * (_WAITING_FACTOR if self._pending else 1)

    def turn_of(self, uuid: str) -> str | None:
        """The turn that a record belongs to."""
        if uuid and uuid not in self.links and self._look_back:
            self.links = {**self._look_back(), **self.links}
            self._look_back = None
        return self.worthy(self.links.get(uuid))

    def worthy(self, turn: str | None) -> str | None:
        """The turn itself, or what it followed where it was not worth storing."""
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

    def all_links(self) -> Mapping[str, str]:
        """Which turn every record belongs to, when no more are read."""
        for _ in self.close():
            pass
        found = ((uuid, self.worthy(turn)) for uuid, turn in self.links.items())
        return {uuid: turn for uuid, turn in found if turn}


# Where products make worktrees that they delete again: the repository's name is all that is left.
_WORKTREE = re.compile(
    r"(.*?)[/\\]\.(?:claude[/\\])?worktrees[/\\][^/\\]+(?:[/\\].*)?|.*[/\\]\.cursor[/\\]worktrees[/\\]([^/\\]+)[/\\].*",
    re.DOTALL,
)


def transcript_project(transcript: Transcript) -> str | None:
    """The repository around the folder, else the remote that was noted, else the folder's name; None without any.

    A worktree belongs to its repository.
    """
    folder = transcript.folder
    here = Path(folder)
    # A path of another system would be taken for one below the current folder.
    if folder and here.is_absolute() and (found := detect_project(here)):
        return found
    worktree = _WORKTREE.fullmatch(folder)
    for name in (transcript.remote, (worktree[1] or worktree[2]) if worktree else folder):
        try:
            return normalise_project(name)
        except InvalidInput:
            continue
    return None


@contextmanager
def foreign_errors(product: str) -> Iterator[None]:
    """What goes wrong in a product's file is its own, and says what to do."""
    import apsw

    try:
        yield
    except apsw.Error as error:
        raise InvalidInput(
            f"{product}'s database could not be read: {error}.",
            f"Close {product} and try again; its file was not touched.",
        ) from error


def open_for_reading(path: Path) -> apsw.Connection:
    """A connection that takes no lock where it can."""
    import apsw

    # Beside a write-ahead log a reader never blocks the writer. Without one, only `immutable` takes no lock.
    log = path.with_name(f"{path.name}-wal")
    how = "mode=ro" if log.is_file() and log.stat().st_size else "mode=ro&immutable=1"
    return apsw.Connection(f"{path.resolve().as_uri()}?{how}", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
