"""The timeline: everything, a year, a month, a day, a session, and around an item; by kind and project."""

from __future__ import annotations

from datetime import date
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.web.conftest import LOOKS, Visit

from commonplace.errors import InvalidInput
from commonplace.memory.conversations import NewConversation, NewMessage, find_session, store_conversation
from commonplace.memory.edit_and_forget import forget_items
from commonplace.memory.items import get_item
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import NewItem, remember, remember_all
from commonplace.memory.stats import day_start_ms
from commonplace.text.dates import LATEST_MS
from commonplace.web.timeline import HEIGHT, PAGE_SIZE, Span, bars_of, span_of

HOSTILE = "<script>document.title='hit'</script><img src=x onerror=alert(1)> {{7*7}} \u202e \"'> Größe 大小 حجم"
DAYS = st.dates()
UNITS = st.sampled_from(["year", "month", "day"])


def at(year: int, month: int, day: int, hour: int = 9) -> int:
    return day_start_ms(date(year, month, day)) + hour * 3_600_000


@given(DAYS, UNITS)
def test_a_span_holds_its_day_and_lies_between_its_neighbours(day: date, unit: str) -> None:
    name = day.isoformat()[: {"year": 4, "month": 7, "day": 10}[unit]]
    span = span_of(**{"year": "", "month": "", "day": "", unit: name})
    assert span.holds(day) and span.name == name and span.query_params == {unit: name}
    assert span.way[0] == Span("ever") and all(outer.from_ms <= span.from_ms for outer in span.way)
    before, after = span.before, span.after
    assert before is None or before.to_ms == span.from_ms
    assert after is None or (after.from_ms == span.to_ms and after.before == span)
    assert (after is None) == (span.to_ms == LATEST_MS + 1)


@given(st.dictionaries(st.dates(date(2019, 1, 1), date(2026, 1, 1)), st.integers(1, 9), min_size=1), st.booleans())
def test_bars_hold_all_that_is_counted_in_order_without_gaps(counts: dict[date, int], ever: bool) -> None:
    span = Span("ever") if ever else span_of(str(min(counts).year), "", "")
    inside = {day: count for day, count in counts.items() if span.holds(day)}
    bars = bars_of({day: {"memory": count} for day, count in inside.items()}, span)
    assert sum(bar.count for bar in bars) == sum(inside.values())
    assert all(one.span.after == other.span for one, other in pairwise(bars))
    assert max(piece.height for bar in bars for piece in bar.pieces) == HEIGHT
    assert all(piece.top >= 0 for bar in bars for piece in bar.pieces)


def test_what_is_no_time_is_told() -> None:
    for wrong in ("2025-13", "x", "2025-02-30", "9" * 400):
        with pytest.raises(InvalidInput):
            span_of("", "", wrong)
    assert bars_of({}, Span("ever")) == ()


def test_nothing_there_yet(visit: Visit) -> None:
    visitor = visit()
    page = visitor.go("/timeline")
    assert "Nothing happened here" in page.inner_text("main")
    assert "Write a year as" in visitor.go("/timeline?month=2025-99").inner_text(".wrong")


def fill(memory: LocalMemory) -> None:
    notes = [
        NewItem(f"step {number} of the work", kind="observation", type="command", title=f"Step {number}",
             session="agent", project="my-api", created_ms=at(2025, 3, 15) + number * 60_000,
             details={"narrative": f"Step {number} was {HOSTILE}"})
        for number in range(PAGE_SIZE + 10)
    ]  # fmt: skip
    remember_all(memory, notes)
    remember(memory, NewItem(kind="summary", title="What was done", details={"learned": "much"}, session="agent",
                        project="my-api", created_ms=at(2025, 3, 15, 20)))  # fmt: skip
    remember(memory, NewItem("Use Redis", type="decision", title=HOSTILE, created_ms=at(2025, 3, 11)))
    said = [
        NewMessage("user", f"{HOSTILE} why?", at(2024, 7, 1)),
        NewMessage("assistant", "Because.", at(2024, 7, 1) + 1),
    ]
    store_conversation(memory, NewConversation(HOSTILE, said, key="talk", source="chatgpt", project="site"))


def test_it_zooms_from_everything_to_a_day_and_turns_pages(visit: Visit, memory: LocalMemory) -> None:
    fill(memory)
    remember(memory, NewItem("Of a long name", project="n" * 200, type="t" * 100))
    visitor = visit()
    page = visitor.go("/timeline")
    visitor.look("timeline", LOOKS[:2])
    assert page.title() != "hit" and not page.query_selector("main img")
    page.click(".bars a[aria-label^='March 2025']")
    page.wait_for_url("**month=2025-03")
    assert f"{PAGE_SIZE + 12} entries" in page.inner_text("main")
    page.click("text=Older")
    page.wait_for_selector("text=3 days without anything")
    page.click("text=Newer >> nth=0")
    page.wait_for_selector(f"text=Step {PAGE_SIZE + 9}")
    page.click(".bars a[aria-label^='11 March']")
    page.wait_for_url("**day=2025-03-11")
    assert len(page.query_selector_all(".happening")) == 1
    visitor.check_access()
    visitor.picture("timeline-day")
    page = visitor.go("/timeline?kind=summary&project=my-api")
    assert len(page.query_selector_all(".happening")) == 1 and page.query_selector(".happening.summary")
    page = visitor.go("/timeline?year=2024")
    assert len(page.query_selector_all(".happening.message")) == 2
    page.keyboard.press("j")
    assert page.query_selector(".happening.at")


def test_a_session_and_what_was_around_an_item(visit: Visit, memory: LocalMemory) -> None:
    fill(memory)
    session = find_session(memory, "agent")
    visitor = visit()
    page = visitor.go(f"/timeline?session={session.short_id}")
    visitor.check_access()
    assert "Step 0" in page.inner_text(".happening >> nth=0")
    assert page.query_selector(".happening.summary")
    page.click("[aria-label^='What happened around it'] >> nth=20")
    page.wait_for_selector(".happening.meant >> text=Step 20")
    visitor.check_access()
    visitor.picture("timeline-around")
    page.click("text=Later >> nth=0")
    page.wait_for_selector(".happening.meant >> text=Step 35")
    anchor = get_item(memory, remember(memory, NewItem("gone soon")).id)
    forget_items(memory, [anchor.id])
    assert "There is no item" in visitor.go(f"/timeline?around={anchor.short_id}").inner_text(".wrong")
