"""Stats: how much was said, where, how important, and since when."""

from __future__ import annotations

from dataclasses import dataclass

from commonplace.memory.book import Book
from commonplace.model import SessionScope
from commonplace.store.conversations import SessionCounts
from commonplace.text.folders import ROOT, folder_path

# More labels than anybody reads: an import gives each conversation one of its own.
MOST_LABELS = 100


@dataclass(frozen=True, slots=True)
class Stats:
    """Sums over a folder's tree; `bytes` is the whole store for everything, and text with metadata for a folder."""

    counts: SessionCounts
    bytes: int


def stats(book: Book, folder: str | None = None) -> Stats:
    """Statistics of a folder and all below it, or of everything."""
    path = folder_path(folder) if folder is not None else ""
    counts = book.store.session_counts(SessionScope(folder=path), MOST_LABELS)
    whole = path in ("", ROOT)
    return Stats(counts, book.store.counts().bytes if whole else counts.bytes)
