"""What the requests of a server share besides the store: how much each caller used of its limits, ended logins, links.

One process keeps that in memory. Several workers map a small file without a name: whoever changes it locks it, and the
lock of a process that was killed is free at once.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import math
import mmap
import os
import struct
import tempfile
import time
from collections.abc import Hashable, Iterator
from contextlib import AbstractContextManager
from typing import Protocol

# How many callers one process remembers before idle ones are dropped.
MAX_CALLERS = 10_000

Purpose = str
"""What is limited: `requests`, `bytes`, `wrong keys`; and `tickets`, of which each is used once."""

PURPOSES: tuple[Purpose, ...] = ("requests", "bytes", "wrong keys", "tickets")


class Levels(Protocol):
    """A number for each caller: when its bucket of tokens will be full again. Times that are past mean nothing."""

    def locked(self) -> AbstractContextManager[None]:
        """While inside, nobody else changes one."""

    def get(self, who: Hashable, default: float) -> float: ...
    def put(self, who: Hashable, level: float, now: float) -> None: ...


class ServerState(Protocol):
    """What all requests of a server have in common, whichever process answers them."""

    @property
    def logins_ended(self) -> int:
        """How many logins were ended: one that was checked before may be over."""

    def note_login_ended(self) -> None: ...
    def levels(self, purpose: Purpose) -> Levels: ...


class OwnLevels:
    """Those of one process."""

    def __init__(self) -> None:
        self._of: dict[Hashable, float] = {}

    def locked(self) -> AbstractContextManager[None]:
        return contextlib.nullcontext()

    def get(self, who: Hashable, default: float) -> float:
        return self._of.get(who, default)

    def put(self, who: Hashable, level: float, now: float) -> None:
        self._of[who] = level
        if len(self._of) > MAX_CALLERS:
            self._of = {one: known for one, known in self._of.items() if known > now}


class OwnState:
    """That of a server of one process."""

    def __init__(self) -> None:
        self.logins_ended = 0

    def note_login_ended(self) -> None:
        self.logins_ended += 1

    def levels(self, purpose: Purpose) -> Levels:
        return OwnLevels()


_COUNTER = struct.Struct("=Q")
_SLOT = struct.Struct("=Qd")
# Places for callers in each table, and how many of them one caller may have: the one that is full first is given up.
_SLOTS, _PROBED = 1 << 14, 8
# How long a worker waits for another that changes something, which takes microseconds.
_LOCK_SECONDS = 0.05
_TABLE = _SLOTS * _SLOT.size
_SIZE = mmap.PAGESIZE + len(PURPOSES) * _TABLE


class SharedState:
    """That of several workers, made before they are forked. Used by one thread of each of them."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the server
        self._file.truncate(_SIZE)
        self._map = mmap.mmap(self._file.fileno(), _SIZE)
        # Nobody can choose a name that takes the place of another.
        self._salt = os.urandom(16)
        self._fcntl = importlib.import_module("fcntl")

    def close(self) -> None:
        self._map.close()
        self._file.close()

    @property
    def logins_ended(self) -> int:
        return int(_COUNTER.unpack_from(self._map, 0)[0])

    def note_login_ended(self) -> None:
        with self.locked():
            _COUNTER.pack_into(self._map, 0, self.logins_ended + 1)

    def levels(self, purpose: Purpose) -> Levels:
        return SharedLevels(self, mmap.PAGESIZE + PURPOSES.index(purpose) * _TABLE)

    def first_use(self, ticket: str) -> bool:
        """Whether nobody used it before; from now on somebody has."""
        used = self.levels("tickets")
        with self.locked():
            is_first = used.get(ticket, 0.0) != math.inf
            used.put(ticket, math.inf, 0.0)
        return is_first

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """For a moment only: a worker that was stopped in the middle must not stop the others, who then go on."""
        end = time.monotonic() + _LOCK_SECONDS
        while not self._lock() and time.monotonic() < end:
            time.sleep(_LOCK_SECONDS / 100)
        try:
            yield
        finally:
            self._fcntl.lockf(self._file, self._fcntl.LOCK_UN)

    def _lock(self) -> bool:
        try:
            self._fcntl.lockf(self._file, self._fcntl.LOCK_EX | self._fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def read(self, at: int) -> tuple[int, float]:
        number, level = _SLOT.unpack_from(self._map, at)
        return int(number), float(level)

    def write(self, at: int, number: int, level: float) -> None:
        _SLOT.pack_into(self._map, at, number, level)

    def number_of(self, who: Hashable) -> int:
        name = f"{type(who).__name__}:{who}".encode()
        return int.from_bytes(hashlib.blake2b(name, digest_size=8, key=self._salt).digest()) or 1


class SharedLevels:
    """One table of the file."""

    def __init__(self, state: SharedState, start: int) -> None:
        self._state, self._start = state, start

    def locked(self) -> AbstractContextManager[None]:
        return self._state.locked()

    def get(self, who: Hashable, default: float) -> float:
        number = self._state.number_of(who)
        for at in self._places(number):
            known, level = self._state.read(at)
            if known == number:
                return level
        return default

    def put(self, who: Hashable, level: float, now: float) -> None:
        number, chosen, least = self._state.number_of(who), self._start, math.inf
        for at in self._places(number):
            known, other = self._state.read(at)
            if known == number:
                chosen = at
                break
            if other < least:
                chosen, least = at, other
        self._state.write(chosen, number, level)

    def _places(self, number: int) -> Iterator[int]:
        for step in range(_PROBED):
            yield self._start + (number + step) % _SLOTS * _SLOT.size
