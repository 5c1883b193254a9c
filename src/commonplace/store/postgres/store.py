"""The PostgreSQL engine: each method is one transaction over the statements of its neighbours."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from commonplace.errors import InvalidInput
from commonplace.identity import Ref
from commonplace.model import (
    Change,
    Draft,
    Item,
    PassageText,
    Scope,
    Stored,
    VectorHit,
)
from commonplace.store.postgres import (
    bm25,
    changes,
    counts,
    fulltext,
    hiding,
    items,
    jobs,
    passages,
    sql,
    vector_search,
    writing,
)
from commonplace.store.postgres.captures import Captures
from commonplace.store.postgres.conversations import Conversations
from commonplace.store.postgres.integrity import Integrity
from commonplace.store.postgres.periods import Periods
from commonplace.store.postgres.pool import Connection
from commonplace.store.postgres.records import Records
from commonplace.store.postgres.scope import resolve
from commonplace.store.postgres.scrubbing import Scrubbing
from commonplace.store.postgres.space import use_replicas
from commonplace.store.postgres.streams import Streams
from commonplace.store.postgres.turns import Turns
from commonplace.store.postgres.upkeep import Upkeep
from commonplace.store.sql import projects
from commonplace.store.sql.api_keys import ApiKeys
from commonplace.store.sql.events import Events
from commonplace.store.sql.links import Links
from commonplace.store.sql.projects import Projects
from commonplace.store.sql.replies import Replies
from commonplace.store.sql.sources import Sources
from commonplace.store.sql.space import allow_replica
from commonplace.store.sql.spaces import Spaces
from commonplace.store.sql.topics import Topics
from commonplace.store.types import Counts, Job, TextAnswer
from commonplace.text.query import Query

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray


@use_replicas
class PostgresStore(
    Captures,
    Conversations,
    ApiKeys,
    Links,
    Events,
    Periods,
    Projects,
    Records,
    Replies,
    Scrubbing,
    Integrity,
    Sources,
    Spaces,
    Streams,
    Topics,
    Turns,
    Upkeep,
):
    """One space of one PostgreSQL database, shared with any number of other servers."""

    _model: tuple[int, int] | None = None
    _nearest: vector_search.Nearest | None = None

    @functools.cached_property
    def _remembered(self) -> bm25.CountCache:
        return bm25.CountCache()

    # Writing.

    def put(self, drafts: Sequence[Draft], now_ms: int) -> list[Stored]:
        with self._database.write() as connection:
            stored = writing.put_all(connection, self._space_id, drafts, now_ms)
        self._database.wrote(len(stored))
        return stored

    def rewrite(
        self,
        item_id: int,
        draft: Draft,
        now_ms: int,
        expect_rev: int | None = None,
        supersedes: int | None = None,
    ) -> Item:
        with self._database.write() as connection:
            item = changes.rewrite(connection, self._space_id, item_id, draft, now_ms, expect_rev)
            if supersedes is not None:
                changes.supersede(connection, self._space_id, supersedes, item_id, now_ms)
            return item

    def forget(self, item_ids: Sequence[int], now_ms: int) -> list[int]:
        with self._database.write() as connection:
            return hiding.forget(connection, self._space_id, item_ids, now_ms)

    def restore(self, item_ids: Sequence[int], now_ms: int) -> list[int]:
        with self._database.write() as connection:
            return hiding.restore(connection, self._space_id, item_ids, now_ms)

    def supersede(self, old_id: int, new_id: int, now_ms: int) -> None:
        with self._database.write() as connection:
            changes.supersede(connection, self._space_id, old_id, new_id, now_ms)

    # Reading.

    def resolve(self, refs: Sequence[Ref]) -> list[int | None]:
        with self._database.read() as connection:
            return [items.resolve(connection, self._space_id, ref) for ref in refs]

    def get(self, item_ids: Iterable[int]) -> dict[int, Item]:
        with self._database.read() as connection:
            return items.get(connection, self._space_id, item_ids)

    @allow_replica
    def newest(self, scope: Scope, limit: int, before: tuple[int, int] | None = None) -> list[Item]:
        with self._database.read(self._query_timeout) as connection:
            filter_ = resolve(connection, self._space_id, scope)
            return [] if filter_ is None else items.newest(connection, self._space_id, filter_, limit, before)

    @allow_replica
    def around(self, anchor: Item, before: int, after: int, scope: Scope) -> list[Item]:
        with self._database.read(self._query_timeout) as connection:
            filter_ = resolve(connection, self._space_id, scope)
            if filter_ is None:
                return [anchor]
            return items.around(connection, self._space_id, anchor, before, after, filter_)

    def history(self, item_id: int) -> list[Change]:
        with self._database.read() as connection:
            return items.history(connection, self._space_id, item_id)

    def superseded(self, item_id: int) -> list[int]:
        with self._database.read() as connection:
            return items.superseded(connection, self._space_id, item_id)

    @allow_replica
    def counts(self, project: str | None = None) -> Counts:
        with self._database.read() as connection:
            if project is None:
                return counts.of_space(connection, self._space_id)
            return counts.of_projects(connection, self._space_id, projects.find(connection, self._space_id, project))

    # Finding.

    @allow_replica
    def search_text(
        self, query: Query, scope: Scope, k: int, also: Sequence[int] = (), *, shares: bool = True
    ) -> TextAnswer:
        with self._database.read(self._query_timeout) as connection:
            filter_ = resolve(connection, self._space_id, scope)
            if filter_ is None:
                return TextAnswer((), {}, 0)
            known = self._remembered
            return fulltext.search(connection, self._space_id, known, query, filter_, k, also, shares=shares)

    @allow_replica
    def search_vectors(self, query: NDArray[float32], scope: Scope, k: int) -> list[VectorHit]:
        with self._database.read(self._query_timeout) as connection:
            filter_ = resolve(connection, self._space_id, scope)
            if filter_ is None or self._nearest is None:
                return []
            return self._nearest(connection, query, filter_, k, self._database.breaks, self._database.moment)

    @allow_replica
    def cosines(self, query: NDArray[float32], passage_ids: Sequence[int]) -> dict[int, float]:
        with self._database.read(self._query_timeout) as connection:
            if self._nearest is None:
                return {}
            return dict(self._nearest.cosines(connection, query, passage_ids, self._database.moment))

    def passages_of(self, item_ids: Sequence[int]) -> dict[int, list[int]]:
        with self._database.read() as connection:
            return passages.of_items(connection, self._space_id, item_ids)

    def passage_texts(self, passage_ids: Sequence[int]) -> dict[int, PassageText]:
        with self._database.read() as connection:
            return passages.texts(connection, self._space_id, passage_ids)

    # Work that comes later.

    def use_model(self, name: str, dim: int, patience: float | None = None) -> None:
        with self._database.read() as connection:
            model = jobs.known_model(connection, name, dim)
            settled = model is not None and jobs.current_model(connection, self._space_id) == model
        if model is None:
            with self._database.admin_write() as connection:
                model = jobs.add_model(connection, name, dim)
        if not settled:
            with self._database.write(patience) as connection:
                jobs.use_model(connection, self._space_id, model)
        if self._model != (model, dim):
            self._model, self._nearest = (model, dim), vector_search.Nearest(self._space_id, model, dim)

    def uses_model(self, name: str) -> bool:
        with self._database.read() as connection:
            return jobs.current_name(connection, self._space_id) == name

    def claim_jobs(
        self, owner: str, limit: int, now_ms: int, lease_ms: int, patience: float | None = None
    ) -> list[Job]:
        with self._database.write(patience, alone=False) as connection:
            if self._model is not None and not self._is_current(connection):
                return []
            return jobs.claim(connection, self._space_id, owner, limit, now_ms, lease_ms)

    def finish_jobs(
        self, done: Sequence[Job], made: NDArray[float32], owner: str | None, patience: float | None = None
    ) -> int:
        if self._model is not None and made.shape != (len(done), self._model[1]):
            raise InvalidInput(
                f"Vectors of shape {made.shape} do not fit {len(done)} jobs of {self._model[1]} dimensions."
            )
        with self._database.write(patience) as connection:
            if self._model is None or not self._is_current(connection):
                return 0
            finished = jobs.finish(connection, self._space_id, self._model[0], done, made, owner)
        self._database.wrote(finished)
        return finished

    def release_jobs(self, given_up: Sequence[Job], owner: str, error: str, patience: float | None = None) -> None:
        with self._database.write(patience) as connection:
            jobs.release(connection, self._space_id, given_up, owner, error)

    def requeue_embeddings(self) -> int:
        with self._database.write() as connection:
            return jobs.requeue_embeddings(connection, self._space_id)

    def pending(self, scope: Scope | None = None) -> int:
        with self._database.read() as connection:
            if scope is None:
                return jobs.pending(connection, self._space_id)
            filter_ = resolve(connection, self._space_id, scope)
            return 0 if filter_ is None else jobs.pending_inside(connection, self._space_id, filter_)

    def pending_jobs(self, passage_ids: Sequence[int]) -> list[Job]:
        with self._database.read(self._query_timeout) as connection:
            return jobs.waiting_for(connection, self._space_id, passage_ids)

    def newest_pending_jobs(self, scope: Scope, limit: int) -> list[Job]:
        with self._database.read(self._query_timeout) as connection:
            filter_ = resolve(connection, self._space_id, scope)
            return [] if filter_ is None else jobs.newest_pending_jobs(connection, self._space_id, filter_, limit)

    def pending_reason(self) -> str | None:
        with self._database.read() as connection:
            return jobs.pending_reason(connection, self._space_id)

    # Keeping.

    def size(self) -> int:
        with self._database.read() as connection:
            return counts.size(connection)

    def describe(self) -> Mapping[str, object]:
        with self._database.read() as connection:
            return {
                "engine": "postgres",
                "version": sql.value(connection, "SHOW server_version"),
                "path": self._database.place,
                "schema": self.schema,
                "row_security": self._database.confined,
                "connections": self._database.connections(),
                **({"replicas": self._database.replicas.states()} if self._database.replicas else {}),
            }

    def for_space(self, name: str) -> PostgresStore:
        return PostgresStore(**self._opened, space=name, migrate=False)

    def close(self) -> None:
        self._database.close()

    def _is_current(self, connection: Connection) -> bool:
        """Whether our model is still the one of the space: another server may have changed it."""
        return self._model is not None and jobs.current_model(connection, self._space_id) == self._model[0]
