"""Spaces: the separate memories of teams or people on one server, with their limits and keys.

Whoever is at the server's machine (no `key`) may do all of this, and so may an admin of the space that the server was
started for, its home. An admin of another space looks after that one; everybody may know what their own space holds.

The limits are set here. The database itself refuses what goes beyond them (QuotaExceeded): triggers of
migrations/0008_spaces.sql on SQLite, 0003_spaces.sql on PostgreSQL.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from commonplace.errors import Conflict, Forbidden, InvalidInput, NotFound
from commonplace.memory.api_keys import create_key, key_prefix, list_keys, revoke_key
from commonplace.memory.local_memory import LocalMemory, for_space
from commonplace.model import Key, Scope
from commonplace.store.maintenance import Limits as Limits
from commonplace.store.maintenance import SpaceEntry as SpaceEntry
from commonplace.text.redact import redact

# More than any database can hold, and no more than every program can count.
MAX_SPACE_LIMIT = 10**15
# It stands in addresses and on command lines.
SPACE_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
_ASK = "Ask whoever runs the server: it takes an admin's key of its own space."


def create_space(memory: LocalMemory, name: str, limits: Limits, key: Key | None = None) -> SpaceEntry:
    """Make an empty space."""
    if not is_server_admin(memory, key):
        raise Forbidden("This key cannot create spaces.", _ASK)
    name, limits = _checked_name(name), _checked(limits)
    twins = [
        known.name for known in memory.maintenance.spaces(memory.clock()) if known.name.casefold() == name.casefold()
    ]
    if twins or not memory.maintenance.add_space(name, memory.clock(), limits):
        raise Conflict(f"There is already a space {(twins or [name])[0]!r}.", "Choose another name.")
    return get_space(memory, name)


def list_spaces(memory: LocalMemory, key: Key | None = None) -> list[SpaceEntry]:
    """Every space that the caller may know of, by name."""
    return memory.maintenance.spaces(memory.clock(), None if is_server_admin(memory, key) else memory.settings.space)


def spaces_instead(memory: LocalMemory) -> list[str]:
    """The other spaces, if nothing is remembered in this one."""
    is_empty = not memory.store.newest(Scope(lapsed=True, coming=True), 1)
    return other_spaces(memory) if is_empty else []


def other_spaces(memory: LocalMemory) -> list[str]:
    """The names of the other spaces in this store in which something is remembered."""
    every = memory.maintenance.spaces(memory.clock(), None)
    return [space.name for space in every if space.items and space.name != memory.settings.space]


def get_space(memory: LocalMemory, name: str, key: Key | None = None) -> SpaceEntry:
    """One of these; a space that the caller may not know of is none."""
    known = is_server_admin(memory, key) or name == memory.settings.space
    found = memory.maintenance.spaces(memory.clock(), name) if known else []
    if not found:
        raise NotFound(f"There is no space {name[:64]!r}.", "`commonplace spaces` lists them.")
    return found[0]


def set_space_limits(memory: LocalMemory, name: str, limits: Limits, key: Key | None = None) -> SpaceEntry:
    """Change what a space may hold. What it holds already stays; it only grows no more."""
    get_space(memory, name, key)
    if not is_server_admin(memory, key):
        raise Forbidden("This key cannot change the limits of its space.", _ASK)
    memory.maintenance.set_space_limits(name, _checked(limits))
    return get_space(memory, name)


def space_keys(memory: LocalMemory, name: str, key: Key | None = None) -> list[Key]:
    """Who has a key to a space: every key, the oldest first; revoked and expired ones too."""
    return list_keys(_memory_of_space(memory, name, key))


def create_space_key(
    memory: LocalMemory,
    name: str,
    who: str,
    role: str = "write",
    project: str | None = None,
    expires_ms: int | None = None,
    key: Key | None = None,
) -> tuple[Key, str]:
    """A new key to a space, and its secret, which cannot be shown again."""
    return create_key(_memory_of_space(memory, name, key), who, role, project, expires_ms)


def revoke_space_key(memory: LocalMemory, name: str, id_or_prefix: int | str, key: Key | None = None) -> Key:
    """Let a key to a space work no longer."""
    return revoke_key(_memory_of_space(memory, name, key), id_or_prefix)


def memories_of_key(memory: LocalMemory, secret: str) -> Iterator[LocalMemory]:
    """The memories of the spaces that a key or login may belong to, by its start; this memory if there is none."""
    for name in memory.maintenance.spaces_of_key(key_prefix(secret)) or [memory.settings.space]:
        yield for_space(memory, name)


def is_server_admin(memory: LocalMemory, key: Key | None) -> bool:
    """Whether the caller administers the server and all of its spaces; a key to one project does not."""
    if key is None:
        return True
    return key.allows("admin") and key.project is None and memory.settings.space == memory.open_spaces.home


def _memory_of_space(memory: LocalMemory, name: str, key: Key | None) -> LocalMemory:
    """The memory of a space, for one who looks after it."""
    if key is not None and not key.allows("admin"):
        raise Forbidden("This key cannot invite anyone.", "Use an admin's key.")
    return for_space(memory, get_space(memory, name, key).name)


def _checked_name(name: str) -> str:
    name = name.strip()
    if not re.fullmatch(SPACE_NAME, name) or redact(name) != name:
        raise InvalidInput(
            f"{redact(name)[:64]!r} cannot be the name of a space.",
            "Use up to 64 letters from a to z, digits and . - _, beginning with a letter or digit, such as `team`.",
        )
    return name


def _checked(limits: Limits) -> Limits:
    for most in (limits.items, limits.bytes):
        if most is not None and not 0 <= most <= MAX_SPACE_LIMIT:
            raise InvalidInput("A limit is a number from 0 on.", "Name a number, or none for no limit.")
    return limits
