"""Files of other programs hold anything: a reader counts what it cannot use, and never falls over it."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.capture.transcripts.corpus import Record, event, item, jsonl, line, reading
from tests.capture.transcripts.test_cursor import BUBBLES, COMPOSER, database, readings
from tests.capture.transcripts.test_resuming import claude_session, codex_session, gemini_session
from tests.capture.transcripts.test_tool_text import JSON

from commonplace.capture.transcripts import detect_source
from commonplace.hosts.transcript import Source

CORPUS: dict[Source, list[Record]] = {
    "claude-code": claude_session(),
    "codex": [
        *codex_session(),
        item(14, "reasoning", summary=[{"type": "summary_text", "text": "s"}], content=[{"text": "c"}]),
        item(14, "local_shell_call", call_id="c9", action={"type": "exec", "command": ["ls"]}),
        item(14, "custom_tool_call", name="apply_patch", call_id="c8", input="*** Add File: a.py"),
        item(14, "custom_tool_call_output", call_id="c8", output={"content": [{"text": "ok"}], "success": True}),
        event(14, "collab_agent_spawn_end", call_id="c7", new_thread_id="k"),
        event(14, "item_completed", item={"type": "Plan", "text": "plan"}),
        line(14, "inter_agent_communication", content="hi"),
    ],
    "gemini": gemini_session(),
}


def places_in(value: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) within a value."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else []
    return [place for key in keys for place in ((value, key), *places_in(value[key]))]


@st.composite
def mangled(draw: st.DrawFn, records: list[Any]) -> list[Any]:
    """The records, with a few of their values replaced by anything."""
    copied = copy.deepcopy(records)
    for _ in range(draw(st.integers(1, 6))):
        container, key = draw(st.sampled_from(places_in([draw(st.sampled_from(copied))])))
        container[key] = draw(JSON)
    return [record for record in copied if isinstance(record, dict)]


@pytest.mark.parametrize("source", list(CORPUS))
@settings(max_examples=100)
@given(data=st.data())
def test_any_value_may_be_anything(tmp_path: Path, source: Source, data: st.DataObject) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(jsonl(data.draw(mangled(CORPUS[source]))))
    assert detect_source(path) in (*CORPUS, None)
    turns, pass_ = reading(path, source)
    assert all(turn.identity and turn.blocks and turn.digest for turn in turns)
    assert isinstance(pass_.off_path, frozenset) and pass_.position.as_json()


@pytest.mark.parametrize("odd", [3, "text", [3, None], {"a": 1}, True])
def test_lists_may_be_none(tmp_path: Path, odd: object) -> None:
    names = ("summary", "content", "output", "action", "arguments", "input", "tools", "item", "message")
    kinds = ("message", "reasoning", "function_call", "function_call_output", "local_shell_call", "web_search_call")
    records = [make(1, kind, role="user", **dict.fromkeys(names, odd)) for kind in kinds for make in (item, event)]
    path = tmp_path / "s.jsonl"
    path.write_bytes(jsonl(records))
    turns, pass_ = reading(path, "codex")
    assert turns and pass_.counts.malformed == 0


@pytest.mark.parametrize("source", list(CORPUS))
@settings(max_examples=50)
@given(raw=st.binary(max_size=300))
def test_any_bytes_may_stand_in_a_file(tmp_path: Path, source: Source, raw: bytes) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"-" + raw)
    turns, _ = reading(path, source)
    assert turns == []


@settings(max_examples=40)
@given(data=st.data())
def test_any_value_in_a_database_may_be_anything(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "state.vscdb"
    path.unlink(missing_ok=True)
    composer, *bubbles = data.draw(mangled([COMPOSER, *BUBBLES])) or [{}]
    rows = {f"bubbleId:c1:b{number}": bubble for number, bubble in enumerate(bubbles)}
    inline = {"conversation": bubbles}
    database(path, {"cursorDiskKV": {"composerData:c1": composer, "composerData:c2": inline, **rows}}).close()
    for turns, _ in readings(path):
        assert all(turn.identity and turn.blocks for turn in turns)
