"""Passages that wait for a vector, claimed under a lease by whichever process is alive."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from commonplace.model import KINDS
from commonplace.store.sqlite import passages
from commonplace.store.sqlite.connection import SqliteConnection
from commonplace.store.sqlite.scope import NO_PROJECT, Filter
from commonplace.store.sqlite.vectors import quantised
from commonplace.store.types import Job

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

# Also written in the index `jobs_waiting`.
MAX_TRIES = 5

# Of a long queue, so many of the newest are looked at to see which are inside a filter.
SEEN = 5_000

_WAITING = f"space_id = ?1 AND kind = 'embed' AND tries < {MAX_TRIES}"
_NEWEST = (
    f"SELECT id, passage_id FROM jobs WHERE space_id = ? AND kind = 'embed' AND tries < {MAX_TRIES}"
    f" ORDER BY id DESC LIMIT {SEEN}"
)
_OF_ITEMS = "CROSS JOIN passages p ON p.id = j.passage_id CROSS JOIN items i ON i.id = p.item_id"


def claim(connection: SqliteConnection, space_id: int, owner: str, limit: int, now_ms: int, lease_ms: int) -> list[Job]:
    """Lease the newest waiting passages: what was just said is what will be asked about."""
    rows = connection.rows(  # A lease that ends long after one taken now would is from a clock that was wrong.
        f"""
        UPDATE jobs SET owner = ?2, lease_until_ms = ?3 + ?4, tries = tries + 1
         WHERE id IN (SELECT id FROM jobs WHERE {_WAITING} AND lease_until_ms NOT BETWEEN ?3 + 1 AND ?3 + 2 * ?4
                      ORDER BY id DESC LIMIT ?5)
        RETURNING id, passage_id
        """,
        (space_id, owner, now_ms, lease_ms, limit),
    )
    return _jobs(connection, space_id, rows)


def finish(
    connection: SqliteConnection,
    space_id: int,
    model_id: int,
    jobs: Sequence[Job],
    vectors: NDArray[float32],
    owner: str | None,
) -> int:
    """Store the vectors of jobs that are still ours, or still there if no owner is given.

    A passage that changed meanwhile has another job, and is left to others.
    """
    done = 0
    for job, vector in zip(jobs, vectors, strict=True):
        mine = connection.first(
            "DELETE FROM jobs WHERE id = ?1 AND space_id = ?2 AND (?3 IS NULL OR owner = ?3) RETURNING id",
            (job.id, space_id, owner),
        )
        if not mine:
            continue
        project_id, kind = connection.rows(
            "SELECT i.project_id, i.kind FROM passages p JOIN items i ON i.id = p.item_id WHERE p.id = ?",
            (job.passage.id,),
        )[0]
        scale, blob = quantised(vector)
        connection.execute("DELETE FROM vectors WHERE space_id = ? AND passage_id = ?", (space_id, job.passage.id))
        connection.execute(
            "INSERT INTO vectors (space_id, model_id, passage_id, project_id, kind, scale, v)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (space_id, model_id, job.passage.id, project_id or NO_PROJECT, KINDS.index(kind), scale, blob),
        )
        done += 1
    return done


def release(connection: SqliteConnection, space_id: int, jobs: Sequence[Job], owner: str, error: str) -> None:
    """Give leases back, with the reason. It was not the jobs' fault, so it does not count as a try."""
    connection.execute(
        "UPDATE jobs SET lease_until_ms = 0, owner = NULL, error = ?, tries = tries - 1"
        " WHERE space_id = ? AND owner = ? AND id IN (SELECT value FROM json_each(?))",
        (error, space_id, owner, json.dumps([job.id for job in jobs])),
    )


def requeue_embeddings(connection: SqliteConnection, space_id: int) -> int:
    """Queue every passage of a live item, failed ones too. Returns how many wait."""
    connection.execute("UPDATE jobs SET tries = 0 WHERE space_id = ? AND kind = 'embed'", (space_id,))
    connection.execute(
        "INSERT OR IGNORE INTO jobs (space_id, kind, passage_id) SELECT p.space_id, 'embed', p.id"
        "  FROM passages p JOIN items i ON i.id = p.item_id"
        " WHERE p.space_id = ? AND i.forgotten_ms IS NULL AND i.superseded_by IS NULL",
        (space_id,),
    )
    return pending(connection, space_id)


