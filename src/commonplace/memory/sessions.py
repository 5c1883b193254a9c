"""Sessions: read page by page, searched, reconstructed within a budget, with related and active ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from commonplace.errors import InvalidInput, NoResults, NotFound
from commonplace.memory.captured_events import HOOK_DIGEST
from commonplace.memory.conversations import find_session, latest_conversations
from commonplace.memory.items import get_item, make_cursor, parse_cursor
from commonplace.memory.local_memory import LocalMemory
from commonplace.model import Item, Kind, Scope, Session, SessionScope
from commonplace.store.rows import QUERY_COLUMNS
from commonplace.text.dates import EARLIEST_MS, LATEST_MS
from commonplace.text.query import parse_query
from commonplace.text.sentences import key_sentence, truncate
from commonplace.text.tokens import estimate_tokens

SESSION_PAGE = 40
# Characters that a page is cut after: nobody waits for more, and a single item may have a million.
MAX_PAGE_TEXT = 80_000
# So many items before the one that somebody wants to read.
ITEMS_BEFORE = 3
# The last answer of a session is looked for among so many items, and its sentence at its end.
RECENT_ITEMS, ANSWER_END, EXCERPT = 12, 4_000, 160


@dataclass(frozen=True, slots=True)
class SessionItems:
    """Some items of a session, oldest first, and where those before and after them are."""

    items: tuple[Item, ...]
    earlier: str | None
    later: str | None


@dataclass(frozen=True, slots=True)
class RelatedSessions:
    """The sessions that one hangs together with: what it goes on from, who started it, and what came of it."""

    before: Session | None
    parent: Session | None
    after: tuple[Session, ...]
    agents: tuple[Session, ...]


def read_session(
    memory: LocalMemory,
    session: Session,
    *,
    after: str = "",
    before: str = "",
    at: int | str = "",
    last: bool = False,
    limit: int = SESSION_PAGE,
) -> SessionItems:
    """A page of a session: its first, its last, the one after or before a cursor, or the one around an item."""
    if at:
        found = _from(memory, session, get_item(memory, at), limit)
    elif before or last:
        found = _ordered(memory, session, limit, parse_cursor(before) if before else None, oldest_first=False)
        found = _fit_page(found)[::-1]
    else:
        found = _ordered(memory, session, limit, parse_cursor(after) if after else None, oldest_first=True)
    page = _fit_page(found)
    if not page:
        return SessionItems((), None, None)
    first, final = _place(page[0]), _place(page[-1])
    return SessionItems(
        tuple(page),
        make_cursor(*first) if _ordered(memory, session, 1, first, oldest_first=False) else None,
        make_cursor(*final) if _ordered(memory, session, 1, final, oldest_first=True) else None,
    )


def mark_session_read(memory: LocalMemory, session: Session) -> None:
    """Remember that a session was read; nothing else changes."""
    memory.store.touch_session(session.id, memory.clock())


def search_session(memory: LocalMemory, session: Session, question: str, limit: int = 100) -> list[Item]:
    """The items of a session that hold some words, oldest first: all of them, also where they say the same."""
    query = parse_query(question, QUERY_COLUMNS)
    hits = memory.store.search_text(query, _inside(session), limit, count=False).hits
    return sorted(memory.store.get(hit.item_id for hit in hits).values(), key=_place)


def related_sessions(memory: LocalMemory, session: Session) -> RelatedSessions:
    """The sessions that a session hangs together with, as far as they are there."""
    came = memory.store.follow_up_sessions(session.id)
    after = tuple(one for one in came if one.meta.get("continued_from") == session.key)
    return RelatedSessions(
        _session_by_key(memory, session.meta.get("continued_from")),
        _session_by_key(memory, session.meta.get("parent_session")),
        after,
        tuple(one for one in came if one not in after),
    )


def kinds_in_sessions(memory: LocalMemory, sessions: Sequence[Session]) -> dict[int, dict[Kind, int]]:
    """How many items of each kind there are in sessions, by their ids."""
    return memory.store.kinds_per_session([session.id for session in sessions])


def session_excerpts(memory: LocalMemory, sessions: Sequence[Session]) -> dict[int, str]:
    """The sentence that says most of the last answer in each session, else of its last message, by its id."""
    found = {}
    for session in sessions:
        scope = replace(_inside(session), kinds=("message", "observation"))
        last = memory.store.items_between(scope, EARLIEST_MS, LATEST_MS + 1, RECENT_ITEMS)
        answers = [item.body for item in last if item.details.get("role") == "assistant" or item.type == "answer"]
        said = answers or [item.body for item in last if item.kind == "message"]
        sentence = key_sentence(said[0][-ANSWER_END:], (), EXCERPT).text if said else ""
        if sentence and sentence != session.label:
            found[session.id] = sentence
    return found


def _ordered(
    memory: LocalMemory, session: Session, limit: int, beyond: tuple[int, int] | None, *, oldest_first: bool
) -> list[Item]:
    return memory.store.items_between(
        _inside(session), EARLIEST_MS, LATEST_MS + 1, limit, beyond, oldest_first=oldest_first
    )


def _from(memory: LocalMemory, session: Session, item: Item, limit: int) -> list[Item]:
    """An item and what comes after it, and a little of what was before if there is room for that."""
    lead = _ordered(memory, session, ITEMS_BEFORE, _place(item), oldest_first=False)
    at_ms, id_ = _place(item)
    found = _ordered(memory, session, limit, (at_ms, id_ - 1), oldest_first=True)
    whole = [*reversed(lead), *found][:limit]
    return whole if item in _fit_page(whole) else found


def _inside(session: Session) -> Scope:
    return Scope(sessions=SessionScope(ids=(session.id,), empty=True))


def _fit_page(items: list[Item]) -> list[Item]:
    """As many of the first as a page has room for, at least one."""
    room = MAX_PAGE_TEXT
    for number, item in enumerate(items):
        room -= len(item.body)
        if room < 0 and number:
            return items[:number]
    return items


def _session_by_key(memory: LocalMemory, key: object) -> Session | None:
    if not isinstance(key, str):
        return None
    try:
        return find_session(memory, key)
    except NotFound:
        return None


def _place(item: Item) -> tuple[int, int]:
    return item.created_ms, item.id


RECONSTRUCT_TOKENS = 8_000
MIN_RECONSTRUCT_TOKENS = 100
# Tokens that one message takes besides its text: who, when, and what it touched.
_HEAD = 30
# Characters that the telling of an item leaves of it, the shorter the less room there is.
_SHORT, _SHORTEST = 1_200, 300
_PAGE = 50
_NO_OUTCOME = ("Thought: ", "[")
_TICKS = re.compile(r"`{3,}")
# Of a session without end the newest is read.
_MOST_HAPPENED = 20_000
# What hooks capture of what was said, and who said it.
SPOKEN = {"prompt": "user", "answer": "assistant"}
# The mark of a block of code has as many ticks, and a block of so many lines is shown whole.
_FEWEST_TICKS, _SHORT_BLOCK = 3, 3


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """One message as it is shown; `whole` if nothing of it was left out."""

    item: Item
    text: str
    whole: bool


@dataclass(frozen=True, slots=True)
class Reconstruction:
    """A session, the messages that are shown, oldest first, and how many earlier ones were left out."""

    session: Session
    messages: tuple[ShownMessage, ...]
    left_out: int


def reconstruct(
    memory: LocalMemory,
    id_: int | str | None = None,
    project: str | None = None,
    last: int | None = None,
    budget: int = RECONSTRUCT_TOKENS,
) -> Reconstruction:
    """A session by any name of it, else the newest of a project, else the newest of all.

    What does not fit is told more shortly, first the answers of tools, then everything; at last the oldest is left out.
    """
    if budget < MIN_RECONSTRUCT_TOKENS:
        raise InvalidInput(f"A budget of {budget} tokens is too small.", f"Give at least {MIN_RECONSTRUCT_TOKENS}.")
    session = newest_session(memory, project) if id_ is None else find_session(memory, id_)
    happened = _happened(memory, session)
    wanted = happened[-last:] if last else happened
    shown = _fitting(wanted, budget)
    return Reconstruction(session, shown, len(happened) - len(shown))


def _happened(memory: LocalMemory, session: Session) -> list[Item]:
    """What was said and done, oldest first: the messages, and what was captured after them or instead of them.

    What hooks sum up themselves is said already.
    """
    messages = memory.store.messages_of(session.id)
    since = _place(messages[-1]) if messages else (EARLIEST_MS, 0)
    others = _ordered(memory, session, _MOST_HAPPENED, None, oldest_first=False)[::-1]
    later = [item for item in others if item.kind != "message" and _place(item) > since]
    return [*messages, *(item for item in later if HOOK_DIGEST not in item.meta)]


def role_of(item: Item) -> str:
    """Who said or did it: "user", "assistant", "tool", or "system" for what was noted."""
    noted = "tool" if item.kind == "observation" else "system"
    return item.details.get("role") or SPOKEN.get(item.type, noted)


def _whole_text(item: Item) -> str:
    """What is shown of an item if there is room: of what a tool did also its output."""
    if item.kind == "message" or item.type in SPOKEN:
        return item.text.strip()
    said = item.details.get("narrative", "").strip()
    if item.kind == "observation" and said and item.body.strip():
        fence = "`" * max(3, 1 + max(map(len, _TICKS.findall(item.body)), default=0))
        return f"{said}\n\n{fence}\n{item.body.strip()}\n{fence}"
    return item.text.strip() or item.details_text("snapshot") or item.title


def newest_session(memory: LocalMemory, project: str | None) -> Session:
    """The session in which something happened last, of a project if it has any; sub-agents' are part of others."""
    for scope in (SessionScope(project=project, empty=True), SessionScope(empty=True)):
        cursor: str | None = None
        while True:
            page = latest_conversations(memory, scope, _PAGE, cursor)
            for session in page.sessions:
                if "parent_session" not in session.meta:
                    return session
            if (cursor := page.next_cursor) is None:
                break
    raise NoResults(
        "There is no session yet.", "`commonplace connect` captures them; `commonplace ingest` reads earlier ones."
    )


