"""`forget` and `restore`: take items out of every answer, and bring them back."""

from __future__ import annotations

from collections.abc import Sequence

import click

from commonplace.cli.call import Call, command
from commonplace.dialects.records import brief, id_of
from commonplace.memory.forget import forget as take_out
from commonplace.memory.forget import restore as bring_back


@command("forget", "commonplace forget 1", "commonplace forget 2 3 --json")
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
def forget(call: Call, ids: Sequence[str]) -> None:
    """Take items out of every answer. All of them exist, or nothing happens. `restore` undoes it."""
    with call.book() as book:
        items = take_out(book, [id_of(text) for text in ids])
    if call.json:
        call.reply({"forgotten": [brief(item) for item in items]})
        return
    for item in items:
        call.say(f"Forgot {item.kind} {item.id}: {item.title}")


@command("restore", "commonplace restore 1", "commonplace restore 2 3 --json")
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
def restore(call: Call, ids: Sequence[str]) -> None:
    """Bring forgotten or superseded items back. All of them exist, or nothing happens."""
    with call.book() as book:
        items = bring_back(book, [id_of(text) for text in ids])
    if call.json:
        call.reply({"restored": [brief(item) for item in items]})
        return
    for item in items:
        call.say(f"Restored {item.kind} {item.id}: {item.title}")
