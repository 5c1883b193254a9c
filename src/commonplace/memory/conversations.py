"""Conversations: whole exchanges, kept with their messages in order, found again by id and listed by folder."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from commonplace.errors import InvalidInput, NotFound, TooLarge
from commonplace.identity import ref
from commonplace.memory.book import Book
from commonplace.memory.browse import MAX_PAGE, cursor_at, position_of
from commonplace.memory.remember import (
    UNSTORABLE,
    Note,
    checked_importance,
    checked_meta,
    checked_time,
    checked_uid,
    clean,
    draft_of,
)
from commonplace.model import Draft, Item, Session, SessionDraft, SessionScope, Stored
from commonplace.store.conversations import BY_CONTENT, key_in
from commonplace.text.folders import ROOT, folder_path
from commonplace.text.names import normalise_project
from commonplace.text.redact import all_clean, redact

ROLES = ("user", "assistant", "system", "tool")
STATUSES = ("active", "archived", "pinned")
MAX_LABEL, MAX_KEY = 500, 200
MAX_MESSAGES = 20_000
DEFAULT_IMPORTANCE, PINNED = 5.0, 10.0
# The importance of a conversation that was pinned from the start and is not any more.
JUST_BELOW = 9.0
HINT = "Verify conversation_id: a search, a list or the reply to storing it shows it."


@dataclass(frozen=True, slots=True)
class Said:
    """One message that someone wants kept. `identity` is what its source calls it; without one, its words are it.

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
class Conversation:
    """A conversation that someone wants kept.

    `key` is what its source calls it: the same key again adds the messages that are new. Without one, the same
    label, folder and messages are the same conversation. One that `follows` its source lets what changed there change
    here, and what was forgotten here stay forgotten.
    """

    label: str
    messages: Sequence[Said]
    folder: str = ROOT
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
class Kept:
    """What became of a conversation: how many of its messages are new, and how many were there already.

    `ids` are those of all messages that were given, in their order.
    """

    session: Session
    added: int
    known: int
    ids: tuple[int, ...] = ()

    @classmethod
    def of(cls, session: Session, stored: Sequence[Stored]) -> Kept:
        known = sum(one.duplicate for one in stored)
        return cls(session, len(stored) - known, known, tuple(one.id for one in stored))

    @property
    def duplicate(self) -> bool:
        return not self.added


@dataclass(frozen=True, slots=True)
class SessionPage:
    """Some sessions, and where the next page begins."""

    sessions: tuple[Session, ...]
    next_cursor: str | None


def keep(book: Book, conversation: Conversation) -> Kept:
    """Keep one conversation, all of it or nothing."""
    return keep_all(book, [conversation])[0]


def keep_all(book: Book, conversations: Sequence[Conversation]) -> list[Kept]:
    """Keep several in one transaction."""
    now = book.clock()
    written = book.store.keep_sessions([_drafts(book, conversation, now) for conversation in conversations], now)
    book.meaning.wake()
    return [Kept.of(session, stored) for session, stored in written]


def append(book: Book, id_: int | str, messages: Sequence[Said], expect_rev: int | None = None) -> Kept:
    """Add messages to the end of a conversation."""
    session, now = find(book, id_), book.clock()
    drafts = _messages(messages, session.key, now, after=str(session.rev))
    session, stored = book.store.append_messages(session.id, drafts, now, expect_rev)
    book.meaning.wake()
    return Kept.of(session, stored)


def find(book: Book, id_: int | str, *, forgotten: bool = False) -> Session:
    """A conversation by any spelling of its id, by its agent's name for it, or by the id of a message in it."""
    number = book.store.resolve_session(ref(id_), UNSTORABLE.sub("\ufffd", str(id_)).strip())
    if number is None:
        (item_id,) = book.store.resolve([ref(id_)])
        session = None if item_id is None else book.store.sessions_of([item_id]).get(item_id)
    else:
        session = book.store.get_sessions([number])[number]
    if session is None:
        raise NotFound(f"There is no conversation {str(id_)[:60]!r}.", HINT)
    if session.forgotten_ms is not None and not forgotten:
        raise NotFound(
            f"There is no conversation {str(id_)[:60]!r}.",
            f"It was forgotten; `commonplace conversations restore {session.short_id}` brings it back.",
        )
    return session


def opened(book: Book, id_: int | str) -> tuple[Session, list[Item]]:
    """A conversation with all its messages. That it was read is noted, and nothing else changes."""
    session = find(book, id_)
    messages = book.store.messages_of(session.id)
    book.store.touch_session(session.id, book.clock())
    return session, messages


def messages_after(book: Book, id_: int | str, limit: int, after: int = 0) -> tuple[list[Item], int | None]:
    """Some messages of a conversation, and the id to go on from if there are more."""
    found = book.store.messages_of(find(book, id_).id, limit + 1, after)
    return found[:limit], found[limit - 1].id if len(found) > limit else None


def latest(book: Book, scope: SessionScope, limit: int = 20, cursor: str | None = None) -> SessionPage:
    """Conversations, the one with the newest message first."""
    if not 1 <= limit <= MAX_PAGE:
        raise InvalidInput(f"limit is {limit}.", f"Choose 1 to {MAX_PAGE}.")
    return _page(book.store.latest_sessions(scope, limit + 1, position_of(cursor) if cursor else None), limit)


