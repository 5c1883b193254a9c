"""`keys` and `spaces`: who may call the HTTP server, and the separate memories of a shared server."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from commonplace.cli import tables
from commonplace.cli.command import Call, command, listing
from commonplace.cli.options import combine, project_option
from commonplace.config import address, listed
from commonplace.dialects.records import key_record, space_record
from commonplace.errors import InvalidInput
from commonplace.memory.api_keys import create_key, list_keys, revoke_key
from commonplace.memory.local_memory import LocalMemory, for_space
from commonplace.memory.spaces import (
    Limits,
    create_space,
    create_space_key,
    get_space,
    list_spaces,
    set_space_limits,
    space_keys,
)
from commonplace.model import ROLES, Key
from commonplace.text.dates import UNIT_MS, parse_time

_SPAN = re.compile(r"([0-9]{1,5}) ?([hdwy])")
MB = 1_000_000
NO_LIMIT = "none"
KEY_COLUMNS = ("id", "name", "prefix", "role", "project", "state", "expires_at", "last_used")
# Both words for each, the one of the role first.
ROLE = click.Choice([word for scope, role in ROLES.items() for word in dict.fromkeys((role, scope))])
space_option = click.option("--space", metavar="NAME", help="The space (default: your own).")
key_limits = combine(
    project_option("The only project it can read and change (default: all).", metavar="NAME"),
    click.option(
        "--expires", metavar="WHEN", help="How long it is valid: 12h, 90d, 8w, 1y, or a date (default: forever)."
    ),
)


@command(
    "create",
    "commonplace keys create laptop",
    "commonplace keys create ci --scope read -p my-api --expires 90d",
)
@click.argument("name")
@click.option(
    "--scope",
    "--role",
    type=ROLE,
    default="write",
    help="What it can do: read, write (and read; the default), or admin (everything).",
)
@key_limits
@space_option
def create_key_command(
    call: Call, name: str, scope: str, project: str | None, expires: str | None, space: str | None
) -> None:
    """Create a key called NAME and print it. It is shown only once."""
    with _memory_of_space(call, space) as memory:
        key, secret = create_key(memory, name, scope, project, _expiry_ms(expires))
        record = key_record(key, memory.clock())
    _show_new_key(
        call,
        record,
        secret,
        f"This is key {key.id}, for {key.project or 'all projects'} ({key.role}). It is not shown again.",
        "Send it with each request: Authorization: Bearer <key>",
    )


@command("revoke", "commonplace keys revoke 1")
@click.argument("id_", metavar="ID")
@space_option
def revoke(call: Call, id_: str, space: str | None) -> None:
    """Revoke a key. ID is its number, or its prefix. This cannot be undone."""
    with _memory_of_space(call, space) as memory:
        key = revoke_key(memory, id_)
        record = key_record(key, memory.clock())
    call.answer(record, f"Revoked key {key.id} ({key.name}). Running servers refuse it within 5 seconds.")


@listing(
    "keys",
    "commonplace keys",
    "commonplace keys create laptop",
    "commonplace keys create ci --scope read -p my-api --expires 90d",
    "commonplace keys --space default",
    commands=(create_key_command, revoke),
)
@space_option
def keys(call: Call, space: str | None) -> None:
    """List API keys, oldest first. Callers of `commonplace serve` need one; agents over stdio do not.

    Only the prefix is shown: the whole key is printed once, when it is created, and never stored.
    """
    with _memory_of_space(call, space) as memory:
        records = _key_records(memory, list_keys(memory))
    empty = "No keys. `commonplace keys create NAME` creates one; `commonplace serve` creates the first itself."
    call.answer_list("keys", records, _show_keys, empty)


def _key_records(memory: LocalMemory, found: Sequence[Key]) -> list[dict[str, Any]]:
    now = memory.clock()
    return [{**key_record(key, now)} for key in found]


def _show_keys(records: Sequence[Mapping[str, Any]]) -> None:
    tables.table(KEY_COLUMNS, [{**row, "project": row["project"] or "all"} for row in records])


def _show_new_key(call: Call, record: Mapping[str, Any], secret: str, *notes: str) -> None:
    """Print a key, the only time that it is shown."""
    if call.json:
        call.reply(record, secrets={"key": secret})
        return
    click.echo(secret)
    for note in notes:
        call.note(note)


@contextlib.contextmanager
def _memory_of_space(call: Call, space: str | None) -> Iterator[LocalMemory]:
    """The memory of an existing space, or one's own."""
    with call.local_memory() as memory:
        yield memory if space is None else for_space(memory, space)


def _expiry_ms(text: str | None) -> int | None:
    """When a key expires: the end of a period, or a moment, in milliseconds."""
    if text is None:
        return None
    span = _SPAN.fullmatch(text.strip().lower())
    if span:
        return time.time_ns() // 1_000_000 + int(span[1]) * UNIT_MS[span[2]]
    try:
        return parse_time(text, local=True)
    except InvalidInput as error:
        raise InvalidInput(error.message, "Write it like 12h, 90d, 8w, 1y or 2030-01-31.") from error


