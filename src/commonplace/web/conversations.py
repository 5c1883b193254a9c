"""Conversations: the list by folder, one conversation to read, search, export and edit, and changes of many at once."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from commonplace.capture.hooks.shown_texts import ShownText, shown_to
from commonplace.errors import CommonplaceError, Conflict, InvalidInput, NotFound
from commonplace.memory.conversations import (
    STATUSES,
    ConversationChanges,
    find_session,
    forget_session,
    latest_conversations,
    open_conversation,
    restore_session,
    status_before_archiving,
    undo_conversation_change,
    update_conversation,
)
from commonplace.memory.export_conversations import EXPORT_FORMATS, export_text
from commonplace.memory.items import get_items
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.sessions import (
    SPOKEN,
    kinds_in_sessions,
    mark_session_read,
    read_session,
    related_sessions,
    search_session,
    session_excerpts,
)
from commonplace.memory.spaces import is_server_admin
from commonplace.memory.status_and_stats import session_totals
from commonplace.model import DETAIL_FIELDS, Item, Session, SessionScope
from commonplace.text.paths import (
    ROOT_FOLDER,
    folder_names,
    is_in_folder,
    normalise_folder,
    safe_file_name,
    totals_by_folder,
)
from commonplace.text.query import plain_words
from commonplace.text.redact import redact
from commonplace.web.page_handler import (
    FileReply,
    PageReply,
    PageRequest,
    Redirect,
    Rendered,
    local_path,
    project_names,
    with_query,
)
from commonplace.web.rendering import highlight_excerpt, markdown

LIST = "/conversations"
PAGE_SIZE = 50
FOLDERS = 200
# What is shown by default: archived conversations are hidden.
CURRENT = ("active", "pinned")
VIEWS: Mapping[str, tuple[str, ...]] = {"": CURRENT, **{name: (name,) for name in STATUSES[1:]}, "all": ()}
# What can be done to conversations, and the notice shown afterwards.
ACTIONS = {"move": "moved", "archive": "archived", "unarchive": "unarchived", "pin": "pinned", "unpin": "unpinned"}
FILTERS = ("folder", "status", "source", "project", "named")
# A conversation at the revision that somebody saw.
_SEEN = re.compile(r"([0-9a-f]{12})\.([0-9]{1,9})")


@dataclass(frozen=True, slots=True)
class Folder:
    """One line of the folder tree; `count` includes everything below it."""

    path: str
    name: str
    depth: int
    count: int
    is_open: bool


def list_conversations(memory: LocalMemory, request: PageRequest) -> Rendered:
    """The list of conversations."""
    chosen = {name: request.one(name) for name in FILTERS}
    scope = _scope(chosen)
    page = latest_conversations(memory, scope, PAGE_SIZE, request.one("cursor") or None)
    everywhere = _scope({**chosen, "folder": ""})
    counts = session_totals(memory, everywhere)
    values: dict[str, Any] = {
        "chosen": chosen,
        "views": VIEWS,
        "sessions": page.sessions,
        "kinds_in": kinds_in_sessions(memory, page.sessions),
        "excerpts": session_excerpts(memory, page.sessions),
        "older": page.next_cursor and with_query(LIST, {**chosen, "cursor": page.next_cursor}),
        "newest": with_query(LIST, chosen) if request.one("cursor") else "",
        "tree": folder_tree(counts.folders, scope.folder or ROOT_FOLDER),
        "all_folders": sorted(counts.folders)[:FOLDERS],
        "sources": sorted(counts.sources),
        "projects": project_names(memory),
        "address": lambda **more: with_query(LIST, {**chosen, **more}),
        "undoable": undoable(request),
        "may_change": request.may("write"),
    }
    return Rendered("conversations", values)


def change_chosen(memory: LocalMemory, request: PageRequest) -> Redirect:
    """Archive, unarchive or move the chosen conversations, unless somebody changed one of them meanwhile."""
    back = local_path(request.given("back"), LIST)
    do, folder = request.given("do"), request.given("to")
    if do not in ACTIONS:
        raise InvalidInput("No action was chosen.", "Choose to archive or to move them.")
    seen = [_checked(memory, id_, rev) for id_, rev in _seen(request)]
    changed = [
        update_conversation(memory, session.uid, changes_for(memory, session, do, folder), session.rev)
        for session in seen
    ]
    return Redirect(with_undo(back, changed), ACTIONS[do], str(len(changed)))


def undo_changes(memory: LocalMemory, request: PageRequest) -> Redirect:
    """Undo the last change."""
    back = local_path(request.given("back"), LIST)
    seen = [_checked(memory, id_, rev) for id_, rev in _seen(request)]
    for session in seen:
        undo_conversation_change(memory, session.uid, session.rev)
    return Redirect(back, "undone", str(len(seen)))


def changes_for(memory: LocalMemory, session: Session, do: str, folder: str = "") -> ConversationChanges:
    """What one of ACTIONS changes in a conversation."""
    match do:
        case "move":
            return ConversationChanges(folder=folder)
        case "archive":
            return ConversationChanges(status="archived")
        case "pin":
            return ConversationChanges(status="pinned")
        case "unarchive":
            return ConversationChanges(status=status_before_archiving(memory, session))
    return ConversationChanges(status="active")


def folder_tree(counts: Mapping[str, int], at: str) -> list[Folder]:
    """The folders on the path to the open one, with their siblings; deeper ones appear when their parent is opened."""
    below = totals_by_folder(counts)
    shown = [path for path in below if path == ROOT_FOLDER or is_in_folder(at, _above(path))]
    return [
        Folder(path, (folder_names(path) or [""])[-1], len(folder_names(path)), below[path], is_in_folder(at, path))
        for path in shown[:FOLDERS]
    ]


def with_undo(path: str, sessions: Sequence[Session]) -> str:
    """A path that also says what can be undone there."""
    return with_query(path, {"undo": ",".join(f"{one.short_id}.{one.rev}" for one in sessions)})


def undoable(request: PageRequest) -> list[str]:
    """What can be undone, according to the query."""
    return [one for one in request.one("undo").split(",")[:PAGE_SIZE] if _SEEN.fullmatch(one)]


def _scope(chosen: Mapping[str, str]) -> SessionScope:
    if chosen["status"] not in VIEWS:
        raise InvalidInput(f"status is {chosen['status'][:40]!r}.", f"Choose one of {', '.join(filter(None, VIEWS))}.")
    return SessionScope(
        folder=normalise_folder(chosen["folder"]) if chosen["folder"] else "",
        statuses=VIEWS[chosen["status"]],
        project=chosen["project"] or None,
        source=chosen["source"],
        empty=True,
        named=chosen["named"],
    )


def _seen(request: PageRequest) -> list[tuple[str, int]]:
    found = [_SEEN.fullmatch(value) for value in dict.fromkeys(request.chosen("id"))]
    seen = [(one[1], int(one[2])) for one in found if one][:PAGE_SIZE]
    if not seen:
        raise InvalidInput("No conversation was chosen.", "Go back and choose at least one.")
    return seen


def _checked(memory: LocalMemory, id_: str, rev: int) -> Session:
    """A conversation at the revision that was seen; otherwise nothing is done to any."""
    session = find_session(memory, id_)
    if session.rev != rev:
        raise Conflict(
            f"Someone else changed the conversation {session.label[:60]!r} in the meantime. Nothing was changed.",
            "Reload the list and choose again.",
        )
    return session


def _above(path: str) -> str:
    return ROOT_FOLDER + "/".join(folder_names(path)[:-1])


# Characters of an item that are shown; its own page has the rest.
SHOWN = 20_000
# Longer code blocks and tool outputs, in lines, are folded.
FOLDED = 14
EXCERPT = 240
# Fields that are shown as part of the text or of its heading.
FIELDS_SHOWN_ELSEWHERE = ("role", "speaker", "narrative")
MEDIA = {"json": "application/json", "markdown": "text/markdown; charset=utf-8"}
ENDINGS = {"json": "json", "markdown": "md"}
_BLOCK = re.compile(r"<pre>.*?</pre>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Part:
    """Part of an item's text; one of many `lines` is folded."""

    html: Markup
    lines: int = 0


