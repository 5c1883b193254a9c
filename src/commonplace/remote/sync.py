"""Pull, push and promote: two memories compare what changed since they last met, and exchange what differs.

A mark is noted whenever a batch is done on both sides: who is interrupted goes on from there, and what is exchanged
twice changes nothing the second time.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from commonplace.config import listed
from commonplace.errors import InvalidInput, TooLarge
from commonplace.memory import sync_records
from commonplace.memory.items import get_item
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.sync_records import Name, Peer, Record, SyncScope
from commonplace.remote.client import RemoteServer

# How many changes are compared at once, and how much is sent in one request.
BATCH = 500
MAX_RECORDS, MAX_BYTES = 200, 4_000_000

Advance = Callable[[int], object]


class Remote(Protocol):
    """The other memory."""

    # Which space of which store it is, and the mark of its last change.
    def standing(self) -> tuple[str, int]: ...
    # What changed after a mark, each with its digest, and the mark to go on from.
    def changes(self, since: int, limit: int, projects: Sequence[str]) -> tuple[dict[Name, str], int]: ...
    # Those that it lacks, or that say something else there.
    def compare(self, digests: Mapping[Name, str]) -> list[Name]: ...
    # The first of these that fit into a reply.
    def fetch(self, names: Sequence[Name]) -> list[dict[str, Any]]: ...
    def send(self, told: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]: ...


@dataclass(slots=True)
class SyncSummary:
    """What was exchanged. `conflicts` and `failed` tell each one; the rest is counted."""

    sent: int = 0
    received: int = 0
    unchanged: int = 0
    conflicts: list[dict[str, Any]] = field(default_factory=list)
    failed: list[dict[str, Any]] = field(default_factory=list)

    def note(self, outcome: Mapping[str, Any], *, sent: bool) -> None:
        what, name, result = (str(outcome.get(key, "")) for key in ("what", "name", "result"))
        if result == "failed":
            way = "push" if sent else "pull"
            self.failed.append({"what": what, "name": name, "way": way, "why": str(outcome.get("why", ""))})
            return
        if result == "unchanged":
            self.unchanged += 1
            return
        self.sent, self.received = self.sent + sent, self.received + (not sent)
        if result == "conflict":
            stands = "here" if sent == bool(outcome.get("took")) else "there"
            self.conflicts.append({"what": what, "name": name, "stands": stands})


class Sync:
    """One meeting of a memory with another."""

    def __init__(
        self,
        memory: LocalMemory,
        remote: Remote,
        extent: SyncScope,
        *,
        dry_run: bool = False,
        advance: Advance = lambda _bytes: None,
    ) -> None:
        self._memory, self._remote, self._extent = memory, remote, extent
        self._dry_run, self._advance = dry_run, advance
        self.summary = SyncSummary()
        self._told: set[str] = set()
        self._refused: list[Name] = []
        self._uid, last = remote.standing()
        if self._uid == sync_records.sync_position(memory)[0]:
            raise InvalidInput("This is the same memory as the one there.", "Name another server, or another space.")
        peer = sync_records.peer_position(memory, self._uid, extent)
        # A store that went back, as after a restored backup, may lack what it was told: all is compared again.
        self._peer = Peer() if last < peer.pulled else peer

    def pull(self) -> None:
        """Take in what changed there."""
        while True:
            digests, mark = self._remote.changes(self._peer.pulled, BATCH, self._extent.projects)
            differing = sync_records.differing_records(self._memory, digests, self._extent)
            self.summary.unchanged += len(digests) - len(differing)
            if self._dry_run:
                self.summary.received += len(differing)
            else:
                self._fetch(differing)
            if mark == self._peer.pulled:
                return
            self._note(replace(self._peer, pulled=mark))

    def push(self) -> None:
        """Tell what changed here, and once more what was refused."""
        last = sync_records.sync_position(self._memory)[1]
        since = 0 if last < self._peer.pushed else self._peer.pushed
        self._tell(sync_records.named_records(self._memory, self._peer.refused, self._extent))
        self._note(replace(self._peer, refused=tuple(self._refused)))
        while True:
            walked = sync_records.changed_records(self._memory, since, BATCH, self._extent)
            self._tell(walked.records)
            if walked.mark == since:
                return
            since = walked.mark
            self._note(replace(self._peer, pushed=since, refused=tuple(self._refused)))

    def promote(self, ids: Sequence[int | str]) -> None:
        """Tell these items only, as they are now: neither their history nor their sessions go with them."""
        names: list[Name] = [("item", get_item(self._memory, id_).uid) for id_ in ids]
        chosen = sync_records.named_records(self._memory, names, replace(self._extent, projects=(), without=()))
        private = {name for _what, name in names} - {one.name for one in chosen}
        if private:
            raise InvalidInput(
                f"Item {min(private)[-12:]} is tagged {sync_records.PRIVATE_TAG}.",
                "Take the tag away first: commonplace edit.",
            )
        self._tell([replace(one, history=()) for one in chosen], alone=True)

    def _fetch(self, names: Sequence[Name]) -> None:
        left = [*names]
        while left:
            told = self._remote.fetch(left[:MAX_RECORDS])
            got = {sync_records.parse_record_name(str(one.get("what")), str(one.get("name"))) for one in told}
            # One that is not there any more was renamed meanwhile, and comes under its new name.
            left = [name for name in left if name not in got] if got & {*left} else left[MAX_RECORDS:]
            meant = [one for one in told if not self._is_ours_alone(one)]
            for outcome in sync_records.take_records(self._memory, meant):
                self.summary.note(_as_dict(outcome), sent=False)
            self._advance(len(str(told)))

    def _is_ours_alone(self, told: Mapping[str, Any]) -> bool:
        """Whether a record belongs to a project that is kept apart here."""
        fields = told.get("fields")
        project = (
            told.get("name") if told.get("what") == "project" else isinstance(fields, dict) and fields.get("project")
        )
        return isinstance(project, str) and not replace(self._extent, projects=()).means(project)

    def _tell(self, chosen: Sequence[Record], *, alone: bool = False) -> None:
        if not alone:
            before = sync_records.sessions_of_items(self._memory, chosen, self._extent)
            chosen = [*(one for one in before if one.name not in self._told), *chosen]
            self._told |= {one.name for one in before}
        if not chosen:
            return
        wanted = set(self._remote.compare({(one.what, one.name): one.digest for one in chosen}))
        lacking = [one for one in chosen if (one.what, one.name) in wanted]
        self.summary.unchanged += len(chosen) - len(lacking)
        if self._dry_run:
            self.summary.sent += len(lacking)
            return
        for batch in _batches(sync_records.correct_future_versions(self._memory, lacking)):
            self._send(batch)

    def _send(self, batch: Sequence[tuple[Record, dict[str, Any]]]) -> None:
        try:
            outcomes = self._remote.send([told for _record, told in batch])
        except TooLarge as error:
            if len(batch) > 1:
                for one in batch:
                    self._send([one])
                return
            record = batch[0][0]
            outcomes = [{"what": record.what, "name": record.name, "result": "failed", "why": error.message}]
        for (record, _told), outcome in zip(batch, outcomes, strict=True):
            self.summary.note(outcome, sent=True)
            if outcome.get("result") == "failed":
                self._refused.append((record.what, record.name))
        self._advance(len(str(batch)))

    def _note(self, peer: Peer) -> None:
        if peer != self._peer and not self._dry_run:
            sync_records.save_peer_position(self._memory, self._uid, self._extent, peer)
        self._peer = peer


def sync_with(
    memory: LocalMemory,
    url: str,
    key: str,
    *,
    projects: Sequence[str] = (),
    pull: bool = True,
    push: bool = True,
    dry_run: bool = False,
) -> SyncSummary:
    """Pull, then push, so that both sides hold the same; what is tagged private stays here."""
    scope = SyncScope(tuple(projects), listed(memory.settings.sync_private), include_private=False)
    with contextlib.closing(RemoteServer(url, key)) as server:
        run = Sync(memory, server, scope, dry_run=dry_run)
        if pull:
            run.pull()
        if push:
            run.push()
    return run.summary


def _batches(chosen: Sequence[Record]) -> Iterator[list[tuple[Record, dict[str, Any]]]]:
    left = [*chosen]
    while left:
        batch = sync_records.first_fitting(left[:MAX_RECORDS], MAX_BYTES)
        left = left[len(batch) :]
        yield batch


def _as_dict(outcome: sync_records.RecordOutcome) -> dict[str, Any]:
    return {
        "what": outcome.what,
        "name": outcome.name,
        "result": outcome.result,
        "took": outcome.took,
        "why": outcome.why,
    }
