"""A store for a key that is limited to one project: calls are narrowed to it, results and writes checked against it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from commonplace.errors import Conflict, Forbidden, NotFound
from commonplace.model import (
    UNKNOWN_AUTHOR,
    Author,
    Change,
    Draft,
    Item,
    Kind,
    PassageText,
    Project,
    Ref,
    Scope,
    Session,
    Stored,
    VectorHit,
    ref,
)
from commonplace.store.project_scope import ProjectConversations, ProjectScope, ProjectStreams
from commonplace.store.records import Arrival, Name, Outcome, Record, RecordKind
from commonplace.store.types import (
    Counts,
    EarlierRequest,
    Edge,
    Event,
    ItemHeader,
    Job,
    RequestClaim,
    SavedReply,
    StaleTopics,
    TextAnswer,
    Topic,
    Turn,
    Use,
)
from commonplace.text.query import Query, Word

if TYPE_CHECKING:
    from commonplace.store.types import Vector

_T = TypeVar("_T")


class ProjectRecords(ProjectScope):
    """The records of one project: others are neither shown nor merged."""

    def space_uid(self) -> str:
        """Not that of the whole store: whoever has read this part of it has not read the rest."""
        here = f"{self._inner.space_uid()} {self._project}"
        return hashlib.sha256(here.encode("utf-8", "replace")).hexdigest()[:32]

    def last_change(self) -> int:
        return self._inner.last_change()

    def records_since(self, after: int, limit: int) -> tuple[list[Record], int]:
        records, mark = self._inner.records_since(after, limit)
        return self._of_here(records), mark

    def records_of(self, what: RecordKind, after: str, limit: int) -> tuple[list[Record], str | None]:
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
                # It is shown here, so its interval is not closed either.
                fields |= {"superseded_by": None, "valid_until_ms": None}
        return Arrival(replace(record, fields=fields), draft)


class ProjectTopics(ProjectScope):
    """The topics of one project. Topics never span projects, so their names show nothing of others."""

    def topics(self, project: str | None = None) -> list[Topic]:
        here = self._here()
        if not self._means_here(project):
            return []
        return [topic for topic in self._inner.topics(here) if topic.project == here]

    def topics_of(self, passage_ids: Sequence[int]) -> dict[int, Topic]:
        here = self._here()
        found = self._inner.topics_of(passage_ids)
        return {passage: topic for passage, topic in found.items() if topic.project == here}

    def topic_passages(self, topic_id: int, limit: int) -> list[tuple[int, float]]:
        ours = any(topic.id == topic_id for topic in self.topics())
        return self._inner.topic_passages(topic_id, limit) if ours else []

    def stale_topics(self) -> list[StaleTopics]:
        """None: rebuilding topics is work for the whole store."""
        return []


class ProjectView(ProjectConversations, ProjectRecords, ProjectStreams, ProjectTopics):
    """The part of a store that belongs to one project: a `SpaceStore` for a key that is limited to it."""

    def _checked(self, *item_ids: int) -> None:
        """All of these are ours, or none exists."""
        known = self.get(item_ids)
        for item_id in item_ids:
            if item_id not in known:
                raise NotFound(f"There is no item {item_id}.")

    def _passages_here(self, passage_ids: Sequence[int]) -> dict[int, PassageText]:
        texts = self._inner.passage_texts(passage_ids)
        ours = self.get({text.item_id for text in texts.values()})
        return {id_: text for id_, text in texts.items() if text.item_id in ours}

    # Writing.

    def put(self, drafts: Sequence[Draft], now_ms: int) -> list[Stored]:
        placed = [self._placed(draft) for draft in drafts]
        named = [ref(draft.uid) for draft in placed if draft.uid is not None]
        if self._inner.resolve(named) != self.resolve(named):
            raise Conflict("An item elsewhere has this uid.", "Leave the uid out.")
        return self._inner.put(placed, now_ms)

    def rewrite(
        self,
        item_id: int,
        draft: Draft,
        now_ms: int,
        expect_rev: int | None = None,
        supersedes: int | None = None,
        by: Author | None = None,
    ) -> Item:
        self._checked(item_id, *(() if supersedes is None else (supersedes,)))
        return self._inner.rewrite(item_id, self._placed(draft), now_ms, expect_rev, supersedes, by)

    def review(self, item_ids: Sequence[int], state: str, now_ms: int, by: Author) -> None:
        self._checked(*item_ids)
        self._inner.review(item_ids, state, now_ms, by)

    def forget(self, item_ids: Sequence[int], now_ms: int, by: Author = UNKNOWN_AUTHOR) -> list[int]:
        self._checked(*item_ids)
        return self._inner.forget(item_ids, now_ms, by)

    def restore(self, item_ids: Sequence[int], now_ms: int, by: Author = UNKNOWN_AUTHOR) -> list[int]:
        self._checked(*item_ids)
        return self._inner.restore(item_ids, now_ms, by)

    def supersede(self, old_id: int, new_id: int, now_ms: int, by: Author = UNKNOWN_AUTHOR) -> None:
        self._checked(old_id, new_id)
        self._inner.supersede(old_id, new_id, now_ms, by)

    # Reading.

    def resolve(self, refs: Sequence[Ref]) -> list[int | None]:
        found = self._inner.resolve(refs)
        ours = self.get(id_ for id_ in found if id_ is not None)
        return [id_ if id_ in ours else None for id_ in found]

    def get(self, item_ids: Iterable[int]) -> dict[int, Item]:
        here = self._here()
        return {id_: item for id_, item in self._inner.get(item_ids).items() if item.project == here}

    def newest(self, scope: Scope, limit: int, before: tuple[int, int] | None = None) -> list[Item]:
        narrowed = self._narrowed(scope)
        return [] if narrowed is None else self._inner.newest(narrowed, limit, before)

    def statements_like(self, text: str, scope: Scope, limit: int) -> list[Item]:
        narrowed = self._narrowed(scope)
        return [] if narrowed is None else self._inner.statements_like(text, narrowed, limit)

    def around(self, anchor: Item, before: int, after: int, scope: Scope) -> list[Item]:
        self._checked(anchor.id)
        narrowed = self._narrowed(scope)
        return [anchor] if narrowed is None else self._inner.around(anchor, before, after, narrowed)

    def item_headers(self, scope: Scope, from_ms: int, to_ms: int, limit: int) -> list[ItemHeader]:
        narrowed = self._narrowed(scope)
        return [] if narrowed is None else self._inner.item_headers(narrowed, from_ms, to_ms, limit)

    def sessions_during(self, scope: Scope, from_ms: int, to_ms: int, limit: int) -> list[Session]:
        narrowed = self._narrowed(scope)
        return [] if narrowed is None else self._inner.sessions_during(narrowed, from_ms, to_ms, limit)

    def items_per_day(self, scope: Scope, from_ms: int, to_ms: int) -> dict[int, dict[Kind, int]]:
        narrowed = self._narrowed(scope)
        return {} if narrowed is None else self._inner.items_per_day(narrowed, from_ms, to_ms)

    def items_between(
        self,
        scope: Scope,
        from_ms: int,
        to_ms: int,
        limit: int,
        beyond: tuple[int, int] | None = None,
        *,
        oldest_first: bool = False,
    ) -> list[Item]:
        narrowed = self._narrowed(scope)
        if narrowed is None:
            return []
        return self._inner.items_between(narrowed, from_ms, to_ms, limit, beyond, oldest_first=oldest_first)

    def history(self, item_id: int) -> list[Change]:
        if not self.get([item_id]):
            return []
        return [change for change in self._inner.history(item_id) if self._was_here(change)]

    def uses(self, item_ids: Sequence[int]) -> dict[int, Use]:
        return self._inner.uses(list(self.get(item_ids)))

    def record_use(self, item_ids: Sequence[int], now_ms: int) -> None:
        self._inner.record_use(list(self.get(item_ids)), now_ms)

    def states_at(self, scope: Scope, limit: int) -> dict[int, Item | None]:
        narrowed = self._narrowed(scope)
        states = {} if narrowed is None else self._inner.states_at(narrowed, limit)
        ours = self.get(states)
        # What was elsewhere then is not in the scope; what is elsewhere now is not shown either.
        return {id_: item for id_, item in states.items() if id_ in ours}

    def superseded(self, item_id: int) -> list[int]:
        if not self.get([item_id]):
            return []
        ours = self.get(self._inner.superseded(item_id))
        return sorted(ours, reverse=True)

    def projects(self) -> list[Project]:
        here = self._here()
        return [project for project in self._inner.projects() if project.name == here]

    def find_project(self, name: str) -> str | None:
        return self._here() if self._means_here(name) else None

    def counts(self, project: str | None = None) -> Counts:
        if not self._means_here(project):
            return Counts({}, 0, 0, 0, 0, 0, 0, 0)
        return self._inner.counts(self._here())

    # Finding.

    def search_text(self, query: Query, scope: Scope, k: int, *, count: bool = True) -> TextAnswer:
        narrowed = self._narrowed(scope)
        return TextAnswer((), 0) if narrowed is None else self._inner.search_text(query, narrowed, k, count=count)

    def word_shares(self, answer: TextAnswer, passage_ids: Sequence[int]) -> dict[int, float]:
        return self._inner.word_shares(answer, list(self._passages_here(passage_ids)))

    def search_vectors(self, query: Vector, scope: Scope, k: int) -> list[VectorHit]:
        narrowed = self._narrowed(scope)
        return [] if narrowed is None else self._inner.search_vectors(query, narrowed, k)

    def cosines(self, query: Vector, passage_ids: Sequence[int]) -> dict[int, float]:
        return self._inner.cosines(query, list(self._passages_here(passage_ids)))

    def token_vectors(self, passage_ids: Sequence[int]) -> dict[int, bytes]:
        return self._inner.token_vectors(list(self._passages_here(passage_ids)))

    def passages_of(self, item_ids: Sequence[int]) -> dict[int, list[int]]:
        return self._inner.passages_of(list(self.get(item_ids)))

    def passage_texts(self, passage_ids: Sequence[int]) -> dict[int, PassageText]:
        return self._passages_here(passage_ids)

    def passages_in_context(self, passage_ids: Sequence[int]) -> dict[int, tuple[PassageText, str]]:
        return self._inner.passages_in_context(list(self._passages_here(passage_ids)))

    def pending_jobs(self, passage_ids: Sequence[int]) -> list[Job]:
        ours = self._passages_here(passage_ids)
        return self._inner.pending_jobs([id_ for id_ in passage_ids if id_ in ours])

    def newest_pending_jobs(self, scope: Scope, limit: int) -> list[Job]:
        narrowed = self._narrowed(scope)
        return [] if narrowed is None else self._inner.newest_pending_jobs(narrowed, limit)

    def edges_of(self, passage_ids: Sequence[int], most_each: int, project: str | None = None) -> list[Edge]:
        if not self._means_here(project):
            return []
        return self._inner.edges_of(passage_ids, most_each, self._here())

    def speakers(self, words: Sequence[Word], project: str | None = None) -> list[Word]:
        return self._inner.speakers(words, self._here()) if self._means_here(project) else []

    def conversations_by_title(self, patterns: Sequence[str], least: int, scope: Scope, limit: int) -> dict[int, str]:
        narrowed = self._narrowed(scope)
        return {} if narrowed is None else self._inner.conversations_by_title(patterns, least, narrowed, limit)

    def turns(self, item_ids: Sequence[int]) -> dict[int, Turn]:
        return self._inner.turns(list(self.get(item_ids)))

    def sort_by_time(self, passage_ids: Sequence[int]) -> list[int]:
        return self._inner.sort_by_time(list(self._passages_here(passage_ids)))

    def count_unlinked(self) -> int:
        return self._inner.count_unlinked()

    # Vectors that are pending.

    def uses_model(self, name: str) -> bool:
        return self._inner.uses_model(name)

    def pending(self, scope: Scope | None = None) -> int:
        if not self._inner.pending():
            return 0
        if scope is None:
            return self._inner.counts(self._here()).pending
        narrowed = self._narrowed(scope)
        return 0 if narrowed is None else self._inner.pending(narrowed)

    def pending_reason(self) -> str | None:
        return self._inner.pending_reason()

    # Events and replies. Replies belong to the caller who got them.

    def events(self, after: str | None, limit: int) -> tuple[Sequence[Event], str]:
        here = self._here()
        events, mark = self._inner.events(after, limit)
        return [event for event in events if event.project == here], mark

    def capture_counts(self) -> Mapping[str, int]:
        """Counted for the whole store only."""
        return {}

    def claim_reply(
        self, claim: RequestClaim, now_ms: int, given_up_ms: int, forgotten_ms: int
    ) -> EarlierRequest | None:
        return self._inner.claim_reply(claim, now_ms, given_up_ms, forgotten_ms)

    def store_reply(self, claim: RequestClaim, answer: SavedReply) -> None:
        self._inner.store_reply(claim, answer)

    def release_claim(self, claim: RequestClaim) -> None:
        self._inner.release_claim(claim)

    # The store itself.

    def snapshot(self, work: Callable[[], _T]) -> _T:
        return self._inner.snapshot(work)

    def check_schema(self) -> int:
        return self._inner.check_schema()

    def size(self) -> int:
        return self._inner.size()

    def describe(self) -> Mapping[str, object]:
        return self._inner.describe()

    def close(self) -> None:
        """Left to whoever opened the store."""
