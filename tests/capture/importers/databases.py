"""Databases as other products leave them: their tables and columns, filled with a little of everything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw

Rows = Mapping[str, Sequence[Mapping[str, Any]]]
AT = 1_742_049_000_000
ISO = "2025-03-15T14:30:00.000Z"
SPACED = "2025-03-15 14:30:00"

KIRO: dict[str, str] = {
    "sessions": "id INTEGER PRIMARY KEY, content_session_id TEXT UNIQUE, project TEXT, user_prompt TEXT,"
    " memory_session_id TEXT, status TEXT, started_at TEXT, started_at_epoch INTEGER, completed_at TEXT,"
    " completed_at_epoch INTEGER",
    "observations": "id INTEGER PRIMARY KEY, memory_session_id TEXT, project TEXT, type TEXT, title TEXT,"
    " subtitle TEXT, text TEXT, narrative TEXT, facts TEXT, concepts TEXT, files_read TEXT, files_modified TEXT,"
    " prompt_number INTEGER, created_at TEXT, created_at_epoch INTEGER, last_accessed_epoch INTEGER,"
    " is_stale INTEGER, content_hash TEXT, discovery_tokens INTEGER, auto_category TEXT",
    "summaries": "id INTEGER PRIMARY KEY, session_id TEXT, project TEXT, request TEXT, investigated TEXT, learned TEXT,"
    " completed TEXT, next_steps TEXT, notes TEXT, created_at TEXT, created_at_epoch INTEGER",
    "checkpoints": "id INTEGER PRIMARY KEY, session_id INTEGER, project TEXT, task TEXT, progress TEXT,"
    " next_steps TEXT, open_questions TEXT, relevant_files TEXT, context_snapshot TEXT, created_at TEXT,"
    " created_at_epoch INTEGER",
    "prompts": "id INTEGER PRIMARY KEY, content_session_id TEXT, project TEXT, prompt_number INTEGER,"
    " prompt_text TEXT, created_at TEXT, created_at_epoch INTEGER",
    "github_links": "id INTEGER PRIMARY KEY, observation_id INTEGER, session_id TEXT, repo TEXT, issue_number INTEGER,"
    " pr_number INTEGER, event_type TEXT, action TEXT, title TEXT, url TEXT, author TEXT, created_at TEXT,"
    " created_at_epoch INTEGER",
    "observation_embeddings": "observation_id INTEGER PRIMARY KEY, embedding BLOB",
    "schema_versions": "id INTEGER PRIMARY KEY, version INTEGER",
}
MEM0: dict[str, str] = {
    "history": "id TEXT PRIMARY KEY, memory_id TEXT, old_memory TEXT, new_memory TEXT, event TEXT, created_at DATETIME,"
    " updated_at DATETIME, is_deleted INTEGER, actor_id TEXT, role TEXT",
    "messages": "id TEXT PRIMARY KEY, session_scope TEXT, role TEXT, content TEXT, name TEXT, created_at DATETIME",
}
MEMORIES: dict[str, str] = {
    "memories": "id TEXT PRIMARY KEY, content TEXT NOT NULL, tags TEXT, scope TEXT, project_id TEXT, type TEXT,"
    " paths TEXT, category TEXT, metadata TEXT, created_at TEXT, updated_at TEXT, deleted_at TEXT, embedding BLOB",
    "memory_links": "id TEXT PRIMARY KEY, source_id TEXT, target_id TEXT, link_type TEXT, created_at TEXT",
    "memory_history": "id TEXT PRIMARY KEY, memory_id TEXT, content TEXT",
    "reminders": "id TEXT PRIMARY KEY, message TEXT",
}
LATER_MEMORIES: dict[str, str] = {
    **MEMORIES,
    "memories": MEMORIES["memories"]
    + ", memory_layer TEXT, expires_at TEXT, source_session_id TEXT, superseded_by TEXT, confidence REAL",
    "memory_sessions": "id TEXT PRIMARY KEY, scope TEXT, project_id TEXT, client TEXT, status TEXT, title TEXT,"
    " started_at TEXT, last_activity_at TEXT, ended_at TEXT, metadata TEXT",
    "memory_session_events": "id TEXT PRIMARY KEY, session_id TEXT, role TEXT, kind TEXT, content TEXT,"
    " token_count INTEGER, turn_index INTEGER, is_meaningful INTEGER, created_at TEXT",
    "memory_session_snapshots": "id TEXT PRIMARY KEY, session_id TEXT, slug TEXT, source_trigger TEXT,"
    " transcript_md TEXT, message_count INTEGER, created_at TEXT",
}
CAUSANTIC: dict[str, str] = {
    "chunks": "id TEXT PRIMARY KEY, session_id TEXT, session_slug TEXT, turn_indices TEXT, start_time TEXT,"
    " end_time TEXT, content TEXT, approx_tokens INTEGER, agent_id TEXT, spawn_depth INTEGER, project_path TEXT",
    "edges": "id TEXT PRIMARY KEY, source_chunk_id TEXT, target_chunk_id TEXT, edge_type TEXT, reference_type TEXT,"
    " initial_weight REAL, created_at TEXT, link_count INTEGER",
    "clusters": "id TEXT PRIMARY KEY, name TEXT, description TEXT, centroid BLOB",
    "chunk_clusters": "chunk_id TEXT, cluster_id TEXT, distance REAL",
    "session_states": "session_id TEXT PRIMARY KEY, session_slug TEXT, project_path TEXT, ended_at TEXT,"
    " files_touched TEXT, errors TEXT, outcomes TEXT, tasks TEXT, summary TEXT, created_at TEXT",
    "vectors": "id TEXT PRIMARY KEY, embedding BLOB",
}
SEKHA: dict[str, str] = {
    "conversations": "id TEXT PRIMARY KEY, label TEXT, folder TEXT, status TEXT, importance_score INTEGER,"
    " word_count INTEGER, session_count INTEGER, created_at TEXT, updated_at TEXT",
    "messages": "id UUID PRIMARY KEY, conversation_id UUID, role TEXT, content TEXT, timestamp TIMESTAMP,"
    " embedding_id TEXT, metadata JSON",
    "semantic_tags": "id TEXT PRIMARY KEY, conversation_id TEXT, tag TEXT, confidence REAL, extracted_at TEXT",
    "hierarchical_summaries": "id TEXT PRIMARY KEY, conversation_id TEXT, level TEXT, summary_text TEXT,"
    " timestamp_range TEXT, generated_at TEXT, model_used TEXT, token_count INTEGER",
    "knowledge_graph_edges": "subject_id TEXT, predicate TEXT, object_id TEXT, conversation_id TEXT, extracted_at TEXT,"
    " PRIMARY KEY (subject_id, predicate, object_id, conversation_id)",
}
CLAUDE_MEM: dict[str, str] = {
    "sdk_sessions": "id INTEGER PRIMARY KEY, content_session_id TEXT, memory_session_id TEXT UNIQUE, project TEXT,"
    " platform_source TEXT, user_prompt TEXT, started_at TEXT, started_at_epoch INTEGER, status TEXT,"
    " custom_title TEXT",
    "observations": "id INTEGER PRIMARY KEY, memory_session_id TEXT, project TEXT, text TEXT, type TEXT, title TEXT,"
    " subtitle TEXT, facts TEXT, narrative TEXT, concepts TEXT, files_read TEXT, files_modified TEXT,"
    " prompt_number INTEGER, discovery_tokens INTEGER, created_at TEXT, created_at_epoch INTEGER",
    "session_summaries": "id INTEGER PRIMARY KEY, memory_session_id TEXT, project TEXT, request TEXT,"
    " investigated TEXT, learned TEXT, completed TEXT, next_steps TEXT, files_read TEXT, files_edited TEXT, notes TEXT,"
    " prompt_number INTEGER, created_at TEXT, created_at_epoch INTEGER",
    "user_prompts": "id INTEGER PRIMARY KEY, session_db_id INTEGER, content_session_id TEXT, prompt_number INTEGER,"
    " prompt_text TEXT, created_at TEXT, created_at_epoch INTEGER",
    "tool_uses": "id INTEGER PRIMARY KEY, tool_name TEXT",
}
OLD_CLAUDE_MEM: dict[str, str] = {
    "sdk_sessions": "id INTEGER PRIMARY KEY, claude_session_id TEXT UNIQUE, sdk_session_id TEXT UNIQUE, project TEXT,"
    " user_prompt TEXT, started_at TEXT, started_at_epoch INTEGER, status TEXT",
    "observations": "id INTEGER PRIMARY KEY, sdk_session_id TEXT, project TEXT, text TEXT, type TEXT, created_at TEXT,"
    " created_at_epoch INTEGER",
}


def make(path: Path, tables: Mapping[str, str], rows: Rows) -> Path:
    """A database with these tables and rows, closed and whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(apsw.Connection(str(path))) as connection:
        fill(connection, tables, rows)
    return path


def fill(connection: apsw.Connection, tables: Mapping[str, str], rows: Rows) -> None:
    for table, columns in tables.items():
        connection.execute(f"CREATE TABLE {table} ({columns})")
    for table, entries in rows.items():
        for entry in entries:
            names, marks = ", ".join(entry), ", ".join("?" * len(entry))
            connection.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", tuple(entry.values()))


def observation(number: int, **more: Any) -> dict[str, Any]:
    """One of Kiro's, a second after the one before."""
    at = AT + 1000 * number
    payload = {"id": number, "memory_session_id": f"sdk-{at}", "project": "my-api", "type": "file-write"}
    return payload | {"title": f"Modified file {number}", "created_at_epoch": at, "prompt_number": 0} | more


def memory_row(id_: str, content: str, **more: Any) -> dict[str, Any]:
    payload = {"id": id_, "content": content, "type": "note", "scope": "global", "created_at": SPACED}
    return payload | more


def chunk(id_: str, content: str, **more: Any) -> dict[str, Any]:
    payload = {"id": id_, "session_id": "s1", "session_slug": "my-api", "turn_indices": "[0]", "content": content}
    return payload | {"start_time": ISO, "end_time": ISO, "project_path": "/work/my-api"} | more
