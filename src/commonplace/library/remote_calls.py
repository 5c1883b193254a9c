"""Calls of a method of Memory as JSON: how a remote memory asks a server, and how the server reads that.

Types come from the annotations of the methods, so that both sides agree without a second description.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import os
import types
import typing
import uuid
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime
from os import PathLike
from pathlib import Path
from types import FunctionType, GenericAlias
from typing import TYPE_CHECKING, Any, Literal, Union

from commonplace.config import load
from commonplace.errors import InvalidInput
from commonplace.http_client import HttpClient
from commonplace.library import results
from commonplace.library.checked_arguments import OLD_NAMES, checked, current_names
from commonplace.library.memory import Memory
from commonplace.memory.callers import AGENT_HEADER, agent_of_environment, clean_author
from commonplace.model import SOURCE_FIELDS, VALIDITY_FIELDS

if TYPE_CHECKING:
    from commonplace.memory.local_memory import LocalMemory


Json = Any
READ_VERBS = frozenset(
    "get get_many history related contradictions open_contradictions timeline search context session_context rules"
    " projects topics list recall explain predict report reconstruct sessions conversation conversations"
    " export_conversation prune stats proposals entities about profile overview overviews".split()
)
WRITE_VERBS = frozenset(
    "remember add add_many edit forget restore supersede revert store_conversation append update_conversation"
    " forget_conversation restore_conversation close_step settle reopen accept dismiss undo_review"
    " show_in_profile".split()
)
"""The methods that a server answers, by what the key must allow."""
_VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
# Fields that versions before do not know are sent only where they say something.
_NEWER = frozenset({*VALIDITY_FIELDS, *SOURCE_FIELDS, "reads_validity"})
# JSON keeps the names that parameters had at first.
_WIRE_NAMES = {new: old for old, new in OLD_NAMES.items()}
_PLAIN = (str, int, float, bool, type(None))


def encode(value: object) -> Json:
    """A result or an argument as JSON: dataclasses as objects, times as ISO 8601. Digests stay where they are."""
    if isinstance(value, _PLAIN):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        known = ((one, getattr(value, one.name)) for one in dataclasses.fields(value))
        return {one.name: encode(own) for one, own in known if one.name not in _NEWER or own != one.default}
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


def decode(data: Json, kind: Any, name: str = "The reply") -> Any:
    """JSON as a value of a type; InvalidInput if it is none."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if kind is Any or kind is object:
        return data
    if origin in (Union, types.UnionType):
        return _one_of(data, arguments, name)
    if origin is Literal:
        return data if data in arguments else _refuse(name, f"one of {', '.join(map(str, arguments))}")
    if kind is float and isinstance(data, int) and not isinstance(data, bool):
        return float(data)
    if kind in _PLAIN or kind is None:
        wanted = type(None) if kind is None else kind
        return data if type(data) is wanted else _refuse(name, f"a value of type {wanted.__name__}")
    return _decode_structure(data, kind, origin, arguments, name)


def _decode_structure(data: Json, kind: Any, origin: Any, arguments: tuple[Any, ...], name: str) -> Any:
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        return _decode_object(data, kind, name)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        if not isinstance(data, dict):
            return _refuse(name, "an object")
        key, entry = arguments
        return {_read_key(one, key, name): decode(value, entry, f"{name}.{one}") for one, value in data.items()}
    if isinstance(origin, type) and issubclass(origin, Iterable):
        if not isinstance(data, list):
            return _refuse(name, "a list")
        fixed = origin is tuple and Ellipsis not in arguments
        if fixed and len(data) != len(arguments):
            return _refuse(name, f"a list of {len(arguments)}")
        each = arguments if fixed else (arguments[0],) * len(data)
        found = [decode(value, one, f"{name}[{n}]") for n, (value, one) in enumerate(zip(data, each, strict=True))]
        return origin(found) if origin in (tuple, frozenset, set) else found
    if not isinstance(data, str):
        return _refuse(name, "a text")
    try:
        if kind is bytes:
            return b""
        return kind.fromisoformat(data) if kind in (date, datetime) else Path(data)
    except ValueError:
        return _refuse(name, f"a {kind.__name__}")


