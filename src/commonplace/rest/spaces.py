"""Spaces over HTTP: what each holds and may hold, and who is invited into it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from commonplace.dialects.records import key_record, space_record
from commonplace.errors import InvalidInput, NotFound
from commonplace.memory import spaces
from commonplace.memory.book import Book
from commonplace.rest import fields
from commonplace.rest.endpoint import Answer, Asked
from commonplace.rest.fields import Strict
from commonplace.rest.place import Days, KeyName, ends_in, new_key

Most = Annotated[int, Field(ge=0, le=spaces.MOST), fields.WHOLE]


class SpaceLimits(Strict):
    """The most that a space may hold; null for any number. What is not named stays."""

    max_items: Most | None = Field(None, description="Items that are neither forgotten nor superseded.")
    max_bytes: Most | None = Field(None, description="Bytes of what these say.")


class NewSpace(SpaceLimits):
    """What the space is called, and the most that it may hold."""

    name: Annotated[str, Field(pattern=f"^{spaces.NAME}$")]


class Invitation(Strict):
    """Who gets a key to the space, as what, where and how long."""

    name: KeyName
    role: Literal["reader", "writer", "admin", "read", "write"] = "writer"
    project: fields.Place | None = Field(None, description="The only project it may touch; all if omitted.")
    expires_in_days: Days | None = None


def listing(book: Book, asked: Asked[None, None]) -> Answer:
    """Your own space; for an admin of the server's own space every one."""
    return Answer({"spaces": [space_record(space) for space in spaces.listed(book, asked.key)]}, ours=True)


def create(book: Book, asked: Asked[None, NewSpace]) -> Answer:
    """An empty space. Takes an admin's key of the server's own space."""
    wanted = asked.body
    made = spaces.create(book, wanted.name, spaces.Limits(wanted.max_items, wanted.max_bytes), asked.key)
    return Answer(space_record(made), status=201, ours=True)


def read(book: Book, asked: Asked[None, None]) -> Answer:
    """What a space holds and may hold."""
    return Answer(space_record(spaces.one(book, asked.path["name"], asked.key)), ours=True)


def limit(book: Book, asked: Asked[None, SpaceLimits]) -> Answer:
    """Change the most that a space may hold; it keeps what it has. Takes an admin's key of the server's own space."""
    name, wanted = asked.path["name"], asked.body
    known, named = spaces.one(book, name, asked.key).limits, wanted.model_fields_set
    limits = spaces.Limits(
        wanted.max_items if "max_items" in named else known.items,
        wanted.max_bytes if "max_bytes" in named else known.bytes,
    )
    return Answer(space_record(spaces.limit(book, name, limits, asked.key)), ours=True)


def people(book: Book, asked: Asked[None, None]) -> Answer:
    """Every key to a space, revoked ones too; never a secret."""
    found = spaces.people(book, asked.path["name"], asked.key)
    return Answer({"keys": [key_record(key, book.clock()) for key in found]}, ours=True)


def invite(book: Book, asked: Asked[None, Invitation]) -> Answer:
    """A new key to a space. Its secret is in this reply and nowhere else."""
    wanted, name = asked.body, asked.path["name"]
    expires = ends_in(book, wanted.expires_in_days)
    return new_key(book, *spaces.invite(book, name, wanted.name, wanted.role, wanted.project, expires, asked.key))


def revoke(book: Book, asked: Asked[None, None]) -> Answer:
    """Let a key to a space work no longer."""
    try:
        key = spaces.revoke(book, asked.path["name"], asked.path["id"], asked.key)
    except InvalidInput as error:
        raise NotFound(error.message, error.hint) from error
    return Answer(key_record(key, book.clock()), ours=True)
