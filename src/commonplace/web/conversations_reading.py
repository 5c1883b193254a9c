"""One conversation: read page by page with what happened in it, searched, exported, and arranged."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from commonplace.errors import CommonplaceError, Conflict, InvalidInput, NotFound
from commonplace.memory.book import Book
from commonplace.memory.conversations import find, opened
from commonplace.memory.export import FORMATS, exported
from commonplace.memory.fetch import fetch
from commonplace.memory.organise import Arrangement, arrange, forget, restore
from commonplace.memory.reading import around, find_in, noted, read, what_is_in
from commonplace.memory.stats import totals
from commonplace.model import DETAIL_FIELDS, Item, Session, SessionScope
from commonplace.text.file_names import file_name
from commonplace.text.query import plain_words
from commonplace.text.redact import redact
from commonplace.web.conversations import DONE, FOLDERS, arrangement, undoable, with_undo
from commonplace.web.markdown import markdown
from commonplace.web.marks import marked_excerpt
from commonplace.web.page import Asked, Gone, Reply, Sent, Shown

# Characters of an item that are shown; the rest is on its own page.
SHOWN = 20_000
# Lines of code or of a tool's output beyond which they are folded.
FOLDED = 14
EXCERPT = 240
# Fields that are part of what an entry says, or of who says it.
TOLD_ELSEWHERE = ("role", "speaker", "narrative")
MEDIA = {"json": "application/json", "markdown": "text/markdown; charset=utf-8"}
ENDINGS = {"json": "json", "markdown": "md"}
_BLOCK = re.compile(r"<pre>.*?</pre>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of what an item says; one of many `lines` is folded."""

    html: Markup
    lines: int = 0


@dataclass(frozen=True, slots=True)
class Entry:
    """An item as it is read: what it says, the fields of its kind, and how many characters are not shown."""

    item: Item
    parts: tuple[Part, ...]
    fields: tuple[tuple[str, str], ...]
    rest: int


def conversation(book: Book, asked: Asked) -> Reply:
    """A page of it. The id of a message leads to where it was said."""
    try:
        session = find(book, asked.path["id"], forgotten=True)
    except (NotFound, InvalidInput):
        return Shown("item_none", {"id": asked.path["id"][:100]}, 404)
    said = _meant(book, asked.path["id"], session)
    if said is not None:
        return Gone(f"/conversations/{session.short_id}?at={said.short_id}#m{said.short_id}")
    return _shown(book, asked, session, {})


def change(book: Book, asked: Asked) -> Reply:
    """Another label, folder or importance, unless somebody was quicker or it cannot be: what was written stays."""
    session = find(book, asked.path["id"])
    mine = {name: asked.given(name) for name in ("label", "folder", "importance")}
    try:
        wanted = Arrangement(mine["label"], mine["folder"], _importance(mine["importance"]))
        changed = arrange(book, session.uid, wanted, _rev(asked))
    except CommonplaceError as error:
        wrong = None if isinstance(error, Conflict) else error
        held = {"held": mine, "wrong": wrong}
        return _shown(book, asked, find(book, session.uid), held, error.http_status)
    return Gone(with_undo(f"/conversations/{session.short_id}", [changed]), "changed", session.label[:80])


def put_aside(book: Book, asked: Asked) -> Gone:
    """Archive, pin, and back."""
    session, do = find(book, asked.path["id"]), asked.given("do")
    if do not in DONE:
        raise InvalidInput(f"do is {do[:40]!r}.", f"Choose one of {', '.join(DONE)}.")
    changed = arrange(book, session.uid, arrangement(book, session, do, session.folder), _rev(asked))
    return Gone(with_undo(f"/conversations/{session.short_id}", [changed]), DONE[do], session.label[:80])


def drop(book: Book, asked: Asked) -> Gone:
    """Forget it with all that was said in it; its page then offers to bring it back."""
    session = forget(book, asked.path["id"], _rev(asked))
    return Gone(f"/conversations/{session.short_id}", "forgot")


