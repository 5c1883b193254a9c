"""Topics: built by one process at a time, extended by any, read by all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from commonplace.store.sql import projects
from commonplace.store.sql.connection import Connection, Space, allow_replica
from commonplace.store.sql.vectors import current_model
from commonplace.store.types import BuiltTopics, StaleTopics, Topic, TopicCentre, TopicMember, TopicPoints

_SELECT = """
SELECT c.id, c.label, c.size, p.name, c.built_ms{more}
  FROM {rows} LEFT JOIN projects p ON p.space_id = c.space_id AND p.id = c.project_id
 WHERE c.space_id = ?1 AND c.size > 0
"""
_WITH_PASSAGES = """json_each(?2) j
 CROSS JOIN cluster_passages m ON /*pg m.space_id = ?1 AND */ m.passage_id = j.value
 CROSS JOIN clusters c ON c.space_id = ?1 AND c.id = m.cluster_id"""
# A place is the id of a project, or 0 for passages without a project.
_OF_PLACE = "space_id = ?1 AND project_id IS NOT DISTINCT FROM nullif(?2, 0)"
_VECTORS = "vectors INDEXED BY vectors_place WHERE space_id = ? AND model_id = ? AND project_id = ? AND seq > ?"

# Runs twice a second: vectors that came and went are counted along an index, those that stayed are not.
_STALE = """
WITH places (id) AS (SELECT CAST(0 AS bigint) UNION ALL SELECT id FROM projects WHERE space_id = ?1),
     changed (id, built, fresh, gone, unseen) AS (
        SELECT p.id, b.vectors, (
                SELECT count(*) FROM vectors v WHERE v.space_id = ?1 AND v.model_id = ?2
                   AND v.project_id = p.id AND v.seq > coalesce(b.built_seq, 0)
            ), coalesce(b.gone, 0), (
                SELECT count(*) FROM vectors v WHERE v.space_id = ?1 AND v.model_id = ?2
                   AND v.project_id = p.id AND v.seq > b.seen_seq
            )
          FROM places p LEFT JOIN topic_builds b ON b.space_id = ?1 AND b.model_id = ?2 AND b.project_id = p.id)
