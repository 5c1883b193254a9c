"""Another memory that is asked without a network: what the endpoints do, on a book of this process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from commonplace.memory import records
from commonplace.memory.book import Book
from commonplace.memory.records import Extent, Name
from commonplace.rest.syncing import found_of


class Beside:
    """A book, asked like a server."""

    def __init__(self, book: Book) -> None:
        self.book = book

    def standing(self) -> tuple[str, int]:
        return records.standing(self.book)

    def changes(self, since: int, limit: int, projects: Sequence[str]) -> tuple[dict[Name, str], int]:
        walked = records.walk(self.book, since, limit, Extent(tuple(projects)))
        return {(one.what, one.name): one.digest for one in walked.records}, walked.mark

    def compare(self, digests: Mapping[Name, str]) -> list[Name]:
        return records.compared(self.book, digests, Extent())

    def fetch(self, names: Sequence[Name]) -> list[dict[str, Any]]:
        return [records.told(one) for one in found_of(self.book, [*names])]

    def send(self, told: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        return [asdict(one) for one in records.take(self.book, told)]
