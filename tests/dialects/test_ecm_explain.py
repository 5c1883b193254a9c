"""explain: how something came about over sessions and days, in words that were said, with the dates they were said."""

from __future__ import annotations

from typing import Any

import pytest
from tests.dialects.conftest import Call, calling
from tests.memory.past_work import DECISION, GUARD, LIMITED, REFRESHED, SET_UP, local, settle, work

from commonplace.errors import NoResults
from commonplace.memory.conversations import NewConversation, NewMessage, store_conversation
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import NewItem, remember


def timeline_entries(reply: dict[str, Any]) -> list[tuple[str, str]]:
    return [(entry["date"], entry["event"]) for entry in reply["timeline"]]


@pytest.mark.promise(
    "ecm:explain:phases",
    "ecm:explain:sessions",
    "ecm:explain.summary",
    "ecm:explain.timeline",
    "ecm:explain.relatedClusters",
    "ecm:explain.keyChunks",
    "ecm:explain:timeline.date",
    "ecm:explain:timeline.session",
    "ecm:explain:timeline.event",
    "ecm:explain:keyChunks.chunkId",
    "ecm:explain:keyChunks.content",
    "ecm:explain:keyChunks.score",
    "ecm:explain:keyChunks.session",
    "ecm:explain:keyChunks.cluster",
    "ecm:decided:outcomes",
)
def test_a_topic_is_told_in_phases(wise_past: Call) -> None:
    reply = wise_past("explain", topic="OAuth login and its tokens")
    (first, set_up), (second, refreshed) = timeline_entries(reply)[:2]
    assert (first, second) == ("2025-01-15", "2025-01-20")
    assert SET_UP.startswith(set_up) and REFRESHED.startswith(refreshed)
    dates = [date for date, _event in timeline_entries(reply)]
    assert dates == sorted(set(dates)) and len(dates) >= 3
    assert {entry["session"] for entry in reply["timeline"]} == {"shop"}
    days = f"It came up on {len(dates)} days from 2025-01-15 to {dates[-1]} in shop."
    assert reply["summary"].startswith(f"{days} First (2025-01-15): The initial OAuth setup works: ")
    assert " Then (2025-01-20): Added token refresh logic" in reply["summary"]
    assert f" Most recently ({dates[-1]}): " in reply["summary"]
    assert reply["relatedClusters"] and len(reply["relatedClusters"]) == len(set(reply["relatedClusters"]))
    chunk = reply["keyChunks"][0]
    assert chunk.keys() == {"chunkId", "content", "score", "session", "cluster"}
    assert "OAuth" in chunk["content"] and chunk["session"] in ("shop-2025-01-15", "shop-2025-01-20")


@pytest.mark.promise("ecm:explain:example-usage")
def test_the_evolution_of_our_error_handling_approach(past: Call, wise_past: Call) -> None:
    for call in (past, wise_past):
        restored = "Restored it and added a regression test to CI so that a merge cannot drop it again."
        reply = call("explain", topic="error handling")
        assert {("2025-02-03", GUARD), ("2025-03-03", restored)} <= set(timeline_entries(reply))
        reply = call("explain", topic="the evolution of our error handling approach")
        assert [entry for entry in timeline_entries(reply) if entry[0] != "2025-02-05"] == [
            ("2025-02-03", GUARD),
            ("2025-03-03", restored),
        ]


@pytest.mark.promise("ecm:explain:timeline-off")
def test_without_a_timeline_there_is_none(past: Call) -> None:
    whole = past("explain", topic="login")
    reply = past("explain", topic="login", includeTimeline=False)
    assert "timeline" not in reply and whole["timeline"]
    assert (reply["summary"], reply["keyChunks"]) == (whole["summary"], whole["keyChunks"])


@pytest.mark.promise("ecm:decided:requests")
def test_what_was_only_asked_for_is_told_as_a_request(past: Call) -> None:
    reply = past("explain", topic="full-text search of the blog")
    assert ("2025-02-05", "Request: Add full-text search to the blog, with Meilisearch.") in timeline_entries(reply)


@pytest.mark.promise("ecm:decided:session-days")
def test_one_entry_for_each_session_and_day(memory: LocalMemory) -> None:
    at = [local(time) for time in ("2025-02-01T22:00", "2025-02-01T23:00", "2025-02-02T01:00")]
    messages = [
        NewMessage("assistant", f"Moved part {n} of the quagga stable to the new wing", at_ms=ms)
        for n, ms in enumerate(at)
    ]
    store_conversation(memory, NewConversation("Night", messages, key="a", project="zoo"))
    store_conversation(
        memory,
        NewConversation(
            "Vet", [NewMessage("assistant", "The vet checked the quagga", at_ms=at[0])], key="b", project="zoo"
        ),
    )
    settle(memory)
    reply = calling(memory)("explain", topic="quagga")
    assert [(entry["date"], entry["session"]) for entry in reply["timeline"]] == [
        ("2025-02-01", "zoo"),
        ("2025-02-01", "zoo"),
        ("2025-02-02", "zoo"),
    ]
    assert reply["summary"].startswith("It came up on 2 days from 2025-02-01 to 2025-02-02 in zoo.")


