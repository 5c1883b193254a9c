"""The memory as a whole over HTTP: its projects, its state, and who may use it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from commonplace.dialects.records import key_record, project_record
from commonplace.errors import InvalidInput, NotFound
from commonplace.memory import keys
from commonplace.memory.book import Book
from commonplace.memory.browse import add_alias
from commonplace.memory.browse import projects as all_projects
from commonplace.memory.spaces import looks_after_all
from commonplace.memory.status import status as status_of
from commonplace.model import Key
from commonplace.rest import fields
from commonplace.rest.endpoint import Answer, Asked
from commonplace.rest.fields import Strict

KeyName = Annotated[str, Field(pattern=r"^[!-~]([ -~]{0,98}[!-~])?$", max_length=keys.MAX_NAME)]
Days = Annotated[int, Field(ge=1, le=3650), fields.WHOLE]


class Alias(Strict):
    """Another name for a project."""

    project: fields.Place
    alias: fields.Place


class NewKey(Strict):
    """Whose key it is, what it allows, where and how long."""

    name: KeyName
    scope: Literal["read", "write", "admin", "reader", "writer"] = "write"
    project: fields.Place | None = Field(None, description="The only project it may touch; all if omitted.")
    expires_in_days: Days | None = None


def projects(book: Book, _asked: Asked[None, None]) -> Answer:
    """Every project, the one used last first."""
    return Answer({"projects": [project_record(project) for project in all_projects(book)]})


def alias(book: Book, asked: Asked[None, Alias]) -> Answer:
    """Let a project answer to another name as well."""
    return Answer({"project": add_alias(book, asked.body.project, asked.body.alias), "alias": asked.body.alias})


def status(book: Book, asked: Asked[None, None]) -> Answer:
    """Counts, engine, model, and what still waits; to those who look after the server also where the store is."""
    return Answer(status_of(book, whereabouts=looks_after_all(book, asked.key)))


def key_list(book: Book, _asked: Asked[None, None]) -> Answer:
    """Every key, revoked ones too; never a secret."""
    now = book.clock()
    return Answer({"keys": [key_record(key, now) for key in keys.listed(book)]}, ours=True)


def key_create(book: Book, asked: Asked[None, NewKey]) -> Answer:
    """A new key. Its secret is in this reply and nowhere else."""
    wanted = asked.body
    expires = ends_in(book, wanted.expires_in_days)
    return new_key(book, *keys.create(book, wanted.name, wanted.scope, wanted.project, expires))


def new_key(book: Book, key: Key, secret: str) -> Answer:
    return Answer(
        {**key_record(key, book.clock()), "secret": None}, status=201, ours=True, told_once={"secret": secret}
    )


def ends_in(book: Book, days: int | None) -> int | None:
    return None if days is None else book.clock() + days * 86_400_000


def key_revoke(book: Book, asked: Asked[None, None]) -> Answer:
    """Let a key work no longer."""
    try:
        return Answer(key_record(keys.revoke(book, asked.path["id"]), book.clock()), ours=True)
    except InvalidInput as error:
        raise NotFound(error.message, error.hint) from error
