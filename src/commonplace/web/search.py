"""The results of a search: filters, hits by session with the sentence that answers, and why each was found.

And find anything: what the search box in the header shows while somebody types, from memories to pages and actions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar
from urllib.parse import quote

from markupsafe import Markup

from commonplace.errors import InvalidInput
from commonplace.memory.conversations import latest_conversations
from commonplace.memory.items import browse_items
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.recall import Hit, recall, sessions_of_hits
from commonplace.memory.search_candidates import MAX_QUERY, is_filter, query_tokens
from commonplace.memory.search_page import MAX_TYPED, answer_sentences, begins_words, quick_search
from commonplace.memory.status_and_stats import count_items
from commonplace.model import DETAIL_FIELDS, KINDS, MEMORY_TYPES, ORIGINS, Item, Project, Scope, Session, SessionScope
from commonplace.text.dates import period_end, period_start
from commonplace.text.paths import ROOT_FOLDER, normalise_folder
from commonplace.text.project_names import base_name, normalise_project
from commonplace.text.redact import redact
from commonplace.text.sentences import excerpt, truncate
from commonplace.text.tokens import words_of
from commonplace.text.validity import parse_as_of
from commonplace.web.page_handler import (
    PART_HEADER,
    KeyScope,
    PageRequest,
    Redirect,
    Rendered,
    project_names,
    with_query,
)
from commonplace.web.rendering import Texts, highlight, load_texts

FILTER_NAMES = (
    *("project", "kind", "type", "tag", "folder", "author", "origin", "when", "since", "until"),
    *("as_of", "expired"),
)
T = TypeVar("T")

# Periods that one click chooses.
SPANS = ("today", "7d", "30d", "365d")
# Items that belong to no project.
NO_PROJECT = "*"


@dataclass(frozen=True, slots=True)
class Filters:
    """The chosen filters, the scope they mean, and which of them were not understood and are left out."""

    chosen: dict[str, str]
    scope: Scope
    unclear: tuple[str, ...]

    @property
    def are_set(self) -> bool:
        return any(self.chosen.values())

    def address(self, question: str, **more: str) -> str:
        """The URL of this search."""
        return with_query("/search", {"q": question, **self.chosen, **more})


def read_filters(request: PageRequest, now_ms: int) -> Filters:
    """Read the filters leniently: no URL is an error."""
    chosen = {name: request.one(name)[:1000] for name in FILTER_NAMES}
    unclear: list[str] = []

    def read(text: str, reader: Callable[[str], T]) -> T | None:
        try:
            return reader(text) if text else None
        except InvalidInput:
            unclear.append(text[:60])
            return None

    span = chosen["when"] if chosen["when"] in SPANS else ""
    folder = read(chosen["folder"], normalise_folder)
    only_global = chosen["project"] == NO_PROJECT
    scope = Scope(
        project=None if only_global else read(chosen["project"], normalise_project),
        only_global=only_global,
        kinds=tuple(kind for kind in KINDS if kind == chosen["kind"]),
        types=(chosen["type"],) if chosen["type"] else (),
        tag=chosen["tag"],
        author=chosen["author"],
        origins=tuple(origin for origin in ORIGINS if origin == chosen["origin"]),
        sessions=SessionScope(folder=folder) if folder and folder != ROOT_FOLDER else None,
        since_ms=read(chosen["since"] or span, lambda text: period_start(text, now_ms)),
        until_ms=read(chosen["until"], lambda text: period_end(text, now_ms)),
        at_ms=read(chosen["as_of"], lambda text: parse_as_of(text, now_ms)),
        lapsed=bool(chosen["expired"]),
    )
    return Filters(chosen, scope, tuple(unclear))


RESULTS, MAX_RESULTS = 20, 200
# With fewer items a map of topics says less than the list of projects.
MAP_FROM = 2_000
EXCERPT = 320
# What is as likely an answer as not stands first, with its sentence marked; what is less likely stands below a line,
# and what is hardly one is folded away. Where only the words could tell, that is what has few of them.
ANSWERS, LIKELY, LIKELY_BY_WORDS = 0.5, 0.1, 0.05
# Of a session so many hits are shown, and the others on demand. Before a sentence that answers this much is shown.
SHOWN_OF_SESSION, BEFORE_ANSWER = 3, 90
# A text up to so long is shown as a whole instead of a title that was cut off.
WHOLE_TITLE = 140
# How much of a long text is searched for the part to show.
READ = 20_000
_LEADER = re.compile(r"^\s*(?:(?:`{3,}|~{3,}).*|#{1,6}\s|>\s?|[-*+]\s|\|)")


@dataclass(frozen=True, slots=True)
class Result:
    """A found item: title and excerpt with highlighted words, its session, its scores from 0 to 1, and their parts."""

    item: Item
    title: Markup
    excerpt: Markup
    session: Session | None
    why: Mapping[str, float]
    parts: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ResultGroup:
    """Hits of one session, or one hit by itself."""

    session: Session | None
    shown: tuple[Result, ...]
    more: tuple[Result, ...] = ()


def group_by_session(results: Sequence[Result]) -> list[ResultGroup]:
    """Hits in their order, but those of one session together, where the first of them stands."""
    together: dict[object, list[Result]] = {}
    for number, result in enumerate(results):
        together.setdefault(result.session.id if result.session else f"alone {number}", []).append(result)
    return [
        ResultGroup(
            group[0].session if len(group) > 1 else None,
            tuple(group[:SHOWN_OF_SESSION]),
            tuple(group[SHOWN_OF_SESSION:]),
        )
        for group in together.values()
    ]


def search_page(memory: LocalMemory, request: PageRequest) -> Rendered:
    """What a question finds; without one, the newest items within the filters; without either, how to begin."""
    question = request.one("q")[:MAX_QUERY]
    chosen = read_filters(request, memory.clock())
    values: dict[str, Any] = {
        "q": question,
        "chosen": chosen.chosen,
        "unclear": chosen.unclear,
        "listed": not question and chosen.are_set,
        "span_names": SPANS,
        "set_filters": _set_filters(question, chosen),
        "groups": (),
        "less_likely": (),
        "unlikely": (),
        "total": 0,
        "is_first_part": False,
        "by_meaning": True,
        "shows_likelihood": False,
        "waiting": 0,
        "more": "",
        "is_blank": False,
        "may_add": request.may("write"),
        "has_map": count_items(memory) >= MAP_FROM,
    }
    if question:
        values |= _found(memory, question, chosen, _number(request.one("n")))
    elif chosen.are_set:
        values |= _newest(memory, chosen, request.one("cursor"))
    if question and not any(values[part] for part in ("groups", "less_likely", "unlikely")):
        values["is_blank"] = not chosen.are_set and not browse_items(memory, Scope(), 1).items
    # While somebody types, their page has the rest already.
    return Rendered("search", values if request.headers.get(PART_HEADER) else values | _choices(memory))


def _found(memory: LocalMemory, question: str, chosen: Filters, limit: int) -> dict[str, Any]:
    found = recall(memory, question, chosen.scope, limit)
    sessions = sessions_of_hits(memory, found.hits)
    tokens = query_tokens(question)
    answers = answer_sentences(memory, question, [hit for hit in found.hits if hit.relevance >= ANSWERS])
    results = [_result(hit, tokens, sessions.get(hit.item.id), answers.get(hit.item.id, "")) for hit in found.hits]
    # What satisfies a filter is what was asked for, however likely; words alone do not tell how likely something is.
    answers_from, likely_from = (ANSWERS, LIKELY) if found.by_meaning else (LIKELY_BY_WORDS, LIKELY_BY_WORDS)
    if is_filter(question):
        answers_from = likely_from = 0.0
    first = sum(hit.relevance >= answers_from for hit in found.hits)
    likely = sum(hit.relevance >= likely_from for hit in found.hits)
    more = len(found.hits) == limit < min(MAX_RESULTS, found.total)
    return {
        "groups": group_by_session(results[:first]),
        "less_likely": group_by_session(results[first:likely]),
        "unlikely": results[likely:],
        "total": first,
        "is_first_part": first == limit and bool(more),
        "shows_likelihood": found.by_meaning and not is_filter(question),
        "by_meaning": found.by_meaning,
        "waiting": found.waiting,
        "more": chosen.address(question, n=str(min(MAX_RESULTS, limit + RESULTS))) if more else "",
    }


def _newest(memory: LocalMemory, chosen: Filters, cursor: str) -> dict[str, Any]:
    try:
        page = browse_items(memory, chosen.scope, RESULTS, cursor or None)
    except InvalidInput:
        page = browse_items(memory, chosen.scope, RESULTS)
    results = [Result(item, *highlighted_item(item, frozenset(), EXCERPT), None, {}) for item in page.items]
    return {
        "groups": [ResultGroup(None, (result,)) for result in results],
        "more": chosen.address("", cursor=page.next_cursor) if page.next_cursor else "",
    }


def _set_filters(question: str, chosen: Filters) -> list[tuple[str, str, str]]:
    """The filters that are set: name, value, and the address of this search without it."""
    return [
        (name, value, with_query("/search", {"q": question, **chosen.chosen, name: ""}))
        for name, value in chosen.chosen.items()
        if value
    ]


def _result(hit: Hit, tokens: frozenset[str], session: Session | None, answer: str) -> Result:
    why = {"relevance": hit.relevance, "meaning": hit.semantic, "words": hit.lexical}
    known = {name: share for name, share in why.items() if share > 0.0}
    return Result(hit.item, *highlighted_item(hit.item, tokens, EXCERPT, answer), session, known, hit.why)


def highlighted_item(item: Item, tokens: frozenset[str], limit: int, answer: str = "") -> tuple[Markup, Markup]:
    """Title and excerpt, with the sentence that answers marked; the excerpt does not repeat the title."""
    title = redact(item.title)
    fields = (item.details.get(name, "") for name in DETAIL_FIELDS[item.kind] if name != "snapshot")
    whole = redact((item.text or "\n".join(value for value in fields if value != item.title))[:READ])
    answer = _running(redact(answer))
    if title.endswith("…") and len(whole) <= WHOLE_TITLE and _running(whole).startswith(title[:-1]):
        # The last words of a sentence say nothing on a line of their own.
        before, found, after = _running(whole).partition(answer) if answer else (_running(whole), "", "")
        marked = _answering(highlight(found, tokens)) if found else Markup("")
        return highlight(before, tokens) + marked + highlight(after, tokens), Markup("")
    if _running(whole) == title:
        return _answering(highlight(title, tokens)) if answer == title else highlight(title, tokens), Markup("")
    text = _after(title, whole)
    if answer and (title.startswith(answer) or (title.endswith("…") and answer.startswith(title[:-1]))):
        marked = _answering(highlight(title[: len(answer)], tokens)) + highlight(title[len(answer) :], tokens)
        return marked, highlight(_running(excerpt(text, tokens, limit)), tokens)
    before, found, after = _running(text).partition(answer) if answer else ("", "", "")
    if found:
        start = max(0, before.rfind(" ", 0, max(0, len(before) - BEFORE_ANSWER)) + 1) if before else 0
        lead = f"… {before[start:]}" if start else before
        rest = truncate(after, max(1, limit - len(lead) - len(found))) if after else ""
        marked = highlight(lead, tokens) + _answering(highlight(truncate(found, limit), tokens))
        return highlight(title, tokens), marked + highlight(rest if limit > len(lead) + len(found) else "", tokens)
    return highlight(title, tokens), highlight(_after(title, _running(excerpt(text, tokens, limit))), tokens)


def _answering(sentence: Markup) -> Markup:
    return Markup('<span class="answer">{}</span>').format(sentence)


def _after(title: str, text: str) -> str:
    """A text without the title at its beginning; after a title that was cut, it goes on where that ends."""
    heading, start = title.removesuffix("…"), text.lstrip("#*->_` \n")
    rest = start.removeprefix(heading)
    if not heading or not start.startswith(heading) or rest[:1].isalnum():
        return text
    rest = rest.lstrip(" \n*_`:.;,")
    return f"… {rest}" if rest and title.endswith("…") else rest


def _running(text: str) -> str:
    """Markdown as running text, without the signs that only make sense at the beginning of a line."""
    lines = (_LEADER.sub("", line).strip() for line in text.splitlines())
    return " ".join(line for line in lines if line).replace("**", "").replace("`", "")


def _choices(memory: LocalMemory) -> dict[str, Any]:
    names = project_names(memory)
    return {
        "kinds": KINDS,
        "types": MEMORY_TYPES,
        "origins": ORIGINS,
        "spans": SPANS,
        "projects": names,
        "nowhere": NO_PROJECT,
    }


def _number(text: str) -> int:
    """The number of results; anything else means the default."""
    return (
        min(MAX_RESULTS, max(RESULTS, int(text))) if text.isascii() and text.isdecimal() and len(text) < 6 else RESULTS
    )


PAGES = ("home", "search", "timeline", "conversations", "rules", "review", "projects", "about", "topics", "settings")
# Of pages and actions so many are shown before what is remembered.
COMMANDS = 4
RECENT = 4
BOX_EXCERPT, LEAST_EXCERPT = 140, 25


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
    title, text = highlighted_item(item, tokens, BOX_EXCERPT)
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
