"""The profile: a few sentences about the person and the team's ways, quoted from memories and linked to them.

Made by rules, which know the sentences by which people say how they work, from what holds now and was stated or
accepted by a person: preferences, what they work with, corrections and rules. Two tags pin a memory to it or hide it;
whatever else is to change is changed in the memory itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from commonplace.errors import Conflict, InvalidInput
from commonplace.memory.captured_events import SENTENCE_KEY
from commonplace.memory.edit_and_forget import Changes, edit_item
from commonplace.memory.items import get_item
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.permissions import is_person, require_person
from commonplace.memory.profile_sentences import PROFILE_GROUPS, PROFILE_TYPES, profile_sentence, prompt_sentence_of
from commonplace.memory.projects import require_project
from commonplace.memory.rules import rule_paths
from commonplace.memory.told_to_agents import may_be_known, scope_to_tell, source_of
from commonplace.model import HIDDEN_TAG, PINNED_TAG, SAME_AS, Item, Scope, linked_uids
from commonplace.store.rows import QUERY_COLUMNS
from commonplace.text.query import parse_query
from commonplace.text.redact import redact, strip_control_characters
from commonplace.text.sentences import normalise_statement, shorten, title_of
from commonplace.text.tokens import estimate_tokens

PROFILE_TOKENS = 300
Show = Literal["pinned", "hidden", "auto"]
SHOW: tuple[Show, ...] = ("pinned", "hidden", "auto")
# Stated by a person, or accepted by one.
_TRUSTED = ("person", "agreed")
# So many of the newest are read; of each group so many lines come before others have had their turn.
_READ, _IN_GROUP, _MOST_TAGGED, _LONGEST = 500, 4, 50, 200
# So many corrections are counted: in how many sessions each was said.
_MOST_COUNTED, _SESSIONS = 20, 20
PROFILE_HEADINGS = {
    "preferences": "Preferences",
    "corrections": "Corrected before",
    "environment": "Environment",
    "ways": "Ways of working",
}


@dataclass(frozen=True, slots=True)
class ProfileLine:
    """A sentence of a memory. `times` counts the sessions and statements in which it was said, if more than one.

    `by` is who says it, if that is somebody else than who asks.
    """

    text: str
    item: Item
    group: str
    pinned: bool = False
    times: int = 1
    by: str = ""

    @property
    def quote(self) -> str:
        """The sentence, with who says it if that is somebody else."""
        return f"{self.by}: {self.text}" if self.by else self.text


@dataclass(frozen=True, slots=True)
class Profile:
    """The lines by group, in order; `hidden` are memories that were taken out by hand."""

    lines: tuple[ProfileLine, ...]
    hidden: tuple[Item, ...] = ()
    tokens: int = 0
    offered: bool = True

    @property
    def text(self) -> str:
        """The profile as Markdown."""
        return _printed(self.lines)


def build_profile(memory: LocalMemory, project: str | None = None, tokens: int = PROFILE_TOKENS) -> Profile:
    """The profile of everybody who works with this memory, or of those who work on a project, within so many tokens.

    Of a project, what holds everywhere counts too. Agents get none where the setting `user_profile` hides it.
    """
    if not 1 <= tokens <= PROFILE_TOKENS:
        raise InvalidInput(f"tokens is {tokens}.", f"Choose 1 to {PROFILE_TOKENS}.")
    require_project(memory, project)
    offered = memory.settings.user_profile == "on"
    if not offered and not is_person(memory):
        return Profile((), offered=False)
    scope = Scope() if project is None else Scope.around(project)
    hidden = _tagged(memory, scope, HIDDEN_TAG)
    lines: list[ProfileLine] = []
    for line in profile_lines(memory, scope):
        more = _in_order([*lines, line])
        if estimate_tokens(len(_printed(more))) > tokens:
            break
        lines = more
    return Profile(tuple(lines), tuple(hidden), estimate_tokens(len(_printed(lines))), offered)


def profile_lines(memory: LocalMemory, scope: Scope, but_types: Collection[str] = ()) -> Iterator[ProfileLine]:
    """The lines of a profile, what is most worth telling first; nothing twice."""
    seen: set[str] = set()
    for line in _by_turns(_candidates(memory, scope, but_types)):
        # What says the same in other words is linked with it.
        same = {normalise_statement(line.text), line.item.uid, *linked_uids(line.item, SAME_AS)}
        if seen.isdisjoint(same):
            yield line
        seen |= same


def show_in_profile(memory: LocalMemory, id_: int | str, show: Show) -> Item:
    """Pin a memory to the profile, hide it from it, or leave that to the rules again (`auto`)."""
    instead = "Do it yourself: `commonplace profile`, or the Profile page of the dashboard."
    require_person(memory, "change the profile", instead)
    if show not in SHOW:
        raise InvalidInput(f"{show!r} is not a way to show it.", f"Choose one of {', '.join(SHOW)}.")
    item = get_item(memory, id_)
    if show == "pinned" and (item.kind != "memory" or item.origin not in _TRUSTED):
        raise Conflict(
            f"Item {item.id} was not stated or accepted by a person.",
            "Accept it (`commonplace review`), or say it yourself: `commonplace add`.",
        )
    if show == "pinned" and item.superseded_by is not None:
        raise Conflict(
            f"Item {item.id} is superseded by {item.superseded_by}, so the profile does not show it.",
            f"Pin {item.superseded_by} instead, or bring it back first: `commonplace restore {item.id}`.",
        )
    ends = [end for end in (item.valid_until_ms, item.expires_ms) if end is not None]
    if show == "pinned" and ends and min(ends) <= memory.clock():
        raise Conflict(
            f"Item {item.id} is no longer valid, so the profile does not show it.",
            f"Remove its end first: `commonplace edit {item.id} --valid-until none --expires none`.",
        )
    tags = [tag for tag in item.tags if tag not in (PINNED_TAG, HIDDEN_TAG)]
    tags += [] if show == "auto" else [PINNED_TAG if show == "pinned" else HIDDEN_TAG]
    return edit_item(memory, item.id, Changes(tags=tags))


def _statements(scope: Scope) -> Scope:
    return scope_to_tell(replace(scope, kinds=("memory",), origins=_TRUSTED))


def _tagged(memory: LocalMemory, scope: Scope, tag: str) -> list[Item]:
    """The newest statements with a tag, found by the index of words."""
    query = parse_query(f'tags:"{tag}"', QUERY_COLUMNS)
    # Who said it is looked at afterwards: the index does not know that.
    hits = memory.store.search_text(query, replace(scope, kinds=("memory",)), _MOST_TAGGED, count=False).hits
    tagged = (item for item in memory.store.get(hit.item_id for hit in hits).values() if tag in item.tags)
    found = (item for item in tagged if item.origin in _TRUSTED and may_be_known(memory, item))
    return sorted(found, key=lambda item: (-item.created_ms, -item.id))


def _candidates(memory: LocalMemory, scope: Scope, but_types: Collection[str]) -> list[ProfileLine]:
    types = tuple(type_ for type_ in PROFILE_TYPES if type_ not in but_types)
    # Types are in the index of a project; among all projects each of them would be a walk through everything.
    indexed = scope.project is not None or scope.only_global
    newest = memory.store.newest(_statements(replace(scope, types=types if indexed else ())), _READ)
    found = (item for item in newest if item.type in types and may_be_known(memory, item))
    pinned = _tagged(memory, scope, PINNED_TAG)
    items = {item.id: item for item in (*found, *pinned) if HIDDEN_TAG not in item.tags}
    lines = [_attributed(memory, line) for line in map(_line, items.values()) if line is not None]
    counted = [line for line in lines if SENTENCE_KEY in line.item.meta][:_MOST_COUNTED]
    times = {line.item.id: _sessions_with(memory, scope, line.item) for line in counted}
    return [replace(line, times=max(line.times, times.get(line.item.id, 1))) for line in lines]


def _line(item: Item) -> ProfileLine | None:
    pinned = PINNED_TAG in item.tags
    # Before a sentence is cut out: what stands around a secret shows that it is one.
    text = redact(item.text)
    found = profile_sentence(text, item.type, prompt_sentence_of(item))
    twins = item.meta.get(SAME_AS)
    times = 1 + len(twins) if isinstance(twins, list) else 1
    if found is not None and (pinned or not rule_paths(item)):
        return ProfileLine(found.text, item, found.group, pinned, times)
    if not pinned:
        return None
    whole = title_of(text, _LONGEST) or redact(item.title)
    return ProfileLine(shorten(whole, _LONGEST), item, "ways", pinned, times)


def _attributed(memory: LocalMemory, line: ProfileLine) -> ProfileLine:
    """The line, with its author if that is somebody else: what they say of "me", of "us" or of the reader."""
    return replace(line, by=source_of(memory, line.item))


def _sessions_with(memory: LocalMemory, scope: Scope, item: Item) -> int:
    """In how many sessions a person said what an item says."""
    sentence = str(item.meta.get(SENTENCE_KEY, "")).replace('"', " ")
    query = parse_query(f'"{sentence}"', QUERY_COLUMNS)
    if not query.strict:
        return 1
    prompts = replace(scope, kinds=("observation", "message"), lapsed=True)
    hits = memory.store.search_text(query, prompts, _SESSIONS, count=False).hits
    return max(1, len({one.session for one in memory.store.get(hit.item_id for hit in hits).values()}))


def _by_turns(lines: Iterable[ProfileLine]) -> Iterator[ProfileLine]:
    """What is pinned, then a few of each group, then the rest: said often first, then the important, the newest."""
    best = sorted(
        lines,
        key=lambda line: (
            bool(line.by),
            -line.times,
            -(line.item.importance or 0.0),
            -line.item.created_ms,
            -line.item.id,
        ),
    )
    yield from (line for line in best if line.pinned)
    groups = [[line for line in best if line.group == group and not line.pinned] for group in PROFILE_GROUPS]
    for group in groups:
        yield from group[:_IN_GROUP]
    for group in groups:
        yield from group[_IN_GROUP:]


def _in_order(lines: Iterable[ProfileLine]) -> list[ProfileLine]:
    """By group, in each in the order in which they came."""
    return sorted(lines, key=lambda line: PROFILE_GROUPS.index(line.group))


def _printed(lines: Iterable[ProfileLine]) -> str:
    text: list[str] = []
    group = ""
    for line in lines:
        if line.group != group:
            group = line.group
            text += ["", f"## {PROFILE_HEADINGS[group]}"] if text else [f"## {PROFILE_HEADINGS[group]}"]
        text.append(f"- {line.quote} ({line.item.short_id})")
    return strip_control_characters("\n".join(text) + "\n") if text else ""
