"""Arrivals: a record that somebody wrote by hand is taken in or refused by itself, and is no trap for its readers."""

from __future__ import annotations

import contextlib
import copy
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from tests.raw_sql import behind

from commonplace.errors import CommonplaceError
from commonplace.memory import sync_and_archive
from commonplace.memory.check_and_repair import check_store
from commonplace.memory.conversations import NewConversation, NewMessage, store_conversation
from commonplace.memory.edit_and_forget import Changes, edit_item, revert_to_revision
from commonplace.memory.items import get_item
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import NewItem, remember
from commonplace.memory.sync_and_archive import SyncScope

if TYPE_CHECKING:
    from tests.conftest import Clock

STRANGE: tuple[Any, ...] = (
    *(None, True, -1, 10**30, -(10**30), 2**63, 2**31, 1e308, math.nan, math.inf, -0.0),
    *("", "\0", "\ud800", "private", "'; DROP TABLE items; --", "ab" * 32),
    *([], {}, [[]], [1, "a"], ["a", None], {"a": 1}, {"\0": "y"}, {"\ud800": 1}),
)


def sound(memory: LocalMemory) -> list[dict[str, Any]]:
    """One record of each kind, as stores tell them."""
    item = remember(memory, NewItem("We chose pnpm", type="decision", project="web", tags=["a", "b"], meta={"n": [1]}))
    edit_item(memory, item.id, Changes(content="We chose pnpm over npm"))
    store_conversation(
        memory, NewConversation("Talk", [NewMessage("user", "hello there")], project="web", key="talk", meta={"m": 1})
    )
    return [
        sync_and_archive.record_data(one)
        for one in sync_and_archive.changed_records(memory, 0, 100, SyncScope()).records
    ]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where something stands in a record."""
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield (*path, key)
        yield from places(value[key], (*path, key))


def changed(record: dict[str, Any], path: tuple[Any, ...], value: Any, *, gone: bool = False) -> dict[str, Any]:
    record = copy.deepcopy(record)
    inner: Any = record
    for key in path[:-1]:
        inner = inner[key]
    if gone:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return record


def test_whatever_a_record_says_it_is_taken_in_or_refused(memory: LocalMemory) -> None:
    true = sound(memory)
    for one in true:
        for path in places(one):
            later = {**one, "version": one["version"] + 1}
            strange = [changed(later, path, value) for value in STRANGE] + [changed(later, path, None, gone=True)]
            result = sync_and_archive.take_records(memory, [*strange, one])
            assert result[-1].result != "failed", path
        again = sync_and_archive.take_records(memory, [*strange, one])
        assert {known.result for known in again} <= {"unchanged", "failed"}
    assert not check_store(memory)
    for item in memory.maintenance.items_by_id(0, 1_000):
        for line in memory.store.history(item.id):
            with contextlib.suppress(CommonplaceError):
                revert_to_revision(memory, item.id, line.rev)
    assert not check_store(memory)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("history", 0, "before", "tags"), [1, "a"]),
        (("history", 0, "before", "details"), {"narrative": 1}),
        (("history", 0, "before", "superseded_by"), 7),
    ],
)
def test_a_line_of_a_history_has_to_be_one(memory: LocalMemory, path: tuple[Any, ...], value: object) -> None:
    (item,) = (one for one in sound(memory) if one["fields"].get("kind") == "memory")
    (result,) = sync_and_archive.take_records(memory, [changed(item, path, value)])
    assert result.result == "failed" and "missing in a record, or of another type" in result.why


def test_a_line_that_leaves_out_what_it_may_can_be_gone_back_to(memory: LocalMemory) -> None:
    (item,) = (one for one in sound(memory) if one["fields"].get("kind") == "memory")
    for name in ("project", "importance"):
        item = changed(item, ("history", 0, "before", name), None, gone=True)
    uid = "0190a000-0000-7000-8000-000000000001"
    other = {**item, "name": uid, "fields": {**item["fields"], "body": "Another one", "tokens": 10**30}}
    (result,) = sync_and_archive.take_records(memory, [other])
    assert (result.result, get_item(memory, uid).tokens) == ("added", 10_000_000)
    assert revert_to_revision(memory, uid, 1).body == "We chose pnpm"


def test_no_version_is_too_late_for_a_change_to_follow(memory: LocalMemory, clock: Clock) -> None:
    """One from a clock that is ahead stands until something is done to it; one from the end of time does not."""
    (item,) = (one for one in sound(memory) if one["fields"].get("kind") == "memory")
    ahead = changed({**item, "version": clock() + 86_400_000}, ("fields", "body"), "From a clock that is ahead")
    never = changed({**item, "version": 2**63 - 1}, ("fields", "body"), "From the end of time")
    for message in (ahead, never):
        sync_and_archive.take_records(memory, [message])
        assert get_item(memory, item["name"]).body == "From a clock that is ahead"
    edit_item(memory, item["name"], Changes(content="Changed here"))
    (here,) = (
        one for one in sync_and_archive.changed_records(memory, 0, 100, SyncScope()).records if one.name == item["name"]
    )
    assert ahead["version"] < here.version < ahead["version"] + 10
    assert [one.took for one in sync_and_archive.take_records(memory, [ahead, never])] == [False, False]
    assert get_item(memory, item["name"]).body == "Changed here"


def test_a_record_from_the_far_future_is_refused_with_its_reason(memory: LocalMemory, clock: Clock) -> None:
    (item,) = (one for one in sound(memory) if one["fields"].get("kind") == "memory")
    for ahead in (86_400_000 + 1000, 99 * 365 * 86_400_000):
        late = changed({**item, "version": clock() + ahead}, ("fields", "body"), "From a clock that is years ahead")
        (result,) = sync_and_archive.take_records(memory, [late])
        assert result.result == "failed" and "future" in result.why and "clock" in result.why
    assert get_item(memory, item["name"]).body == item["fields"]["body"]
    clock.forward(ms=5)
    (result,) = sync_and_archive.take_records(memory, [late], future_as_now=True)
    assert result.result in ("updated", "conflict")
    (here,) = (
        one for one in sync_and_archive.changed_records(memory, 0, 100, SyncScope()).records if one.name == item["name"]
    )
    assert here.version <= clock() + 1000
    edit_item(memory, item["name"], Changes(content="Changed here afterwards"))
    assert [one.took for one in sync_and_archive.take_records(memory, [late])] == [False]


def test_a_record_that_the_store_refuses_does_not_take_the_others_with_it(memory: LocalMemory) -> None:
    result = sound(memory)
    with behind(memory.settings) as ask:
        ask("CREATE UNIQUE INDEX for_this_test ON sessions (label)")
    (session,) = (one for one in result if one["what"] == "session")
    others = [
        {**session, "name": f"other {number}", "fields": {**session["fields"], "uid": uid, "label": label}}
        for number, (uid, label) in enumerate(
            [
                ("0190a000-0000-7000-8000-00000000000a", "A label of its own"),
                ("0190a000-0000-7000-8000-00000000000b", session["fields"]["label"]),
                ("0190a000-0000-7000-8000-00000000000c", "Another label"),
            ]
        )
    ]
    outcomes = sync_and_archive.take_records(memory, others)
    assert [one.result for one in outcomes] == ["added", "failed", "added"]
    # Neither where the store is nor what other rows hold.
    assert outcomes[1].why == "The store refused the write."
    with behind(memory.settings) as ask:
        ask("DROP INDEX for_this_test")
