"""The passages that wait for a vector, and the model that makes them.

A passage that waits is a job, claimed under a lease by whichever process is alive.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from commonplace.errors import InvalidInput
from commonplace.model import KINDS, Scope
from commonplace.store.sql import items
from commonplace.store.sql.connection import IN_LIST, Connection
from commonplace.store.sql.items import NO_PROJECT, filter_of
from commonplace.store.sql.vectors import (
    NEWEST_WAITING,
    OF_ITEMS,
    WAITING,
    SpaceVectors,
    current_model,
    known_model,
    pending,
    quantise,
)
from commonplace.store.types import MAX_EMBED_TRIES, Job

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_QUEUE = "INSERT INTO jobs (space_id, kind, passage_id)"
# A lease that ends long after one taken now would is from a clock that was wrong. The jobs are chosen once: a plan that
# chose them again for each row would choose others each time.
_CLAIM = f"""
WITH chosen AS MATERIALIZED (
     SELECT id FROM jobs WHERE space_id = :space AND kind = 'embed' AND tries < {MAX_EMBED_TRIES}
        AND lease_until_ms NOT BETWEEN :now + 1 AND :now + 2 * :lease
      ORDER BY id DESC LIMIT :limit {{skip_locked}})
UPDATE jobs SET owner = :owner, lease_until_ms = :now + :lease, tries = tries + 1
 WHERE +space_id = :space AND id IN (SELECT id FROM chosen)
