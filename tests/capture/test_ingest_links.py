"""What hangs together in sessions of every product: sub-agents, branches, messages that change in place."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from commonplace.memory.graph import link_new_passages, walk_links
from commonplace.memory.local_memory import LocalMemory

from .ingest_helpers import KEY, ingest, messages, place, session, talk
from .transcripts.corpus import SESSION, Claude, codex_meta, item, line, question_records, replied, write


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return place(tmp_path)


def test_a_sub_agent_knows_the_message_that_started_it(memory: LocalMemory, path: Path) -> None:
    claude = talk()
    claude.user("Look through the docs")
    claude.calls("Task", "t9", prompt="Search the docs", subagent_type="Explore")
    worker = Claude()
    worker.user("Search the docs", isSidechain=True, agentId="a77")
    worker.says("Nothing about tokens in the docs.", isSidechain=True, agentId="a77")
    second = path.with_suffix("") / "subagents" / "agent-a77.jsonl"
    write(second, worker.records)
    # The agent still works: nothing tells yet which call started it.
    ingest(memory, write(path, claude.records), second)
    child = f"{KEY}/a77"
    assert session(memory, child).meta["parent_session"] == KEY and "parent_message" not in session(memory, child).meta
    claude.answers("t9", "Nothing there.", toolUseResult={"agentId": "a77", "content": "Nothing there."})
    ingest(memory, write(path, claude.records))
    assert session(memory, child).meta["parent_message"] == messages(memory)[-1].uid
    while link_new_passages(memory):
        pass
    (started,) = memory.store.passages_of([messages(memory)[-1].id]).values()
    reached = {one.item.session for one in walk_links(memory, {started[0]: 1.0})}
    assert child in reached


def test_codex_with_a_sub_agent_in_a_file_of_its_own(memory: LocalMemory, tmp_path: Path) -> None:
    call = item(2, "function_call", name="spawn_agent", call_id="c1", arguments='{"message":"review"}')
    answer = item(2, "function_call_output", call_id="c1", output='{"agent_id":"k1"}')
    main = [codex_meta(), *question_records(1, "Review the login"), call, answer, *replied(3, "It is fine.")]
    spawn = {"subagent": {"thread_spawn": {"parent_thread_id": SESSION, "depth": 1, "agent_role": "reviewer"}}}
    worker = [line(0, "session_meta", id="k1", cwd="/srv/code/my-api", source=spawn), *question_records(2, "review")]
    # The agent's file comes first by its name.
    write(tmp_path / "rollout-1-k1.jsonl", worker)
    write(tmp_path / "rollout-2-main.jsonl", main)
    assert ingest(memory, tmp_path).messages.added == 3
    assert session(memory, f"codex:{SESSION}").project == "github.com/acme/my-api"
    started = session(memory, f"codex:{SESSION}/k1").meta
    assert started["agent"] == "reviewer"
    assert started["parent_message"] == messages(memory, f"codex:{SESSION}")[-1].uid


def test_gemini_whose_messages_change_in_the_middle(memory: LocalMemory, tmp_path: Path) -> None:
    about = {"sessionId": "g1", "projectHash": "abc", "startTime": "2026-03-15T10:00:00Z", "kind": "main"}
    question = {"id": "m1", "timestamp": "2026-03-15T10:01:00Z", "type": "user", "content": "Build it"}
    reply = {"id": "m2", "timestamp": "2026-03-15T10:02:00Z", "type": "gemini", "content": "Building"}
    payload = {"$set": {"summary": "Building", "directories": ["/srv/code/my-api"]}}
    path = write(tmp_path / "abc" / "chats" / "session-x-g1.jsonl", [about, question, reply])
    ingest(memory, path)
    before = messages(memory, "gemini:g1")
    write(path, [about, question, reply, {**reply, "content": "Building is done."}, payload])
    assert ingest(memory, path).messages.added == 0
    after = messages(memory, "gemini:g1")
    assert [one.id for one in after] == [one.id for one in before] and after[-1].body == "Building is done."
    assert session(memory, "gemini:g1").label == "Building"


def test_cursor_keeps_many_sessions_in_one_file(memory: LocalMemory, tmp_path: Path) -> None:
    path = tmp_path / "state.vscdb"
    with closing(apsw.Connection(str(path))) as cursor:
        cursor.execute("CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")

        def put(key: str, value: object) -> None:
            cursor.execute("INSERT INTO cursorDiskKV VALUES (?, ?)", (key, json.dumps(value)))

        for name in ("c1", "c2"):
            heads = [{"bubbleId": "b0", "type": 1}, {"bubbleId": "b1", "type": 2}]
            about = {"composerId": name, "name": f"Session {name}", "createdAt": 1_773_568_800_000}
            put(f"composerData:{name}", {**about, "fullConversationHeadersOnly": heads})
            put(f"bubbleId:{name}:b0", {"type": 1, "text": f"Question {name}"})
            put(f"bubbleId:{name}:b1", {"type": 2, "text": f"Answer {name}"})
        assert ingest(memory, path).messages.added == 4
        put("bubbleId:c1:b1", {"type": 2, "text": "Answer c1, and more"})
        assert ingest(memory, path).messages.added == 0
    assert session(memory, "cursor:c2").label == "Session c2"
    assert messages(memory, "cursor:c1")[-1].body == "Answer c1, and more"
    # Bubbles have no time of their own: they are as old as their session, not as the file.
    assert {message.created_ms for message in messages(memory, "cursor:c1")} == {1_773_568_800_000}
    before = path.read_bytes()
    assert ingest(memory, path).files.known == 1 and path.read_bytes() == before


def test_every_branch_is_kept_and_those_left_behind_are_marked(memory: LocalMemory, path: Path) -> None:
    claude = Claude()
    claude.user("Which database?")
    fork = claude.says("SQLite or PostgreSQL.")
    claude.user("Take PostgreSQL")
    claude.says("Done with PostgreSQL.")
    ingest(memory, write(path, claude.records))
    assert not any("off_path" in item.meta for item in messages(memory))
    claude.user("Take SQLite", parentUuid=fork)
    claude.says("Done with SQLite.")
    ingest(memory, write(path, claude.records))
    left = {item.body for item in messages(memory) if item.meta.get("off_path")}
    assert left == {"Take PostgreSQL", "Done with PostgreSQL."} and session(memory).messages == 6
    size = sum(
        len(f"{i.body}{json.dumps(i.meta, ensure_ascii=False, separators=(',', ':'))}") for i in messages(memory)
    )
    assert session(memory).bytes == size