@dataclass(frozen=True, slots=True)
class Entry:
    """An item of a conversation: its text, what is folded below it, and how many characters are not shown.

    `title` is empty where the text says it already.
    """

    item: Item
    title: str
    parts: tuple[Part, ...]
    folded: tuple[Part, ...]
    fields: tuple[tuple[str, str], ...]
    rest: int

    @property
    def role(self) -> str:
        """Who speaks, also where hooks recorded what was said."""
        return self.item.details.get("role") or SPOKEN.get(self.item.type, "")


def show_conversation(memory: LocalMemory, request: PageRequest) -> PageReply:
    """A page of a conversation. The id of a message leads to its place in it."""
    try:
        session = find_session(memory, request.path["id"], forgotten=True)
    except (NotFound, InvalidInput):
        return Rendered("item_none", {"id": request.path["id"][:100]}, 404)
    message = _message_with_id(memory, request.path["id"], session)
    if message is not None:
        return Redirect(f"/conversations/{session.short_id}?at={message.short_id}#m{message.short_id}")
    return _conversation_page(memory, request, session, {})


def edit_conversation(memory: LocalMemory, request: PageRequest) -> PageReply:
    """Change label, folder or importance; after an error or a conflict the form keeps what was written."""
    session = find_session(memory, request.path["id"])
    mine = {name: request.given(name) for name in ("label", "folder", "importance")}
    try:
        wanted = ConversationChanges(mine["label"], mine["folder"], _importance(mine["importance"]))
        changed = update_conversation(memory, session.uid, wanted, request.rev)
    except CommonplaceError as error:
        wrong = None if isinstance(error, Conflict) else error
        held = {"held": mine, "wrong": wrong}
        return _conversation_page(memory, request, find_session(memory, session.uid), held, error.http_status)
    return Redirect(with_undo(f"/conversations/{session.short_id}", [changed]), "changed", session.label[:80])


