"""Causantic, once ECM: chunks of past sessions become messages, its edges links between them.

Written against the schemas 1 to 16, and the archive of `causantic export` where it is not encrypted. A chunk stays one
message, so that whatever referred to it still does.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import groupby

from commonplace.capture.import_report import Entry, Skipped, Stream
from commonplace.capture.importers.foreign_database import ForeignDatabase, Row, read_export_tables
from commonplace.capture.importers.row_mapping import (
    BOOKKEEPING,
    REBUILT_HERE,
    TableMapping,
    field_list,
    field_object,
    field_text,
    field_time,
    fit_item,
    link_to,
    project_name,
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
        "chunks.created_at": "when it was read there, not when it was said",
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
        "index_entries": "descriptions made of the chunks, which are here themselves",
        "index_entry_chunks": "descriptions made of the chunks, which are here themselves",
        "entities": "names found in the chunks; they are found anew here",
        "entity_aliases": "names found in the chunks; they are found anew here",
        "entity_mentions": "names found in the chunks; they are found anew here",
        "hdbscan_models": REBUILT_HERE,
        "vector_clocks": BOOKKEEPING,
        "retrieval_feedback": BOOKKEEPING,
        "ingestion_checkpoints": BOOKKEEPING,
        "schema_version": BOOKKEEPING,
        "export": "what the archive says of itself",
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
    """Each session with its chunks in their order, then how it ended."""
    ends = ("source_chunk_id", "target_chunk_id") if database.has("edges", "source_chunk_id") else ("source", "target")
    order = "session_id, start_time" if database.has("chunks", "session_id") else _IN_ARCHIVE
    topics = _topics(database)
    rows = TABLES.rows(database, "chunks", f"ORDER BY {order}, rowid")
    for id_, group in groupby(
        (row for row in rows if field_text(row, "content")), key=lambda row: field_text(row, *_SESSION)
    ):
        chunks = list(group)
        said = (_message(database, ends, topics, chunk) for chunk in chunks)
        yield from split_conversation(_conversation(id_, chunks[0]), said)
    for row in TABLES.rows(database, "session_states", "ORDER BY rowid"):
        yield _ending(row)
    yield from _dangling(database, ends)
    yield from TABLES.left_out(database)


def read_export(stream: Stream, _name: str) -> Iterator[Entry]:
    return read_export_tables(stream, _EXPORTED, read, _COLUMNS)


def _conversation(id_: str, first: Row) -> NewConversation:
    slug, at_ms = field_text(first, "session_slug", "sessionSlug"), _at(first)
    return NewConversation(
        label=f"{slug or 'Session'} {field_text(first, 'start_time', 'startTime')[:10]}".strip(),
        messages=(),
        folder="/imports/causantic",
        project=project_name(field_text(first, "project_path", "projectPath") or slug),
        source=TABLES.source,
        key=TABLES.key(id_),
        meta=TABLES.meta(id_, first, "session_slug", "project_path", "team_name"),
        started_ms=at_ms,
    )


def _message(database: ForeignDatabase, ends: tuple[str, str], topics: Mapping[str, list[str]], row: Row) -> NewMessage:
    id_, said = field_text(row, "id"), field_text(row, "content")
    meta = TABLES.meta(
        *(id_, row, "turn_indices", "turnIndices", "agent_id", "agentId", "spawn_depth", "team_name"),
        until=field_text(row, "end_time", "endTime"),
        topics=topics.get(id_),
        links=_links(database, ends, id_),
    )
    role = "user" if said.lstrip().startswith(_USER) else "assistant"
    return NewMessage(role, said, _at(row), meta, identity=id_, uid=_uid(id_))


def _links(database: ForeignDatabase, ends: tuple[str, str], id_: str) -> list[dict[str, object]]:
    """The edges of a chunk, each told once: Causantic wrote most of them in both directions."""
    found: dict[str, dict[str, object]] = {}
    for row in TABLES.rows(database, "edges", f"WHERE {ends[0]} = ?1 OR {ends[1]} = ?1 ORDER BY rowid", (id_,)):
        other = field_text(row, ends[1]) if field_text(row, ends[0]) == id_ else field_text(row, ends[0])
        weight = next((row[name] for name in ("initial_weight", "weight") if row.get(name) is not None), None)
        told = link_to(
            _uid(other),
            field_text(row, "reference_type", "referenceType", "edge_type", "type"),
            float(weight) if isinstance(weight, (int, float)) else None,
        )
        known = found.get(other)
        if other != id_ and (known is None or str(known.get("weight")) < str(told.get("weight"))):
            found[other] = told
    return list(found.values())


def _topics(database: ForeignDatabase) -> dict[str, list[str]]:
    """For each chunk the names of its clusters; those that are only numbered say nothing."""
    names: dict[str, str] = {}
    topics: defaultdict[str, list[str]] = defaultdict(list)
    for row in TABLES.rows(database, "clusters"):
        name = field_text(row, "name")
        if name and not name.removeprefix("Cluster ").isdigit():
            names[field_text(row, "id")] = name
            for chunk in field_list(row.get("memberChunkIds")):
                topics[chunk].append(name)
    for row in TABLES.rows(database, "chunk_clusters") if names else ():
        if field_text(row, "cluster_id") in names:
            topics[field_text(row, "chunk_id")].append(names[field_text(row, "cluster_id")])
    return topics


def _ending(row: Row) -> Entry:
    """How a session ended, as it was worked out there, is a summary here."""
    outcomes, files = field_list(row.get("outcomes")), field_list(row.get("files_touched"))
    tasks = [field_object(task) for task in field_list(row.get("tasks"))]
    errors = [field_object(error) for error in field_list(row.get("errors"))]
    told = [
        f"{field_text(e, 'tool')}: {field_text(e, 'message')} {field_text(e, 'resolution')}".strip() for e in errors
    ]
    return fit_item(
        NewItem(
            content=field_text(row, "summary"),
            kind="summary",
            details={
                "completed": "\n".join([*outcomes, *(field_text(t, "description") for t in tasks if _done(t))]),
                "next_steps": "\n".join(field_text(task, "description") for task in tasks if not _done(task)),
                "notes": "\n".join(told),
            },
            meta=TABLES.meta(row.get("session_id"), row, files=files),
            project=field_text(row, "project_path", "session_slug"),
            session=TABLES.key(field_text(row, "session_id")),
            created_ms=field_time(row, "ended_at", "created_at"),
            uid=TABLES.uid("session state", f"state of {row.get('session_id')}"),
        )
    )


def _done(task: Mapping[str, object]) -> bool:
    return field_text(task, "status") in ("completed", "done")


def _dangling(database: ForeignDatabase, ends: tuple[str, str]) -> Iterator[Skipped]:
    if database.has("edges", *ends) and database.has("chunks"):
        lost = " OR ".join(f"{end} NOT IN (SELECT id FROM chunks)" for end in ends)
        if count := database.count("edges", lost):
            yield Skipped("edges", "one of its ends is not there any more", "link", count)


def _uid(chunk: str) -> str:
    return TABLES.uid("chunk", chunk)


def _at(row: Row) -> int | None:
    return field_time(row, "start_time", "startTime")
