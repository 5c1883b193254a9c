"""`StoreMaintenance` is what concerns a whole store: keys, spaces, capture, background work, checks and scrubbing.

A key that is limited to one project reaches none of it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from commonplace.model import Draft, Item, Key, Passage, Session, SessionDraft
from commonplace.store.damaged_values import DamagedRow
from commonplace.store.invariants import Invariant
from commonplace.store.records import Peer
from commonplace.store.types import BuiltTopics, FindReferences, Job, TopicMember, TopicPoints

if TYPE_CHECKING:
    from commonplace.store.protocol import Store
    from commonplace.store.types import Vector

RowKey = tuple[Any, ...]
ReportProgress = Callable[[int], object]
"""Called with the number of items checked since the last call."""
HOOK_DIGEST = "told"
"""In the metadata of a summary or checkpoint that hooks keep up to date: a digest of what they last wrote."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that a space may hold: live items, and bytes of their content. None: any number."""

    items: int | None = None
    bytes: int | None = None


@dataclass(frozen=True, slots=True)
class SpaceEntry:
    """A space: how much it holds and may hold, and how many of its keys work."""

    name: str
    created_ms: int
    items: int
    bytes: int
    keys: int
    limits: Limits


class CapturedEvent(NamedTuple):
    """One event and what becomes of it: an item in a session, or only a number in the statistics."""

    event: bytes
    outcome: str
    draft: Draft | None = None


class SessionProgress(NamedTuple):
    """How far a session is: its first prompts, its newest observations oldest first, and how many of each type."""

    session: Session
    opening: tuple[Item, ...]
    recent: tuple[Item, ...]
    counts: Mapping[str, int]
    summary: Item | None
    checkpoint: Item | None


class TextRow(NamedTuple):
    """A row with texts: `key` identifies it in its table, `name` is for people."""

    key: RowKey
    name: str
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Violations:
    """How many rows violate an invariant, and a few of them by name."""

    count: int
    examples: tuple[str, ...]


class FileDamage(NamedTuple):
    """What an engine finds wrong with its own files, and what of them can be rebuilt from the rows.

    `rows`: values that their table does not allow, which a repair replaces by the nearest allowed ones.
    """

    sentence: str
    repair: Literal["words", "indexes", "rows", ""] = ""


@dataclass(frozen=True, slots=True)
class IndexState:
    """How far the indexes agree with the passages that are searched.

    `wordless` ones cannot be found by words; `vectorless` ones have no vector and do not wait for one, as `waiting`
    ones do; for `given_up` ones none could be made. `stray` rows of an index belong to nothing that is searched.
    """

    passages: int
    wordless: int
    vectorless: int
    waiting: int
    given_up: int
    stray: int


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
    """Items that only the store has, only the copy has, or that differ; and a few of those that would be lost."""

    lost: int
    back: int
    changed: int
    examples: tuple[str, ...]


class AccessStore(Protocol):
    """Keys, logins and spaces. Secrets are stored as digests only; of other spaces only names and numbers show."""

    # The key with its new id.
    def add_key(self, key: Key, digest: bytes) -> Key: ...
    # All of them, revoked and expired ones too, the oldest first.
    def all_keys(self) -> list[Key]: ...
    # Those whose secret begins so, with the digests of the whole secrets.
    def keys_with_prefix(self, prefix: str) -> list[tuple[Key, bytes]]: ...
    # The key as it is then; None if there is no such key. A key stays revoked since the first time.
    def revoke_key(self, key_id: int, now_ms: int) -> Key | None: ...
    def touch_key(self, key_id: int, now_ms: int) -> None: ...
    # Remembered until the login would have expired anyway.
    def end_login(self, digest: bytes, until_ms: int, now_ms: int) -> None: ...
    def is_login_ended(self, digest: bytes) -> bool: ...

    # False if there is a space of this name.
    def add_space(self, name: str, now_ms: int, limits: Limits) -> bool: ...
    # All of them, by name; `name` asks for one.
    def spaces(self, now_ms: int, name: str | None = None) -> list[SpaceEntry]: ...
    # False if there is none of this name. What it holds already stays, whatever the limits are now.
    def set_space_limits(self, name: str, limits: Limits) -> bool: ...
    # The spaces with a key whose secret begins so.
    def spaces_of_key(self, prefix: str) -> Sequence[str]: ...
    # The spaces with passages that wait for their links, or for `vectors` that nobody is making.
    def spaces_with_work(self, now_ms: int, *, vectors: bool = True) -> Sequence[str]: ...
    # A store of another space of the same database, to be closed before this one. NotFound if there is none.
    def for_space(self, name: str) -> Store: ...
    def alias_project(self, name: str, alias: str) -> None: ...
    # How far another space has been read and sent to, in a sync.
    def peer(self, uid: str, extent: str) -> Peer: ...
    def note_peer(self, uid: str, extent: str, peer: Peer) -> None: ...


