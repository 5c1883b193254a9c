"""Conversations: stored with their messages, found by id, listed by folder, renamed, archived, pinned, forgotten."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from commonplace.errors import InvalidInput, NotFound, TooLarge
from commonplace.memory.authors import sign
from commonplace.memory.draft import (
    UNSTORABLE,
    NewItem,
    checked_importance,
    checked_meta,
    checked_time,
    checked_time_if_given,
    checked_uid,
    clean_text,
    make_draft,
)
from commonplace.memory.items import MAX_PAGE, make_cursor, parse_cursor
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.permissions import check_forgettable, is_person
from commonplace.model import (
    CONVERSATION_HINT,
    DEFAULT_IMPORTANCE,
    MESSAGE_ROLES,
    Change,
    Draft,
    Item,
    Session,
    SessionDraft,
    SessionScope,
    Stored,
    ref,
)
from commonplace.store.types import CONTENT_KEY_PREFIX, session_key_in_project
from commonplace.text.paths import ROOT_FOLDER, normalise_folder
from commonplace.text.project_names import normalise_project
from commonplace.text.redact import have_no_secrets, redact

STATUSES = ("active", "archived", "pinned")
MAX_LABEL, MAX_KEY = 500, 200
MAX_MESSAGES = 20_000
PINNED = 10.0
# The importance of a conversation that was pinned from the start and is not any more.
BELOW_PINNED = 9.0


@dataclass(frozen=True, slots=True)
class NewMessage:
    """One message to store. `identity` is what its source calls it; without one, it is known by its words.

    Without a `title` it is called by its first words.
    """

    role: str
    content: str
    at_ms: int | None = None
    meta: Mapping[str, object] = field(default_factory=dict)
    identity: str = ""
    uid: str | None = None
    details: Mapping[str, str] = field(default_factory=dict)
    title: str = ""


@dataclass(frozen=True, slots=True)
class NewConversation:
    """A conversation to store.

    `key` is what its source calls it: the same key again adds the messages that are new. Without one, the same
    label, folder and messages are the same conversation. One that `follows` its source lets what changed there change
    here, and what was forgotten here stay forgotten.
    """

    label: str
    messages: Sequence[NewMessage]
    folder: str = ROOT_FOLDER
    importance: float | None = None
    status: str | None = None
    project: str | None = None
    source: str = ""
    key: str = ""
    meta: Mapping[str, object] = field(default_factory=dict)
    started_ms: int | None = None
    accessed_ms: int | None = None
    updated_ms: int | None = None
    uid: str | None = None
    follows: bool = False


@dataclass(frozen=True, slots=True)
class StoredConversation:
    """What became of a conversation: how many of its messages are new, and how many were there already.

    `ids` are those of all messages that were given, in their order; `new_ids` of those that were not there before.
    """

    session: Session
    added: int
    known: int
    ids: tuple[int, ...] = ()
    new_ids: tuple[int, ...] = ()

    @classmethod
    def of(cls, session: Session, stored: Sequence[Stored]) -> StoredConversation:
        known = sum(one.duplicate for one in stored)
        new = tuple(one.id for one in stored if not one.duplicate)
        return cls(session, len(stored) - known, known, tuple(one.id for one in stored), new)

    @property
    def duplicate(self) -> bool:
        return not self.added


@dataclass(frozen=True, slots=True)
class SessionPage:
    """Some sessions, and where the next page begins."""

    sessions: tuple[Session, ...]
    next_cursor: str | None

    def __iter__(self) -> Iterator[Session]:
        return iter(self.sessions)

    def __len__(self) -> int:
        return len(self.sessions)


@dataclass(frozen=True, slots=True)
class WholeConversation:
    """A conversation with all its messages, the oldest first."""

    session: Session
    messages: tuple[Item, ...]


MessageLike = NewMessage | tuple[str, str] | Mapping[str, Any]
"""A message as programs write it: `("user", "text")`, or a mapping with role, text (or content), at_ms and metadata."""
_FIELDS_OF_MESSAGES = {"metadata": "meta", "text": "content"}


def as_messages(messages: Sequence[MessageLike]) -> list[NewMessage]:
    """Messages as they are stored, whichever way they were written."""
    return [_as_message(message) for message in messages]


def _as_message(message: MessageLike) -> NewMessage:
    if isinstance(message, NewMessage):
        return message
    try:
        if not isinstance(message, Mapping):
            role, content = message
            return NewMessage(role, content)
        fields = {_FIELDS_OF_MESSAGES.get(name, name): value for name, value in message.items()}
        return NewMessage(**fields)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"This is not a message: {error}.", "Write it as (role, content).") from error


def store_conversation(memory: LocalMemory, conversation: NewConversation) -> StoredConversation:
    """Store one conversation, all of it or nothing."""
    return store_conversations(memory, [conversation])[0]


def store_conversations(memory: LocalMemory, conversations: Sequence[NewConversation]) -> list[StoredConversation]:
    """Store several in one transaction."""
    now = memory.clock()
    drafts = [_drafts(memory, conversation, now) for conversation in conversations]
    written = memory.store.store_sessions(drafts, now, memory.writer, with_memories=is_person(memory))
    memory.embeddings.wake()
    return [StoredConversation.of(session, stored) for session, stored in written]


def append_messages(
    memory: LocalMemory, id_: int | str, messages: Sequence[NewMessage], expect_rev: int | None = None
) -> StoredConversation:
    """Add messages to the end of a conversation."""
    session, now = find_session(memory, id_), memory.clock()
    drafts = _messages(memory, messages, session.key, now, after=str(session.rev))
    session, stored = memory.store.append_messages(session.id, drafts, now, expect_rev)
    memory.embeddings.wake()
    return StoredConversation.of(session, stored)


def find_session(memory: LocalMemory, id_: int | str, *, forgotten: bool = False) -> Session:
    """A conversation by any spelling of its id, by its agent's name for it, or by the id of a message in it."""
    number = memory.store.resolve_session(ref(id_), UNSTORABLE.sub("\ufffd", str(id_)).strip())
    if number is None:
        (item_id,) = memory.store.resolve([ref(id_)])
        session = None if item_id is None else memory.store.sessions_of([item_id]).get(item_id)
    else:
        session = memory.store.get_sessions([number])[number]
    if session is None:
        raise NotFound(f"There is no conversation {str(id_)[:60]!r}.", CONVERSATION_HINT)
    if session.forgotten_ms is not None and not forgotten:
        raise NotFound(
            f"There is no conversation {str(id_)[:60]!r}.",
            f"It was forgotten; `commonplace conversations restore {session.short_id}` brings it back.",
        )
    return session


