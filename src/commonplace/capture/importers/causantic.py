"""Causantic, formerly ECM: chunks of past sessions become messages, its edges links between them.

Written against the schemas 1 to 16, and the archive of `causantic export` if it is not encrypted. A chunk stays one
message, so that references to it stay valid.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import groupby

from commonplace.capture.import_report import Entry, Skipped, Stream
from commonplace.capture.importers.foreign_database import (
    BOOKKEEPING,
    MISSING_END,
    REBUILT_HERE,
    ForeignDatabase,
    Row,
    TableMapping,
    fit_item,
    link_to,
    parse_object,
    project_name,
    read_export_tables,
    split_conversation,
)
from commonplace.memory.conversations import NewConversation, NewMessage
from commonplace.memory.remember import NewItem

_CHUNK = (
    "id session_id session_slug turn_indices start_time end_time content agent_id spawn_depth project_path team_name"
)
TABLES = TableMapping(
    "causantic",
    {
        "chunks": f"{_CHUNK} sessionId sessionSlug startTime endTime turnIndices agentId spawnDepth projectPath",
        "edges": "id source_chunk_id target_chunk_id edge_type reference_type initial_weight link_count created_at"
        " source target type referenceType weight",
        "clusters": "id name description memberChunkIds",
        "chunk_clusters": "chunk_id cluster_id distance",
        "session_states": "session_id session_slug project_path ended_at files_touched errors outcomes tasks summary"
        " created_at",
    },
    {
        "chunks.code_block_count": REBUILT_HERE,
        "chunks.tool_use_count": REBUILT_HERE,
        "chunks.approx_tokens": REBUILT_HERE,
        "chunks.created_at": "when it was read there, not when it was written",
        "chunks.vector_clock": BOOKKEEPING,
        "edges.vector_clock": BOOKKEEPING,
        "clusters.centroid": REBUILT_HERE,
        "clusters.exemplar_ids": REBUILT_HERE,
        "clusters.exemplarIds": REBUILT_HERE,
        "clusters.membership_hash": REBUILT_HERE,
        "clusters.refreshed_at": BOOKKEEPING,
        "clusters.created_at": BOOKKEEPING,
        "vectors": REBUILT_HERE,
        "embedding_cache": REBUILT_HERE,
        "index_entries": "descriptions derived from the chunks, which are imported themselves",
        "index_entry_chunks": "descriptions derived from the chunks, which are imported themselves",
        "entities": "names found in the chunks; they are found again here",
        "entity_aliases": "names found in the chunks; they are found again here",
        "entity_mentions": "names found in the chunks; they are found again here",
        "hdbscan_models": REBUILT_HERE,
        "vector_clocks": BOOKKEEPING,
        "retrieval_feedback": BOOKKEEPING,
        "ingestion_checkpoints": BOOKKEEPING,
        "schema_version": BOOKKEEPING,
        "export": "what the archive says about itself",
    },
)
_USER = "[User]"
# The first archives name only the project.
_SESSION = ("session_id", "sessionId", "session_slug", "sessionSlug")
_IN_ARCHIVE = "coalesce(sessionId, sessionSlug), startTime"

_EXPORTED = {"chunks": "chunks", "edges": "edges", "clusters": "clusters"}
_COLUMNS = {
    "chunks": "id sessionId sessionSlug content startTime endTime turnIndices",
    "edges": "source target type referenceType weight",
    "clusters": "id name memberChunkIds",
}


def read(database: ForeignDatabase) -> Iterator[Entry]:
    """Each session with its chunks in order, then how it ended."""
    ends = ("source_chunk_id", "target_chunk_id") if database.has("edges", "source_chunk_id") else ("source", "target")
    order = "session_id, start_time" if database.has("chunks", "session_id") else _IN_ARCHIVE
    topics = _topics(database)
    rows = (row for row in TABLES.rows(database, "chunks", f"ORDER BY {order}, rowid") if row.text("content"))
    for id_, group in groupby(rows, key=lambda row: row.text(*_SESSION)):
        chunks = list(group)
        messages = (_message(database, ends, topics, chunk) for chunk in chunks)
        yield from split_conversation(_conversation(id_, chunks[0]), messages)
    for row in TABLES.rows(database, "session_states", "ORDER BY rowid"):
        yield _session_state(row)
    yield from _broken_edges(database, ends)
    yield from TABLES.left_out(database)


def read_export(stream: Stream, _name: str) -> Iterator[Entry]:
    return read_export_tables(stream, _EXPORTED, read, _COLUMNS)


def _conversation(id_: str, first: Row) -> NewConversation:
    slug = first.text("session_slug", "sessionSlug")
    return NewConversation(
        label=f"{slug or 'Session'} {first.text('start_time', 'startTime')[:10]}".strip(),
        messages=(),
        folder="/imports/causantic",
        project=project_name(first.text("project_path", "projectPath") or slug),
        source=TABLES.source,
        key=TABLES.key(id_),
        meta=TABLES.meta(id_, first, "session_slug", "project_path", "team_name"),
        started_ms=first.time("start_time", "startTime"),
    )


def _message(database: ForeignDatabase, ends: tuple[str, str], topics: Mapping[str, list[str]], row: Row) -> NewMessage:
    id_, content = row.text("id"), row.text("content")
    meta = TABLES.meta(
        *(id_, row, "turn_indices", "turnIndices", "agent_id", "agentId", "spawn_depth", "team_name"),
        until=row.text("end_time", "endTime"),
        topics=topics.get(id_),
        links=_links(database, ends, id_),
    )
    role = "user" if content.lstrip().startswith(_USER) else "assistant"
    return NewMessage(role, content, row.time("start_time", "startTime"), meta, identity=id_, uid=_uid(id_))


def _links(database: ForeignDatabase, ends: tuple[str, str], id_: str) -> list[dict[str, object]]:
    """The links of a chunk, each once: Causantic stores most edges in both directions."""
    found: dict[str, dict[str, object]] = {}
    for row in TABLES.rows(database, "edges", f"WHERE {ends[0]} = ?1 OR {ends[1]} = ?1 ORDER BY rowid", (id_,)):
        other = row.text(ends[1]) if row.text(ends[0]) == id_ else row.text(ends[0])
        weight = next((row[name] for name in ("initial_weight", "weight") if row.get(name) is not None), None)
        link = link_to(
            _uid(other),
            row.text("reference_type", "referenceType", "edge_type", "type"),
            float(weight) if isinstance(weight, (int, float)) else None,
        )
        known = found.get(other)
        if other != id_ and (known is None or str(known.get("weight")) < str(link.get("weight"))):
            found[other] = link
    return list(found.values())


def _topics(database: ForeignDatabase) -> dict[str, list[str]]:
    """The names of each chunk's clusters, except those that are only numbered."""
    names: dict[str, str] = {}
    topics: defaultdict[str, list[str]] = defaultdict(list)
    for row in TABLES.rows(database, "clusters"):
        name = row.text("name")
        if name and not name.removeprefix("Cluster ").isdigit():
            names[row.text("id")] = name
            for chunk in row.texts("memberChunkIds"):
                topics[chunk].append(name)
    for row in TABLES.rows(database, "chunk_clusters") if names else ():
        if row.text("cluster_id") in names:
            topics[row.text("chunk_id")].append(names[row.text("cluster_id")])
    return topics


