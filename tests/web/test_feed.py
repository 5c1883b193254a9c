"""The live page: what another process remembers appears by itself, as text, and can be held back."""

from __future__ import annotations

import httpx2
from tests.mcp.conftest import Served
from tests.web.conftest import NARROW, Visit

from commonplace.memory.edit_and_forget import Changes, edit_item, forget_items
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import NewItem, remember

HOSTILE = "<img src=x onerror=\"document.title='hit'\"> {{7*7}} 记忆 ذاكرة"


def test_what_is_remembered_appears_while_one_looks_on(visit: Visit, memory: LocalMemory) -> None:
    visitor = visit()
    page = visitor.go("/feed")
    page.wait_for_selector(".pulse.on")
    assert "Nothing has happened yet" in page.inner_text("main")
    stored = remember(memory, NewItem(HOSTILE, type="decision", project="my-api"))
    page.wait_for_selector(".feed .fresh")
    assert HOSTILE[:20] in page.inner_text(".feed a") and page.title() != "hit" and not page.query_selector(".feed img")
    assert page.get_attribute(".feed a", "href") == f"/items/{stored.uid[-12:]}"
    edit_item(memory, stored.id, Changes(content="Quite another thing"))
    page.wait_for_selector(".feed .fresh >> text=changed")
    page.click("text=Pause")
    remember(memory, NewItem("Said while nobody looked", type="fact"))
    page.wait_for_selector("text=1 more wait")
    assert "Said while nobody looked" not in page.inner_text(".feed")
    page.click("text=Resume")
    page.wait_for_selector(".feed >> text=Said while nobody looked")
    forget_items(memory, [stored.id])
    page.wait_for_selector(".feed .fresh >> text=forgotten")
    visitor.check_access()
    visitor.picture("feed")


def test_a_project_is_followed_alone_and_on_a_narrow_screen(visit: Visit, memory: LocalMemory) -> None:
    remember(memory, NewItem("Something older", type="fact", project="my-api"))
    visitor = visit(NARROW, "dark")
    page = visitor.go("/feed?project=my-api")
    page.wait_for_selector(".pulse.on")
    remember(memory, NewItem("Of another project", type="fact", project="other"))
    remember(memory, NewItem("Of this project", type="fact", project="my-api"))
    page.wait_for_selector(".feed >> text=Of this project")
    assert "Of another project" not in page.inner_text(".feed")
    visitor.picture("feed-dark-360")
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW[0]


def test_a_visit_may_listen_and_nothing_else_of_the_api(visit: Visit, served: Served) -> None:
    visitor = visit()
    cookies = {cookie["name"]: cookie["value"] for cookie in visitor.page.context.cookies()}
    with httpx2.Client(base_url=served.url, cookies=cookies) as client:
        assert client.get("/api/v1/events", params={"follow": "false"}).status_code == 200
        assert client.get("/api/v1/items").status_code == 401
    assert httpx2.get(served.url + "/api/v1/events").status_code == 401
