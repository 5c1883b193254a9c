"""Removing secrets and private text from a hook's event. Hooks that answer at once load this, so it imports little."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from commonplace.hosts.hook_event import Event
from commonplace.text.redact import redact

MAX_DEPTH = 20
"""How deep an event may be nested: deeper than any host goes, and safe for everything that walks through it."""


def redact_event(event: Event) -> Event:
    """The event without secrets and private text, removed before anything is cut or chosen from it.

    Half a mark marks nothing, and a line of a key is recognised by the lines around it. Very deep nesting is dropped.
    """
    given = {str(name): _redact_value(value, MAX_DEPTH) for name, value in event.input.items()}
    return replace(event, text=redact(event.text), input=given, output=_redact_value(event.output, MAX_DEPTH))


def _redact_value(value: object, levels: int) -> object:
    if isinstance(value, str):
        return redact(value)
    if not isinstance(value, (Mapping, list, tuple)):
        return value
    if not levels:
        return None
    if isinstance(value, Mapping):
        return {str(name): _redact_value(entry, levels - 1) for name, entry in value.items()}
    return [_redact_value(entry, levels - 1) for entry in value]
