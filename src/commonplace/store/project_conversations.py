"""The conversations and streams of one project, for a key that is limited to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from commonplace.errors import NotFound
from commonplace.item_ids import Ref, ref
from commonplace.model import Change, Draft, Item, Kind, Session, SessionDraft, SessionScope, Stored, Stream
from commonplace.store.project_scope import ProjectScope
from commonplace.store.types import SessionCounts, StreamCheck, session_key_in_project
from commonplace.text.near_duplicates import Sketch

_NOTHING = SessionCounts(0, 0, 0, 0, 0.0, None, None, {}, {}, 0, {}, {})


class ProjectConversations(ProjectScope):
    """The sessions of one project, which people know as conversations."""

    def store_sessions(
        self, sessions: Sequence[tuple[SessionDraft, Sequence[Draft]]], now_ms: int
    ) -> list[tuple[Session, list[Stored]]]:
        placed = []
        for session, messages in sessions:
            project = self._only_here(session.project)
            here = replace(session, project=project, key=session_key_in_project(project, session.key))
            self._check_session(Ref("") if session.uid is None else ref(session.uid), here.key)
            placed.append((here, [self._placed(message) for message in messages]))
        return self._inner.store_sessions(placed, now_ms)

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

    def forget_session(self, session_id: int, now_ms: int, expect_rev: int | None = None) -> Session:
        self._known(session_id)
        return self._inner.forget_session(session_id, now_ms, expect_rev)

    def restore_session(self, session_id: int, now_ms: int) -> Session:
        self._known(session_id)
        return self._inner.restore_session(session_id, now_ms)

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
