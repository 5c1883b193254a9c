"""Causantic: sessions of chunks with their edges, which the graph here walks, and how each session ended."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from commonplace.capture.import_files import import_path
from commonplace.memory.conversations import open_conversation
from commonplace.memory.graph import link_new_passages, walk_links
from commonplace.memory.items import browse_items
from commonplace.memory.local_memory import LocalMemory
from commonplace.model import Scope

from .conftest import ImportDatabase
from .databases import AT, CAUSANTIC, ISO, Rows, chunk

LATER = "2025-03-15T15:30:00.000Z"
ROWS: Rows = {
    "chunks": [
        chunk("s1-b", "[Assistant]\nWith a token bucket", start_time=LATER, agent_id="a7", spawn_depth=1),
        chunk("s1-a", "[User]\nHow do we limit rates?", approx_tokens=6),
        chunk("s2-a", "[User]\nElsewhere", session_id="s2", session_slug="web", project_path=None),
    ],
    "edges": [
        {"id": "e1", "source_chunk_id": "s1-a", "target_chunk_id": "s1-b", "edge_type": "forward"}
        | {"reference_type": "file-path", "initial_weight": 0.81},
        {"id": "e2", "source_chunk_id": "s1-b", "target_chunk_id": "s1-a", "edge_type": "backward"}
        | {"reference_type": "adjacent", "initial_weight": 0.35},
        {"id": "e3", "source_chunk_id": "s2-a", "target_chunk_id": "s1-a", "edge_type": "backward"}
        | {"reference_type": "cross-session", "initial_weight": 0.7},
        {
            "id": "e4",
            "source_chunk_id": "s1-a",
            "target_chunk_id": "pruned",
            "edge_type": "forward",
            "initial_weight": 1,
        },
    ],
    "clusters": [{"id": "c1", "name": "Rate limiting", "centroid": b"\0"}, {"id": "c2", "name": "Cluster 4"}],
    "chunk_clusters": [{"chunk_id": "s1-a", "cluster_id": "c1"}, {"chunk_id": "s1-a", "cluster_id": "c2"}],
    "session_states": [
        {
            "session_id": "s1",
            "session_slug": "my-api",
            "ended_at": LATER,
            "files_touched": '["src/limit.ts"]',
            "errors": '[{"tool": "Bash", "message": "1 failed", "resolution": "fixed the clock"}]',
            "outcomes": '["Committed the limiter"]',
            "tasks": '[{"description": "Write docs", "status": "open"}, {"description": "Test", "status": "done"}]',
            "summary": "Rates are limited by a bucket.",
        }
    ],
    "vectors": [{"id": "s1-a", "embedding": b"\0"}],
}


def test_a_session_comes_in_with_its_chunks_in_order(memory: LocalMemory, move_in: ImportDatabase) -> None:
    summary = move_in(CAUSANTIC, ROWS)
    assert (summary.conversations.added, summary.messages.added, summary.items.added) == (2, 3, 1)
    session, (question, answered) = open_conversation(memory, "causantic:s1")
    assert (session.label, session.project, session.started_ms) == ("my-api 2025-03-15", "my-api", AT)
    assert (question.details["role"], answered.details["role"]) == ("user", "assistant")
    assert (
        question.created_ms == AT
        and question.meta["source_id"] == "s1-a"
        and question.meta["topics"] == ["Rate limiting"]
    )
    assert answered.meta["agent_id"] == "a7"
    assert open_conversation(memory, "causantic:s2")[0].project == "web"


def test_how_a_session_ended_is_a_summary(memory: LocalMemory, move_in: ImportDatabase) -> None:
    move_in(CAUSANTIC, ROWS)
    (ended,) = browse_items(memory, Scope(kinds=("summary",))).items
    assert (ended.body, ended.session, ended.project) == ("Rates are limited by a bucket.", "causantic:s1", "my-api")
    assert ended.details == {
        "completed": "Committed the limiter\nTest",
        "next_steps": "Write docs",
        "notes": "Bash: 1 failed fixed the clock",
    }
    assert ended.meta["files"] == ["src/limit.ts"]


def test_edges_are_links_that_are_walked_with_their_weights(memory: LocalMemory, move_in: ImportDatabase) -> None:
    move_in(CAUSANTIC, ROWS)
    question, answered = open_conversation(memory, "causantic:s1")[1]
    elsewhere = open_conversation(memory, "causantic:s2")[1][0]
    assert answered.meta["links"] == [{"to": question.uid, "rel": "file-path", "weight": 0.81}]
    while link_new_passages(memory):
        pass
    reached = walk_links(memory, {_passage(memory, elsewhere.id): 1.0}, depth=1, most=5)
    assert [(one.item.id, one.rel) for one in reached] == [(question.id, "linked")]
    assert abs(reached[0].weight - 0.7 * 0.9) < 1e-9


def test_what_had_no_place_is_told(move_in: ImportDatabase) -> None:
    assert move_in(CAUSANTIC, ROWS).reasons == {
        ("link", "one of its ends no longer exists"): 1,
        ("column", "it is rebuilt here"): 2,
        ("table", "it is rebuilt here"): 1,
    }


def test_an_archive_is_read_and_knows_the_chunks_of_the_database(
    memory: LocalMemory, move_in: ImportDatabase, tmp_path: Path
) -> None:
    rows = [row for row in ROWS["chunks"] if row["session_id"] == "s1"]
    archive: dict[str, Any] = {
        "format": "causantic-archive",
        "version": "1.1",
        "chunks": [
            {"id": row["id"], "sessionId": "s1", "sessionSlug": "my-api", "content": row["content"]}
            | {"startTime": row["start_time"], "endTime": ISO, "turnIndices": [0]}
            for row in rows
        ],
        "edges": [{"source": "s1-a", "target": "s1-b", "type": "forward", "referenceType": "adjacent", "weight": 0.5}],
        "clusters": [{"id": "c1", "name": "Rate limiting", "memberChunkIds": ["s1-a"]}],
    }
    path = tmp_path / "archive.json"
    path.write_text(json.dumps(archive), encoding="utf-8")
    assert import_path(memory, path).messages.added == 2
    question, answered = open_conversation(memory, "causantic:s1")[1]
    assert question.meta["links"] == [{"to": answered.uid, "rel": "adjacent", "weight": 0.5}]
    assert question.meta["topics"] == ["Rate limiting"]
    whole = move_in(CAUSANTIC, ROWS)
    assert (whole.messages.added, whole.messages.known) == (1, 2)


def test_the_first_archives_know_projects_only(memory: LocalMemory, tmp_path: Path) -> None:
    chunks = [{"id": f"c{n}", "sessionSlug": slug, "content": f"Said {n}"} for n, slug in enumerate(("a", "b", "a"))]
    path = tmp_path / "archive.json"
    path.write_text(json.dumps({"format": "causantic-archive", "chunks": chunks, "edges": []}), encoding="utf-8")
    summary = import_path(memory, path)
    assert (summary.conversations.added, summary.messages.added) == (2, 3)


def test_the_first_schema_is_read(move_in: ImportDatabase) -> None:
    first = {
        "chunks": "id TEXT PRIMARY KEY, session_id TEXT, session_slug TEXT, turn_indices TEXT, start_time TEXT,"
        " end_time TEXT, content TEXT, vector_clock TEXT",
        "edges": CAUSANTIC["edges"],
    }
    rows = {"chunks": [{**chunk("1", "Hello"), "vector_clock": "{}"}]}
    del rows["chunks"][0]["project_path"]
    assert move_in(first, rows).messages.added == 1


def _passage(memory: LocalMemory, item_id: int) -> int:
    return memory.store.passages_of([item_id])[item_id][0]
