"""`revert`: bring back what an item said before a change."""

from __future__ import annotations

import click

from commonplace.cli.call import Call, command
from commonplace.dialects.records import id_of, record
from commonplace.memory.revert import revert as go_back


@command("revert", "commonplace revert 2", "commonplace revert 2 --rev 1 --json")
@click.argument("id_", metavar="ID")
@click.option("--rev", type=int, metavar="N", help="The revision to go back to, as `history` lists them.")
def revert(call: Call, id_: str, rev: int | None) -> None:
    """Bring back what an item was before its last edit, or at revision N.

    That is a change too: what it is now goes to its history, and another `revert` undoes this one.
    """
    with call.book() as book:
        item = go_back(book, id_of(id_), rev)
        reverted = record(item)
    if call.json:
        call.reply(reverted)
    else:
        call.say(f"Reverted {item.kind} {item.id}, now revision {item.rev}: {item.title}")