def numbered(book: Book, scope: SessionScope, limit: int, skip: int) -> tuple[SessionPage, int]:
    """The same by counting from the start, for those who turn pages by their number; and how many there are."""
    return _page(book.store.latest_sessions(scope, limit + 1, skip=skip), limit), book.store.count_sessions(scope)


def count(book: Book, scope: SessionScope) -> int:
    """How many conversations there are in a scope."""
    return book.store.count_sessions(scope)


def checked_label(label: str) -> str:
    """A label on one line."""
    label = " ".join(clean(label, "label").split())
    if not label:
        raise InvalidInput("label is empty.", "Give the conversation a title.")
    if len(label) > MAX_LABEL:
        raise TooLarge(f"label has {len(label)} characters, more than {MAX_LABEL}.", "Give a shorter title.")
    return label


def checked_folder(folder: str) -> str:
    """A folder's path, with the secrets taken out."""
    return redact(folder_path(folder))


def checked_score(importance: float) -> float:
    """An importance in the words of conversations."""
    try:
        return checked_importance(importance) or 0.0
    except InvalidInput:
        raise InvalidInput("Invalid importance_score", "Must be between 0.0 and 10.0") from None


def _page(found: Sequence[Session], limit: int) -> SessionPage:
    """The first of what was found; one more than they are tells that there is a next page."""
    page, more = found[:limit], len(found) > limit
    return SessionPage(tuple(page), cursor_at(page[-1].ended_ms, page[-1].id) if more else None)


def _drafts(book: Book, conversation: Conversation, now_ms: int) -> tuple[SessionDraft, list[Draft]]:
    if not conversation.messages:
        raise InvalidInput("The conversation has no messages.", "Give at least one, with a role and content.")
    if len(conversation.messages) > MAX_MESSAGES:
        raise TooLarge(f"{len(conversation.messages)} messages are more than {MAX_MESSAGES}.")
    label, folder = checked_label(conversation.label), checked_folder(conversation.folder)
    importance, status = _standing(conversation)
    messages = _messages(conversation.messages, conversation.key, now_ms)
    project = None if conversation.project is None else normalise_project(conversation.project)
    key = clean(conversation.key, "key").strip() or _key(label, folder, messages)
    if len(key) > MAX_KEY:
        raise TooLarge(f"key has {len(key)} characters, more than {MAX_KEY}.")
    if not conversation.key:
        # The same message in another conversation is another one.
        messages = [replace(m, content_hash=_digest([key, m.content_hash.hex()])) for m in messages]
        key = key_in(project and (book.store.find_project(project) or project), key)
    said = [message.at_ms for message in conversation.messages if message.at_ms is not None]
    started = min([*said, now_ms]) if conversation.started_ms is None else checked_time(conversation.started_ms)
    draft = SessionDraft(
        key=key,
        label=label,
        folder=folder,
        status=status,
        importance=importance,
        started_ms=started,
        source=clean(conversation.source, "source")[:100],
        project=project,
        meta=checked_meta(conversation.meta),
        accessed_ms=None if conversation.accessed_ms is None else checked_time(conversation.accessed_ms),
        updated_ms=None if conversation.updated_ms is None else checked_time(conversation.updated_ms),
        uid=checked_uid(conversation.uid),
        follows=conversation.follows,
    )
    return draft, messages


def _messages(said: Sequence[Said], key: str, now_ms: int, after: str = "") -> list[Draft]:
    """Messages as they will be stored, each told apart by its source's name for it or by its place among its like."""
    drafts = []
    # Seen in all of them at once that there is no secret, each need not be searched.
    all_clean(message.content for message in said)
    seen: Counter[tuple[str, str, int | None]] = Counter()
    for number, message in enumerate(said):
        if message.role not in ROLES:
            raise InvalidInput(
                f"messages[{number}].role is {str(message.role)[:60]!r}.", f"Choose one of {', '.join(ROLES)}."
            )
        if not message.content.strip():
            raise InvalidInput(f"messages[{number}].content is empty.", "Leave the message out, or say what it says.")
        name = message.meta.get("name")
        details = {**message.details, "role": message.role, "speaker": name if isinstance(name, str) else ""}
        content = clean(message.content, f"messages[{number}].content")
        note = Note(
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
        drafts.append(draft_of(note, now_ms, identity=_digest(["message", key, after, *identity])))
    return drafts


def _standing(conversation: Conversation) -> tuple[float, str]:
    """Importance and status, which say of each other: 10 is pinned, and pinned is 10. What is archived is neither."""
    importance = DEFAULT_IMPORTANCE if conversation.importance is None else checked_score(conversation.importance)
    status = conversation.status or ("pinned" if importance == PINNED else "active")
    if status not in STATUSES:
        raise InvalidInput(f"status is {status[:60]!r}.", f"Choose one of {', '.join(STATUSES)}.")
    if status == "pinned":
        importance = PINNED
    elif importance == PINNED and status == "active":
        status = "pinned"
    elif importance == PINNED:
        importance = JUST_BELOW
    return importance, status


def _key(label: str, folder: str, messages: Sequence[Draft]) -> str:
    return BY_CONTENT + _digest([label, folder, *(m.content_hash.hex() for m in messages)]).hex()


def _digest(value: object) -> bytes:
    return hashlib.sha256(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")).digest()
