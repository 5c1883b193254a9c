"""What a request may say, in types: their limits are the verbs' own, and what the OpenAPI document shows.

Patterns say which signs are no letters, because what `\\w` means depends on who reads the document.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, GetJsonSchemaHandler, model_validator
from pydantic_core import CoreSchema

from commonplace.memory.callers import MAX_AUTHOR
from commonplace.memory.conversations import MAX_LABEL
from commonplace.memory.draft import MAX_SESSION, MAX_TAG, MAX_TAGS, MAX_TEXT, MAX_TITLE
from commonplace.memory.search_candidates import MAX_QUERY
from commonplace.model import Kind, Scope
from commonplace.text.dates import EARLIEST_MS, LATEST_MS, parse_period
from commonplace.text.paths import MAX_FOLDER, MAX_GLOB
from commonplace.text.project_names import MAX_PROJECT_NAME
from commonplace.text.validity import parse_as_of

# A letter that every reader calls visible; and one that may begin a name, which is no sign either.
VISIBLE_CHARACTER = (
    r"[^\u0000-\u0020\u007f-\u00a0\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u2064\u3000\ufeff\ufffd-\uffff]"
)
# The same, but for the mark that may stand before a number.
_NAMING = VISIBLE_CHARACTER.replace(r"\u0020", r"\u0020#")
_LETTER = (
    r"[^\u0000-\u002f\u003a-\u0040\u005b-\u005e\u0060\u007b-\u00bf\u00d7\u00f7"
    r"\u1680\u180e\u2000-\u206f\u3000\ufeff\ufff0-\uffff]"
)
_PART = f"[.]?{_LETTER}({_LETTER}|[ .+-])*"
_PLACE = f"^(https?://|ssh://|git@|~?/)?{_PART}([/:]{_PART})*/?$"
_BRACES = rf"\{{{_LETTER}({_LETTER}|[,.-])*\}}"
_NAME = f"({_LETTER}|[?]|{_BRACES})"
# Stars stand alone within a name: two next to each other are folders of any depth.
_NAMES = f"([*]|[.]?[*]?[.]?{_NAME}([*]?((([.][*])*[.][*]?)?{_NAME}|[+@-]))*([*]?([.][*])+|[*])?)"
_GLOB = f"^([*][*]/)?{_NAMES}(/{_NAMES})*(/[*][*])?$|^[*][*]$"
_TYPE = f"^{_LETTER}({_LETTER}|[ .:/-]){{0,99}}$"
_CATEGORY = f"^{_LETTER}(({_LETTER}|[ .-]){{0,98}}({_LETTER}|-))?$"
# Names between slashes, of anything but control characters; none is a dot or two.
_BLANK = r"\u0000-\u0020\u007f-\u00a0\u1680\u2000-\u200a\u2028-\u202f\u205f\u3000"
_FOLDER_NAME = rf" *[.]{{0,2}}[^{_BLANK}./][^\u0000-\u001f\u007f-\u009f\u2028\u2029/]*"
_FOLDER = f"^( */+)?{_FOLDER_NAME}(/+{_FOLDER_NAME})*(/+ *)?$|^ */+ *$"
# A day that the calendar has.
_LEAP = r"([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][48]|[13579][26])00|[2468]000)-02-29"
_DAY = (
    r"(000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})-"
    r"((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))"
)
_ZONE = r"(Z|[+-]([01][0-9]|2[0-3]):?[0-5][0-9])"
_TIME = rf"([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{{1,9}})?)?{_ZONE}?"
_STAMP = f"^({_LEAP}|{_DAY})([T ]{_TIME})?$"
MAX_IDS = 2**53
# More than any object of a request has.
MAX_FIELDS = 200


def _whole(value: Any) -> Any:
    """5.0 is the number 5 to JSON."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


# Last among the marks of a number, or its bounds are not in the document.
WHOLE = BeforeValidator(_whole)
Text = Annotated[str, Field(max_length=MAX_TEXT)]
NonBlankText = Annotated[str, Field(max_length=MAX_TEXT, pattern=VISIBLE_CHARACTER)]
Title = Annotated[str, Field(max_length=MAX_TITLE)]
Type = Annotated[str, Field(pattern=_TYPE, max_length=100)]
Category = Annotated[str, Field(pattern=_CATEGORY, max_length=100)]
ProjectName = Annotated[
    str,
    Field(
        pattern=_PLACE, max_length=MAX_PROJECT_NAME, description="A project: its git remote, its folder or its name."
    ),
]
Glob = Annotated[str, Field(pattern=_GLOB, max_length=MAX_GLOB, description="Relative to the project: src/api/**")]
Tag = Annotated[str, Field(pattern=VISIBLE_CHARACTER, max_length=MAX_TAG)]
Tags = Annotated[list[Tag], Field(max_length=MAX_TAGS)]
SessionKey = Annotated[str, Field(pattern=VISIBLE_CHARACTER, max_length=MAX_SESSION)]
Importance = Annotated[float, Field(ge=0, le=10)]
EpochMs = Annotated[int, Field(ge=EARLIEST_MS, le=LATEST_MS, description="Milliseconds since 1970."), WHOLE]
Question = Annotated[
    str,
    Field(
        pattern=VISIBLE_CHARACTER,
        max_length=MAX_QUERY,
        description='A question, or words with AND, OR, NOT, "a phrase", prefix* and column:term.',
    ),
]
Rev = Annotated[int, Field(ge=1, le=MAX_IDS, description="A revision, as in `rev`."), WHOLE]
Id = Annotated[
    str,
    Field(pattern=_NAMING, max_length=200, description="A number, a UUID, or the last twelve hex digits of one."),
]
Label = Annotated[
    str, Field(pattern=VISIBLE_CHARACTER, max_length=MAX_LABEL, description="The title of a conversation.")
]
Folder = Annotated[
    str, Field(pattern=_FOLDER, max_length=MAX_FOLDER, description="A path such as /work/engineering, in any language.")
]
Timestamp = Annotated[str, Field(pattern=_STAMP, max_length=40, description="ISO 8601; UTC where no offset is given.")]
Status = Literal["active", "archived", "pinned"]
Since = Annotated[
    str, Field(max_length=100, description="Only from then on: `7d`, `yesterday`, `2026-11-01`, `2026-11-01T09:00`.")
]
Until = Annotated[str, Field(max_length=100, description="Only until then, including that day.")]
Author = Annotated[
    str,
    Field(max_length=2 * MAX_AUTHOR, description="Only by this person, and agents that write for them; or an agent."),
]
Origin = Literal["person", "agreed", "agent", "captured", "imported"]
AsOf = Annotated[
    str,
    Field(max_length=100, description="What was believed then: `7d` ago, or at the end of `yesterday`, `2026-11-01`."),
]
Bound = Annotated[
    str, Field(max_length=100, description="`2026-05-31`, `31 May`, `end of Q3`, `30d`, an ISO 8601 time, or `none`.")
]
Cursor = Annotated[str, Field(max_length=200, description="`next_cursor` of the page before.")]


