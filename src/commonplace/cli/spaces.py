"""`spaces`: whose memories a shared server keeps, how much each may hold, and who is invited into it."""

from __future__ import annotations

from typing import Any

import click

from commonplace.cli import tables
from commonplace.cli.call import Call, command, listing
from commonplace.cli.keys import ROLE, expires_option, project_option, show, until_when
from commonplace.config import address
from commonplace.dialects.records import key_record, space_record
from commonplace.memory import spaces as directory
from commonplace.memory.spaces import Limits

MB = 1_000_000
NO_LIMIT = "none"


def _most(ctx: click.Context, param: click.Parameter, value: str | None) -> int | str | None:
    """A number, or `none`."""
    if value is None or value.strip().lower() == NO_LIMIT:
        return value and NO_LIMIT
    if not (value.isascii() and value.isdecimal()):
        raise click.BadParameter(f"{value!r} is neither a number nor `{NO_LIMIT}`.", ctx, param)
    return int(value)


items_option = click.option(
    "--max-items", callback=_most, metavar="N", help="The most items that it may hold; `none` for any number."
)
mb_option = click.option(
    "--max-mb", callback=_most, metavar="M", help="The most megabytes of text that it may hold; `none` for any number."
)


@listing("spaces", "commonplace spaces", "commonplace spaces --json")
def spaces(call: Call) -> None:
    """Every space of the store: what it holds and may hold, and how many keys to it work.

    Nothing is shared between two spaces. The server's own is the setting `space`; whoever has a key to another one
    calls the same server and uses that one.
    """
    with call.book() as book:
        found = [space_record(space) for space in directory.listed(book)]
    if call.json:
        call.reply({"spaces": found})
    else:
        tables.table(("name", "items", "max_items", "mb", "max_mb", "keys"), [_row(space) for space in found])


@command("create", "commonplace spaces create team", "commonplace spaces create trial --max-items 10000 --max-mb 100")
@click.argument("name")
@items_option
@mb_option
def create(call: Call, name: str, max_items: int | str | None, max_mb: int | str | None) -> None:
    """Make an empty space called NAME."""
    with call.book() as book:
        made = directory.create(book, name, _limits(Limits(), max_items, max_mb))
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
    with call.book() as book:
        known = directory.one(book, name).limits
        changed = directory.limit(book, name, _limits(known, max_items, max_mb))
    if call.json:
        call.reply(space_record(changed))
    else:
        row = _row(space_record(changed))
        call.say(f"{name} holds {row['items']} of {row['max_items']} items, {row['mb']} of {row['max_mb']} MB.")


@command("people", "commonplace spaces people team")
@click.argument("space")
def people(call: Call, space: str) -> None:
    """Who has a key to SPACE, as what, and when it was last used. `keys revoke ID --space SPACE` ends one."""
    with call.book() as book:
        records = [key_record(key, book.clock()) for key in directory.people(book, space)]
    if call.json:
        call.reply({"keys": records})
    elif not records:
        call.note(f"Nobody yet. `commonplace spaces invite {space} NAME` makes a key.")
    else:
        show(records)


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
    until = None if expires is None else until_when(expires)
    settings = call.settings()
    with call.book() as book:
        key, secret = directory.invite(book, space, name, role, project, until)
        record = {**key_record(key, book.clock()), "space": space, "url": address(settings, "/mcp")}
    if call.json:
        call.reply(record, told_once={"key": secret})
        return
    click.echo(secret)
    call.note(f"A key to {space} for {key.name} ({key.role}, {key.project or 'all projects'}). It is not shown again.")
    call.note(f"They connect their editors with: commonplace connect --http {address(settings, '/mcp')} --key <key>")


spaces.add_command(create)
spaces.add_command(limit)
spaces.add_command(people)
spaces.add_command(invite)


def _limits(known: Limits, max_items: int | str | None, max_mb: int | str | None) -> Limits:
    """The limits with what was named in them."""
    return Limits(_changed(known.items, max_items, 1), _changed(known.bytes, max_mb, MB))


def _changed(known: int | None, named: int | str | None, each: int) -> int | None:
    if named is None:
        return known
    return named * each if isinstance(named, int) else None


def _row(space: dict[str, Any]) -> dict[str, Any]:
    """A space for people, in megabytes."""
    items, most = space["max_items"], space["max_bytes"]
    return {
        **space,
        "max_items": "any" if items is None else items,
        "mb": f"{space['bytes'] / MB:.1f}",
        "max_mb": "any" if most is None else f"{most / MB:g}",
    }
