"""ChatGPT's export: every message of every branch comes over once, and what does not come over is counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.capture.chat_exports import THEN, chatgpt, node, stream, tree

from commonplace.capture.import_files import import_path
from commonplace.capture.import_report import Skipped
from commonplace.capture.importers.chatgpt_and_claude import EMPTY, HIDDEN, read_chatgpt
from commonplace.memory.conversations import NewConversation
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.recall import recall
from commonplace.model import Scope

MS = int(THEN * 1000)


def both(data: Any) -> tuple[list[NewConversation], list[Skipped]]:
    found = list(read_chatgpt(stream(data), "conversations.json"))
    return [one for one in found if isinstance(one, NewConversation)], [
        one for one in found if isinstance(one, Skipped)
    ]


def one(data: Any) -> NewConversation:
    (conversation,), skipped = both(data)
    assert not skipped
    return conversation


def test_a_conversation_keeps_its_words_times_and_ids() -> None:
    conversation = one([chatgpt()])
    assert (conversation.label, conversation.key, conversation.source, conversation.folder) == (
        "Rate limits",
        "c1",
        "chatgpt",
        "/imports/chatgpt",
    )
    assert conversation.started_ms == MS
    question, answered = conversation.messages
    assert (question.role, question.content, question.at_ms, question.identity) == (
        "user",
        "How do we limit rates?",
        MS,
        "m1",
    )
    assert (answered.role, answered.at_ms, answered.meta) == ("assistant", MS + 5250, {"model": "gpt-4o"})


def test_one_conversation_need_not_stand_in_an_array() -> None:
    assert one(chatgpt()).key == "c1"


def test_regenerated_answers_are_kept_as_branches_after_their_question() -> None:
    nodes = (
        node("q", "root", "user", "Name a colour"),
        node("new", "q", "assistant", "Blue", create_time=THEN + 20),
        node("old", "q", "assistant", "Red", create_time=THEN + 10),
        node("thanks", "old", "user", "Why red?", create_time=THEN + 15),
        node("end", "new", "user", "Fine", create_time=THEN + 30),
    )
    conversation = one([chatgpt(*nodes)])
    assert [message.identity for message in conversation.messages] == ["q", "old", "thanks", "new", "end"]
    assert [entry.meta.get("branch") for entry in conversation.messages] == [None, 1, 1, None, None]
    assert conversation.messages[1].meta["parent"] == "q"
    assert [entry.meta.get("off_path") for entry in conversation.messages] == [None, True, True, None, None]


def test_the_answer_that_the_conversation_went_on_with_is_found_first(
    memory_with_model: LocalMemory, tmp_path: Path
) -> None:
    nodes = (
        node("q", "root", "user", "With which number should invoices start?"),
        node("old", "q", "assistant", "Invoices should start with number 12.", create_time=THEN + 10),
        node("new", "q", "assistant", "Let the numbers of invoices begin at 14.", create_time=THEN + 20),
    )
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([chatgpt(*nodes)]), encoding="utf-8")
    import_path(memory_with_model, path)
    memory_with_model.embeddings.catch_up()
    found = recall(memory_with_model, "with which number do invoices start", Scope(), 5).hits
    answers = [hit.item.body for hit in found if "start with" in hit.item.body or "begin at" in hit.item.body]
    assert answers[0] == "Let the numbers of invoices begin at 14."


def test_without_a_current_node_the_last_answer_is_the_conversation() -> None:
    nodes = (node("q", "root"), node("a", "q", "assistant", "First"), node("b", "q", "assistant", "Second"))
    nodes[0]["message"]["content"]["parts"] = ["Hello"]
    conversation = one([chatgpt(*nodes, current_node=None)])
    assert [(message.identity, message.meta.get("branch")) for message in conversation.messages] == [
        ("q", None),
        ("a", 1),
        ("b", None),
    ]


def test_hidden_and_empty_nodes_are_counted_not_kept() -> None:
    nodes = (
        node("s", "root", "system", ""),
        node("h", "s", "system", "secret prompt", metadata={"is_visually_hidden_from_conversation": True}),
        node("q", "h", "user", "Hello"),
    )
    (conversation,), skipped = both([chatgpt(*nodes)])
    assert [message.content for message in conversation.messages] == ["Hello"]
    assert {(one.why, one.unit, one.count) for one in skipped} == {(EMPTY, "message", 1), (HIDDEN, "message", 1)}


CONTENTS = [
    ({"content_type": "code", "language": "python", "text": "print(1)"}, "```python\nprint(1)\n```"),
    ({"content_type": "code", "language": "unknown", "text": "a ``` b"}, "````\na ``` b\n````"),
    ({"content_type": "execution_output", "text": "1"}, "```\n1\n```"),
    (
        {"content_type": "multimodal_text", "parts": [{"content_type": "image_asset_pointer"}, "What?"]},
        "[image]\n\nWhat?",
    ),
    ({"content_type": "multimodal_text", "parts": [{"content_type": "audio_transcription", "text": "Hi"}]}, "Hi"),
    ({"content_type": "multimodal_text", "parts": [{"content_type": "hologram"}]}, "[file]"),
    ({"content_type": "tether_browsing_display", "result": "Found", "summary": None}, "Found"),
    ({"content_type": "tether_quote", "url": "a.org", "title": "T", "text": "x"}, "T\n\na.org\n\nx"),
    ({"content_type": "thoughts", "thoughts": [{"summary": "Plan", "content": "First this"}]}, "Plan\n\nFirst this"),
    ({"content_type": "reasoning_recap", "content": "Thought for 5s"}, "Thought for 5s"),
    ({"content_type": "user_editable_context", "user_profile": "I am a cook"}, "I am a cook"),
    ({"content_type": "system_error", "name": "e", "text": "It failed"}, "It failed"),
    ({"content_type": "brand_new", "text": "Readable"}, "Readable"),
    ({"content_type": "text", "parts": ["שלום", "👩‍🚀"]}, "שלום\n\n👩‍🚀"),
]


@pytest.mark.parametrize(("content", "text"), CONTENTS, ids=[text for _content, text in CONTENTS])
def test_every_type_of_content_becomes_text(content: dict[str, Any], text: str) -> None:
    assert one([chatgpt(node("m", "root", "assistant", content=content))]).messages[0].content == text


def test_attachments_are_named() -> None:
    attached = {"attachments": [{"name": "plan.pdf", "mime_type": "application/pdf"}]}
    assert (
        one([chatgpt(node("m", "root", "user", "See", metadata=attached))]).messages[0].content
        == "See\n\n[file: plan.pdf]"
    )


def test_times_may_be_missing_strange_or_out_of_order() -> None:
    nodes = (
        node("a", "root", "user", "One", create_time=None),
        node("b", "a", "assistant", "Two", create_time=THEN + 9e9),
        node("c", "b", "user", "Three", create_time=float("1e300")),
        node("d", "c", "assistant", "Four", create_time=THEN - 60),
        node("e", "d", "user", "Five", create_time="noon"),
        node("f", "e", "user", "Six", create_time=10**400),
    )
    ahead = MS + 9_000_000_000_000
    assert [message.at_ms for message in one([chatgpt(*nodes)]).messages] == [MS, ahead, ahead, *[MS - 60_000] * 3]


def test_a_conversation_without_any_time_has_none() -> None:
    conversation = one([chatgpt(node("a", "root", "user", "One", create_time=None), create_time=None)])
    assert conversation.started_ms is None and conversation.messages[0].at_ms is None


def test_a_missing_title_is_how_it_begins() -> None:
    assert one([chatgpt(title=None)]).label == "How do we limit rates?"


def test_an_archived_conversation_is_archived() -> None:
    assert one([chatgpt(is_archived=True)]).status == "archived"


BAD: list[Any] = [
    None,
    5,
    "text",
    [],
    {},
    {"title": "x"},
    {"mapping": []},
    {"mapping": {}},
    {"mapping": {"a": None, "b": 5}},
]


@pytest.mark.parametrize("bad", BAD, ids=repr)
def test_a_bad_conversation_does_not_stop_the_rest(bad: Any) -> None:
    conversations, (skipped,) = both([chatgpt(key="c1"), bad, chatgpt(key="c2")])
    assert [conversation.key for conversation in conversations] == ["c1", "c2"]
    assert skipped.what.startswith("conversation 2 at character ") and skipped.unit == "conversation"


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (5, "a message that is not an object"),
        ({}, "no author"),
        ({"author": {"role": "critic"}}, "unknown author 'critic'"),
        ({"author": {"role": "user"}}, EMPTY),
        ({"author": {"role": "user"}, "content": {"content_type": "hologram"}}, "unknown content 'hologram'"),
        ({"author": {"role": "user"}, "content": {"content_type": "text", "parts": [None, 5, " "]}}, EMPTY),
    ],
)
def test_a_bad_message_is_skipped_with_its_reason(message: Any, why: str) -> None:
    mapping = tree(node("a", "root", "user", "Good"))
    mapping["bad"] = {"id": "bad", "parent": "a", "children": [], "message": message}
    (conversation,), (skipped,) = both([chatgpt(mapping=mapping)])
    assert len(conversation.messages) == 1 and (skipped.why, skipped.unit) == (why, "message")


def test_a_tree_that_bites_its_tail_loses_nothing() -> None:
    nodes = (node("a", "b", "user", "One"), node("b", "a", "assistant", "Two"), node("c", "nowhere", "user", "Three"))
    conversation = one([chatgpt(*nodes, current_node="a")])
    assert sorted(message.content for message in conversation.messages) == ["One", "Three", "Two"]


@given(parents=st.lists(st.integers(0, 30), min_size=1, max_size=30), current=st.integers(0, 30))
def test_every_node_of_any_tree_comes_over_once(parents: list[int], current: int) -> None:
    nodes = [node(str(n), str(parent), "user", f"said {n}") for n, parent in enumerate(parents)]
    conversation = one([chatgpt(*nodes, current_node=str(current))])
    assert sorted(message.identity for message in conversation.messages) == sorted(str(n) for n in range(len(parents)))
