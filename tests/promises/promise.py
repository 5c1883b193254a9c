"""One thing that a reference promises its users."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Promise:
    """`id` is `dialect:subject:what`, `says` the promise in our words, `source` where it is made."""

    id: str
    says: str
    source: str


def promises(prefix: str, source: str, /, **text: str) -> tuple[Promise, ...]:
    """Promises of one subject; the keywords, with dashes for underscores, end their ids."""
    return tuple(Promise(f"{prefix}:{name.replace('_', '-')}", says, source) for name, says in text.items())


def fields(prefix: str, source: str, listed: str) -> tuple[Promise, ...]:
    """A promise for each field of a reply: `name type, name type`, with `?` after the type if it may be null."""
    made = []
    for entry in listed.split(","):
        field, type_ = entry.split()
        nullable = " or null" if type_.endswith("?") else ""
        made.append(Promise(f"{prefix}.{field}", f"the reply has {field}: {type_.rstrip('?')}{nullable}", source))
    return tuple(made)
