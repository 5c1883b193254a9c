"""The books of other spaces of the same store: opened when somebody with a key there comes, not too many of them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from commonplace.memory.local_memory import LocalMemory

# Of these the ones used last stay open. One that is closed works on for whoever still holds it.
MAX_OPEN_SPACES = 100


class OpenSpaces:
    """Shared by all books of a store. `home` is the space that the store was opened for."""

    def __init__(self, home: str, most: int = MAX_OPEN_SPACES) -> None:
        self.home, self._most = home, most
        self._lock = threading.Lock()
        self._open: OrderedDict[str, LocalMemory] = OrderedDict()

    def memory(self, space: str, open_it: Callable[[], LocalMemory]) -> LocalMemory:
        """The book of a space, opened if it is not."""
        with self._lock:
            if space in self._open:
                self._open.move_to_end(space)
                return self._open[space]
        # Not under the lock: whoever waits for a slow store does not keep the others from theirs.
        memory = open_it()
        with self._lock:
            kept = self._open.setdefault(space, memory)
            surplus = [memory] if kept is not memory else []
            while len(self._open) > self._most:
                surplus.append(self._open.popitem(last=False)[1])
        for one in surplus:
            one.store.close()
        return kept

    def close(self) -> None:
        with self._lock:
            while self._open:
                self._open.popitem()[1].store.close()
