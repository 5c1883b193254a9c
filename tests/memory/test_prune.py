"""Prune: proposals from what is really there, also of very many conversations that are much alike."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from tests.conftest import THEN, Clock

from commonplace.errors import InvalidInput
from commonplace.memory.book import Book
from commonplace.memory.conversations import Conversation, Said, append, find, keep, keep_all, opened
from commonplace.memory.edit import Changes, edit
from commonplace.memory.prune import NEARLY_ALL, prune
from commonplace.text.sketch import similarity, sketch

DAY = 86_400_000


def old(label: str, *lines: str, days: int = 40, importance: float = 2, folder: str = "/") -> Conversation:
    said = [Said("user", line, THEN - days * DAY) for line in lines]
    return Conversation(label, said, folder, importance=importance)


def test_a_message_makes_a_conversation_young_again(book: Book, clock: Clock) -> None:
    session = keep(book, old("Standup", "nothing new")).session
    assert [candidate.age_days for candidate in prune(book).candidates] == [40]
    append(book, session.id, [Said("user", "something new")])
    assert prune(book).candidates == ()
    clock.forward(days=31)
    (candidate,) = prune(book).candidates
    assert candidate.age_days == 31


def test_a_folder_means_its_tree(book: Book) -> None:
    for folder in ("/work", "/work/a", "/workshop"):
        keep(book, old(folder, f"in {folder}", folder=folder))
    found = {candidate.session.folder for candidate in prune(book, folder="/work").candidates}
    assert found == {"/work", "/work/a"}


def test_a_twin_is_one_no_longer_once_it_says_something_else(book: Book) -> None:
    lines = [f"line {n}" for n in range(5)]
    kept = keep(book, old("Kept", *lines, importance=8)).session
    twin = keep(book, old("Twin", *lines)).session
    assert [c.duplicate_of for c in prune(book).candidates] == [find(book, kept.id)]
    for message in opened(book, twin.id)[1][:2]:
        edit(book, message.id, Changes(content=f"not {message.body}"))
    assert [c.duplicate_of for c in prune(book).candidates] == [None]


def test_bytes_are_those_of_the_candidates(book: Book) -> None:
    keep(book, Conversation("A", [Said("user", "🦓" * 10, THEN - 40 * DAY, {"k": "ü"})], importance=1))
    keep(book, old("B", "kept " * 100, importance=7))
    assert prune(book).bytes == 40 + len('{"k":"ü"}'.encode())


@pytest.mark.parametrize(("days", "importance"), [(-1, 5.0), (36_501, 5.0), (30, -0.5), (30, 10.5)])
def test_thresholds_have_borders(book: Book, days: int, importance: float) -> None:
    with pytest.raises(InvalidInput, match="Invalid"):
        prune(book, days, importance)


def test_thousands_that_say_the_same_are_compared_in_time(book: Book) -> None:
    same = [old(f"Same {n}", "ok", "thanks", days=40 + n % 7) for n in range(1000)]
    other = [old(f"Other {n}", "ok", "thanks", f"about {n}", f"and {n * n}") for n in range(1000)]
    kept = keep_all(book, [*same, *other, old("Best", "ok", "thanks", importance=3)])
    candidates = prune(book).candidates
    assert len(candidates) == 2001
    repeated = [candidate for candidate in candidates if candidate.duplicate_of is not None]
    assert len(repeated) == 1000
    assert {candidate.duplicate_of.id for candidate in repeated if candidate.duplicate_of} == {kept[-1].session.id}


texts = st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=8)


@given(said=st.lists(texts, min_size=2, max_size=6))
@hypothesis_settings(max_examples=40)
def test_exactly_those_that_are_nearly_the_same_are_called_so(book: Book, said: list[list[str]]) -> None:
    folder = f"/{abs(hash(repr(said)))}"
    lines = [[f"{folder} {letter}" for letter in one] for one in said]
    kept = keep_all(book, [old(f"{n}", *one, folder=folder) for n, one in enumerate(lines)])
    ids = {k.session.id: one for k, one in zip(kept, lines, strict=True)}
    for candidate in prune(book, folder=folder).candidates:
        mine = sketch(ids[candidate.session.id])
        better = [
            id_
            for id_, one in ids.items()
            if id_ > candidate.session.id and similarity(mine, sketch(one)) >= NEARLY_ALL
        ]
        assert (None if candidate.duplicate_of is None else candidate.duplicate_of.id) == max(better, default=None)
