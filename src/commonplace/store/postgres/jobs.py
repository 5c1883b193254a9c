"""Passages that wait for a vector, claimed under a lease by whichever server is alive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from commonplace.model import KINDS
from commonplace.store.postgres import passages, sql, vector_search
from commonplace.store.postgres.pool import Connection
from commonplace.store.postgres.scope import NO_PROJECT, Filter
from commonplace.store.postgres.vector_values import quantised
from commonplace.store.types import Job

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

# Also written in the index `jobs_waiting`.
MAX_TRIES = 5

_WAITING = f"space_id = %(space)s AND kind = 'embed' AND tries < {MAX_TRIES}"
# Of a long queue, so many of the newest are looked at to see which are inside a filter.
SEEN = 5_000
_NEWEST = (
    f"SELECT space_id, id, passage_id FROM jobs WHERE space_id = %s AND kind = 'embed' AND tries < {MAX_TRIES}"
    f" ORDER BY id DESC LIMIT {SEEN}"
)
_OF_ITEMS = (
    "JOIN passages p ON p.space_id = j.space_id AND p.id = j.passage_id"
    " JOIN items i ON i.space_id = p.space_id AND i.id = p.item_id"
)
_QUEUE = "INSERT INTO jobs (space_id, kind, passage_id)"


def claim(connection: Connection, space_id: int, owner: str, limit: int, now_ms: int, lease_ms: int) -> list[Job]:
    """Lease the newest waiting passages: what was just said is what will be asked about."""
    rows = sql.rows(
        connection,
        # A lease that ends long after one taken now would is from a clock that was wrong. The jobs are chosen once: a
        # plan that chose them again for each row would choose others each time.
        f"""
        WITH chosen AS MATERIALIZED (
             SELECT id FROM jobs WHERE {_WAITING}
                AND lease_until_ms NOT BETWEEN %(now)s + 1 AND %(now)s + 2 * %(lease)s
              ORDER BY id DESC LIMIT %(limit)s FOR UPDATE SKIP LOCKED)
        UPDATE jobs SET owner = %(owner)s, lease_until_ms = %(now)s + %(lease)s, tries = tries + 1
         WHERE space_id = %(space)s AND id IN (SELECT id FROM chosen)
        RETURNING id, passage_id
        """,
        {"space": space_id, "owner": owner, "now": now_ms, "lease": lease_ms, "limit": limit},
    )
    return _jobs(connection, space_id, sorted(rows))


def finish(
    connection: Connection,
    space_id: int,
    model_id: int,
    jobs: Sequence[Job],
    vectors: NDArray[float32],
    owner: str | None,
) -> int:
    """Store the vectors of jobs that are still ours, or still there if no owner is given.

    A passage that changed meanwhile has another job, and is left to others.
    """
    mine = dict(
        sql.rows(
            connection,
            "DELETE FROM jobs WHERE space_id = %s AND (%s::text IS NULL OR owner = %s) AND id = ANY(%s::bigint[])"
            " RETURNING id, passage_id",
            (space_id, owner, owner, [job.id for job in jobs]),
        )
    )
    where = {
        passage_id: (project_id or NO_PROJECT, KINDS.index(kind))
        for passage_id, project_id, kind in sql.rows(
            connection,
            "SELECT p.id, i.project_id, i.kind"
            "  FROM passages p JOIN items i ON i.space_id = p.space_id AND i.id = p.item_id"
            " WHERE p.space_id = %s AND p.id = ANY(%s::bigint[])",
            (space_id, list(mine.values())),
        )
    }
    made = []
    for job, vector in zip(jobs, vectors, strict=True):
        if job.id in mine:
            made.append((space_id, model_id, job.passage.id, *where[job.passage.id], *quantised(vector)))
    sql.run(
        connection,
        "DELETE FROM vectors WHERE space_id = %s AND passage_id = ANY(%s::bigint[])",
        (space_id, list(mine.values())),
    )
    sql.each(
        connection,
        "INSERT INTO vectors (space_id, model_id, passage_id, project_id, kind, scale, v, bits)"
        " VALUES (%s, %s, %s, %s, %s, %s, %s, %s::varbit)",
        made,
    )
    if made:
        vector_search.catch_up(connection, space_id, model_id, 2 * len(made))
    return len(made)


def release(connection: Connection, space_id: int, jobs: Sequence[Job], owner: str, error: str) -> None:
    """Give leases back, with the reason. It was not the jobs' fault, so it does not count as a try."""
    sql.run(
        connection,
        "UPDATE jobs SET lease_until_ms = 0, owner = NULL, error = %s, tries = tries - 1"
        " WHERE space_id = %s AND owner = %s AND id = ANY(%s::bigint[])",
        (error, space_id, owner, [job.id for job in jobs]),
    )


