"""Worlds become what the product reads: passages with speakers and what was said before, questions without names."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
from training import examples
from training.base_model import write_half_precision
from training.product_ranking import product_ranking
from training.worlds import read_world

WORLD = """# kind: chat
@ 2024-03-02
1 Maya: finally signed up for the pottery class on Thursdays
2 Jonas: nice!! the place your sister liked?
@ 2024-03-19
3 Maya: the kiln broke
? single | 1 | Which evening does Maya take ceramics lessons?
? none | - | Which evening does Maya swim?
"""


def test_a_short_message_is_read_with_what_was_said_before_it_in_its_session() -> None:
    first, second, third = examples.from_world(read_world("a001", WORLD)).passages
    assert (first.text, first.before) == ("Maya: finally signed up for the pottery class on Thursdays", "")
    assert second.before == first.text
    assert third.before == ""


def test_names_are_left_out_of_questions_and_gold_counts_from_zero() -> None:
    example = examples.from_world(read_world("a001", WORLD))
    answered, unanswerable = example.questions
    assert answered.text == "Which evening does take ceramics lessons?"
    assert answered.original == "Which evening does Maya take ceramics lessons?"
    assert answered.gold == (0,)
    assert unanswerable.gold == ()
    assert example.part == "train"


def test_worlds_whose_number_ends_in_zero_are_kept_for_checking() -> None:
    assert examples.from_world(read_world("a010", WORLD)).part == "check"


def test_lines_of_a_day_are_joined_to_one_long_message() -> None:
    world = examples.joined(read_world("a001", WORLD))
    assert [(line.who, line.text) for line in world.lines] == [
        (
            "Maya",
            "finally signed up for the pottery class on Thursdays\nJonas: nice!! the place your sister liked?",
        ),
        ("Maya", "the kiln broke"),
    ]
    assert [question.gold for question in world.questions] == [(1,), ()]


def test_the_product_ranks_the_candidates_of_a_question() -> None:
    first, second = product_ranking(read_world("a001", WORLD))
    assert first[0] == 0
    assert set(second) <= {0, 1, 2}


def test_all_worlds_are_written(tmp_path: Path) -> None:
    examples.main([str(tmp_path / "examples.jsonl.gz")])
    with gzip.open(tmp_path / "examples.jsonl.gz", "rt", encoding="utf-8") as file:
        written = [json.loads(line) for line in file]
    assert {example["part"] for example in written} == {"train", "check", "check+", "check-de", "check-es"}
    assert all(0 <= item < len(e["passages"]) for e in written for q in e["questions"] for item in q["gold"])


def test_tensors_are_written_in_half_precision(tmp_path: Path) -> None:
    path = tmp_path / "adapter.safetensors"
    write_half_precision(path, {"b": np.ones((2, 3), np.float32), "a": np.zeros(4, np.float32)}, {"rank": "4"})
    content = path.read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    table = json.loads(content[8:start])
    assert table["__metadata__"] == {"rank": "4"}
    assert table["b"] == {"dtype": "F16", "shape": [2, 3], "data_offsets": [8, 20]}
    assert np.frombuffer(content[start + 8 : start + 20], "<f2").tolist() == [1.0] * 6
