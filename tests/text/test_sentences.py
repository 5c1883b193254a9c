"""The sentences that say most of a text: always its own, in their order, within their room."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from commonplace.text.sentences import MAX_SENTENCE, main_sentences, sentences


def test_sentences_come_without_code_and_markdown() -> None:
    text = "# Title\n\nFirst one. Second one!\n- a point\n```\nx = 1.\n```\n東京。大阪。"
    assert sentences(text) == ["Title", "First one.", "Second one!", "a point", "東京。", "大阪。"]


def test_what_comes_up_most_is_chosen_and_said_once() -> None:
    told = ["The cache is Redis and the cache is fast.", "Lunch was fine today.", "We chose Redis for the cache."]
    assert main_sentences([*told, told[0]], 90) == [told[0], told[2]]
    assert main_sentences([], 100) == [] == main_sentences(["..."], 2)


@given(st.lists(st.text(max_size=300), max_size=8), st.integers(0, 500))
def test_nothing_is_invented_and_the_room_is_kept(texts: list[str], room: int) -> None:
    chosen = main_sentences(texts, room)
    known = [sentence for text in texts for sentence in sentences(text)]
    assert set(chosen) <= set(known) and sum(map(len, chosen)) <= room
    assert chosen == sorted(chosen, key=known.index) and all(len(one) <= MAX_SENTENCE for one in chosen)
