"""Contradictions are found, also in sentences written after the rules, and seldom reported where there are none."""

from __future__ import annotations

from benchmarks.contradictions import found, read_pairs


def test_most_contradictions_kept_apart_are_found_in_each_kind() -> None:
    counts = found([pair for pair in read_pairs("contradictions.txt") if pair.is_kept_apart])
    assert len(counts) >= 15 and sum(total for _some, total in counts.values()) >= 180
    assert sum(some for some, _total in counts.values()) >= 0.88 * sum(total for _some, total in counts.values())
    assert sum(some >= 0.75 * total for some, total in counts.values()) >= 14


def test_those_written_after_the_rules_are_found() -> None:
    """Nobody changes a rule for these: they say how it is in sentences that nobody has seen."""
    counts = found(read_pairs("contradictions_blind.txt"))
    assert sum(some for some, _total in counts.values()) >= 50
    assert sum(some >= 4 for some, _total in counts.values()) >= 10
    assert sum(some for some, _total in found(read_pairs("no_contradictions_blind.txt")).values()) <= 1


def test_look_alikes_that_do_not_contradict_are_seldom_reported() -> None:
    counts = found(read_pairs("no_contradictions.txt"))
    reported, total = (sum(pair[n] for pair in counts.values()) for n in (0, 1))
    assert total >= 400
    assert reported <= 0.02 * total
