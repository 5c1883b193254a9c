"""Limits a store to one project: what counts as that project, what a key for it is refused, and its conversations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NoReturn

from commonplace.errors import Conflict, Forbidden, NotFound
from commonplace.model import (
    UNKNOWN_AUTHOR,
    Author,
    Change,
    Draft,
    Item,
    Kind,
    Ref,
    Scope,
    Session,
    SessionDraft,
    SessionScope,
    Stored,
    Stream,
    ref,
)
from commonplace.store.protocol import SpaceStore
from commonplace.store.types import SessionCounts, StreamCheck, session_key_in_project
from commonplace.text.near_duplicates import Sketch
from commonplace.text.project_names import normalise_project

_NO_WORK, _NO_CHECK = "does no work for others", "looks after no store"

# What `StoreMaintenance` refuses to whoever holds a key for one project.
REFUSALS: Mapping[str, str] = {
    "alias_project": "gives no names to projects",
    "add_key": "makes no keys",
    "all_keys": "lists no keys",
    "keys_with_prefix": "checks no keys",
    "revoke_key": "revokes no keys",
    "touch_key": "changes no keys",
    "end_login": "ends no visits",
    "is_login_ended": "checks no visits",
    "add_space": "makes no spaces",
    "spaces": "lists no spaces",
    "set_space_limits": "limits no spaces",
    "spaces_of_key": "checks no keys",
    "spaces_with_work": _NO_WORK,
    "for_space": "opens no other space",
    "peer": "knows no other store",
    "note_peer": "knows no other store",
    **dict.fromkeys(
        ("source_mark", "source_marks", "save_source_mark", "source_turns", "mark_abandoned", "link_sub_agents"),
        "reads no files",
    ),
    **dict.fromkeys(("known_events", "session_progress", "capture_events"), "captures nothing"),
    "use_model": "chooses no model",
    "requeue_embeddings": "has no work done for others",
    **dict.fromkeys(("claim_jobs", "finish_jobs", "release_jobs", "scan_ahead", "link"), _NO_WORK),
    **dict.fromkeys(("topic_points", "built_topics", "topic_members"), _NO_WORK),
    **dict.fromkeys(("extend_topics", "claim_topics", "replace_topics"), _NO_WORK),
    **dict.fromkeys(("text_parts", "text_rows", "clean_text_rows", "clean_items", "erase_deleted"), "cleans no store"),
    **dict.fromkeys(("damaged_rows", "altered_items"), "checks no store"),
    **dict.fromkeys(("invariants", "violations", "repair", "file_damage", "file_problems", "reindex"), _NO_CHECK),
    **dict.fromkeys(("index_state", "clear_text_index", "repair_text_index", "items_by_id"), _NO_CHECK),
    **dict.fromkeys(("unsplit_items", "resplit"), _NO_CHECK),
    **dict.fromkeys(("miscounted_sessions", "recount_sessions"), _NO_CHECK),
    "backup": "copies no store",
}


class StoreWideRefusals:
    """Stands for `StoreMaintenance` where the key is limited to one project: every call is refused."""

    def __getattr__(self, name: str) -> Callable[..., NoReturn]:
        if name not in REFUSALS:
            raise AttributeError(name)

        def refuse(*_args: object, **_options: object) -> NoReturn:
            raise Forbidden(f"A key for one project {REFUSALS[name]}.", "Use a key that is not limited to a project.")

        return refuse


class ProjectScope:
    """The whole store and the one project. Parts of a project view are made of this.

    To its holder the project is all there is, so whatever names no project means this one.
    """

    def __init__(self, inner: SpaceStore, project: str) -> None:
        self._inner, self._project = inner, project

    def _here(self) -> str:
        """The current name of the project: a longer one may have become the canonical one."""
        return self._inner.find_project(self._project) or self._project

    def _means_here(self, name: str | None) -> bool:
        """Whether a name, or none, means our project to its holder, who knows no other of the same short name."""
        if name is None:
            return True
        here, named = self._here().casefold(), normalise_project(name).casefold()
        return here == named or here.endswith("/" + named) or self._inner.find_project(name) == self._here()

    def _narrowed(self, scope: Scope) -> Scope | None:
        """The part of a scope that is in our project; None if there is none."""
        if not self._means_here(scope.project):
            return None
        return replace(scope, project=self._here(), with_global=False, with_unfiled=False, only_global=False)

    def _only_here(self, name: str | None) -> str:
        """Our project, for something to be written that names it or none."""
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
        """A session of another project cannot be continued from here."""
        known = self._inner.resolve_session(ref, key)
        if known is not None and self._inner.get_sessions([known])[known].project != self._here():
            raise Conflict("Another project has a session of this name.", "Choose another name for it.")

    def _was_here(self, change: Change) -> bool:
        """What was moved here does not show what it was elsewhere."""
        project = change.before.get("project", self._project)
        return isinstance(project, str) and self._means_here(project)


_NOTHING = SessionCounts(0, 0, 0, 0, 0.0, None, None, {}, {}, 0, {}, {})


class ProjectConversations(ProjectScope):
    """The sessions of one project, which people know as conversations."""

    def store_sessions(
        self,
        sessions: Sequence[tuple[SessionDraft, Sequence[Draft]]],
        now_ms: int,
        by: Author = UNKNOWN_AUTHOR,
        *,
        with_memories: bool = True,
    ) -> list[tuple[Session, list[Stored]]]:
        placed = []
        for session, messages in sessions:
            project = self._only_here(session.project)
            here = replace(session, project=project, key=session_key_in_project(project, session.key))
            self._check_session(Ref("") if session.uid is None else ref(session.uid), here.key)
            placed.append((here, [self._placed(message) for message in messages]))
        return self._inner.store_sessions(placed, now_ms, by, with_memories=with_memories)

    def append_messages(
        self, session_id: int, drafts: Sequence[Draft], now_ms: int, expect_rev: int | None = None
    ) -> tuple[Session, list[Stored]]:
        self._known(session_id)
        return self._inner.append_messages(session_id, [self._placed(draft) for draft in drafts], now_ms, expect_rev)

    def change_session(
        self, session_id: int, changes: Mapping[str, object], now_ms: int, expect_rev: int | None = None
    ) -> Session:
        self._known(session_id)
        if "project" in changes:
            named = changes["project"]
            changes = {**changes, "project": self._only_here(None if named is None else str(named))}
        return self._inner.change_session(session_id, changes, now_ms, expect_rev)

    def forget_session(
        self, session_id: int, now_ms: int, expect_rev: int | None = None, by: Author = UNKNOWN_AUTHOR
    ) -> Session:
        self._known(session_id)
        return self._inner.forget_session(session_id, now_ms, expect_rev, by)

    def restore_session(
        self, session_id: int, now_ms: int, by: Author = UNKNOWN_AUTHOR, *, with_memories: bool = True
    ) -> Session:
        self._known(session_id)
        return self._inner.restore_session(session_id, now_ms, by, with_memories=with_memories)

    def touch_session(self, session_id: int, now_ms: int) -> None:
        self._known(session_id)
        self._inner.touch_session(session_id, now_ms)

    def resolve_session(self, ref: Ref, key: str) -> int | None:
        found = self._inner.resolve_session(ref, key)
        return found if found is not None and self.get_sessions([found]) else None

    def get_sessions(self, session_ids: Iterable[int]) -> dict[int, Session]:
        return self._ours(self._inner.get_sessions(session_ids))

    def sessions_of(self, item_ids: Sequence[int]) -> dict[int, Session]:
        return self._ours(self._inner.sessions_of(item_ids))

    def messages_of(self, session_id: int, limit: int | None = None, after: int = 0) -> list[Item]:
        if not self.get_sessions([session_id]):
            return []
        here = self._here()
        return [item for item in self._inner.messages_of(session_id, limit, after) if item.project == here]

    def latest_sessions(
        self, scope: SessionScope, limit: int, before: tuple[int, int] | None = None, skip: int = 0
    ) -> list[Session]:
        narrowed = self._sessions_here(scope)
        return [] if narrowed is None else self._inner.latest_sessions(narrowed, limit, before, skip)

    def count_sessions(self, scope: SessionScope) -> int:
        narrowed = self._sessions_here(scope)
        return 0 if narrowed is None else self._inner.count_sessions(narrowed)

    def session_counts(self, scope: SessionScope, most_labels: int) -> SessionCounts:
        narrowed = self._sessions_here(scope)
        return _NOTHING if narrowed is None else self._inner.session_counts(narrowed, most_labels)

    def activity(self, scope: SessionScope, since_ms: int) -> Mapping[int, int]:
        narrowed = self._sessions_here(scope)
        return {} if narrowed is None else self._inner.activity(narrowed, since_ms)

    def session_history(self, session_id: int) -> list[Change]:
        if not self.get_sessions([session_id]):
            return []
        return [change for change in self._inner.session_history(session_id) if self._was_here(change)]

    def kinds_per_session(self, session_ids: Sequence[int]) -> dict[int, dict[Kind, int]]:
        return self._inner.kinds_per_session([*self.get_sessions(session_ids)])

    def follow_up_sessions(self, session_id: int) -> list[Session]:
        if not self.get_sessions([session_id]):
            return []
        here = self._here()
        return [session for session in self._inner.follow_up_sessions(session_id) if session.project == here]

    def idle_sessions(self, ended_before_ms: int, importance_below: float) -> list[Session]:
        here = self._here()
        idle = self._inner.idle_sessions(ended_before_ms, importance_below)
        return [session for session in idle if session.project == here]

    def sketches(self) -> dict[int, Sketch]:
        all_ = self._inner.sketches()
        ours = self.get_sessions(all_)
        return {id_: sketch for id_, sketch in all_.items() if id_ in ours}

    def _ours(self, sessions: Mapping[int, Session]) -> dict[int, Session]:
        here = self._here()
        return {id_: session for id_, session in sessions.items() if session.project == here}

    def _known(self, session_id: int) -> None:
        if not self.get_sessions([session_id]):
            raise NotFound(f"There is no conversation {session_id}.")

    def _sessions_here(self, scope: SessionScope) -> SessionScope | None:
        return replace(scope, project=self._here()) if self._means_here(scope.project) else None


class ProjectStreams(ProjectScope):
    """The streams of one project."""

    def start_stream(self, stream: Stream, most: int, idle_before_ms: int) -> bool:
        placed = replace(stream, project=self._only_here(stream.project))
        return self._inner.start_stream(placed, most, idle_before_ms)

    def streams(self, idle_before_ms: int) -> list[Stream]:
        here = self._here()
        return [stream for stream in self._inner.streams(idle_before_ms) if stream.project == here]

    def append_stream(
        self, stream_id: str, chunk_after: Callable[[str], str], check: StreamCheck, now_ms: int
    ) -> Stream:
        return self._inner.append_stream(stream_id, chunk_after, self._seen(check), now_ms)

    def finalize_stream(
        self, stream_id: str, draft_of: Callable[[Stream, str], Draft], check: StreamCheck, now_ms: int
    ) -> tuple[Stream, Stored]:
        here = self._here()
        return self._inner.finalize_stream(
            stream_id, lambda stream, text: replace(draft_of(stream, text), project=here), self._seen(check), now_ms
        )

    def cancel_stream(self, stream_id: str, check: StreamCheck, now_ms: int) -> Stream:
        return self._inner.cancel_stream(stream_id, self._seen(check), now_ms)

    def _seen(self, check: StreamCheck) -> StreamCheck:
        """A stream of another project is no stream to the check."""
        here = self._here()
        return lambda stream: check(stream if stream is not None and stream.project == here else None)
