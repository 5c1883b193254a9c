"""A process that forks: its child inherits no connection.

Even unused, one would make SQLite believe that the child holds the parent's locks, and lose its writes.
"""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import ClassVar

from commonplace.errors import StoreError


class Forks:
    """Lets a fork happen only between transactions, with every connection closed."""

    everywhere: ClassVar[weakref.WeakSet[Forks]] = weakref.WeakSet()

    def __init__(self, close: Callable[[], None], patience: float) -> None:
        self._close, self._patience = close, patience
        # In a child: whether there was a transaction open at the fork. Its connections must not be touched.
        self.torn = False
        self._reset()
        self.everywhere.add(self)

    def _reset(self) -> None:
        self._gate = threading.Condition()
        self._coming = self._alone = False
        self._inside: dict[int, int] = {}

    @contextlib.contextmanager
    def kept_out(self) -> Iterator[None]:
        """While inside, a fork by another thread waits."""
        me = threading.get_ident()
        with self._gate:
            if me not in self._inside:
                self._gate.wait_for(lambda: not (self._coming or self._alone))
            self._inside[me] = self._inside.get(me, 0) + 1
        try:
            yield
        finally:
            with self._gate:
                depth = self._inside.pop(me, 1) - 1
                if depth:
                    self._inside[me] = depth
                self._gate.notify_all()

    def is_inside(self) -> bool:
        """Whether this thread is in a transaction."""
        return threading.get_ident() in self._inside

    @contextlib.contextmanager
    def alone(self, patience: float) -> Iterator[bool]:
        """Wait until no thread of this process is in a transaction, and let none begin one meanwhile.

        False if they did not end in time.
        """
        me = threading.get_ident()
        with self._gate:
            self._gate.wait_for(lambda: not self._alone)
            self._alone = True
            left = self._gate.wait_for(lambda: not (self._inside or self._coming), patience)
            self._inside[me] = 1
        try:
            yield left
        finally:
            with self._gate:
                self._inside.pop(me, None)
                self._alone = False
                self._gate.notify_all()

    def check(self) -> None:
        if self.torn:
            raise StoreError(
                "This process was forked in the middle of a transaction.", "Open the store in the new process."
            )

    def before(self) -> None:
        self._gate.acquire()
        self._coming = True
        if threading.get_ident() not in self._inside:
            self._gate.wait_for(lambda: not self._inside, self._patience)
        if not self._inside:
            self._close()

    def after_in_parent(self) -> None:
        self._coming = False
        self._gate.notify_all()
        self._gate.release()

    def after_in_child(self) -> None:
        self.torn = self.torn or bool(self._inside)
        self._reset()


def _at_each(step: Callable[[Forks], None]) -> Callable[[], None]:
    def at_each() -> None:
        for forks in list(Forks.everywhere):
            step(forks)

    return at_each


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_at_each(Forks.before),
        after_in_parent=_at_each(Forks.after_in_parent),
        after_in_child=_at_each(Forks.after_in_child),
    )
