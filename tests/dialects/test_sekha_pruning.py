"""memory_prune and memory_stats: what could go and why, and how much there is."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conftest import Clock
from tests.dialects.conftest import Call

from commonplace.dialects.sekha import MOST_CANDIDATES
from commonplace.memory.local_memory import LocalMemory

# 2026-01-25T16:30:00Z
NOW = 1_769_358_600_000


@pytest.fixture(autouse=True)
def at_the_examples_time(clock: Clock) -> None:
    clock.now = NOW


def talk(call: Call, clock: Clock, label: str, days: float, score: float = 3, *contents: str, **more: Any) -> str:
    """A conversation whose last message was said some days ago."""
    now = clock.now
    clock.forward(days=-days)
    messages = [{"role": "user", "content": content} for content in contents or (f"About {label}",)]
    id_: str = call(
        "memory_store", label=label, folder=more.get("folder", "/f"), messages=messages, importance_score=score
    )["id"]
    clock.now = now
    return id_


def proposed(call: Call, **arguments: Any) -> list[str]:
    return [candidate["label"] for candidate in call("memory_prune", **arguments)["candidates"]]


@pytest.mark.promise(
    "sekha:memory_prune:example-call",
    "sekha:memory_prune.candidates",
    "sekha:memory_prune.total_candidates",
    "sekha:memory_prune.estimated_space_saved_mb",
    "sekha:memory_prune:candidates.id",
    "sekha:memory_prune:candidates.label",
    "sekha:memory_prune:candidates.age_days",
    "sekha:memory_prune:candidates.importance_score",
    "sekha:memory_prune:candidates.reason",
    "sekha:memory_prune:candidates.last_accessed",
    "sekha:decided:real-bytes",
)
def test_the_example_call(call: Call, clock: Clock) -> None:
    id_ = talk(call, clock, "Old Discussion", 90, 3, "Zebra 🦓" * 1000)
    talk(call, clock, "Young", 59, 1)
    talk(call, clock, "Dear", 90, 5)
    clock.now = 1_760_522_400_000  # 2025-10-15T10:00:00Z
    call("memory_get_context", conversation_id=id_)
    clock.now = NOW
    data = call("memory_prune", threshold_days=60, importance_threshold=5.0)
    (candidate,) = data["candidates"]
    shown = {
        name: candidate[name] for name in ("id", "label", "age_days", "importance_score", "reason", "last_accessed")
    }
    assert shown == {
        "id": id_,
        "label": "Old Discussion",
        "age_days": 90,
        "importance_score": 3,
        "reason": "Low importance (3 of 10), no message for 90 days, last opened 102 days ago",
        "last_accessed": "2025-10-15T10:00:00Z",
    }
    assert data["total_candidates"] == 1
    assert data["estimated_space_saved_mb"] == len("Zebra 🦓".encode()) * 1000 / 1_000_000


@pytest.mark.promise(
    "sekha:memory_prune:days-default", "sekha:memory_prune:importance-threshold", "sekha:memory_prune:importance-range"
)
def test_age_and_importance_decide(call: Call, clock: Clock) -> None:
    talk(call, clock, "29 days, 0", 29.9, 0)
    talk(call, clock, "30 days, 4.9", 30, 4.9)
    talk(call, clock, "40 days, 5", 40, 5)
    talk(call, clock, "40 days, 9.9", 40, 9.9)
    assert proposed(call) == ["30 days, 4.9"]
    assert proposed(call, threshold_days=31) == []
    assert proposed(call, threshold_days=31, importance_threshold=5.1) == ["40 days, 5"]
    assert proposed(call, threshold_days=0, importance_threshold=0.5) == ["29 days, 0"]
    assert proposed(call, importance_threshold=0) == []
    assert proposed(call, threshold_days=0, importance_threshold=10) == [
        "29 days, 0", "30 days, 4.9", "40 days, 5", "40 days, 9.9",
    ]  # fmt: skip


@pytest.mark.promise("sekha:practice:pinned")
def test_what_is_pinned_or_archived_is_never_proposed(call: Call, clock: Clock) -> None:
    talk(call, clock, "Pinned by ten", 900, 10)
    pinned = talk(call, clock, "Pinned by status", 900, 1)
    call("memory_update", conversation_id=pinned, status="pinned")
    archived = talk(call, clock, "Archived", 900, 1)
    call("memory_update", conversation_id=archived, status="archived")
    assert proposed(call, threshold_days=0, importance_threshold=10) == []


@pytest.mark.promise("sekha:decided:reasons", "sekha:decided:duplicates-first")
def test_every_reason_is_true(call: Call, clock: Clock) -> None:
    lines = ["Retry the upload", "Five times", "Then give up", "And say so", "Loudly"]
    stored = talk(call, clock, "Kept", 400, 8, *lines)
    twin = talk(call, clock, "Twin", 50, 4, *lines)
    talk(call, clock, "Half a twin", 50, 4, *lines[:3], "but not this", "nor that")
    opened = talk(call, clock, "Opened", 31, 2)
    call("memory_get_context", conversation_id=opened)
    candidates = call("memory_prune", importance_threshold=9)["candidates"]
    reasons = {candidate["label"]: candidate["reason"] for candidate in candidates}
    assert reasons == {
        "Twin": f'Near-duplicate of "Kept" ({stored[-12:]}), low importance (4 of 10), no message for 50 days,'
        " never opened since",
        "Opened": "Low importance (2 of 10), no message for 31 days, opened today",
        "Half a twin": "Low importance (4 of 10), no message for 50 days, never opened since",
        "Kept": "Importance 8 of 10, no message for 400 days, never opened since",
    }
    assert [candidate["label"] for candidate in candidates] == list(reasons)
    assert candidates[0]["id"] == twin and candidates[0]["duplicate_of"] == stored
    assert [candidate["duplicate_of"] for candidate in candidates[1:]] == [None] * 3


def test_of_many_alike_the_best_is_what_the_others_repeat(call: Call, clock: Clock) -> None:
    ids = [talk(call, clock, f"Standup {n}", 40 + n, 2, "Nothing new", "No blockers") for n in range(20)]
    best = talk(call, clock, "The one", 40, 3, "nothing  NEW", "no blockers")
    candidates = call("memory_prune")["candidates"]
    assert {candidate["id"]: candidate["duplicate_of"] for candidate in candidates} == {
        **dict.fromkeys(ids, best), best: None,
    }  # fmt: skip


def test_more_than_anybody_reads_is_counted_and_not_listed(call: Call, clock: Clock) -> None:
    for n in range(MOST_CANDIDATES + 5):
        talk(call, clock, f"Talk {n}", 40, 2, f"x{n:04d}")
    data = call("memory_prune")
    assert (len(data["candidates"]), data["total_candidates"]) == (MOST_CANDIDATES, MOST_CANDIDATES + 5)
    assert data["estimated_space_saved_mb"] == pytest.approx((MOST_CANDIDATES + 5) * 5 / 1_000_000)


def test_an_empty_memory_has_nothing_to_prune(call: Call) -> None:
    assert call("memory_prune") == {"candidates": [], "total_candidates": 0, "estimated_space_saved_mb": 0}


def test_a_conversation_from_the_future_is_not_old(call: Call) -> None:
    message = {"role": "user", "content": "Hello from 2030", "timestamp": "2030-01-01T00:00:00Z"}
    id_ = call("memory_store", label="Future", folder="/f", messages=[message], importance_score=0)["id"]
    assert proposed(call, threshold_days=0) == []
    data = call("memory_get_context", conversation_id=id_)
    assert (data["messages"][0]["timestamp"], data["created_at"]) == ("2030-01-01T00:00:00Z", "2026-01-25T16:30:00Z")
    assert call("memory_stats")["date_range"]["newest"] == "2030-01-01T00:00:00Z"


@pytest.mark.promise(
    "sekha:memory_stats:example-call",
    "sekha:memory_stats:folder-optional",
    "sekha:memory_stats.total_conversations",
    "sekha:memory_stats.total_messages",
    "sekha:memory_stats.total_words",
    "sekha:memory_stats.average_importance",
    "sekha:memory_stats.folders",
    "sekha:memory_stats.labels",
    "sekha:memory_stats.status_breakdown",
    "sekha:memory_stats.storage_size_mb",
    "sekha:memory_stats.date_range",
    "sekha:memory_stats:status_breakdown.active",
    "sekha:memory_stats:status_breakdown.archived",
    "sekha:memory_stats:status_breakdown.pinned",
    "sekha:memory_stats:date_range.oldest",
    "sekha:memory_stats:date_range.newest",
    "sekha:decided:folder-tree",
)
def test_statistics_of_a_tree_and_of_everything(call: Call, clock: Clock, memory: LocalMemory) -> None:
    talk(call, clock, "API Design", 10, 7, "one two three", folder="/work/engineering")
    talk(call, clock, "API Design", 5, 10, "four", "five six", folder="/work/product")
    archived = talk(call, clock, "Database", 1, 4, "seven", folder="/work/archive")
    call("memory_update", conversation_id=archived, status="archived")
    talk(call, clock, "Birdhouse", 20, 1, "eight", folder="/workshop")
    data = call("memory_stats", folder="/work")
    assert data == {
        "total_conversations": 3,
        "total_messages": 4,
        "total_words": 7,
        "average_importance": 7,
        "folders": {"/work/archive": 1, "/work/engineering": 1, "/work/product": 1},
        "labels": {"API Design": 2, "Database": 1},
        "labels_left_out": 0,
        "status_breakdown": {"active": 1, "archived": 1, "pinned": 1},
        "storage_size_mb": len("one two threefourfive sixseven") / 1_000_000,
        "date_range": {"oldest": "2026-01-15T16:30:00Z", "newest": "2026-01-24T16:30:00Z"},
    }
    everything = call("memory_stats")
    assert (everything["total_conversations"], everything["average_importance"]) == (4, 5.5)
    assert everything["folders"]["/workshop"] == 1
    assert everything["date_range"]["oldest"] == "2026-01-05T16:30:00Z"
    assert everything["storage_size_mb"] * 1_000_000 == pytest.approx(memory.store.counts().bytes)
    assert {**call("memory_stats", folder="/"), "storage_size_mb": 0} == {**everything, "storage_size_mb": 0}
    assert call("memory_stats", folder="work/engineering/")["total_conversations"] == 1


def test_statistics_of_nothing(call: Call) -> None:
    for arguments in ({}, {"folder": "/no/such folder"}):
        data = call("memory_stats", **arguments)
        assert (data["total_conversations"], data["total_words"], data["average_importance"]) == (0, 0, 0)
        assert (data["folders"], data["labels"]) == ({}, {})
        assert data["status_breakdown"] == {"active": 0, "archived": 0, "pinned": 0}
        assert data["date_range"] == {"oldest": None, "newest": None}


def test_the_commonest_labels_are_listed_and_the_rest_counted(call: Call, clock: Clock) -> None:
    for n in range(103):
        talk(call, clock, f"Label {n}", 1)
    talk(call, clock, "Label 102", 1, 3, "another one")
    data = call("memory_stats")
    assert (len(data["labels"]), data["labels_left_out"]) == (100, 3)
    assert next(iter(data["labels"].items())) == ("Label 102", 2)
