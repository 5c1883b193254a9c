"""Links between passages: made in small transactions after the writing, and read by whoever follows them.

Every link is looked for from both of its ends, so that it is found in whatever order the two were written, and again
when one of them was rewritten.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from commonplace.store.damaged_values import kind_of, object_of, texts_of
from commonplace.store.rows import columns_of, passage_text
from commonplace.store.sql import projects
from commonplace.store.sql.connection import IN_LIST, Connection, Space, json_field
from commonplace.store.types import (
    COMMON_MENTIONS,
    MAX_LINKS_PER_MENTION,
    MAX_MENTION_LINKS,
    MAX_STATED_LINKS,
    MIN_LINK_WEIGHT,
    SESSION_END_PASSAGES,
    Edge,
    FindReferences,
    link_weight,
)

if TYPE_CHECKING:
    from commonplace.text.references import Reach, References

# The columns of a `LinkedPassage`, and of a row that `text_of` and `may_refer_back` read.
PASSAGE_COLUMNS = "p.id, p.item_id, p.seq, i.created_ms, i.session_id, i.project_id, i.uid"
PASSAGE_TEXT_COLUMNS = f"""{PASSAGE_COLUMNS}, p.text, i.kind, i.type, i.title,
       CASE WHEN p.text IS NULL THEN i.body ELSE '' END, CASE WHEN p.seq = 0 THEN i.details ELSE '{{}}' END"""


class LinkedPassage(NamedTuple):
    """A passage, and where it stands."""

    id: int
    item_id: int
    seq: int
    created_ms: int
    session_id: int | None
    project_id: int | None
    item_uid: str

    @property
    def order(self) -> tuple[int, int, int]:
        return self.created_ms, self.item_id, self.seq


class SessionTies(NamedTuple):
    """What a session says of others: which it continues, and which item started it."""

    key: str
    continues: str | None
    started_by: str | None


def mentions_of(passage: LinkedPassage, found: References) -> list[tuple[str, int]]:
    """What a passage mentions: the kind of link it makes, and a hash. Files and names are those of its project."""
    from commonplace.text.references import file_key

    place = passage.project_id or 0
    named = [("file", place, file_key(file)) for file in found.files]
    named += [("error", 0, error) for error in found.errors]
    named += [("name", place, name) for name in found.names]
    return [(rel, _hash(rel, where, text)) for rel, where, text in dict.fromkeys(named)]


def session_failure(passage: LinkedPassage) -> int:
    """The mention that all errors of a session share."""
    return _hash("failed", passage.session_id or 0, "")


def linked_passage(row: Sequence[Any]) -> LinkedPassage:
    return LinkedPassage(*row[:7])


def text_of(row: Sequence[Any]) -> str:
    """The text of the passage; of the first one of an item also the files that the item names."""
    text, kind, type_, title, body, details = row[7:]
    texts = {} if details == "{}" else texts_of(details)
    whole = passage_text(text, kind, type_, title, body, details)
    files = columns_of(kind_of(kind), "", "", "", texts, ()).get("files", "") if texts else ""
    return f"{whole}\n{files.replace(',', ' ')}" if files else whole


def may_refer_back(row: Sequence[Any]) -> bool:
    """Whether a person may be speaking: only then does a phrase refer back."""
    seq, kind, details = row[2], row[8], row[12]
    return bool(seq == 0 and (kind != "message" or texts_of(details).get("role", "user") == "user"))


def _hash(kind: str, where: int, text: str) -> int:
    """48 bits: enough to tell things apart, and short in the file."""
    mention = f"{kind}\0{where}\0{text}".encode("utf-8", "replace")
    return int.from_bytes(hashlib.blake2b(mention, digest_size=6).digest())


_FROM = "FROM passages p CROSS JOIN items i ON i.space_id = p.space_id AND i.id = p.item_id"
_OF_ITEM = "SELECT id FROM passages WHERE space_id = ? AND item_id = ? ORDER BY seq"
_IN_SESSION = "SELECT id FROM items WHERE +space_id = ? AND session_id = ?"

_STATED = f"""
SELECT o.uid, p.id
  FROM items o CROSS JOIN passages p ON p.space_id = o.space_id AND p.item_id = o.id AND p.seq = 0
 WHERE o.space_id = ? AND o.uid {IN_LIST}
