"""The page of a project: from it alone one can say what is open and what was decided, and act on it."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import httpx2
import pytest
from tests.raw_sql import behind
from tests.web.conftest import LOOKS, NARROW, Visit
from tests.web.month import fill

from commonplace.memory.api_keys import create_key
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.project_overview import Decision
from commonplace.memory.remember import NewItem, remember
from commonplace.model import Item
from commonplace.web.home_and_projects import EARLIER, activity_bars, decisions_by_week

HOSTILE = "<script>document.title='hit'</script><b>{{7*7}}</b> \u202e مشروع 项目"


@pytest.fixture(scope="module")
def month(memory: LocalMemory) -> LocalMemory:
    fill(memory)
    return memory


def test_the_page_says_what_is_open_and_what_was_decided(visit: Visit, month: LocalMemory) -> None:
    visitor = visit()
    page = visitor.go("/projects/shop-api")
    assert page.inner_text("h1") == "shop-api" and "github.com/acme/shop-api" in page.inner_text(".project-head")
    assert "four sessions by anna" in page.inner_text(".story")
    assert "Pass the VAT ID to the footer of every page" in page.inner_text(".open-steps")
    assert "still failing" in page.inner_text(".open-steps .failing")
    decided = page.inner_text("section[aria-labelledby=decided]")
    assert "Idempotency keys are kept for 24 hours." in decided and "a day covers a flight" in decided
    assert "Before: Passwords are hashed with bcrypt" in decided
    assert "cached for 60 seconds" in page.inner_text(".settle") and "waiting for review" in page.inner_text(".settle")
    assert "fixed" in page.inner_text("section[aria-labelledby=failed]")
    assert "reversible" in page.inner_text("section[aria-labelledby=rules]")
    assert "anna" in page.inner_text("section[aria-labelledby=people]")
    assert "src/shop/orders/routes.py" in page.inner_text("section[aria-labelledby=files]")
    card = page.inner_text(".session:has-text('locks the table')")
    assert "Found" in card and "src/shop/orders/cleanup.py" in card
    visitor.look("project", LOOKS, examined=LOOKS)


def test_a_project_is_found_by_every_name_of_it(visit: Visit, month: LocalMemory) -> None:
    visitor = visit()
    for name in ("shop-api", "acme/shop-api", "github.com/acme/shop-api", "Shop-API"):
        assert visitor.go(f"/projects/{name}").inner_text("h1") == "shop-api"
    assert visitor.go("/projects/").inner_text("h1") == "All projects"
    page = visitor.go("/projects/nosuch")
    assert "no project" in page.inner_text("main").lower()


def test_a_step_is_done_from_the_keyboard_and_undone(visit: Visit, month: LocalMemory) -> None:
    visitor = visit()
    page = visitor.go("/projects/shop-web")
    step = "Test the form with a screen reader"
    page.get_by_role("button", name=f"Mark as done: {step}").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(".toast:has-text('Done')")
    assert step not in page.inner_text(".open-steps") and page.inner_text("h1") == "shop-web"
    page.get_by_role("button", name="Undo").click()
    page.wait_for_selector(".toast:has-text('open again')")
    assert step in page.inner_text(".open-steps")


def test_who_may_only_read_changes_nothing(visit: Visit, month: LocalMemory) -> None:
    secret = create_key(month, "reader", "read")[1]
    page = visit(key=secret).go("/projects/shop-web")
    assert page.inner_text(".open-steps") and not page.query_selector(".open-steps button")


def test_home_shows_every_project_and_no_log(visit: Visit, month: LocalMemory) -> None:
    visitor = visit()
    page = visitor.go("/")
    names = [card.inner_text() for card in page.query_selector_all(".project-card h2")]
    assert set(names) == {"shop-api", "shop-web", "infra"} and names[0] == "shop-web"
    card = page.inner_text(".project-card:has-text('shop-api')")
    assert "Pass the VAT ID" in card and "Idempotency keys" in card and "Add the tax number" in card
    assert "pnpm test" not in page.inner_text("main")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_selector(".project-head")
    assert page.inner_text("h1") == names[0]
    visitor.go("/")
    visitor.look("home-month", LOOKS, examined=LOOKS)


def test_the_menu_names_the_projects_and_shows_where_one_is(visit: Visit, month: LocalMemory) -> None:
    page = visit().go("/projects/infra")
    menu = page.locator("nav.side")
    assert menu.locator("a[href^='/projects/']").all_inner_texts() == ["shop-web", "shop-api", "infra"]
    assert menu.locator("[aria-current=page]").all_inner_texts() == ["infra"]
    menu.get_by_role("link", name="shop-api").click()
    page.wait_for_url("**/projects/shop-api")
    assert menu.locator("[aria-current=page]").all_inner_texts() == ["shop-api"]
    menu.get_by_role("link", name="Projects", exact=True).click()
    page.wait_for_url("**/projects")
    assert [one.upper() for one in menu.locator("[aria-current=page]").all_inner_texts()] == ["PROJECTS"]


def test_what_belongs_to_no_project_has_a_page(visit: Visit, month: LocalMemory) -> None:
    visitor = visit()
    visitor.go("/").get_by_role("link", name="Show them").click()
    visitor.page.wait_for_selector(".project-head")
    assert "Never deploy on Fridays." in visitor.page.inner_text("main")


def test_all_projects_are_listed(visit: Visit, month: LocalMemory) -> None:
    page = visit().go("/projects")
    assert [line.inner_text() for line in page.query_selector_all(".line > a")] == ["shop-web", "shop-api", "infra"]


def test_a_hostile_project_is_text(visit: Visit, month: LocalMemory) -> None:
    left = {"request": HOSTILE, "next_steps": f"{HOSTILE}\n`code` and more", "completed": HOSTILE}
    name = "a b/项目 <b>?#%2F"
    remember(month, NewItem(kind="summary", session="hostile", project=name, details=left))
    remember(month, NewItem(HOSTILE, title=HOSTILE, type="decision", project=name, tags=["<i>tag</i>"]))
    visitor = visit(NARROW)
    page = visitor.go("/")
    page.get_by_role("link", name="项目 <b>?#%2F").click()
    page.wait_for_selector(".project-head")
    assert page.title() != "hit" and not page.query_selector("main b") and "<script>" in page.inner_text(".open-steps")
    assert "code" in [code.inner_text() for code in page.query_selector_all(".open-steps code")]
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW[0]
    page.get_by_role("button", name="Mark as done: `code` and more").click()
    page.wait_for_selector(".toast:has-text('Done')")
    assert "and more" not in page.inner_text(".open-steps")


def test_an_empty_project_teaches_the_next_step(visit: Visit, month: LocalMemory) -> None:
    remember(month, NewItem("Begun in May", type="note", project="new-one"))
    visitor = visit()
    page = visitor.go("/projects/new-one")
    text = page.inner_text("main")
    assert "Nothing is open." in text and "commonplace add --type decision" in text and "commonplace connect" in text
    visitor.look("project-empty", LOOKS[:2], examined=LOOKS[:2])


def test_a_secret_in_a_step_is_not_shown(visit: Visit, month: LocalMemory) -> None:
    remember(month, NewItem(kind="summary", session="leak", project="leaky", details={"next_steps": "Rotate XXXX now"}))
    key = "AKIA" + "Q7" * 8
    with behind(month.settings) as ask:
        ask(f"UPDATE items SET details = replace(details, 'XXXX', '{key}') WHERE details LIKE '%XXXX%'")
    visitor = visit()
    for address in ("/", "/projects/leaky"):
        text = visitor.go(address).content()
        assert "Rotate" in text and key not in text
    visitor.page.get_by_role("button", name="Mark as done: Rotate").click()
    visitor.page.wait_for_selector(".toast:has-text('Done')")


def test_forms_take_only_what_they_can_mean(visit: Visit, month: LocalMemory) -> None:
    visitor = visit()
    page = visitor.go("/projects/shop-web")
    cookies = {one["name"]: one["value"] for one in page.context.cookies()}
    mark = page.get_attribute("form.undo input[name=form_mark], .themes input[name=form_mark]", "value")
    for path, form, status in (
        ("/steps/done", {"project": "shop-web", "step": "Never heard of"}, 404),
        ("/steps/undo", {"closed": "nonsense"}, 422),
        ("/steps/undo", {"closed": "000000000000.1"}, 404),
    ):
        reply = httpx2.post(visitor.served.url + path, data={**form, "form_mark": mark}, cookies=cookies)
        assert reply.status_code == status, (path, reply.text)


def decision(day: date) -> Decision:
    ms = int(datetime(day.year, day.month, day.day, 12, tzinfo=UTC).timestamp() * 1000)
    item = Item(1, "u", "memory", "decision", "t", "b", {}, {}, None, None, (), None, "active", 0, ms, ms, 1)
    return Decision(item, "t", "", "t")


def test_decisions_stand_under_their_calendar_week() -> None:
    wednesday = date(2026, 11, 18)
    days = [wednesday - timedelta(days=back) for back in (0, 2, 3, 9, 10, *range(11, 30))]
    weeks = decisions_by_week([decision(day) for day in days], wednesday)
    assert [(week, len(some)) for week, some in weeks] == [("this_week", 2), ("last_week", 2), ("earlier", EARLIER)]


def test_every_day_has_its_bar_and_an_active_one_is_seen() -> None:
    today = date(2026, 11, 17)
    bars = activity_bars({today: 400, today - timedelta(days=3): 1, today - timedelta(days=90): 5}, today, 7, 30)
    assert [bar.count for bar in bars] == [0, 0, 0, 1, 0, 0, 400]
    assert bars[-1].height == 30 and bars[3].height > bars[0].height
