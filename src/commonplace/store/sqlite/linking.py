"""Making the edges of one passage: to what mentions the same, to its neighbours, and between sessions.

Every tie is looked for from both of its ends, so that it is found in whatever order the two were written, and again
when one of them was rewritten.
"""

from __future__ import annotations

from collections.abc import Iterable

from commonplace.store.link_rules import PASSAGE_COLUMNS, LinkedPassage, SessionTies, mentions_of, session_failure
from commonplace.store.sqlite import sessions, sql
from commonplace.store.sqlite.connection import SqliteConnection
from commonplace.store.types import (
    COMMON_MENTIONS,
    MAX_LINKS_PER_MENTION,
    MAX_MENTION_LINKS,
    MAX_STATED_LINKS,
    MIN_LINK_WEIGHT,
    SESSION_END_PASSAGES,
    link_weight,
)
from commonplace.text.references import Reach, References

_OF_ITEM = "SELECT id FROM passages WHERE space_id = ? AND item_id = ? ORDER BY seq"

_STATED = """
SELECT p.id, iif(typeof(l.value ->> '$.weight') IN ('real', 'integer'), l.value ->> '$.weight', NULL)
  FROM items i CROSS JOIN json_each(iif(json_valid(i.meta) AND json_type(i.meta, '$.links') = 'array',
                                        i.meta -> '$.links', '[]')) l
 CROSS JOIN items o ON o.space_id = i.space_id AND o.uid = iif(l.type = 'object', l.value ->> '$.to', NULL)
 CROSS JOIN passages p ON p.space_id = o.space_id AND p.item_id = o.id AND p.seq = 0
 WHERE i.id = ? AND i.meta <> '{}' LIMIT ?
"""