def change_status(memory: LocalMemory, request: PageRequest) -> Redirect:
    """Archive, pin, and undo either."""
    session, do = find_session(memory, request.path["id"]), request.given("do")
    if do not in ACTIONS:
        raise InvalidInput(f"do is {do[:40]!r}.", f"Choose one of {', '.join(ACTIONS)}.")
    changed = update_conversation(memory, session.uid, changes_for(memory, session, do, session.folder), request.rev)
    return Redirect(with_undo(f"/conversations/{session.short_id}", [changed]), ACTIONS[do], session.label[:80])


def forget_conversation(memory: LocalMemory, request: PageRequest) -> Redirect:
    """Forget a conversation with its messages; its page then offers to restore it."""
    session = forget_session(memory, request.path["id"], request.rev)
    return Redirect(f"/conversations/{session.short_id}", "forgot")


def restore_conversation(memory: LocalMemory, request: PageRequest) -> Redirect:
    """Restore a forgotten conversation."""
    session = restore_session(memory, request.path["id"])
    return Redirect(f"/conversations/{session.short_id}", "restored")


def export_conversation(memory: LocalMemory, request: PageRequest) -> FileReply:
    """Download a conversation, in the same format as `commonplace export`."""
    format_ = request.one("format", EXPORT_FORMATS[0])
    if format_ not in EXPORT_FORMATS:
        raise InvalidInput(f"format is {format_[:40]!r}.", f"Choose one of {', '.join(EXPORT_FORMATS)}.")
    session, messages = open_conversation(memory, request.path["id"])
    name = f"{safe_file_name(redact(session.label or session.key))}.{ENDINGS[format_]}"
    return FileReply(export_text(session, messages, format_).encode("utf-8", "replace"), MEDIA[format_], name)


