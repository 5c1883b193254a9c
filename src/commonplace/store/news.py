"""What happened in a space, in the order in which it can be told, by whichever process."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from commonplace.errors import InvalidInput

# The last item, change of an item, conversation and change of a conversation that were told.
MARK = r"[0-9]{1,18}(-[0-9]{1,18}){3}"

Mark = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to an item or a conversation. `mark` is where to go on after it.

    The rest is as it is now; what was forgotten since tells no title.
    """

    mark: str
    what: str
    at_ms: int
    id: int
    uid: str
    kind: str
    type: str
    title: str
    project: str | None


class News(Protocol):
    """The news of one space."""

    # Up to `limit` events after the mark, and where to go on; without a mark none, and where the news are now.
    def news(self, after: str | None, limit: int) -> tuple[Sequence[Event], str]: ...


def read_mark(text: str) -> Mark:
    """A mark as numbers."""
    if not re.fullmatch(MARK, text):
        raise InvalidInput("The event id is not one of ours.", "Take it unchanged from an event, or leave it out.")
    items, changes, sessions, moves = map(int, text.split("-"))
    return items, changes, sessions, moves


def write_mark(mark: Mark) -> str:
    return "-".join(map(str, mark))