def _session_state(row: Row) -> Entry:
    """The state in which a session ended, as a summary."""
    tasks = [parse_object(task) for task in row.texts("tasks")]
    done = [task for task in tasks if task.text("status") in ("completed", "done")]
    errors = [parse_object(error) for error in row.texts("errors")]
    return fit_item(
        NewItem(
            content=row.text("summary"),
            kind="summary",
            details={
                "completed": "\n".join([*row.texts("outcomes"), *(task.text("description") for task in done)]),
                "next_steps": "\n".join(task.text("description") for task in tasks if task not in done),
                "notes": "\n".join(
                    f"{e.text('tool')}: {e.text('message')} {e.text('resolution')}".strip() for e in errors
                ),
            },
            meta=TABLES.meta(row.get("session_id"), row, files=row.texts("files_touched")),
            project=row.text("project_path", "session_slug"),
            session=TABLES.key(row.text("session_id")),
            created_ms=row.time("ended_at", "created_at"),
            uid=TABLES.uid("session state", f"state of {row.get('session_id')}"),
        )
    )


def _broken_edges(database: ForeignDatabase, ends: tuple[str, str]) -> Iterator[Skipped]:
    if database.has("edges", *ends) and database.has("chunks"):
        lost = " OR ".join(f"{end} NOT IN (SELECT id FROM chunks)" for end in ends)
        if count := database.count("edges", lost):
            yield Skipped("edges", MISSING_END, "link", count)


def _uid(chunk: str) -> str:
    return TABLES.uid("chunk", chunk)
