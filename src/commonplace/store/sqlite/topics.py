"""Topics in the file: built by one process at a time, extended by any, read by all."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from commonplace.store.sql import projects
from commonplace.store.sqlite import jobs, sql
from commonplace.store.sqlite.connection import SqliteConnection
from commonplace.store.sqlite.space import SqliteSpace
from commonplace.store.types import BuiltTopics, StaleTopics, Topic, TopicCentre, TopicMember, TopicPoints

_SELECT = """
SELECT c.id, c.label, c.size, p.name, c.built_ms{more}
  FROM {rows} LEFT JOIN projects p ON p.id = c.project_id
 WHERE c.space_id = ?1 AND c.size > 0
"""
# A place is a project's id, or 0 for what belongs to none.
_OF_PLACE = "space_id = ?1 AND project_id IS nullif(?2, 0)"


# Asked twice a second: what came and went is counted along an index, what stayed is not.
_GROWN = """
WITH places (id) AS (SELECT 0 UNION ALL SELECT id FROM projects WHERE space_id = ?1),
     builds AS (SELECT * FROM topic_builds WHERE space_id = ?1 AND model_id = ?2),
     grown (id, built, fresh, gone, unseen) AS (
        SELECT p.id, b.vectors, (
                SELECT count(*) FROM vectors v WHERE v.space_id = ?1 AND v.model_id = ?2 AND v.project_id = p.id
                   AND v.seq > coalesce(b.built_seq, 0)
            ), coalesce(b.gone, 0), (
                SELECT count(*) FROM vectors v WHERE v.space_id = ?1 AND v.model_id = ?2 AND v.project_id = p.id
                   AND v.seq > b.seen_seq
            )
          FROM places p LEFT JOIN builds b ON b.project_id = p.id)
