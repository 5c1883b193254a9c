"""JSON Schema made from types: the TypedDict that a reply is built as also says what the reply looks like.

A field of `str` is a string, `int | None` an integer or null, `list[X]` an array of X, `Literal` an enum, another
TypedDict an object; `NotRequired` fields are optional. What a type cannot say stands in `Annotated[..., Json(...)]`.

Modules with such types and with tools do without `from __future__ import annotations`: it would make texts of their
annotations, which take three times as long to read when a server starts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType, NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

Schema = dict[str, Any]
_Record = TypeVar("_Record")

COMPONENTS: dict[Any, str] = {}
"""Types that the OpenAPI document describes once, and the names it gives them."""

_PLAIN: dict[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}
REFERENCE = "#/components/schemas/"


class Json:
    """Keywords of JSON Schema that an annotated type has besides those that follow from it."""

    def __init__(self, **keywords: object) -> None:
        self.keywords = keywords


def component(name: str) -> Callable[[_Record], _Record]:
    """Mark a type as one that the OpenAPI document describes under this name."""

    def mark(record: _Record) -> _Record:
        COMPONENTS[record] = name
        return record

    return mark


@cache
def schema_of(type_: Any) -> Schema:
    """The schema of values of this type."""
    return _schema(type_, schema_of)


def schema_in_document(type_: Any) -> Schema:
    """The same within the OpenAPI document, where the types in COMPONENTS are referred to by their names."""
    return {"$ref": REFERENCE + COMPONENTS[type_]} if type_ in COMPONENTS else component_schema(type_)


def component_schema(type_: Any) -> Schema:
    """What the document says of a type in its own place."""
    return _schema(type_, schema_in_document)


def _schema(type_: Any, part: Callable[[Any], Schema]) -> Schema:
    if type_ in _PLAIN:
        return {"type": _PLAIN[type_]}
    if type_ is Any:
        return {}
    if is_typeddict(type_):
        return _object(type_, part)
    origin, arguments = get_origin(type_), get_args(type_)
    if is_typeddict(origin):
        return _object(origin, part, dict(zip(origin.__parameters__, arguments, strict=True)))
    if origin is Annotated:
        keywords = [mark.keywords for mark in type_.__metadata__ if isinstance(mark, Json)]
        return part(arguments[0]) | {name: word for one in keywords for name, word in one.items()}
    if origin is Literal:
        return {"const": arguments[0]} if len(arguments) == 1 else {"enum": list(arguments)}
    if origin in (Union, UnionType):
        return _either([part(one) for one in arguments])
    if origin is list:
        return {"type": "array"} | _unless_any("items", arguments[0], part)
    if origin is dict:
        return {"type": "object"} | _unless_any("additionalProperties", arguments[1], part)
    raise TypeError(f"There is no JSON Schema for {type_}.")


def _object(record: Any, part: Callable[[Any], Schema], given: Mapping[Any, Any] = MappingProxyType({})) -> Schema:
    """The schema of a TypedDict; of a generic one, `given` has the types for its variables."""
    properties, required = {}, []
    for name, hint in get_type_hints(record, include_extras=True).items():
        optional = get_origin(hint) is NotRequired
        properties[name] = part(get_args(hint)[0] if optional else given.get(hint, hint))
        if name in record.__required_keys__ and not optional:
            required.append(name)
    return {"type": "object", "properties": properties} | ({"required": required} if required else {})


def _either(kinds: list[Schema]) -> Schema:
    """One of several; in one word where each is no more than a type, or an object or an enum that may be null."""
    first, *others = kinds
    if others == [{"type": "null"}] and "enum" in first:
        return first | {"enum": [*first["enum"], None]}
    if all(set(one) == {"type"} for one in others) and "type" in first and "required" not in first:
        return first | {"type": [first["type"], *(one["type"] for one in others)]}
    return {"anyOf": kinds}


def _unless_any(keyword: str, type_: Any, part: Callable[[Any], Schema]) -> Schema:
    return {} if type_ is Any else {keyword: part(type_)}