@pytest.mark.promise("ecm:explain:depth")
def test_depth_bounds_how_far_the_graph_is_followed(memory: LocalMemory) -> None:
    # Each names the file of the one before; only the first says much about the topic, all a little.
    steps = [
        "The heron colony nests in the old poplar by the lake, as src/herons/map.json shows",
        "src/herons/map.json moved beside src/herons/tiles.json for the lake",
        "src/herons/tiles.json is made from src/herons/photo.json of the lake",
        "src/herons/photo.json was shot from a kite over the lake on a windy day with a very old camera by Ann",
    ]
    for n, text in enumerate(steps):
        remember(
            memory,
            NewItem(kind="observation", content=text, session=f"s{n}", created_ms=local(f"2025-02-0{n + 1}T12:00")),
        )
    settle(memory)
    call = calling(memory)
    topic = "heron colony nests in the old poplar by the lake"
    near, far = call("explain", topic=topic, depth=1), call("explain", topic=topic, depth=20)
    assert [date for date, _event in timeline_entries(near)] == ["2025-02-01", "2025-02-02"]
    assert [date for date, _event in timeline_entries(far)] == ["2025-02-01", "2025-02-02", "2025-02-03", "2025-02-04"]
    assert near["keyChunks"] == far["keyChunks"]


@pytest.mark.promise("ecm:decided:latest")
def test_what_did_we_do_last_is_told_by_days(past: Call) -> None:
    reply = past("explain", topic="What did we do last?")
    assert reply["summary"].startswith("Work on 5 days from 2025-02-05 to 2025-03-14 in blog and shop.")
    assert timeline_entries(reply)[-1] == (
        "2025-03-14",
        "Switched the blog to Inter in styles/base.css; headings are 20 % smaller.",
    )
    reply = past("explain", topic="what did we do yesterday?")
    assert reply["summary"].startswith("On 2025-03-14 in blog: Switched the blog to Inter")
    assert [entry["date"] for entry in past("explain", topic="what did we do last in shop?")["timeline"]][
        -1
    ] == "2025-03-03"


@pytest.mark.promise("ecm:decided:outcomes")
def test_statements_and_summaries_tell_their_day(memory: LocalMemory) -> None:
    work(memory)
    details = {"request": "Checkout", "completed": "Moved the checkout to Stripe and dropped the old gateway"}
    remember(
        memory,
        NewItem(kind="summary", project="shop", session="z", details=details, created_ms=local("2025-03-10T12:00")),
    )
    call = calling(memory)
    assert ("2025-01-21", DECISION) in timeline_entries(call("explain", topic="refresh tokens in Postgres"))
    ((date, event),) = timeline_entries(call("explain", topic="old gateway of the checkout"))[-1:]
    assert date == "2025-03-10" and "Stripe" in event


@pytest.mark.parametrize(
    "topic",
    ["rate limiting", "how did the rate limiting come about?", "the history of rate limiting", "Why rate limiting"],
)
def test_tool_texts_of_a_request_to_tell_are_not_the_topic(past: Call, topic: str) -> None:
    reply = past("explain", topic=topic)
    assert reply["timeline"][0]["date"] == "2025-02-10"
    assert LIMITED in [chunk["content"] for chunk in reply["keyChunks"][:2]]


def test_many_days_are_told_in_a_few_phases(memory: LocalMemory) -> None:
    for n in range(40):
        text = f"Added counter {n} to the turnstile" if n in (7, 35) else f"The turnstile number {n} is here"
        day = f"2025-0{1 + n // 28}-{1 + n % 28:02}T12:00"
        remember(memory, NewItem(kind="observation", content=text, session=f"s{n}", created_ms=local(day)))
    reply = calling(memory)("explain", topic="turnstile")
    assert reply["summary"].count(" Then (") == 4
    assert reply["summary"].startswith("It came up on 40 days from 2025-01-01 to 2025-02-12 in global.")


def test_a_topic_of_nothing_known(past: Call) -> None:
    with pytest.raises(NoResults):
        past("explain", topic="quantum okapi")


@pytest.mark.promise("ecm:decided:latest")
def test_a_week_of_long_sessions_is_told_to_its_beginning(memory: LocalMemory) -> None:
    for day in range(3, 8):
        start = local(f"2025-03-0{day}T09:00")
        messages = [NewMessage("user", f"Please repair gate {day} of the zoo today", at_ms=start)]
        messages += [
            NewMessage("assistant", f"Looking at hinge {n} of the gate number {day}", at_ms=start + n * 1000)
            for n in range(1, 300)
        ]
        messages += [NewMessage("assistant", f"Replaced the lock of gate {day}.", at_ms=start + 400_000)]
        store_conversation(memory, NewConversation(f"Gate {day}", messages, key=f"g{day}", project="zoo"))
    reply = calling(memory)("explain", topic="what did we do last week?")
    assert timeline_entries(reply) == [(f"2025-03-0{day}", f"Replaced the lock of gate {day}.") for day in range(3, 8)]
    reply = calling(memory)("explain", topic="what did we do last?")
    assert [date for date, _event in timeline_entries(reply)] == [f"2025-03-0{day}" for day in range(3, 8)]