"""


class Linker:
    """Links passages in one transaction. What was looked up is remembered until its end."""

    def __init__(self, connection: Connection, space_id: int, now_ms: int) -> None:
        self._connection, self._space_id, self._now_ms = connection, space_id, now_ms
        self._passages: dict[int, LinkedPassage] = {}
        self._sessions: dict[int, SessionTies] = {}
        self._edges: list[tuple[int, int, str, int, float, int]] = []

    def link(self, passage: LinkedPassage, found: References, *, refers_back: bool) -> None:
        self._passages[passage.id] = passage
        self._link_mentions(passage, found)
        before, after = self._neighbour(passage, -1), self._neighbour(passage, +1)
        if before is not None:
            self._tie(passage, before, "adjacent")
        if after is not None and after < passage.id:
            self._tie(passage, after, "adjacent")
        self._link_ends(passage)
        if passage.seq == 0:
            self._link_stated(passage)
        if passage.session_id is not None:
            self._link_sessions(passage, passage.session_id, first=before is None, last=after is None)
        if refers_back and found.back is not None:
            target = self._referred_to(passage, before, found.back)
            if target is not None:
                self._tie(passage, target, "backref")
        self._connection.run_all(
            "INSERT INTO edges (space_id, src, rel, dst, weight, created_ms) VALUES (?, ?, ?, ?, ?, ?)"
            " ON CONFLICT DO NOTHING",
            self._edges,
        )
        self._edges.clear()

    # Mentions.

    def _link_mentions(self, passage: LinkedPassage, found: References) -> None:
        """To the latest earlier passages that mention the same, and to be found by the next."""
        strongest: dict[tuple[int, str], float] = {}
        mentioned = [session_failure(passage)] if found.errors and passage.session_id is not None else []
        for rel, thing in mentions_of(passage, found):
            earlier = self._mentioning(thing, passage, COMMON_MENTIONS)
            if len(earlier) == COMMON_MENTIONS:
                continue
            mentioned.append(thing)
            # A thing links an item once: from its first passage that mentions it.
            if earlier and self._passage(earlier[0]).item_id != passage.item_id:
                for other in earlier[:MAX_LINKS_PER_MENTION]:
                    weight = link_weight(rel, len(earlier))
                    strongest[other, rel] = max(weight, strongest.get((other, rel), 0.0))
        for other, rel in sorted(strongest, key=lambda tie: (-strongest[tie], -tie[0], tie[1]))[:MAX_MENTION_LINKS]:
            self._tie(passage, other, rel, strongest[other, rel])
        self._connection.run_all(
            "INSERT INTO mentions (space_id, thing, passage_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            [(self._space_id, thing, passage.id) for thing in mentioned],
        )

    def _mentioning(self, thing: int, passage: LinkedPassage, most: int) -> list[int]:
        """Passages written before this one that mention a thing, the latest first."""
        rows = self._connection.rows(
            "SELECT passage_id FROM mentions WHERE space_id = ? AND thing = ? AND passage_id < ?"
            " ORDER BY passage_id DESC LIMIT ?",
            (self._space_id, thing, passage.id, most),
        )
        return [row[0] for row in rows]

    def _link_ends(self, passage: LinkedPassage) -> None:
        """However long a turn is, its end is next to its beginning."""
        parts = self._connection.rows(_OF_ITEM, (self._space_id, passage.item_id))
        (first,), (last,) = parts[0], parts[-1]
        if len(parts) > 2 and passage.id in (first, last):
            self._tie(passage, last if passage.id == first else first, "adjacent")

    def _link_stated(self, passage: LinkedPassage) -> None:
        """To the items that its metadata links it to. Anybody writes metadata: what is no link in it is ignored."""
        select = "SELECT meta FROM items WHERE space_id = ? AND id = ?"
        stated = _links_in(self._connection.value(select, (self._space_id, passage.item_id)))
        if not stated:
            return
        uids = self._connection.array([uid for uid, _weight in stated])
        found = dict(self._connection.rows(_STATED, (self._space_id, uids)))
        for uid, weight in [link for link in stated if link[0] in found][:MAX_STATED_LINKS]:
            self._tie(passage, found[uid], "linked", min(1.0, max(MIN_LINK_WEIGHT, weight)) if weight else None)

    # Back-references.

    def _referred_to(self, passage: LinkedPassage, before: int | None, reach: Reach) -> int | None:
        """The nearest passage that "that error", "as we discussed" or "like last time" refers to."""
        if reach == "error" and passage.session_id is not None:
            for failed in self._mentioning(session_failure(passage), passage, MAX_LINKS_PER_MENTION):
                other = self._passage(failed)
                if other.order < passage.order and other.item_id != passage.item_id:
                    return failed
        if reach != "session" and before is not None:
            return before
        previous = self._previous_session(passage)
        return None if previous is None else next(iter(self._ending(previous, 1)), None)

    def _previous_session(self, passage: LinkedPassage) -> int | None:
        """The session of the same project before this one; those of sub-agents do not count."""
        row = self._connection.first(
            "SELECT s.id FROM sessions mine CROSS JOIN sessions s ON s.space_id = mine.space_id"
            " AND s.project_id = mine.project_id AND s.started_ms <= mine.started_ms AND s.id <> mine.id"
            f" WHERE +mine.space_id = ? AND mine.id = ? AND {json_field('s.meta', 'parent_session')} IS NULL"
            " ORDER BY s.started_ms DESC, s.id DESC LIMIT 1",
            (self._space_id, passage.session_id),
        )
        return None if row is None else int(row[0])

    # Sessions.

    def _link_sessions(self, passage: LinkedPassage, session_id: int, *, first: bool, last: bool) -> None:
        ties = self._ties(session_id)
        # At its end too, since a session may learn while it goes on what it has to do with others.
        if ties.continues and (first or last):
            self._link_continued(session_id, self._ending_of(ties.continues))
        if ties.started_by and (first or last):
            self._link_sub_agent(session_id, self._passages_of(ties.started_by))
        for (other,) in self._sessions_with("continued_from", ties.key):
            self._link_continued(other, self._ending(session_id, SESSION_END_PASSAGES))
        for (other,) in self._sessions_with("parent_message", passage.item_uid):
            self._link_sub_agent(other, self._passages_of(passage.item_uid))

    def _link_continued(self, session_id: int, endings: list[int]) -> None:
        """From its first passage to the last ones that the other session had by then."""
        beginning = self._beginning(session_id)
        for ending in endings:
            if beginning is not None and self._passage(ending).order < self._passage(beginning).order:
                self._tie(self._passage(beginning), ending, "continued")

    def _link_sub_agent(self, session_id: int, started_by: list[int]) -> None:
        """Out: from its first passage to the beginning of the turn that started it. Back: from its last to the end."""
        first, last = self._beginning(session_id), next(iter(self._ending(session_id, 1)), None)
        if not started_by or first is None or last is None:
            return
        self._tie(self._passage(first), started_by[0], "brief")
        # The passage that was the last before no longer is.
        self._connection.run(
            "DELETE FROM edges WHERE space_id = ?1 AND dst = ?2 AND rel = 'debrief' AND src <> ?3 AND src IN"
            " (SELECT p.id FROM items i CROSS JOIN passages p ON p.space_id = i.space_id AND p.item_id = i.id"
            "   WHERE +i.space_id = ?1 AND i.session_id = ?4)",
            (self._space_id, started_by[-1], last, session_id),
        )
        self._tie(self._passage(last), started_by[-1], "debrief")

    def _ties(self, session_id: int) -> SessionTies:
        if session_id not in self._sessions:
            continued, started = json_field("meta", "continued_from"), json_field("meta", "parent_message")
            select = f"SELECT key, {continued}, {started} FROM sessions WHERE space_id = ? AND id = ?"
            self._sessions[session_id] = SessionTies(*self._connection.first(select, (self._space_id, session_id)))
        return self._sessions[session_id]

    def _sessions_with(self, name: str, value: str) -> Iterable[tuple[int]]:
        select = f"SELECT id FROM sessions WHERE space_id = ? AND {json_field('meta', name)} = ?"
        rows: list[tuple[int]] = self._connection.rows(select, (self._space_id, value))
        return rows

    def _ending_of(self, key: str) -> list[int]:
        """The last passages of the session with this key."""
        row = self._connection.first("SELECT id FROM sessions WHERE space_id = ? AND key = ?", (self._space_id, key))
        return [] if row is None else self._ending(row[0], SESSION_END_PASSAGES)

    def _ending(self, session_id: int, most: int) -> list[int]:
        rows = self._connection.rows(
            "SELECT p.id FROM (SELECT space_id, id, created_ms FROM items WHERE +space_id = ?1 AND session_id = ?2"
            "                   ORDER BY created_ms DESC, id DESC LIMIT ?3) i"
            " CROSS JOIN passages p ON p.space_id = i.space_id AND p.item_id = i.id"
            " ORDER BY i.created_ms DESC, i.id DESC, p.seq DESC LIMIT ?3",
            (self._space_id, session_id, most),
        )
        return [row[0] for row in rows]

    def _beginning(self, session_id: int) -> int | None:
        row = self._connection.first(f"{_IN_SESSION} ORDER BY created_ms, id LIMIT 1", (self._space_id, session_id))
        passages = [] if row is None else self._connection.rows(_OF_ITEM, (self._space_id, row[0]))
        return passages[0][0] if passages else None

    def _passages_of(self, item_uid: str) -> list[int]:
        row = self._connection.first("SELECT id FROM items WHERE space_id = ? AND uid = ?", (self._space_id, item_uid))
        return [] if row is None else [id_ for (id_,) in self._connection.rows(_OF_ITEM, (self._space_id, row[0]))]

    # Passages.

    def _neighbour(self, passage: LinkedPassage, step: int) -> int | None:
        """The passage before or after: of the same item, or of the item next to it in the session."""
        sign, end = ("<", "DESC") if step < 0 else (">", "ASC")
        found = self._connection.first(
            f"SELECT id FROM passages WHERE space_id = ? AND item_id = ? AND seq {sign} ? ORDER BY seq {end} LIMIT 1",
            (self._space_id, passage.item_id, passage.seq),
        )
        if found is None and passage.session_id is not None:
            session = (self._space_id, passage.session_id, passage.created_ms)
            # First those of the same millisecond: an import may give thousands the same time.
            item = self._connection.first(
                f"{_IN_SESSION} AND created_ms = ? AND id {sign} ? ORDER BY id {end} LIMIT 1",
                (*session, passage.item_id),
            ) or self._connection.first(
                f"{_IN_SESSION} AND created_ms {sign} ? ORDER BY created_ms {end}, id {end} LIMIT 1", session
            )
            if item is not None:
                found = self._connection.first(
                    f"SELECT id FROM passages WHERE space_id = ? AND item_id = ? ORDER BY seq {end} LIMIT 1",
                    (self._space_id, item[0]),
                )
        return None if found is None else int(found[0])

    def _passage(self, passage_id: int) -> LinkedPassage:
        if passage_id not in self._passages:
            select = f"SELECT {PASSAGE_COLUMNS} {_FROM} WHERE +p.space_id = ? AND p.id = ?"
            row = self._connection.first(select, (self._space_id, passage_id))
            self._passages[passage_id] = LinkedPassage(*row)
        return self._passages[passage_id]

    def _tie(self, one: LinkedPassage, other: int, rel: str, weight: float | None = None) -> None:
        """An edge from the later of two passages to the earlier one."""
        if one.id == other:
            return
        src, dst = (one.id, other) if one.order > self._passage(other).order else (other, one.id)
        weight = link_weight(rel) if weight is None else weight
        self._edges.append((self._space_id, src, rel, dst, weight, self._now_ms))


def _links_in(meta: str) -> list[tuple[str, float | None]]:
    """The uid and the weight of each link that metadata states."""
    links = None if meta == "{}" else object_of(meta).get("links")
    return [
        (link["to"], link["weight"] if isinstance(link.get("weight"), (int, float)) else None)
        for link in (links if isinstance(links, list) else ())
        if isinstance(link, dict) and isinstance(link.get("to"), str) and "\0" not in link["to"]
    ]


# Seconds to wait for a turn to write: linking can be done later.
WRITE_WAIT_SECONDS = 0.25

# With a plus, so that SQLite reads them in their order instead of collecting those of the space and sorting them.
_SINCE = f"""
SELECT {PASSAGE_TEXT_COLUMNS}
  FROM passages p CROSS JOIN items i ON i.space_id = p.space_id AND i.id = p.item_id
 WHERE +p.space_id = ? AND p.id > ? AND p.id <= ? ORDER BY p.id LIMIT ?
