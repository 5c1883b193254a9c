"""Reading in parts gives what reading at once gives: a transcript may be cut at any byte."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.capture.transcripts.corpus import (
    Claude,
    Record,
    codex_meta,
    event,
    item,
    jsonl,
    line,
    question_records,
    reading,
    replied,
    write,
)
from tests.capture.transcripts.test_gemini import META, message

from commonplace.capture.transcripts import FileReading
from commonplace.hosts.transcript import Position, Source, Turn, off_path


def claude_session() -> list[Record]:
    """Branches, sidechains, compaction, commands, retries, a record without an id, titles."""
    session = Claude()
    session.user("<command-name>/model</command-name>")
    one = session.user("Grüße 世界")
    answer = session.says("1")
    session.calls("Task", "t1", prompt="Search")
    session.user("Search", isSidechain=True, parentUuid=None, agentId="a1")
    session.says("Found.", isSidechain=True)
    session.answers("t1", "ok", toolUseResult={"agentId": "a1"}, parentUuid=answer)
    session.add("attachment")
    session.user("Two")
    session.says("2", model="other")
    session.add("ai-title", aiTitle="Numbers")
    session.user("<command-name>/clear</command-name>")
    session.user("Three")
    session.says("3")
    session.user("Two, better", parentUuid=answer)
    last = session.says("2, better")
    session.says("1, again", parentUuid=one)
    session.add("system", subtype="compact_boundary", parentUuid=None, logicalParentUuid=last)
    session.user("This session is being continued from a previous conversation.", isCompactSummary=True)
    session.says("On.")
    session.user("No name", uuid=None, timestamp=None)
    session.says("No name either", uuid=None)
    session.user("Last words")
    session.calls("Bash", "t2", command="ls")
    session.answers("t2", [{"type": "text", "text": "a.py"}])
    return session.records


def codex_session() -> list[Record]:
    return [
        codex_meta(),
        line(1, "turn_context", model="m1"),
        *question_records(1, "One"),
        item(2, "function_call", name="shell", call_id="c1", arguments='{"command":["ls"]}'),
        item(2, "function_call_output", call_id="c1", output="a.py"),
        *replied(3, "1"),
        line(3, "turn_context", model="m2"),
        *question_records(4, "Two"),
        *replied(5, "2"),
        *question_records(6, "Three"),
        event(7, "thread_rolled_back", num_turns=2),
        *question_records(8, "Two again"),
        line(9, "compacted", message="So far."),
        *replied(10, "On."),
        event(10, "thread_name_updated", thread_name="Numbers"),
        *question_records(11, "on"),
        *question_records(12, "on"),
        *replied(13, "ok"),
    ]


def gemini_session() -> list[Record]:
    return [
        META,
        message("u1", "user", "One"),
        message("g1", "gemini", "1"),
        message("u2", "user", "/stats"),
        message("u3", "user", "Two"),
        message("g3", "gemini", "", thoughts=[{"subject": "s", "description": "d"}]),
        message("g3", "gemini", "2"),
        {"$rewindTo": "u3"},
        message("u4", "user", "Two again"),
        {"$set": {"summary": "Numbers"}},
        message("g4", "gemini", "2 again"),
    ]


SESSIONS: dict[Source, bytes] = {
    "claude-code": jsonl(claude_session()),
    "codex": jsonl(codex_session()),
    "gemini": jsonl(gemini_session()),
}


def in_parts(path: Path, source: Source, data: bytes, cuts: list[int]) -> tuple[dict[str, Turn], Position | None]:
    """What is known after reading a file each time it has grown: a turn that comes again replaces what it was."""
    known: dict[str, Turn] = {}
    position: Position | None = None
    for end in (*sorted(cuts), len(data)):
        path.write_bytes(data[:end])
        turns, pass_ = reading(path, source, position)
        position = Position.from_json(pass_.position.as_json())
        known |= {turn.identity: turn for turn in turns}
    return known, position


@pytest.mark.parametrize("source", list(SESSIONS))
@settings(max_examples=150)
@given(data=st.data())
def test_cutting_at_any_bytes_changes_nothing(tmp_path: Path, source: Source, data: st.DataObject) -> None:
    whole = SESSIONS[source]
    cuts = data.draw(st.lists(st.integers(0, len(whole)), max_size=4))
    path = tmp_path / "0a1b2c3d-1111-4222-8333-444455556666.jsonl"
    path.write_bytes(whole)
    turns, once = reading(path, source)
    known, position = in_parts(path, source, whole, cuts)
    assert list(known.values()) == turns
    assert position == once.position
    lineage = [(turn.identity, turn.parent) for turn in known.values() if not turn.sidechain]
    assert off_path(lineage) == once.off_path


@pytest.mark.parametrize("source", list(SESSIONS))
def test_cutting_before_and_within_every_line(tmp_path: Path, source: Source) -> None:
    whole = SESSIONS[source]
    path = tmp_path / "0a1b2c3d-1111-4222-8333-444455556666.jsonl"
    path.write_bytes(whole)
    turns, _ = reading(path, source)
    assert len(turns) >= 3
    start = 0
    for text in whole.splitlines(keepends=True):
        for cut in (start, start + len(text) // 2, start + len(text) - 1):
            known, _ = in_parts(path, source, whole, [cut])
            assert list(known.values()) == turns, cut
        start += len(text)


DEEDS = st.sampled_from("user assistant call answer side meta command summary boundary attachment interrupted".split())


@st.composite
def any_claude(draw: st.DrawFn) -> list[Record]:
    """Records in any order, hanging from any record before them or from none that is there."""
    session = Claude()
    for number, action in enumerate(draw(st.lists(DEEDS, max_size=14))):
        more = {}
        if draw(st.integers(0, 3)) == 0:
            earlier = [record["uuid"] for record in session.records]
            more["parentUuid"] = draw(st.sampled_from([None, "nowhere", *earlier]))
        if action == "user":
            session.user(f"Question {number}", **more)
        elif action == "assistant":
            session.says(f"Answer {number}", **more)
        elif action == "call":
            session.add("assistant", message={"content": [{"type": "tool_use", "id": "t", "name": "Bash"}]}, **more)
        elif action == "answer":
            session.answers("t", f"Result {number}", **more)
        elif action == "side":
            session.says(f"Aside {number}", isSidechain=True, **more)
        elif action == "meta":
            session.user("Meta", isMeta=True, **more)
        elif action == "command":
            session.user(f"<command-name>/do{number}</command-name>", **more)
        elif action == "summary":
            session.user(f"Summary {number}", isCompactSummary=True, **more)
        elif action == "boundary":
            session.add("system", subtype="compact_boundary", **more)
        elif action == "attachment":
            session.add("attachment", **more)
        else:
            session.user("[Request interrupted by user]", **more)
    return session.records


@settings(max_examples=300)
@given(records=any_claude(), data=st.data())
def test_any_tree_of_records_can_be_cut(tmp_path: Path, records: list[Record], data: st.DataObject) -> None:
    whole = jsonl(records)
    path = tmp_path / "0a1b2c3d-1111-4222-8333-444455556666.jsonl"
    path.write_bytes(whole)
    turns, once = reading(path, "claude-code")
    known, position = in_parts(path, "claude-code", whole, data.draw(st.lists(st.integers(0, len(whole)), max_size=3)))
    assert sorted(known.values(), key=str) == sorted(turns, key=str)
    assert position == once.position


@settings(max_examples=200)
@given(data=st.data())
def test_any_order_of_a_rollout_can_be_cut(tmp_path: Path, data: st.DataObject) -> None:
    drawn = data.draw(st.lists(st.sampled_from(codex_session()[1:]), max_size=14))
    timed = [{**record, "timestamp": f"2026-03-15T11:{minute:02}:00Z"} for minute, record in enumerate(drawn)]
    whole = jsonl([codex_meta(), *timed])
    path = tmp_path / "rollout-1.jsonl"
    path.write_bytes(whole)
    turns, once = reading(path, "codex")
    known, position = in_parts(path, "codex", whole, data.draw(st.lists(st.integers(0, len(whole)), max_size=3)))
    assert list(known.values()) == turns
    assert position == once.position


@pytest.mark.parametrize("source", list(SESSIONS))
def test_reading_on_without_news_gives_the_last_turn_as_it_was(tmp_path: Path, source: Source) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(SESSIONS[source])
    turns, first = reading(path, source)
    again, second = reading(path, source, first.position)
    digests = {turn.identity: turn.digest for turn in turns}
    assert again and all(digests[turn.identity] == turn.digest for turn in again)
    assert second.position == first.position


def test_stopping_in_the_middle_loses_no_turn(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(SESSIONS["claude-code"])
    turns, _ = reading(path, "claude-code")
    for stop in range(1, len(turns)):
        begun = FileReading(path, "claude-code")
        taken = [turn for _, turn in zip(range(stop), begun, strict=False)]
        rest, _ = reading(path, "claude-code", begun.position)
        known = {turn.identity: turn for turn in (*taken, *rest)}
        assert list(known.values()) == turns


def test_resuming_does_not_read_what_was_read(tmp_path: Path) -> None:
    session = Claude()
    for number in range(5):
        session.user(f"Question {number}")
        session.says(f"Answer {number}")
    path = write(tmp_path / "s.jsonl", session.records)
    turns, first = reading(path, "claude-code")
    session.user("One more")
    session.says("Yes")
    whole, start = jsonl(session.records), first.position.offset
    path.write_bytes(b"\n" * start + whole[start:])
    again, _ = reading(path, "claude-code", first.position)
    assert again[0] == turns[-1] and len(again) == 2 and again[1].parent == turns[-1].identity
