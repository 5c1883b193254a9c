"""What always holds of the rows of a space, on either engine, as a table: which rows violate it, and what repairs them.

Derived rows are rebuilt, or deleted if they belong to nothing. What somebody wrote is only reported.
"""

from __future__ import annotations

from typing import NamedTuple

from commonplace.model import KINDS


class Invariant(NamedTuple):
    """Something that every row has to satisfy.

    `rows` are those that do not, from FROM on; `key` identifies one of them, and `named` is how people call it.
    `newest` is the id of rows of which the last ones can be checked alone. In all of them {space} is the space,
    {model} the model whose vectors it compares, and in `repair` {limit} is how many at once.
    """

    part: str
    says: str
    rows: str
    key: str
    named: str
    repair: str = ""
    newest: str = ""
    derived: bool = False


LIVE = "i.forgotten_ms IS NULL AND i.superseded_by IS NULL"
_HERE = "space_id = {space}"
_PASSAGES = "passages p JOIN items i ON i.space_id = p.space_id AND i.id = p.item_id"
SEARCHED = f"FROM {_PASSAGES} WHERE p.{_HERE} AND {LIVE}"
_KIND = "CASE i.kind " + " ".join(f"WHEN '{kind}' THEN {n}" for n, kind in enumerate(KINDS)) + " END"


def _orphans(table: str, column: str, owners: str, key: str = "id") -> Invariant:
    """Rows that somebody wrote, and that name others which are not there."""
    owner = f"SELECT 1 FROM {owners} o WHERE o.{_HERE} AND o.id = t.{column}"
    rows = f"FROM {table} t WHERE t.{_HERE} AND t.{column} IS NOT NULL AND NOT EXISTS ({owner})"
    return Invariant("rows", f"of the {table} name {owners} that are not there", rows, f"t.{key}", f"{table} {{}}")


def _derived(part: str, says: str, rows: str, key: str, named: str, repair: str, newest: str = "") -> Invariant:
    return Invariant(part, says, rows, key, named, repair, newest, derived=True)


# What tells the rows of derived tables apart, with the name that a table has in `rows`.
_KEYS = {
    "vectors": ("v.space_id", "v.seq"),
    "token_vectors": ("t.space_id", "t.passage_id"),
    "jobs": ("j.space_id", "j.id"),
    "edges": ("e.space_id", "e.src", "e.rel", "e.dst"),
    "mentions": ("m.space_id", "m.thing", "m.passage_id"),
    "cluster_passages": ("m.cluster_id", "m.passage_id"),
    "passages": ("p.space_id", "p.id"),
}


def _deleted(part: str, says: str, rows: str, table: str, key: str, named: str = "passage {}") -> Invariant:
    """Rows of a derived table that are deleted."""
    keys = _KEYS[table]
    columns = [name.split(".")[1] for name in keys]
    delete = f"DELETE FROM {table} WHERE ({', '.join(columns)}) IN (SELECT {', '.join(keys)} {rows} LIMIT {{limit}})"
    return _derived(part, says, rows, key, named, delete)


def _no_passage(id_: str, *, searched: bool = False) -> str:
    live = f" AND {LIVE}" if searched else ""
    return f"NOT EXISTS (SELECT 1 FROM {_PASSAGES} WHERE p.{_HERE} AND p.id = {id_}{live})"


def _without_record(what: str, table: str, changed: str) -> Invariant:
    """Two stores are compared by records: everything has one of when it changed."""
    record = f"SELECT 1 FROM records r WHERE r.{_HERE} AND r.what = '{what}' AND r.id = t.id"
    rows = f"FROM {table} t WHERE t.{_HERE} AND NOT EXISTS ({record})"
    insert = f"INSERT INTO records (space_id, what, id, version) SELECT t.space_id, '{what}', t.id, t.{changed}"
    return _derived(
        "records", f"{table} have no record", rows, "t.id", f"{what} {{}}", f"{insert} {rows} LIMIT {{limit}}"
    )


AUTHORED = (
    _orphans("items", "project_id", "projects"),
    _orphans("items", "session_id", "sessions"),
    _orphans("items", "superseded_by", "items"),
    _orphans("sessions", "project_id", "projects"),
    _orphans("item_tags", "item_id", "items", "item_id"),
    _orphans("history", "item_id", "items"),
    _orphans("session_history", "session_id", "sessions"),
    _orphans("project_aliases", "project_id", "projects", "alias"),
    _orphans("streams", "item_id", "items"),
    Invariant(
        "rows",
        "sessions have no valid UUID",
        f"FROM sessions s WHERE s.{_HERE} AND length(s.uid) <> 36",
        "s.id",
        "session {}",
    ),
    Invariant(
        "history",
        "changes are of a later revision than their item",
        "FROM history h JOIN items i ON i.space_id = h.space_id AND i.id = h.item_id"
        f" WHERE h.{_HERE} AND h.rev > i.rev",
        "h.item_id",
        "item {}",
    ),
)

