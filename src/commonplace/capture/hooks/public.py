"""What of an event may be looked at: nothing private, no secret that its text tells, and nothing nested without end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from commonplace.capture.hooks.event import Event
from commonplace.text.redact import redact

# Deeper than any host goes, and shallow enough for everything that walks through it.
MAX_DEPTH = 20


def public(event: Event) -> Event:
    """The event without secrets and what is private, taken out before anything is cut or chosen from it.

    Half a mark marks nothing, and a line of a key is known by the lines around it.
    """
    given = {str(name): _public(value, MAX_DEPTH) for name, value in event.input.items()}
    return replace(event, text=redact(event.text), input=given, output=_public(event.output, MAX_DEPTH))


def _public(value: object, levels: int) -> object:
    if isinstance(value, str):
        return redact(value)
    if not isinstance(value, (Mapping, list, tuple)):
        return value
    if not levels:
        return None
    if isinstance(value, Mapping):
        return {str(name): _public(entry, levels - 1) for name, entry in value.items()}
    return [_public(entry, levels - 1) for entry in value]
