"""`keys`: who may call the HTTP server, and what for."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from commonplace.cli import tables
from commonplace.cli.call import Call, command, listing
from commonplace.dialects.records import key_record
from commonplace.errors import InvalidInput
from commonplace.memory.keys import create as create_key
from commonplace.memory.keys import listed
from commonplace.memory.keys import revoke as revoke_key
from commonplace.model import ROLES
from commonplace.text.times import moment

if TYPE_CHECKING:
    from commonplace.memory.book import Book

_SPAN = re.compile(r"([0-9]{1,5}) ?([hdwy])")
_UNIT_MS = {"h": 3_600_000, "d": 86_400_000, "w": 7 * 86_400_000, "y": 365 * 86_400_000}
# Both words for each, the one of the role first.
ROLE = click.Choice([word for scope, role in ROLES.items() for word in dict.fromkeys((role, scope))])
space_option = click.option("--space", metavar="NAME", help="The space it is about; your own if omitted.")
project_option = click.option(
    "--project", metavar="NAME", help="The only project it may see and change; all if omitted."
)
expires_option = click.option(
    "--expires", metavar="WHEN", help="How long it works: 12h, 90d, 8w, 1y, or a date; always if omitted."
)
COLUMNS = ("id", "name", "prefix", "role", "project", "state", "expires_at", "last_used")


@listing(
    "keys",
    "commonplace keys",
    "commonplace keys --json",
    "commonplace keys create laptop",
    "commonplace keys create reports --scope read --project my-api --expires 90d",
    "commonplace keys --space default",
)
@space_option
def keys(call: Call, space: str | None) -> None:
    """API keys, the oldest first. Whoever calls `commonplace serve` needs one; agents over stdio need none.

    Only the beginning of a key is shown: the whole of it is told once, when it is made, and kept nowhere.
    """
    with _book(call, space) as book:
        now = book.clock()
        records = [key_record(key, now) for key in listed(book)]
    if call.json:
        call.reply({"keys": records})
    elif not records:
        call.note("No key yet. `commonplace keys create NAME` makes one; `commonplace serve` makes the first itself.")
    else:
        show(records)


@command(
    "create",
    "commonplace keys create laptop",
    "commonplace keys create reports --scope read --project my-api --expires 90d",
)
@click.argument("name")
@click.option(
    "--scope",
    "--role",
    type=ROLE,
    default="write",
    help="What it may do: read, write (and read; the default), or admin (everything).",
)
@project_option
@expires_option
@space_option
def create(call: Call, name: str, scope: str, project: str | None, expires: str | None, space: str | None) -> None:
    """Make a key called NAME and print it. It is shown this once only."""
    until = None if expires is None else until_when(expires)
    with _book(call, space) as book:
        key, secret = create_key(book, name, scope, project, until)
        record = key_record(key, book.clock())
    if call.json:
        call.reply(record, told_once={"key": secret})
        return
    click.echo(secret)
    call.note(f"This is key {key.id}, for {key.project or 'all projects'} ({key.role}). It is not shown again.")
    call.note("Send it with each request: Authorization: Bearer <key>")


@command("revoke", "commonplace keys revoke 1")
@click.argument("id_", metavar="ID")
@space_option
def revoke(call: Call, id_: str, space: str | None) -> None:
    """Let a key work no longer. ID is its number, or how it begins. This cannot be undone."""
    with _book(call, space) as book:
        key = revoke_key(book, id_)
        record = key_record(key, book.clock())
    if call.json:
        call.reply(record)
    else:
        call.say(f"Revoked key {key.id} ({key.name}). Running servers refuse it within 5 seconds.")


keys.add_command(create)
keys.add_command(revoke)


def show(records: list[dict[str, Any]]) -> None:
    """Keys, for people."""
    rows = [{**row, "project": row["project"] or "all", "last_used": row["used_at_epoch"]} for row in records]
    tables.table(COLUMNS, rows)


@contextlib.contextmanager
def _book(call: Call, space: str | None) -> Iterator[Book]:
    """The memory of a space that is there, or of one's own."""
    from commonplace.memory.book import beside

    with call.book() as book:
        yield book if space is None else beside(book, space)


def until_when(text: str) -> int:
    """The end of a span, or a moment, in milliseconds."""
    span = _SPAN.fullmatch(text.strip().lower())
    if span:
        return time.time_ns() // 1_000_000 + int(span[1]) * _UNIT_MS[span[2]]
    try:
        return moment(text, local=True)
    except InvalidInput as error:
        raise InvalidInput(error.message, "Write it like 12h, 90d, 8w, 1y or 2030-01-31.") from error
