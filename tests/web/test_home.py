"""The first page: empty, it says how to begin; full, it shows projects, the year and today."""

from __future__ import annotations

from datetime import date, timedelta

from hypothesis import given
from hypothesis import strategies as st
from tests.web.conftest import LOOKS, Visit

from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import NewItem, remember, remember_all
from commonplace.web.home_and_projects import SHADES, WEEKS, activity_calendar, first_day

DAY = 86_400_000
HOSTILE = "<script>document.title='hit'</script><b>{{7*7}}</b> \u202e مشروع 项目"


def test_an_empty_memory_says_how_to_begin(visit: Visit) -> None:
    visitor = visit()
    page = visitor.go("/")
    assert "commonplace connect" in page.inner_text(".welcome")
    page.click(".welcome summary")
    assert visitor.served.url in page.inner_text(".welcome")


def test_a_full_memory_tells_today_and_the_year(visit: Visit, memory: LocalMemory) -> None:
    now = memory.clock()
    notes = [
        NewItem(f"Note {n} of then", type="fact", project=f"project-{n % 9}", created_ms=now - (n * n % 180) * DAY)
        for n in range(60)
    ]
    remember_all(memory, notes)
    remember(memory, NewItem(HOSTILE, title=HOSTILE, type="decision", project="项目 <b>", tags=["<i>tag</i>"]))
    visitor = visit()
    page = visitor.go("/")
    visitor.look("home", LOOKS)
    assert page.title() != "hit" and not page.query_selector("main b")
    assert "<script>" in page.inner_text(".project-card:has-text('项目')")
    assert "memories" in page.inner_text(".today")
    assert len(page.query_selector_all(".calendar rect:not(.shade-0)")) > 10


@given(
    st.dates(date(1990, 1, 1), date(2090, 1, 1)),
    st.dictionaries(st.integers(0, 500), st.integers(1, 10**6), max_size=50),
)
def test_every_day_has_its_square_and_the_fuller_is_never_lighter(today: date, ago: dict[int, int]) -> None:
    counts = {today - timedelta(days=back): count for back, count in ago.items()}
    made = activity_calendar(counts, today)
    days = [day.date for day in made.days]
    assert days[0] == first_day(today) and days[0].weekday() == 0 and days[-1] == today
    assert days == sorted(set(days)) and len(days) <= 7 * WEEKS
    by_count = sorted(made.days, key=lambda day: day.count)
    assert [day.shade for day in by_count] == sorted(day.shade for day in by_count)
    assert all((day.shade > 0) == (day.count > 0) and day.shade <= SHADES for day in made.days)
    assert made.total == sum(counts.get(day, 0) for day in days)