def open_conversation(memory: LocalMemory, id_: int | str) -> tuple[Session, list[Item]]:
    """A conversation with all its messages. That it was read is noted, and nothing else changes."""
    session = find_session(memory, id_)
    messages = memory.store.messages_of(session.id)
    memory.store.touch_session(session.id, memory.clock())
    return session, messages


def messages_after(memory: LocalMemory, id_: int | str, limit: int, after: int = 0) -> tuple[list[Item], int | None]:
    """Some messages of a conversation, and the id to go on from if there are more."""
    found = memory.store.messages_of(find_session(memory, id_).id, limit + 1, after)
    return found[:limit], found[limit - 1].id if len(found) > limit else None


def latest_conversations(
    memory: LocalMemory, scope: SessionScope, limit: int = 20, cursor: str | None = None
) -> SessionPage:
    """Conversations, the one with the newest message first."""
    if not 1 <= limit <= MAX_PAGE:
        raise InvalidInput(f"limit is {limit}.", f"Choose 1 to {MAX_PAGE}.")
    return _page(memory.store.latest_sessions(scope, limit + 1, parse_cursor(cursor) if cursor else None), limit)


def conversations_by_number(memory: LocalMemory, scope: SessionScope, limit: int, skip: int) -> tuple[SessionPage, int]:
    """The same by counting from the start, for those who turn pages by their number; and how many there are."""
    return _page(memory.store.latest_sessions(scope, limit + 1, skip=skip), limit), memory.store.count_sessions(scope)


def count_conversations(memory: LocalMemory, scope: SessionScope) -> int:
    """How many conversations there are in a scope."""
    return memory.store.count_sessions(scope)


def checked_label(label: str) -> str:
    """A label on one line."""
    label = " ".join(clean_text(label, "label").split())
    if not label:
        raise InvalidInput("label is empty.", "Give the conversation a title.")
    if len(label) > MAX_LABEL:
        raise TooLarge(f"label has {len(label)} characters, more than {MAX_LABEL}.", "Give a shorter title.")
    return label


def checked_folder(folder: str) -> str:
    """A folder's path, with the secrets taken out."""
    return redact(normalise_folder(folder))


def checked_score(importance: float) -> float:
    """An importance in the words of conversations."""
    try:
        return checked_importance(importance) or 0.0
    except InvalidInput:
        raise InvalidInput("Invalid importance_score", "Must be between 0.0 and 10.0") from None


def _page(found: Sequence[Session], limit: int) -> SessionPage:
    """A page of what was found; one more than its limit means that there is a next page."""
    page, more = found[:limit], len(found) > limit
    return SessionPage(tuple(page), make_cursor(page[-1].ended_ms, page[-1].id) if more else None)


