"""`status`: what is kept where, and whether everything that should work does."""

from __future__ import annotations

from commonplace.cli import tables
from commonplace.cli.call import Call, command
from commonplace.memory.status import status as status_of


@command("status", "commonplace status", "commonplace status --json", "commonplace status --data-dir ./memory")
def status(call: Call) -> None:
    """Counts, engine, data folder, model, and how many passages still wait for a vector (pending)."""
    with call.book() as book:
        data = status_of(book)
    if call.json:
        call.reply(data)
        return
    tables.status(data)
