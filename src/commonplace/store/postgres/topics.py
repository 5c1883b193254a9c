"""Topics in the database: built by one server at a time, extended by any, read by all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from commonplace.store.postgres import jobs, sql
from commonplace.store.postgres.pool import Connection
from commonplace.store.postgres.space import PostgresSpace
from commonplace.store.sql import projects
from commonplace.store.sql.space import allow_replica
from commonplace.store.types import BuiltTopics, StaleTopics, Topic, TopicCentre, TopicMember, TopicPoints

_SELECT = """
SELECT c.id, c.label, c.size, p.name, c.built_ms{more}
  FROM {rows} LEFT JOIN projects p ON p.space_id = c.space_id AND p.id = c.project_id
 WHERE c.space_id = %(space)s AND c.size > 0
"""
# A place is a project's id, or 0 for what belongs to none.
_OF_PLACE = "space_id = %(space)s AND project_id IS NOT DISTINCT FROM nullif(%(place)s, 0)"
_VECTORS = "vectors WHERE space_id = %s AND model_id = %s AND project_id = %s AND seq > %s"

# Asked twice a second: what came and went is counted along an index, what stayed is not.
_GROWN = """
WITH places (id) AS (SELECT 0::bigint UNION ALL SELECT id FROM projects WHERE space_id = %(space)s),
     grown (id, built, fresh, gone, unseen) AS (
        SELECT p.id, b.vectors, (
                SELECT count(*) FROM vectors v WHERE v.space_id = %(space)s AND v.model_id = %(model)s
                   AND v.project_id = p.id AND v.seq > coalesce(b.built_seq, 0)
            ), coalesce(b.gone, 0), (
                SELECT count(*) FROM vectors v WHERE v.space_id = %(space)s AND v.model_id = %(model)s
                   AND v.project_id = p.id AND v.seq > b.seen_seq
            )
          FROM places p
          LEFT JOIN topic_builds b ON b.space_id = %(space)s AND b.model_id = %(model)s AND b.project_id = p.id)
SELECT id, built, fresh, gone, unseen FROM grown WHERE fresh > 0 OR gone > 0 ORDER BY id
"""

_WRITE_CENTRE = """
INSERT INTO clusters (space_id, id, project_id, label, centroid, built_ms)
VALUES (%(space)s, coalesce(%(id)s, nextval(pg_get_serial_sequence('clusters', 'id'))), nullif(%(place)s, 0),
        %(label)s, %(row)s, %(now)s)
    ON CONFLICT (space_id, id) DO UPDATE
   SET label = excluded.label, centroid = excluded.centroid, built_ms = excluded.built_ms RETURNING id
