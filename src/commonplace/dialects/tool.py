"""What a tool is, in every dialect: a function whose signature says which arguments it takes and what it replies.

The signature is the only description: a parameter's type, its default and its `Param` check the argument and make the
input schema, and the TypedDict in the returned `Reply` makes the output schema.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import NoneType
from typing import Annotated, Any, Generic, Literal, TypeVar, get_args, get_origin, get_type_hints

from commonplace.dialects.reply_schema import Schema, schema_of
from commonplace.errors import CommonplaceError, InvalidInput, StoreError, UnknownArgument
from commonplace.library.verbs import VERBS, Verb
from commonplace.memory.local_memory import LocalMemory
from commonplace.model import KINDS, is_spelled_out
from commonplace.text.redact import (
    escape_control_characters,
    redact,
    redact_data,
    redact_lines,
    strip_control_characters,
)
from commonplace.text.sentences import shorten

Dialect = Literal["kiro", "memories", "ecm", "sekha", "chatgpt"]
Arguments = Mapping[str, Any]
Data = TypeVar("Data", bound=Mapping[str, Any])
_Type = type


class IdNumber(int):
    """An id that its reference calls a number; as a text, the other spellings of an identity are as good."""


_JSON_NAMES = {
    IdNumber: "number", str: "string", int: "integer", float: "number", bool: "boolean", list: "array", dict: "object",
}  # fmt: skip
# What a search finds: everything but checkpoints, which are about a session.
SEARCHED_KINDS = tuple(kind for kind in KINDS if kind != "checkpoint")
# JSON numbers beyond this are not integers to every client.
_LARGEST = 2**53
LONGEST_NOTICE = 300
# `json.dumps` would make one for each reply.
_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
# How much of a wrong argument an error repeats.
_ECHO = 60


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter, written as `Annotated[TYPE, Param(DESCRIPTION)] = DEFAULT` in the signature of its tool.

    A number outside `least`..`most` is moved to the border, or refused if `strict`; a wrong type is an error. One that
    is not `listed` is accepted without being in the schema, which is the reference's: clients of its authors send more
    than that, and we have some of our own. `shape` describes what the entries of an array are, beyond their type;
    `json_type` is the reference's own name of the type, where it has one. The rest follows from the signature.
    """

    description: str
    least: int | None = None
    most: int | None = None
    strict: bool = False
    max_items: int | None = None
    choices: tuple[str, ...] = ()
    shape: Mapping[str, object] | None = None
    json_type: str = ""
    listed: bool = True
    name: str = ""
    keyword: str = ""
    type: _Type = str
    items: _Type | None = None
    required: bool = False
    default: object = None

    def resolved(self, keyword: str, hint: Any, default: object) -> Param:
        """The parameter with what the signature says of it: its name, its type, and its default if it has one."""
        bare = next(one for one in get_args(hint) if one is not NoneType) if NoneType in get_args(hint) else hint
        kind, entries = get_origin(bare) or bare, get_args(bare)
        return replace(
            self,
            name=self.name or keyword.rstrip("_"),
            keyword=keyword,
            type=str if kind is Literal else kind,
            items=(get_origin(entries[0]) or entries[0]) if kind is list else None,
            choices=entries if kind is Literal else self.choices,
            required=default is inspect.Parameter.empty,
            default=None if default is inspect.Parameter.empty else default,
        )

    def schema(self) -> dict[str, object]:
        # "number" where the references say so: some clients write 5 as 5.0.
        schema: dict[str, object] = {
            "type": self.json_type or ("number" if self.type is int else _JSON_NAMES[self.type])
        }
        schema["description"] = self.description
        if self.default is not None:
            schema["default"] = self.default
        if self.strict:
            schema |= {"minimum": self.least, "maximum": self.most}
        if self.shape is not None:
            schema["items"] = dict(self.shape)
        elif self.items is not None:
            schema["items"] = {"type": "number" if self.items is int else _JSON_NAMES[self.items]}
        if self.max_items is not None:
            schema["maxItems"] = self.max_items
        if self.choices:
            schema["enum"] = list(self.choices)
        return schema

    def checked(self, value: object) -> object:
        """The value as its type, moved into its range; anything else is an error that says what was expected."""
        if self.strict:
            value = self._within(_typed(value, self.type, self.name))
        else:
            value = _typed(_clamped(value, self.least, self.most), self.type, self.name)
        if isinstance(value, list):
            if self.max_items is not None and len(value) > self.max_items:
                raise InvalidInput(
                    f"{self.name} has {len(value)} entries, more than {self.max_items}.",
                    f"Ask for at most {self.max_items} at a time.",
                )
            if self.items is not None:
                value = [_typed(entry, self.items, f"{self.name}[{n}]") for n, entry in enumerate(value)]
        if self.choices and value not in self.choices:
            raise InvalidInput(f"{self.name} is {_echo(value)}.", f"Choose one of {', '.join(self.choices)}.")
        return value

    def _within(self, value: object) -> object:
        assert isinstance(value, (int, float)) and self.least is not None and self.most is not None
        if not self.least <= value <= self.most:
            borders = f"{self.type(self.least)} and {self.type(self.most)}"
            raise InvalidInput(f"Invalid {self.name}", f"Must be between {borders}")
        return value


