"""Vectors: the passages that wait for one, the model that makes them, their int8 values, and their signs to scan.

A passage that waits is a job, claimed under a lease by whichever process is alive. The int8 values are the truth; of
them an engine derives signs as bits, 48 bytes a passage, which each process keeps. They are compared by XOR and bit
count, exactly and for all; the nearest few hundred are then scored with their values.

Some models also make token vectors: bytes that only they can read, for comparing a question word by word with a few
candidates.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from commonplace.errors import InvalidInput
from commonplace.model import KINDS, Kind, Scope, VectorHit
from commonplace.store.sql import items
from commonplace.store.sql.connection import IN_LIST, Connection, Space, allow_replica
from commonplace.store.sql.items import NO_PROJECT, filter_of
from commonplace.store.types import MAX_EMBED_TRIES, Job

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Held: TypeAlias = Mapping[int, tuple[float, bytes]]
"""Vectors in memory: the scale and the int8 values of passages."""
_NONE_HELD: Held = {}

# So many of the nearest are scored.
RESCORED = 300
# When more than this share of what was scanned as near is no longer there, the signs are read anew.
GONE_SHARE = 0.25
SCAN_ROWS, SCANS_KEPT = 32_768, 2
# Of a long queue, so many of the newest are looked at to see which are inside a filter.
LOOKED_AT = 5_000
_WAITING = f"space_id = ? AND kind = 'embed' AND tries < {MAX_EMBED_TRIES}"
_NEWEST = f"(SELECT space_id, id, passage_id FROM jobs WHERE {_WAITING} ORDER BY id DESC LIMIT {LOOKED_AT}) j"
_OF_ITEMS = (
    "CROSS JOIN passages p ON p.space_id = j.space_id AND p.id = j.passage_id"
    " CROSS JOIN items i ON i.space_id = p.space_id AND i.id = p.item_id"
)
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


class EmbeddingJobs(Space):
    """The passages of one space that wait for a vector, and the model that makes them."""

    # The number and the dimensions of the model that this store has adopted.
    _model: tuple[int, int] | None = None

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

    def pending(self, scope: Scope | None = None) -> int:
        with self._database.read() as connection:
            if scope is None:
                return pending(connection, self._space_id)
            filter_ = filter_of(connection, self._space_id, scope, self.clock())
            if filter_ is None:
                return 0
            condition, bindings = filter_.sql(connection)
            select = f"SELECT count(*) FROM {_NEWEST} {_OF_ITEMS} WHERE {condition}"
            return int(connection.value(select, (self._space_id, *bindings)))

    def pending_jobs(self, passage_ids: Sequence[int]) -> list[Job]:
        """The jobs of these passages, as far as they wait, in the order of the passages."""
        order = {passage_id: place for place, passage_id in reversed(list(enumerate(passage_ids)))}
        with self._database.read(self._query_timeout) as connection:
            select = f"SELECT id, passage_id FROM jobs WHERE {_WAITING} AND passage_id {IN_LIST}"
            rows = connection.rows(select, (self._space_id, connection.array(order)))
            return _jobs(connection, self._space_id, sorted(rows, key=lambda row: order[row[1]]))

    def newest_pending_jobs(self, scope: Scope, limit: int) -> list[Job]:
        """The newest waiting passages inside a scope, claimed or not."""
        with self._database.read(self._query_timeout) as connection:
            filter_ = filter_of(connection, self._space_id, scope, self.clock())
            if filter_ is None:
                return []
            condition, bindings = filter_.sql(connection)
            select = (
                f"SELECT j.id, j.passage_id FROM {_NEWEST} {_OF_ITEMS} WHERE {condition} ORDER BY j.id DESC LIMIT ?"
            )
            return _jobs(connection, self._space_id, connection.rows(select, (self._space_id, *bindings, limit)))

    @allow_replica
    def token_vectors(self, passage_ids: Sequence[int]) -> dict[int, bytes]:
        """The token vectors of those passages for which this model made some."""
        with self._database.read(self._query_timeout) as connection:
            if self._model is None:
                return {}
            rows = connection.rows(
                "SELECT t.passage_id, t.tokens FROM json_each(?1) j"
                " CROSS JOIN token_vectors t ON t.space_id = ?2 AND t.passage_id = j.value AND t.model_id = ?3",
                (connection.array(sorted(set(passage_ids))), self._space_id, self._model[0]),
                binary=True,
                prepared=True,
            )
            # A damaged row may hold something else.
            return {passage_id: tokens for passage_id, tokens in rows if isinstance(tokens, bytes) and tokens}

    def scan_ahead(self, query: NDArray[np.float32]) -> None:
        """Nothing, unless an engine can begin a search by vector before it is asked for, in another thread."""

    def pending_reason(self) -> str | None:
        """Why the newest waiting passage was given back the last time, whoever tried; None if none was."""
        with self._database.read() as connection:
            newest = f"SELECT error FROM jobs WHERE {_WAITING} ORDER BY id DESC LIMIT 1"
            row = connection.first(newest, (self._space_id,))
        return None if row is None else row[0]

    def _is_current(self, connection: Connection) -> bool:
        """Whether our model is still the one of the space: another process may have changed it."""
        return self._model is not None and current_model(connection, self._space_id) == self._model[0]

    def _add_model(self, connection: Connection, name: str, dim: int) -> int:
        """A model that no space used yet."""
        connection.run("INSERT INTO models (name, dim) VALUES (?, ?) ON CONFLICT DO NOTHING", (name, dim))
        model_id = known_model(connection, name, dim)
        assert model_id is not None
        return model_id

    def _adopt(self, name: str, model_id: int, dim: int) -> None:
        """Search with this model from now on."""
        self._model = (model_id, dim)

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


class SignBits:
    """Sign bits of the vectors of passages, with where these belong. Not for two threads at once."""

    def __init__(self, dim: int) -> None:
        import numpy as np

        self.dim = dim
        # The number of the last row that was read, and how many were.
        self.seen = self.size = 0
        # One row per 64 dimensions: the scan then runs along contiguous memory.
        self._bits = np.empty(((dim + 63) // 64, 0), np.uint64)
        self._passages = np.empty(0, np.int64)
        self._projects = np.empty(0, np.int32)
        self._kinds = np.empty(0, np.uint8)
        # Which kinds there are.
        self._present: set[int] = set()
        self._scanned: dict[tuple[bytes, int], NDArray[np.uint16]] = {}

    def add(
        self,
        last: int,
        passages: Sequence[int] | NDArray[Any],
        projects: Sequence[int] | NDArray[Any],
        kinds: Sequence[int] | NDArray[Any],
        bits: NDArray[np.uint64],
    ) -> None:
        """Take in rows up to the number `last`."""
        start, self.size = self.size, self.size + len(passages)
        self._reserve()
        self._bits[:, start : self.size] = bits.T
        self._passages[start : self.size] = passages
        self._projects[start : self.size] = projects
        self._kinds[start : self.size] = kinds
        self._present.update(self._kinds[start : self.size].tolist())
        self.seen = last

    def nearest(
        self,
        query: NDArray[np.float32],
        projects: Sequence[int],
        kinds: Sequence[Kind],
        among: Sequence[int] | None,
        most: int,
    ) -> list[int]:
        """About so many passages whose signs are nearest, inside these projects and kinds; empty means all."""
        import numpy as np

        wanted = {KINDS.index(kind) for kind in kinds} or self._present
        if self._present.isdisjoint(wanted):
            return []
        distances, passages = self.distances(query), self._passages[: self.size]
        masks = []
        if projects:
            masks.append(np.isin(self._projects[: self.size], projects))
        if not self._present <= wanted:
            is_wanted = np.zeros(256, np.bool_)
            is_wanted[list(wanted)] = True
            masks.append(is_wanted[self._kinds[: self.size]])
        if among is not None:
            masks.append(np.isin(passages, among))
        if not masks:
            return list(dict.fromkeys(passages[_smallest(distances, most)].tolist()))
        inside = np.flatnonzero(np.logical_and.reduce(masks))
        return list(dict.fromkeys(passages[inside[_smallest(distances[inside], most)]].tolist()))

    def _reserve(self) -> None:
        import numpy as np

        if self.size <= len(self._passages):
            return
        room = max(1024, self.size, len(self._passages) * 9 // 8)
        for name in ("_bits", "_passages", "_projects", "_kinds"):
            old: NDArray[Any] = getattr(self, name)
            new = np.empty((*old.shape[:-1], room), old.dtype)
            new[..., : old.shape[-1]] = old
            setattr(self, name, new)

    def distances(self, query: NDArray[np.float32]) -> NDArray[np.uint16]:
        """Differing sign bits per passage. The last ones are kept: one question often asks twice, by kind."""
        import numpy as np

        key = query.tobytes(), self.size
        if (known := self._scanned.get(key)) is not None:
            return known
        signs = pack_bits((query > 0)[None, :])[0]
        distances = np.zeros(self.size, np.uint16)
        for start in range(0, self.size, SCAN_ROWS):
            part = distances[start : start + SCAN_ROWS]
            for row, sign in zip(self._bits, signs, strict=True):
                part += np.bitwise_count(row[start : start + len(part)] ^ sign)
        self._scanned = dict([*self._scanned.items()][1 - SCANS_KEPT :]) | {key: distances}
        return distances


def pending(connection: Connection, space_id: int) -> int:
    """How many passages still wait; those that failed too often do not."""
    return int(connection.value(f"SELECT count(*) FROM jobs WHERE {_WAITING}", (space_id,)))


def known_model(connection: Connection, name: str, dim: int) -> int | None:
    row = connection.first("SELECT id FROM models WHERE name = ? AND dim = ?", (name, dim))
    return None if row is None else int(row[0])


def current_model(connection: Connection, space_id: int) -> int | None:
    """The model whose vectors the space compares."""
    number = connection.get_setting(space_id, "model")
    return None if number is None else int(number)


def quantise(vector: NDArray[np.float32]) -> tuple[float, bytes]:
    """A vector as (scale, int8 bytes)."""
    import numpy as np

    scale = float(np.abs(vector).max()) / 127.0 or 1.0
    return scale, np.rint(vector / scale).astype(np.int8).tobytes()


def score(
    connection: Connection,
    space_id: int,
    model_id: int,
    query: NDArray[np.float32],
    passage_ids: Iterable[int],
    held: Held = _NONE_HELD,
) -> list[tuple[int, float]]:
    """Each of these passages that has a vector with its cosine to the query, best first. Those not `held` are read.

    In a snapshot each is compared once: what is near in meaning is often found by its words too, and in other scopes.
    """
    import numpy as np

    known = connection.once(("cosines", space_id, model_id, query.tobytes()), dict[int, float | None])
    wanted = set(passage_ids)
    if missing := wanted - known.keys():
        known |= dict.fromkeys(missing)
        rows = [(id_, *held[id_]) for id_ in missing if id_ in held]
        if len(rows) < len(missing):
            rows += connection.rows(
                "SELECT v.passage_id, v.scale, v.v FROM json_each(?1) j"
                " CROSS JOIN vectors v ON v.space_id = ?2 AND v.passage_id = j.value AND v.model_id = ?3",
                # In the order in which most were written, so that neighbours are read together.
                (connection.array(sorted(id_ for id_ in missing if id_ not in held)), space_id, model_id),
                binary=True,
                prepared=True,
            )
        if rows:
            ids, scales, blobs = zip(*rows, strict=True)
            values = np.frombuffer(b"".join(blobs), np.int8).reshape(len(rows), len(query))
            known |= zip(ids, _cosines(query, np.asarray(scales, np.float32), values).tolist(), strict=True)
    found = [(cosine, id_) for id_ in wanted if (cosine := known[id_]) is not None]
    found.sort(reverse=True)
    return [(id_, cosine) for cosine, id_ in found]


def vector_hits(
    connection: Connection, space_id: int, model_id: int, scored: Sequence[tuple[int, float]]
) -> list[VectorHit]:
    """Scored passages that still have a vector, with the items that they belong to, in the same order."""
    rows = connection.rows(
        "SELECT p.id, p.item_id FROM json_each(?1) j CROSS JOIN passages p ON p.space_id = ?2 AND p.id = j.value"
        " WHERE EXISTS (SELECT 1 FROM vectors v WHERE v.space_id = ?2 AND v.passage_id = p.id AND v.model_id = ?3)",
        (connection.array(sorted(id_ for id_, _cosine in scored)), space_id, model_id),
        prepared=True,
    )
    item_of = dict(rows)
    return [VectorHit(id_, item_of[id_], cosine) for id_, cosine in scored if id_ in item_of]


def by_cosine(
    query: NDArray[np.float32], passage_ids: Sequence[int], scales: NDArray[np.float32], values: NDArray[np.int8]
) -> list[tuple[int, float]]:
    """Passages with the cosines of their vectors to the query, best first."""
    import numpy as np

    found = _cosines(query, scales, values)
    ids = np.asarray(passage_ids, np.int64)
    order = np.lexsort((-ids, -found))
    return list(zip(ids[order].tolist(), found[order].tolist(), strict=True))


def _cosines(query: NDArray[np.float32], scales: NDArray[np.float32], values: NDArray[np.int8]) -> NDArray[np.float32]:
    import numpy as np

    found: NDArray[np.float32] = np.clip(values.astype(np.float32) @ query * scales, -1.0, 1.0)
    return found


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


def pack_bits(signs: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Rows of booleans as rows of 64-bit words."""
    import numpy as np

    short = -signs.shape[1] % 64
    if short:
        signs = np.pad(signs, ((0, 0), (0, short)))
    return np.packbits(signs, axis=1).view(np.uint64)


def _smallest(distances: NDArray[np.uint16], k: int) -> NDArray[np.intp]:
    """Positions of the `k` smallest and all that tie with the last, bounded to twice `k`."""
    import numpy as np

    if len(distances) <= k:
        return np.arange(len(distances))
    within = np.cumsum(np.bincount(distances))
    limit = int(np.searchsorted(within, k))
    below = np.flatnonzero(distances < limit)
    return np.concatenate([below, np.flatnonzero(distances == limit)[-(2 * k - len(below)) :]])
