"""What an agent is told unasked, and the mark of where each line comes from.

Session starts, hints, contexts, rules and rule files all ask here. What waits for review or was dismissed is not told,
nor what somebody else marked as private, nor the profile where a setting hides it. What the reader stated or accepted
needs no mark; everything else says whose it is: `(agent)`, `(tool output)`, `(imported)`, `(bo, 2026-11-18)`,
`(bo's agent, 2026-11-18)`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from commonplace.memory.authors import is_person_named
from commonplace.memory.callers import person_named, person_of
from commonplace.memory.captured_events import ANSWER_TYPE
from commonplace.memory.local_memory import LocalMemory
from commonplace.model import DISMISSED, PRIVATE_TAG, PROPOSED, SETTLED, Item, Scope
from commonplace.text.dates import iso_time
from commonplace.text.redact import redact
from commonplace.text.sentences import shorten

SAID_AGAIN, BROKEN_BY = "said_again", "broken_by"
"""In the metadata of a statement: when prompts repeated it, and the last action that broke it (said_again.py)."""
# How an item came to say what it says, if a person stated or accepted it.
_BY_A_PERSON = ("person", "agreed")
# Observations in which an agent speaks; all others but prompts show what a tool printed.
_SPOKEN = (ANSWER_TYPE, "delegation", "compaction")
# What the summary and the checkpoint that hooks write of a session quote from its prompts; the title does if they do.
_OF_A_PROMPT = ("request", "task")
_LONGEST_NAME = 40


def may_be_told(memory: LocalMemory, item: Item) -> bool:
    """Whether an agent of the reader may be told this without having asked for it."""
    return may_be_known(memory, item) and not _is_of_hidden_profile(memory, item)


def may_be_known(memory: LocalMemory, item: Item) -> bool:
    """Whether this is settled, and not what somebody else keeps to themselves."""
    if item.review in (PROPOSED, DISMISSED):
        return False
    return is_own(memory, item) or PRIVATE_TAG not in (tag.casefold() for tag in item.tags)


def that_may_be_told(memory: LocalMemory, items: Iterable[Item]) -> list[Item]:
    """Those of the items that may be told, in their order."""
    return [item for item in items if may_be_told(memory, item)]


def scope_to_tell(scope: Scope) -> Scope:
    """The same scope without what waits for review, so that it takes no places of a limited number."""
    return replace(scope, review=SETTLED)


def is_stated(item: Item) -> bool:
    """Whether a person stated or accepted it, whoever that is."""
    return item.origin in _BY_A_PERSON


def source_of(memory: LocalMemory, item: Item, part: str = "") -> str:
    """Whose words these are, or what printed them; empty for what the reader stated or accepted.

    `part` is the title or a field of a summary or checkpoint: in those of hooks, some quote a prompt.
    """
    if is_own(memory, item):
        return "" if item.origin in _BY_A_PERSON else _way(item, part)
    who = shorten(redact(person_of(item)), _LONGEST_NAME)
    if item.origin in _BY_A_PERSON:
        return who or "somebody"
    way = _way(item, part)
    if not who or item.origin is None:
        return ", ".join(part for part in (who, way) if part)
    return f"imported by {who}" if way == "imported" else f"{who}'s {way}"


def unstated_source(item: Item) -> str:
    """What it comes from if no person stated or accepted it: the same for every reader, as files need it."""
    return "" if is_stated(item) else _way(item, "")


def source_mark(memory: LocalMemory, item: Item, part: str = "") -> str:
    """`(agent) `, `(bo, 2026-11-18) `: what stands before a text of this source; empty where none is needed."""
    source = source_of(memory, item, part)
    if not source:
        return ""
    return f"({source}) " if is_own(memory, item) else f"({source}, {iso_time(item.created_ms)[:10]}) "


def said_again(item: Item) -> str:
    """` (said again 2 times; broken by npm install)`: what is told with a statement; mostly nothing."""
    times, broken = len(times_said_again(item)), item.meta.get(BROKEN_BY)
    if not times:
        return ""
    often = "said again" if times == 1 else f"said again {times} times"
    action = shorten(broken, _LONGEST_NAME) if isinstance(broken, str) else ""
    return f" ({often}; broken by `{action}`)" if action else f" ({often})"


def times_said_again(item: Item) -> list[int]:
    """When prompts repeated a statement."""
    found = item.meta.get(SAID_AGAIN)
    return [one for one in found if isinstance(one, int)] if isinstance(found, list) else []


def reader_of(memory: LocalMemory) -> str:
    """The person who asks, or whose agent does; empty if that is not known."""
    return person_named(memory.writer.name)


def is_own(memory: LocalMemory, item: Item) -> bool:
    """Whether the reader wrote it, or an agent or an import of theirs did."""
    return is_person_named(memory, person_of(item), reader_of(memory))


def _is_of_hidden_profile(memory: LocalMemory, item: Item) -> bool:
    """Whether an item belongs to the profile, and the reader hides that from agents."""
    if memory.settings.user_profile == "on" or not is_stated(item):
        return False
    from commonplace.memory.profile_sentences import is_only_of_the_profile

    return is_only_of_the_profile(item)


def _way(item: Item, part: str) -> str:
    """How an item that no person stated came to be there."""
    asked = part in _OF_A_PROMPT or (part == "title" and any(item.details.get(name) for name in _OF_A_PROMPT))
    if item.origin == "captured" and (item.type == "prompt" or asked):
        return "prompt"
    if item.kind == "observation" and item.origin == "captured":
        return "agent" if item.type in _SPOKEN else "tool output"
    if item.kind == "message" and item.details.get("role") == "tool":
        return "tool output"
    if item.origin == "imported":
        return "imported"
    return "source unknown" if item.origin is None else "agent"
