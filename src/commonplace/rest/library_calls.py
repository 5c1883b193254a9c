"""The methods of the Python library over HTTP: what a `Memory("https://...")` asks a server."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

from pydantic import RootModel

from commonplace.dialects.reply_schema import Json
from commonplace.errors import Forbidden, NotFound
from commonplace.library.memory import Memory
from commonplace.library.remote_calls import READ_VERBS, WRITE_VERBS, encode, unpack
from commonplace.memory.local_memory import LocalMemory
from commonplace.rest.endpoint import Answer, ApiRequest


class VerbReply(TypedDict):
    """What a method returns."""

    result: Annotated[Any, Json(description="What the method returns, as JSON.")]


class Arguments(RootModel[dict[str, Any]]):
    """The arguments of the method, by their names."""


def call_verb(memory: LocalMemory, request: ApiRequest[None, Arguments]) -> Answer[VerbReply]:
    """Call a method of the library with the space and the rights of the key."""
    verb = request.path["verb"]
    if verb not in READ_VERBS | WRITE_VERBS:
        raise NotFound(f"There is no method {verb[:60]!r}.", f"There is {', '.join(sorted(READ_VERBS | WRITE_VERBS))}.")
    if verb in WRITE_VERBS and (request.key is None or not request.key.allows("write")):
        raise Forbidden(f"This key may only read; {verb} takes one of scope write.")
    arguments, options = unpack(verb, request.body.root)
    return Answer({"result": encode(getattr(Memory.over(memory), verb)(*arguments, **options))})