class CaptureStore(Protocol):
    """What hooks and readers of transcripts write, each event once, and how far each file was read."""

    def known_events(self, events: Sequence[bytes]) -> set[bytes]: ...
    # The session of that key, with so many of its first and newest observations; None if there is none.
    def session_progress(self, key: str, opening: int, recent: int) -> SessionProgress | None: ...
    # Writes new events, and updates each session's one summary and checkpoint. Sessions are created, or completed
    # by what they did not know. Nothing is written for events that were captured before.
    def capture_events(
        self,
        sessions: Sequence[SessionDraft],
        events: Sequence[CapturedEvent],
        summaries: Sequence[Draft],
        now_ms: int,
    ) -> list[bool]: ...

    # Sessions are named by their keys.
    def source_mark(self, path: str) -> Mapping[str, Any] | None: ...
    # Those whose path begins so, by their paths.
    def source_marks(self, beginning: str) -> dict[str, Mapping[str, Any]]: ...
    def save_source_mark(self, path: str, mark: Mapping[str, Any], now_ms: int) -> None: ...
    # The turns of a session in order, each with the one it follows where its messages say so.
    def source_turns(self, key: str) -> list[tuple[str, str | None]]: ...
    # Marks the messages of these turns as abandoned by the conversation, and no others.
    def mark_abandoned(self, key: str, turns: Collection[str]) -> None: ...
    # Links sub-agents of a session to the message that started them, once both are there; how many were linked.
    def link_sub_agents(self, key: str) -> int: ...


class BackgroundStore(Protocol):
    """Work that is done after the writing: vectors, links and topics. StoreBusy after `patience` seconds, if given."""

    def use_model(self, name: str, dim: int, patience: float | None = None) -> None: ...
    def claim_jobs(
        self, owner: str, limit: int, now_ms: int, lease_ms: int, patience: float | None = None
    ) -> list[Job]: ...
    # Without an owner, whoever holds the jobs: the vectors of a passage are the same, whoever makes them. `tokens` are
    # their token vectors, none if the model makes none.
    def finish_jobs(
        self,
        jobs: Sequence[Job],
        vectors: Vector,
        owner: str | None,
        patience: float | None = None,
        tokens: Sequence[bytes] = (),
    ) -> int: ...
    def release_jobs(self, jobs: Sequence[Job], owner: str, error: str, patience: float | None = None) -> None: ...
    # Begin a search by this vector of a question, in another thread than the one that will ask for it.
    def scan_ahead(self, query: Vector) -> None: ...
    # Every searched passage waits for its vector again; the one it has stays until then. How many wait.
    def requeue_embeddings(self) -> int: ...

    # Link up to `limit` passages that were written since the last time, in their order. How many were done: none also
    # when another process did them first. StoreBusy if others are writing.
    def link(self, limit: int, find_references: FindReferences, now_ms: int) -> int: ...

    def topic_points(self, place: int, after: int, limit: int) -> TopicPoints: ...
    def built_topics(self, place: int) -> BuiltTopics | None: ...
    def topic_members(self, place: int) -> Mapping[int, int]: ...
    # Passages up to `last` were looked at, and these belong to centres of `known`. False if another process was first.
    def extend_topics(self, place: int, known: BuiltTopics, members: Sequence[TopicMember], last: int) -> bool: ...
    # Only who claimed a place rebuilds it, all at once: topics that are not among the centres are gone.
    def claim_topics(self, place: int, owner: str, now_ms: int, lease_ms: int) -> bool: ...
    def replace_topics(
        self,
        place: int,
        owner: str,
        built: BuiltTopics,
        members: Sequence[TopicMember],
        vectors: int,
        now_ms: int,
    ) -> bool: ...


