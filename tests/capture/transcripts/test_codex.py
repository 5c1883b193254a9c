"""Codex's rollouts become turns: each word once, though the file says most of them twice."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from tests.capture.transcripts.corpus import (
    FOLDER,
    SESSION,
    Record,
    codex_meta,
    event,
    item,
    jsonl,
    line,
    question_records,
    reading,
    replied,
    texts,
    write,
)

from commonplace.hosts.transcript import MAX_TURN


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / f"rollout-2026-03-15T10-00-00-{SESSION}.jsonl"


def test_a_turn_with_everything_in_it(path: Path) -> None:
    patch = (
        "*** Begin Patch\n*** Update File: src/auth.py\n@@\n-60\n+3600\n*** Add File: tests/test_auth.py\n*** End Patch"
    )
    records = [
        codex_meta(cli_version="0.120.0"),
        line(1, "turn_context", cwd=FOLDER, model="gpt-x"),
        *question_records(1, "Why does login fail?"),
        event(2, "agent_reasoning", text="**Looking**"),
        item(2, "reasoning", summary=[{"type": "summary_text", "text": "**Looking**"}], encrypted_content="gAAA"),
        item(3, "function_call", name="shell", call_id="c1", arguments='{"command":["bash","-lc","cat app.log"]}'),
        event(3, "exec_command_end", call_id="c1", stdout="Error: token expired"),
        item(
            3,
            "function_call_output",
            call_id="c1",
            output=json.dumps({"output": "Error: token expired\n", "metadata": {"exit_code": 1}}),
        ),
        item(4, "custom_tool_call", name="apply_patch", call_id="c2", input=patch),
        item(4, "custom_tool_call_output", call_id="c2", output="Success"),
        item(5, "local_shell_call", call_id="c3", action={"type": "exec", "command": ["ls", "-l"]}),
        item(5, "web_search_call", id="w1", action={"type": "search", "query": "token expiry"}),
        *replied(6, "Tokens lived for a minute."),
        event(6, "token_count", info={}),
    ]
    (turn,), pass_ = reading(write(path, records), "codex")
    assert texts(turn) == [
        ("text", "Why does login fail?"),
        ("thinking", "**Looking**"),
        ("tool_call", "cat app.log"),
        ("tool_result", "Error: token expired"),
        ("tool_call", patch),
        ("tool_result", "Success"),
        ("tool_call", "ls -l"),
        ("tool_call", "type: search\nquery: token expiry"),
        ("text", "Tokens lived for a minute."),
    ]
    assert turn.blocks[3].error == "Error: token expired" and turn.blocks[3].tool == "shell"
    assert turn.blocks[4].files == ("src/auth.py", "tests/test_auth.py")
    assert (turn.role, turn.model) == ("user", "gpt-x")
    about = pass_.transcript
    assert (about.session, about.folder, about.branch, about.version) == (SESSION, FOLDER, "main", "0.120.0")
    assert about.remote.endswith("acme/my-api.git") and not pass_.counts.unknown


@pytest.mark.parametrize(
    "words",
    [
        "<environment_context>\n<cwd>/srv</cwd>\n</environment_context>",
        "<user_instructions>be good</user_instructions>",
        "# AGENTS.md instructions for /srv\n<INSTRUCTIONS>be good</INSTRUCTIONS>",
        "<turn_aborted>stopped</turn_aborted>",
    ],
)
def test_injected_words_are_no_turn(path: Path, words: str) -> None:
    developer = item(1, "message", role="developer", content=[{"type": "input_text", "text": "rules"}])
    turns, _ = reading(
        write(path, [codex_meta(), developer, *question_records(1, words), *question_records(2, "Go")]), "codex"
    )
    assert [texts(turn) for turn in turns] == [[("text", "Go")]]


def test_the_same_question_twice_is_two_turns_and_told_twice_is_one(path: Path) -> None:
    records = [
        codex_meta(),
        *question_records(1, "continue"),
        *replied(2, "ok"),
        *question_records(3, "continue"),
        *replied(4, "ok"),
    ]
    turns, _ = reading(write(path, records), "codex")
    assert [texts(turn) for turn in turns] == [[("text", "continue"), ("text", "ok")]] * 2
    assert turns[1].parent == turns[0].identity != turns[1].identity


def test_the_same_question_at_the_same_moment_is_still_two_turns(path: Path) -> None:
    turns, _ = reading(write(path, [codex_meta(), *question_records(1, "on"), *question_records(1, "on")]), "codex")
    assert len({turn.identity for turn in turns}) == 2 and turns[1].parent == turns[0].identity


def test_events_alone_are_enough(path: Path) -> None:
    records = [codex_meta(), event(1, "user_message", message="Go"), event(2, "agent_message", message="Gone.")]
    (turn,), _ = reading(write(path, records), "codex")
    assert texts(turn) == [("text", "Go"), ("text", "Gone.")]


def test_the_request_is_told_from_what_the_editor_added(path: Path) -> None:
    words = "# Context from my IDE setup:\n\n## Open tabs:\n- a.py\n\n## My request for Codex:\nFix it"
    (turn,), _ = reading(write(path, [codex_meta(), *question_records(1, words)]), "codex")
    assert texts(turn) == [("text", "Fix it")]


def test_what_a_person_ran_in_the_shell_is_a_call(path: Path) -> None:
    ran = "<command>\nls\n</command>\n<result>\nExit code: 0\na.py\n</result>"
    words = f"<user_shell_command>\n{ran}\n</user_shell_command>"
    records = [codex_meta(), item(1, "message", role="user", content=[{"type": "input_text", "text": words}])]
    (turn,), _ = reading(write(path, records), "codex")
    assert texts(turn) == [("tool_call", "ls"), ("tool_result", "Exit code: 0\na.py")]
    assert (turn.blocks[0].command, turn.blocks[1].error) == ("ls", "")


@pytest.mark.parametrize(
    ("output", "text", "error"),
    [
        ("plain", "plain", ""),
        ('{"output":"no such file","metadata":{"exit_code":2}}', "no such file", "no such file"),
        ('{"output":"fine","metadata":{"exit_code":0}}', "fine", ""),
        ("Chunk\nProcess exited with code 1\nOutput:\nAssertionError: 1 != 2", None, "AssertionError: 1 != 2"),
        ([{"type": "input_text", "text": "seen"}, {"type": "input_image", "image_url": "data:AA"}], None, ""),
        ({"content": "denied", "success": False}, "denied", "denied"),
        ("{broken", "{broken", ""),
    ],
)
def test_outputs_of_every_shape(path: Path, output: Any, text: str | None, error: str) -> None:
    call = item(2, "function_call", name="exec_command", call_id="c", arguments='{"cmd":"make"}')
    answer = item(3, "function_call_output", call_id="c", output=output)
    (turn,), _ = reading(write(path, [codex_meta(), *question_records(1, "Go"), call, answer]), "codex")
    made, result = turn.blocks[1:]
    assert (made.command, result.tool, result.error) == ("make", "exec_command", error)
    assert text is None or result.text == text
    assert "data:AA" not in result.text


def test_words_in_parts_are_the_words_of_the_event(path: Path) -> None:
    picture: list[Record] = [{"type": "input_text", "text": "<image>"}, {"type": "input_image", "image_url": "data:AA"}]
    parts = [{"type": "input_text", "text": "See "}, {"type": "input_text", "text": "this"}, *picture]
    statements = [{"type": "output_text", "text": "one"}, {"type": "output_text", "text": "two"}]
    records = [
        codex_meta(),
        event(1, "user_message", message="See this"),
        item(1, "message", role="user", content=parts),
        event(2, "agent_message", message="one"),
        event(2, "agent_message", message="two"),
        item(2, "message", role="assistant", content=statements),
        item(3, "message", role="user", content=picture),
    ]
    turns, _ = reading(write(path, records), "codex")
    assert [texts(turn) for turn in turns] == [
        [("text", "See this"), ("text", "one"), ("text", "two")],
        [("text", "[input_image]")],
    ]


def test_a_rollback_is_a_branch(path: Path) -> None:
    records = [codex_meta(), *question_records(1, "One"), *question_records(2, "Two"), *question_records(3, "Three")]
    records += [event(4, "thread_rolled_back", num_turns=2), *question_records(5, "Two again")]
    turns, pass_ = reading(write(path, records), "codex")
    assert turns[3].parent == turns[0].identity
    assert pass_.off_path == {turns[1].identity, turns[2].identity}


def test_a_summary_begins_a_turn(path: Path) -> None:
    records = [
        codex_meta(),
        *question_records(1, "Go"),
        line(2, "compacted", message="We went."),
        *replied(3, "On we go."),
    ]
    turns, _ = reading(write(path, records), "codex")
    assert (turns[1].role, texts(turns[1])) == ("system", [("summary", "We went."), ("text", "On we go.")])


def test_a_sub_agent_names_its_session_and_the_session_its_agents(path: Path) -> None:
    spawn = {"subagent": {"thread_spawn": {"parent_thread_id": "p1", "depth": 1, "agent_role": "reviewer"}}}
    meta = codex_meta(source=spawn, forked_from_id="p1")
    call = item(2, "function_call", name="spawn_agent", call_id="c1", arguments='{"message":"review"}')
    answer = item(2, "function_call_output", call_id="c1", output='{"agent_id":"k1","nickname":"Ada"}')
    words = line(3, "inter_agent_communication", author="/root", recipient="/root/ada", content="Look at auth.py")
    (turn,), pass_ = reading(write(path, [meta, *question_records(1, "Go"), call, answer, words]), "codex")
    about = pass_.transcript
    assert (about.agent_id, about.parent_session, about.agent_type) == (SESSION, "p1", "reviewer")
    assert about.continued_from == "" and turn.spawned == (("c1", "k1"),)
    assert texts(turn)[-1] == ("tool_result", "Look at auth.py")


def test_a_fork_names_what_it_continues_and_keeps_its_own_name(path: Path) -> None:
    records = [
        codex_meta(forked_from_id="f1"),
        line(0, "session_meta", id="f1", cwd="/else"),
        *question_records(1, "Go"),
    ]
    _, pass_ = reading(write(path, records), "codex")
    about = pass_.transcript
    assert (about.session, about.continued_from, about.folder) == (SESSION, "f1", FOLDER)


def test_the_oldest_form_has_no_envelope(path: Path) -> None:
    records: list[Record] = [
        {"id": SESSION, "timestamp": "2026-03-15T10:00:00Z", "instructions": None},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go"}]},
        {"type": "reasoning", "summary": []},
        {"type": "function_call", "name": "shell", "call_id": "c", "arguments": '{"command":["ls"]}'},
        {"type": "function_call_output", "call_id": "c", "output": '{"output":"a.py","metadata":{"exit_code":0}}'},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Gone."}]},
    ]
    (turn,), pass_ = reading(write(path, records), "codex")
    assert texts(turn) == [("text", "Go"), ("tool_call", "ls"), ("tool_result", "a.py"), ("text", "Gone.")]
    assert pass_.transcript.session == SESSION and not pass_.counts.unknown


def test_unknown_records_are_counted(path: Path) -> None:
    records: list[Record] = [
        codex_meta(),
        *question_records(1, "Go"),
        line(2, "dream"),
        item(2, "song"),
        event(2, "smell"),
        {"type": "x"},
    ]
    records += [line(2, "world_state", full=True), event(2, "turn_aborted"), item(2, "ghost_snapshot")]
    (turn,), pass_ = reading(write(path, records), "codex")
    assert texts(turn) == [("text", "Go")]
    assert pass_.counts.unknown == {"dream": 1, "item song": 1, "event smell": 1, "x": 1}


def test_a_long_turn_is_cut_at_a_call(path: Path) -> None:
    records: list[Record] = [codex_meta(), *question_records(1, "Do everything")]
    for number in range(30):
        records.append(item(2, "function_call", name="shell", call_id=f"c{number}", arguments='{"command":["ls"]}'))
        records.append(item(2, "function_call_output", call_id=f"c{number}", output="x" * 15_000))
    turns, _ = reading(write(path, records), "codex")
    assert [turn.role for turn in turns] == ["user", "assistant", "assistant"]
    assert turns[2].parent == turns[1].identity
    assert all(sum(len(block.text) for block in turn.blocks) < MAX_TURN + 20_000 for turn in turns)


def test_a_packed_rollout_gives_the_same_turns(path: Path) -> None:
    records = [codex_meta(), *question_records(1, "Go"), *replied(2, "Gone."), *question_records(3, "Again")]
    plain, _ = reading(write(path, records), "codex")
    packed = path.with_name(path.name + ".gz")
    packed.write_bytes(gzip.compress(jsonl(records)))
    again, _ = reading(packed, "codex")
    assert again == plain and len(plain) == 2


def test_a_torn_packed_rollout_gives_what_can_be_read(path: Path) -> None:
    noise = [event(5, "token_count", info=str(number) * 7) for number in range(5000)]
    whole = gzip.compress(jsonl([codex_meta(), *question_records(1, "Go"), *noise]))
    path.write_bytes(whole[: len(whole) // 2])
    (turn,), _ = reading(path, "codex")
    assert texts(turn) == [("text", "Go")]
