"""Every folder outside a repository is a project: with thousands of them pages stay small, and all are reached."""

from __future__ import annotations

import httpx2
import pytest
from tests.mcp.conftest import Served
from tests.web.conftest import Visit
from tests.web.test_every_page import SHOWN

from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import NewItem, remember, remember_all

PROJECTS, LARGEST = 3_000, 300 * 1024
# The list of all projects itself.
LONG = ("/projects",)


@pytest.fixture(scope="module", autouse=True)
def projects(memory: LocalMemory) -> None:
    notes = [NewItem(f"Note {n} of a folder", type="fact", project=f"folder-{n}") for n in range(PROJECTS)]
    for start in range(0, PROJECTS, 1000):
        remember_all(memory, notes[start : start + 1000])
    remember(memory, NewItem("What is worked on now", type="decision", project="busy"))


def test_every_page_stays_small(served: Served) -> None:
    with httpx2.Client(base_url=served.url, headers={**served.headers, "accept": "text/html"}, timeout=60) as client:
        for page in SHOWN:
            if "{" not in page.path:
                reply = client.get(page.path, follow_redirects=True)
                assert reply.status_code == 200, page.path
                assert page.path in LONG or len(reply.content) < LARGEST, page.path


def test_a_project_that_is_not_offered_is_chosen_all_the_same(visit: Visit) -> None:
    visitor = visit()
    for path in ("/search", "/conversations", "/rules", "/review"):
        page = visitor.go(f"{path}?project=folder-7")
        assert page.input_value("select[name=project]") == "folder-7", path
    menu = page.locator("nav.side")
    assert menu.get_by_role("link", name="busy").count() and menu.locator("a[href^='/projects/']").count() == 6
    menu.get_by_role("link", name="All projects").click()
    page.wait_for_url("**/projects")
    assert page.locator(".line").count() == PROJECTS + 1