SELECT id, built, fresh, gone, unseen FROM changed WHERE fresh > 0 OR gone > 0 ORDER BY id
"""


class Topics(Space):
    """The topics of one space."""

    @allow_replica
    def topics(self, project: str | None = None) -> list[Topic]:
        with self._database.read(self._query_timeout) as connection:
            select = _SELECT.format(more="", rows="clusters c")
            bindings: list[object] = [self._space_id]
            if project is not None:
                select += " AND c.project_id IN (SELECT value FROM json_each(?2))"
                bindings.append(connection.array(projects.find(connection, self._space_id, project)))
            return [Topic(*row) for row in connection.rows(f"{select} ORDER BY c.size DESC, c.id", bindings)]

    @allow_replica
    def topics_of(self, passage_ids: Sequence[int]) -> dict[int, Topic]:
        select = _SELECT.format(more=", m.passage_id", rows=_WITH_PASSAGES)
        with self._database.read(self._query_timeout) as connection:
            rows = connection.rows(select, (self._space_id, connection.array(passage_ids)))
            return {row[-1]: Topic(*row[:-1]) for row in rows}

    @allow_replica
    def topic_passages(self, topic_id: int, limit: int) -> list[tuple[int, float]]:
        with self._database.read(self._query_timeout) as connection:
            return connection.rows(
                "SELECT m.passage_id, m.score FROM clusters c JOIN cluster_passages m"
                " ON /*pg m.space_id = c.space_id AND */ m.cluster_id = c.id"
                " WHERE c.space_id = ? AND c.id = ? ORDER BY m.score DESC, m.passage_id LIMIT ?",
                (self._space_id, topic_id, limit),
            )

    def stale_topics(self) -> list[StaleTopics]:
        with self._database.read(self._query_timeout) as connection:
            model = current_model(connection, self._space_id)
            return [StaleTopics(*row) for row in connection.rows(_STALE, (self._space_id, model))]

    def topic_points(self, place: int, after: int, limit: int) -> TopicPoints:
        import numpy as np

        with self._database.read(self._query_timeout) as connection:
            model = current_model(connection, self._space_id)
            rows = connection.rows(
                f"SELECT seq, passage_id, v FROM {_VECTORS} ORDER BY seq LIMIT ?",
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
            build = connection.first(
                "SELECT shift, seen_seq, model_id FROM topic_builds WHERE space_id = ? AND project_id = ?",
                (self._space_id, place),
            )
            if build is None or build[2] is None:
                return None
            select = f"SELECT id, label, centroid FROM clusters WHERE {_OF_PLACE} ORDER BY id"
            rows = connection.rows(select, (self._space_id, place))
        centres = [TopicCentre(id_, name, np.frombuffer(row, np.float32)) for id_, name, row in rows]
        return BuiltTopics(centres, np.frombuffer(build[0], np.float32), build[1], build[2])

    def topic_members(self, place: int) -> Mapping[int, int]:
        with self._database.read() as connection:
            return _members(connection, self._space_id, place)

    def extend_topics(self, place: int, known: BuiltTopics, members: Sequence[TopicMember], last: int) -> bool:
        with self._database.write() as connection:
            # The previous extension has to have stopped where this one began: otherwise another process was first.
            mine = connection.run(
                "UPDATE topic_builds SET seen_seq = ? WHERE space_id = ? AND project_id = ? AND seen_seq = ?"
                " AND model_id = ?",
                (last, self._space_id, place, known.seen, known.model),
            )
            if not mine:
                return False
            ids = [centre.id for centre in known.centres]
            living = self._with_vectors(connection, known.model, place, known.seen)
            added = [(ids[at], passage, score) for at, passage, score in members if passage in living]
            self._add_members(connection, added)
            self._count_members(connection, place)
            return True

    def claim_topics(self, place: int, owner: str, now_ms: int, lease_ms: int) -> bool:
        with self._database.write() as connection:
            first = "INSERT INTO topic_builds (space_id, project_id) VALUES (?, ?) ON CONFLICT DO NOTHING"
            connection.run(first, (self._space_id, place))
            # A lease that ends long after one taken now would was taken by a wrong clock.
            claimed = connection.run(
                "UPDATE topic_builds SET owner = ?, lease_until_ms = ? WHERE space_id = ? AND project_id = ?"
                " AND (owner IS NOT DISTINCT FROM ? OR lease_until_ms NOT BETWEEN ? AND ?)",
                (owner, now_ms + lease_ms, self._space_id, place, owner, now_ms + 1, now_ms + 2 * lease_ms),
            )
            return claimed > 0

    def replace_topics(
        self,
        place: int,
        owner: str,
        built: BuiltTopics,
        members: Sequence[TopicMember],
        vectors: int,
        now_ms: int,
    ) -> bool:
        with self._database.write() as connection:
            if built.model != current_model(connection, self._space_id):
                return False
            shift = built.shift.tobytes()
            mine = connection.run(
                "UPDATE topic_builds SET model_id = ?, built_ms = ?, vectors = ?, built_seq = ?, seen_seq = ?,"
                " gone = 0, shift = ?, owner = NULL, lease_until_ms = 0"
                " WHERE space_id = ? AND project_id = ? AND owner = ?",
                (built.model, now_ms, vectors, built.seen, built.seen, shift, self._space_id, place, owner),
            )
            if not mine:
                return False
            ids = self._write_centres(connection, place, built.centres, now_ms)
            before = _members(connection, self._space_id, place)
            living = self._with_vectors(connection, built.model, place, 0)
            wanted = {passage: (ids[at], score) for at, passage, score in members if passage in living}
            moved = [passage for passage, id_ in before.items() if passage not in wanted or wanted[passage][0] != id_]
            connection.run(
                "DELETE FROM cluster_passages"
                " WHERE /*pg space_id = ?1 AND */ passage_id IN (SELECT value FROM json_each(?2))",
                (self._space_id, connection.array(moved)),
            )
            # In the order of the table: a hundred thousand rows are written in half the time.
            self._add_members(connection, sorted((id_, passage, score) for passage, (id_, score) in wanted.items()))
            self._count_members(connection, place)
            return True

    def _write_centres(
        self, connection: Connection, place: int, centres: Sequence[TopicCentre], now_ms: int
    ) -> list[int]:
        """Write the centres and delete all others; return their ids in order."""
        remaining = connection.array([centre.id for centre in centres if centre.id is not None])
        connection.run(
            f"DELETE FROM clusters WHERE {_OF_PLACE} AND id NOT IN (SELECT value FROM json_each(?3))",
            (self._space_id, place, remaining),
        )
        return [self._write_centre(connection, place, centre, now_ms) for centre in centres]

    def _write_centre(self, connection: Connection, place: int, centre: TopicCentre, now_ms: int) -> int:
        values = (centre.name, centre.row.tobytes(), now_ms, self._space_id)
        if centre.id is not None:
            update = "UPDATE clusters SET label = ?, centroid = ?, built_ms = ? WHERE space_id = ? AND id = ?"
            if connection.run(update, (*values, centre.id)):
                return centre.id
        insert = "INSERT INTO clusters (label, centroid, built_ms, space_id, project_id) VALUES (?, ?, ?, ?, ?)"
        made = connection.insert(insert, (*values, place or None))
        assert made is not None
        return made

    def _with_vectors(self, connection: Connection, model: int | None, place: int, after: int) -> set[int]:
        """The passages that have a vector now: some may have lost theirs since they were read."""
        rows = connection.rows(f"SELECT passage_id FROM {_VECTORS}", (self._space_id, model, place, after))
        return {row[0] for row in rows}

    def _add_members(self, connection: Connection, members: Sequence[tuple[int | None, int, float]]) -> None:
        connection.add_rows(
            self._space_id,
            "INSERT INTO cluster_passages (/*pg space_id, */ cluster_id, passage_id, score)",
            ("bigint", "bigint", "float8"),
            members,
            "ON CONFLICT (/*pg space_id, */ cluster_id, passage_id) DO UPDATE SET score = excluded.score",
        )

    def _count_members(self, connection: Connection, place: int) -> None:
        count = "SELECT count(*) FROM cluster_passages m WHERE /*pg m.space_id = clusters.space_id AND */ {same}"
        connection.run(
            f"UPDATE clusters SET size = ({count.format(same='m.cluster_id = clusters.id')}) WHERE {_OF_PLACE}",
            (self._space_id, place),
        )


def _members(connection: Connection, space_id: int, place: int) -> dict[int, int]:
    """The topic of each passage of a place."""
    rows = connection.rows(
        "SELECT passage_id, cluster_id FROM cluster_passages"
        f" WHERE /*pg space_id = ?1 AND */ cluster_id IN (SELECT id FROM clusters WHERE {_OF_PLACE})",
        (space_id, place),
    )
    return dict(rows)
