"""Answers that hooks captured, and the messages of an ingested transcript that hold them: each is found once.

A captured answer is replaced by the message that says the same, as a decision is by a newer one: it leaves search and
stays in history. An answer whose message is there already is not captured.
"""

from __future__ import annotations

from collections.abc import Iterable

from commonplace.memory.book import Book
from commonplace.model import Item, Scope, SessionScope
from commonplace.text.redact import redact

ANSWER = "answer"
# A long answer was cut when it was captured, so that only its beginning can be compared.
_COMPARED = 500
# How far apart the clocks of a hook and of a transcript may be, and how many messages of that time are looked at.
_AROUND_MS, _LOOKED_AT = 86_400_000, 50
_MOST = 5_000


def is_in_transcript(book: Book, session: str, answer: str, at_ms: int) -> bool:
    """Whether a message of the session, said at about that time, holds this answer."""
    found = book.store.thread(session, 0, 0)
    if found is None:
        return False
    scope = Scope(kinds=("message",), sessions=_only(found.session.id))
    near = book.store.items_between(scope, at_ms - _AROUND_MS, at_ms + _AROUND_MS, _LOOKED_AT)
    return any(_holds(message.body, answer) for message in near if message.details.get("role") == "assistant")


class CapturedAnswers:
    """The captured answers of one session, while the messages of its transcript come in."""

    def __init__(self, book: Book, session_id: int) -> None:
        scope = Scope(kinds=("observation",), types=(ANSWER,), sessions=_only(session_id))
        self._book = book
        self._open: list[Item] = book.store.items_between(scope, 0, book.clock() + _AROUND_MS, _MOST)

    def replace_by(self, messages: Iterable[tuple[int, str]]) -> None:
        """Let each message, an id and what it says, replace the answers that it holds."""
        for message_id, said in messages if self._open else ():
            text = redact(said)
            held = [answer for answer in self._open if _holds(text, answer.body)]
            for answer in held:
                self._book.store.supersede(answer.id, message_id, self._book.clock())
            self._open = [answer for answer in self._open if answer not in held]


def _only(session_id: int) -> SessionScope:
    return SessionScope(ids=(session_id,), empty=True)


def _holds(message: str, answer: str) -> bool:
    start = " ".join(answer.split())[:_COMPARED]
    return bool(start) and start in " ".join(message.split())
