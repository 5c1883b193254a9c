"""Data on its way out, with the secrets taken out of every text in it."""

from __future__ import annotations

from typing import Any

from commonplace.text.redact import all_clean, redact


def redacted(value: Any) -> Any:
    """The data of a reply or a file, cleaned."""
    # Nearly always there is nothing to take out.
    return value if all_clean(_texts_in(value)) else _cleaned(value)


def _texts_in(value: Any) -> set[str]:
    """Every text in the data, names of fields too."""
    texts: set[str] = set()
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            texts.add(part)
        elif isinstance(part, dict):
            texts.update(part)
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)
    return texts


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {redact(key): _cleaned(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_cleaned(entry) for entry in value]
    return value
