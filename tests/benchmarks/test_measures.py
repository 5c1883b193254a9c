"""Figures of rankings, worked out by hand, and what holds for all of them."""

from __future__ import annotations

import math

import pytest
from benchmarks.measures import Answered, averages, figures
from hypothesis import given
from hypothesis import strategies as st

IDS = st.lists(st.sampled_from("abcdefghijklmnop"), max_size=30)


def test_figures_of_one_question() -> None:
    made = figures(["x", "a", "a", "y", "z", "w", "b"], {"a", "b", "c"})
    assert made["depth"] == 6 and made["mrr"] == 1 / 2
    assert made["recall@5"] == 1 / 3 and made["recall@10"] == 2 / 3 == made["recall@50"]
    assert made["hit@5"] == 1.0
    ideal = 1 + 1 / math.log2(3) + 1 / math.log2(4)
    assert made["ndcg@10"] == pytest.approx((1 / math.log2(3) + 1 / math.log2(7)) / ideal)


@given(IDS, st.sets(st.sampled_from("abcdefghijklmnop"), min_size=1))
def test_figures_stay_between_none_and_all(ranked: list[str], gold: set[str]) -> None:
    made = figures(ranked, gold)
    assert all(0 <= value <= 1.0000001 for name, value in made.items() if name != "depth")
    assert all(made[f"recall@{depth}"] <= made[f"hit@{depth}"] for depth in (5, 10, 20, 50))
    best = figures(sorted(gold), gold)
    assert best["mrr"] == 1.0 and best["ndcg@10"] == pytest.approx(1.0) and best["recall@20"] == 1.0


def test_each_dialogue_counts_the_same() -> None:
    found, missed = figures(["a"], {"a"}), figures(["b"], {"a"})
    groups = averages([Answered("long", "one", found)] * 3 + [Answered("short", "two", missed)])
    assert groups["all"]["mrr"] == 0.75 and groups["all"]["n"] == 4
    assert groups["mean of dialogues"]["mrr"] == 0.5 and groups["mean of dialogues"]["n"] == 2
    assert groups["one"]["mrr"] == 1.0 and groups["in short"]["mrr"] == 0.0