"""


class Topics(PostgresSpace):
    """The engine's part about topics."""

    @allow_replica
    def topics(self, project: str | None = None) -> list[Topic]:
        with self._database.read(self._query_timeout) as connection:
            where = ""
            bindings: dict[str, object] = {"space": self._space_id}
            if project is not None:
                where = " AND c.project_id = ANY(%(projects)s::bigint[])"
                bindings["projects"] = list(projects.find(connection, self._space_id, project))
            select = _SELECT.format(more="", rows="clusters c") + where
            return [Topic(*row) for row in sql.rows(connection, f"{select} ORDER BY c.size DESC, c.id", bindings)]

    @allow_replica
    def topics_of(self, passage_ids: Sequence[int]) -> dict[int, Topic]:
        chosen = "cluster_passages m JOIN clusters c ON c.space_id = m.space_id AND c.id = m.cluster_id"
        with self._database.read(self._query_timeout) as connection:
            rows = sql.rows(
                connection,
                _SELECT.format(more=", m.passage_id", rows=chosen) + " AND m.passage_id = ANY(%(passages)s::bigint[])",
                {"space": self._space_id, "passages": list(passage_ids)},
            )
            return {row[-1]: Topic(*row[:-1]) for row in rows}

    @allow_replica
    def topic_passages(self, topic_id: int, limit: int) -> list[tuple[int, float]]:
        with self._database.read(self._query_timeout) as connection:
            return sql.rows(
                connection,
                "SELECT passage_id, score FROM cluster_passages WHERE space_id = %s AND cluster_id = %s"
                " ORDER BY score DESC, passage_id LIMIT %s",
                (self._space_id, topic_id, limit),
            )

    def stale_topics(self) -> list[StaleTopics]:
        with self._database.read(self._query_timeout) as connection:
            model = jobs.current_model(connection, self._space_id)
            return [
                StaleTopics(*row) for row in sql.rows(connection, _GROWN, {"space": self._space_id, "model": model})
            ]

    def topic_points(self, place: int, after: int, limit: int) -> TopicPoints:
        import numpy as np

        with self._database.read(self._query_timeout) as connection:
            model = jobs.current_model(connection, self._space_id)
            rows = sql.rows(
                connection,
                f"SELECT seq, passage_id, v FROM {_VECTORS} ORDER BY seq LIMIT %s",
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
                "SELECT shift, seen_seq, model_id FROM topic_builds WHERE space_id = %s AND project_id = %s",
                (self._space_id, place),
            )
            if build is None or build[2] is None:
                return None
            rows = sql.rows(
                connection,
                f"SELECT id, label, centroid FROM clusters WHERE {_OF_PLACE} ORDER BY id",
                {"space": self._space_id, "place": place},
            )
        centres = [TopicCentre(id_, name, np.frombuffer(row, np.float32)) for id_, name, row in rows]
        return BuiltTopics(centres, np.frombuffer(build[0], np.float32), build[1], build[2])

    def topic_members(self, place: int) -> Mapping[int, int]:
        with self._database.read() as connection:
            return _members(connection, self._space_id, place)

    def extend_topics(self, place: int, known: BuiltTopics, members: Sequence[TopicMember], last: int) -> bool:
        with self._database.write() as connection:
            # Where the last one stopped is where this one began: otherwise somebody was quicker, or built anew.
            mine = sql.run(
                connection,
                "UPDATE topic_builds SET seen_seq = %s WHERE space_id = %s AND project_id = %s AND seen_seq = %s"
                " AND model_id = %s",
                (last, self._space_id, place, known.seen, known.model),
            )
            if not mine:
                return False
            ids = [centre.id for centre in known.centres]
            living = self._living(connection, known.model, place, known.seen)
            _add(
                connection,
                self._space_id,
                [(ids[at], passage, score) for at, passage, score in members if passage in living],
            )
            _count(connection, self._space_id, place)
            return True

    def claim_topics(self, place: int, owner: str, now_ms: int, lease_ms: int) -> bool:
        with self._database.write() as connection:
            sql.run(
                connection,
                "INSERT INTO topic_builds (space_id, project_id) VALUES (%s, %s) ON CONFLICT DO NOTHING",
                (self._space_id, place),
            )
            # A lease that ends long after one taken now would is from a clock that was wrong.
            claimed = sql.run(
                connection,
                "UPDATE topic_builds SET owner = %s, lease_until_ms = %s WHERE space_id = %s AND project_id = %s"
                " AND (owner IS NOT DISTINCT FROM %s OR lease_until_ms NOT BETWEEN %s AND %s)",
                (owner, now_ms + lease_ms, self._space_id, place, owner, now_ms + 1, now_ms + 2 * lease_ms),
            )
            return claimed > 0

    def replace_topics(
        self, place: int, owner: str, built: BuiltTopics, members: Sequence[TopicMember], vectors: int, now_ms: int
    ) -> bool:
        with self._database.write() as connection:
            if built.model != jobs.current_model(connection, self._space_id):
                return False
            shift = built.shift.tobytes()
            mine = sql.run(
                connection,
                "UPDATE topic_builds SET model_id = %s, built_ms = %s, vectors = %s, built_seq = %s, seen_seq = %s,"
                " gone = 0, shift = %s, owner = NULL, lease_until_ms = 0"
                " WHERE space_id = %s AND project_id = %s AND owner = %s",
                (built.model, now_ms, vectors, built.seen, built.seen, shift, self._space_id, place, owner),
            )
            if not mine:
                return False
            ids = self._write_centres(connection, place, built.centres, now_ms)
            was = _members(connection, self._space_id, place)
            living = self._living(connection, built.model, place, 0)
            wanted = {passage: (ids[at], score) for at, passage, score in members if passage in living}
            moved = [passage for passage, id_ in was.items() if passage not in wanted or wanted[passage][0] != id_]
            sql.run(
                connection,
                "DELETE FROM cluster_passages WHERE space_id = %s AND passage_id = ANY(%s::bigint[])",
                (self._space_id, moved),
            )
            _add(connection, self._space_id, sorted((id_, passage, score) for passage, (id_, score) in wanted.items()))
            _count(connection, self._space_id, place)
            return True

    def _write_centres(
        self, connection: Connection, place: int, centres: Sequence[TopicCentre], now_ms: int
    ) -> list[int]:
        """The ids of the centres, in their order; whatever else was there is gone."""
        kept = [centre.id for centre in centres if centre.id is not None]
        sql.run(
            connection,
            f"DELETE FROM clusters WHERE {_OF_PLACE} AND id <> ALL(%(kept)s::bigint[])",
            {"space": self._space_id, "place": place, "kept": kept},
        )
        return [
            int(
                sql.value(
                    connection,
                    _WRITE_CENTRE,
                    {
                        "space": self._space_id,
                        "id": centre.id,
                        "place": place,
                        "label": centre.name,
                        "row": centre.row.tobytes(),
                        "now": now_ms,
                    },
                )
            )
            for centre in centres
        ]

    def _living(self, connection: Connection, model: int | None, place: int, after: int) -> set[int]:
        """The passages that have a vector now: some may have gone since they were read."""
        rows = sql.rows(connection, f"SELECT passage_id FROM {_VECTORS}", (self._space_id, model, place, after))
        return {row[0] for row in rows}


def _members(connection: Connection, space_id: int, place: int) -> dict[int, int]:
    rows = sql.rows(
        connection,
        "SELECT passage_id, cluster_id FROM cluster_passages"
        f" WHERE space_id = %(space)s AND cluster_id IN (SELECT id FROM clusters WHERE {_OF_PLACE})",
        {"space": space_id, "place": place},
    )
    return dict(rows)


def _add(connection: Connection, space_id: int, members: Sequence[tuple[int | None, int, float]]) -> None:
    clusters, passages, scores = zip(*members, strict=True) if members else ((), (), ())
    sql.run(
        connection,
        "INSERT INTO cluster_passages (space_id, cluster_id, passage_id, score)"
        " SELECT %s, * FROM unnest(%s::bigint[], %s::bigint[], %s::float8[])"
        " ON CONFLICT (space_id, cluster_id, passage_id) DO UPDATE SET score = excluded.score",
        (space_id, list(clusters), list(passages), list(scores)),
    )


def _count(connection: Connection, space_id: int, place: int) -> None:
    sql.run(
        connection,
        "UPDATE clusters c SET size = (SELECT count(*) FROM cluster_passages m"
        f" WHERE m.space_id = c.space_id AND m.cluster_id = c.id) WHERE {_OF_PLACE}",
        {"space": space_id, "place": place},
    )
