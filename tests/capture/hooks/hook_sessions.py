"""Sessions as hosts' hooks tell them: events in order of time, a minute apart, each with an id of its own."""

from __future__ import annotations

from itertools import count
from typing import Any

from commonplace.hosts.hook_event import Event, EventKind
from commonplace.memory.local_memory import LocalMemory
from commonplace.model import Item, Kind, Scope

# 2025-03-15T14:30:00.000Z
THEN = 1_742_049_000_000
FOLDER = "/srv/code/my-api"
_NUMBERS = count(1)


class Telling:
    """One session of one host, as it goes on."""

    def __init__(self, host: str = "claude-code", session: str = "s1", cwd: str = FOLDER, at_ms: int = THEN) -> None:
        self.host, self.session, self.cwd, self.at_ms = host, session, cwd, at_ms
        self.events: list[Event] = []

    def add(self, kind: EventKind, *, later_ms: int = 60_000, **more: Any) -> Event:
        self.at_ms += later_ms
        name = f"event-{next(_NUMBERS)}"
        event = Event(self.host, kind, name, self.session, self.cwd, self.at_ms, **more)
        self.events.append(event)
        return event

    def asks(self, text: str) -> Event:
        return self.add("prompt", text=text)

    def uses(self, tool: str, output: object = "done", **given: Any) -> Event:
        # Claude Code tells of what went well by this event, and of what failed by another.
        well = self.host == "claude-code"
        return self.add("tool", tool=tool, input=given, output=output, succeeded=well)

    def fails(self, tool: str, output: object, **given: Any) -> Event:
        return self.add("tool", tool=tool, input=given, output=output, failed=True)

    def stops(self, text: str = "") -> Event:
        return self.add("stop", text=text)


def a_fix(host: str = "claude-code", session: str = "s1") -> Telling:
    """A test fails, its cause is found and put right."""
    telling = Telling(host, session)
    telling.add("session-start", reason="startup")
    telling.asks("Why does the login test fail?")
    telling.fails("Bash", "E   TimeoutError: no answer in 30 s\n1 failed", command="pytest tests/test_login.py")
    telling.uses("Read", {"file": {"content": "a\nb\nc"}}, file_path=f"{FOLDER}/src/token_server.py")
    telling.uses("Edit", file_path=f"{FOLDER}/src/login.py", old_string="wait(30)", new_string="wait(60)")
    telling.uses("Bash", {"stdout": "47 passed in 3.2s", "stderr": ""}, command="pytest tests/test_login.py")
    telling.stops(
        "The login test passes again. The root cause was that the token server is slow, so I doubled its time.\n\n"
        "Next steps:\n- Ask for a faster token server\n\nShall I write it down in the changelog?"
    )
    return telling


def items(memory: LocalMemory, *kinds: Kind) -> list[Item]:
    """What is remembered of these kinds, oldest first."""
    return memory.store.newest(Scope(kinds=kinds), 10_000)[::-1]


def only_item(memory: LocalMemory, kind: Kind = "summary") -> Item:
    """The one summary or checkpoint that there is."""
    (item,) = items(memory, kind)
    return item
