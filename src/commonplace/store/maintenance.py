"""What every engine offers to find and clean what should never have been kept, wherever it stands."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from commonplace.model import Draft, Item, Key, Passage, Session, SessionDraft
from commonplace.store.damage import DamagedRow
from commonplace.store.invariants import Invariant

if TYPE_CHECKING:
    from commonplace.store.protocol import Store


RowKey = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class TextRow:
    """A row that holds texts: `mark` tells it from the others of its part, `name` is for people."""

    mark: RowKey
    name: str
    texts: tuple[str, ...]


class Scrubbing(Protocol):
    """Everything of one space that holds words of somebody, part by part. Items are one of the parts."""

    def parts(self) -> Sequence[str]: ...
    # Rows of a part in their order, from a mark on.
    def holders(self, part: str, after: RowKey | None, limit: int) -> list[TextRow]: ...
    # Let rows say what is left of their texts. One that can be made anew, such as an answer, may go altogether.
    def clean_text_rows(self, part: str, marks: Sequence[RowKey], clean: Callable[[str], str]) -> None: ...
    # The same for items: with their passages, words and vectors, and without a history.
    def clean_items(self, marks: Sequence[RowKey], redraft: Callable[[Item], Draft]) -> None: ...
    # Take what was cleaned out of the file itself. False if someone else still reads what was there: try again later.
    def erase_deleted(self) -> bool: ...


Advance = Callable[[int], object]
"""Told how many more items were looked at."""


@dataclass(frozen=True, slots=True)
class Violations:
    """How many rows break an invariant, and a few of them by name."""

    count: int
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FileDamage:
    """What an engine finds wrong with its own files, and what of them can be made anew from the rows.

    `rows`: values that their table does not allow, which a repair replaces by the nearest that it does.
    """

    sentence: str
    cure: Literal["words", "indexes", "rows", ""] = ""


class Integrity(Protocol):
    """Checking one space. Nothing here changes what somebody said; the file is everybody's."""

    # What the rows of this engine have to keep, in the order in which breaches are cured.
    def invariants(self) -> Sequence[Invariant]: ...
    # Of all rows, or of what so many last ones are, for those who have no time.
    def violations(self, kept: Invariant, newest: int | None = None) -> Violations: ...
    # Put some right, where the invariant tells how; how many rows that were.
    def cure(self, kept: Invariant, limit: int) -> int: ...
    def damage(self, *, quick: bool) -> Sequence[FileDamage]: ...
    # Make the indexes of the tables anew.
    def reindex(self) -> None: ...

    # Rows of a part (holders.py) that cannot be read as they should be, of some after a mark, and the last of those.
    def damaged_rows(self, part: str, after: RowKey | None, limit: int) -> tuple[list[DamagedRow], RowKey | None]: ...
    # Live items after an id whose content is not what was written, up to so many looked at, and the last of those.
    def altered_items(self, after: int, limit: int) -> tuple[list[int], int | None]: ...

    # Items in the order of their ids, forgotten ones too; damaged ones as far as they can be read.
    def walk(self, after: int, limit: int) -> list[Item]: ...
    # Items that are not cut into passages as they should be, and cutting one: its passages and their words are new.
    def unsplit_items(self, limit: int) -> list[Item]: ...
    def resplit(self, item_id: int, passages: Sequence[Passage]) -> None: ...
    # Live items whose words in the index are others than their text gives.
    def stale_fts_items(self, advance: Advance) -> list[int]: ...
    def reindex_items(self, item_ids: Sequence[int]) -> None: ...
    # Of some sessions after an id, those that count their messages wrongly, and the last that was looked at.
    def miscounted_sessions(self, after: int, limit: int) -> tuple[list[int], int | None]: ...
    def recount_sessions(self, session_ids: Sequence[int]) -> None: ...

    # A copy of everything, of all spaces, with another key if one is named; unless `checked`, whole or not.
    def backup(self, target: Path, *, to_key: str | None = None, checked: bool = True) -> None: ...


@dataclass(frozen=True, slots=True)
class IndexState:
    """How far the indexes agree with the passages that are searched.

    `wordless` ones cannot be found by words; `vectorless` ones have no vector and do not wait for one, as `waiting`
    ones do; of `given_up` ones none could be made. `stray` rows of an index belong to nothing that is searched.
    """

    passages: int
    wordless: int
    vectorless: int
    waiting: int
    given_up: int
    stray: int


