"""Pull, push and promote: two memories compare what changed since they last met, and exchange what differs.

A mark is noted whenever a batch is done on both sides: who is interrupted goes on from there, and what is exchanged
twice changes nothing the second time.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Protocol
from urllib.parse import urlencode

from commonplace.errors import CommonplaceError, Conflict, Forbidden, InvalidInput, QuotaExceeded, RemoteError, TooLarge
from commonplace.http_client import HttpClient
from commonplace.memory import sync_and_archive
from commonplace.memory.items import get_item
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.permissions import is_person
from commonplace.memory.private_projects import private_projects
from commonplace.memory.sync_and_archive import RECORD_FORMAT, Name, Peer, Record, SyncScope, parse_record_name
from commonplace.model import PRIVATE_TAG

# How many changes are compared at once, and how much is sent in one request.
BATCH = 500
MAX_RECORDS, MAX_BYTES = 200, 4_000_000
API = "/api/v1/sync"
# What the server refuses is refused here in the same words.
_REFUSALS: tuple[type[CommonplaceError], ...] = (InvalidInput, Conflict, TooLarge, QuotaExceeded)

Advance = Callable[[int], object]


class Remote(Protocol):
    """The other memory."""

    # Which space of which store it is, and the mark of its last change.
    def position(self) -> tuple[str, int]: ...
    # What changed after a mark, each with its digest, and the mark to go on from.
    def changes(self, since: int, limit: int, projects: Sequence[str]) -> tuple[dict[Name, str], int]: ...
    # Those that it lacks, or that say something else there.
    def compare(self, digests: Mapping[Name, str]) -> list[Name]: ...
    # The first of these that fit into a reply.
    def fetch(self, names: Sequence[Name]) -> list[dict[str, Any]]: ...
    def send(self, records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]: ...


class RemoteServer(HttpClient):
    """A space of another Commonplace: the one that the key opens."""

    def position(self) -> tuple[str, int]:
        reply = self.request("GET", API)
        if reply.get("format") != RECORD_FORMAT:
            raise RemoteError(
                f"The server at {self.address.url} uses another record format ({reply.get('format')!r}).",
                "Upgrade Commonplace on the older of the two machines.",
            )
        with self.reading_reply():
            return str(reply["space"]), int(reply["last"])

    def changes(self, since: int, limit: int, projects: Sequence[str]) -> tuple[dict[Name, str], int]:
        query = urlencode([("since", since), ("limit", limit), *(("project", project) for project in projects)])
        reply = self.request("GET", f"{API}/changes?{query}")
        with self.reading_reply():
            digests = {parse_record_name(one["what"], one["name"]): str(one["digest"]) for one in reply["changes"]}
            return digests, int(reply["mark"])

    def compare(self, digests: Mapping[Name, str]) -> list[Name]:
        changes = [{"what": what, "name": name, "digest": digest} for (what, name), digest in digests.items()]
        reply = self.request("POST", f"{API}/compare", {"changes": changes})
        with self.reading_reply():
            return [parse_record_name(one["what"], one["name"]) for one in reply["differing"]]

    def fetch(self, names: Sequence[Name]) -> list[dict[str, Any]]:
        wanted = [{"what": what, "name": name} for what, name in names]
        reply = self.request("POST", f"{API}/fetch", {"names": wanted})
        with self.reading_reply():
            return list(map(dict, reply["records"]))

    def send(self, records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        reply = self.request("POST", f"{API}/records", {"records": records})
        with self.reading_reply():
            outcomes = list(map(dict, reply["outcomes"]))
            if len(outcomes) != len(records):
                raise ValueError
            return outcomes

    def refused(self, status: int, code: str, message: str, details: str) -> CommonplaceError:
        place = self.address.url
        if status == 403:
            return Forbidden(f"The server at {place} does not allow this key to do that: {message}", details)
        if status in (404, 405):
            return RemoteError(f"The server at {place} does not support sync.", "Upgrade Commonplace there.")
        for refusal in _REFUSALS:
            if code == refusal.code:
                return refusal(f"The server at {place} refused: {message}", details)
        return RemoteError(f"The server at {place} failed (HTTP {status}): {message}", details)


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
        scope: SyncScope,
        *,
        dry_run: bool = False,
        advance: Advance = lambda _bytes: None,
    ) -> None:
        self._memory, self._remote, self._scope = memory, remote, scope
        self._dry_run, self._advance = dry_run, advance
        self.summary = SyncSummary()
        self._sent_sessions: set[str] = set()
        self._refused: list[Name] = []
        self._uid, last = remote.position()
        if self._uid == sync_and_archive.sync_position(memory)[0]:
            raise InvalidInput(
                "This is the same memory as the one on the server.", "Name another server, or another space."
            )
        peer = sync_and_archive.peer_position(memory, self._uid, scope)
        # A store that went back, as after a restored backup, may lack what it was told: all is compared again.
        self._peer = Peer() if last < peer.pulled else peer

    def pull(self) -> None:
        """Take in what changed there.

        What an agent may not bring is refused, and is there for the person who pulls next.
        """
        start, by_person = self._peer, is_person(self._memory)
        while True:
            digests, mark = self._remote.changes(self._peer.pulled, BATCH, self._scope.projects)
            differing = sync_and_archive.differing_records(self._memory, digests, self._scope)
            self.summary.unchanged += len(digests) - len(differing)
            if self._dry_run:
                self.summary.received += len(differing)
            else:
                self._fetch(differing)
            if mark == self._peer.pulled:
                break
            advanced = replace(self._peer, pulled=mark)
            if by_person:
                self._save_position(advanced)
            else:
                self._peer = advanced
        if not by_person:
            self._peer = start

    def push(self) -> None:
        """Tell what changed here, and once more what was refused."""
        last = sync_and_archive.sync_position(self._memory)[1]
        since = 0 if last < self._peer.pushed else self._peer.pushed
        self._push_records(sync_and_archive.named_records(self._memory, self._peer.refused, self._scope))
        self._save_position(replace(self._peer, refused=tuple(self._refused)))
        while True:
            walked = sync_and_archive.changed_records(self._memory, since, BATCH, self._scope)
            self._push_records(walked.records)
            if walked.mark == since:
                return
            since = walked.mark
            self._save_position(replace(self._peer, pushed=since, refused=tuple(self._refused)))

    def promote(self, ids: Sequence[int | str]) -> None:
        """Tell these items only, as they are now: neither their history nor their sessions go with them.

        A person may share one of a private project as well.
        """
        names: list[Name] = [("item", get_item(self._memory, id_).uid) for id_ in ids]
        scope = replace(self._scope, projects=())
        if is_person(self._memory):
            scope = replace(scope, without=())
        chosen = sync_and_archive.named_records(self._memory, names, scope)
        private = {name for _what, name in names} - {one.name for one in chosen}
        if private:
            item = get_item(self._memory, min(private))
            if not scope.means(item.project):
                raise Forbidden(
                    f"Item {item.uid[-12:]} is of {item.project or 'no project'}, which the setting sync_private keeps"
                    " on this machine.",
                    "Let a person promote it.",
                )
            raise InvalidInput(
                f"Item {item.uid[-12:]} is tagged {PRIVATE_TAG}.",
                "Remove the tag first: commonplace edit.",
            )
        self._push_records([replace(one, history=()) for one in chosen], alone=True)

    def _fetch(self, names: Sequence[Name]) -> None:
        left = [*names]
        while left:
            records = self._remote.fetch(left[:MAX_RECORDS])
            got = {sync_and_archive.parse_record_name(str(one.get("what")), str(one.get("name"))) for one in records}
            # One that is not there any more was renamed meanwhile, and comes under its new name.
            left = [name for name in left if name not in got] if got & {*left} else left[MAX_RECORDS:]
            wanted = [one for one in records if not self._is_excluded(one)]
            if not is_person(self._memory):
                # An agent's copy is its own, and gives way to what was said there wherever the two meet.
                wanted = [
                    {**one, "version": v - 1 if isinstance(v := one.get("version"), int) else v} for one in wanted
                ]
            for outcome in sync_and_archive.take_records(self._memory, wanted):
                self.summary.note(asdict(outcome), sent=False)
            self._advance(len(str(records)))

    def _is_excluded(self, record: Mapping[str, Any]) -> bool:
        """Whether a record belongs to a project that is kept apart here."""
        fields = record.get("fields")
        project = (
            record.get("name")
            if record.get("what") == "project"
            else isinstance(fields, dict) and fields.get("project")
        )
        return isinstance(project, str) and not replace(self._scope, projects=()).means(project)

    def _push_records(self, chosen: Sequence[Record], *, alone: bool = False) -> None:
        if not alone:
            before = sync_and_archive.sessions_of_items(self._memory, chosen, self._scope)
            chosen = [*(one for one in before if one.name not in self._sent_sessions), *chosen]
            self._sent_sessions |= {one.name for one in before}
        if not chosen:
            return
        wanted = set(self._remote.compare({(one.what, one.name): one.digest for one in chosen}))
        lacking = [one for one in chosen if (one.what, one.name) in wanted]
        self.summary.unchanged += len(chosen) - len(lacking)
        if self._dry_run:
            self.summary.sent += len(lacking)
            return
        for batch in _batches(sync_and_archive.correct_future_versions(self._memory, lacking)):
            self._send(batch)

    def _send(self, batch: Sequence[tuple[Record, dict[str, Any]]]) -> None:
        try:
            outcomes = self._remote.send([data for _record, data in batch])
        except TooLarge as error:
            if len(batch) > 1:
                for one in batch:
                    self._send([one])
                return
            record = batch[0][0]
            outcomes = [{"what": record.what, "name": record.name, "result": "failed", "why": error.message}]
        for (record, _data), outcome in zip(batch, outcomes, strict=True):
            self.summary.note(outcome, sent=True)
            if outcome.get("result") == "failed":
                self._refused.append((record.what, record.name))
        self._advance(len(str(batch)))

    def _save_position(self, peer: Peer) -> None:
        if peer != self._peer and not self._dry_run:
            sync_and_archive.save_peer_position(self._memory, self._uid, self._scope, peer)
        self._peer = peer


def sync_scope(memory: LocalMemory, projects: Sequence[str]) -> SyncScope:
    """What is exchanged with a server: of these projects only, if any are named; nothing that is private."""
    return SyncScope(tuple(projects), private_projects(memory), include_private=False)


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
    with contextlib.closing(RemoteServer(url, key)) as server:
        run = Sync(memory, server, sync_scope(memory, projects), dry_run=dry_run)
        if pull:
            run.pull()
        if push:
            run.push()
    return run.summary


def _batches(chosen: Sequence[Record]) -> Iterator[list[tuple[Record, dict[str, Any]]]]:
    left = [*chosen]
    while left:
        batch = sync_and_archive.first_fitting(left[:MAX_RECORDS], MAX_BYTES)
        left = left[len(batch) :]
        yield batch
