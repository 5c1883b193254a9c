"""The timeline tells what another process remembers while it is open, and shows it on demand."""

from __future__ import annotations

import httpx2
from tests.mcp.conftest import Served
from tests.web.conftest import NARROW, Visit

from commonplace.memory.edit_and_forget import Changes, edit_item, forget_items
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import NewItem, remember

HOSTILE = "<img src=x onerror=\"document.title='hit'\"> {{7*7}} 记忆 ذاكرة"


def test_what_is_remembered_is_counted_and_shown_on_demand(visit: Visit, memory: LocalMemory) -> None:
    visitor = visit()
    page = visitor.go("/timeline")
    page.wait_for_selector(".following[data-following]", state="attached")
    stored = remember(memory, NewItem(HOSTILE, type="decision", project="my-api"))
    page.wait_for_selector(".following button >> text=Show 1 new entry")
    assert HOSTILE[:20] not in page.inner_text("main")
    edit_item(memory, stored.id, Changes(content=f"{HOSTILE} again"))
    remember(memory, NewItem("Said while nobody looked", type="fact", project="my-api"))
    page.wait_for_selector(".following button >> text=Show 2 new entries")
    visitor.check_access()
    page.click(".following button")
    page.wait_for_selector("#happened >> text=Said while nobody looked")
    assert HOSTILE[:20] in page.inner_text("#happened")
    assert page.title() != "hit" and not page.query_selector("main img, .following button")
    forget_items(memory, [stored.id])
    page.click(".following button")
    page.wait_for_function("() => !document.getElementById('happened').textContent.includes('onerror')")


def test_a_project_is_followed_alone_and_on_a_narrow_screen(visit: Visit, memory: LocalMemory) -> None:
    remember(memory, NewItem("Something older", type="fact", project="my-api"))
    visitor = visit(NARROW, "dark")
    # Where the live entries had a page of their own.
    page = visitor.go("/feed?project=my-api")
    assert page.url.endswith("/timeline?project=my-api")
    page.wait_for_selector(".following[data-following]", state="attached")
    remember(memory, NewItem("Of another project", type="fact", project="other"))
    remember(memory, NewItem("Of this project", type="fact", project="my-api"))
    page.click(".following button >> text=Show 1 new entry")
    page.wait_for_selector("#happened >> text=Of this project")
    assert "Of another project" not in page.inner_text("#happened")
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW[0]


def test_a_time_that_is_over_is_not_followed(visit: Visit, memory: LocalMemory) -> None:
    remember(memory, NewItem("Long ago", type="fact", created_ms=0))
    page = visit().go("/timeline?year=1970")
    assert "Long ago" in page.inner_text("#happened") and not page.query_selector(".following")


def test_a_visit_may_listen_and_nothing_else_of_the_api(visit: Visit, served: Served) -> None:
    visitor = visit()
    cookies = {cookie["name"]: cookie["value"] for cookie in visitor.page.context.cookies()}
    with httpx2.Client(base_url=served.url, cookies=cookies) as client:
        assert client.get("/api/v1/events", params={"follow": "false"}).status_code == 200
        assert client.get("/api/v1/items").status_code == 401
    assert httpx2.get(served.url + "/api/v1/events").status_code == 401
