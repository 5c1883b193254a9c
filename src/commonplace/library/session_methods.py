"""What a program does with conversations and past sessions: store, read, organise, recall, explain, report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from commonplace.library.open_memory import (
    Id,
    Limit,
    Narrowing,
    Number,
    OpenMemory,
    Question,
    When,
    Words,
    as_words,
)

if TYPE_CHECKING:
    from commonplace.library.results import (
        Explanation,
        Item,
        MessageLike,
        Prediction,
        ProjectBrief,
        ProjectOverview,
        PruneProposal,
        RecalledChunks,
        Reconstruction,
        Report,
        Session,
        SessionPage,
        StoredConversation,
        WholeConversation,
    )


class SessionMethods(OpenMemory):
    """Conversations and sessions: store, read, recall, explain, predict, report."""

    def recall(
        self,
        question: Question,
        *,
        limit: Limit = 10,
        min_score: float = 0.5,
        project: str | None = None,
        with_global: bool = False,
    ) -> RecalledChunks:
        """Passages of past sessions that answer a question, with their sessions and what is linked with them.

        Without a project of all of them; `with_global` adds to a project what applies everywhere. NoResults if there
        are none.
        """
        from commonplace.memory.recall_chunks import recall_chunks

        scope = self._place(project, with_global=with_global)
        self._embed_for(question, scope)
        return recall_chunks(self._local, question, limit, min_score, scope)

    def explain(
        self, topic: Question, *, depth: Limit = 20, project: str | None = None, with_global: bool = False
    ) -> Explanation:
        """How something came about, in phases, from what was said and done about it. NoResults if nothing was."""
        from commonplace.memory.explain import explain

        scope = self._place(project, with_global=with_global)
        self._embed_for(topic, scope)
        return explain(self._local, topic, depth, scope)

    def predict(
        self, context: Question, *, limit: Limit = 5, project: str | None = None, with_global: bool = False
    ) -> list[Prediction]:
        """What came next in situations like this one, such as what fixed the same error."""
        from commonplace.memory.predict import predict

        scope = self._place(project, with_global=with_global)
        self._embed_for(context, scope)
        return predict(self._local, context, limit, scope)

    def report(
        self,
        project: str | None = None,
        *,
        since: When = "7d",
        until: When | None = None,
        only_global: bool = False,
    ) -> Report:
        """What happened in a time: sessions, decisions, files, failed commands, and what was left open."""
        from commonplace.memory.report import report

        from_ms, now = self._moment(since), self._local.clock()
        to_ms = now if until is None else self._moment(until, end=True)
        return report(self._local, self._scope(project, Narrowing(only_global=only_global)), from_ms, to_ms)

    def overview(self, project: str | None = None) -> ProjectOverview:
        """Where a project stands: what is open, decided, contradicted and failed, who works on what, its last week.

        Without a project, what belongs to none.
        """
        from commonplace.memory.project_overview import project_overview

        return project_overview(self._local, project)

    def overviews(self, *, limit: Limit = 12) -> list[ProjectBrief]:
        """Every project in short, the one worked on last first: what is open, the last decision, the last session."""
        from commonplace.memory.project_overview import project_briefs

        return project_briefs(self._local, limit)

    def close_step(self, step: Question, *, project: str | None = None) -> list[Item]:
        """Mark an open step of a project as done; returns the summaries and checkpoints that named it, as they were."""
        from commonplace.memory.open_steps import close_step

        return close_step(self._local, project, step)

    def reconstruct(
        self,
        session: Id | None = None,
        *,
        project: str | None = None,
        last: Limit | None = None,
        tokens: Limit = 8000,
    ) -> Reconstruction:
        """The messages of a session in order, as many as fit; by default of the newest session, with `last` its end."""
        from commonplace.memory.sessions import reconstruct

        return reconstruct(self._local, session, project, last, tokens)

    def sessions(
        self,
        *,
        project: str | None = None,
        source: str = "",
        limit: Limit = 20,
        cursor: str | None = None,
    ) -> SessionPage:
        """Sessions of any sort, the latest first, also those without messages."""
        from commonplace.memory.conversations import latest_conversations
        from commonplace.model import SessionScope

        self._require(project)
        scope = SessionScope(project=project, source=source, empty=True)
        return latest_conversations(self._local, scope, limit, cursor)

    def store_conversation(
        self,
        label: str,
        messages: Sequence[MessageLike],
        *,
        folder: str = "/",
        project: str | None = None,
        importance: float | None = None,
        source: str = "",
        key: str = "",
        metadata: Mapping[str, object] | None = None,
    ) -> StoredConversation:
        """Store a conversation. A message is `("user", "text")`, a mapping with role and content, or a NewMessage.

        The same `key` again, or the same label, folder and messages, adds only the messages that are new.
        """
        from commonplace.memory.conversations import NewConversation, as_messages, store_conversation

        new = NewConversation(
            label=label,
            messages=as_messages(messages),
            folder=folder,
            project=project,
            importance=importance,
            source=source,
            key=key,
            meta=metadata or {},
        )
        return store_conversation(self._local, new)

    def append(self, conversation: Id, messages: Sequence[MessageLike]) -> StoredConversation:
        """Add messages to the end of a conversation."""
        from commonplace.memory.conversations import append_messages, as_messages

        return append_messages(self._local, conversation, as_messages(messages))

    def conversation(self, id: Id) -> WholeConversation:
        """A conversation with all its messages; NotFound if there is none."""
        from commonplace.memory.conversations import WholeConversation, open_conversation

        session, messages = open_conversation(self._local, id)
        return WholeConversation(session, tuple(messages))

    def conversations(
        self,
        *,
        folder: str = "",
        label: Words = (),
        status: Words = (),
        project: str | None = None,
        source: str = "",
        limit: Limit = 20,
        cursor: str | None = None,
    ) -> SessionPage:
        """Conversations, the one with the newest message first; a folder includes those below it."""
        from commonplace.memory.conversations import latest_conversations
        from commonplace.model import SessionScope
        from commonplace.text.paths import normalise_folder

        self._require(project)
        scope = SessionScope(
            folder=normalise_folder(folder) if folder else "",
            labels=as_words(label),
            statuses=as_words(status),
            project=project,
            source=source,
        )
        return latest_conversations(self._local, scope, limit, cursor)

    def update_conversation(
        self,
        id: Id,
        *,
        label: str | None = None,
        folder: str | None = None,
        importance: float | None = None,
        status: str | None = None,
        project: str | None = None,
        metadata: Mapping[str, object] | None = None,
        expect_rev: int | None = None,
    ) -> Session:
        """Rename, move, rate, archive or pin a conversation; status is active, archived or pinned."""
        from commonplace.memory.conversations import ConversationChanges, update_conversation

        changes = ConversationChanges(label, folder, importance, status, project, metadata)
        return update_conversation(self._local, id, changes, expect_rev)

    def forget_conversation(self, id: Id) -> Session:
        """Take a conversation and its messages out of every answer."""
        from commonplace.memory.conversations import forget_session

        return forget_session(self._local, id)

    def restore_conversation(self, id: Id) -> Session:
        """Bring a forgotten conversation back with its messages."""
        from commonplace.memory.conversations import restore_session

        return restore_session(self._local, id)

    def export_conversation(self, id: Id, *, format: str = "json", metadata: bool = True) -> str:
        """A conversation as the text of a file: `json`, which can be imported again, or `markdown`."""
        from commonplace.memory.export_conversations import export_text

        whole = self.conversation(id)
        return export_text(whole.session, whole.messages, format, metadata=metadata)

    def prune(self, *, days: Number = 30, importance: float = 5.0, folder: str = "/") -> PruneProposal:
        """Which conversations could be archived, each with the reason. Nothing is changed."""
        from commonplace.memory.prune import find_prunable

        return find_prunable(self._local, days, importance, folder)
