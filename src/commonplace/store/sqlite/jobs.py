"""Passages that wait for a vector, claimed under a lease by whichever process is alive."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import apsw

from commonplace.model import KINDS
from commonplace.store import Job
from commonplace.store.sqlite import passages, sql
from commonplace.store.sqlite.scope import NO_PROJECT
from commonplace.store.sqlite.vectors import quantised

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

MAX_TRIES = 5


def claim(connection: apsw.Connection, space_id: int, owner: str, limit: int, now_ms: int, lease_ms: int) -> list[Job]:
    """Lease the newest waiting passages: what was just said is what will be asked about."""
    rows = sql.rows(
        connection,
        """
        UPDATE jobs SET owner = ?1, lease_until_ms = ?2, tries = tries + 1
         WHERE id IN (SELECT id FROM jobs WHERE space_id = ?3 AND kind = 'embed' AND lease_until_ms <= ?4 AND tries < ?5
                      ORDER BY id DESC LIMIT ?6)
        RETURNING id, passage_id
        """,
        (owner, now_ms + lease_ms, space_id, now_ms, MAX_TRIES, limit),
    )
    texts = passages.texts(connection, space_id, [row[1] for row in rows])
    return [Job(job_id, texts[passage_id]) for job_id, passage_id in rows if passage_id in texts]


def finish(
    connection: apsw.Connection,
    space_id: int,
    model_id: int,
    jobs: Sequence[Job],
    vectors: NDArray[float32],
    owner: str,
) -> int:
    """Store the vectors of jobs that are still ours; those whose item changed meanwhile are left to others."""
    done = 0
    for job, vector in zip(jobs, vectors, strict=True):
        mine = sql.first(connection, "DELETE FROM jobs WHERE id = ? AND owner = ? RETURNING id", (job.id, owner))
        if not mine:
            continue
        project_id, kind = sql.rows(
            connection,
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


def release(connection: apsw.Connection, jobs: Sequence[Job], owner: str, error: str) -> None:
    """Give leases back after a failure, with its reason."""
    connection.execute(
        "UPDATE jobs SET lease_until_ms = 0, owner = NULL, error = ? WHERE owner = ? AND id IN (SELECT value FROM json_each(?))",
        (error, owner, json.dumps([job.id for job in jobs])),
    )


def pending(connection: apsw.Connection, space_id: int) -> int:
    (waiting,) = sql.rows(connection, "SELECT count(*) FROM jobs WHERE space_id = ? AND kind = 'embed'", (space_id,))[0]
    return int(waiting)


def use_model(connection: apsw.Connection, space_id: int, name: str, dim: int) -> int:
    """Make this the space's model. Passages whose vectors another model made are queued again."""
    connection.execute("INSERT OR IGNORE INTO models (name, dim) VALUES (?, ?)", (name, dim))
    (model_id,) = sql.rows(connection, "SELECT id FROM models WHERE name = ?", (name,))[0]
    key = f"model:{space_id}"
    current = sql.first(connection, "SELECT value FROM meta WHERE key = ?", (key,))
    if current is None or current[0] != name:
        connection.execute(
            "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            (key, name),
        )
        connection.execute(
            "INSERT OR IGNORE INTO jobs (space_id, kind, passage_id)"
            " SELECT space_id, 'embed', passage_id FROM vectors WHERE space_id = ? AND model_id <> ?",
            (space_id, model_id),
        )
    return int(model_id)


def current_model(connection: apsw.Connection, space_id: int) -> str | None:
    row = sql.first(connection, "SELECT value FROM meta WHERE key = ?", (f"model:{space_id}",))
    return None if row is None else str(row[0])