class IntegrityStore(Protocol):
    """Checking and repairing, scrubbing and copying. Only derived data is rebuilt; the file belongs to all spaces."""

    # What the rows of this engine have to satisfy, in the order in which violations are repaired.
    def invariants(self) -> Sequence[Invariant]: ...
    # Of all rows, or of so many of the newest, for a quick check.
    def violations(self, invariant: Invariant, newest: int | None = None) -> Violations: ...
    # Repair some, where the invariant says how; how many rows that were.
    def repair(self, invariant: Invariant, limit: int) -> int: ...
    def file_damage(self, *, quick: bool) -> Sequence[FileDamage]: ...
    # What a check of the whole file finds wrong, empty if nothing; TimedOut if that takes too long.
    def file_problems(self, seconds: float) -> Sequence[str]: ...
    # Rebuild the indexes of the tables.
    def reindex(self) -> None: ...
    # Damaged rows of a table among some after a key (sql/integrity_and_scrubbing.py), and the key of the last row read.
    def damaged_rows(self, part: str, after: RowKey | None, limit: int) -> tuple[list[DamagedRow], RowKey | None]: ...
    # Live items after an id whose content is not what was written, up to so many checked, and the last of those.
    def altered_items(self, after: int, limit: int) -> tuple[list[int], int | None]: ...
    # Items in the order of their ids, forgotten ones too; damaged ones as far as they can be read.
    def items_by_id(self, after: int, limit: int) -> list[Item]: ...
    # Items that are not split into passages correctly, and splitting one: its passages and their words are new.
    def unsplit_items(self, limit: int) -> list[Item]: ...
    def resplit(self, item_id: int, passages: Sequence[Passage]) -> None: ...
    # Of some sessions after an id, those that count their messages wrongly, and the last that was checked.
    def miscounted_sessions(self, after: int, limit: int) -> tuple[list[int], int | None]: ...
    def recount_sessions(self, session_ids: Sequence[int]) -> None: ...

    def index_state(self, seconds: float) -> IndexState: ...
    # Drop the full-text index if it is damaged itself. Nothing is found by words until it is repaired.
    def clear_text_index(self) -> None: ...
    # Index the missing words of some items, and delete stray ones; how many rows that were.
    def repair_text_index(self, limit: int) -> int: ...

    # The tables that hold texts, items among them.
    def text_parts(self) -> Sequence[str]: ...
    # Rows of a table in their order, after a key.
    def text_rows(self, part: str, after: RowKey | None, limit: int) -> list[TextRow]: ...
    # Replace the texts of rows by what is left of them. A row that can be had again, such as a reply, may be deleted.
    def clean_text_rows(self, part: str, keys: Sequence[RowKey], clean: Callable[[str], str]) -> None: ...
    # The same for items: with their passages, words and vectors, and without a history.
    def clean_items(self, keys: Sequence[RowKey], redraft: Callable[[Item], Draft]) -> None: ...
    # Remove what was cleaned from the file itself. False if someone else still reads what was there: try again later.
    def erase_deleted(self) -> bool: ...

    # A copy of everything, of all spaces, with another key if one is named; unless `checked`, whole or not.
    def backup(self, target: Path, *, to_key: str | None = None, checked: bool = True) -> None: ...


class StoreMaintenance(AccessStore, CaptureStore, BackgroundStore, IntegrityStore, Protocol):
    """Everything that a key for one project may not reach."""
