"""The timeline: everything, a year, a month, a day, a session, and around an item; by kind and project."""

from __future__ import annotations

from datetime import date, timedelta
from itertools import pairwise
from typing import Any

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
from commonplace.text.dates import LATEST_MS, day_start_ms
from commonplace.web.timeline import DAYS_SHOWN, FIRST_PAGE, HEIGHT, PAGE_SIZE, Span, bars_of, choose_days, span_of

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
    assert "Your sessions will appear here" in page.inner_text("main")
    assert page.inner_text(".steps code >> nth=0") == "commonplace connect"
    assert "Your sessions will appear here" in visitor.go("/timeline?view=entries").inner_text("main")
    assert "Nothing happened here" in visitor.go("/timeline?view=entries&kind=memory").inner_text("main")
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
    messages = [
        NewMessage("user", f"{HOSTILE} why?", at(2024, 7, 1)),
        NewMessage("assistant", "Because.", at(2024, 7, 1) + 1),
    ]
    store_conversation(memory, NewConversation(HOSTILE, messages, key="talk", source="chatgpt", project="site"))


def test_it_zooms_from_everything_to_a_day_and_turns_pages(visit: Visit, memory: LocalMemory) -> None:
    fill(memory)
    remember(memory, NewItem("Of a long name", project="n" * 200, type="t" * 100))
    visitor = visit()
    page = visitor.go("/timeline?view=entries")
    visitor.look("timeline-entries", LOOKS[:2])
    assert page.title() != "hit" and not page.query_selector("main img")
    page.click(".bars a[aria-label^='March 2025']")
    page.wait_for_url("**month=2025-03*")
    assert f"{PAGE_SIZE + 12} entries" in page.inner_text("main")
    page.click("text=Older")
    page.wait_for_selector("text=3 quiet days")
    page.click("text=Newer >> nth=0")
    page.wait_for_selector(f"text=Step {PAGE_SIZE + 9}")
    page.click(".bars a[aria-label^='11 March']")
    page.wait_for_url("**day=2025-03-11*")
    assert len(page.query_selector_all(".happening")) == 1
    visitor.check_access()
    visitor.picture("timeline-day")
    page = visitor.go("/timeline?kind=summary&project=my-api")
    assert len(page.query_selector_all(".happening")) == 1 and page.query_selector(".happening.summary")
    page = visitor.go("/timeline?year=2024&view=entries")
    assert len(page.query_selector_all(".happening.message")) == 2
    page.keyboard.press("j")
    assert page.query_selector(".happening.at")


def test_sessions_flow_by_day_and_can_be_filtered_by_project(visit: Visit, memory: LocalMemory) -> None:
    remember_all(memory, worked_on("first", at(2025, 5, 2), "shop") + worked_on("second", at(2025, 5, 5), "site"))
    remember(memory, NewItem("Amounts are integers", type="decision", project="shop", created_ms=at(2025, 5, 2, 15)))
    visitor = visit()
    page = visitor.go("/timeline?month=2025-05")
    visitor.look("timeline", LOOKS[:2], examined=LOOKS[:2])
    blocks = page.locator(".block").all_inner_texts()
    assert ["second" in block for block in blocks] == [True, False]
    assert "Make retries safe" in blocks[1] and "acknowledges before it commits" in blocks[1]
    assert "1 failure, fixed" in blocks[1] and "1 file changed" in blocks[1] and "2 next steps" in blocks[1]
    assert "Amounts are integers" in page.inner_text(".river-day >> nth=1") and "2 quiet days" in page.inner_text(
        "main"
    )
    page.check("label.chip:has-text('site') input")
    page.wait_for_url("**project=site*")
    assert len(page.query_selector_all(".block")) == 1
    page.keyboard.press("j")
    assert page.query_selector(".block.at")
    page.keyboard.press("Enter")
    page.wait_for_url("**/conversations/*")


def test_the_river_turns_pages_of_days_that_meet() -> None:
    days = [date(2025, 1, 1) + timedelta(days=2 * n) for n in range(2 * DAYS_SHOWN + 3)]
    newest, newer, older = choose_days(days, "")
    assert newest == [*days[:-DAYS_SHOWN:-1], days[-DAYS_SHOWN]] and not newer
    middle, newer, oldest = choose_days(days, older)
    assert middle[0] < newest[-1] and newer == FIRST_PAGE
    last, newer, none = choose_days(days, oldest)
    assert [*newest, *middle, *last] == days[::-1] and not none and choose_days(days, newer)[0] == middle
    assert choose_days([], "") == ([], "", "")
    with pytest.raises(InvalidInput):
        choose_days(days, "then")


def worked_on(session: str, start: int, project: str) -> list[NewItem]:
    """A session in which a test failed, a file was changed, and the test passed."""
    ran = {"kind": "observation", "type": "command", "title": "pytest -q", "details": {"facts": "pytest -q"}}
    did: list[dict[str, Any]] = [
        {"kind": "observation", "type": "prompt", "content": f"Make retries safe in {session}"},
        {**ran, "meta": {"error": "1 failed"}},
        {"kind": "observation", "type": "file-write", "title": "Modified a.py", "details": {"files_modified": "a.py"}},
        {**ran, "meta": {"went_well": True}},
        {"kind": "summary", "details": {
            "request": f"Make retries safe in {session}", "next_steps": "Measure it\nTell the team",
            "learned": "The worker acknowledges before it commits.",
        }},
    ]  # fmt: skip
    return [
        NewItem(**one, session=session, project=project, created_ms=start + n * 60_000) for n, one in enumerate(did)
    ]


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
