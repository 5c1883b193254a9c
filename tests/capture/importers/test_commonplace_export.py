"""Our own export comes back as it was: as JSON without any loss, as Markdown with every word."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace import config
from commonplace.capture.import_files import import_path
from commonplace.capture.importers import text_files
from commonplace.memory.conversations import (
    NewConversation,
    NewMessage,
    latest_conversations,
    open_conversation,
    store_conversation,
    store_conversations,
)
from commonplace.memory.export_conversations import (
    CONVERSATIONS_FORMAT,
    CONVERSATIONS_VERSION,
    all_conversations,
    conversation_export,
    conversation_markdown,
)
from commonplace.memory.local_memory import LocalMemory, open_memory
from commonplace.model import SessionScope

THEN = 1_742_049_000_000

TALK = NewConversation(
    label="Colours 🎨",
    messages=[
        NewMessage("user", "Name one\n", THEN, {"mood": ["calm", 1]}),
        NewMessage("assistant", "  Blue, كحلي", THEN + 1234),
        NewMessage("user", "Name one\n", THEN),
        NewMessage("tool", "```\n42\n```", None),
    ],
    folder="/work/ünï",
    importance=7.5,
    status="archived",
    project="my-api",
    source="test",
    key="talk-1",
    meta={"a": {"b": None}},
    started_ms=THEN - 5,
    accessed_ms=THEN + 99,
)


@pytest.fixture
def other(tmp_path: Path, memory: LocalMemory) -> Iterator[LocalMemory]:
    """An empty store beside the one of the test."""
    made = open_memory(config.load({"data_dir": str(tmp_path / "other"), "embedder": "off"}), memory.clock)
    yield made
    made.close()


def exported(memory: LocalMemory) -> dict[str, Any]:
    return {
        "format": CONVERSATIONS_FORMAT,
        "version": CONVERSATIONS_VERSION,
        "conversations": [conversation_export(*one) for one in all_conversations(memory, SessionScope())],
    }


def test_json_comes_back_without_loss(memory: LocalMemory, other: LocalMemory, tmp_path: Path) -> None:
    store_conversations(memory, [TALK, NewConversation("Other", [NewMessage("user", "Hi")])])
    before = exported(memory)
    path = tmp_path / "export.json"
    path.write_text(json.dumps(before, ensure_ascii=False), encoding="utf-8")
    assert import_path(other, path).messages.added == 5
    assert exported(other) == before
    assert import_path(other, path).messages.known == 5
    assert import_path(memory, path).messages.known == 5
    assert exported(memory) == before == exported(other)


def test_one_conversation_and_lines_of_them_are_read_too(
    memory: LocalMemory, other: LocalMemory, tmp_path: Path
) -> None:
    session = store_conversation(memory, TALK).session
    data = conversation_export(*open_conversation(memory, session.id))
    path = tmp_path / "one.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    assert import_path(other, path).messages.added == 4
    path.with_name("lines.jsonl").write_text(f"{json.dumps(data)}\n" * 2, encoding="utf-8")
    assert import_path(other, path.with_name("lines.jsonl")).messages.known == 8


def test_a_plain_list_of_roles_and_contents_is_enough(other: LocalMemory, tmp_path: Path) -> None:
    path = tmp_path / "chat.json"
    path.write_text('{"id": "chat-7", "messages": [{"role": "user", "content": "Hi", "id": "x"}]}', encoding="utf-8")
    assert import_path(other, path).messages.added == 1
    assert import_path(other, path).messages.known == 1
    assert latest_conversations(other, SessionScope()).sessions[0].folder == "/imports/json"


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (5, "no list of messages"),
        ({"messages": []}, "no messages"),
        ({"messages": [5]}, "message 1: it is not an object"),
        (
            {"messages": [{"role": "user", "content": "Hi"}, {"role": "god", "content": "Hi"}]},
            "message 2: unknown role",
        ),
        ({"messages": [{"content": "Hi"}]}, "message 1: no role"),
        ({"messages": [{"role": "user", "content": ["Hi"]}]}, "message 1: no content"),
        ({"messages": [{"role": "user", "content": "Hi"}], "status": "lost"}, "status is 'lost'"),
        ({"messages": [{"role": "user", "content": "Hi"}], "importance_score": 11}, "Invalid importance_score"),
    ],
)
def test_a_bad_conversation_does_not_stop_the_rest(other: LocalMemory, tmp_path: Path, bad: Any, why: str) -> None:
    good = {"label": "Good", "messages": [{"role": "user", "content": "Hi"}]}
    path = tmp_path / "export.json"
    path.write_text(json.dumps({"conversations": [bad, good], "messages": []}), encoding="utf-8")
    summary = import_path(other, path)
    assert summary.conversations.added == 1 and why in summary.examples[0].why


# A line that looks like our own marks of speakers cannot be told from one.
SPEECH = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=80).filter(
    lambda text: (
        text.strip() and not re.search(r"^\*\*(User|Assistant|System|Tool)\*\* \([^()]*\): *$", text, re.MULTILINE)
    )
)


@given(
    spoken=st.lists(st.tuples(st.sampled_from(["user", "assistant", "system", "tool"]), SPEECH), min_size=1, max_size=5)
)
def test_every_word_comes_back_from_markdown(memory: LocalMemory, spoken: Sequence[tuple[str, str]]) -> None:
    turns = [NewMessage(role, text, THEN + 1000 * n) for n, (role, text) in enumerate(spoken)]
    session, messages = open_conversation(
        memory, store_conversation(memory, NewConversation("Talk", turns, "/work", importance=8)).session.id
    )
    for metadata in (True, False):
        (back,) = text_files.read_markdown(
            io.BytesIO(conversation_markdown(session, messages, metadata=metadata).encode()), "talk.md"
        )
        assert isinstance(back, NewConversation) and back.label == "Talk"
        assert [(one.role, one.content, one.at_ms) for one in back.messages] == [
            (item.details["role"], item.body, item.created_ms) for item in messages
        ]
        assert (back.folder, back.importance) == (("/work", 8) if metadata else ("/imports/markdown", None))
