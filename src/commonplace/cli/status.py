"""`status`: what is kept where, and whether everything that should work does."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import click

import commonplace
from commonplace.capture.hooks.spool_reader import spool_state
from commonplace.cli import tables
from commonplace.cli.command import Call, command
from commonplace.config import SECRET, Settings, sources
from commonplace.memory.captured_events import capture_counts
from commonplace.memory.status import status as status_of
from commonplace.text.dates import iso_time

if TYPE_CHECKING:
    from commonplace.memory.local_memory import LocalMemory


@command("status", "commonplace status", "commonplace status --json", "commonplace status --data-dir ./memory")
def status(call: Call) -> None:
    """Counts, engine, data folder, model, how many passages still wait for a vector (pending), and what hooks told."""
    with call.memory() as memory:
        data = status_of(memory) | {"hooks": _hooks(memory)}
    if call.json:
        call.reply(data)
        return
    tables.status(data)


def _hooks(memory: LocalMemory) -> dict[str, Any]:
    """What hooks captured, what was left out and why, and what still waits in the spool."""
    told, spool = capture_counts(memory), spool_state(memory.settings)
    return {
        "captured": dict(told.kept),
        "left_out": dict(told.dropped),
        "waiting": spool.waiting,
        "waiting_since": None if spool.oldest_ms is None else iso_time(spool.oldest_ms),
        "failed": sum(spool.hook_failures.values()) + sum(spool.refused.values()),
    }


@command("settings", "commonplace settings", "commonplace settings --json")
def settings(call: Call) -> None:
    """Every setting with its value, and where it was set: in the file, the environment, or nowhere.

    Passwords and keys are not shown. Set one in config.toml in the data folder, or as COMMONPLACE_NAME.
    """
    values, origins = call.settings(), sources({"data_dir": call.data_dir})
    rows = [
        {
            "setting": field.name,
            "value": _shown(field.name, getattr(values, field.name)),
            "from": origins.get(field.name, "default"),
        }
        for field in fields(Settings)
    ]
    if call.json:
        call.reply({"settings": rows, "file": str(values.data_dir / "config.toml")})
    else:
        tables.table(("setting", "value", "from"), rows)
        call.note(f"They are set in {values.data_dir / 'config.toml'} or by COMMONPLACE_<NAME>.")


def _shown(name: str, value: object) -> str:
    if name in SECRET:
        return "(set)" if value else ""
    return str(value)


@command("version", "commonplace version")
def version(call: Call) -> None:
    """The version that is installed."""
    if call.json:
        call.reply({"version": commonplace.__version__})
    else:
        call.say(f"commonplace {commonplace.__version__}")


@command("help", "commonplace help", "commonplace help search", "commonplace help keys create")
@click.argument("names", metavar="[COMMAND]...", nargs=-1)
def help_(call: Call, names: tuple[str, ...]) -> None:
    """How to call a command; without one, the list of commands."""
    top = click.get_current_context().find_root()
    context, found = top, top.command
    for name in names:
        inner = found.get_command(context, name) if isinstance(found, click.Group) else None
        if inner is None:
            raise click.UsageError(f"There is no command {' '.join(names)!r}.", top)
        context, found = click.Context(inner, parent=context, info_name=name), inner
    click.echo(found.get_help(context))
