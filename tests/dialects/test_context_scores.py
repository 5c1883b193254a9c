"""The scores of `get_context`, recomputed by hand from the signals and from the clock."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import THEN, Clock
from tests.dialects.conftest import Call

from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import NewItem, remember, remember_all

DAY = 86_400_000
# Signals and scores are written with four digits.
ROUNDING = 2e-4


def with_query(signals: dict[str, float]) -> float:
    return (
        0.45 * signals["semantic"] + 0.35 * signals["fts5"] + 0.10 * signals["recency"] + 0.10 * signals["projectMatch"]
    )


def without_query(signals: dict[str, float]) -> float:
    return 0.70 * signals["recency"] + 0.30 * signals["projectMatch"]


def items_of(call: Call, **query: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = call("get_context", project="my-api", token_budget=20_000, **query)["items"]
    assert found
    return found


@pytest.mark.promise("kiro:get_context:weights-with-query", "kiro:get_context:semantic-zero")
def test_with_a_query_the_weights_are_45_35_10_10(example: LocalMemory, call: Call) -> None:
    for item in items_of(call, query="authentication middleware routes"):
        assert item["score"] == pytest.approx(with_query(item["signals"]), abs=ROUNDING)
        assert item["signals"]["semantic"] == 0.0


@pytest.mark.promise("kiro:get_context:weights-without-query", "kiro:get_context:fts5-zero")
def test_without_a_query_the_weights_are_70_30(example: LocalMemory, call: Call) -> None:
    for item in items_of(call):
        assert item["score"] == pytest.approx(without_query(item["signals"]), abs=ROUNDING)
        assert (item["signals"]["semantic"], item["signals"]["fts5"]) == (0.0, 0.0)


@pytest.mark.parametrize("blank", ["", "   ", "\n"])
def test_a_blank_query_is_no_query(example: LocalMemory, call: Call, blank: str) -> None:
    assert items_of(call, query=blank) == items_of(call)


@pytest.mark.parametrize(("age_days", "recency"), [(0, 1.0), (3.5, 0.7071), (7, 0.5), (14, 0.25), (70, 0.001)])
@pytest.mark.promise("kiro:get_context:half-life")
def test_recency_halves_every_seven_days(memory: LocalMemory, call: Call, age_days: float, recency: float) -> None:
    remember(memory, NewItem(kind="observation", title="Step", project="my-api", created_ms=THEN - int(age_days * DAY)))
    (item,) = items_of(call)
    assert item["signals"]["recency"] == pytest.approx(recency, abs=1e-4)
    assert item["score"] == pytest.approx(0.7 * recency + 0.3, abs=ROUNDING)


def test_what_lies_in_the_future_counts_as_now(memory: LocalMemory, call: Call) -> None:
    remember(memory, NewItem(kind="observation", title="Step", project="my-api", created_ms=THEN + 30 * DAY))
    (item,) = items_of(call)
    assert (item["signals"]["recency"], item["score"]) == (1.0, 1.0)


@pytest.mark.promise("kiro:get_context:knowledge-boost", "kiro:decided:boost-orders", "kiro:get_context:score-range")
def test_the_boost_decides_the_order_and_not_the_score(memory: LocalMemory, call: Call, clock: Clock) -> None:
    old = remember(
        memory, NewItem(content="Use SQLite", type="decision", project="my-api", created_ms=THEN - 365 * DAY)
    )
    new = remember(memory, NewItem(kind="observation", title="Ran tests", project="my-api"))
    fresh = remember(memory, NewItem(content="No ORM", type="constraint", project="my-api"))
    items = items_of(call)
    assert [item["id"] for item in items] == [fresh.id, old.id, new.id]
    assert items[0]["score"] == items[2]["score"] == 1.0
    assert items[1]["score"] == pytest.approx(0.3, abs=ROUNDING)


@given(
    ages=st.lists(st.floats(0, 3000), min_size=1, max_size=6),
    types=st.lists(st.sampled_from(["note", "decision", "rejected", "rule", "fact"]), min_size=6, max_size=6),
    query=st.sampled_from([None, "zebra", "zebra AND grass", '"the zebra"', "zeb*"]),
)
def test_every_score_lies_within_0_and_1(
    memory: LocalMemory, call: Call, ages: list[float], types: list[str], query: str | None
) -> None:
    notes = [
        NewItem(
            content=f"The zebra eats grass {n} {age}", type=type_, project="my-api", created_ms=THEN - int(age * DAY)
        )
        for n, (age, type_) in enumerate(zip(ages, types, strict=False))
    ]
    remember_all(memory, notes)
    for item in items_of(call, **({"query": query} if query else {})):
        assert 0.0 <= item["score"] <= 1.0
        assert all(0.0 <= value <= 1.0 and math.isfinite(value) for value in item["signals"].values())
