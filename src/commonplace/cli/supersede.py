"""`supersede`: say that one item replaces another."""

from __future__ import annotations

import click

from commonplace.cli.call import Call, command
from commonplace.dialects.records import brief, id_of
from commonplace.memory.supersede import supersede as replace


@command("supersede", "commonplace supersede 1 --by 2", "commonplace supersede 1 --by 2 --json")
@click.argument("old", metavar="OLD")
@click.option("--by", "new", required=True, metavar="NEW", help="The item that replaces it.")
def supersede(call: Call, old: str, new: str) -> None:
    """Let NEW take the place of OLD, which leaves search, lists, context and rules, but not its history.

    NEW has to hold wherever OLD did: in the same project, or everywhere. `restore OLD` undoes it.
    """
    with call.book() as book:
        replaced, replacing = replace(book, id_of(old), by=id_of(new))
    if call.json:
        call.reply({"superseded": brief(replaced), "by": brief(replacing)})
    else:
        call.say(f"{replacing.kind.capitalize()} {replacing.id} supersedes {replaced.id}: {replaced.title}")
