"""Reconstruct: what happened in a session, in order, as much of it as fits."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from commonplace.errors import InvalidInput, NoResults
from commonplace.memory.book import Book
from commonplace.memory.conversations import find, latest
from commonplace.model import Item, Session, SessionScope
from commonplace.ranking.budget import tokens_of
from commonplace.text.summarise import cut

BUDGET = 8_000
LEAST_BUDGET = 100
# Tokens that one message takes besides its text: who, when, and what it touched.
_HEAD = 30
# Characters that the telling of an item leaves of it, the shorter the less room there is.
_SHORT, _SHORTEST = 1_200, 300
_PAGE = 50
_NO_OUTCOME = ("Thought: ", "[")
_FENCED = re.compile(r"^(`{3,})[^\n]*\n(.*?)^\1[ \t]*$\n?", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Told:
    """One message as it is told; `whole` if nothing of it was left out."""

    item: Item
    text: str
    whole: bool


@dataclass(frozen=True, slots=True)
class Reconstruction:
    """A session, what is told of it, oldest first, and how many earlier messages were left out."""

    session: Session
    told: tuple[Told, ...]
    left_out: int


def reconstruct(
    book: Book, id_: int | str | None = None, project: str | None = None, last: int | None = None, budget: int = BUDGET
) -> Reconstruction:
    """A session by any name of it, else the newest of a project, else the newest of all.

    What does not fit is told more shortly, first the answers of tools, then everything; at last the oldest is left out.
    """
    if budget < LEAST_BUDGET:
        raise InvalidInput(f"A budget of {budget} tokens is too small.", f"Give at least {LEAST_BUDGET}.")
    session = newest(book, project) if id_ is None else find(book, id_)
    messages = book.store.messages_of(session.id)
    wanted = messages[-last:] if last else messages
    told = _fitting(wanted, budget)
    return Reconstruction(session, told, len(messages) - len(told))


def newest(book: Book, project: str | None) -> Session:
    """The session with the newest message, of a project if it has any; those of sub-agents are part of others."""
    for scope in (SessionScope(project=project), SessionScope()):
        cursor: str | None = None
        while True:
            page = latest(book, scope, _PAGE, cursor)
            for session in page.sessions:
                if "parent_session" not in session.meta:
                    return session
            if (cursor := page.next_cursor) is None:
                break
    raise NoResults("There is no session yet.")


def _fitting(messages: Sequence[Item], budget: int) -> tuple[Told, ...]:
    ways: tuple[Callable[[Item], str], ...] = (
        lambda item: item.text.strip(),
        lambda item: without_results(item.text),
        lambda item: brief(item, _SHORT),
        lambda item: brief(item, _SHORTEST),
    )
    for way in ways:
        told = [_told(item, way) for item in messages]
        if sum(map(_cost, told)) <= budget:
            return tuple(told)
    kept: list[Told] = []
    spent = 0
    for one in reversed(told):
        spent += _cost(one)
        if kept and spent > budget:
            break
        kept.append(one)
    return tuple(reversed(kept))


def without_results(text: str) -> str:
    """A text with its longer blocks of code and results counted instead of shown."""

    def counted(block: re.Match[str]) -> str:
        lines = block[2].count("\n")
        return block[0] if lines <= 3 else f"[{lines} lines]\n"

    return _FENCED.sub(counted, text).strip()


def brief(item: Item, limit: int) -> str:
    """How a question begins, and what came out in the end: the last words of an answer, without its thoughts."""
    text = without_results(item.text)
    if item.details.get("role") != "assistant":
        return cut(text, limit)
    paragraphs = text.split("\n\n")
    said = [paragraph for paragraph in paragraphs if not paragraph.startswith(_NO_OUTCOME)] or paragraphs
    kept = [cut(said.pop(), limit)]
    while said and sum(map(len, kept)) + len(said[-1]) <= limit:
        kept.insert(0, said.pop())
    return "\n\n".join(["…", *kept] if said else kept)


def _told(item: Item, way: Callable[[Item], str]) -> Told:
    text = way(item)
    return Told(item, text, text == item.text.strip())


def _cost(told: Told) -> int:
    return _HEAD + tokens_of(len(told.text))
