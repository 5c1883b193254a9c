"""Find anything: what the search box in the header shows while somebody types, from memories to pages and actions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from commonplace.memory.candidates import query_tokens
from commonplace.memory.conversations import latest_conversations
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.quick_search import MAX_TYPED, begins_words, quick_search
from commonplace.model import Item, Project, Session, SessionScope
from commonplace.text.project_names import base_name
from commonplace.text.redact import redact
from commonplace.text.tokens import words_of
from commonplace.web.page import PART_HEADER, KeyScope, PageRequest, Redirect, Rendered, with_query
from commonplace.web.rendering import highlight
from commonplace.web.search import highlighted_item
from commonplace.web.texts import Texts, load_texts

PAGES = ("home", "search", "timeline", "conversations", "rules", "review", "topics", "feed", "settings")
# Of pages and actions so many are shown before what is remembered.
COMMANDS = 4
RECENT = 4
EXCERPT, LEAST_EXCERPT = 140, 25


@dataclass(frozen=True, slots=True)
class Action:
    """Something to do: its text in find.toml, where it is done or which button of the page it presses."""

    name: str
    address: str = ""
    press: str = ""
    scope: KeyScope = "read"


ACTIONS = (
    Action("add", "/items/new", scope="write"),
    Action("rule", "/rules", scope="write"),
    Action("review", "/review"),
    Action("contradictions", "/review?show=contradictions"),
    Action("old", "/review?show=old"),
    Action("preview", "/rules/preview"),
    Action("key", "/settings", scope="admin"),
    Action("doctor", "/settings/doctor", scope="admin"),
    Action("dark", press='.themes button[value="dark"]'),
    Action("light", press='.themes button[value="light"]'),
    Action("keys_help", press=".keys-help"),
    Action("sign_out", press='[action="/logout"] button'),
)
# Shown before anything is typed.
FIRST_ACTIONS = ("add", "review", "keys_help")


@dataclass(frozen=True, slots=True)
class Option:
    """One line of the list: where it leads, what it is called, and what tells it from others."""

    icon: str
    title: Markup | str
    place: str = ""
    address: str = ""
    excerpt: Markup | str = ""
    press: str = ""
    time_ms: int = 0


@dataclass(frozen=True, slots=True)
class OptionGroup:
    """Options under a heading; `name` is its text in find.toml."""

    name: str
    options: tuple[Option, ...]


def find_page(memory: LocalMemory, request: PageRequest) -> Rendered | Redirect:
    """The options for what was typed. Without the script that asks for them, a search."""
    typed = request.one("q")
    if not request.headers.get(PART_HEADER):
        return Redirect(with_query("/search", {"q": typed}))
    raw = request.query.get("q", ("",))[-1][:MAX_TYPED]
    groups = _groups(memory, request, raw) if typed else _to_begin(memory, request)
    values: dict[str, Any] = {
        "typed": typed,
        "groups": groups,
        "total": sum(len(group.options) for group in groups),
        "everything": with_query("/search", {"q": typed}) if typed else "",
    }
    return Rendered("find", values)


def _to_begin(memory: LocalMemory, request: PageRequest) -> list[OptionGroup]:
    """What to offer somebody who has not typed anything yet."""
    recent = latest_conversations(memory, SessionScope(), RECENT).sessions
    return _filled(
        OptionGroup("recent", tuple(map(_conversation, recent))),
        OptionGroup("actions", tuple(_action(one) for one in _allowed(request) if one.name in FIRST_ACTIONS)),
        OptionGroup("pages", tuple(map(_page, PAGES))),
    )


def _groups(memory: LocalMemory, request: PageRequest, typed: str) -> list[OptionGroup]:
    words = words_of(typed)
    found = quick_search(memory, typed)
    tokens = query_tokens(typed) | {f"{word}*" for word in words[-1:]}
    commands = [_page(name) for name in PAGES if begins_words(words, _texts().frame.places[name])]
    commands += [_action(one) for one in _allowed(request) if begins_words(words, _action_words(one.name))]
    return _filled(
        OptionGroup("commands", tuple(commands[:COMMANDS])),
        OptionGroup("projects", tuple(_project(one) for one in found.projects)),
        OptionGroup("memories", tuple(_memory(item, tokens) for item in found.items)),
        OptionGroup("conversations", tuple(_conversation(session, tokens) for session in found.conversations)),
        OptionGroup("topics", tuple(_topic(one.id, one.name, one.project, tokens) for one in found.topics)),
    )


def _filled(*groups: OptionGroup) -> list[OptionGroup]:
    return [group for group in groups if group.options]


def _allowed(request: PageRequest) -> Iterable[Action]:
    return (action for action in ACTIONS if request.may(action.scope))


def _page(name: str) -> Option:
    return Option(name, _texts().frame.places[name], address="/" if name == "home" else f"/{name}")


def _action(action: Action) -> Option:
    return Option("action", _texts().find.does[action.name].name, address=action.address, press=action.press)


def _action_words(name: str) -> str:
    texts = _texts().find.does[name]
    return f"{texts.name} {texts.words}"


def _memory(item: Item, tokens: frozenset[str]) -> Option:
    title, text = highlighted_item(item, tokens, EXCERPT)
    # A few words that did not fit into the title say nothing.
    text = text if len(text.striptags()) >= LEAST_EXCERPT else Markup("")
    place, address = item.project or "", f"/items/{item.short_id}"
    return Option(item.kind, title or item.short_id, place, address, text, time_ms=item.created_ms)


def _conversation(session: Session, tokens: frozenset[str] = frozenset()) -> Option:
    label = redact(session.label or session.key)
    address, place = f"/conversations/{session.short_id}", session.project or session.source
    return Option("conversations", highlight(label, tokens), place, address, time_ms=session.ended_ms)


def _project(project: Project) -> Option:
    name, address = redact(project.name), f"/projects/{quote(project.name)}"
    return Option("folder", base_name(name), name, address, time_ms=project.last_ms or 0)


def _topic(id_: int, name: str, project: str | None, tokens: frozenset[str]) -> Option:
    return Option("topics", highlight(redact(name), tokens), project or "", f"/topics/{id_}")


@cache
def _texts() -> Texts:
    return load_texts()
