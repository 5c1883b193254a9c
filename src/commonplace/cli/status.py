"""`status`: what is kept where, and whether everything that should work does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from commonplace.capture.hooks.outcomes import remembered
from commonplace.capture.hooks.waiting import spool_state
from commonplace.cli import tables
from commonplace.cli.call import Call, command
from commonplace.memory.status import status as status_of
from commonplace.text.times import iso

if TYPE_CHECKING:
    from commonplace.memory.book import Book


@command("status", "commonplace status", "commonplace status --json", "commonplace status --data-dir ./memory")
def status(call: Call) -> None:
    """Counts, engine, data folder, model, how many passages still wait for a vector (pending), and what hooks told."""
    with call.book() as book:
        data = status_of(book) | {"hooks": _hooks(book)}
    if call.json:
        call.reply(data)
        return
    tables.status(data)


def _hooks(book: Book) -> dict[str, Any]:
    """What hooks captured, what was left out and why, and what still waits in the spool."""
    told, spool = remembered(book), spool_state(book.settings)
    return {
        "captured": dict(told.kept),
        "left_out": dict(told.dropped),
        "waiting": spool.waiting,
        "waiting_since": None if spool.oldest_ms is None else iso(spool.oldest_ms),
        "failed": sum(spool.hook_failures.values()) + sum(spool.refused.values()),
    }
