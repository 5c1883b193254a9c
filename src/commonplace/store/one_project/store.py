"""The narrowed store: questions are narrowed to the project, answers checked against it, writings end in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from commonplace.errors import Conflict, NotFound
from commonplace.identity import Ref, ref
from commonplace.model import Change, Draft, Item, Kind, PassageText, Project, Scope, Session, Stored, VectorHit
from commonplace.store.links import Edge
from commonplace.store.one_project.conversations import Conversations
from commonplace.store.one_project.records import Records
from commonplace.store.one_project.streams import Streams
from commonplace.store.one_project.topics import Topics
from commonplace.store.one_project.whole import Whole
from commonplace.store.periods import Happening
from commonplace.store.protocol import Counts, Job, TextAnswer
from commonplace.store.turns import Turn
from commonplace.text.query import Query, Word

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray


class OneProject(Conversations, Records, Streams, Topics, Whole):
    """The part of another store that belongs to one project."""

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
    ) -> Item:
        self._checked(item_id, *(() if supersedes is None else (supersedes,)))
        return self._inner.rewrite(item_id, self._placed(draft), now_ms, expect_rev, supersedes)

    def forget(self, item_ids: Sequence[int], now_ms: int) -> list[int]:
        self._checked(*item_ids)
        return self._inner.forget(item_ids, now_ms)

    def restore(self, item_ids: Sequence[int], now_ms: int) -> list[int]:
        self._checked(*item_ids)
        return self._inner.restore(item_ids, now_ms)

    def supersede(self, old_id: int, new_id: int, now_ms: int) -> None:
        self._checked(old_id, new_id)
        self._inner.supersede(old_id, new_id, now_ms)

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

    def around(self, anchor: Item, before: int, after: int, scope: Scope) -> list[Item]:
        self._checked(anchor.id)
        narrowed = self._narrowed(scope)
        return [anchor] if narrowed is None else self._inner.around(anchor, before, after, narrowed)

    def happened(self, scope: Scope, from_ms: int, to_ms: int, limit: int) -> list[Happening]:
        narrowed = self._narrowed(scope)
        return [] if narrowed is None else self._inner.happened(narrowed, from_ms, to_ms, limit)

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

    def alias_project(self, name: str, alias: str) -> None:
        self._refuse("gives no names to projects")

    def counts(self, project: str | None = None) -> Counts:
        if not self._means_here(project):
            return Counts({}, 0, 0, 0, 0, 0, 0, 0)
        return self._inner.counts(self._here())

    # Finding.

    def search_text(
        self, query: Query, scope: Scope, k: int, also: Sequence[int] = (), *, shares: bool = True
    ) -> TextAnswer:
        narrowed = self._narrowed(scope)
        if narrowed is None:
            return TextAnswer((), {}, 0)
        return self._inner.search_text(query, narrowed, k, list(self._passages_here(also)), shares=shares)

    def search_vectors(self, query: NDArray[float32], scope: Scope, k: int) -> list[VectorHit]:
        narrowed = self._narrowed(scope)
        return [] if narrowed is None else self._inner.search_vectors(query, narrowed, k)

    def cosines(self, query: NDArray[float32], passage_ids: Sequence[int]) -> dict[int, float]:
        return self._inner.cosines(query, list(self._passages_here(passage_ids)))

    def passages_of(self, item_ids: Sequence[int]) -> dict[int, list[int]]:
        return self._inner.passages_of(list(self.get(item_ids)))

    def passage_texts(self, passage_ids: Sequence[int]) -> dict[int, PassageText]:
        return self._passages_here(passage_ids)

    def waiting_jobs(self, passage_ids: Sequence[int]) -> list[Job]:
        ours = self._passages_here(passage_ids)
        return self._inner.waiting_jobs([id_ for id_ in passage_ids if id_ in ours])

    def newest_waiting(self, scope: Scope, limit: int) -> list[Job]:
        narrowed = self._narrowed(scope)
        return [] if narrowed is None else self._inner.newest_waiting(narrowed, limit)

    def neighbours(self, passage_ids: Sequence[int], most_each: int, project: str | None = None) -> list[Edge]:
        if not self._means_here(project):
            return []
        return self._inner.neighbours(passage_ids, most_each, self._here())

    def speakers(self, words: Sequence[Word], project: str | None = None) -> list[Word]:
        return self._inner.speakers(words, self._here()) if self._means_here(project) else []

    def titled(self, patterns: Sequence[str], least: int, scope: Scope, limit: int) -> dict[int, str]:
        narrowed = self._narrowed(scope)
        return {} if narrowed is None else self._inner.titled(patterns, least, narrowed, limit)

    def turns(self, item_ids: Sequence[int]) -> dict[int, Turn]:
        return self._inner.turns(list(self.get(item_ids)))

    def in_order(self, passage_ids: Sequence[int]) -> list[int]:
        return self._inner.in_order(list(self._passages_here(passage_ids)))
