"""The records of one project: others are neither told nor taken in."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from commonplace.errors import Conflict, Forbidden
from commonplace.identity import Ref, ref
from commonplace.store.one_project.place import Place
from commonplace.store.records import Arrival, Name, Outcome, Peer, Record, What


class Records(Place):
    """The part of a narrowed store about records."""

    def space_uid(self) -> str:
        """Not that of the whole: who has seen this part of it has not seen the rest."""
        here = f"{self._inner.space_uid()} {self._project}"
        return hashlib.sha256(here.encode("utf-8", "replace")).hexdigest()[:32]

    def last_change(self) -> int:
        return self._inner.last_change()

    def records_since(self, after: int, limit: int) -> tuple[list[Record], int]:
        records, mark = self._inner.records_since(after, limit)
        return self._of_here(records), mark

    def records_of(self, what: What, after: str, limit: int) -> tuple[list[Record], str | None]:
        records, mark = self._inner.records_of(what, after, limit)
        # A name elsewhere is nothing to go on from.
        while mark is not None and not (ours := self._of_here(records)):
            records, mark = self._inner.records_of(what, mark, limit)
        return (ours, ours[-1].name) if mark is not None else (self._of_here(records), None)

    def records_named(self, names: Sequence[Name]) -> list[Record]:
        return self._of_here(self._inner.records_named(names))

    def merge_records(self, arrivals: Sequence[Arrival], now_ms: int) -> list[Outcome]:
        ours = [self._only_ours(arrival) for arrival in arrivals]
        known = self._inner.records_named([(one.record.what, one.record.name) for one in ours])
        if len(self._of_here(known)) < len(known):
            raise Conflict("A record elsewhere has this name.", "Leave it out, or use a key that is not limited.")
        return self._inner.merge_records(ours, now_ms)

    def peer(self, uid: str, extent: str) -> Peer:
        self._refuse("knows no other store")

    def note_peer(self, uid: str, extent: str, peer: Peer) -> None:
        self._refuse("knows no other store")

    def _of_here(self, records: Sequence[Record]) -> list[Record]:
        here = self._here()
        ours = (one for one in records if (one.name if one.what == "project" else one.fields["project"]) == here)
        return [replace(one, history=tuple(line for line in one.history if self._was_here(line))) for one in ours]

    def _only_ours(self, arrival: Arrival) -> Arrival:
        record, draft = arrival.record, arrival.draft
        if record.what == "project":
            self._only_here(record.name)
            return replace(arrival, record=replace(record, name=self._here(), fields={**record.fields, "aliases": []}))
        if record.fields["project"] is None:
            raise Forbidden(
                f"This key is for the project {self._here()} only, and a record is for every project.",
                f"Send that project only: --project {self._here()}.",
            )
        fields = {**record.fields, "project": self._only_here(record.fields["project"])}
        if record.what == "session":
            self._check_session(ref(record.fields["uid"]), record.name)
        elif draft is not None:
            draft = replace(draft, project=fields["project"])
            if fields["session"] is not None:
                self._check_session(Ref(""), fields["session"])
            by = fields["superseded_by"]
            if by is not None and not self._of_here(self._inner.records_named([("item", by)])):
                fields["superseded_by"] = None
        return Arrival(replace(record, fields=fields), draft)