class Linker:
    """Links passages in one transaction. What was looked up stays known until its end."""

    def __init__(self, connection: SqliteConnection, space_id: int, now_ms: int) -> None:
        self._connection, self._space_id, self._now_ms = connection, space_id, now_ms
        self._spots: dict[int, LinkedPassage] = {}
        self._sessions: dict[int, SessionTies] = {}
        self._edges: list[tuple[int, int, str, int, float, int]] = []

    def link(self, spot: LinkedPassage, found: References, *, speaks: bool) -> None:
        self._spots[spot.id] = spot
        self._link_mentions(spot, found)
        before, after = self._beside(spot, -1), self._beside(spot, +1)
        if before is not None:
            self._tie(spot, before, "adjacent")
        if after is not None and after < spot.id:
            self._tie(spot, after, "adjacent")
        self._link_ends(spot)
        if spot.seq == 0:
            self._link_stated(spot)
        if spot.session_id is not None:
            self._link_sessions(spot, spot.session_id, first=before is None, last=after is None)
        if speaks and found.back is not None:
            target = self._meant(spot, before, found.back)
            if target is not None:
                self._tie(spot, target, "backref")
        self._connection.executemany(
            "INSERT OR IGNORE INTO edges (space_id, src, rel, dst, weight, created_ms) VALUES (?, ?, ?, ?, ?, ?)",
            self._edges,
        )
        self._edges.clear()

    # Mentions.

    def _link_mentions(self, spot: LinkedPassage, found: References) -> None:
        """To the latest earlier passages that mention the same, and to be found by the next."""
        strongest: dict[tuple[int, str], float] = {}
        mentioned = [session_failure(spot)] if found.errors and spot.session_id is not None else []
        for rel, thing in mentions_of(spot, found):
            earlier = self._mentioning(thing, spot, COMMON_MENTIONS)
            if len(earlier) == COMMON_MENTIONS:
                continue
            mentioned.append(thing)
            # A thing links an item once: from its first passage that mentions it.
            if earlier and self._spot(earlier[0]).item_id != spot.item_id:
                for other in earlier[:MAX_LINKS_PER_MENTION]:
                    weight = link_weight(rel, len(earlier))
                    strongest[other, rel] = max(weight, strongest.get((other, rel), 0.0))
        for other, rel in sorted(strongest, key=lambda tie: (-strongest[tie], -tie[0], tie[1]))[:MAX_MENTION_LINKS]:
            self._tie(spot, other, rel, strongest[other, rel])
        self._connection.executemany(
            "INSERT OR IGNORE INTO mentions (space_id, thing, passage_id) VALUES (?, ?, ?)",
            [(self._space_id, thing, spot.id) for thing in mentioned],
        )

    def _mentioning(self, thing: int, spot: LinkedPassage, most: int) -> list[int]:
        """Passages written before this one that mention a thing, the latest first."""
        rows = sql.rows(
            self._connection,
            "SELECT passage_id FROM mentions WHERE space_id = ? AND thing = ? AND passage_id < ?"
            " ORDER BY passage_id DESC LIMIT ?",
            (self._space_id, thing, spot.id, most),
        )
        return [row[0] for row in rows]

    def _link_ends(self, spot: LinkedPassage) -> None:
        """However long a turn is, how it ended is next to how it began."""
        parts = sql.rows(self._connection, _OF_ITEM, (self._space_id, spot.item_id))
        (first,), (last,) = parts[0], parts[-1]
        if len(parts) > 2 and spot.id in (first, last):
            self._tie(spot, last if spot.id == first else first, "adjacent")

    def _link_stated(self, spot: LinkedPassage) -> None:
        """To the items that its metadata links it to. That is anybody's: what is no link in it is none."""
        for other, weight in sql.rows(self._connection, _STATED, (spot.item_id, MAX_STATED_LINKS)):
            self._tie(spot, other, "linked", min(1.0, max(MIN_LINK_WEIGHT, weight)) if weight else None)

    # Back-references.

    def _meant(self, spot: LinkedPassage, before: int | None, reach: Reach) -> int | None:
        """What "that error", "as we discussed" or "like last time" speaks of; the nearest there is."""
        if reach == "error" and spot.session_id is not None:
            for failed in self._mentioning(session_failure(spot), spot, MAX_LINKS_PER_MENTION):
                if self._spot(failed).order < spot.order and self._spot(failed).item_id != spot.item_id:
                    return failed
        if reach != "session" and before is not None:
            return before
        previous = self._previous_session(spot)
        return None if previous is None else next(iter(self._ending(previous, 1)), None)

    def _previous_session(self, spot: LinkedPassage) -> int | None:
        """The session of the same project before this one; sub-agents' do not count."""
        row = sql.first(
            self._connection,
            "SELECT s.id FROM sessions mine CROSS JOIN sessions s ON s.space_id = mine.space_id"
            " AND s.project_id = mine.project_id AND s.started_ms <= mine.started_ms AND s.id <> mine.id"
            f" WHERE mine.id = ? AND {sessions.in_meta('parent_session')} IS NULL"
            " ORDER BY s.started_ms DESC, s.id DESC LIMIT 1",
            (spot.session_id,),
        )
        return None if row is None else int(row[0])

    # Sessions.

    def _link_sessions(self, spot: LinkedPassage, session_id: int, *, first: bool, last: bool) -> None:
        ties = self._ties(session_id)
        # At its end too, since what a session has to do with others may be learnt while it goes on.
        if ties.continues and (first or last):
            self._link_continued(session_id, self._ending_of(ties.continues))
        if ties.started_by and (first or last):
            self._link_sub_agent(session_id, self._passages_of(ties.started_by))
        for (other,) in self._sessions_with("continued_from", ties.key):
            self._link_continued(other, self._ending(session_id, SESSION_END_PASSAGES))
        for (other,) in self._sessions_with("parent_message", spot.item_uid):
            self._link_sub_agent(other, self._passages_of(spot.item_uid))

    def _link_continued(self, session_id: int, endings: list[int]) -> None:
        """From its first passage to the last ones that the other session had by then."""
        beginning = self._beginning(session_id)
        for ending in endings:
            if beginning is not None and self._spot(ending).order < self._spot(beginning).order:
                self._tie(self._spot(beginning), ending, "continued")

    def _link_sub_agent(self, session_id: int, started_by: list[int]) -> None:
        """Out: from its first passage to the beginning of the turn that started it. Back: from its last to the end."""
        first, last = self._beginning(session_id), next(iter(self._ending(session_id, 1)), None)
        if not started_by or first is None or last is None:
            return
        self._tie(self._spot(first), started_by[0], "brief")
        # What was the last before is not any more.
        self._connection.execute(
            "DELETE FROM edges WHERE space_id = ?1 AND dst = ?2 AND rel = 'debrief' AND src <> ?3 AND src IN"
            " (SELECT p.id FROM items i CROSS JOIN passages p ON p.space_id = ?1 AND p.item_id = i.id"
            "   WHERE i.session_id = ?4)",
            (self._space_id, started_by[-1], last, session_id),
        )
        self._tie(self._spot(last), started_by[-1], "debrief")

    def _ties(self, session_id: int) -> SessionTies:
        if session_id not in self._sessions:
            row = sql.first(
                self._connection,
                f"SELECT s.key, {sessions.in_meta('continued_from')}, {sessions.in_meta('parent_message')}"
                " FROM sessions s WHERE s.id = ?",
                (session_id,),
            )
            self._sessions[session_id] = SessionTies(*row)
        return self._sessions[session_id]

    def _sessions_with(self, name: str, value: str) -> Iterable[tuple[int]]:
        question = f"SELECT s.id FROM sessions s WHERE s.space_id = ? AND {sessions.in_meta(name)} = ?"
        rows: list[tuple[int]] = sql.rows(self._connection, question, (self._space_id, value))
        return rows

    def _ending_of(self, key: str) -> list[int]:
        """The passages that the session of this name ends with."""
        row = sql.first(
            self._connection, "SELECT id FROM sessions WHERE space_id = ? AND key = ?", (self._space_id, key)
        )
        return [] if row is None else self._ending(row[0], SESSION_END_PASSAGES)

    def _ending(self, session_id: int, most: int) -> list[int]:
        rows = sql.rows(
            self._connection,
            "SELECT p.id FROM (SELECT id, created_ms FROM items WHERE session_id = ?2"
            "                   ORDER BY created_ms DESC, id DESC LIMIT ?3) i"
            " CROSS JOIN passages p ON p.space_id = ?1 AND p.item_id = i.id"
            " ORDER BY i.created_ms DESC, i.id DESC, p.seq DESC LIMIT ?3",
            (self._space_id, session_id, most),
        )
        return [row[0] for row in rows]

    def _beginning(self, session_id: int) -> int | None:
        question = "SELECT id FROM items WHERE session_id = ? ORDER BY created_ms, id LIMIT 1"
        row = sql.first(self._connection, question, (session_id,))
        passages = [] if row is None else sql.rows(self._connection, _OF_ITEM, (self._space_id, row[0]))
        return passages[0][0] if passages else None

    def _passages_of(self, item_uid: str) -> list[int]:
        question = "SELECT id FROM items WHERE space_id = ? AND uid = ?"
        row = sql.first(self._connection, question, (self._space_id, item_uid))
        return [] if row is None else [id_ for (id_,) in sql.rows(self._connection, _OF_ITEM, (self._space_id, row[0]))]

    # Places.

    def _beside(self, spot: LinkedPassage, step: int) -> int | None:
        """The passage before or after: of the same item, or of its neighbour in the session."""
        sign, end = ("<", "DESC") if step < 0 else (">", "ASC")
        found = sql.first(
            self._connection,
            f"SELECT id FROM passages WHERE space_id = ? AND item_id = ? AND seq {sign} ? ORDER BY seq {end} LIMIT 1",
            (self._space_id, spot.item_id, spot.seq),
        )
        if found is None and spot.session_id is not None:
            # First those of the same moment: an import may date thousands alike.
            item = sql.first(
                self._connection,
                f"SELECT id FROM items WHERE session_id = ? AND created_ms = ? AND id {sign} ?"
                f" ORDER BY id {end} LIMIT 1",
                (spot.session_id, spot.created_ms, spot.item_id),
            ) or sql.first(
                self._connection,
                f"SELECT id FROM items WHERE session_id = ? AND created_ms {sign} ?"
                f" ORDER BY created_ms {end}, id {end} LIMIT 1",
                (spot.session_id, spot.created_ms),
            )
            if item is not None:
                found = sql.first(
                    self._connection,
                    f"SELECT id FROM passages WHERE space_id = ? AND item_id = ? ORDER BY seq {end} LIMIT 1",
                    (self._space_id, item[0]),
                )
        return None if found is None else int(found[0])

    def _spot(self, passage_id: int) -> LinkedPassage:
        if passage_id not in self._spots:
            question = f"SELECT {PASSAGE_COLUMNS} FROM passages p CROSS JOIN items i ON i.id = p.item_id WHERE p.id = ?"
            self._spots[passage_id] = LinkedPassage(*sql.first(self._connection, question, (passage_id,)))
        return self._spots[passage_id]

    def _tie(self, one: LinkedPassage, other: int, rel: str, weight: float | None = None) -> None:
        """An edge from whichever came later to the other."""
        if one.id == other:
            return
        src, dst = (one.id, other) if one.order > self._spot(other).order else (other, one.id)
        self._edges.append(
            (self._space_id, src, rel, dst, link_weight(rel) if weight is None else weight, self._now_ms)
        )
