"""What is offered while somebody types: beginnings of words, names, meaning once there is more than a word."""

from __future__ import annotations

import pytest
from tests.conftest import THEN

from commonplace.memory.conversations import NewConversation, NewMessage, store_conversation
from commonplace.memory.items import get_item
from commonplace.memory.local_memory import LocalMemory, for_project
from commonplace.memory.remember import NewItem, remember, remember_all
from commonplace.memory.search_page import ITEMS, begins_words, quick_search


def titles(memory: LocalMemory, typed: str) -> list[str]:
    return [item.title for item in quick_search(memory, typed).items]


def test_the_last_word_may_be_only_begun(memory: LocalMemory) -> None:
    remember(memory, NewItem("Webhooks are retried for three days"))
    remember(memory, NewItem("The lighthouse is painted white"))
    for typed in ("web", "webho", "webhooks", "three webh", "webhook ret", "Retried WEBH", "webhook retries "):
        assert titles(memory, typed) == ["Webhooks are retried for three days"], typed
    assert titles(memory, "webx") == [] == titles(memory, "...")


def test_only_what_holds_all_words_comes_first(memory: LocalMemory) -> None:
    remember(memory, NewItem("Redis holds the sessions"))
    remember(memory, NewItem("Redis was upgraded"))
    assert titles(memory, "redis ses")[0] == "Redis holds the sessions"


def test_statements_come_before_uses_of_tools_with_the_same_words(memory: LocalMemory) -> None:
    seen = [
        NewItem(kind="observation", type="command", title=f"pytest tests/webhooks -k {n}", meta={"digest": str(n)})
        for n in range(12)
    ]
    remember_all(memory, seen)
    remember(memory, NewItem("Webhooks are signed with HMAC", type="decision"))
    found = titles(memory, "webh")
    assert found[0] == "Webhooks are signed with HMAC" and len(found) == ITEMS


def test_the_same_title_is_offered_once(memory: LocalMemory) -> None:
    remember(memory, NewItem(kind="observation", type="prompt", title="Add a dark theme", details={"narrative": "a"}))
    remember(memory, NewItem(kind="summary", session="s", details={"request": "Add a dark theme"}))
    assert titles(memory, "dark th") == ["Add a dark theme"]


def test_conversations_projects_and_an_id_are_found_by_their_names(memory: LocalMemory) -> None:
    messages = [NewMessage("user", "How much is left?", THEN)]
    stored = store_conversation(memory, NewConversation("Quarterly budget", messages)).session
    item = remember(memory, NewItem("Invoices are numbered", project="github.com/acme/shop-api"))
    assert [one.id for one in quick_search(memory, "budg quart").conversations] == [stored.id]
    assert quick_search(memory, "udget").conversations == ()
    assert [one.name for one in quick_search(memory, "shop").projects] == ["github.com/acme/shop-api"]
    for typed in (f"#{item.id}", item.uid, get_item(memory, item.id).short_id):
        assert titles(memory, typed) == ["Invoices are numbered"], typed
    assert titles(memory, "#no such id") == []


def test_operators_filter(memory: LocalMemory) -> None:
    remember(memory, NewItem("Redis holds the sessions"))
    remember(memory, NewItem("Redis was upgraded"))
    assert titles(memory, "redis NOT sessions") == ["Redis was upgraded"]


def test_what_is_said_in_other_words_is_found_once_the_model_is_ready(memory_with_model: LocalMemory) -> None:
    remember(memory_with_model, NewItem("Sessions persist for 30 days by a JWT cookie; no password is asked meanwhile"))
    remember(memory_with_model, NewItem("The garden gate is painted green every spring"))
    memory_with_model.embeddings.catch_up()
    assert memory_with_model.embeddings.is_ready
    assert "Sessions persist" in titles(memory_with_model, "how do users stay logged in")[0]


def test_a_key_for_one_project_is_offered_that_project_only(memory: LocalMemory) -> None:
    for project in ("dam", "weir"):
        remember(memory, NewItem(f"The {project} gauge is read daily", project=project))
        messages = [NewMessage("user", "Read the gauge", THEN)]
        store_conversation(memory, NewConversation(f"Gauge of the {project}", messages, project=project))
    limited = for_project(memory, "weir")
    found = quick_search(limited, "gauge")
    assert {item.project for item in found.items} == {"weir"}
    assert [session.label for session in found.conversations] == ["Gauge of the weir"]
    assert quick_search(limited, "dam").projects == ()


@pytest.mark.parametrize(
    "typed", ["", " ", "\0", "a" * 5_000, '"', "((", "title:", "💥", "ж", "日本", "a*", "#", "# #"]
)
def test_nothing_that_is_typed_is_an_error(memory: LocalMemory, typed: str) -> None:
    remember(memory, NewItem("Redis holds the sessions"))
    quick_search(memory, typed)


def test_words_begin_words_of_a_name() -> None:
    assert begins_words(["shop", "ap"], "github.com/acme/shop-api")
    assert not begins_words(["hop"], "shop-api")