def _parse_limit(ctx: click.Context, param: click.Parameter, value: str | None) -> int | str | None:
    """A number, or `none`."""
    if value is None or value.strip().lower() == NO_LIMIT:
        return value and NO_LIMIT
    if not (value.isascii() and value.isdecimal()):
        raise click.BadParameter(f"{value!r} is neither a number nor `{NO_LIMIT}`.", ctx, param)
    return int(value)


size_limits = combine(
    click.option(
        "--max-items", callback=_parse_limit, metavar="N", help="At most this many items; `none` removes the limit."
    ),
    click.option(
        "--max-mb",
        callback=_parse_limit,
        metavar="M",
        help="At most this many megabytes of text; `none` removes the limit.",
    ),
)


@command("create", "commonplace spaces create team", "commonplace spaces create trial --max-items 10000 --max-mb 100")
@click.argument("name")
@size_limits
def create_space_command(call: Call, name: str, max_items: int | str | None, max_mb: int | str | None) -> None:
    """Create an empty space called NAME."""
    with call.local_memory() as memory:
        made = create_space(memory, name, _limits(Limits(), max_items, max_mb))
    call.answer(space_record(made), f"Created the space {made.name}.")
    call.note(f"`commonplace spaces invite {made.name} NAME` creates a key for it.")


@command("limit", "commonplace spaces limit trial --max-items 20000", "commonplace spaces limit trial --max-mb none")
@click.argument("name")
@size_limits
def limit(call: Call, name: str, max_items: int | str | None, max_mb: int | str | None) -> None:
    """Change the limits of a space. It keeps what it has, even if that is over the new limit."""
    if max_items is None and max_mb is None:
        raise click.UsageError("Name --max-items or --max-mb.", click.get_current_context())
    with call.local_memory() as memory:
        known = get_space(memory, name).limits
        changed = set_space_limits(memory, name, _limits(known, max_items, max_mb))
    row = _space_row(space_record(changed))
    call.answer(
        space_record(changed),
        f"{name} holds {row['items']} of {row['max_items']} items, {row['mb']} of {row['max_mb']} MB.",
    )


@command("people", "commonplace spaces people team")
@click.argument("space")
def people(call: Call, space: str) -> None:
    """List who has a key for SPACE, with which role, and when it was last used. `keys revoke` revokes one."""
    with call.local_memory() as memory:
        records = _key_records(memory, space_keys(memory, space))
    call.answer_list(
        "keys", records, _show_keys, f"Nobody yet. `commonplace spaces invite {space} NAME` creates a key."
    )


@command(
    "invite",
    "commonplace spaces invite team ada",
    "commonplace spaces invite team ci --role reader -p my-api --expires 90d",
)
@click.argument("space")
@click.argument("name")
@click.option("--role", type=ROLE, default="writer", help="reader, writer (the default) or admin.")
@key_limits
def invite(call: Call, space: str, name: str, role: str, project: str | None, expires: str | None) -> None:
    """Create a key for SPACE for the person or program called NAME, and print it. It is shown only once."""
    settings = call.settings()
    # Without a name, this shell does not know how others reach the server.
    url = address(settings, "/mcp") if listed(settings.allowed_hosts) else None
    with call.local_memory() as memory:
        key, secret = create_space_key(memory, space, name, role, project, _expiry_ms(expires))
        record = {**key_record(key, memory.clock()), "space": space, "url": url}
    _show_new_key(
        call,
        record,
        secret,
        f"A key for {space}, for {key.name} ({key.role}, {key.project or 'all projects'}). It is not shown again.",
        _how_to_use(key, url or "https://<your server>/mcp"),
    )


def _how_to_use(key: Key, url: str) -> str:
    """What the holder of a key can do with it."""
    if key.role == "reader" or key.project:
        return (
            f"Programs send it with each request. In an editor: commonplace connect --http {url} --key <key> --no-hooks"
        )
    return f"They connect their editors with: commonplace connect --http {url} --key <key> --share <repositories>"


@listing(
    "spaces",
    "commonplace spaces",
    commands=(create_space_command, limit, people, invite),
)
def spaces(call: Call) -> None:
    """List the spaces of the store, with their sizes, limits and numbers of valid keys.

    Spaces are separate memories on one server. A caller's key decides which one is used; the server's own is the
    setting `space`.
    """
    with call.local_memory() as memory:
        records = [space_record(space) for space in list_spaces(memory)]
    columns = ("name", "items", "max_items", "mb", "max_mb", "keys")
    call.answer_list("spaces", records, lambda rows: tables.table(columns, [*map(_space_row, rows)]), "No spaces.")


def _limits(known: Limits, max_items: int | str | None, max_mb: int | str | None) -> Limits:
    """The limits with those that were given."""
    return Limits(_changed_limit(known.items, max_items, 1), _changed_limit(known.bytes, max_mb, MB))


def _changed_limit(known: int | None, given: int | str | None, unit: int) -> int | None:
    if given is None:
        return known
    return given * unit if isinstance(given, int) else None


def _space_row(space: Mapping[str, Any]) -> dict[str, Any]:
    """A space for people, in megabytes."""
    items, most = space["max_items"], space["max_bytes"]
    return {
        **space,
        "max_items": "any" if items is None else items,
        "mb": f"{space['bytes'] / MB:.1f}",
        "max_mb": "any" if most is None else f"{most / MB:g}",
    }
