"""`keys`: who may call the HTTP server, and what for."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from commonplace.cli import tables
from commonplace.cli.command import Call, command, listing
from commonplace.config import address
from commonplace.dialects.records import key_record, space_record
from commonplace.errors import InvalidInput
from commonplace.memory import spaces as directory
from commonplace.memory.keys import create_key as create_key
from commonplace.memory.keys import list_keys
from commonplace.memory.keys import revoke_key as revoke_key
from commonplace.memory.spaces import Limits
from commonplace.model import ROLES
from commonplace.text.dates import UNIT_MS, parse_time

if TYPE_CHECKING:
    from commonplace.memory.local_memory import LocalMemory


_SPAN = re.compile(r"([0-9]{1,5}) ?([hdwy])")
# Both words for each, the one of the role first.
ROLE = click.Choice([word for scope, role in ROLES.items() for word in dict.fromkeys((role, scope))])
space_option = click.option("--space", metavar="NAME", help="The space it is about; your own if omitted.")
project_option = click.option(
    "--project", metavar="NAME", help="The only project it may see and change; all if omitted."
)
expires_option = click.option(
    "--expires", metavar="WHEN", help="How long it works: 12h, 90d, 8w, 1y, or a date; always if omitted."
)
KEY_COLUMNS = ("id", "name", "prefix", "role", "project", "state", "expires_at", "last_used")


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
    with _memory_of_space(call, space) as memory:
        now = memory.clock()
        records = [key_record(key, now) for key in list_keys(memory)]
    if call.json:
        call.reply({"keys": records})
    elif not records:
        call.note("No key yet. `commonplace keys create NAME` makes one; `commonplace serve` makes the first itself.")
    else:
        show_keys(records)


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
def create_key_command(
    call: Call, name: str, scope: str, project: str | None, expires: str | None, space: str | None
) -> None:
    """Make a key called NAME and print it. It is shown this once only."""
    until = None if expires is None else expiry_ms(expires)
    with _memory_of_space(call, space) as memory:
        key, secret = create_key(memory, name, scope, project, until)
        record = key_record(key, memory.clock())
    if call.json:
        call.reply(record, shown_once={"key": secret})
        return
    click.echo(secret)
    call.note(f"This is key {key.id}, for {key.project or 'all projects'} ({key.role}). It is not shown again.")
    call.note("Send it with each request: Authorization: Bearer <key>")


@command("revoke", "commonplace keys revoke 1")
@click.argument("id_", metavar="ID")
@space_option
def revoke(call: Call, id_: str, space: str | None) -> None:
    """Let a key work no longer. ID is its number, or how it begins. This cannot be undone."""
    with _memory_of_space(call, space) as memory:
        key = revoke_key(memory, id_)
        record = key_record(key, memory.clock())
    if call.json:
        call.reply(record)
    else:
        call.say(f"Revoked key {key.id} ({key.name}). Running servers refuse it within 5 seconds.")


keys.add_command(create_key_command)
keys.add_command(revoke)


def show_keys(records: list[dict[str, Any]]) -> None:
    """Keys, for people."""
    rows = [{**row, "project": row["project"] or "all", "last_used": row["used_at_epoch"]} for row in records]
    tables.table(KEY_COLUMNS, rows)


@contextlib.contextmanager
def _memory_of_space(call: Call, space: str | None) -> Iterator[LocalMemory]:
    """The memory of a space that is there, or of one's own."""
    from commonplace.memory.local_memory import for_space

    with call.memory() as memory:
        yield memory if space is None else for_space(memory, space)


def expiry_ms(text: str) -> int:
    """The end of a span, or a moment, in milliseconds."""
    span = _SPAN.fullmatch(text.strip().lower())
    if span:
        return time.time_ns() // 1_000_000 + int(span[1]) * UNIT_MS[span[2]]
    try:
        return parse_time(text, local=True)
    except InvalidInput as error:
        raise InvalidInput(error.message, "Write it like 12h, 90d, 8w, 1y or 2030-01-31.") from error


MB = 1_000_000
NO_LIMIT = "none"


def _parse_limit(ctx: click.Context, param: click.Parameter, value: str | None) -> int | str | None:
    """A number, or `none`."""
    if value is None or value.strip().lower() == NO_LIMIT:
        return value and NO_LIMIT
    if not (value.isascii() and value.isdecimal()):
        raise click.BadParameter(f"{value!r} is neither a number nor `{NO_LIMIT}`.", ctx, param)
    return int(value)


items_option = click.option(
    "--max-items", callback=_parse_limit, metavar="N", help="The most items that it may hold; `none` for any number."
)
mb_option = click.option(
    "--max-mb",
    callback=_parse_limit,
    metavar="M",
    help="The most megabytes of text that it may hold; `none` for any number.",
)