def bring_back(book: Book, asked: Asked) -> Gone:
    """Undo forgetting."""
    session = restore(book, asked.path["id"])
    return Gone(f"/conversations/{session.short_id}", "restored")


def export(book: Book, asked: Asked) -> Sent:
    """A file of it, the same that the command writes."""
    format_ = asked.one("format", FORMATS[0])
    if format_ not in FORMATS:
        raise InvalidInput(f"format is {format_[:40]!r}.", f"Choose one of {', '.join(FORMATS)}.")
    session, messages = opened(book, asked.path["id"])
    name = f"{file_name(redact(session.label or session.key))}.{ENDINGS[format_]}"
    return Sent(exported(session, messages, format_).encode("utf-8", "replace"), MEDIA[format_], name)


def entry_of(item: Item) -> Entry:
    """An item as it is read: prose as Markdown, what tools said as it is."""
    body, narrative = (redact(text[:SHOWN]) for text in (item.body.strip(), item.details.get("narrative", "")))
    by_tool = item.kind == "observation" or item.details.get("role") == "tool"
    said = _parts(markdown(narrative)) if narrative else ()
    if body:
        said += (_plain(body),) if by_tool else _parts(markdown(body))
    named = [name for name in DETAIL_FIELDS[item.kind] if name not in TOLD_ELSEWHERE and item.details.get(name)]
    fields = tuple((name, redact(item.details[name][:SHOWN])) for name in named)
    return Entry(item, said, fields, max(0, len(item.body) - SHOWN))


def _shown(book: Book, asked: Asked, session: Session, more: dict[str, Any], status: int = 200) -> Shown:
    values: dict[str, Any] = {
        "session": session,
        "held": None,
        "may_change": asked.may("write"),
        "undoable": undoable(asked),
        "question": asked.one("find"),
        "hits": None,
        "here_address": f"/conversations/{session.short_id}",
    }
    if session.forgotten_ms is not None:
        return Shown("conversation", values | {"page": None}, 404)
    page = read(
        book,
        session,
        after=asked.one("after"),
        before=asked.one("before"),
        at=asked.one("at"),
        last=bool(asked.one("last")),
    )
    noted(book, session)
    folders = totals(book, SessionScope(empty=True)).folders
    values |= {
        "page": page,
        "entries": [entry_of(item) for item in page.items],
        "at": asked.one("at"),
        "kinds": what_is_in(book, [session]).get(session.id, {}),
        "around": around(book, session),
        "folders": sorted(folders)[:FOLDERS],
        "formats": FORMATS,
    }
    if question := asked.one("find"):
        sought = frozenset(word.token for word in plain_words(question))
        found = find_in(book, session, question)
        values["hits"] = [(item, marked_excerpt(redact(item.text or item.told()), sought, EXCERPT)) for item in found]
    return Shown("conversation", values | more, status)


def _meant(book: Book, id_: str, session: Session) -> Item | None:
    """The item that an address names instead of its conversation."""
    if id_ in (session.uid, session.short_id, session.key, str(session.id)):
        return None
    return next(iter(fetch(book, [id_]).items), None)


def _parts(html: Markup) -> tuple[Part, ...]:
    """HTML in parts: long blocks of code apart from the rest."""
    parts: list[Part] = []
    end = 0
    for block in _BLOCK.finditer(html):
        lines = block[0].count("\n")
        if lines > FOLDED:
            parts += [Part(Markup(html[end : block.start()])), Part(Markup(block[0]), lines)]
            end = block.end()
    return (*parts, Part(Markup(html[end:])))


def _plain(text: str) -> Part:
    lines = text.count("\n") + 1
    return Part(Markup('<pre class="plain">{}</pre>').format(text), lines if lines > FOLDED else 0)


def _importance(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidInput(f"importance is {text[:40]!r}.", "Choose a number from 0 to 10.") from None


def _rev(asked: Asked) -> int:
    return asked.number("rev", 0, 0, 10**9)
