"""`revert` and `supersede`: back to what was, and on to what replaces it."""

from __future__ import annotations

import pytest

from .conftest import Run


@pytest.fixture
def changed(run: Run) -> int:
    """An item at revision 3: one, two, three."""
    run("add", "one", "--global", "--tag", "a")
    for text in ("two", "three"):
        run("edit", "1", "--content", text)
    return 1


def content(run: Run, id_: str = "1") -> str:
    text: str = run("show", id_, "--json").data["items"][0]["content"]
    return text


def test_a_revert_undoes_the_last_edit_and_itself(run: Run, changed: int) -> None:
    done = run("revert", "1")
    assert (done.code, done.out) == (0, "Reverted memory 1, now revision 4: two\n")
    assert content(run) == "two"
    assert run("revert", "1").code == 0
    assert content(run) == "three"


def test_a_revision_can_be_named(run: Run, changed: int) -> None:
    data = run("revert", "1", "--rev", "1", "--json").data
    assert (data["content"], data["rev"], data["tags"]) == ("one", 4, ["a"])
    assert [change["rev"] for change in run("history", "1", "--json").data["changes"]] == [1, 2, 3]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("1", "--rev", "9"), 3, "no revision 9"),
        (("1", "--rev", "x"), 2, "not a valid integer"),
        (("99",), 3, "no item 99"),
        (("nonsense",), 3, "no item 'nonsense'"),
        ((), 2, "Missing argument"),
    ],
)
def test_what_cannot_be_reverted_is_told(
    run: Run, changed: int, arguments: tuple[str, ...], code: int, message: str
) -> None:
    done = run("revert", *arguments)
    assert done.code == code
    assert message in done.err
    assert content(run) == "three"


def test_an_unchanged_item_has_nothing_to_revert(run: Run) -> None:
    run("add", "one", "--global")
    done = run("revert", "1", "--json")
    assert (done.code, done.error["code"]) == (2, "VALIDATION_ERROR")


def test_one_item_takes_the_place_of_another(run: Run) -> None:
    run("add", "zebra hay", "--global")
    run("add", "zebra oats", "--global")
    done = run("supersede", "1", "--by", "2")
    assert (done.code, done.out) == (0, "Memory 2 supersedes 1: zebra hay\n")
    assert [hit["id"] for hit in run("search", "zebra", "--json").data["results"]] == [2]
    assert [item["id"] for item in run("list", "--json").data["items"]] == [2]
    assert run("show", "1", "--json").data["items"][0]["superseded_by"] == 2
    assert [change["op"] for change in run("history", "1", "--json").data["changes"]] == ["supersede"]
    assert run("restore", "1").code == 0
    assert len(run("list", "--json").data["items"]) == 2
    data = run("supersede", "1", "--by", "2", "--json").data
    assert (data["superseded"]["id"], data["by"]["id"]) == (1, 2)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("1", "--by", "1"), 4, "replace each other"),
        (("1", "--by", "9"), 3, "no item 9"),
        (("9", "--by", "1"), 3, "no item 9"),
        (("1", "--by", "3"), 4, "applies everywhere, but 3 only in p"),
        (("1",), 2, "--by"),
    ],
)
def test_what_cannot_supersede_is_told(run: Run, arguments: tuple[str, ...], code: int, message: str) -> None:
    for text, *place in (("one", "--global"), ("two", "--global"), ("three", "--project", "p")):
        run("add", text, *place)
    done = run("supersede", *arguments)
    assert done.code == code
    assert message in done.err
    assert len(run("list", "--json").data["items"]) == 3


def test_where_nothing_was_done_nothing_is_undone(run: Run) -> None:
    run("add", "zebra hay", "--global")
    run("add", "zebra oats", "--global")
    done = run("restore", "1")
    assert (done.code, done.out) == (0, "")
    assert "Memory 1 is neither forgotten nor superseded: nothing to restore." in done.err
    run("forget", "2")
    done = run("restore", "1", "2")
    assert done.out == "Restored memory 2: zebra oats\n" and "Memory 1 is neither" in done.err
    assert run("restore", "1", "--json").data == {"restored": []}
    done = run("contradictions", "1", "2", "--undo", "--json")
    assert (done.code, done.error["code"]) == (4, "CONFLICT")


def test_superseding_says_how_to_undo_it(run: Run) -> None:
    run("add", "Use npm", "--global")
    run("add", "Bread is baked on Mondays", "--global")
    undo = "commonplace restore 1"
    assert run("supersede", "1", "--by", "2").err == f"Undo: {undo}\n"
    assert run(*undo.split()[1:]).out == "Restored memory 1: Use npm\n"


def test_pairs_are_named_as_people_would_say_it(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("add", "Sessions last 30 days", "-t", "fact", "--global")
    run("add", "Sessions last 60 days", "-t", "fact", "--global")
    assert "1 of 1: 2 replaces 1, it seems\n" in run("contradictions").out
