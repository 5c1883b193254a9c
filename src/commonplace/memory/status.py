"""Status: what is kept where, and whether everything that should work does."""

from __future__ import annotations

from dataclasses import asdict

import commonplace
from commonplace.memory.book import Book
from commonplace.memory.health import known
from commonplace.text.times import iso

# Of the store these are for whoever runs the server.
_WHEREABOUTS = frozenset(("path", "connections", "replicas"))


def status(book: Book, *, whereabouts: bool = True) -> dict[str, object]:
    """Counts, engine, model and what waits, as plain data; with `whereabouts` also where the store is."""
    counts, store = book.store.counts(), book.store.describe()
    return {
        "version": commonplace.__version__,
        **({"data_dir": str(book.settings.data_dir)} if whereabouts else {}),
        "space": book.settings.space,
        "store": {name: value for name, value in store.items() if whereabouts or name not in _WHEREABOUTS},
        "counts": {key: value for key, value in asdict(counts).items() if key != "pending"},
        "total": sum(counts.items.values()),
        "pending": counts.pending,
        "model": {
            "name": book.meaning.model,
            "state": book.meaning.state,
            "embedder": book.settings.embedder,
            "last_error": None if book.meaning.model is None else book.store.waiting_because(),
        },
        "health": _health(book),
        "search": "keywords and meaning" if _understands(book) else "keywords only",
    }


def _health(book: Book) -> dict[str, object] | None:
    """What the last check found."""
    found = known(book.settings)
    if found is None:
        return None
    faults = [{"part": one.part, "count": one.count, "says": one.says, "advice": one.advice} for one in found.faults]
    return {"checked_at": iso(found.checked_ms), "how": found.how, "faults": faults}


def answers(book: Book) -> str:
    """The version, if the store answers and its tables are those of this version; else its error."""
    book.store.check_schema()
    return commonplace.__version__


def _understands(book: Book) -> bool:
    return not book.meaning.state.startswith(("off", "failed"))
