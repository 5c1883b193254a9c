"""What always holds of the rows of a space, on either engine, as a table: who breaks it, and what cures it.

What is derived is made anew, or taken away if it belongs to nothing. What somebody said is only told of.
"""

from __future__ import annotations

from dataclasses import dataclass

from commonplace.model import KINDS


@dataclass(frozen=True, slots=True)
class Invariant:
    """Something that no row may break.

    `rows` are those that do, from FROM on; `key` tells one of them from the others, and `named` is what people call
    it. `newest` is the id by which the last ones are known, where looking at them alone tells something. In all of
    them {space} is the space, {model} the model whose vectors it compares, and in a `cure` {limit} is how many at once.
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
    """What somebody said, and what it names is not there."""
    owner = f"SELECT 1 FROM {owners} o WHERE o.{_HERE} AND o.id = t.{column}"
    return Invariant(
        "rows",
        f"of the {table} name {owners} that are not there",
        f"FROM {table} t WHERE t.{_HERE} AND t.{column} IS NOT NULL AND NOT EXISTS ({owner})",
        f"t.{key}",
        f"{table} {{}}",
    )


def _derived(part: str, says: str, rows: str, key: str, named: str, repair: str, newest: str = "") -> Invariant:
    return Invariant(part, says, rows, key, named, repair, newest, derived=True)


def _delete(table: str, keys: str, rows: str) -> str:
    bare = ", ".join(key.split(".")[-1] for key in keys.split(", "))
    return f"DELETE FROM {table} WHERE ({bare}) IN (SELECT {keys} {rows} LIMIT {{limit}})"


def _no_passage(id_: str, *, searched: bool = False) -> str:
    live = f" AND {LIVE}" if searched else ""
    return f"NOT EXISTS (SELECT 1 FROM {_PASSAGES} WHERE p.{_HERE} AND p.id = {id_}{live})"


TRUTH = (
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
VECTORLESS = f"""{SEARCHED} AND NOT EXISTS (
    SELECT 1 FROM vectors v WHERE v.{_HERE} AND v.passage_id = p.id AND v.model_id = coalesce({{model}}, v.model_id))
  AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.{_HERE} AND j.kind = 'embed' AND j.passage_id = p.id)"""
_STRAY_JOBS = f"FROM jobs j WHERE j.{_HERE} AND j.kind = 'embed' AND {_no_passage('j.passage_id', searched=True)}"
_STRAY_MENTIONS = f"FROM mentions m WHERE m.{_HERE} AND {_no_passage('m.passage_id')}"
_STRAY_PASSAGES = f"""
FROM passages p WHERE p.{_HERE} AND NOT EXISTS (SELECT 1 FROM items i WHERE i.{_HERE} AND i.id = p.item_id)"""
_DANGLING = f"FROM edges e WHERE e.{_HERE} AND ({_no_passage('e.src')} OR {_no_passage('e.dst')})"
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

# Cured in this order: what a row hangs from goes after it.
DERIVED = (
    _derived(
        "counts",
        "projects and kinds are counted wrongly",
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
    _derived(
        "vectors",
        "vectors belong to nothing that is searched",
        STRAY_VECTORS,
        "v.passage_id",
        "passage {}",
        _delete("vectors", "v.space_id, v.seq", STRAY_VECTORS),
    ),
    _derived(
        "vectors",
        "vectors have the wrong shape",
        _BAD_VECTORS,
        "v.passage_id",
        "passage {}",
        _delete("vectors", "v.space_id, v.seq", _BAD_VECTORS),
    ),
    _derived(
        "vectors",
        "vectors stand for another project or kind than their items",
        _MISPLACED_VECTORS,
        "v.passage_id",
        "passage {}",
        _delete("vectors", "v.space_id, v.seq", _MISPLACED_VECTORS),
    ),
    _derived(
        "jobs",
        "jobs are for nothing that is searched",
        _STRAY_JOBS,
        "j.id",
        "job {}",
        _delete("jobs", "j.space_id, j.id", _STRAY_JOBS),
    ),
    _derived(
        "links",
        "links lead from or to nothing",
        _DANGLING,
        "e.src",
        "passage {}",
        _delete("edges", "e.space_id, e.src, e.rel, e.dst", _DANGLING),
    ),
    _derived(
        "links",
        "mentions are by no passage",
        _STRAY_MENTIONS,
        "m.passage_id",
        "passage {}",
        _delete("mentions", "m.space_id, m.thing, m.passage_id", _STRAY_MENTIONS),
    ),
    _derived(
        "topics",
        "members of topics have no vector",
        _STRAY_MEMBERS,
        "m.passage_id",
        "passage {}",
        _delete("cluster_passages", "m.cluster_id, m.passage_id", _STRAY_MEMBERS),
    ),
    _derived(
        "topics",
        "topics count their passages wrongly",
        _MISCOUNTED_TOPICS,
        "c.id",
        "topic {}",
        f"UPDATE clusters SET size = {_MEMBERS.format('clusters')}"
        f" WHERE {_HERE} AND id IN (SELECT c.id {_MISCOUNTED_TOPICS} LIMIT {{limit}})",
    ),
    _derived(
        "passages",
        "passages are of no item",
        _STRAY_PASSAGES,
        "p.id",
        "passage {}",
        _delete("passages", "p.space_id, p.id", _STRAY_PASSAGES),
    ),
    _derived(
        "vectors",
        "passages have no vector and wait for none",
        VECTORLESS,
        "p.id",
        "passage {}",
        "INSERT INTO jobs (space_id, kind, passage_id)"
        f" SELECT p.space_id, 'embed', p.id {VECTORLESS} LIMIT {{limit}} ON CONFLICT DO NOTHING",
        "p.id",
    ),
)

# What two stores are compared by: each thing has a record of when it changed.
_RECORDED = (
    ("item", "items", "updated_ms"),
    ("session", "sessions", "updated_ms"),
    ("project", "projects", "created_ms"),
)


def _unrecorded(what: str, table: str, changed: str) -> Invariant:
    recorded = f"SELECT 1 FROM records r WHERE r.{_HERE} AND r.what = '{what}' AND r.id = t.id"
    rows = f"FROM {table} t WHERE t.{_HERE} AND NOT EXISTS ({recorded})"
    write = f"INSERT INTO records (space_id, what, id, version) SELECT t.space_id, '{what}', t.id, t.{changed}"
    return _derived(
        "records", f"{table} have no record", rows, "t.id", f"{what} {{}}", f"{write} {rows} LIMIT {{limit}}"
    )


RECORDED = tuple(_unrecorded(*one) for one in _RECORDED)

# What a space holds, as it is counted by triggers.
USED = f"""FROM (SELECT count(*) AS n, coalesce(sum(octet_length(i.title) + octet_length(i.body)
        + octet_length(i.details) + octet_length(i.meta)), 0) AS size FROM items i WHERE i.{_HERE} AND {LIVE}) g
  LEFT JOIN space_use u ON u.{_HERE} WHERE coalesce(u.items, -1) <> g.n OR coalesce(u.bytes, -1) <> g.size"""

# How an item is cut: into a first passage, and others after it without a gap, each with its text.
UNCUT = f"""FROM items i WHERE i.{_HERE} AND (
    NOT EXISTS (SELECT 1 FROM passages p WHERE p.{_HERE} AND p.item_id = i.id AND p.seq = 0)
    OR EXISTS (SELECT 1 FROM passages p WHERE p.{_HERE} AND p.item_id = i.id AND p.seq > 0 AND (p.text IS NULL
        OR NOT EXISTS (SELECT 1 FROM passages q
                        WHERE q.{_HERE} AND q.item_id = i.id AND q.seq = p.seq - 1 AND q.text IS NOT NULL))))"""
CUT = Invariant("passages", "items are not cut into passages", UNCUT, "i.id", "item {}", newest="i.id", derived=True)


def worded(wordless: str, stray: str, row: str) -> tuple[Invariant, Invariant]:
    """What every engine keeps of its words, in a table of its own."""
    return (
        Invariant("words", "passages are not indexed", wordless, "p.id", "passage {}", newest="p.id", derived=True),
        Invariant("words", "rows of the index belong to nothing", stray, row, "row {}", derived=True),
    )


def used(repair: str) -> Invariant:
    """That a space knows how much it holds; each engine writes that down in its own way."""
    says = "spaces count wrongly how much they hold"
    return Invariant("counts", says, USED, "g.n", "a space of {} items", repair, derived=True)
