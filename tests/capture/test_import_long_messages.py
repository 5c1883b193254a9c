"""A message that is longer than an item may be: in parts, none of which tears apart what may not be kept."""

from __future__ import annotations

import pytest
from tests.leaks.planting import SEEDS, Seed, leaks

from commonplace.capture.import_files import split_long_messages
from commonplace.memory.conversations import NewConversation, NewMessage
from commonplace.memory.draft import MAX_TEXT


def parts(content: str) -> list[NewMessage]:
    return list(
        split_long_messages(
            NewConversation(label="Long", messages=[NewMessage("user", content, identity="m1")])
        ).messages
    )


def test_a_message_that_fits_is_left_as_it_is() -> None:
    assert [message.content for message in parts("x" * MAX_TEXT)] == ["x" * MAX_TEXT]


def test_a_longer_one_is_cut_at_the_ends_of_lines_and_nothing_is_lost() -> None:
    text = "".join(f"line {number}\n" for number in range(150_000))
    found = parts(text)
    assert "".join(message.content for message in found) == text
    assert all(len(entry.content) <= MAX_TEXT and entry.content.endswith("\n") for entry in found)
    assert [statement.identity for statement in found] == [f"m1#{number}" for number in range(1, len(found) + 1)]


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: seed.kind)
def test_what_may_not_be_kept_is_taken_out_before_it_is_cut(seed: Seed) -> None:
    half = seed.text.index(seed.secret) + len(seed.secret) // 2
    text = "x" * (MAX_TEXT - half - 1) + " " + seed.text
    assert not leaks("".join(message.content for message in parts(text + " y" * 1000)))


def test_a_private_part_may_be_longer_than_an_item() -> None:
    text = "before <private>" + "diary\n" * (MAX_TEXT // 3) + "</private> after"
    assert [message.content for message in parts(text)] == ["before [private] after"]
