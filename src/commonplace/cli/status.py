"""`status`, `models`, `settings`, `version` and `help`.

What is stored where, which models could make vectors and what each costs, what is set, and how a command is called.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import click

import commonplace
from commonplace.capture.hooks.spool_reader import spool_state
from commonplace.cli import tables
from commonplace.cli.command import Call, command
from commonplace.config import SECRET, SETTING_MEANINGS, Settings, sources
from commonplace.errors import EmbedderUnavailable, NotFound
from commonplace.memory.captured_events import capture_counts
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.status_and_stats import status as status_of
from commonplace.text.dates import iso_time

NAME_WIDTH = 13


@command("status", "commonplace status", "commonplace status --json", "commonplace status --data-dir ./memory")
def status(call: Call) -> None:
    """Show what is stored, where and how much, which model is used, and what still has to be done."""
    with call.local_memory() as memory:
        data = status_of(memory) | {"hooks": _hooks(memory), "resident": _residents(memory.settings)}
    call.answer(data, lambda: tables.facts(_status_lines(data), NAME_WIDTH))


def _hooks(memory: LocalMemory) -> dict[str, Any]:
    """What hooks captured, what was left out and why, and what still waits in the spool."""
    counts, spool = capture_counts(memory), spool_state(memory.settings)
    return {
        "captured": dict(counts.captured),
        "left_out": dict(counts.dropped),
        "waiting": spool.waiting,
        "waiting_since": None if spool.oldest_ms is None else iso_time(spool.oldest_ms),
        "failed": spool.lost,
    }


def _residents(settings: Settings) -> list[dict[str, Any]]:
    """The resident processes of this data folder, of any version."""
    from commonplace.resident_client.list_and_stop import describe, resident_processes

    found = resident_processes(str(settings.data_dir))
    return [{**one, "state": describe(one)} for one in found]


def _resident_line(found: Sequence[Mapping[str, Any]]) -> str:
    return " ".join(one["state"] for one in found) or "no process is running"


def _status_lines(data: Mapping[str, Any]) -> dict[str, object]:
    counts, model, store = data["counts"], data["model"], data["store"]
    kinds = ", ".join(f"{number:,} {kind}" for kind, number in counts["items"].items() if number) or "nothing yet"
    return {
        "version": data["version"],
        "data folder": data["data_dir"],
        "store": f"{store['engine']} {store['version']}, schema {store['schema']}, {counts['bytes'] / 1e6:.1f} MB",
        **({"database": f"{store['path']}, space {data['space']}"} if store["engine"] != "sqlite" else {}),
        "items": f"{data['total']:,} ({kinds}), {counts['forgotten']:,} forgotten",
        "projects": f"{counts['projects']:,}, sessions {counts['sessions']:,}",
        "passages": f"{counts['passages']:,}, vectors {counts['vectors']:,}",
        "pending": f"{data['pending']:,} passages to embed",
        "model": f"{model['name'] or 'none'} ({model['state']})",
        **({"last error": model["last_error"]} if model["last_error"] else {}),
        "search": data["search"],
        **({"health": _health_line(data["health"])} if data["health"] else {}),
        "hooks": _hooks_line(data["hooks"]),
        "resident": _resident_line(data["resident"]),
    }


def _health_line(health: Mapping[str, Any]) -> str:
    """What the last check found."""
    faults = "; ".join(f"{fault['count']:,} {fault['says']}" for fault in health["faults"])
    return f"{faults}; see `commonplace check`" if faults else f"sound when last checked, {health['checked_at']}"


def _hooks_line(hooks: Mapping[str, Any]) -> str:
    most = sorted(hooks["left_out"].items(), key=lambda entry: -entry[1])[:3]
    reasons = f" (mostly {', '.join(reason for reason, _number in most)})" if most else ""
    parts = [
        f"{sum(hooks['captured'].values()):,} observations captured",
        f"{sum(hooks['left_out'].values()):,} left out{reasons}",
        *([f"{hooks['waiting']:,} waiting since {hooks['waiting_since']}"] if hooks["waiting"] else []),
        *([f"{hooks['failed']:,} failed, see `commonplace doctor`"] if hooks["failed"] else []),
    ]
    return ", ".join(parts)


@command("models", "commonplace models", "commonplace models --measure")
@click.argument("folders", metavar="[FOLDER]...", nargs=-1, type=click.Path())
@click.option("--measure", is_flag=True, help="Load each model and measure how long a text takes.")
def models(call: Call, folders: tuple[str, ...], measure: bool) -> None:
    """List the models for search by meaning: size on disk, dimension, longest text, passages still to embed.

    The first column is the value for the setting `embedder`. Name a FOLDER with an ONNX model to try it;
    the exit code is 7 if it cannot be used.
    """
    from commonplace.memory.embedding_models import list_models

    given = [str(Path(folder).expanduser().absolute()) for folder in folders]
    with call.local_memory() as memory:
        rows = list_models(memory, given, measure=measure)
    call.answer({"models": rows}, lambda: _show_models(rows, measure))
    for row in rows:
        if row["problem"]:
            call.note(f"{row['embedder']}: {row['problem']} {row['suggestion']}")
    if any(row["problem"] and row["embedder"] in given for row in rows):
        call.exit(EmbedderUnavailable.exit_code)


def _show_models(rows: Sequence[Mapping[str, Any]], measured: bool) -> None:
    columns = ["embedder", "model", "in_use", "size", "dimension", "max_tokens", "waiting"]
    tables.table(columns + (["ms_per_text"] if measured else []), [_model_cells(row) for row in rows])


def _model_cells(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **row,
        "model": "does not work" if row["problem"] else row["name"],
        "in_use": "yes" if row["in_use"] else "",
        "size": None if row["bytes"] is None else f"{row['bytes'] / 1e6:,.1f} MB",
        "waiting": f"{row['waiting']:,}",
    }


@command("settings", "commonplace settings", "commonplace settings opening_tokens")
@click.argument("names", metavar="[SETTING]...", nargs=-1)
def settings(call: Call, names: tuple[str, ...]) -> None:
    """Show every setting, its value, and where it comes from: the file, the environment, or the default.

    With SETTING, say what it means. Change a setting in config.toml in the data folder, or with COMMONPLACE_NAME.
    Passwords and keys are not shown.
    """
    for name in names:
        if name not in SETTING_MEANINGS:
            raise NotFound(f"There is no setting {name!r}.", "`commonplace settings` lists all of them.")
    values, origins = call.settings(), sources({"data_dir": call.data_dir})
    rows = [
        {
            "setting": name,
            "value": _setting_text(name, getattr(values, name)),
            "from": origins.get(name, "default"),
            "meaning": SETTING_MEANINGS[name],
        }
        for name in names or [field.name for field in fields(Settings)]
    ]
    file = values.data_dir / "config.toml"
    explained = "\n".join(f"{row['setting']} = {row['value']} ({row['from']})\n  {row['meaning']}" for row in rows)
    table = ("setting", "value", "from")
    call.answer({"settings": rows, "file": str(file)}, explained if names else lambda: tables.table(table, rows))
    call.note(f"Change them in {file} or with COMMONPLACE_<NAME>.")
    if not names:
        call.note("`commonplace settings SETTING` says what one means.")


def _setting_text(name: str, value: object) -> str:
    if name in SECRET:
        return "(set)" if value else ""
    return str(value)


@command("version", "commonplace version")
def version(call: Call) -> None:
    """Show the installed version."""
    call.answer({"version": commonplace.__version__}, f"commonplace {commonplace.__version__}")


@command("help", "commonplace help", "commonplace help search", "commonplace help keys create")
@click.argument("names", metavar="[COMMAND]...", nargs=-1)
def help_(call: Call, names: tuple[str, ...]) -> None:
    """Show how to use a command; without one, list all commands."""
    context = click.get_current_context().find_root()
    words = list(names)
    while words:
        if not isinstance(context.command, click.Group):
            raise click.UsageError(f"`{context.command_path}` has no command {words[0]!r}.", context)
        name, found, words = context.command.resolve_command(context, words)
        if found is None:
            break
        words = [word for word in words if not word.startswith("-")]
        context = found.context_class(found, parent=context, info_name=name)
    text = context.get_help()
    call.answer({"command": context.command_path, "help": click.unstyle(text)}, lambda: click.echo(text))
