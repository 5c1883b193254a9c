"""A conversation is found by its title: stored, renamed, imported; and not when it is forgotten or elsewhere."""

from __future__ import annotations

from typing import Any

import pytest
from tests.dialects.conftest import Call, calling

from commonplace.memory.conversations import (
    NewConversation,
    NewMessage,
    forget_session,
    restore_session,
    store_conversation,
)
from commonplace.memory.local_memory import LocalMemory, for_project

MESSAGES = [
    {"role": "user", "content": "Let us go through the numbers of the teams."},
    {"role": "assistant", "content": "Marketing asks for forty thousand."},
]


def stored(call: Call, label: str) -> str:
    return str(call("memory_store", label=label, folder="/work", messages=MESSAGES)["conversation_id"])


def found(call: Call, query: str, **more: Any) -> list[tuple[str, str]]:
    results = call("memory_search", query=query, **more)["results"]
    return [(result["conversation_id"], result["label"]) for result in results]


@pytest.mark.parametrize(
    "query", ["Quarterly budget", "quarterly BUDGETS", "the budget of the quarterly", "budget quarterly"]
)
def test_a_conversation_is_found_by_its_title(memory: LocalMemory, call: Call, query: str) -> None:
    id_ = stored(call, "Quarterly budget")
    stored(call, "Weekly groceries")
    assert found(call, query) == [(id_, "Quarterly budget")]


def test_the_other_tools_find_it_too(memory: LocalMemory) -> None:
    call = calling(for_project(memory, "shop"))
    stored(call, "Quarterly budget")
    assert call("search", query="Quarterly budget")["observations"][0]["text"] == MESSAGES[0]["content"]
    assert call("search_memories", query="Quarterly budget")["memories"][0]["content"] == MESSAGES[0]["content"]
    assert call("recall", query="Quarterly budget")["results"][0]["content"] == MESSAGES[0]["content"]


def test_after_a_change_it_is_found_by_its_new_title_only(memory: LocalMemory, call: Call) -> None:
    id_ = stored(call, "Quarterly budget")
    call("memory_update", conversation_id=id_, label="Plans for Übersee")
    assert found(call, "Quarterly budget") == []
    assert found(call, "plans übersee") == [(id_, "Plans for Übersee")]


def test_one_that_was_imported_is_found_by_its_title(memory: LocalMemory, call: Call) -> None:
    conversation = store_conversation(
        memory,
        NewConversation(
            "Kitchen renovation", [NewMessage("user", "Which tiles?")], source="chatgpt", key="c1", follows=True
        ),
    )
    assert found(call, "kitchen renovation") == [(conversation.session.uid, "Kitchen renovation")]


def test_words_that_only_brush_a_title_do_not_find_it(memory: LocalMemory, call: Call) -> None:
    stored(call, "Quarterly budget of the northern sales and marketing teams in autumn")
    assert found(call, "budget") == []
    assert found(call, "the art of cooking a quarter of a pumpkin") == []


def test_forgotten_is_not_found_until_it_is_back(memory: LocalMemory, call: Call) -> None:
    id_ = stored(call, "Quarterly budget")
    forget_session(memory, id_)
    assert found(call, "Quarterly budget") == []
    restore_session(memory, id_)
    assert found(call, "Quarterly budget") == [(id_, "Quarterly budget")]


def test_labels_and_projects_still_narrow_the_answer(memory: LocalMemory, call: Call) -> None:
    id_ = stored(call, "Quarterly budget")
    assert found(call, "Quarterly budget", filter_labels=["Weekly groceries"]) == []
    assert found(call, "Quarterly budget", filter_labels=["Quarterly budget"]) == [(id_, "Quarterly budget")]
    store_conversation(memory, NewConversation("Quarterly budget", [NewMessage("user", "Elsewhere")], project="other"))
    here = store_conversation(
        memory, NewConversation("Quarterly budget", [NewMessage("user", "Numbers")], project="shop")
    )
    assert found(calling(for_project(memory, "shop")), "quarterly budget") == [(here.session.uid, "Quarterly budget")]
