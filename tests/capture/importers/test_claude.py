"""Claude's export: blocks become readable text, attachments keep their content, and nothing goes silently."""

from __future__ import annotations

from typing import Any

import pytest
from tests.capture.chat_exports import claude, claude_message, stream

from commonplace.capture.import_report import Skipped
from commonplace.capture.importers.chatgpt_and_claude import _claude_conversation, read_claude
from commonplace.memory.conversations import NewConversation


def both(data: Any) -> tuple[list[NewConversation], list[Skipped]]:
    found = list(read_claude(stream(data), "conversations.json"))
    return [one for one in found if isinstance(one, NewConversation)], [
        one for one in found if isinstance(one, Skipped)
    ]


def one(data: Any) -> NewConversation:
    (conversation,), skipped = both(data)
    assert not skipped
    return conversation


def test_a_conversation_keeps_its_words_times_and_ids() -> None:
    conversation = one([claude()])
    assert (conversation.label, conversation.key, conversation.source, conversation.folder) == (
        "Database choice",
        "u1",
        "claude",
        "/imports/claude",
    )
    assert conversation.started_ms == 1_742_049_000_123
    question, answered = conversation.messages
    assert (question.role, question.content, question.at_ms, question.identity) == (
        "user",
        "Which database?",
        1_742_049_000_123,
        "n1",
    )
    assert (answered.role, answered.content, answered.at_ms) == ("assistant", "PostgreSQL 16.", 1_742_049_060_000)


BLOCKS = [
    ([{"type": "text", "text": "A"}, {"type": "text", "text": "B"}], "A\n\nB"),
    ([{"type": "tool_use", "name": "search", "input": {"q": "é"}}], '[tool: search]\n{"q": "é"}'),
    ([{"type": "tool_result", "name": "search", "content": [{"type": "text", "text": "42"}]}], "[result: search]\n42"),
    ([{"type": "tool_result", "name": "run", "content": "no", "is_error": True}], "[result: run failed]\nno"),
    ([{"type": "tool_result", "name": "run", "content": [1, 2]}], "[result: run]\n[1, 2]"),
    ([{"type": "thinking", "thinking": "Hm"}, {"type": "text", "text": "Yes"}], "[thinking]\nHm\n\nYes"),
    ([{"type": "image"}, {"type": "text", "text": "See"}], "[image]\n\nSee"),
    ([{"type": "token_budget"}, {"type": "text", "text": "Only this"}], "Only this"),
    ([{"type": "voice_note", "text": "Spoken"}], "Spoken"),
]


@pytest.mark.parametrize(("blocks", "text"), BLOCKS, ids=[text for _blocks, text in BLOCKS])
def test_blocks_become_readable_text(blocks: list[Any], text: str) -> None:
    assert one([claude(claude_message("n", "assistant", "unused", content=blocks))]).messages[0].content == text


def test_without_blocks_the_text_counts() -> None:
    assert one([claude(claude_message("n", "human", "Plain", content=None))]).messages[0].content == "Plain"


def test_attachments_are_named_and_their_text_is_kept() -> None:
    message = claude_message(
        "n",
        "human",
        "Look",
        attachments=[{"file_name": "a.csv", "extracted_content": "x,y\n1,2"}, {"file_name": "b.bin"}],
        files=[{"file_name": "a.csv"}, {"file_name": "c.png"}],
    )
    content = one([claude(message)]).messages[0].content
    assert content == "Look\n\n[file: a.csv]\nx,y\n1,2\n\n[file: b.bin]\n\n[file: c.png]"


def test_a_missing_or_unreadable_time_is_that_of_the_message_before() -> None:
    messages = (
        claude_message("a", "human", "One", created_at="2025-03-15T15:00:00Z"),
        claude_message("b", "assistant", "Two", created_at="yesterday"),
        claude_message("c", "human", "Three", created_at=None),
    )
    times = {message.at_ms for message in one([claude(*messages)]).messages}
    assert times == {1_742_050_800_000}


@pytest.mark.parametrize("bad", [None, 5, [], {}, {"chat_messages": {}}, {"chat_messages": []}], ids=repr)
def test_a_bad_conversation_does_not_stop_the_rest(bad: Any) -> None:
    conversations, (skipped,) = both([claude(uuid="u1"), bad, claude(uuid="u2")])
    assert [conversation.key for conversation in conversations] == ["u1", "u2"]
    assert skipped.what.startswith("conversation 2 at character ")


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (7, "a message that is not an object"),
        ({"text": "x"}, "no sender"),
        (claude_message("x", "robot", "Beep"), "unknown sender 'robot'"),
        (claude_message("x", "human", ""), "no text in it"),
    ],
)
def test_a_bad_message_is_skipped_with_its_reason(bad: Any, why: str) -> None:
    (conversation,), (skipped,) = both([claude(claude_message("n", "human", "Good"), bad)])
    assert len(conversation.messages) == 1 and (skipped.why, skipped.unit, skipped.count) == (why, "message", 1)


def test_blocks_nested_without_end_do_not_stop_the_rest() -> None:
    block = {"type": "text", "text": "Deep"}
    for _ in range(2_000):
        block = {"type": "tool_result", "name": "x", "content": [block]}  # type: ignore[dict-item]
    messages = (claude_message("n", "human", "Good"), claude_message("d", "assistant", content=[block]))
    found = list(_claude_conversation(claude(*messages), "here"))
    assert [one.why for one in found if isinstance(one, Skipped)] == ["nested too deeply"]
    assert any(isinstance(one, NewConversation) for one in found)
