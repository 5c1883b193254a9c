"""What a tool is, in every dialect: its parameters, how arguments are checked, how replies and errors look."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from commonplace.errors import CommonplaceError, InvalidInput, UnknownArgument
from commonplace.memory.book import Book
from commonplace.text.redact import redact

Dialect = Literal["kiro", "memories", "ecm", "sekha"]
Arguments = Mapping[str, Any]

_JSON_NAMES = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array", dict: "object"}
# JSON numbers beyond this are not integers to every client.
_LARGEST = 2**53


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter. A number outside `least`..`most` is moved to the border; a wrong type is an error."""

    name: str
    type: type
    description: str
    required: bool = False
    default: object = None
    least: int | None = None
    most: int | None = None
    items: type | None = None
    max_items: int | None = None
    choices: tuple[str, ...] = ()

    def schema(self) -> dict[str, object]:
        # "number" where the references say so: some clients write 5 as 5.0.
        schema: dict[str, object] = {"type": "number" if self.type is int else _JSON_NAMES[self.type]}
        schema["description"] = self.description
        if self.default is not None:
            schema["default"] = self.default
        if self.items is not None:
            schema["items"] = {"type": "number" if self.items is int else _JSON_NAMES[self.items]}
        if self.max_items is not None:
            schema["maxItems"] = self.max_items
        if self.choices:
            schema["enum"] = list(self.choices)
        return schema

    def checked(self, value: object) -> object:
        value = _typed(value, self.type, self.name)
        if isinstance(value, int) and not isinstance(value, bool):
            value = value if self.least is None else max(self.least, value)
            value = value if self.most is None else min(self.most, value)
        if isinstance(value, list):
            if self.max_items is not None and len(value) > self.max_items:
                raise InvalidInput(
                    f"{self.name} has {len(value)} entries, more than {self.max_items}.",
                    f"Ask for at most {self.max_items} at a time.",
                )
            if self.items is not None:
                value = [_typed(entry, self.items, f"{self.name}[{n}]") for n, entry in enumerate(value)]
        if self.choices and value not in self.choices:
            raise InvalidInput(f"{self.name} is {value!r}.", f"Choose one of {', '.join(self.choices)}.")
        return value


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer: data for programs, and a text that stands alone for hosts that show only text."""

    data: dict[str, Any]
    text: str


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool of one dialect. `call` gets checked arguments with defaults filled in."""

    dialect: Dialect
    name: str
    title: str
    description: str
    params: tuple[Param, ...]
    output: Mapping[str, object]
    call: Callable[[Book, Arguments], Reply]
    read_only: bool = True
    destructive: bool = False
    idempotent: bool = True
    hints: Mapping[str, str] = field(default_factory=dict)

    def input_schema(self) -> dict[str, object]:
        schema: dict[str, object] = {
            "type": "object",
            "properties": {param.name: param.schema() for param in self.params},
            "additionalProperties": False,
        }
        required = [param.name for param in self.params if param.required]
        if required:
            schema["required"] = required
        return schema

    def run(self, book: Book, arguments: Arguments) -> Reply:
        """Check the arguments, do it, and let no secret out."""
        reply = self.call(book, self.checked(arguments))
        return Reply(_redacted(reply.data), redact(reply.text))

    def checked(self, arguments: Arguments) -> dict[str, Any]:
        known = {param.name: param for param in self.params}
        unknown = sorted(set(arguments) - set(known))
        if unknown:
            raise UnknownArgument(
                f"{self.name} has no argument {', '.join(map(repr, unknown))}.",
                f"Its arguments are {', '.join(known)}." if known else "It takes no arguments.",
            )
        values: dict[str, Any] = {}
        for param in self.params:
            value = arguments.get(param.name)
            if value is None:
                if param.required:
                    raise InvalidInput(f"{self.name} needs the argument {param.name!r}.", param.description)
                values[param.name] = param.default
            else:
                values[param.name] = param.checked(value)
        return values


def as_json(data: Mapping[str, Any]) -> str:
    """A reply as compact JSON text."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def error_body(dialect: Dialect, error: CommonplaceError) -> dict[str, Any]:
    """An error as the dialect's reference shows it: ECM says `suggestion`, the others `details`."""
    body = {"code": error.code, "message": error.message}
    if dialect == "ecm":
        code = {"VALIDATION_ERROR": "INVALID_PARAMS", "TOO_LARGE": "INVALID_PARAMS"}.get(error.code, error.code)
        return {"error": body | {"code": code, "suggestion": error.hint}}
    return {"error": body | {"details": error.hint}}


def nullable(type_: str, description: str = "") -> dict[str, object]:
    """The schema of a value that may be null."""
    return {"type": [type_, "null"]} | ({"description": description} if description else {})


def _typed(value: object, type_: type, name: str) -> object:
    right = isinstance(value, type_) and (type_ is bool or not isinstance(value, bool))
    if type_ in (int, float) and isinstance(value, (int, float)) and not isinstance(value, bool):
        if type_ is float:
            return float(value)
        if float(value).is_integer() and abs(value) <= _LARGEST:
            return int(value)
    elif right:
        return value
    shown = type(value).__name__ if not isinstance(value, (int, float)) else repr(value)
    wanted = "a whole number" if type_ is int else f"of type {_JSON_NAMES[type_]}"
    raise InvalidInput(f"{name} must be {wanted}, not {shown}.")


def _redacted(value: Any) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {key: _redacted(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_redacted(entry) for entry in value]
    return value
