"""Spaces: who may make, see and limit which, whom they may invite, and where a key leads."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.config import Settings
from commonplace.errors import Conflict, Forbidden, InvalidInput, NotFound, QuotaExceeded, Unauthorized
from commonplace.memory import keys, spaces
from commonplace.memory.book import Book, beside, limited
from commonplace.memory.forget import forget
from commonplace.memory.remember import Note, remember
from commonplace.memory.spaces import Limits
from commonplace.model import Key, Scope


@pytest.fixture
def team(book: Book) -> Book:
    """A space beside the home of the server."""
    spaces.create(book, "team", Limits())
    return beside(book, "team")


def key(book: Book, role: str) -> Key:
    return keys.create(book, role, role)[0]


def test_a_space_is_made_once_whatever_its_case(book: Book) -> None:
    made = spaces.create(book, " Team-1.x ", Limits(5, 1000))
    assert (made.name, made.items, made.bytes, made.keys, made.limits) == ("Team-1.x", 0, 0, 0, Limits(5, 1000))
    for twin in ("Team-1.x", "team-1.X"):
        with pytest.raises(Conflict, match=r"Team-1\.x"):
            spaces.create(book, twin, Limits())
    assert [space.name for space in spaces.listed(book)] == ["Team-1.x", "default"]


@pytest.mark.parametrize(
    "name", ["", " ", ".", "..", "-x", "a/b", "a b", "a\nb", "ü", "x" * 65, "a\0", "../x", "_a", "sk-sekha-" + "0" * 48]
)
def test_a_name_that_is_none_is_refused(book: Book, name: str) -> None:
    with pytest.raises(InvalidInput, match="cannot be the name"):
        spaces.create(book, name, Limits())
    assert len(spaces.listed(book)) == 1


@given(st.text(max_size=80))
def test_any_name_is_taken_as_it_is_or_refused(book: Book, name: str) -> None:
    try:
        made = spaces.create(book, name, Limits()).name
    except (InvalidInput, Conflict):
        return
    assert made == name.strip() and beside(book, made).settings.space == made


@pytest.mark.parametrize("limits", [Limits(-1), Limits(None, -1), Limits(10**16)])
def test_a_limit_that_is_none_is_refused(book: Book, limits: Limits) -> None:
    with pytest.raises(InvalidInput):
        spaces.create(book, "team", limits)
    with pytest.raises(InvalidInput):
        spaces.limit(book, "default", limits)


def test_an_admin_of_the_home_looks_after_all(book: Book, team: Book) -> None:
    admin = key(book, "admin")
    assert [space.name for space in spaces.listed(book, admin)] == ["default", "team"]
    assert spaces.create(book, "ops", Limits(), admin).name == "ops"
    assert spaces.limit(book, "team", Limits(7), admin).limits == Limits(7)
    _invited, secret = spaces.invite(book, "team", "ada", "reader", key=admin)
    assert keys.check(team, secret).role == "reader"
    assert [one.name for one in spaces.people(book, "team", admin)] == ["ada"]
    assert spaces.revoke(book, "team", secret, admin).revoked_ms is not None
    with pytest.raises(Unauthorized):
        keys.check(team, secret)
    with pytest.raises(NotFound):
        spaces.invite(book, "nobody", "ada", key=admin)


def test_an_admin_of_another_space_looks_after_that_one(book: Book, team: Book) -> None:
    admin = key(team, "admin")
    assert [space.name for space in spaces.listed(team, admin)] == ["team"]
    assert spaces.one(team, "team", admin).keys == 1
    assert keys.check(team, spaces.invite(team, "team", "ada", key=admin)[1]).scope == "write"
    assert len(spaces.people(team, "team", admin)) == 2
    with pytest.raises(Forbidden, match="This key"):
        spaces.create(team, "ops", Limits(), admin)
    with pytest.raises(Forbidden, match="This key"):
        spaces.limit(team, "team", Limits(), admin)
    others: list[Callable[[str], object]] = [
        lambda name: spaces.one(team, name, admin),
        lambda name: spaces.limit(team, name, Limits(), admin),
        lambda name: spaces.people(team, name, admin),
        lambda name: spaces.invite(team, name, "thief", "admin", key=admin),
        lambda name: spaces.revoke(team, name, 1, admin),
    ]
    for attempt in others:
        # What is there and what is not are told alike.
        told = set()
        for name in ("default", "nobody"):
            with pytest.raises(NotFound) as refusal:
                attempt(name)
            told.add((refusal.value.message.replace(name, "*"), refusal.value.hint))
        assert len(told) == 1
    assert keys.listed(book) == []


@pytest.mark.parametrize("role", ["reader", "writer"])
def test_others_see_what_their_own_space_holds(book: Book, team: Book, role: str) -> None:
    for here, own in ((book, "default"), (team, "team")):
        mine = key(here, role)
        assert [space.name for space in spaces.listed(here, mine)] == [own]
        assert spaces.one(here, own, mine).name == own
        for attempt in (
            lambda here=here, mine=mine: spaces.create(here, "ops", Limits(), mine),
            lambda here=here, own=own, mine=mine: spaces.limit(here, own, Limits(), mine),
            lambda here=here, own=own, mine=mine: spaces.invite(here, own, "x", "admin", key=mine),
            lambda here=here, own=own, mine=mine: spaces.people(here, own, mine),
            lambda here=here, own=own, mine=mine: spaces.revoke(here, own, mine.id, mine),
        ):
            with pytest.raises(Forbidden):
                attempt()


def test_a_key_for_one_project_knows_no_spaces(book: Book) -> None:
    admin, _secret = keys.create(book, "k", "admin", "my-api")
    mine = limited(book, "my-api")
    for attempt in (
        lambda: spaces.listed(mine, admin),
        lambda: spaces.create(mine, "ops", Limits(), admin),
        lambda: spaces.invite(mine, "default", "x", key=admin),
        lambda: beside(mine, "team"),
    ):
        with pytest.raises(Forbidden):
            attempt()


def test_a_key_leads_to_its_space(book: Book, team: Book) -> None:
    _key, secret = spaces.invite(book, "team", "ada")
    for start in (book, team):
        (found,) = spaces.books_of(start, secret)
        assert found.settings.space == "team" and keys.check(found, secret)
    (nowhere,) = spaces.books_of(book, "sk-sekha-" + "0" * 48)
    assert nowhere is book
    for shown in ("", "x", "%", "sk-sekha-"):
        assert list(spaces.books_of(book, shown)) == [book]


def test_roles_are_scopes_in_other_words(book: Book) -> None:
    for word, scope in (("reader", "read"), ("writer", "write"), ("admin", "admin"), ("read", "read")):
        made, _secret = keys.create(book, word, word)
        assert made.scope == scope and made.role in ("reader", "writer", "admin")
    with pytest.raises(InvalidInput, match="role"):
        keys.create(book, "k", "root")


def test_what_is_remembered_stays_within_the_limits(book: Book, team: Book) -> None:
    spaces.limit(book, "team", Limits(items=1))
    kept = remember(team, Note("one"))
    with pytest.raises(QuotaExceeded, match="1 items"):
        remember(team, Note("two"))
    assert remember(book, Note("two")).id
    forget(team, [kept.id])
    assert remember(team, Note("two")).id
    assert spaces.one(book, "team").items == 1


def test_few_books_stay_open_and_those_that_closed_work_on(book: Book, settings: Settings) -> None:
    book.neighbours._most = 3
    opened = {}
    for number in range(8):
        spaces.create(book, f"s{number}", Limits())
        opened[number] = beside(book, f"s{number}")
    assert list(book.neighbours._open) == ["s5", "s6", "s7"]
    assert beside(book, "s5") is opened[5] and beside(book, "s0") is not opened[0]
    assert list(book.neighbours._open) == ["s7", "s5", "s0"]
    kept = remember(opened[1], Note("still here"))
    assert [item.id for item in beside(book, "s1").store.newest(Scope(), 9)] == [kept.id]