@dataclass(frozen=True, slots=True)
class Reply(Generic[Data]):
    """An answer: data for programs, and a text that stands alone for hosts that show only text.

    The text is the data as JSON, unless the dialect's reference answers in words.
    """

    data: Data
    words: str | None = None

    @property
    def text(self) -> str:
        return compact_json(self.data) if self.words is None else self.words


ToolFunction = Callable[..., Reply[Any]]
"""What a tool does, given the memory and checked arguments by their names, with defaults filled in."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool of one dialect."""

    dialect: Dialect
    name: str
    title: str
    description: str
    call: ToolFunction
    params: tuple[Param, ...]
    output: Schema
    # What it is a form of: it needs what that needs.
    verb: Verb
    destructive: bool = False
    idempotent: bool = True
    # Whether it may take seconds, so that it must not keep others from the threads for ordinary calls.
    slow: bool = False
    # Arguments that some clients send and that change nothing here; the reply's `notice` says so.
    ignored: tuple[str, ...] = ()

    @property
    def read_only(self) -> bool:
        """Whether it changes nothing."""
        return self.verb.needs == "read"

    @classmethod
    def of(
        cls,
        call: ToolFunction,
        *,
        dialect: Dialect,
        verb: str,
        title: str,
        description: str,
        name: str = "",
        **more: Any,
    ) -> Tool:
        """The tool that a function is, by its own name unless another is given, as its signature describes it.

        `verb` is the name of the one that it is a form of.
        """
        hints = get_type_hints(call, include_extras=True)
        params = [
            hints[one.name].__metadata__[0].resolved(one.name, hints[one.name].__origin__, one.default)
            for one in inspect.signature(call).parameters.values()
            if get_origin(hints[one.name]) is Annotated
        ]
        (data,) = get_args(hints["return"])
        return cls(
            dialect=dialect,
            name=name or call.__name__,
            title=title,
            description=description,
            call=call,
            params=tuple(params),
            output=schema_of(data),
            verb=VERBS[verb],
            **more,
        )

    def input_schema(self) -> dict[str, object]:
        """The arguments as JSON Schema, in words that the converters of every client library can read.

        It does not say `additionalProperties: false`: google-genai reads that value as a schema and fails. `checked`
        refuses unknown arguments all the same. Nor does it say that optional arguments may be null, which they may.
        """
        schema: dict[str, object] = {
            "type": "object",
            "properties": {param.name: param.schema() for param in self.params if param.listed},
        }
        required = [param.name for param in self.params if param.required]
        if required:
            schema["required"] = required
        return schema

    def run(self, memory: LocalMemory, arguments: Arguments) -> Reply[Any]:
        """Check the arguments, do it, and let no secret out."""
        memory.embeddings.note_request()
        checked = self.checked(arguments)
        reply = self.call(memory, **{param.keyword: checked[param.name] for param in self.params})
        reply = self._with_ignored(reply, arguments)
        words = None if reply.words is None else redact_lines(strip_control_characters(reply.words))
        return Reply(redact_data(reply.data), words)

    def checked(self, arguments: Arguments) -> dict[str, Any]:
        """The arguments with their defaults. Null means omitted: strict clients send every argument there is."""
        known = {param.name: param for param in self.params}
        unknown = sorted(set(arguments) - set(known) - set(self.ignored))
        if unknown:
            listed = ", ".join(name for name, param in known.items() if param.listed)
            raise UnknownArgument(
                f"{self.name} has no argument {', '.join(map(_echo, unknown[:5]))}.",
                f"Its arguments are {listed}." if listed else "It takes no arguments.",
            )
        values: dict[str, Any] = {}
        for param in self.params:
            if arguments.get(param.name) is not None:
                values[param.name] = param.checked(arguments[param.name])
            elif param.required:
                raise InvalidInput(f"{self.name} needs the argument {param.name!r}.", f"{param.description}.")
            else:
                values[param.name] = param.default
        return values

    def _with_ignored(self, reply: Reply[Any], arguments: Arguments) -> Reply[Any]:
        """The reply, which says in its data what was ignored, if there is a place for it."""
        ignored = [name for name in self.ignored if arguments.get(name) is not None]
        if not ignored or "notice" not in self.output["properties"]:
            return reply
        notices = [reply.data["notice"]] if reply.data.get("notice") else []
        notices.append(f"Without effect here: {', '.join(ignored)}.")
        return Reply(reply.data | {"notice": " ".join(notices)}, reply.text)


