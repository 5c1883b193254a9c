"""The topics of one project. Building them is work for the whole store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from commonplace.store.one_project.place import Place
from commonplace.store.topics import Grown, Known, Member, Points, Topic

_WORK = "does no work for others"


class Topics(Place):
    """The part of a narrowed store about topics. They never span projects, so their names tell of no other."""

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

    def grown_topics(self) -> list[Grown]:
        return []

    def points(self, place: int, after: int, limit: int) -> Points:
        self._refuse(_WORK)

    def known_topics(self, place: int) -> Known | None:
        self._refuse(_WORK)

    def topic_members(self, place: int) -> Mapping[int, int]:
        self._refuse(_WORK)

    def extend_topics(self, place: int, known: Known, members: Sequence[Member], last: int) -> bool:
        self._refuse(_WORK)

    def claim_topics(self, place: int, owner: str, now_ms: int, lease_ms: int) -> bool:
        self._refuse(_WORK)

    def replace_topics(
        self, place: int, owner: str, built: Known, members: Sequence[Member], vectors: int, now_ms: int
    ) -> bool:
        self._refuse(_WORK)