class Strict(BaseModel):
    """Nothing unknown, nothing of another type. Null for a field that has a default means that it was left out."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
    at_least_one: ClassVar[tuple[str, ...]] = ()
    """Fields of which one has to be given."""

    @model_validator(mode="before")
    @classmethod
    def omit_nulls(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        return {name: value for name, value in given.items() if value is not None or name not in _defaulted(cls)}

    @model_validator(mode="before")
    @classmethod
    def has_few_fields(cls, given: Any) -> Any:
        """Stop before each of very many unknown fields becomes an error of its own."""
        if isinstance(given, dict) and len(given) > MAX_FIELDS:
            raise ValueError(f"It has {len(given):,} fields, more than there are")
        return given

    @model_validator(mode="after")
    def gives_at_least_one(self) -> Self:
        if self.at_least_one and all(getattr(self, name) is None for name in self.at_least_one):
            raise ValueError(f"Give at least one of {', '.join(self.at_least_one)}")
        return self

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        schema = handler.resolve_ref_schema(handler(core))
        properties = schema.get("properties", {})
        for name in _defaulted(cls) & properties.keys():
            properties[name] = _nullable(properties[name])
        if cls.at_least_one:
            given = {"not": {"type": "null"}}
            schema["anyOf"] = [{"required": [name], "properties": {name: given}} for name in cls.at_least_one]
        return schema


class Narrowed(Strict):
    """Which part of the memory is meant."""

    project: ProjectName | None = Field(None, description="Only this project; all of them if omitted.")
    global_: bool = Field(False, alias="global", description="Only what belongs to no project.")
    kind: Annotated[list[Kind], Field(max_length=10)] = Field([], description="Only this kind; may be repeated.")
    type: Annotated[list[Type], Field(max_length=50)] = Field([], description="Only this type; may be repeated.")
    tag: Annotated[str, Field(max_length=1000)] = Field("", description="Only with a tag that contains this.")
    since: Since | None = None
    until: Until | None = None
    author: Author = ""
    origin: Annotated[list[Origin], Field(max_length=10)] = Field([], description="Only this origin; may be repeated.")
    as_of: AsOf | None = None
    include_expired: bool = Field(
        False, description="Include what is no longer valid, or not yet; not what was replaced."
    )

    def scope(self, now_ms: int) -> Scope:
        time = parse_period(self.since, self.until, now_ms)
        return Scope(
            project=self.project,
            only_global=self.global_,
            kinds=tuple(self.kind),
            types=tuple(self.type),
            tag=self.tag,
            since_ms=time.from_ms,
            until_ms=time.to_ms,
            author=self.author,
            origins=tuple(self.origin),
            at_ms=parse_as_of(self.as_of, now_ms) if self.as_of else None,
            lapsed=self.include_expired,
        )


@cache
def _defaulted(model: type[BaseModel]) -> frozenset[str]:
    """The fields, as requests name them, that have a default other than null."""
    return frozenset(
        field.alias or name
        for name, field in model.model_fields.items()
        if not field.is_required() and (field.default is not None or field.default_factory is not None)
    )


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of a field, or null; what is said about the field stays outside."""
    about = {name: schema[name] for name in ("default", "description", "title") if name in schema}
    kinds = {name: value for name, value in schema.items() if name not in about}
    return about | {"anyOf": [kinds, {"type": "null"}]}


# What a pattern means, for people.
PATTERN_HINTS = {
    VISIBLE_CHARACTER: "It must have a visible character",
    _NAMING: "An id is a number, a UUID, or the last twelve hex digits of one",
    _TYPE: "A type has up to 100 letters, digits, spaces and . : / - _, and begins with a letter or digit",
    _CATEGORY: "A category becomes a file name: up to 100 letters, digits, spaces and . - _",
    _PLACE: "A project is named like github.com/acme/my-api or my-api",
    _FOLDER: "Write a folder like /work/engineering; names may hold spaces and letters of any language",
    _STAMP: "Write a time as ISO 8601, like 2026-01-25T16:30:00Z",
    _GLOB: "A path is a glob relative to the project, such as src/api/**",
}