RETURNING id, passage_id
"""
_STORE_TOKENS = (
    "INSERT INTO token_vectors (space_id, passage_id, model_id, tokens) VALUES (?, ?, ?, ?)"
    " ON CONFLICT (/*pg space_id, */ passage_id) DO UPDATE"
    " SET space_id = excluded.space_id, model_id = excluded.model_id, tokens = excluded.tokens"
)


class EmbeddingJobs(SpaceVectors):
    """The passages of one space that wait for a vector, and the model that makes them."""

    def use_model(self, name: str, dim: int, patience: float | None = None) -> None:
        with self._database.read() as connection:
            model = known_model(connection, name, dim)
            current = model is not None and current_model(connection, self._space_id) == model
        if model is None:
            with self._database.admin_write(patience) as connection:
                model = self._add_model(connection, name, dim)
        if not current:
            with self._database.write(patience) as connection:
                _use_model(connection, self._space_id, model)
        self._adopt(name, model, dim)

    def uses_model(self, name: str) -> bool:
        with self._database.read() as connection:
            model = current_model(connection, self._space_id)
            row = connection.first("SELECT name FROM models WHERE id = ?", (model,))
            return row is not None and row[0] == name

    def claim_jobs(
        self, owner: str, limit: int, now_ms: int, lease_ms: int, patience: float | None = None
    ) -> list[Job]:
        """Lease the newest waiting passages: what was just said is what will be asked about."""
        with self._database.write(patience, alone=False) as connection:
            if self._model is not None and not self._is_current(connection):
                return []
            rows = connection.rows(
                _CLAIM.format(skip_locked=connection.skip_locked),
                {"space": self._space_id, "owner": owner, "now": now_ms, "lease": lease_ms, "limit": limit},
            )
            return _jobs(connection, self._space_id, sorted(rows))

    def finish_jobs(
        self,
        jobs: Sequence[Job],
        vectors: NDArray[np.float32],
        owner: str | None,
        patience: float | None = None,
        tokens: Sequence[bytes] = (),
    ) -> int:
        if tokens and len(tokens) != len(jobs):
            raise InvalidInput(f"{len(tokens)} token vectors do not fit {len(jobs)} jobs.")
        if self._model is not None and vectors.shape != (len(jobs), self._model[1]):
            raise InvalidInput(
                f"Vectors of shape {vectors.shape} do not fit {len(jobs)} jobs of {self._model[1]} dimensions."
            )
        with self._database.write(patience) as connection:
            if self._model is None or not self._is_current(connection):
                return 0
            finished = self._finish(connection, self._model[0], jobs, vectors, owner, tokens)
        self._database.wrote(finished)
        return finished

    def release_jobs(self, jobs: Sequence[Job], owner: str, error: str, patience: float | None = None) -> None:
        """Give leases back, with the reason. It was not the jobs' fault, so it does not count as a try."""
        with self._database.write(patience) as connection:
            connection.run(
                "UPDATE jobs SET lease_until_ms = 0, owner = NULL, error = ?, tries = tries - 1"
                f" WHERE +space_id = ? AND owner = ? AND id {IN_LIST}",
                (error, self._space_id, owner, connection.array(job.id for job in jobs)),
            )

    def requeue_embeddings(self) -> int:
        """Queue every passage of a live item, failed ones too. Returns how many wait."""
        with self._database.write() as connection:
            _forgive(connection, self._space_id)
            connection.run(
                f"{_QUEUE} SELECT p.space_id, 'embed', p.id"
                "  FROM passages p JOIN items i ON i.space_id = p.space_id AND i.id = p.item_id"
                " WHERE p.space_id = ? AND i.forgotten_ms IS NULL AND i.superseded_by IS NULL ON CONFLICT DO NOTHING",
                (self._space_id,),
            )
            return pending(connection, self._space_id)

    def pending_jobs(self, passage_ids: Sequence[int]) -> list[Job]:
        """The jobs of these passages, as far as they wait, in the order of the passages."""
        order = {passage_id: place for place, passage_id in reversed(list(enumerate(passage_ids)))}
        with self._database.read(self._query_timeout) as connection:
            select = f"SELECT id, passage_id FROM jobs WHERE {WAITING} AND passage_id {IN_LIST}"
            rows = connection.rows(select, (self._space_id, connection.array(order)))
            return _jobs(connection, self._space_id, sorted(rows, key=lambda row: order[row[1]]))

    def newest_pending_jobs(self, scope: Scope, limit: int) -> list[Job]:
        """The newest waiting passages inside a scope, claimed or not."""
        with self._database.read(self._query_timeout) as connection:
            filter_ = filter_of(connection, self._space_id, scope, self.clock())
            if filter_ is None:
                return []
            condition, bindings = filter_.sql(connection)
            select = f"SELECT j.id, j.passage_id FROM {NEWEST_WAITING} {OF_ITEMS} WHERE {condition}"
            select += " ORDER BY j.id DESC LIMIT ?"
            return _jobs(connection, self._space_id, connection.rows(select, (self._space_id, *bindings, limit)))

    def pending_reason(self) -> str | None:
        """Why the newest waiting passage was given back the last time, whoever tried; None if none was."""
        with self._database.read() as connection:
            newest = f"SELECT error FROM jobs WHERE {WAITING} ORDER BY id DESC LIMIT 1"
            row = connection.first(newest, (self._space_id,))
        return None if row is None else row[0]

    def _add_model(self, connection: Connection, name: str, dim: int) -> int:
        """A model that no space used yet."""
        connection.run("INSERT INTO models (name, dim) VALUES (?, ?) ON CONFLICT DO NOTHING", (name, dim))
        model_id = known_model(connection, name, dim)
        assert model_id is not None
        return model_id

    def _finish(
        self,
        connection: Connection,
        model_id: int,
        jobs: Sequence[Job],
        vectors: NDArray[np.float32],
        owner: str | None,
        tokens: Sequence[bytes],
    ) -> int:
        """Store the vectors of jobs that are still ours, or still there if no owner is given.

        A passage that changed meanwhile has another job, and is left to others.
        """
        mine = dict(
            connection.rows(
                "DELETE FROM jobs WHERE +space_id = ? AND (CAST(? AS text) IS NULL OR owner = ?)"
                f" AND id {IN_LIST} RETURNING id, passage_id",
                (self._space_id, owner, owner, connection.array(job.id for job in jobs)),
            )
        )
        here = (self._space_id, connection.array(mine.values()))
        belongs = {
            passage_id: (project_id or NO_PROJECT, KINDS.index(kind))
            for passage_id, project_id, kind in connection.rows(
                "SELECT p.id, i.project_id, i.kind"
                "  FROM passages p JOIN items i ON i.space_id = p.space_id AND i.id = p.item_id"
                f" WHERE +p.space_id = ? AND p.id {IN_LIST}",
                here,
            )
        }
        made = [
            (job.passage.id, *belongs[job.passage.id], *quantise(vector))
            for job, vector in zip(jobs, vectors, strict=True)
            if job.id in mine
        ]
        connection.run(f"DELETE FROM vectors WHERE space_id = ? AND passage_id {IN_LIST}", here)
        self._insert_vectors(connection, model_id, made)
        made_tokens = zip(jobs, tokens, strict=False)
        connection.run_all(
            _STORE_TOKENS,
            [(self._space_id, job.passage.id, model_id, value) for job, value in made_tokens if job.id in mine],
        )
        return len(made)

    def _insert_vectors(self, connection: Connection, model_id: int, made: Sequence[tuple[Any, ...]]) -> None:
        """Write vectors (passage, project, kind, scale, int8 values)."""
        connection.run_all(
            "INSERT INTO vectors (space_id, model_id, passage_id, project_id, kind, scale, v)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            [(self._space_id, model_id, *one) for one in made],
        )


def _use_model(connection: Connection, space_id: int, model_id: int) -> None:
    """Make this the space's model. Passages whose vectors another model made are queued again, failed ones too."""
    if current_model(connection, space_id) == model_id:
        return
    connection.set_setting(space_id, "model", str(model_id))
    _forgive(connection, space_id)
    connection.run(
        f"{_QUEUE} SELECT space_id, 'embed', passage_id FROM vectors WHERE space_id = ? AND model_id <> ?"
        " ON CONFLICT DO NOTHING",
        (space_id, model_id),
    )


def _forgive(connection: Connection, space_id: int) -> None:
    connection.run("UPDATE jobs SET tries = 0 WHERE space_id = ? AND kind = 'embed'", (space_id,))


def _jobs(connection: Connection, space_id: int, rows: Sequence[tuple[int, int]]) -> list[Job]:
    found = items.passages_in_context(connection, space_id, [row[1] for row in rows])
    return [Job(job_id, *found[passage_id]) for job_id, passage_id in rows if passage_id in found]