def entry_of(item: Item) -> Entry:
    """An item as it is shown: what was said as Markdown, what a tool did in a line with its output folded."""
    body, narrative = (redact(text[:SHOWN]) for text in (item.body.strip(), item.details.get("narrative", "")))
    by_tool = (item.kind == "observation" and item.type not in SPOKEN) or item.details.get("role") == "tool"
    parts = _parts(markdown(narrative)) if narrative and (by_tool or not body) else ()
    folded: tuple[Part, ...] = ()
    if body and not by_tool:
        parts += _parts(markdown(body))
    elif body and parts:
        folded = (_plain(body, foldable=False),)
    elif body:
        parts = (_plain(body),)
    named = [name for name in DETAIL_FIELDS[item.kind] if name not in FIELDS_SHOWN_ELSEWHERE and item.details.get(name)]
    # Those of observations are what the text says already, in other forms.
    names = [name for name in named if item.kind != "observation" or name not in ("subtitle", "concepts")]
    fields = tuple((name, item.details[name][:SHOWN]) for name in names if item.type not in SPOKEN)
    first = fields[0][1] if fields and item.kind in ("summary", "checkpoint") else ""
    title = "" if item.kind == "message" or _repeats(item.title, narrative or body or first) else item.title
    return Entry(item, title, parts, folded, fields, max(0, len(item.body) - SHOWN))


def _repeats(title: str, text: str) -> bool:
    """Whether a text begins with its title, or names in its first line what the title names."""
    name = title.removesuffix("…").removeprefix("Failed: ").strip()
    return not name or name in " ".join(text[: 4 * len(title)].split())


def _shown(memory: LocalMemory, request: PageRequest, session: Session) -> tuple[ShownText, ...]:
    """What the agent of a session was shown on this machine, for those who may know what happens on it."""
    if not (request.may("admin") and is_server_admin(memory, request.key)):
        return ()
    shown = shown_to(memory.settings, session.key)
    return shown.texts if shown else ()


def _conversation_page(
    memory: LocalMemory, request: PageRequest, session: Session, more: dict[str, Any], status: int = 200
) -> Rendered:
    values: dict[str, Any] = {
        "session": session,
        "held": None,
        "may_change": request.may("write"),
        "undoable": undoable(request),
        "question": request.one("find"),
        "hits": None,
        "here_address": f"/conversations/{session.short_id}",
    }
    if session.forgotten_ms is not None:
        return Rendered("conversation", values | {"page": None}, 404)
    page = read_session(
        memory,
        session,
        after=request.one("after"),
        before=request.one("before"),
        at=request.one("at"),
        last=bool(request.one("last")),
    )
    mark_session_read(memory, session)
    folders = session_totals(memory, SessionScope(empty=True)).folders
    values |= {
        "page": page,
        "entries": [entry_of(item) for item in page.items],
        "at": request.one("at"),
        "kinds": kinds_in_sessions(memory, [session]).get(session.id, {}),
        "around": related_sessions(memory, session),
        "folders": sorted(folders)[:FOLDERS],
        "formats": EXPORT_FORMATS,
        "shown": _shown(memory, request, session),
    }
    if question := request.one("find"):
        tokens = frozenset(word.token for word in plain_words(question))
        found = search_session(memory, session, question)
        values["hits"] = [
            (item, highlight_excerpt(item.text or item.details_text(), tokens, EXCERPT)) for item in found
        ]
    return Rendered("conversation", values | more, status)


def _message_with_id(memory: LocalMemory, id_: str, session: Session) -> Item | None:
    """The message, if the id in the path is one of a message."""
    if id_ in (session.uid, session.short_id, session.key, str(session.id)):
        return None
    return next(iter(get_items(memory, [id_]).items), None)


def _parts(html: Markup) -> tuple[Part, ...]:
    """HTML in parts, with long blocks of code separate."""
    parts: list[Part] = []
    end = 0
    for block in _BLOCK.finditer(html):
        lines = block[0].count("\n")
        if lines > FOLDED:
            parts += [Part(Markup(html[end : block.start()])), Part(Markup(block[0]), lines)]
            end = block.end()
    return (*parts, Part(Markup(html[end:])))


def _plain(text: str, *, foldable: bool = True) -> Part:
    lines = text.count("\n") + 1
    return Part(Markup('<pre class="plain">{}</pre>').format(text), lines if foldable and lines > FOLDED else 0)


def _importance(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidInput(f"importance is {text[:40]!r}.", "Choose a number from 0 to 10.") from None
