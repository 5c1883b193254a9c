"""memory_search: by meaning and words, in the conversations that meet a label, with a true total."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conftest import Clock
from tests.dialects.conftest import Call, calling

from commonplace.memory import conversations
from commonplace.memory.edit_and_forget import forget_items
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import NewItem, remember, remember_all

REST = "We should use RESTful principles with plural nouns for the API design."


def talk(call: Call, label: str, *contents: str, folder: str = "/talks", **more: Any) -> str:
    messages = [{"role": "user", "content": content} for content in contents]
    id_: str = call("memory_store", label=label, folder=folder, messages=messages, **more)["id"]
    return id_


@pytest.mark.promise(
    "sekha:memory_search:example-call",
    "sekha:memory_search:filter-labels",
    "sekha:memory_search.results",
    "sekha:memory_search.total",
    "sekha:memory_search:results.id",
    "sekha:memory_search:results.conversation_id",
    "sekha:memory_search:results.label",
    "sekha:memory_search:results.content",
    "sekha:memory_search:results.similarity",
    "sekha:memory_search:results.importance_score",
    "sekha:memory_search:results.created_at",
)
def test_the_example_call(call: Call) -> None:
    # The label of the example's result is not the one it is filtered by: its folder is.
    id_ = call(
        "memory_store", label="API Architecture Planning", folder="/work/engineering", importance_score=8,
        messages=[{"role": "assistant", "content": REST, "timestamp": "2026-01-20T10:00:00Z"}],
    )["id"]  # fmt: skip
    talk(call, "Cooking", "The API design of a soup", folder="/home")
    data = call("memory_search", query="API design discussions", limit=10, filter_labels=["Engineering"])
    (result,) = data["results"]
    assert data["total"] == 1
    message = call("memory_get_context", conversation_id=id_)["messages"][0]
    assert 0.0 < result.pop("similarity") <= 1.0
    assert result == {
        "id": message["id"],
        "conversation_id": id_,
        "label": "API Architecture Planning",
        "content": REST,
        "importance_score": 8,
        "created_at": "2026-01-20T10:00:00Z",
        "role": "assistant",
        "folder": "/work/engineering",
    }


@pytest.mark.promise("sekha:memory_search:semantic", "sekha:decided:similarity")
def test_what_means_the_same_is_found_best_first(memory_with_model: LocalMemory) -> None:
    call = calling(memory_with_model)
    talk(call, "Sessions", "Users stay logged in by a refresh token that rotates every week.")
    talk(call, "Garden", "Water the tomatoes in the evening.")
    talk(call, "Shop", "The invoice is sent when the parcel leaves.")
    memory_with_model.embeddings.catch_up()
    found = call("memory_search", query="how do we keep people signed in?")["results"]
    assert found[0]["label"] == "Sessions"
    assert 0.3 < found[0]["similarity"] <= 1.0
    scores = [result["similarity"] for result in found]
    assert scores == sorted(scores, reverse=True)
    filtered = call("memory_search", query="how do we keep people signed in?", filter_labels=["Garden"])["results"]
    assert {result["label"] for result in filtered} <= {"Garden"}


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["API Design"], {"API Design"}),
        (["api design", "q1 2026 goals"], {"API Design", "Q1 2026 Goals"}),
        (["Database"], {"Engineering/Database"}),
        (["Engineering"], {"Engineering/Database"}),
        (["Engineering/Database"], {"Engineering/Database"}),
        (["ärger"], {"Ärger"}),
        (["API"], set()),
        (["work"], {"API Design", "Engineering/Database"}),
        ([], {"API Design", "Engineering/Database", "Q1 2026 Goals", "Ärger"}),
        (["  "], {"API Design", "Engineering/Database", "Q1 2026 Goals", "Ärger"}),
        (["no such label"], set()),
    ],
)
@pytest.mark.promise("sekha:memory_search:filter-labels", "sekha:practice:label-parts")
def test_labels_are_met_whole_in_parts_and_by_folders(call: Call, labels: list[str], expected: set[str]) -> None:
    talk(call, "API Design", "zebra one", folder="/work")
    talk(call, "Engineering/Database", "zebra two", folder="/work/db")
    talk(call, "Q1 2026 Goals", "zebra three")
    talk(call, "Ärger", "zebra four")
    data = call("memory_search", query="zebra", filter_labels=labels)
    assert {result["label"] for result in data["results"]} == expected
    assert data["total"] == len(expected)


@pytest.mark.promise("sekha:memory_search:limit-default", "sekha:memory_search:limit-range", "sekha:decided:total")
def test_total_counts_what_the_limit_leaves_out(call: Call) -> None:
    talk(call, "Zoo", *(f"zebra number {n} eats {n * 7} kilos" for n in range(120)), folder="/zoo")
    talk(call, "Farm", "a zebra among cows", *(f"cow {n}" for n in range(30)))
    data = call("memory_search", query="zebra")
    assert (len(data["results"]), data["total"]) == (10, 121)
    for limit in (1, 50):
        data = call("memory_search", query="zebra", limit=limit)
        assert (len(data["results"]), data["total"]) == (limit, 121)
    data = call("memory_search", query="zebra", limit=5, filter_labels=["zoo"])
    assert (len(data["results"]), data["total"]) == (5, 120)
    assert call("memory_search", query="zebra AND cows")["total"] == 1
    assert call("memory_search", query="walrus") == {"results": [], "total": 0}


@pytest.mark.promise("sekha:decided:total")
def test_total_counts_all_even_of_a_word_that_is_everywhere(call: Call) -> None:
    for part in range(2):
        talk(call, f"Zoo {part}", *(f"the zebra of stable {n} and {part}" for n in range(1500)))
    talk(call, "Farm", "a cow in the stable")
    assert call("memory_search", query="zebra")["total"] == 3000
    assert call("memory_search", query="zebra", filter_labels=["zoo 1"])["total"] == 1500


@pytest.mark.promise("sekha:decided:one-memory")
def test_what_other_dialects_wrote_is_found(call: Call, memory: LocalMemory) -> None:
    remember(
        memory, NewItem(kind="observation", title="Fed the zebra", details={"narrative": "Gave it hay"}, session="s-1")
    )
    added = call("add_memory", content="The zebra sleeps standing", type="fact")
    found = {result["content"]: result for result in call("memory_search", query="zebra")["results"]}
    fact, event = found["The zebra sleeps standing"], found["Gave it hay"]
    assert fact["id"].endswith(added["id"]) and fact["conversation_id"] == "" and fact["importance_score"] == 5
    assert event["label"] == "Fed the zebra" and event["conversation_id"]
    opened = call("memory_get_context", conversation_id=event["conversation_id"])
    assert (opened["messages"], opened["message_count"]) == ([], 0)


@pytest.mark.promise("sekha:decided:one-memory")
def test_other_dialects_find_what_was_stored(call: Call) -> None:
    id_ = talk(call, "Zoo", "How does the zebra sleep?", "It sleeps standing up.", "Thank you.")
    ids = [message["id"] for message in call("memory_get_context", conversation_id=id_)["messages"]]
    (hit,) = call("search", query="zebra")["observations"]
    assert hit["text"] == "How does the zebra sleep?"
    assert [entry["position"] for entry in call("timeline", anchor_id=hit["id"])["timeline"]] == [0, 1, 2]
    (full,) = call("get_observations", ids=[hit["id"]])["observations"]
    assert full["text"] == "How does the zebra sleep?" and ids[0].endswith(ids[0][-12:])
    # It belongs to no project, and is no statement for all of them.
    assert call("search_memories", query="zebra")["memories"] == []
    context = call("get_context", project="zoo", query="zebra sleep")
    assert "How does the zebra sleep?" in str(context)


def test_what_was_forgotten_or_archived(call: Call, memory: LocalMemory) -> None:
    id_ = talk(call, "Zoo", "zebra one", "zebra two")
    first = call("memory_get_context", conversation_id=id_)["messages"][0]["id"]
    call("memory_update", conversation_id=id_, status="archived")
    assert call("memory_search", query="zebra")["total"] == 2
    forget_items(memory, [first])
    assert [result["content"] for result in call("memory_search", query="zebra")["results"]] == ["zebra two"]
    conversations.forget_session(memory, id_)
    assert call("memory_search", query="zebra") == {"results": [], "total": 0}


@pytest.mark.parametrize("query", ['zebra"', "zebra (", "zebra*", "zoo@example.com zebra", "c++ zebra", "-- ; zebra '"])
def test_no_query_is_a_syntax_error(call: Call, query: str) -> None:
    talk(call, "Zoo", "the zebra at zoo@example.com writes c++")
    assert call("memory_search", query=query)["total"] == 1


def test_a_query_of_punctuation_alone_finds_nothing(call: Call) -> None:
    talk(call, "Zoo", "zebra")
    assert call("memory_search", query="?! …") == {"results": [], "total": 0}


def test_long_messages_are_found_by_their_end_and_count_once(call: Call, clock: Clock, memory: LocalMemory) -> None:
    long = "\n\n".join(f"Paragraph {n} about nothing in particular, told at length. " * 12 for n in range(60))
    talk(call, "Long", long + "\n\nAt last the zebra.")
    remember_all(memory, [NewItem(content=f"filler {n}") for n in range(5)])
    data = call("memory_search", query="zebra")
    assert data["total"] == 1 and data["results"][0]["content"].endswith("At last the zebra.")
