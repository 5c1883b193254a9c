"""`timeline`: what happened before and after something."""

from __future__ import annotations

import click

from commonplace.cli import tables
from commonplace.cli.call import Call, command
from commonplace.cli.context import answer
from commonplace.dialects.records import id_of
from commonplace.memory.fetch import fetch_one

DEEPEST = 50


@command("timeline", "commonplace timeline 1", "commonplace timeline 1 --before 10 --after 0 --json")
@click.argument("id_", metavar="ID")
@click.option("--before", type=click.IntRange(0, DEEPEST), default=5, show_default=True, help="How many before it.")
@click.option("--after", type=click.IntRange(0, DEEPEST), default=5, show_default=True, help="How many after it.")
def timeline(call: Call, id_: str, before: int, after: int) -> None:
    """What happened before and after an item, oldest first.

    ID is a number, a UUID or the last twelve hex digits of one. With --json it is what `timeline` answers to an agent.
    """
    with call.book(asks=True) as book:
        anchor = fetch_one(book, id_of(id_))
        arguments = {"anchor_id": anchor.id, "depth_before": before, "depth_after": after}
        data = answer(book, "timeline", arguments)
    if call.json:
        call.reply(data)
        return
    tables.timeline(data["timeline"])