def _fitting(messages: Sequence[Item], budget: int) -> tuple[ShownMessage, ...]:
    ways: tuple[Callable[[Item], str], ...] = (
        _whole_text,
        lambda item: collapse_code_blocks(_whole_text(item)),
        lambda item: shorten_message(item, _SHORT),
        lambda item: shorten_message(item, _SHORTEST),
    )
    for way in ways:
        shown = [_show_message(item, way) for item in messages]
        if sum(map(_cost, shown)) <= budget:
            return tuple(shown)
    chosen: list[ShownMessage] = []
    spent = 0
    for one in reversed(shown):
        spent += _cost(one)
        if chosen and spent > budget:
            break
        chosen.append(one)
    return tuple(reversed(chosen))


def collapse_code_blocks(text: str) -> str:
    """A text with its longer blocks of code and results counted instead of shown."""
    shown: list[str] = []
    opened, fence = 0, ""
    for line in text.split("\n"):
        ticks = line[: len(line) - len(line.lstrip("`"))]
        if not fence and len(ticks) >= _FEWEST_TICKS:
            opened, fence = len(shown), ticks
        elif fence and line.rstrip(" \t") == fence:
            inside, fence = len(shown) - opened - 1, ""
            if inside > _SHORT_BLOCK:
                shown[opened:] = [f"[{inside} lines]"]
                continue
        shown.append(line)
    return "\n".join(shown).strip()


def shorten_message(item: Item, limit: int) -> str:
    """How a question begins, and what came out in the end: the last words of an answer, without its thoughts."""
    text = collapse_code_blocks(_whole_text(item))
    if role_of(item) != "assistant":
        return truncate(text, limit)
    paragraphs = text.split("\n\n")
    outcome = [paragraph for paragraph in paragraphs if not paragraph.startswith(_NO_OUTCOME)] or paragraphs
    chosen = [truncate(outcome.pop(), limit)]
    while outcome and sum(map(len, chosen)) + len(outcome[-1]) <= limit:
        chosen.insert(0, outcome.pop())
    return "\n\n".join(["…", *chosen] if outcome else chosen)


def _show_message(item: Item, way: Callable[[Item], str]) -> ShownMessage:
    text = way(item)
    return ShownMessage(item, text, text == _whole_text(item))


def _cost(shown: ShownMessage) -> int:
    return _HEAD + estimate_tokens(len(shown.text))