SELECT id, built, fresh, gone, unseen FROM grown WHERE fresh OR gone ORDER BY id
"""


class Topics(SqliteSpace):
    """The engine's part about topics."""

    def topics(self, project: str | None = None) -> list[Topic]:
        with self._database.read(self._query_timeout) as connection:
            where = ""
            bindings: tuple[Any, ...] = (self._space_id,)
            if project is not None:
                where = " AND c.project_id IN (SELECT value FROM json_each(?2))"
                bindings += (json.dumps(projects.find(connection, self._space_id, project)),)
            select = _SELECT.format(more="", rows="clusters c") + where
            return [Topic(*row) for row in sql.rows(connection, f"{select} ORDER BY c.size DESC, c.id", bindings)]

    def topics_of(self, passage_ids: Sequence[int]) -> dict[int, Topic]:
        chosen = "json_each(?2) j CROSS JOIN cluster_passages m ON m.passage_id = j.value CROSS JOIN clusters c"
        with self._database.read(self._query_timeout) as connection:
            rows = sql.rows(
                connection,
                _SELECT.format(more=", m.passage_id", rows=f"{chosen} ON c.id = m.cluster_id"),
                (self._space_id, json.dumps(list(passage_ids))),
            )
            return {row[-1]: Topic(*row[:-1]) for row in rows}

    def topic_passages(self, topic_id: int, limit: int) -> list[tuple[int, float]]:
        with self._database.read(self._query_timeout) as connection:
            return sql.rows(
                connection,
                "SELECT m.passage_id, m.score FROM clusters c JOIN cluster_passages m ON m.cluster_id = c.id"
                " WHERE c.space_id = ? AND c.id = ? ORDER BY m.score DESC, m.passage_id LIMIT ?",
                (self._space_id, topic_id, limit),
            )

    def stale_topics(self) -> list[StaleTopics]:
        with self._database.read(self._query_timeout) as connection:
            model = jobs.current_model(connection, self._space_id)
            return [StaleTopics(*row) for row in sql.rows(connection, _GROWN, (self._space_id, model))]

    def topic_points(self, place: int, after: int, limit: int) -> TopicPoints:
        import numpy as np

        with self._database.read(self._query_timeout) as connection:
            model = jobs.current_model(connection, self._space_id)
            rows = sql.rows(
                connection,
                "SELECT seq, passage_id, v FROM vectors INDEXED BY vectors_place"
                " WHERE space_id = ? AND model_id = ? AND project_id = ? AND seq > ? ORDER BY seq LIMIT ?",
                (self._space_id, model, place, after, limit),
            )
        if not rows:
            return TopicPoints(np.empty(0, np.int64), np.empty((0, 0), np.int8), after, model)
        seqs, passages, blobs = zip(*rows, strict=True)
        values = np.frombuffer(b"".join(blobs), np.int8).reshape(len(rows), -1)
        return TopicPoints(np.asarray(passages, np.int64), values, seqs[-1], model)

    def built_topics(self, place: int) -> BuiltTopics | None:
        import numpy as np

        with self._database.read() as connection:
            build = sql.first(
                connection,
                "SELECT shift, seen_seq, model_id FROM topic_builds WHERE space_id = ? AND project_id = ?",
                (self._space_id, place),
            )
            if build is None or build[2] is None:
                return None
            rows = sql.rows(
                connection, f"SELECT id, label, centroid FROM clusters WHERE {_OF_PLACE}", (self._space_id, place)
            )
        centres = [TopicCentre(id_, name, np.frombuffer(row, np.float32)) for id_, name, row in rows]
        return BuiltTopics(centres, np.frombuffer(build[0], np.float32), build[1], build[2])

    def topic_members(self, place: int) -> Mapping[int, int]:
        with self._database.read() as connection:
            return _members(connection, self._space_id, place)

    def extend_topics(self, place: int, known: BuiltTopics, members: Sequence[TopicMember], last: int) -> bool:
        with self._database.write() as connection:
            # Where the last one stopped is where this one began: otherwise somebody was quicker, or built anew.
            mine = sql.first(
                connection,
                "UPDATE topic_builds SET seen_seq = ? WHERE space_id = ? AND project_id = ? AND seen_seq = ?"
                " AND model_id = ? RETURNING 1",
                (last, self._space_id, place, known.seen, known.model),
            )
            if mine is None:
                return False
            ids = [centre.id for centre in known.centres]
            living = self._living(connection, known.model, place, known.seen)
            _add(connection, [(ids[at], passage, score) for at, passage, score in members if passage in living])
            _count(connection, self._space_id, place)
            return True

    def claim_topics(self, place: int, owner: str, now_ms: int, lease_ms: int) -> bool:
        with self._database.write() as connection:
            connection.execute(
                "INSERT OR IGNORE INTO topic_builds (space_id, project_id) VALUES (?, ?)", (self._space_id, place)
            )
            # A lease that ends long after one taken now would is from a clock that was wrong.
            claimed = sql.first(
                connection,
                "UPDATE topic_builds SET owner = ?3, lease_until_ms = ?4 + ?5 WHERE space_id = ?1 AND project_id = ?2"
                " AND (owner IS ?3 OR lease_until_ms NOT BETWEEN ?4 + 1 AND ?4 + 2 * ?5) RETURNING 1",
                (self._space_id, place, owner, now_ms, lease_ms),
            )
            return claimed is not None

    def replace_topics(
        self, place: int, owner: str, built: BuiltTopics, members: Sequence[TopicMember], vectors: int, now_ms: int
    ) -> bool:
        with self._database.write() as connection:
            if built.model != jobs.current_model(connection, self._space_id):
                return False
            mine = sql.first(
                connection,
                "UPDATE topic_builds SET model_id = ?4, built_ms = ?5, vectors = ?6, built_seq = ?7, seen_seq = ?7,"
                " gone = 0, shift = ?8, owner = NULL, lease_until_ms = 0"
                " WHERE space_id = ?1 AND project_id = ?2 AND owner = ?3 RETURNING 1",
                (self._space_id, place, owner, built.model, now_ms, vectors, built.seen, built.shift.tobytes()),
            )
            if mine is None:
                return False
            ids = self._write_centres(connection, place, built.centres, now_ms)
            was = _members(connection, self._space_id, place)
            living = self._living(connection, built.model, place, 0)
            wanted = {passage: (ids[at], score) for at, passage, score in members if passage in living}
            moved = [passage for passage, id_ in was.items() if passage not in wanted or wanted[passage][0] != id_]
            connection.execute(
                "DELETE FROM cluster_passages WHERE passage_id IN (SELECT value FROM json_each(?))",
                (json.dumps(moved),),
            )
            # In the order of the table: a hundred thousand rows are written in half the time.
            _add(connection, sorted((id_, passage, score) for passage, (id_, score) in wanted.items()))
            _count(connection, self._space_id, place)
            return True

    def _write_centres(
        self, connection: SqliteConnection, place: int, centres: Sequence[TopicCentre], now_ms: int
    ) -> list[int]:
        """The ids of the centres, in their order; whatever else was there is gone."""
        kept = json.dumps([centre.id for centre in centres if centre.id is not None])
        connection.execute(
            f"DELETE FROM clusters WHERE {_OF_PLACE} AND id NOT IN (SELECT value FROM json_each(?3))",
            (self._space_id, place, kept),
        )
        ids = []
        for centre in centres:
            (id_,) = sql.first(
                connection,
                "INSERT INTO clusters (id, space_id, project_id, label, centroid, built_ms)"
                " VALUES (?, ?, nullif(?, 0), ?, ?, ?) ON CONFLICT (id) DO UPDATE SET label = excluded.label,"
                " centroid = excluded.centroid, built_ms = excluded.built_ms RETURNING id",
                (centre.id, self._space_id, place, centre.name, centre.row.tobytes(), now_ms),
            )
            ids.append(int(id_))
        return ids

    def _living(self, connection: SqliteConnection, model: int | None, place: int, after: int) -> set[int]:
        """The passages that have a vector now: some may have gone since they were read."""
        rows = sql.rows(
            connection,
            "SELECT passage_id FROM vectors INDEXED BY vectors_place"
            " WHERE space_id = ? AND model_id = ? AND project_id = ? AND seq > ?",
            (self._space_id, model, place, after),
        )
        return {row[0] for row in rows}


def _members(connection: SqliteConnection, space_id: int, place: int) -> dict[int, int]:
    rows = sql.rows(
        connection,
        f"SELECT passage_id, cluster_id FROM cluster_passages"
        f" WHERE cluster_id IN (SELECT id FROM clusters WHERE {_OF_PLACE})",
        (space_id, place),
    )
    return dict(rows)


def _add(connection: SqliteConnection, members: Sequence[tuple[int | None, int, float]]) -> None:
    connection.executemany(
        "INSERT INTO cluster_passages (cluster_id, passage_id, score) VALUES (?, ?, ?)"
        " ON CONFLICT (cluster_id, passage_id) DO UPDATE SET score = excluded.score",
        members,
    )


def _count(connection: SqliteConnection, space_id: int, place: int) -> None:
    connection.execute(
        "UPDATE clusters SET size = (SELECT count(*) FROM cluster_passages m WHERE m.cluster_id = clusters.id)"
        f" WHERE {_OF_PLACE}",
        (space_id, place),
    )