STRAY_VECTORS = f"FROM vectors v WHERE v.{_HERE} AND {_no_passage('v.passage_id', searched=True)}"
_BAD_VECTORS = (
    f"FROM vectors v JOIN models m ON m.id = v.model_id WHERE v.{_HERE}"
    " AND (length(v.v) <> m.dim OR NOT (v.scale > 0 AND v.scale < 1e30))"
)
_MISPLACED_VECTORS = (
    "FROM vectors v JOIN passages p ON p.space_id = v.space_id AND p.id = v.passage_id"
    " JOIN items i ON i.space_id = p.space_id AND i.id = p.item_id"
    f" WHERE v.{_HERE} AND (v.project_id <> coalesce(i.project_id, 0) OR v.kind <> {_KIND})"
)
# The ones of a vector that is deleted go with it.
STRAY_TOKENS = f"""FROM token_vectors t WHERE t.{_HERE} AND NOT EXISTS (SELECT 1 FROM vectors v
    WHERE v.{_HERE} AND v.passage_id = t.passage_id AND v.model_id = t.model_id)"""
VECTORLESS = f"""{SEARCHED} AND NOT EXISTS (
    SELECT 1 FROM vectors v WHERE v.{_HERE} AND v.passage_id = p.id AND v.model_id = coalesce({{model}}, v.model_id))
  AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.{_HERE} AND j.kind = 'embed' AND j.passage_id = p.id)"""
# A model that makes token vectors makes them for all passages, though those of some may be empty.
_TOKENLESS = f"""FROM vectors v WHERE v.{_HERE} AND v.model_id = {{model}}
  AND EXISTS (SELECT 1 FROM token_vectors o WHERE o.{_HERE} AND o.model_id = {{model}})
  AND NOT EXISTS (
    SELECT 1 FROM token_vectors t WHERE t.{_HERE} AND t.passage_id = v.passage_id AND t.model_id = {{model}})
  AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.{_HERE} AND j.kind = 'embed' AND j.passage_id = v.passage_id)"""
_STRAY_JOBS = f"FROM jobs j WHERE j.{_HERE} AND j.kind = 'embed' AND {_no_passage('j.passage_id', searched=True)}"
_STRAY_MENTIONS = f"FROM mentions m WHERE m.{_HERE} AND {_no_passage('m.passage_id')}"
_STRAY_PASSAGES = f"""
FROM passages p WHERE p.{_HERE} AND NOT EXISTS (SELECT 1 FROM items i WHERE i.{_HERE} AND i.id = p.item_id)"""
_STRAY_EDGES = f"FROM edges e WHERE e.{_HERE} AND ({_no_passage('e.src')} OR {_no_passage('e.dst')})"
_STRAY_MEMBERS = f"""FROM cluster_passages m JOIN clusters c ON c.id = m.cluster_id AND c.{_HERE} WHERE NOT EXISTS (
    SELECT 1 FROM vectors v WHERE v.{_HERE} AND v.passage_id = m.passage_id)"""
_MEMBERS = "(SELECT count(*) FROM cluster_passages m WHERE m.cluster_id = {}.id)"
_MISCOUNTED_TOPICS = f"FROM clusters c WHERE c.{_HERE} AND c.size <> {_MEMBERS.format('c')}"
_MISTAGGED = f"""FROM items i WHERE i.{_HERE} AND i.tagged <> EXISTS (
    SELECT 1 FROM item_tags t WHERE t.{_HERE} AND t.item_id = i.id)"""
_MISCOUNTED = f"""FROM (SELECT * FROM tally WHERE {_HERE}) t FULL JOIN (
    SELECT coalesce(i.project_id, 0) AS place, i.kind AS kind, count(*) AS n FROM items i
     WHERE i.{_HERE} AND {LIVE} GROUP BY 1, 2) g ON g.place = t.project_id AND g.kind = t.kind
 WHERE coalesce(t.items, 0) <> coalesce(g.n, 0)"""

