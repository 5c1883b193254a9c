"""The profile: a few sentences about the person and the team's ways, quoted from memories and linked to them.

Made by rules, which know the sentences by which people say how they work, from what holds now and was stated or
accepted by a person: preferences, what they work with, corrections and rules. Two tags pin a memory to it or hide it;
whatever else is to change is changed in the memory itself.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from commonplace.errors import Conflict, Forbidden, InvalidInput
from commonplace.memory.captured_events import SENTENCE_KEY
from commonplace.memory.edit_and_forget import Changes, edit_item
from commonplace.memory.items import get_item
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.projects import require_project
from commonplace.memory.rules import rule_paths
from commonplace.model import PROPOSED, SAME_AS, SETTLED, VIA, Item, Scope
from commonplace.store.rows import QUERY_COLUMNS
from commonplace.text.query import parse_query
from commonplace.text.redact import redact, strip_control_characters
from commonplace.text.sentences import normalise_statement, sentences, shorten, title_of
from commonplace.text.tokens import estimate_tokens

PROFILE_TOKENS = 300
PINNED_TAG, HIDDEN_TAG = "profile-pinned", "profile-hidden"
Show = Literal["pinned", "hidden", "auto"]
SHOW: tuple[Show, ...] = ("pinned", "hidden", "auto")
# Stated by a person, or accepted by one.
_TRUSTED = ("person", "agreed")
_TYPES = ("rule", "heuristic", "preference", "decision", "fact", "note", "constraint", "rejected")
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

    `by` is who says "I", if that is somebody else than who asks.
    """

    text: str
    item: Item
    group: str
    pinned: bool = False
    times: int = 1
    by: str = ""

    @property
    def quote(self) -> str:
        """The sentence, with who says it where that is not clear."""
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

    Of a project, what holds everywhere counts too.
    """
    if not 1 <= tokens <= PROFILE_TOKENS:
        raise InvalidInput(f"tokens is {tokens}.", f"Choose 1 to {PROFILE_TOKENS}.")
    require_project(memory, project)
    scope = Scope() if project is None else Scope.around(project)
    hidden = _tagged(memory, scope, HIDDEN_TAG)
    lines: list[ProfileLine] = []
    for line in profile_lines(memory, scope):
        more = _in_order([*lines, line])
        if estimate_tokens(len(_printed(more))) > tokens:
            break
        lines = more
    offered = memory.settings.user_profile == "on"
    return Profile(tuple(lines), tuple(hidden), estimate_tokens(len(_printed(lines))), offered)


def profile_lines(memory: LocalMemory, scope: Scope, but_types: Collection[str] = ()) -> Iterator[ProfileLine]:
    """The lines of a profile, what is most worth telling first; nothing twice."""
    seen: set[str] = set()
    for line in _by_turns(_candidates(memory, scope, but_types)):
        words = normalise_statement(line.text)
        if words not in seen:
            seen.add(words)
            yield line


def show_in_profile(memory: LocalMemory, id_: int | str, show: Show) -> Item:
    """Pin a memory to the profile, hide it from it, or leave that to the rules again (`auto`)."""
    if memory.writer.origin != "person":
        raise Forbidden(
            f"Only a person can change the profile, and {memory.writer.name or 'this caller'} is an agent.",
            "Do it yourself: `commonplace profile`, or the Profile page of the dashboard.",
        )
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
    return replace(scope, kinds=("memory",), origins=_TRUSTED, review=SETTLED)


def _tagged(memory: LocalMemory, scope: Scope, tag: str) -> list[Item]:
    """The newest statements with a tag, found by the index of words."""
    query = parse_query(f'tags:"{tag}"', QUERY_COLUMNS)
    # Who said it is looked at afterwards: the index does not know that.
    hits = memory.store.search_text(query, replace(scope, kinds=("memory",)), _MOST_TAGGED, shares=False).hits
    tagged = (item for item in memory.store.get(hit.item_id for hit in hits).values() if tag in item.tags)
    found = (item for item in tagged if item.origin in _TRUSTED and item.review != PROPOSED)
    return sorted(found, key=lambda item: (-item.created_ms, -item.id))


def _candidates(memory: LocalMemory, scope: Scope, but_types: Collection[str]) -> list[ProfileLine]:
    types = tuple(type_ for type_ in _TYPES if type_ not in but_types)
    # Types are in the index of a project; among all projects each of them would be a walk through everything.
    indexed = scope.project is not None or scope.only_global
    newest = memory.store.newest(_statements(replace(scope, types=types if indexed else ())), _READ)
    found = (item for item in newest if item.type in types)
    pinned = _tagged(memory, scope, PINNED_TAG)
    items = {item.id: item for item in (*found, *pinned) if HIDDEN_TAG not in item.tags}
    lines = [_attributed(memory, line) for line in map(_line, items.values()) if line is not None]
    counted = [line for line in lines if SENTENCE_KEY in line.item.meta][:_MOST_COUNTED]
    times = {line.item.id: _sessions_with(memory, scope, line.item) for line in counted}
    return [replace(line, times=max(line.times, times.get(line.item.id, 1))) for line in lines]


def _line(item: Item) -> ProfileLine | None:
    pinned = PINNED_TAG in item.tags
    sentence = item.meta.get(SENTENCE_KEY)
    # Before a sentence is cut out: what stands around a secret shows that it is one.
    text = redact(item.text)
    found = profile_sentence(text, item.type, sentence if isinstance(sentence, str) else "")
    twins = item.meta.get(SAME_AS)
    times = 1 + len(twins) if isinstance(twins, list) else 1
    if found is not None and (pinned or not rule_paths(item)):
        return ProfileLine(found.text, item, found.group, pinned, times)
    if not pinned:
        return None
    whole = title_of(text, _LONGEST) or redact(item.title)
    return ProfileLine(shorten(whole, _LONGEST), item, "ways", pinned, times)


def _attributed(memory: LocalMemory, line: ProfileLine) -> ProfileLine:
    """The line, with its author if another one says "I" in it."""
    me, author = ((name or "").partition(VIA)[0].strip() for name in (memory.writer.name, line.item.author))
    return replace(line, by=redact(author)) if author and author != me and is_first_person(line.text) else line


def _sessions_with(memory: LocalMemory, scope: Scope, item: Item) -> int:
    """In how many sessions a person said what an item says."""
    sentence = str(item.meta.get(SENTENCE_KEY, "")).replace('"', " ")
    query = parse_query(f'"{sentence}"', QUERY_COLUMNS)
    if not query.strict:
        return 1
    prompts = replace(scope, kinds=("observation", "message"), lapsed=True)
    hits = memory.store.search_text(query, prompts, _SESSIONS, shares=False).hits
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


ProfileGroup = Literal["preferences", "corrections", "environment", "ways"]
PROFILE_GROUPS: tuple[ProfileGroup, ...] = ("preferences", "corrections", "environment", "ways")
# The first sentences of a text say what it states; a long one is no line of a profile.
_FIRST, LONGEST = 4, 200
# Types whose first sentence counts whatever its words are.
_BY_TYPE: dict[str, ProfileGroup] = {"preference": "preferences", "heuristic": "preferences", "rule": "ways"}

_WELL = r"(?:strongly|generally|really|usually|always|much|often|never|mostly|only|now|still|both|all)"
_SELF = r"(?:i|we|my team|our team|the team|everyone here|nobody here)"
_PREFERENCE = re.compile(
    rf"^(?:{_SELF} (?:{_WELL} )*(?:prefers?|likes?|loves?|hates?|dislikes?|favou?rs?"
    r"|(?:do not|don['’]t|does not|doesn['’]t) (?:like|want)|(?:would|['’]d) rather"
    r"|wants? (?:you|agents|answers|commits|code|tests|comments|replies))\b"
    r"|(?:i|we)['’]d rather\b|my preference\b|our preference\b"
    r"|(?:please )?(?:answer|reply|write to me|explain things|keep (?:answers|replies|explanations)"
    r"|be (?:brief|concise))\b"
    r"|ich (?:bevorzuge|mag)\b|wir (?:bevorzugen|mögen)\b)",
    re.IGNORECASE,
)
# What a sentence says about one person of the team.
_OF_A_PERSON = re.compile(
    r"^[A-ZÀ-Þ][\w'’-]+(?: [A-ZÀ-Þ][\w'’-]+)? (?:strongly |always )?(?:prefers|likes|dislikes|hates)\b"
)
_ENVIRONMENT = re.compile(
    rf"^(?:(?:i|we) (?:{_WELL} )*(?:use|run|work (?:on|in|with|from)|develop|deploy|host|build|test|ship|code|target"
    r"|live in|speak)\b"
    r"|(?:i['’]m|i am|we['’]re|we are) (?:on|in|based|using|running|an?)\b"
    r"|(?:my|our) (?:[\w-]+ ){0,2}(?:machine|laptop|computer|desktop|editor|ide|shell|terminal|os|operating system"
    r"|stack|ci|pipeline|cluster|cloud|hosting|host|server|database|branch|time ?zone|language|package manager"
    r"|test runner|formatter|linter|keyboard|name|role|team|company|working hours|region|python|node|browser"
    r"|repository|monorepo)s? (?:is|are|runs?|uses?|has|lives?|works?)\b"
    r"|ich (?:nutze|benutze|verwende|arbeite)\b|wir (?:nutzen|benutzen|verwenden|arbeiten)\b)",
    re.IGNORECASE,
)
_CORRECTION = re.compile(
    r"^\W*(?:no|nope|nah|wrong|actually|not quite|stop|again|that['’]s (?:not right|wrong|not correct)|instead of"
    r"|i (?:told|asked) you|how often)\b",
    re.IGNORECASE,
)


_FIRST_PERSON = re.compile(r"^(?:i|i['’]\w+|my|ich|mein\w*)\b", re.IGNORECASE)


def is_first_person(sentence: str) -> bool:
    """Whether somebody speaks of themselves alone."""
    return _FIRST_PERSON.match(sentence) is not None


class ProfileSentence(NamedTuple):
    """A sentence as it was written, and what it tells of the people."""

    text: str
    group: ProfileGroup


def profile_sentence(text: str, type_: str, prompt_sentence: str = "") -> ProfileSentence | None:
    """The sentence of a statement that tells how people work; None if none does.

    `prompt_sentence` is the one of a prompt that it was taken from, which shows whether it was a correction.
    """
    first = sentences(text)[:_FIRST]
    if not first:
        return None
    if prompt_sentence and _CORRECTION.match(prompt_sentence):
        return _short(first[0], "corrections")
    for sentence in first:
        if sentence.endswith(("?", "？")):
            continue
        if _PREFERENCE.match(sentence) or _OF_A_PERSON.match(sentence):
            return _short(sentence, "preferences")
        if _ENVIRONMENT.match(sentence):
            return _short(sentence, "environment")
    return _short(first[0], _BY_TYPE[type_]) if type_ in _BY_TYPE else None


def _short(sentence: str, group: ProfileGroup) -> ProfileSentence | None:
    return ProfileSentence(sentence, group) if len(sentence) <= LONGEST else None
