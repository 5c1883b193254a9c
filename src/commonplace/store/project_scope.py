"""Which project a narrowed store lets through, and what means it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from commonplace.errors import Conflict, Forbidden
from commonplace.identity import Ref
from commonplace.model import Change, Draft, Item, Key, Passage, Scope, SessionDraft
from commonplace.store.damage import DamagedRow
from commonplace.store.invariants import Invariant
from commonplace.store.maintenance import (
    Advance,
    CapturedEvent,
    FileDamage,
    IndexState,
    Limits,
    RowKey,
    SessionProgress,
    SpaceEntry,
    TextRow,
    Violations,
)
from commonplace.store.protocol import Job, Store
from commonplace.store.types import EarlierRequest, Event, FindReferences, RequestClaim, SavedReply
from commonplace.text.project_names import normalise_project

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray


class ProjectScope:
    """The whole store and the one project. Parts of a narrowed store are made of this.

    To its holder the project is all there is, so what names no project means this one.
    """

    def __init__(self, inner: Store, project: str) -> None:
        self._inner, self._project = inner, project

    def _here(self) -> str:
        """The project's name as it is now: a longer one may have become the canonical one."""
        return self._inner.find_project(self._project) or self._project

    def _means_here(self, name: str | None) -> bool:
        """Whether a name, or none, means our project to its holder, who knows no other of the same short name."""
        if name is None:
            return True
        here, named = self._here().casefold(), normalise_project(name).casefold()
        return here == named or here.endswith("/" + named) or self._inner.find_project(name) == self._here()

    def _narrowed(self, scope: Scope) -> Scope | None:
        """The part of a scope that lies here; None if there is none."""
        if not self._means_here(scope.project):
            return None
        return replace(scope, project=self._here(), with_global=False, only_global=False)

    def _only_here(self, name: str | None) -> str:
        """Our project, where something is to be written that names it or none."""
        if not self._means_here(name):
            raise Forbidden(
                f"This key is for the project {self._here()} only, not for {name}.",
                "Leave the project out, or use another key.",
            )
        return self._here()

    def _placed(self, draft: Draft) -> Draft:
        if draft.session is not None:
            self._check_session(Ref(""), draft.session)
        return replace(draft, project=self._only_here(draft.project))

    def _check_session(self, ref: Ref, key: str) -> None:
        """A session of another project does not grow from here."""
        known = self._inner.resolve_session(ref, key)
        if known is not None and self._inner.get_sessions([known])[known].project != self._here():
            raise Conflict("Another project has a session of this name.", "Choose another name for it.")

    def _was_here(self, change: Change) -> bool:
        """What was moved here does not tell what it was elsewhere."""
        project = change.before.get("project", self._project)
        return isinstance(project, str) and self._means_here(project)

    def _refuse(self, what: str) -> NoReturn:
        raise Forbidden(f"A key for one project {what}.", "Use a key that is not limited to a project.")


_T = TypeVar("_T")


