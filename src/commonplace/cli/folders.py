"""`conversations folders`: the tree of folders, with how many conversations each holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from commonplace.cli import tables
from commonplace.cli.call import Call, command
from commonplace.cli.terminal import one_line
from commonplace.memory.stats import stats
from commonplace.text.folders import ROOT, names_in

if TYPE_CHECKING:
    from rich.console import Console


@command("folders", "commonplace conversations folders", "commonplace conversations folders --folder /desk --json")
@click.option("--folder", help="Only this folder and all below it.")
def folders(call: Call, folder: str | None) -> None:
    """The tree of folders: how many conversations are in each, and with all below it."""
    with call.book() as book:
        own = stats(book, folder).counts.folders
    totals = _with_all_below(own)
    rows = [{"folder": path, "conversations": own.get(path, 0), "total": total} for path, total in totals.items()]
    console = tables.terminal()
    if call.json:
        call.reply({"folders": rows})
    elif not rows:
        call.note("No conversation is there.")
    elif console is None:
        tables.table(("folder", "conversations", "total"), rows)
    else:
        _draw(console, own, totals)


def _with_all_below(own: Mapping[str, int]) -> dict[str, int]:
    """Conversations in each folder's tree, a folder before those below it."""
    totals: Counter[str] = Counter()
    for path, count in own.items():
        names = names_in(path)
        for depth in range(len(names) + 1):
            totals[ROOT + "/".join(names[:depth])] += count
    return {path: totals[path] for path in sorted(totals, key=lambda path: [n.casefold() for n in names_in(path)])}


def _draw(console: Console, own: Mapping[str, int], totals: Mapping[str, int]) -> None:
    from rich.text import Text
    from rich.tree import Tree

    drawn: dict[str, Tree] = {}
    for path, total in totals.items():
        *above, name = names_in(path) or [ROOT]
        text = Text.assemble((one_line(name), "bold green"), (f"  {total:,}", "cyan"))
        if 0 < own.get(path, 0) < total:
            text.append(f"  ({own[path]:,} here)", "dim")
        parent = drawn.get(ROOT + "/".join(above)) if path != ROOT else None
        drawn[path] = parent.add(text) if parent else Tree(text, guide_style="dim")
    console.print(drawn[ROOT])