"""
_EDGES = """
SELECT e.src, e.dst, e.rel, e.weight
  FROM json_each(?2) j CROSS JOIN passages n ON /*pg n.space_id = ?1 AND */ n.id = j.value
 CROSS JOIN edges e ON e.space_id = ?1 AND e.{near} = n.id
 CROSS JOIN passages o ON /*pg o.space_id = ?1 AND */ o.id = e.{far}
 WHERE +n.space_id = ?1 AND NOT EXISTS (
       SELECT 1 FROM items h INDEXED BY items_hidden WHERE /*pg h.space_id = ?1 AND */ h.id = o.item_id
          AND (h.forgotten_ms IS NOT NULL OR h.superseded_by IS NOT NULL)) {in_project}
"""
_IN_PROJECT = """
   AND (SELECT i.project_id FROM items i WHERE i.space_id = ?1 AND i.id = {}.item_id)
       IN (SELECT value FROM json_each(?3))
"""


class Links(Space):
    """The edges of one space."""

    def link(self, limit: int, find_references: FindReferences, now_ms: int) -> int:
        with self._database.read() as connection:
            since = _last_linked(connection, self._space_id)
            until = _newest(connection, self._space_id)
            rows = connection.rows(_SINCE, (self._space_id, since, until, limit)) if until > since else []
        if until <= since:
            return 0
        if len(rows) == limit:
            until = rows[-1][0]
        # Finding references takes the most time, and needs no lock.
        read = [(linked_passage(row), find_references(text_of(row)), may_refer_back(row)) for row in rows]
        with self._database.write(patience=WRITE_WAIT_SECONDS) as connection:
            # Another process may have been first, or an item may have been split again.
            done_before = _last_linked(connection, self._space_id)
            new = [passage.id for passage, _found, _refers in read if passage.id > done_before]
            existing = _existing(connection, self._space_id, new)
            linker = Linker(connection, self._space_id, now_ms)
            for passage, found, refers in read:
                if passage.id in existing:
                    linker.link(passage, found, refers_back=refers)
            if until > done_before:
                connection.set_setting(self._space_id, "linked", str(until))
            return len(existing)

    def count_unlinked(self) -> int:
        with self._database.read() as connection:
            bindings = (self._space_id, _last_linked(connection, self._space_id))
            return int(connection.value("SELECT count(*) FROM passages WHERE +space_id = ? AND id > ?", bindings))

    def edges_of(self, passage_ids: Sequence[int], most_each: int, project: str | None = None) -> list[Edge]:
        with self._database.read(self._query_timeout) as connection:
            bindings: list[object] = [self._space_id, connection.array(passage_ids)]
            in_project = ""
            if project is not None:
                bindings.append(connection.array(projects.find(connection, self._space_id, project)))
                in_project = _IN_PROJECT.format("n") + _IN_PROJECT.format("o")
            rows = [
                (weight, side, src, dst, rel)
                for side, (near, far) in enumerate((("src", "dst"), ("dst", "src")))
                for src, dst, rel, weight in connection.rows(
                    _EDGES.format(near=near, far=far, in_project=in_project), bindings
                )
            ]
        rows.sort(key=lambda row: (-row[0], row[1:]))
        taken: Counter[tuple[int, int]] = Counter()
        edges: dict[tuple[int, int, str], Edge] = {}
        for weight, side, src, dst, rel in rows:
            near = (side, dst if side else src)
            if taken[near] < most_each:
                taken[near] += 1
                edges[src, dst, rel] = Edge(src, dst, rel, weight)
        return list(edges.values())

    def sort_by_time(self, passage_ids: Sequence[int]) -> list[int]:
        with self._database.read() as connection:
            rows = connection.rows(
                "SELECT p.id FROM passages p CROSS JOIN items i ON i.space_id = p.space_id AND i.id = p.item_id"
                f" WHERE +p.space_id = ? AND p.id {IN_LIST} ORDER BY i.created_ms, i.id, p.seq",
                (self._space_id, connection.array(passage_ids)),
            )
            return [row[0] for row in rows]


def _last_linked(connection: Connection, space_id: int) -> int:
    """The last linked passage. Ids grow in the order of transactions, so none appears before it later."""
    return int(connection.get_setting(space_id, "linked") or 0)


def _newest(connection: Connection, space_id: int) -> int:
    select = "SELECT coalesce(max(id), 0) FROM passages /*pg WHERE space_id = :space */"
    return int(connection.value(select, {"space": space_id}))


def _existing(connection: Connection, space_id: int, passage_ids: Sequence[int]) -> set[int]:
    select = f"SELECT id FROM passages WHERE +space_id = ? AND id {IN_LIST}"
    return {row[0] for row in connection.rows(select, (space_id, connection.array(passage_ids)))}