def _drafts(memory: LocalMemory, conversation: NewConversation, now_ms: int) -> tuple[SessionDraft, list[Draft]]:
    if not conversation.messages:
        raise InvalidInput("The conversation has no messages.", "Give at least one, with a role and content.")
    if len(conversation.messages) > MAX_MESSAGES:
        raise TooLarge(f"{len(conversation.messages)} messages are more than {MAX_MESSAGES}.")
    label, folder = checked_label(conversation.label), checked_folder(conversation.folder)
    importance, status = _initial_status(conversation)
    messages = _messages(memory, conversation.messages, conversation.key, now_ms)
    project = None if conversation.project is None else normalise_project(conversation.project)
    key = clean_text(conversation.key, "key").strip() or _key(label, folder, messages)
    if len(key) > MAX_KEY:
        raise TooLarge(f"key has {len(key)} characters, more than {MAX_KEY}.")
    if not conversation.key:
        # The same message in another conversation is another one.
        messages = [replace(m, content_hash=_digest([key, m.content_hash.hex()])) for m in messages]
        key = session_key_in_project(project and (memory.store.find_project(project) or project), key)
    times = [message.at_ms for message in conversation.messages if message.at_ms is not None]
    started = min([*times, now_ms]) if conversation.started_ms is None else checked_time(conversation.started_ms)
    draft = SessionDraft(
        key=key,
        label=label,
        folder=folder,
        status=status,
        importance=importance,
        started_ms=started,
        source=clean_text(conversation.source, "source")[:100],
        project=project,
        meta=checked_meta(conversation.meta),
        accessed_ms=checked_time_if_given(conversation.accessed_ms),
        updated_ms=checked_time_if_given(conversation.updated_ms),
        uid=checked_uid(conversation.uid),
        follows=conversation.follows,
    )
    return draft, messages


def _messages(
    memory: LocalMemory, messages: Sequence[NewMessage], key: str, now_ms: int, after: str = ""
) -> list[Draft]:
    """Messages as they will be stored, each known by its source's name for it or by its place among equal ones."""
    drafts = []
    # Seen in all of them at once that there is no secret, each need not be searched.
    have_no_secrets(message.content for message in messages)
    seen: Counter[tuple[str, str, int | None]] = Counter()
    for number, message in enumerate(messages):
        if message.role not in MESSAGE_ROLES:
            raise InvalidInput(
                f"messages[{number}].role is {str(message.role)[:60]!r}.", f"Choose one of {', '.join(MESSAGE_ROLES)}."
            )
        if not message.content.strip():
            raise InvalidInput(f"messages[{number}].content is empty.", "Leave the message out, or say what it says.")
        name = message.meta.get("name")
        details = {**message.details, "role": message.role, "speaker": name if isinstance(name, str) else ""}
        content = clean_text(message.content, f"messages[{number}].content")
        note = NewItem(
            content=content,
            kind="message",
            title=message.title,
            details=details,
            meta=message.meta,
            created_ms=message.at_ms,
            uid=message.uid,
        )
        mark = (message.role, content, message.at_ms)
        identity = [message.identity] if message.identity else [*mark, seen[mark]]
        seen[mark] += 1
        draft = make_draft(note, now_ms, identity=_digest(["message", key, after, *identity]))
        drafts.append(sign(memory, draft))
    return drafts


def _initial_status(conversation: NewConversation) -> tuple[float, str]:
    """Importance and status, which say of each other: 10 is pinned, and pinned is 10. What is archived is neither."""
    importance = DEFAULT_IMPORTANCE if conversation.importance is None else checked_score(conversation.importance)
    status = conversation.status or ("pinned" if importance == PINNED else "active")
    _check_status(status, None)
    if status == "pinned":
        importance = PINNED
    elif importance == PINNED and status == "active":
        status = "pinned"
    elif importance == PINNED:
        importance = BELOW_PINNED
    return importance, status


def _key(label: str, folder: str, messages: Sequence[Draft]) -> str:
    return CONTENT_KEY_PREFIX + _digest([label, folder, *(m.content_hash.hex() for m in messages)]).hex()


