"""`show` and `history`: everything about an item, and what it was before each change."""

from __future__ import annotations

from collections.abc import Sequence

import click

from commonplace.cli import tables
from commonplace.cli.call import Call, command
from commonplace.dialects.records import change_record, id_of, record
from commonplace.errors import NotFound
from commonplace.memory.fetch import fetch, fetch_one
from commonplace.memory.fetch import history as changes_of


@command("show", "commonplace show 1", "commonplace show 1 2 --all", "commonplace show 1 --json")
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@click.option("--all", "everything", is_flag=True, help="Every field, also those that only programs need.")
@click.option("--forgotten", is_flag=True, help="Show it even if it was forgotten.")
def show(call: Call, ids: Sequence[str], everything: bool, forgotten: bool) -> None:
    """Everything about items, in the order asked.

    An ID is a number, a UUID or the last twelve hex digits of one. If some do not exist, the others are shown and the
    exit code is 3.
    """
    with call.book() as book:
        wanted = [id_of(text) for text in ids]
        found = fetch(book, wanted, forgotten=forgotten)
        records = [record(item) for item in found.items]
        hidden = () if forgotten else fetch(book, found.missing, forgotten=True).items
    missing = ", ".join(map(str, found.missing))
    hint = None if not hidden else f"`commonplace restore {hidden[0].id}` brings {hidden[0].id} back; it was forgotten."
    if not records:
        raise NotFound(f"There is no item {missing}.", hint)
    if call.json:
        call.reply({"items": records, "missing": list(found.missing)})
    else:
        tables.records(records, everything=everything)
    if found.missing:
        call.note(f"There is no item {missing}. {hint or ''}".rstrip())
        click.get_current_context().exit(NotFound.exit_code)


@command("history", "commonplace history 1", "commonplace history 1 --json")
@click.argument("id_", metavar="ID")
def history(call: Call, id_: str) -> None:
    """What an item was before each change, oldest first. Forgotten items have a history too."""
    with call.book() as book:
        item = fetch_one(book, id_of(id_), forgotten=True)
        changes = [change_record(change) for change in changes_of(book, item.id)]
    if call.json:
        call.reply({"id": item.id, "uid": item.uid, "rev": item.rev, "changes": changes})
    elif not changes:
        call.say(f"{item.kind.capitalize()} {item.id} is as it was first remembered.")
    else:
        tables.history(changes)