class StoreWideRefusals(ProjectScope):
    """The part of a narrowed store that is about more than its project."""

    def news(self, after: str | None, limit: int) -> tuple[Sequence[Event], str]:
        here = self._here()
        events, mark = self._inner.news(after, limit)
        return [event for event in events if event.project == here], mark

    # Answers belong to the caller who got them.

    def claim_reply(
        self, claim: RequestClaim, now_ms: int, given_up_ms: int, forgotten_ms: int
    ) -> EarlierRequest | None:
        return self._inner.claim_reply(claim, now_ms, given_up_ms, forgotten_ms)

    def store_reply(self, claim: RequestClaim, answer: SavedReply) -> None:
        self._inner.store_reply(claim, answer)

    def release_claim(self, claim: RequestClaim) -> None:
        self._inner.release_claim(claim)

    def add_key(self, key: Key, digest: bytes) -> Key:
        self._refuse("makes no keys")

    def all_keys(self) -> list[Key]:
        self._refuse("lists no keys")

    def keys_with_prefix(self, prefix: str) -> list[tuple[Key, bytes]]:
        self._refuse("checks no keys")

    def revoke_key(self, key_id: int, now_ms: int) -> Key | None:
        self._refuse("revokes no keys")

    def touch_key(self, key_id: int, now_ms: int) -> None:
        self._refuse("changes no keys")

    def end_login(self, digest: bytes, until_ms: int, now_ms: int) -> None:
        self._refuse("ends no visits")

    def is_login_ended(self, digest: bytes) -> bool:
        self._refuse("checks no visits")

    def add_space(self, name: str, now_ms: int, limits: Limits) -> bool:
        self._refuse("makes no spaces")

    def spaces(self, now_ms: int, name: str | None = None) -> list[SpaceEntry]:
        self._refuse("lists no spaces")

    def set_space_limits(self, name: str, limits: Limits) -> bool:
        self._refuse("limits no spaces")

    def spaces_of_key(self, prefix: str) -> Sequence[str]:
        self._refuse("checks no keys")

    def spaces_with_work(self, now_ms: int, *, vectors: bool = True) -> Sequence[str]:
        self._refuse("does no work for others")

    def for_space(self, name: str) -> Store:
        self._refuse("opens no other space")

    def source_mark(self, path: str) -> Mapping[str, Any] | None:
        self._refuse("reads no files")

    def save_source_mark(self, path: str, mark: Mapping[str, Any], now_ms: int) -> None:
        self._refuse("reads no files")

    def source_turns(self, key: str) -> list[tuple[str, str | None]]:
        self._refuse("reads no files")

    def mark_abandoned(self, key: str, turns: Collection[str]) -> None:
        self._refuse("reads no files")

    def link_sub_agents(self, key: str) -> int:
        self._refuse("reads no files")

    def known_events(self, events: Sequence[bytes]) -> set[bytes]:
        self._refuse("captures nothing")

    def thread(self, key: str, opening: int, recent: int) -> SessionProgress | None:
        self._refuse("captures nothing")

    def capture(
        self, sessions: Sequence[SessionDraft], events: Sequence[CapturedEvent], told: Sequence[Draft], now_ms: int
    ) -> list[bool]:
        self._refuse("captures nothing")

    def captured(self) -> Mapping[str, int]:
        """Counted for the whole store only."""
        return {}

    def use_model(self, name: str, dim: int, patience: float | None = None) -> None:
        self._refuse("chooses no model")

    def uses_model(self, name: str) -> bool:
        return self._inner.uses_model(name)

    def claim_jobs(
        self, owner: str, limit: int, now_ms: int, lease_ms: int, patience: float | None = None
    ) -> list[Job]:
        self._refuse("does no work for others")

    def finish_jobs(
        self, jobs: Sequence[Job], vectors: NDArray[float32], owner: str | None, patience: float | None = None
    ) -> int:
        self._refuse("does no work for others")

    def release_jobs(self, jobs: Sequence[Job], owner: str, error: str, patience: float | None = None) -> None:
        self._refuse("does no work for others")

    def requeue_embeddings(self) -> int:
        self._refuse("has no work done for others")

    def link(self, limit: int, describe: FindReferences, now_ms: int) -> int:
        self._refuse("does no work for others")

    def count_unlinked(self) -> int:
        return self._inner.count_unlinked()

    def pending(self, scope: Scope | None = None) -> int:
        if not self._inner.pending():
            return 0
        if scope is None:
            return self._inner.counts(self._here()).pending
        narrowed = self._narrowed(scope)
        return 0 if narrowed is None else self._inner.pending(narrowed)

    def pending_reason(self) -> str | None:
        return self._inner.pending_reason()

    def parts(self) -> Sequence[str]:
        self._refuse("cleans no store")

    def holders(self, part: str, after: RowKey | None, limit: int) -> list[TextRow]:
        self._refuse("cleans no store")

    def clean_text_rows(self, part: str, marks: Sequence[RowKey], clean: Callable[[str], str]) -> None:
        self._refuse("cleans no store")

    def clean_items(self, marks: Sequence[RowKey], redraft: Callable[[Item], Draft]) -> None:
        self._refuse("cleans no store")

    def erase_deleted(self) -> bool:
        self._refuse("cleans no store")

    def check_schema(self) -> int:
        return self._inner.check_schema()

    def complaints(self, seconds: float) -> Sequence[str]:
        self._refuse("looks after no store")

    def index_state(self, seconds: float) -> IndexState:
        self._refuse("looks after no store")

    def clear_text_index(self) -> None:
        self._refuse("looks after no store")

    def repair_text_index(self, limit: int) -> int:
        self._refuse("looks after no store")

    def invariants(self) -> Sequence[Invariant]:
        self._refuse("looks after no store")

    def violations(self, kept: Invariant, newest: int | None = None) -> Violations:
        self._refuse("looks after no store")

    def cure(self, kept: Invariant, limit: int) -> int:
        self._refuse("looks after no store")

    def damage(self, *, quick: bool) -> Sequence[FileDamage]:
        self._refuse("looks after no store")

    def reindex(self) -> None:
        self._refuse("looks after no store")

    def damaged_rows(self, part: str, after: RowKey | None, limit: int) -> tuple[list[DamagedRow], RowKey | None]:
        self._refuse("checks no store")

    def altered_items(self, after: int, limit: int) -> tuple[list[int], int | None]:
        self._refuse("checks no store")

    def walk(self, after: int, limit: int) -> list[Item]:
        self._refuse("looks after no store")

    def unsplit_items(self, limit: int) -> list[Item]:
        self._refuse("looks after no store")

    def resplit(self, item_id: int, passages: Sequence[Passage]) -> None:
        self._refuse("looks after no store")

    def stale_fts_items(self, advance: Advance) -> list[int]:
        self._refuse("looks after no store")

    def reindex_items(self, item_ids: Sequence[int]) -> None:
        self._refuse("looks after no store")

    def miscounted_sessions(self, after: int, limit: int) -> tuple[list[int], int | None]:
        self._refuse("looks after no store")

    def recount_sessions(self, session_ids: Sequence[int]) -> None:
        self._refuse("looks after no store")

    def backup(self, target: Path, *, to_key: str | None = None, checked: bool = True) -> None:
        self._refuse("copies no store")

    def snapshot(self, work: Callable[[], _T]) -> _T:
        return self._inner.snapshot(work)

    def size(self) -> int:
        return self._inner.size()

    def describe(self) -> Mapping[str, object]:
        return self._inner.describe()

    def close(self) -> None:
        """Left to whoever opened the store."""