# Repaired in this order: a row is deleted before those that it belongs to.
DERIVED = (
    _derived(
        "counts",
        "counts by project and kind are wrong",
        _MISCOUNTED,
        "coalesce(g.place, t.project_id)",
        "project {}",
        "INSERT INTO tally (space_id, project_id, kind, items) SELECT {space}, coalesce(g.place, t.project_id),"
        f" coalesce(g.kind, t.kind), coalesce(g.n, 0) {_MISCOUNTED}"
        " ON CONFLICT (space_id, project_id, kind) DO UPDATE SET items = excluded.items",
    ),
    _derived(
        "tags",
        "items do not know whether they have tags",
        _MISTAGGED,
        "i.id",
        "item {}",
        f"UPDATE items SET tagged = NOT tagged WHERE {_HERE} AND id IN (SELECT i.id {_MISTAGGED} LIMIT {{limit}})",
        "i.id",
    ),
    _deleted("vectors", "vectors belong to nothing searchable", STRAY_VECTORS, "vectors", "v.passage_id"),
    _deleted("vectors", "vectors have the wrong shape", _BAD_VECTORS, "vectors", "v.passage_id"),
    _deleted(
        "vectors",
        "vectors have a different project or kind from their items",
        _MISPLACED_VECTORS,
        "vectors",
        "v.passage_id",
    ),
    _deleted("vectors", "token vectors belong to no vector", STRAY_TOKENS, "token_vectors", "t.passage_id"),
    _deleted("jobs", "jobs are for nothing searchable", _STRAY_JOBS, "jobs", "j.id", "job {}"),
    _deleted("links", "links have a missing end", _STRAY_EDGES, "edges", "e.src"),
    _deleted("links", "mentions belong to no passage", _STRAY_MENTIONS, "mentions", "m.passage_id"),
    _deleted("topics", "members of topics have no vector", _STRAY_MEMBERS, "cluster_passages", "m.passage_id"),
    _derived(
        "topics",
        "topics have wrong counts of passages",
        _MISCOUNTED_TOPICS,
        "c.id",
        "topic {}",
        f"UPDATE clusters SET size = {_MEMBERS.format('clusters')}"
        f" WHERE {_HERE} AND id IN (SELECT c.id {_MISCOUNTED_TOPICS} LIMIT {{limit}})",
    ),
    _deleted("passages", "passages belong to no item", _STRAY_PASSAGES, "passages", "p.id"),
    _derived(
        "vectors",
        "passages have no vector and are not queued for one",
        VECTORLESS,
        "p.id",
        "passage {}",
        "INSERT INTO jobs (space_id, kind, passage_id)"
        f" SELECT p.space_id, 'embed', p.id {VECTORLESS} LIMIT {{limit}} ON CONFLICT DO NOTHING",
        "p.id",
    ),
    _derived(
        "vectors",
        "passages have lost their token vectors and are not queued for others",
        _TOKENLESS,
        "v.passage_id",
        "passage {}",
        "INSERT INTO jobs (space_id, kind, passage_id)"
        f" SELECT v.space_id, 'embed', v.passage_id {_TOKENLESS} LIMIT {{limit}} ON CONFLICT DO NOTHING",
    ),
    _without_record("item", "items", "updated_ms"),
    _without_record("session", "sessions", "updated_ms"),
    _without_record("project", "projects", "created_ms"),
)

# What a space holds, as it is counted by triggers.
USED = f"""FROM (SELECT count(*) AS n, coalesce(sum(octet_length(i.title) + octet_length(i.body)
        + octet_length(i.details) + octet_length(i.meta)), 0) AS size FROM items i WHERE i.{_HERE} AND {LIVE}) g
  LEFT JOIN space_use u ON u.{_HERE} WHERE coalesce(u.items, -1) <> g.n OR coalesce(u.bytes, -1) <> g.size"""

# An item is split into a first passage, and others after it without a gap, each with its text.
UNSPLIT = f"""FROM items i WHERE i.{_HERE} AND (
    NOT EXISTS (SELECT 1 FROM passages p WHERE p.{_HERE} AND p.item_id = i.id AND p.seq = 0)
    OR EXISTS (SELECT 1 FROM passages p WHERE p.{_HERE} AND p.item_id = i.id AND p.seq > 0 AND (p.text IS NULL
        OR NOT EXISTS (SELECT 1 FROM passages q
                        WHERE q.{_HERE} AND q.item_id = i.id AND q.seq = p.seq - 1 AND q.text IS NOT NULL))))"""
SPLIT = Invariant(
    "passages", "items are not split into passages", UNSPLIT, "i.id", "item {}", newest="i.id", derived=True
)


def indexed(wordless: str, stray: str, row: str) -> tuple[Invariant, Invariant]:
    """What holds of the full-text index, which each engine keeps in a table of its own."""
    return (
        Invariant("words", "passages are not indexed", wordless, "p.id", "passage {}", newest="p.id", derived=True),
        Invariant("words", "rows of the index belong to nothing", stray, row, "row {}", derived=True),
    )


def counted_use(repair: str) -> Invariant:
    """That a space knows how much it holds; each engine writes that in its own way."""
    says = "spaces have wrong counts"
    return Invariant("counts", says, USED, "g.n", "a space of {} items", repair, derived=True)
