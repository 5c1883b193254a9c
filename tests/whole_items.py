"""All that results hold, as one text to look for words in: an item shows a programmer only its title."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import fields, is_dataclass
from typing import Any

from commonplace.model import Item


def all_words(items: Iterable[Item]) -> str:
    """Everything that items say."""
    return everything_in(list(items))


def everything_in(value: Any) -> str:
    """A result of any kind with all that its parts hold."""
    if is_dataclass(value) and not isinstance(value, type):
        return " ".join(everything_in(getattr(value, field.name)) for field in fields(value))
    if isinstance(value, Mapping):
        return " ".join(f"{everything_in(name)} {everything_in(entry)}" for name, entry in value.items())
    if isinstance(value, list | tuple | Set):
        return " ".join(map(everything_in, value))
    return repr(value)