def requeue_embeddings(connection: Connection, space_id: int) -> int:
    """Queue every passage of a live item, failed ones too. Returns how many wait."""
    _forgive(connection, space_id)
    sql.run(
        connection,
        f"{_QUEUE} SELECT p.space_id, 'embed', p.id"
        "  FROM passages p JOIN items i ON i.space_id = p.space_id AND i.id = p.item_id"
        " WHERE p.space_id = %s AND i.forgotten_ms IS NULL AND i.superseded_by IS NULL ON CONFLICT DO NOTHING",
        (space_id,),
    )
    return pending(connection, space_id)


def pending(connection: Connection, space_id: int) -> int:
    """How many passages still wait; those that failed too often do not."""
    return int(sql.value(connection, f"SELECT count(*) FROM jobs WHERE {_WAITING}", {"space": space_id}))


def pending_inside(connection: Connection, space_id: int, filter_: Filter) -> int:
    """How many of the newest waiting passages are inside a filter."""
    condition, bindings = filter_.sql()
    question = f"SELECT count(*) FROM ({_NEWEST}) j {_OF_ITEMS} WHERE {condition}"
    return int(sql.value(connection, question, (space_id, *bindings)))


def waiting_for(connection: Connection, space_id: int, passage_ids: Sequence[int]) -> list[Job]:
    """The jobs of these passages, as far as they wait, in the order of the passages."""
    place = {passage_id: place for place, passage_id in reversed(list(enumerate(passage_ids)))}
    rows = sql.rows(
        connection,
        f"SELECT id, passage_id FROM jobs WHERE {_WAITING} AND passage_id = ANY(%(passages)s::bigint[])",
        {"space": space_id, "passages": list(place)},
    )
    return _jobs(connection, space_id, sorted(rows, key=lambda row: place[row[1]]))


def newest_pending_jobs(connection: Connection, space_id: int, filter_: Filter, limit: int) -> list[Job]:
    """The newest waiting passages inside a filter, claimed or not."""
    condition, bindings = filter_.sql()
    question = f"SELECT j.id, j.passage_id FROM ({_NEWEST}) j {_OF_ITEMS} WHERE {condition} ORDER BY j.id DESC LIMIT %s"
    return _jobs(connection, space_id, sql.rows(connection, question, (space_id, *bindings, limit)))


def _jobs(connection: Connection, space_id: int, rows: Sequence[tuple[int, int]]) -> list[Job]:
    texts = passages.in_context(connection, space_id, [row[1] for row in rows])
    return [Job(job_id, *texts[passage_id]) for job_id, passage_id in rows if passage_id in texts]


def pending_reason(connection: Connection, space_id: int) -> str | None:
    """Why the newest waiting passage was given back the last time, whichever server tried; None if none was."""
    newest = f"SELECT error FROM jobs WHERE {_WAITING} ORDER BY id DESC LIMIT 1"
    row = sql.first(connection, newest, {"space": space_id})
    return None if row is None else row[0]


def use_model(connection: Connection, space_id: int, model_id: int) -> None:
    """Make this the space's model. Passages whose vectors another model made are queued again, failed ones too."""
    if current_model(connection, space_id) == model_id:
        return
    sql.run(
        connection,
        "INSERT INTO meta (space_id, key, value) VALUES (%s, 'model', %s)"
        " ON CONFLICT (space_id, key) DO UPDATE SET value = excluded.value",
        (space_id, str(model_id)),
    )
    _forgive(connection, space_id)
    sql.run(
        connection,
        f"{_QUEUE} SELECT space_id, 'embed', passage_id FROM vectors WHERE space_id = %s AND model_id <> %s"
        " ON CONFLICT DO NOTHING",
        (space_id, model_id),
    )


def _forgive(connection: Connection, space_id: int) -> None:
    sql.run(connection, "UPDATE jobs SET tries = 0 WHERE space_id = %s AND kind = 'embed'", (space_id,))


def add_model(connection: Connection, name: str, dim: int) -> int:
    """A model that no space used yet, with the index for its vectors. Asked by the owner of the tables."""
    sql.run(connection, "INSERT INTO models (name, dim) VALUES (%s, %s) ON CONFLICT DO NOTHING", (name, dim))
    vector_search.add_index(connection, dim)
    model_id = known_model(connection, name, dim)
    assert model_id is not None
    return model_id


def known_model(connection: Connection, name: str, dim: int) -> int | None:
    row = sql.first(connection, "SELECT id FROM models WHERE name = %s AND dim = %s", (name, dim))
    return None if row is None else int(row[0])


def current_model(connection: Connection, space_id: int) -> int | None:
    """The model whose vectors the space compares."""
    row = sql.first(
        connection, "SELECT value FROM meta WHERE space_id = %s AND key = 'model'", (space_id,), prepared=True
    )
    return None if row is None else int(row[0])


def current_name(connection: Connection, space_id: int) -> str | None:
    """That model's name."""
    row = sql.first(connection, "SELECT name FROM models WHERE id = %s", (current_model(connection, space_id),))
    return None if row is None else str(row[0])
