"""What Tab offers for projects, types, items, sessions and conversations, read from the store.

The resident process answers if there is one; else the store is opened and only read. Nothing is created or migrated,
and whatever goes wrong, Tab offers nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from commonplace.cli.command import Call
from commonplace.cli.terminal import environment, one_line
from commonplace.model import MEMORY_TYPES, Scope, SessionScope
from commonplace.text.project_names import base_name
from commonplace.text.sentences import shorten

if TYPE_CHECKING:
    from commonplace.memory.local_memory import LocalMemory
    from commonplace.model import Item

# How many are offered, and how many of the newest are looked at for a number that was begun.
OFFERED, LOOKED_AT = 25, 500
HELP_CHARACTERS = 60
# Nobody waits longer than this for a writer.
_BUSY_SECONDS = 0.05
Value = tuple[str, str]


def stored_values(ctx: click.Context, what: str, incomplete: str) -> list[CompletionItem]:
    """The values that begin like this, each with a few words about it."""
    from commonplace.resident_client.client import ask

    call = ctx.ensure_object(Call)
    params = {"what": what, "incomplete": incomplete}
    with contextlib.suppress(Exception):
        settings = call.settings()
        answer = ask("completion", params, data=str(settings.data_dir), env=environment())
        if answer is None:
            answer = _read_from_store(call, params)
        return [CompletionItem(value, help=about or None) for value, about in answer["values"]]
    return []


def answer_completion(memory: LocalMemory, params: Mapping[str, Any]) -> dict[str, Any]:
    """What the resident process answers."""
    incomplete = str(params.get("incomplete", ""))
    values = _VALUES[str(params["what"])](memory, incomplete)
    found = [(value, about) for value, about in values if value.startswith(incomplete)]
    return {"values": [(value, shorten(one_line(about), HELP_CHARACTERS)) for value, about in found[:OFFERED]]}


def _read_from_store(call: Call, params: Mapping[str, Any]) -> dict[str, Any]:
    from commonplace.memory.local_memory import open_memory

    settings = call.settings(embedder="off")
    if not settings.has_store:
        known = MEMORY_TYPES if params["what"] == "types" else ()
        return {"values": [(name, "") for name in known if name.startswith(str(params["incomplete"]))]}
    quick = replace(settings, busy_timeout=_BUSY_SECONDS)
    with contextlib.closing(open_memory(quick, migrate=False)) as memory:
        return answer_completion(memory, params)


def _projects(memory: LocalMemory, incomplete: str) -> Iterator[Value]:
    """The short name of each, or the whole one where two projects share it or it is being typed."""
    from commonplace.memory.projects import list_projects

    projects = list_projects(memory)
    short = [base_name(project.name) for project in projects]
    for project, name in zip(projects, short, strict=True):
        whole = short.count(name) > 1 or not name.startswith(incomplete)
        yield project.name if whole else name, f"{project.name}, {project.items:,} items"


def _types(memory: LocalMemory, _incomplete: str) -> Iterator[Value]:
    """The usual types, and those of the newest items."""
    used = sorted({item.type for item in _newest(memory, LOOKED_AT)})
    yield from ((name, "") for name in dict.fromkeys((*MEMORY_TYPES, *used)))


def _items(memory: LocalMemory, incomplete: str) -> Iterator[Value]:
    for item in _newest(memory, LOOKED_AT if incomplete else OFFERED):
        yield str(item.id), f"{item.type}: {item.title}"


def _newest(memory: LocalMemory, count: int) -> Sequence[Item]:
    from commonplace.memory.items import browse_items

    return browse_items(memory, Scope(), count).items


def _sessions(memory: LocalMemory, incomplete: str) -> Iterator[Value]:
    return _latest(memory, incomplete, SessionScope(empty=True))


def _conversations(memory: LocalMemory, incomplete: str) -> Iterator[Value]:
    return _latest(memory, incomplete, SessionScope())


def _latest(memory: LocalMemory, incomplete: str, scope: SessionScope) -> Iterator[Value]:
    from commonplace.memory.conversations import latest_conversations

    for session in latest_conversations(memory, scope, LOOKED_AT if incomplete else OFFERED).sessions:
        yield session.short_id, session.label or session.key


_VALUES = {
    "projects": _projects,
    "types": _types,
    "items": _items,
    "sessions": _sessions,
    "conversations": _conversations,
}