class Upkeep(Protocol):
    """Looking after one space. What is wrong with the file is everybody's."""

    # The version of its tables, asked now; an error if this version of Commonplace cannot work with them.
    def check_schema(self) -> int: ...
    # What a check of the whole file finds wrong, empty if it is well; TimedOut if that takes too long.
    def complaints(self, seconds: float) -> Sequence[str]: ...
    def index_state(self, seconds: float) -> IndexState: ...
    # Drop every word of every space, if the index itself is damaged. Nothing is found by words until they are mended.
    def clear_text_index(self) -> None: ...
    # Write the missing words of some items, and take stray ones away; how many rows that were.
    def repair_text_index(self, limit: int) -> int: ...


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that a space may hold: live items, and bytes of what they say. None: any number."""

    items: int | None = None
    bytes: int | None = None


@dataclass(frozen=True, slots=True)
class SpaceEntry:
    """A space: how much it holds and may hold, and how many keys to it work."""

    name: str
    created_ms: int
    items: int
    bytes: int
    keys: int
    limits: Limits


class Spaces(Protocol):
    """The spaces of the database, seen from one of them."""

    # False if there is one of this name.
    def add_space(self, name: str, now_ms: int, limits: Limits) -> bool: ...

    # All of them, by name; `name` asks for one.
    def spaces(self, now_ms: int, name: str | None = None) -> list[SpaceEntry]: ...

    # False if there is none of this name. What it holds already stays, whatever it may hold now.
    def set_space_limits(self, name: str, limits: Limits) -> bool: ...

    # The spaces with a key whose secret begins so.
    def spaces_of_key(self, prefix: str) -> Sequence[str]: ...

    # The spaces with passages that wait for their links, or for `vectors` that nobody is making.
    def spaces_with_work(self, now_ms: int, *, vectors: bool = True) -> Sequence[str]: ...

    # A store of another space of the same database, to be closed before this one. NotFound if there is none.
    def for_space(self, name: str) -> Store: ...


class Keyring(Protocol):
    """The keys of one space."""

    # The key with the id it was given.
    def add_key(self, key: Key, digest: bytes) -> Key: ...

    # All of them, revoked and expired ones too, the oldest first.
    def all_keys(self) -> list[Key]: ...

    # Those whose secret begins so, with the digests of the whole secrets.
    def keys_with_prefix(self, prefix: str) -> list[tuple[Key, bytes]]: ...

    # The key as it is then; None if there is no such key. A key stays revoked since the first time.
    def revoke_key(self, key_id: int, now_ms: int) -> Key | None: ...
    def touch_key(self, key_id: int, now_ms: int) -> None: ...

    # Written down until the visit would have been over anyway.
    def end_login(self, digest: bytes, until_ms: int, now_ms: int) -> None: ...
    def is_login_ended(self, digest: bytes) -> bool: ...


class Sources(Protocol):
    """How far each file was read, in the words of whoever read it. Sessions are named by their keys."""

    def source_mark(self, path: str) -> Mapping[str, Any] | None: ...
    def save_source_mark(self, path: str, mark: Mapping[str, Any], now_ms: int) -> None: ...

    # The turns of a session in order, each with the one it follows where its messages say so.
    def source_turns(self, key: str) -> list[tuple[str, str | None]]: ...
    # Marks the messages of these turns as left behind by the conversation, and no others.
    def mark_abandoned(self, key: str, turns: Collection[str]) -> None: ...
    # Lets sub-agents of a session know the message that started them, once both are there; how many learnt it.
    def link_sub_agents(self, key: str) -> int: ...


HOOK_DIGEST = "told"
"""In the metadata of a summary or checkpoint that hooks keep up to date: a digest of what they last wrote."""


@dataclass(frozen=True, slots=True)
class CapturedEvent:
    """One event and what becomes of it: an item in a session, or nothing but a number in the tally."""

    event: bytes
    outcome: str
    draft: Draft | None = None


@dataclass(frozen=True, slots=True)
class SessionProgress:
    """Where a session stands: its first prompts, its newest observations oldest first, how many of each type."""

    session: Session
    opening: tuple[Item, ...]
    recent: tuple[Item, ...]
    counts: Mapping[str, int]
    summary: Item | None
    checkpoint: Item | None


class Captures(Protocol):
    """Events of one space."""

    def known_events(self, events: Sequence[bytes]) -> set[bytes]: ...
    # The session of that key as it stands, with so many observations of each end; None if there is none.
    def thread(self, key: str, opening: int, recent: int) -> SessionProgress | None: ...
    # Writes what is new of the events, and lets each session's one summary and checkpoint say what `told` says.
    # Sessions are made, or learn what they did not know. Of events that were taken before nothing is written.
    def capture(
        self, sessions: Sequence[SessionDraft], events: Sequence[CapturedEvent], told: Sequence[Draft], now_ms: int
    ) -> list[bool]: ...
    # How many events became what, since the store exists.
    def captured(self) -> Mapping[str, int]: ...


@dataclass(frozen=True, slots=True)
class BackupContents:
    """What a store or a copy of it holds: how many rows, and the newest item."""

    whole: bool
    schema: int
    counts: Mapping[str, int]
    newest_ms: int | None
    newest_title: str


@dataclass(frozen=True, slots=True)
class BackupDifference:
    """Items that only the store has, only the copy has, or that differ; and a few of those that would go."""

    lost: int
    back: int
    changed: int
    examples: tuple[str, ...]
