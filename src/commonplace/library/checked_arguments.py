"""What a method of Memory is called with, checked against its annotations before it runs.

The annotations are the only description: `limit: Limit` is a whole number of at least 1, here and in `help(Memory)`.
"""

from __future__ import annotations

import builtins
import dataclasses
import functools
import inspect
import reprlib
import types
import typing
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Annotated, Any, Concatenate, Literal, ParamSpec, TypeVar, Union

from commonplace.errors import InvalidInput

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")

OLD_NAMES = {"content": "text"}
"""What parameters were called before, and are in JSON: that name is taken as well."""
_NAMES_OF_TYPES = {str: "text", int: "a whole number", float: "a number", bool: "True or False", type(None): "None"}


@dataclasses.dataclass(frozen=True, slots=True)
class AtLeast:
    """In an annotation: a number that is not smaller."""

    least: int

    def admits(self, value: Any) -> bool:
        return bool(value >= self.least)

    def __str__(self) -> str:
        return f"of at least {self.least}"


@dataclasses.dataclass(frozen=True, slots=True)
class NotBlank:
    """In an annotation: a text with something in it."""

    def admits(self, value: Any) -> bool:
        return bool(value.strip())

    def __str__(self) -> str:
        return "that is not blank"


def checked(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """The same method, which raises InvalidInput if an argument is unknown, missing or of a wrong type."""

    @functools.wraps(method)
    def call(self: S, /, *arguments: P.args, **options: P.kwargs) -> R:
        named = current_names(method, options)
        _check_call(method, (self, *arguments), named)
        return method(self, *arguments, **named)

    return call


def current_names(method: Callable[..., Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """The same options by the names that the parameters have now."""
    known = signature_of(method).parameters
    named = dict(options)
    for old, new in OLD_NAMES.items():
        if old in named and old not in known and new in known:
            if new in named:
                raise InvalidInput(f"`{new}` is given twice, as `{old}` too.", f"Leave `{old}` out.")
            named[new] = named.pop(old)
    return named


@functools.cache
def signature_of(method: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(method)


def _check_call(method: Callable[..., Any], arguments: tuple[Any, ...], options: Mapping[str, Any]) -> None:
    function = inspect.unwrap(method)
    signature = signature_of(function)
    hint = f"`help(Memory{'' if function.__name__ == '__init__' else '.' + function.__name__})` shows what it takes."
    try:
        given = signature.bind(*arguments, **options).arguments
    except TypeError as error:
        raise InvalidInput(f"{function.__name__}: {error}.", hint) from error
    for name, value in given.items():
        parameter = signature.parameters[name]
        if parameter.annotation is parameter.empty:
            continue
        kind = annotation_of(function, name)
        if parameter.kind is parameter.VAR_POSITIONAL:
            for number, one in enumerate(value, start=1):
                _check(one, kind, f"{name}, number {number},", hint)
        elif parameter.kind is parameter.VAR_KEYWORD:
            for key, one in value.items():
                _check(one, kind, key, hint)
        else:
            _check(value, kind, name, hint)


def _check(value: object, kind: Any, name: str, hint: str) -> None:
    if not _fits(value, kind):
        raise InvalidInput(f"{name} must be {_described(kind)}, not {reprlib.repr(value)}.", hint)
    for where, record in _records(value, name):
        for field, its_kind in _field_kinds(record.__class__).items():
            _check(getattr(record, field), its_kind, f"{where}.{field}", hint)


def _fits(value: object, kind: Any) -> bool:
    """Whether a value is what an annotation says."""
    if kind in _FITS_PLAIN:
        return _FITS_PLAIN[kind](value)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is Annotated:
        base, *bounds = arguments
        return _fits(value, base) and all(bound.admits(value) for bound in bounds)
    if origin in (Union, types.UnionType):
        return any(_fits(value, one) for one in arguments)
    if origin is Literal:
        return isinstance(value, str) and value in arguments
    if origin is None:
        return isinstance(value, kind)
    return _fits_entries(value, origin, arguments)


def _fits_entries(value: object, origin: type, arguments: tuple[Any, ...]) -> bool:
    """The same for a type with parameters, such as `Sequence[str]`."""
    if issubclass(origin, Mapping):
        return isinstance(value, Mapping) and all(_fits(one, arguments[1]) for one in value.values())
    if not issubclass(origin, Iterable):
        return isinstance(value, origin)
    if not _is_list(value):
        return False
    if origin is tuple and Ellipsis not in arguments:
        return len(value) == len(arguments) and all(map(_fits, value, arguments))
    return all(_fits(one, arguments[0]) for one in value)


# Types that Python takes more loosely than a caller means them: True is no number.
_FITS_PLAIN: dict[Any, Callable[[object], bool]] = {
    Any: lambda _value: True,
    object: lambda _value: True,
    None: lambda value: value is None,
    int: lambda value: isinstance(value, int) and not isinstance(value, bool),
    float: lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
}


def _is_list(value: object) -> typing.TypeGuard[Collection[Any]]:
    """Whether it has entries that can be counted; those of a text are not meant."""
    return isinstance(value, Collection) and not isinstance(value, (str, bytes, bytearray, Mapping))


def _records(value: object, name: str) -> Iterator[tuple[str, Any]]:
    """The dataclasses that a value is, or has in a list, with their names."""
    if _is_record(value):
        yield name, value
    elif isinstance(value, (list, tuple)):
        for number, one in enumerate(value):
            if _is_record(one):
                yield f"{name}[{number}]", one


def _is_record(value: object) -> bool:
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def _described(kind: Any) -> str:
    """An annotation in words: `str | None` is "text or None"."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is Annotated:
        return " ".join([_described(arguments[0]), *map(str, arguments[1:])])
    if origin in (Union, types.UnionType):
        return " or ".join(map(_described, arguments))
    if origin is Literal:
        return "one of " + ", ".join(map(repr, arguments))
    if origin is tuple:
        return f"a tuple ({', '.join(map(_described, arguments))})"
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return "a mapping"
    if isinstance(origin, type) and issubclass(origin, Iterable):
        return "a list of text" if arguments[0] is str else f"a list, each {_described(arguments[0])}"
    return _NAMES_OF_TYPES.get(kind) or f"a {(origin or kind).__name__}"


class _Names(dict[str, Any]):
    """The names in an annotation: those of its module, and of what that imports for type checkers only."""

    def __missing__(self, name: str) -> Any:
        import commonplace

        try:
            return getattr(commonplace, name)
        except AttributeError:
            from commonplace.library import results

            return getattr(results, name)


@functools.cache
def annotation_of(function: Callable[..., Any], name: str) -> Any:
    """The type of a parameter, or of what comes back (`return`); only the modules that it needs are imported."""
    written = function.__annotations__[name]
    names = _Names({**vars(builtins), **function.__globals__})
    return eval(written, {}, names) if isinstance(written, str) else written


@functools.cache
def _field_kinds(record: type) -> dict[str, Any]:
    hints = typing.get_type_hints(record)
    return {field.name: hints[field.name] for field in dataclasses.fields(record)}
