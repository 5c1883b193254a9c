"""Spaces: who may make, see and limit which, whom they may invite, and where a key leads."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.config import Settings
from commonplace.errors import Conflict, Forbidden, InvalidInput, NotFound, QuotaExceeded, Unauthorized
from commonplace.memory import api_keys, spaces
from commonplace.memory.edit_and_forget import forget_items
from commonplace.memory.local_memory import LocalMemory, for_project, for_space
from commonplace.memory.remember import NewItem, remember
from commonplace.memory.spaces import Limits
from commonplace.model import Key, Scope


@pytest.fixture
def team(memory: LocalMemory) -> LocalMemory:
    """A space beside the home of the server."""
    spaces.create_space(memory, "team", Limits())
    return for_space(memory, "team")


def key(memory: LocalMemory, role: str) -> Key:
    return api_keys.create_key(memory, role, role)[0]


def test_a_space_is_made_once_whatever_its_case(memory: LocalMemory) -> None:
    made = spaces.create_space(memory, " Team-1.x ", Limits(5, 1000))
    assert (made.name, made.items, made.bytes, made.keys, made.limits) == ("Team-1.x", 0, 0, 0, Limits(5, 1000))
    for twin in ("Team-1.x", "team-1.X"):
        with pytest.raises(Conflict, match=r"Team-1\.x"):
            spaces.create_space(memory, twin, Limits())
    assert [space.name for space in spaces.list_spaces(memory)] == ["Team-1.x", "default"]


@pytest.mark.parametrize(
    "name", ["", " ", ".", "..", "-x", "a/b", "a b", "a\nb", "ü", "x" * 65, "a\0", "../x", "_a", "sk-sekha-" + "0" * 48]
)
def test_a_name_that_is_none_is_refused(memory: LocalMemory, name: str) -> None:
    with pytest.raises(InvalidInput, match="cannot be the name"):
        spaces.create_space(memory, name, Limits())
    assert len(spaces.list_spaces(memory)) == 1


@given(st.text(max_size=80))
def test_any_name_is_taken_as_it_is_or_refused(memory: LocalMemory, name: str) -> None:
    try:
        made = spaces.create_space(memory, name, Limits()).name
    except (InvalidInput, Conflict):
        return
    assert made == name.strip() and for_space(memory, made).settings.space == made


@pytest.mark.parametrize("limits", [Limits(-1), Limits(None, -1), Limits(10**16)])
def test_a_limit_that_is_none_is_refused(memory: LocalMemory, limits: Limits) -> None:
    with pytest.raises(InvalidInput):
        spaces.create_space(memory, "team", limits)
    with pytest.raises(InvalidInput):
        spaces.set_space_limits(memory, "default", limits)


def test_an_admin_of_the_home_looks_after_all(memory: LocalMemory, team: LocalMemory) -> None:
    admin = key(memory, "admin")
    assert [space.name for space in spaces.list_spaces(memory, admin)] == ["default", "team"]
    assert spaces.create_space(memory, "ops", Limits(), admin).name == "ops"
    assert spaces.set_space_limits(memory, "team", Limits(7), admin).limits == Limits(7)
    _invited, secret = spaces.create_space_key(memory, "team", "ada", "reader", key=admin)
    assert api_keys.check_key(team, secret).role == "reader"
    assert [one.name for one in spaces.space_keys(memory, "team", admin)] == ["ada"]
    assert spaces.revoke_space_key(memory, "team", secret, admin).revoked_ms is not None
    with pytest.raises(Unauthorized):
        api_keys.check_key(team, secret)
    with pytest.raises(NotFound):
        spaces.create_space_key(memory, "nobody", "ada", key=admin)


def test_an_admin_of_another_space_looks_after_that_one(memory: LocalMemory, team: LocalMemory) -> None:
    admin = key(team, "admin")
    assert [space.name for space in spaces.list_spaces(team, admin)] == ["team"]
    assert spaces.get_space(team, "team", admin).keys == 1
    assert api_keys.check_key(team, spaces.create_space_key(team, "team", "ada", key=admin)[1]).scope == "write"
    assert len(spaces.space_keys(team, "team", admin)) == 2
    with pytest.raises(Forbidden, match="This key"):
        spaces.create_space(team, "ops", Limits(), admin)
    with pytest.raises(Forbidden, match="This key"):
        spaces.set_space_limits(team, "team", Limits(), admin)
    others: list[Callable[[str], object]] = [
        lambda name: spaces.get_space(team, name, admin),
        lambda name: spaces.set_space_limits(team, name, Limits(), admin),
        lambda name: spaces.space_keys(team, name, admin),
        lambda name: spaces.create_space_key(team, name, "thief", "admin", key=admin),
        lambda name: spaces.revoke_space_key(team, name, 1, admin),
    ]
    for attempt in others:
        # What is there and what is not are told alike.
        seen = set()
        for name in ("default", "nobody"):
            with pytest.raises(NotFound) as refusal:
                attempt(name)
            seen.add((refusal.value.message.replace(name, "*"), refusal.value.hint))
        assert len(seen) == 1
    assert api_keys.list_keys(memory) == []


@pytest.mark.parametrize("role", ["reader", "writer"])
def test_others_see_what_their_own_space_holds(memory: LocalMemory, team: LocalMemory, role: str) -> None:
    for here, own in ((memory, "default"), (team, "team")):
        mine = key(here, role)
        assert [space.name for space in spaces.list_spaces(here, mine)] == [own]
        assert spaces.get_space(here, own, mine).name == own
        for attempt in (
            lambda here=here, mine=mine: spaces.create_space(here, "ops", Limits(), mine),
            lambda here=here, own=own, mine=mine: spaces.set_space_limits(here, own, Limits(), mine),
            lambda here=here, own=own, mine=mine: spaces.create_space_key(here, own, "x", "admin", key=mine),
            lambda here=here, own=own, mine=mine: spaces.space_keys(here, own, mine),
            lambda here=here, own=own, mine=mine: spaces.revoke_space_key(here, own, mine.id, mine),
        ):
            with pytest.raises(Forbidden):
                attempt()


def test_a_key_for_one_project_knows_no_spaces(memory: LocalMemory) -> None:
    admin, _secret = api_keys.create_key(memory, "k", "admin", "my-api")
    mine = for_project(memory, "my-api")
    for attempt in (
        lambda: spaces.list_spaces(mine, admin),
        lambda: spaces.create_space(mine, "ops", Limits(), admin),
        lambda: spaces.create_space_key(mine, "default", "x", key=admin),
        lambda: for_space(mine, "team"),
    ):
        with pytest.raises(Forbidden):
            attempt()


def test_a_key_leads_to_its_space(memory: LocalMemory, team: LocalMemory) -> None:
    _key, secret = spaces.create_space_key(memory, "team", "ada")
    for start in (memory, team):
        (found,) = spaces.memories_of_key(start, secret)
        assert found.settings.space == "team" and api_keys.check_key(found, secret)
    (nowhere,) = spaces.memories_of_key(memory, "sk-sekha-" + "0" * 48)
    assert nowhere is memory
    for shown in ("", "x", "%", "sk-sekha-"):
        assert list(spaces.memories_of_key(memory, shown)) == [memory]


def test_roles_are_scopes_in_other_words(memory: LocalMemory) -> None:
    for word, scope in (("reader", "read"), ("writer", "write"), ("admin", "admin"), ("read", "read")):
        made, _secret = api_keys.create_key(memory, word, word)
        assert made.scope == scope and made.role in ("reader", "writer", "admin")
    with pytest.raises(InvalidInput, match="role"):
        api_keys.create_key(memory, "k", "root")


def test_what_is_remembered_stays_within_the_limits(memory: LocalMemory, team: LocalMemory) -> None:
    spaces.set_space_limits(memory, "team", Limits(items=1))
    stored = remember(team, NewItem("one"))
    with pytest.raises(QuotaExceeded, match="1 items"):
        remember(team, NewItem("two"))
    assert remember(memory, NewItem("two")).id
    forget_items(team, [stored.id])
    assert remember(team, NewItem("two")).id
    assert spaces.get_space(memory, "team").items == 1


def test_few_books_stay_open_and_those_that_closed_work_on(memory: LocalMemory, settings: Settings) -> None:
    memory.open_spaces._most = 3
    opened = {}
    for number in range(8):
        spaces.create_space(memory, f"s{number}", Limits())
        opened[number] = for_space(memory, f"s{number}")
    assert list(memory.open_spaces._open) == ["s5", "s6", "s7"]
    assert for_space(memory, "s5") is opened[5] and for_space(memory, "s0") is not opened[0]
    assert list(memory.open_spaces._open) == ["s7", "s5", "s0"]
    stored = remember(opened[1], NewItem("still here"))
    assert [item.id for item in for_space(memory, "s1").store.newest(Scope(), 9)] == [stored.id]
