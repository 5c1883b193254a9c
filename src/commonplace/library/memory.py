"""Memory: everything that a program can do with Commonplace, as the methods of one class.

`Memory()` is the user's own memory, `Memory(folder)` one in another folder, `Memory("postgresql://...")` one in a
database, and `Memory("https://...", key=...)` one behind a server; the methods are the same for all of them.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from commonplace.library.checked_arguments import checked
from commonplace.library.item_methods import ItemMethods
from commonplace.library.session_methods import SessionMethods
from commonplace.library.store_methods import StoreMethods
from commonplace.library.verbs import VERBS, Verb

if TYPE_CHECKING:
    from commonplace.config import Settings
    from commonplace.library.remote_calls import RemoteCalls
    from commonplace.memory.local_memory import LocalMemory

SERVERS = ("http://", "https://")


class Memory(ItemMethods, SessionMethods, StoreMethods):
    """One memory, open until it is closed; `with Memory() as memory:` closes it at the end of the block.

    Errors are `commonplace.CommonplaceError`s: each has a message, and a hint that says what to do. A memory may be
    used from any number of threads.
    """

    # What answers if the memory is behind a server.
    _server: RemoteCalls | None = None

    @checked
    def __init__(
        self,
        /,
        where: str | os.PathLike[str] | None = None,
        *,
        key: str | None = None,
        space: str | None = None,
        **settings: object,
    ) -> None:
        """Open a memory; `settings` are those of docs/reference/settings.md, such as `embedder="off"`.

        `key` is for a server only. What is not given is taken from the environment and the configuration file.
        """
        from commonplace.errors import InvalidInput

        if isinstance(where, str) and where.startswith(SERVERS):
            from commonplace.library.remote_calls import RemoteCalls

            if space is not None:
                raise InvalidInput("A key opens one space of a server.", "Leave the space out, or use another key.")
            self._server = RemoteCalls(where, key, settings)
            return
        if key is not None:
            raise InvalidInput(
                "Only a server asks for a key.", 'Give its address first: Memory("https://...", key=...).'
            )
        from commonplace.memory.local_memory import open_memory

        self._local = open_memory(_settings(where, space, settings))
        self._owned = self._catches_up = True

    @classmethod
    def over(cls, local: LocalMemory, *, catch_up: bool = False) -> Memory:
        """The same methods for a memory that is open already, and that is closed by whoever opened it.

        With `catch_up`, what waits for vectors and links gets them before a question is answered; a server does that
        in the background.
        """
        made = object.__new__(Memory)
        made._local, made._owned, made._catches_up = local, False, catch_up
        return made

    @property
    def local(self) -> LocalMemory:
        """What the functions of `commonplace.memory` take; of a memory behind a server there is none."""
        if self._server is not None:
            from commonplace.errors import InvalidInput

            raise InvalidInput("The memory is on a server.", "Use the methods of Memory.")
        return self._local

    @property
    def embedding_state(self) -> str:
        """Whether search understands meaning: "ready", "not loaded", "off", or "failed: " and why."""
        if self._server is None:
            return self._local.embeddings.state
        model = self.status()["model"]
        return str(model["state"]) if isinstance(model, dict) else ""

    def close(self) -> None:
        """Close it. What was written is safe without that, too."""
        if self._server is not None:
            self._server.close()
        elif self._owned:
            self._local.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()


def _method(verb: Verb) -> Callable[..., Any]:
    """The method of a verb: it checks its arguments, and asks the server if the memory is behind one."""

    @functools.wraps(verb.function)
    def method(self: Memory, /, *arguments: Any, **options: Any) -> Any:
        if self._server is not None:
            return self._server.call(verb, arguments, options)
        return verb.function(self, *arguments, **options)

    return checked(method)


for _verb in VERBS.values():
    setattr(Memory, _verb.name, _method(_verb))


def _settings(where: str | os.PathLike[str] | None, space: str | None, options: Mapping[str, object]) -> Settings:
    from commonplace.config import DATABASES, load

    given: dict[str, object] = {**options, "space": space}
    # PostgreSQL's own other spelling, `host=... dbname=...`, names a database too.
    if isinstance(where, str) and (where.startswith(DATABASES) or "dbname=" in where):
        given["database_url"] = where
    elif where is not None:
        given["data_dir"] = os.fspath(where)
    return load(given)
