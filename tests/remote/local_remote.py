"""Another memory that is asked without a network: what the endpoints do, on a memory of this process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from commonplace.memory import sync_and_archive
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.sync_and_archive import Name, SyncScope
from commonplace.rest.remote import find_records


class LocalRemote:
    """A memory of this process, asked like a server."""

    def __init__(self, memory: LocalMemory) -> None:
        self.memory = memory

    def position(self) -> tuple[str, int]:
        return sync_and_archive.sync_position(self.memory)

    def changes(self, since: int, limit: int, projects: Sequence[str]) -> tuple[dict[Name, str], int]:
        walked = sync_and_archive.changed_records(self.memory, since, limit, SyncScope(tuple(projects)))
        return {(one.what, one.name): one.digest for one in walked.records}, walked.mark

    def compare(self, digests: Mapping[Name, str]) -> list[Name]:
        return sync_and_archive.differing_records(self.memory, digests, SyncScope())

    def fetch(self, names: Sequence[Name]) -> list[dict[str, Any]]:
        return [sync_and_archive.record_data(one) for one in find_records(self.memory, [*names])]

    def send(self, records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        return [asdict(one) for one in sync_and_archive.take_records(self.memory, records)]
