"""Keys and spaces over HTTP: who may use the memory, and what each space holds and may hold."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from pydantic import Field

from commonplace.dialects.records import KeyRecord, SpaceRecord, key_record, space_record
from commonplace.dialects.reply_schema import Json, component
from commonplace.errors import InvalidInput, NotFound
from commonplace.memory import api_keys, spaces
from commonplace.memory.local_memory import LocalMemory
from commonplace.model import Key
from commonplace.rest import fields
from commonplace.rest.endpoint import Answer, ApiRequest
from commonplace.rest.fields import Strict
from commonplace.text.dates import DAY_MS

KeyName = Annotated[str, Field(pattern=r"^[!-~]([ -~]{0,98}[!-~])?$", max_length=api_keys.MAX_KEY_NAME)]
Days = Annotated[int, Field(ge=1, le=3650), fields.WHOLE]


class _KeyFields(Strict):
    name: KeyName
    project: fields.ProjectName | None = Field(None, description="The only project it can use; all if omitted.")
    expires_in_days: Days | None = None


class NewKey(_KeyFields):
    """Whose key it is, what it allows, where and how long."""

    scope: Literal["read", "write", "admin", "reader", "writer"] = "write"


@component("Keys")
class KeyList(TypedDict):
    """Keys, revoked ones too."""

    keys: list[KeyRecord]


@component("KeyWithSecret")
class NewKeyReply(KeyRecord):
    """A new key."""

    secret: Annotated[str | None, Json(description="Shown only once; null in a repeated answer.")]


@component("Spaces")
class SpaceList(TypedDict):
    """Spaces."""

    spaces: list[SpaceRecord]


def list_keys(memory: LocalMemory, _request: ApiRequest[None, None]) -> Answer[KeyList]:
    """Every key, revoked ones too; never a secret."""
    now = memory.clock()
    return Answer({"keys": [key_record(key, now) for key in api_keys.list_keys(memory)]}, trusted=True)


def create_key(memory: LocalMemory, request: ApiRequest[None, NewKey]) -> Answer[NewKeyReply]:
    """A new key. Its secret is in this reply and nowhere else."""
    wanted = request.body
    expires = expiry_ms(memory, wanted.expires_in_days)
    return new_key_answer(memory, *api_keys.create_key(memory, wanted.name, wanted.scope, wanted.project, expires))


def new_key_answer(memory: LocalMemory, key: Key, secret: str) -> Answer[NewKeyReply]:
    return Answer(
        {**key_record(key, memory.clock()), "secret": None}, status=201, trusted=True, shown_once={"secret": secret}
    )


def expiry_ms(memory: LocalMemory, days: int | None) -> int | None:
    return None if days is None else memory.clock() + days * DAY_MS


def revoke_key(memory: LocalMemory, request: ApiRequest[None, None]) -> Answer[KeyRecord]:
    """Let a key work no longer."""
    try:
        return Answer(key_record(api_keys.revoke_key(memory, request.path["id"]), memory.clock()), trusted=True)
    except InvalidInput as error:
        raise NotFound(error.message, error.hint) from error


Most = Annotated[int, Field(ge=0, le=spaces.MAX_SPACE_LIMIT), fields.WHOLE]


class SpaceLimits(Strict):
    """The most that a space may hold; null for any number. What is not named stays."""

    max_items: Most | None = Field(None, description="Items that are neither forgotten nor superseded.")
    max_bytes: Most | None = Field(None, description="Bytes of what these say.")


class NewSpace(SpaceLimits):
    """What the space is called, and the most that it may hold."""

    name: Annotated[str, Field(pattern=f"^{spaces.SPACE_NAME}$")]


class Invitation(_KeyFields):
    """Who gets a key to the space, as what, where and how long."""

    role: Literal["reader", "writer", "admin", "read", "write"] = "writer"


def list_spaces(memory: LocalMemory, request: ApiRequest[None, None]) -> Answer[SpaceList]:
    """Your own space; for an admin of the server's own space every one."""
    return Answer({"spaces": [space_record(space) for space in spaces.list_spaces(memory, request.key)]}, trusted=True)


def create_space(memory: LocalMemory, request: ApiRequest[None, NewSpace]) -> Answer[SpaceRecord]:
    """An empty space. Takes an admin's key of the server's own space."""
    wanted = request.body
    made = spaces.create_space(memory, wanted.name, spaces.Limits(wanted.max_items, wanted.max_bytes), request.key)
    return Answer(space_record(made), status=201, trusted=True)


def read_space(memory: LocalMemory, request: ApiRequest[None, None]) -> Answer[SpaceRecord]:
    """What a space holds and may hold."""
    return Answer(space_record(spaces.get_space(memory, request.path["name"], request.key)), trusted=True)


def set_space_limits(memory: LocalMemory, request: ApiRequest[None, SpaceLimits]) -> Answer[SpaceRecord]:
    """Change the most that a space may hold; it keeps what it has. Takes an admin's key of the server's own space."""
    name, wanted = request.path["name"], request.body
    known, named = spaces.get_space(memory, name, request.key).limits, wanted.model_fields_set
    limits = spaces.Limits(
        wanted.max_items if "max_items" in named else known.items,
        wanted.max_bytes if "max_bytes" in named else known.bytes,
    )
    return Answer(space_record(spaces.set_space_limits(memory, name, limits, request.key)), trusted=True)


def list_space_keys(memory: LocalMemory, request: ApiRequest[None, None]) -> Answer[KeyList]:
    """Every key to a space, revoked ones too; never a secret."""
    found = spaces.space_keys(memory, request.path["name"], request.key)
    return Answer({"keys": [key_record(key, memory.clock()) for key in found]}, trusted=True)


def create_space_key(memory: LocalMemory, request: ApiRequest[None, Invitation]) -> Answer[NewKeyReply]:
    """A new key to a space. Its secret is in this reply and nowhere else."""
    wanted, name = request.body, request.path["name"]
    expires = expiry_ms(memory, wanted.expires_in_days)
    return new_key_answer(
        memory,
        *spaces.create_space_key(memory, name, wanted.name, wanted.role, wanted.project, expires, request.key),
    )


def revoke_space_key(memory: LocalMemory, request: ApiRequest[None, None]) -> Answer[KeyRecord]:
    """Let a key to a space work no longer."""
    try:
        key = spaces.revoke_space_key(memory, request.path["name"], request.path["id"], request.key)
    except InvalidInput as error:
        raise NotFound(error.message, error.hint) from error
    return Answer(key_record(key, memory.clock()), trusted=True)