@listing("spaces", "commonplace spaces", "commonplace spaces --json")
def spaces(call: Call) -> None:
    """Every space of the store: what it holds and may hold, and how many keys to it work.

    Nothing is shared between two spaces. The server's own is the setting `space`; whoever has a key to another one
    calls the same server and uses that one.
    """
    with call.memory() as memory:
        found = [space_record(space) for space in directory.list_spaces(memory)]
    if call.json:
        call.reply({"spaces": found})
    else:
        tables.table(("name", "items", "max_items", "mb", "max_mb", "keys"), [_space_row(space) for space in found])


@command("create", "commonplace spaces create team", "commonplace spaces create trial --max-items 10000 --max-mb 100")
@click.argument("name")
@items_option
@mb_option
def create_space_command(call: Call, name: str, max_items: int | str | None, max_mb: int | str | None) -> None:
    """Make an empty space called NAME."""
    with call.memory() as memory:
        made = directory.create_space(memory, name, _limits(Limits(), max_items, max_mb))
    if call.json:
        call.reply(space_record(made))
    else:
        call.say(f"Made the space {made.name}.")
        call.note(f"`commonplace spaces invite {made.name} NAME` makes a key to it.")


@command("limit", "commonplace spaces limit trial --max-items 20000", "commonplace spaces limit trial --max-mb none")
@click.argument("name")
@items_option
@mb_option
def limit(call: Call, name: str, max_items: int | str | None, max_mb: int | str | None) -> None:
    """Change the most that a space may hold. It keeps what it has, and grows no more while that is too much."""
    if max_items is None and max_mb is None:
        raise click.UsageError("Name --max-items or --max-mb.", click.get_current_context())
    with call.memory() as memory:
        known = directory.get_space(memory, name).limits
        changed = directory.set_space_limits(memory, name, _limits(known, max_items, max_mb))
    if call.json:
        call.reply(space_record(changed))
    else:
        row = _space_row(space_record(changed))
        call.say(f"{name} holds {row['items']} of {row['max_items']} items, {row['mb']} of {row['max_mb']} MB.")


@command("people", "commonplace spaces people team")
@click.argument("space")
def people(call: Call, space: str) -> None:
    """Who has a key to SPACE, as what, and when it was last used. `keys revoke ID --space SPACE` ends one."""
    with call.memory() as memory:
        records = [key_record(key, memory.clock()) for key in directory.space_keys(memory, space)]
    if call.json:
        call.reply({"keys": records})
    elif not records:
        call.note(f"Nobody yet. `commonplace spaces invite {space} NAME` makes a key.")
    else:
        show_keys(records)


@command(
    "invite",
    "commonplace spaces invite team ada",
    "commonplace spaces invite team reports --role reader --project my-api --expires 90d",
)
@click.argument("space")
@click.argument("name")
@click.option("--role", type=ROLE, default="writer", help="reader, writer (the default) or admin.")
@project_option
@expires_option
def invite(call: Call, space: str, name: str, role: str, project: str | None, expires: str | None) -> None:
    """Make a key to SPACE for the person or program called NAME, and print it. It is shown this once only."""
    until = None if expires is None else expiry_ms(expires)
    settings = call.settings()
    with call.memory() as memory:
        key, secret = directory.create_space_key(memory, space, name, role, project, until)
        record = {**key_record(key, memory.clock()), "space": space, "url": address(settings, "/mcp")}
    if call.json:
        call.reply(record, shown_once={"key": secret})
        return
    click.echo(secret)
    call.note(f"A key to {space} for {key.name} ({key.role}, {key.project or 'all projects'}). It is not shown again.")
    call.note(f"They connect their editors with: commonplace connect --http {address(settings, '/mcp')} --key <key>")


spaces.add_command(create_space_command)
spaces.add_command(limit)
spaces.add_command(people)
spaces.add_command(invite)


def _limits(known: Limits, max_items: int | str | None, max_mb: int | str | None) -> Limits:
    """The limits with what was named in them."""
    return Limits(_changed_limit(known.items, max_items, 1), _changed_limit(known.bytes, max_mb, MB))


def _changed_limit(known: int | None, named: int | str | None, each: int) -> int | None:
    if named is None:
        return known
    return named * each if isinstance(named, int) else None


def _space_row(space: dict[str, Any]) -> dict[str, Any]:
    """A space for people, in megabytes."""
    items, most = space["max_items"], space["max_bytes"]
    return {
        **space,
        "max_items": "any" if items is None else items,
        "mb": f"{space['bytes'] / MB:.1f}",
        "max_mb": "any" if most is None else f"{most / MB:g}",
    }
