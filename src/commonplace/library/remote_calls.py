"""Verbs over HTTP: how a memory behind a server asks, and how the server reads what it is asked.

A request names the parameters of the verb's function, and a reply is what it returns; both sides take the types from
its signature, and pydantic holds JSON against them.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import json
import operator
import os
import types
import typing
import uuid
from collections.abc import Iterable, Mapping
from datetime import date
from os import PathLike
from types import GenericAlias
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

from commonplace.config import load
from commonplace.errors import InvalidInput
from commonplace.http_client import HttpClient
from commonplace.library import results
from commonplace.library.checked_arguments import OLD_NAMES, annotation_of, current_names
from commonplace.library.verbs import Verb
from commonplace.memory.callers import AGENT_HEADER, agent_of_environment, clean_author
from commonplace.model import SOURCE_FIELDS, VALIDITY_FIELDS

Json = Any
VERBS_PATH = "/api/v1/verbs"
# Fields that versions before do not know are sent only where they say something.
_NEWER = frozenset({*VALIDITY_FIELDS, *SOURCE_FIELDS, "reads_validity"})
# JSON keeps the names that parameters had at first.
_WIRE_NAMES = {new: old for old, new in OLD_NAMES.items()}
# A number is no text, and what nobody knows is refused.
_STRICT = ConfigDict(strict=True, extra="forbid")
_HINT = "docs/reference/library.md lists the methods and their arguments."


class RemoteCalls:
    """A memory behind a server: what `Memory("https://...", key=...)` asks."""

    def __init__(self, url: str, key: str | None, settings: Mapping[str, object]) -> None:
        self._client = HttpClient(url, key or load(settings).remote_key)

    def close(self) -> None:
        """Close the connections to the server."""
        self._client.close()

    def call(self, verb: Verb, arguments: tuple[Any, ...], options: Mapping[str, Any]) -> Any:
        """What the verb returns there."""
        if verb.server == "nowhere":
            name = verb.name.rstrip("_")
            raise InvalidInput(f"`{name}` works only on the memory's own machine.", f"Run `commonplace {name}` there.")
        if verb.server == "status":
            return self._client.request("GET", "/api/v1/status")
        headers = {}
        if verb.needs != "read":
            # A name for the request, so that a retry after a broken connection does not do it twice.
            headers["Idempotency-Key"] = uuid.uuid4().hex
        if agent := agent_of_environment(os.environ):
            headers[AGENT_HEADER] = clean_author(agent).encode("ascii", "replace").decode() or "an agent"
        reply = self._client.request("POST", f"{VERBS_PATH}/{verb.name}", pack(verb, arguments, options), headers)
        with self._client.reading_reply():
            return decode_result(verb, reply["result"])


def pack(verb: Verb, arguments: tuple[Any, ...], options: Mapping[str, Any]) -> dict[str, Json]:
    """What a verb is called with, by the names of its parameters."""
    signature = inspect.signature(verb.function)
    given = signature.bind(None, *arguments, **current_names(verb.function, options)).arguments
    return {_WIRE_NAMES.get(name, name): encode(value) for name, value in given.items() if name != "self"}


def unpack(verb: Verb, data: Mapping[str, Json]) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a call that was packed; InvalidInput if they are none of this verb."""
    try:
        request = _request(verb).validate_json(_json_text(current_names(verb.function, data)))
    except ValidationError as error:
        wrong = error.errors(include_url=False, include_input=False)[0]
        # The first step is the argument; a text that cannot be read at all has none.
        argument = str(wrong["loc"][0])[:60] if wrong["loc"] else verb.name
        raise InvalidInput(f"{argument}: {wrong['msg']}.", _HINT) from error
    positional: list[Any] = []
    options: dict[str, Any] = {}
    for name, parameter in _parameters(verb).items():
        value = getattr(request, name)
        if parameter.kind is parameter.VAR_POSITIONAL:
            positional = value
        elif parameter.kind is parameter.VAR_KEYWORD:
            options |= value
        else:
            options[name] = value
    return positional, options


def encode(value: object) -> Json:
    """A result or an argument as JSON: dataclasses as objects, times as ISO 8601. Digests stay where they are.

    Not by pydantic, which knows nothing of fields that are left out for earlier versions.
    """
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _encode_fields(value)
    if isinstance(value, Mapping):
        return {_key(key): encode(entry) for key, entry in value.items()}
    if isinstance(value, bytes):
        return ""
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, PathLike):
        return str(value)
    if isinstance(value, Iterable):
        return [encode(entry) for entry in value]
    raise InvalidInput(f"A {type(value).__name__} cannot be sent to a server.")


def _encode_fields(record: Any) -> dict[str, Json]:
    fields = {}
    for field in dataclasses.fields(record):
        value = getattr(record, field.name)
        if field.name not in _NEWER or value != field.default:
            fields[field.name] = encode(value)
    return fields


def decode_result(verb: Verb, data: Json) -> Any:
    """What a verb returned, as its signature says; ValueError if it is something else."""
    return _reply(verb).validate_json(_json_text({"result": data})).result


def _json_text(data: Json) -> bytes:
    """JSON as it is sent: half a character, which UTF-8 does not have, becomes a question mark."""
    return json.dumps(data, ensure_ascii=False).encode("utf-8", "replace")


def _key(key: object) -> str:
    return key.isoformat() if isinstance(key, date) else str(key)


@functools.cache
def _request(verb: Verb) -> TypeAdapter[Any]:
    """The type of a request: a field for each parameter."""
    fields: list[tuple[str, Any, Any]] = []
    for name, parameter in _parameters(verb).items():
        kind = _as_sent(annotation_of(verb.function, name))
        if parameter.kind is parameter.VAR_POSITIONAL:
            fields.append((name, GenericAlias(list, kind), dataclasses.field(default_factory=list)))
        elif parameter.kind is parameter.VAR_KEYWORD:
            fields.append((name, GenericAlias(dict, (str, kind)), dataclasses.field(default_factory=dict)))
        elif parameter.default is parameter.empty:
            fields.append((name, kind, dataclasses.field()))
        else:
            fields.append((name, kind, dataclasses.field(default=parameter.default)))
    return _adapter("Request", fields)


def _as_sent(kind: Any) -> Any:
    """The type of an argument as JSON has it: times are sent as texts, and a text that looks like one stays a text."""
    if typing.get_origin(kind) not in (typing.Union, types.UnionType):
        return kind
    kinds = [one for one in typing.get_args(kind) if not (isinstance(one, type) and issubclass(one, date))]
    return functools.reduce(operator.or_, kinds)


@functools.cache
def _reply(verb: Verb) -> TypeAdapter[Any]:
    """The type of a reply: what the function returns, under `result`."""
    return _adapter("Reply", [("result", annotation_of(verb.function, "return"), dataclasses.field())])


def _adapter(name: str, fields: list[tuple[str, Any, Any]]) -> TypeAdapter[Any]:
    shape = dataclasses.make_dataclass(name, fields, kw_only=True, namespace={"__pydantic_config__": _STRICT})
    adapter: TypeAdapter[Any] = TypeAdapter(shape)
    if not adapter.pydantic_complete:
        # A module names a type that it imports for type checkers only.
        adapter.rebuild(_types_namespace={name: getattr(results, name) for name in results.__all__})
    return adapter


def _parameters(verb: Verb) -> dict[str, inspect.Parameter]:
    parameters = inspect.signature(verb.function).parameters
    return {name: one for name, one in parameters.items() if name != "self"}
