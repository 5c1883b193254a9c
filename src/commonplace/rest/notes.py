"""What someone wants remembered or changed, as they send it: under the names that the item's record has."""

from __future__ import annotations

import functools
import operator
import re
from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Discriminator, Field, RootModel, Tag, create_model, model_validator

from commonplace.memory.edit import Changes
from commonplace.memory.remember import MAX_PATHS, Note
from commonplace.model import DETAIL_FIELDS, KINDS, Kind
from commonplace.rest import fields
from commonplace.rest.fields import Strict
from commonplace.rest.shapes import DETAILS

MAX_BATCH = 500
# Lists on the way in; one text each where they are kept.
_LISTS = {"concepts": ", ", "files_read": ", ", "files_modified": ", ", "relevant_files": ", ", "paths": "\n"}
_Names = Annotated[list[fields.Text], Field(max_length=1000)]
_Globs = Annotated[list[fields.Glob], Field(max_length=MAX_PATHS)]
_TYPES: dict[str, Any] = dict.fromkeys(_LISTS, _Names) | {"paths": _Globs, "category": fields.Category}
_SAYING = re.compile(fields.SAYING)


class Told(Strict):
    """What every kind has. Null is as good as leaving it out."""

    content: fields.Text | None = None
    type: fields.Type | None = None
    title: fields.Title | None = None
    project: fields.Place | None = None
    session: fields.SessionKey | None = None
    tags: fields.Tags | None = None
    importance: fields.Importance | None = None
    created_at_epoch: fields.Moment | None = None
    metadata: dict[str, Any] | None = None

    @model_validator(mode="after")
    def says_something(self) -> Self:
        told = (getattr(self, name) for name in _texts(type(self)))
        if not any(isinstance(text, str) and _SAYING.search(text) for text in told):
            raise ValueError("There is nothing to remember. Give some content")
        return self


def _texts(shape: type[Told]) -> list[str]:
    return ["content", "title", *(name for name in shape.model_fields if name in DETAILS and name not in _TYPES)]


def _describe(schema: dict[str, Any], shape: type[Told]) -> None:
    """Tell in the document what `says_something` checks."""
    schema["anyOf"] = [
        {"required": [name], "properties": {name: {"type": "string", "pattern": fields.SAYING}}}
        for name in _texts(shape)
    ]


def _details(*names: str) -> dict[str, Any]:
    return {name: (_TYPES.get(name, fields.Text) | None, None) for name in names}


def _shape(kind: Kind) -> Any:
    """What a new item of this kind may say. Without a kind it is a memory."""
    said: dict[str, Any] = {"kind": (Literal[kind], "memory" if kind == "memory" else ...)}

    class Shaped(Told):
        model_config = ConfigDict(json_schema_extra=_describe)

    return create_model(f"New{kind.capitalize()}", __base__=Shaped, **said, **_details(*DETAIL_FIELDS[kind]))


def _kind_of(given: Any) -> str:
    kind = given.get("kind") if isinstance(given, dict) else getattr(given, "kind", None)
    kind = "memory" if kind is None else kind
    return kind if isinstance(kind, str) else ""


_Shapes: Any = functools.reduce(operator.or_, (Annotated[_shape(kind), Tag(kind)] for kind in KINDS))
_Any: Any = Annotated[_Shapes, Discriminator(_kind_of)]


class NewItem(RootModel[_Any]):
    """One thing to remember, of any kind."""


class NewItems(Strict):
    """Several things to remember: all of them, or, if one is wrong, none."""

    items: Annotated[list[NewItem], Field(min_length=1, max_length=MAX_BATCH, fail_fast=True)]


_Changed: Any = create_model("_Changed", __base__=Strict, **_details(*DETAILS))


class ItemChanges(_Changed):  # type: ignore[misc]
    """New values. What is left out, or null, stays as it is."""

    content: fields.Saying | None = None
    type: fields.Type | None = None
    title: Annotated[fields.Title, Field(pattern=fields.SAYING)] | None = None
    project: fields.Place | None = None
    tags: fields.Tags | None = None
    importance: fields.Importance | None = None
    metadata: dict[str, Any] | None = None
    rev: fields.Rev | None = None
    supersedes: fields.Id | None = None


def note_of(new: NewItem) -> Note:
    """A request as the note that is remembered."""
    told = new.root
    return Note(
        content=told.content or "",
        kind=told.kind,
        type=told.type or "",
        title=told.title or "",
        details=_kept_details(told),
        meta=told.metadata or {},
        project=told.project,
        session=told.session,
        tags=told.tags or (),
        importance=told.importance,
        created_ms=told.created_at_epoch,
    )


def changes_of(wanted: ItemChanges) -> Changes:
    """A request as the changes that are made."""
    return Changes(
        content=wanted.content,
        title=wanted.title,
        type=wanted.type,
        project=wanted.project,
        tags=wanted.tags,
        importance=wanted.importance,
        details=_kept_details(wanted) or None,
        meta=wanted.metadata,
    )


def _kept_details(told: Strict) -> dict[str, str]:
    given = {name: getattr(told, name, None) for name in DETAILS}
    return {
        name: _LISTS[name].join(value) if isinstance(value, list) else value
        for name, value in given.items()
        if value is not None
    }
