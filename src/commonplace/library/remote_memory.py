"""RemoteMemory: the methods of Memory on a server, which does them with the space and the rights of the key."""

from __future__ import annotations

import functools
import os
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from commonplace.config import load
from commonplace.errors import InvalidInput
from commonplace.library.memory import Memory
from commonplace.library.verb_calls import READ_VERBS, WRITE_VERBS, decode_result, pack
from commonplace.remote.client import HttpClient

if TYPE_CHECKING:
    from commonplace.memory.local_memory import LocalMemory

VERBS = "/api/v1/verbs"
# What needs the machine that the memory is on, or this one.
LOCAL_ONLY = ("import_", "ingest", "export", "sync", "backup", "backups", "check")


class RemoteMemory(Memory):
    """A memory behind a server: what `Memory("https://...", key=...)` is."""

    def __init__(
        self,
        where: str | os.PathLike[str] | None = None,
        *,
        key: str | None = None,
        space: str | None = None,
        **settings: object,
    ) -> None:
        if space is not None:
            raise InvalidInput("A key opens one space of a server.", "Leave the space out, or use another key.")
        self._client = HttpClient(os.fspath(where or ""), key or load(settings).remote_key)

    def close(self) -> None:
        """Close the connections to the server."""
        self._client.close()

    @property
    def local(self) -> LocalMemory:
        """There is none: the memory is on the server."""
        raise InvalidInput("The memory is on a server.", "Use the methods of Memory.")

    @property
    def embedding_state(self) -> str:
        """Whether search understands meaning there."""
        model = self.status()["model"]
        return str(model["state"]) if isinstance(model, dict) else ""

    def status(self) -> dict[str, object]:
        """What is stored on the server, how much of it, and whether everything works."""
        return self._client.request("GET", "/api/v1/status")


def _on_server(verb: str) -> Callable[..., Any]:
    @functools.wraps(getattr(Memory, verb))
    def method(self: RemoteMemory, /, *arguments: Any, **options: Any) -> Any:
        # A name for the request, so that a retry after a broken connection does not do it twice.
        headers = {"Idempotency-Key": uuid.uuid4().hex} if verb in WRITE_VERBS else {}
        reply = self._client.request("POST", f"{VERBS}/{verb}", pack(verb, arguments, options), headers)
        with self._client.reading_reply():
            return decode_result(verb, reply["result"])

    return method


def _refused(verb: str) -> Callable[..., Any]:
    @functools.wraps(getattr(Memory, verb))
    def method(_self: RemoteMemory, /, *_arguments: Any, **_options: Any) -> Any:
        name = verb.rstrip("_")
        raise InvalidInput(f"`{name}` works on the machine of a memory only.", f"Run `commonplace {name}` there.")

    return method


for _verb in READ_VERBS | WRITE_VERBS:
    setattr(RemoteMemory, _verb, _on_server(_verb))
for _verb in LOCAL_ONLY:
    setattr(RemoteMemory, _verb, _refused(_verb))