def _digest(value: object) -> bytes:
    return hashlib.sha256(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")).digest()


@dataclass(frozen=True, slots=True)
class ConversationChanges:
    """New values; None leaves a field as it is. An empty project means none."""

    label: str | None = None
    folder: str | None = None
    importance: float | None = None
    status: str | None = None
    project: str | None = None
    meta: Mapping[str, object] | None = None


def update_conversation(
    memory: LocalMemory, id_: int | str, wanted: ConversationChanges, expect_rev: int | None = None
) -> Session:
    """Change the label, folder, importance, status, project or metadata; the history keeps what it was."""
    if wanted == ConversationChanges():
        raise InvalidInput("Nothing to change.", "Give at least one of label, folder, importance_score and status.")
    session = find_session(memory, id_)
    changed: dict[str, object] = {}
    if wanted.label is not None:
        changed["label"] = checked_label(wanted.label)
    if wanted.folder is not None:
        changed["folder"] = checked_folder(wanted.folder)
    if wanted.project is not None:
        changed["project"] = normalise_project(wanted.project) if wanted.project.strip() else None
    if wanted.meta is not None:
        changed["meta"] = checked_meta(wanted.meta)
    changed |= _changed_status(memory, session, wanted)
    return memory.store.change_session(session.id, changed, memory.clock(), expect_rev)


def unarchive_conversation(memory: LocalMemory, id_: int | str) -> Session:
    """Undo archiving: pinned if it was that, else active. One that is not archived stays what it is."""
    session = find_session(memory, id_)
    if session.status != "archived":
        return session
    return update_conversation(memory, id_, ConversationChanges(status=status_before_archiving(memory, session)))


def status_before_archiving(memory: LocalMemory, session: Session) -> str:
    """The status that an archived conversation goes back to: pinned, unless its importance was changed since."""
    archived_with: object = session.importance
    for change in reversed(memory.store.session_history(session.id)):
        if change.before.get("status") in ("active", "pinned"):
            was_pinned = change.before["status"] == "pinned" and archived_with == session.importance
            return "pinned" if was_pinned or session.importance == PINNED else "active"
        archived_with = change.before.get("importance", archived_with)
    return "pinned" if session.importance == PINNED else "active"


def unpin_conversation(memory: LocalMemory, id_: int | str) -> Session:
    """Undo pinning; it gets the importance it had. One that is not pinned stays what it is."""
    session = find_session(memory, id_)
    return (
        update_conversation(memory, id_, ConversationChanges(status="active"))
        if session.status == "pinned"
        else session
    )


def undo_conversation_change(memory: LocalMemory, id_: int | str, rev: int) -> Session:
    """Take back the change that brought a conversation to this revision; Conflict if it changed since."""
    session = find_session(memory, id_)
    made = next(
        (one for one in conversation_history(memory, session.uid) if one.rev == rev - 1 and one.op == "edit"), None
    )
    if made is None:
        raise InvalidInput(f"No change made revision {rev} of conversation {session.short_id}.")
    before = {name: made.before[name] for name in ("label", "folder", "status", "importance")}
    return memory.store.change_session(session.id, before, memory.clock(), rev)


def forget_session(memory: LocalMemory, id_: int | str, expect_rev: int | None = None) -> Session:
    """Take a conversation and its messages out of every answer."""
    session = find_session(memory, id_, forgotten=True)
    check_forgettable(memory, session.id)
    return memory.store.forget_session(session.id, memory.clock(), expect_rev, memory.writer)


def restore_session(memory: LocalMemory, id_: int | str) -> Session:
    """Bring a forgotten conversation back with the messages it had, for people also with the memories in it."""
    id_ = find_session(memory, id_, forgotten=True).id
    session = memory.store.restore_session(id_, memory.clock(), memory.writer, with_memories=is_person(memory))
    memory.embeddings.wake()
    return session


def conversation_history(memory: LocalMemory, id_: int | str) -> list[Change]:
    """What a conversation was before each change, oldest first."""
    return memory.store.session_history(find_session(memory, id_, forgotten=True).id)


def _changed_status(memory: LocalMemory, session: Session, wanted: ConversationChanges) -> dict[str, object]:
    """Importance and status so that they agree: 10 is pinned, and pinned is 10. Archiving unpins."""
    importance = None if wanted.importance is None else checked_score(wanted.importance)
    status = wanted.status
    _check_status(status, importance)
    if status is None and importance == PINNED:
        status = "pinned"
    elif status is None and importance is not None and session.status != "archived":
        status = "active"
    if status == "pinned":
        importance = PINNED
    elif status is not None and importance is None and session.importance == PINNED:
        importance = _importance_before_pinning(memory, session)
    changed: dict[str, object] = {}
    if importance is not None:
        changed["importance"] = importance
    if status is not None:
        changed["status"] = status
    return changed


def _check_status(status: str | None, importance: float | None) -> None:
    """Refuse a status that is none, and one that goes against the importance that is given with it."""
    if status is None:
        return
    if status not in STATUSES:
        raise InvalidInput(f"status is {status[:60]!r}.", f"Choose one of {', '.join(STATUSES)}.")
    if status == "pinned" and importance not in (None, PINNED):
        raise InvalidInput(f"A pinned conversation has importance 10, not {importance:g}.", "Give one of the two.")
    if status != "pinned" and importance == PINNED:
        raise InvalidInput(f"Importance 10 is pinned, not {status}.", "Give one of the two.")


def _importance_before_pinning(memory: LocalMemory, session: Session) -> float:
    earlier = [change.before.get("importance") for change in memory.store.session_history(session.id)]
    known = [value for value in earlier if isinstance(value, (int, float)) and value < PINNED]
    return float(known[-1]) if known else BELOW_PINNED