def pending(connection: SqliteConnection, space_id: int) -> int:
    """How many passages still wait; those that failed too often do not."""
    return int(connection.value(f"SELECT count(*) FROM jobs WHERE {_WAITING}", (space_id,)))


def pending_inside(connection: SqliteConnection, space_id: int, filter_: Filter) -> int:
    """How many of the newest waiting passages are inside a filter."""
    condition, bindings = filter_.sql()
    question = f"SELECT count(*) FROM ({_NEWEST}) j {_OF_ITEMS} WHERE {condition}"
    return int(connection.value(question, (space_id, *bindings)))


def waiting_for(connection: SqliteConnection, space_id: int, passage_ids: Sequence[int]) -> list[Job]:
    """The jobs of these passages, as far as they wait, in the order of the passages."""
    rows = connection.rows(
        f"SELECT j.id, j.passage_id FROM json_each(?2) w CROSS JOIN jobs j ON j.passage_id = w.value"
        f" WHERE {_WAITING} ORDER BY w.key",
        (space_id, json.dumps(list(dict.fromkeys(passage_ids)))),
    )
    return _jobs(connection, space_id, rows)


def newest_pending_jobs(connection: SqliteConnection, space_id: int, filter_: Filter, limit: int) -> list[Job]:
    """The newest waiting passages inside a filter, claimed or not."""
    condition, bindings = filter_.sql()
    question = f"SELECT j.id, j.passage_id FROM ({_NEWEST}) j {_OF_ITEMS} WHERE {condition} ORDER BY j.id DESC LIMIT ?"
    return _jobs(connection, space_id, connection.rows(question, (space_id, *bindings, limit)))


def _jobs(connection: SqliteConnection, space_id: int, rows: Sequence[tuple[int, int]]) -> list[Job]:
    texts = passages.in_context(connection, space_id, [row[1] for row in rows])
    return [Job(job_id, *texts[passage_id]) for job_id, passage_id in rows if passage_id in texts]


def pending_reason(connection: SqliteConnection, space_id: int) -> str | None:
    """Why the newest waiting passage was given back the last time, whichever process tried; None if none was."""
    row = connection.first(f"SELECT error FROM jobs WHERE {_WAITING} ORDER BY id DESC LIMIT 1", (space_id,))
    return None if row is None else row[0]


def use_model(connection: SqliteConnection, space_id: int, name: str, dim: int) -> int:
    """Make this the space's model. Passages whose vectors another model made are queued again, failed ones too."""
    connection.execute("INSERT OR IGNORE INTO models (name, dim) VALUES (?, ?)", (name, dim))
    model_id = known_model(connection, name, dim)
    assert model_id is not None
    if current_model(connection, space_id) != model_id:
        connection.execute(
            "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            (f"model:{space_id}", str(model_id)),
        )
        connection.execute("UPDATE jobs SET tries = 0 WHERE space_id = ? AND kind = 'embed'", (space_id,))
        connection.execute(
            "INSERT OR IGNORE INTO jobs (space_id, kind, passage_id)"
            " SELECT space_id, 'embed', passage_id FROM vectors WHERE space_id = ? AND model_id <> ?",
            (space_id, model_id),
        )
    return model_id


def known_model(connection: SqliteConnection, name: str, dim: int) -> int | None:
    row = connection.first("SELECT id FROM models WHERE name = ? AND dim = ?", (name, dim))
    return None if row is None else int(row[0])


def current_model(connection: SqliteConnection, space_id: int) -> int | None:
    """The model whose vectors the space compares."""
    row = connection.first("SELECT value FROM meta WHERE key = ?", (f"model:{space_id}",))
    return None if row is None else int(row[0])


def current_name(connection: SqliteConnection, space_id: int) -> str | None:
    """That model's name."""
    row = connection.first("SELECT name FROM models WHERE id = ?", (current_model(connection, space_id),))
    return None if row is None else str(row[0])
