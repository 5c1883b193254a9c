"""What holds when: intervals are given or read, what does not hold is left out, and the past is shown as it was."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from tests.conftest import Clock

from commonplace.errors import InvalidInput
from commonplace.memory.context import build_context, plain_tokens
from commonplace.memory.edit_and_forget import (
    Changes,
    edit_item,
    forget_items,
    is_read_from_text,
    mark_superseded,
    restore_items,
    revert_to_revision,
    with_validity,
)
from commonplace.memory.history import item_revisions
from commonplace.memory.items import browse_items, get_item
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.recall import recall
from commonplace.memory.remember import NewItem, remember_item
from commonplace.memory.rules import active_rules, rule_set
from commonplace.memory.settle_contradictions import reopen_contradiction, settle_contradiction
from commonplace.model import Item, Scope

DAY = 86_400_000


def say(memory: LocalMemory, text: str, type_: str = "fact", **when: str) -> Item:
    return remember_item(memory, with_validity(NewItem(text, type=type_), memory.clock(), **when)).item


def found(memory: LocalMemory, question: str, at_ms: int | None = None, *, lapsed: bool = False) -> list[str]:
    return [hit.item.body for hit in recall(memory, question, Scope(at_ms=at_ms, lapsed=lapsed), 10).hits]


def listed(memory: LocalMemory, at_ms: int | None = None, *, lapsed: bool = False) -> list[str]:
    return [item.body for item in browse_items(memory, Scope(at_ms=at_ms, lapsed=lapsed)).items]


def in_days(memory: LocalMemory, days: int) -> str:
    return datetime.fromtimestamp((memory.clock() + days * DAY) / 1000, UTC).astimezone().date().isoformat()


def test_what_no_longer_holds_is_left_out_of_search_lists_rules_and_context(memory: LocalMemory, clock: Clock) -> None:
    text = "Deploys to the walrus cluster are frozen"
    rule = say(memory, text, "rule", valid_until=in_days(memory, 3))
    assert found(memory, "walrus cluster") == listed(memory) == [text]
    assert [item.id for item in active_rules(memory, None).everywhere] == [rule.id]
    clock.forward(days=5)
    assert found(memory, "walrus cluster") == listed(memory) == []
    assert active_rules(memory, None).everywhere == ()
    assert rule_set(memory, None).rules == ()
    assert build_context(memory, None, None, 1000, plain_tokens).items == ()
    assert found(memory, "walrus cluster", lapsed=True) == listed(memory, lapsed=True) == [text]
    assert get_item(memory, rule.id).body == text


def test_what_does_not_hold_yet_comes_when_its_time_does(memory: LocalMemory, clock: Clock) -> None:
    say(memory, "Omar leads the walrus team", valid_from=in_days(memory, 3))
    assert found(memory, "who leads the walrus team?") == []
    clock.forward(days=4)
    assert found(memory, "who leads the walrus team?") == ["Omar leads the walrus team"]


def test_an_expired_item_is_hidden_and_can_be_prolonged(memory: LocalMemory, clock: Clock) -> None:
    item = say(memory, "The walrus demo runs on port 8443", expires="2d")
    clock.forward(days=3)
    assert found(memory, "walrus demo") == []
    edit_item(memory, item.id, Changes(expires_ms="none"))
    assert found(memory, "walrus demo") == ["The walrus demo runs on port 8443"]


def test_an_interval_is_read_from_the_text_and_can_be_overridden(memory: LocalMemory) -> None:
    last = in_days(memory, 10)
    read = say(memory, f"Until {last} walrus deploys go through Ines.")
    assert is_read_from_text(read)
    assert read.valid_until_ms is not None
    otherwise = say(memory, f"Until {last} otter deploys go through Ines.", valid_until="none")
    assert otherwise.valid_until_ms is None
    assert not is_read_from_text(otherwise)
    edited = edit_item(memory, read.id, Changes(content="Walrus deploys go through Ines."))
    assert edited.valid_until_ms is None
    stored = edit_item(memory, otherwise.id, Changes(content=f"Until {last} otter deploys go through Ben."))
    assert stored.valid_until_ms is None


def test_edits_of_an_interval_are_in_the_history_and_reverted_with_it(memory: LocalMemory) -> None:
    item = say(memory, "Walrus is frozen", valid_until=in_days(memory, 3))
    edit_item(memory, item.id, Changes(valid_until_ms="none"))
    (revision,) = item_revisions(memory, item.id)
    assert [(change.name, bool(change.before), change.after) for change in revision.changed] == [
        ("valid_until", True, "")
    ]
    assert revert_to_revision(memory, item.id).valid_until_ms == item.valid_until_ms


def test_an_end_before_the_beginning_is_refused(memory: LocalMemory) -> None:
    with pytest.raises(InvalidInput, match="before it begins"):
        say(memory, "Walrus", valid_from=in_days(memory, 3), valid_until=in_days(memory, 1))


def test_the_same_said_again_gets_the_interval_that_is_said_now(memory: LocalMemory, clock: Clock) -> None:
    first = say(memory, "Walrus is frozen", valid_until=in_days(memory, 1))
    clock.forward(days=3)
    again = say(memory, "Walrus is frozen")
    assert (again.id, again.valid_until_ms) == (first.id, None)
    assert found(memory, "is walrus frozen?") == ["Walrus is frozen"]


def test_what_replaces_something_later_leaves_it_until_then(memory: LocalMemory, clock: Clock) -> None:
    old = say(memory, "The walrus service runs on Heroku")
    new = say(memory, "The walrus service runs on Fly", valid_from=in_days(memory, 3))
    mark_superseded(memory, old.id, new.id)
    assert found(memory, "where does the walrus service run?") == ["The walrus service runs on Heroku"]
    clock.forward(days=4)
    assert found(memory, "where does the walrus service run?") == ["The walrus service runs on Fly"]


def test_as_of_shows_what_was_superseded_edited_and_forgotten_since(memory: LocalMemory, clock: Clock) -> None:
    old = say(memory, "The walrus service runs on Heroku")
    edited = say(memory, "The otter service listens on port 80")
    forgotten = say(memory, "The seal service is owned by Ines")
    clock.forward(days=1)
    then = memory.clock()
    clock.forward(days=1)
    new = say(memory, "The walrus service runs on Fly")
    mark_superseded(memory, old.id, new.id)
    edit_item(memory, edited.id, Changes(content="The otter service listens on port 8080"))
    forget_items(memory, [forgotten.id])
    clock.forward(days=1)
    assert found(memory, "where does the walrus service run?")[:1] == ["The walrus service runs on Fly"]
    assert found(memory, "where does the walrus service run?", then)[:1] == ["The walrus service runs on Heroku"]
    assert found(memory, "port of the otter service", then)[:1] == ["The otter service listens on port 80"]
    assert found(memory, "who owns the seal service", then)[:1] == ["The seal service is owned by Ines"]
    assert sorted(listed(memory, then)) == [
        "The otter service listens on port 80",
        "The seal service is owned by Ines",
        "The walrus service runs on Heroku",
    ]
    assert sorted(listed(memory)) == ["The otter service listens on port 8080", "The walrus service runs on Fly"]
    restore_items(memory, [old.id])
    assert "The walrus service runs on Fly" not in listed(memory, then)


def test_what_was_replaced_later_held_until_the_new_one_was_said(memory: LocalMemory, clock: Clock) -> None:
    old = say(memory, "The walrus service runs on Heroku")
    between = clock.forward(days=1)
    clock.forward(days=1)
    new = say(memory, "The walrus service runs on Fly")
    both = clock.forward(days=1)
    clock.forward(days=5)
    settle_contradiction(memory, old.id, new.id, "new")
    assert get_item(memory, old.id).valid_until_ms == new.created_ms
    assert listed(memory, between) == ["The walrus service runs on Heroku"]
    assert listed(memory, both) == ["The walrus service runs on Fly"]
    assert found(memory, "where does the walrus service run?", both) == ["The walrus service runs on Fly"]
    reopen_contradiction(memory, old.id, new.id)
    assert get_item(memory, old.id).valid_until_ms is None and len(listed(memory, both)) == 2
    settled = clock.forward(days=1)
    settle_contradiction(memory, old.id, new.id, "old")
    assert get_item(memory, new.id).valid_until_ms == settled


def test_as_of_a_moment_before_something_was_said_it_is_not_there(memory: LocalMemory, clock: Clock) -> None:
    before = memory.clock() - DAY
    say(memory, "The walrus service runs on Heroku")
    assert found(memory, "walrus service", before) == listed(memory, before) == []


def test_as_of_a_day_to_come_shows_what_will_hold(memory: LocalMemory) -> None:
    say(memory, "Walrus is frozen", valid_until=in_days(memory, 3))
    say(memory, "Otter is frozen", valid_from=in_days(memory, 5))
    assert listed(memory, memory.clock() + 10 * DAY) == ["Otter is frozen"]


def test_pages_of_a_moment_go_on_where_the_last_one_ended(memory: LocalMemory, clock: Clock) -> None:
    items = []
    for number in range(7):
        items.append(say(memory, f"Walrus fact number {number}"))
        clock.forward(minutes=1)
    then = memory.clock()
    clock.forward(days=1)
    forget_items(memory, [items[2].id, items[5].id])
    edit_item(memory, items[3].id, Changes(content="Changed"))
    seen, cursor = [], None
    while True:
        page = browse_items(memory, Scope(at_ms=then), 2, cursor)
        seen += [item.body for item in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert seen == [f"Walrus fact number {number}" for number in reversed(range(7))]


def test_rules_and_context_of_a_moment(memory: LocalMemory, clock: Clock) -> None:
    rule = say(memory, "Never deploy walrus on Fridays", "rule")
    clock.forward(days=1)
    then = memory.clock()
    clock.forward(days=1)
    forget_items(memory, [rule.id])
    assert active_rules(memory, None).everywhere == ()
    assert [item.body for item in active_rules(memory, None, at_ms=then).everywhere] == [rule.body]
    context = build_context(memory, None, "walrus", 1000, plain_tokens, at_ms=then)
    assert [entry.item.body for entry in context.items] == [rule.body]