def _decode_object(data: Json, kind: Any, name: str) -> Any:
    if not isinstance(data, dict):
        return _refuse(name, "an object")
    hints = _hints(kind)
    unknown = sorted(set(data) - set(hints))
    if unknown:
        return _refuse(f"{name}.{unknown[0]}", "a known field")
    try:
        return kind(**{one: decode(value, hints[one], f"{name}.{one}") for one, value in data.items()})
    except TypeError as error:
        raise InvalidInput(f"{name} is not complete: {error}.") from error


def _one_of(data: Json, kinds: tuple[Any, ...], name: str) -> Any:
    """The first type that fits, plain ones first: a text that could be a date stays one."""
    plain = [kind for kind in kinds if kind in _PLAIN]
    for kind in [*plain, *(kind for kind in kinds if kind not in plain)]:
        try:
            return decode(data, kind, name)
        except InvalidInput:
            continue
    return _refuse(name, "of a type that is known here")


def _key(key: object) -> str:
    return key.isoformat() if isinstance(key, date) else str(key)


def _read_key(text: str, kind: Any, name: str) -> Any:
    try:
        return int(text) if kind is int else date.fromisoformat(text) if kind is date else text
    except ValueError:
        return _refuse(name, "an object with other keys")


def _refuse(name: str, what: str) -> Any:
    raise InvalidInput(f"{name} must be {what}.", "docs/reference/library.md lists the methods and their arguments.")


@functools.cache
def _hints(kind: Any) -> dict[str, Any]:
    return typing.get_type_hints(kind, None, vars(results))


@functools.cache
def _signature(verb: str) -> tuple[inspect.Signature, dict[str, Any]]:
    method: FunctionType = inspect.unwrap(getattr(Memory, verb))
    known = {**method.__globals__, **vars(results)}
    return inspect.signature(method), typing.get_type_hints(method, known, known)


def pack(verb: str, arguments: tuple[Any, ...], options: Mapping[str, Any]) -> dict[str, Json]:
    """What a method is called with, by the names of its parameters."""
    signature, _kinds = _signature(verb)
    bound = signature.bind(None, *arguments, **current_names(getattr(Memory, verb), options)).arguments
    return {_WIRE_NAMES.get(name, name): encode(value) for name, value in bound.items() if name != "self"}


def unpack(verb: str, data: Mapping[str, Json]) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a call that was packed, checked against the annotations."""
    signature, kinds = _signature(verb)
    data = current_names(getattr(Memory, verb), data)
    parameters = {name: one for name, one in signature.parameters.items() if name != "self"}
    if unknown := sorted(set(data) - set(parameters)):
        _refuse(unknown[0][:60], f"an argument of {verb}")
    positional: list[Any] = []
    options: dict[str, Any] = {}
    for name, parameter in parameters.items():
        if name not in data:
            if parameter.default is parameter.empty and parameter.kind not in _VARIABLE:
                _refuse(name, "given")
        elif parameter.kind is parameter.VAR_POSITIONAL:
            positional += decode(data[name], GenericAlias(list, kinds[name]), name)
        elif parameter.kind is parameter.VAR_KEYWORD:
            options |= decode(data[name], GenericAlias(dict, (str, kinds[name])), name)
        else:
            options[name] = decode(data[name], kinds[name], name)
    return positional, options


def decode_result(verb: str, data: Json) -> Any:
    """What a method returned, as its annotation says."""
    return decode(data, _signature(verb)[1]["return"])


VERBS = "/api/v1/verbs"
# What needs the machine that the memory is on, or this one.
LOCAL_ONLY = tuple("import_ imports undo_import redo_import ingest export sync backup backups check".split())


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
        if agent := agent_of_environment(os.environ):
            headers[AGENT_HEADER] = clean_author(agent).encode("ascii", "replace").decode() or "an agent"
        reply = self._client.request("POST", f"{VERBS}/{verb}", pack(verb, arguments, options), headers)
        with self._client.reading_reply():
            return decode_result(verb, reply["result"])

    return method


def _refused(verb: str) -> Callable[..., Any]:
    @functools.wraps(getattr(Memory, verb))
    def method(_self: RemoteMemory, /, *_arguments: Any, **_options: Any) -> Any:
        name = verb.rstrip("_")
        raise InvalidInput(f"`{name}` works only on the memory's own machine.", f"Run `commonplace {name}` there.")

    return method


for _verb in READ_VERBS | WRITE_VERBS:
    setattr(RemoteMemory, _verb, checked(_on_server(_verb)))
for _verb in LOCAL_ONLY:
    setattr(RemoteMemory, _verb, _refused(_verb))