def compact_json(data: Mapping[str, Any]) -> str:
    """A reply as compact JSON text, in which nothing is hidden from a reader."""
    return escape_control_characters(_COMPACT.encode(data))


def error_body(dialect: Dialect, error: CommonplaceError) -> dict[str, Any]:
    """An error as the dialect's reference shows it, by its codes; ECM says `suggestion`, the others `details`."""
    body = {"code": error.code, "message": redact(error.message)}
    if dialect == "ecm":
        code = {"VALIDATION_ERROR": "INVALID_PARAMS", "TOO_LARGE": "INVALID_PARAMS"}.get(error.code, error.code)
        code = "DB_ERROR" if isinstance(error, StoreError) else code
        return {"error": body | {"code": code, "suggestion": redact(error.hint)}}
    if dialect == "sekha" and error.code == "TOO_LARGE":
        body["code"] = "VALIDATION_ERROR"
    return {"error": body | {"details": redact(error.hint)}}


def search_notice(memory: LocalMemory, waiting: int = 0, note: str = "") -> str:
    """Why only words are searched, if embedding has failed since the last notice; else what has no vector yet.

    `waiting` is how many of the passages that were searched have no vector yet; `note` is what else is said of hits.
    """
    failure = memory.embeddings.new_failure()
    if failure:
        return shorten(f"Keyword search only: {failure}", LONGEST_NOTICE)
    return " ".join(part for part in (note, missing_vectors_notice(waiting)) if part)


def missing_vectors_notice(waiting: int) -> str:
    """That some passages were compared by their words alone, because they have no vector yet; else empty."""
    if not waiting:
        return ""
    those = "1 new passage has" if waiting == 1 else f"{waiting:,} new passages have"
    return f"Search by meaning is incomplete: {those} no vector yet. Ask again in a moment."


def _typed(value: object, type_: type, name: str) -> object:
    if type_ is IdNumber:
        return value if isinstance(value, str) and is_spelled_out(value) else _typed(value, int, name)
    if isinstance(value, bool) or type_ not in (int, float):
        if isinstance(value, type_) and isinstance(value, bool) == (type_ is bool):
            return value
    elif isinstance(value, (int, float)):
        if type_ is float and -1e300 < value < 1e300:
            return float(value)
        if type_ is int and abs(value) <= _LARGEST and value == int(value):
            return int(value)
    shown = _echo(value) if isinstance(value, (int, float)) else _JSON_NAMES.get(type(value), "null")
    raise InvalidInput(f"{name} must be {_wanted(type_)}, not {shown}.")


def _wanted(type_: type) -> str:
    return "a whole number" if type_ in (int, IdNumber) else f"of type {_JSON_NAMES[type_]}"


def _clamped(value: object, least: int | None, most: int | None) -> object:
    """A whole number moved to the nearer border; anything else stays what it is, to be refused for that."""
    if least is None or most is None or isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    if isinstance(value, float) and not value.is_integer():
        return value
    return min(max(value, least), most)


def _echo(value: object) -> str:
    """A wrong argument as an error repeats it: no longer than a line."""
    if isinstance(value, int) and abs(value) > _LARGEST:
        return "a number beyond 2**53"
    shown = repr(value)
    return shown if len(shown) <= _ECHO else f"{shown[:_ECHO]}…"
