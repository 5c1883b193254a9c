"""`models`: which models could make vectors, which one does, and what each costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from commonplace.cli import tables
from commonplace.cli.command import Call, command
from commonplace.errors import EmbedderUnavailable
from commonplace.memory.models import list_models


@command("models", "commonplace models", "commonplace models --measure", "commonplace models --json")
@click.argument("folders", metavar="[FOLDER]...", nargs=-1)
@click.option("--measure", is_flag=True, help="Load each model and measure how long a text takes on this machine.")
def models(call: Call, folders: tuple[str, ...], measure: bool) -> None:
    """List the models that can make vectors: size on disk, dimension, longest text, passages that wait for a vector.

    The first column is what the setting `embedder` takes. A FOLDER with an ONNX model is listed too, so that you can
    try it before you use it.
    """
    given = [str(Path(folder).expanduser().absolute()) for folder in folders]
    with call.local_memory() as memory:
        rows = list_models(memory, given, measure=measure)
    call.answer({"models": rows}, lambda: _show(rows, measure))
    for row in rows:
        if row["problem"]:
            call.note(f"{row['embedder']}: {row['problem']} {row['suggestion']}")
    if any(row["problem"] and row["embedder"] in given for row in rows):
        call.exit(EmbedderUnavailable.exit_code)


def _show(rows: Sequence[Mapping[str, Any]], measured: bool) -> None:
    columns = ["embedder", "model", "in_use", "size", "dimension", "max_tokens", "waiting"]
    tables.table(columns + (["ms_per_text"] if measured else []), [_cells(row) for row in rows])


def _cells(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **row,
        "model": "does not work" if row["problem"] else row["name"],
        "in_use": "yes" if row["in_use"] else "",
        "size": None if row["bytes"] is None else f"{row['bytes'] / 1e6:,.1f} MB",
        "waiting": f"{row['waiting']:,}",
    }
