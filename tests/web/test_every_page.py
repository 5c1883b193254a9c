"""Every page of the table, on an empty and a full memory, in both themes, wide and narrow: readable for all."""

from __future__ import annotations

import re
from collections.abc import Sequence

import httpx2
import pytest
from tests.mcp.conftest import Served
from tests.web.conftest import LOOKS, NARROW, WATCH_SHIFTS, WIDE, Look, Visit
from tests.web.month import fill

from commonplace.memory.local_memory import LocalMemory
from commonplace.model import Scope, SessionScope
from commonplace.web.rendering import static_files
from commonplace.web.routes import PAGES

MOST_SCRIPT = 150 * 1024
# Each theme and each width is examined once, full pages by the light that is harder to get right.
EXAMINED = {"empty": LOOKS[:1], "full": LOOKS[1:2]}
# Pages that have moved; files, numbers and parts, which are not pages to look at.
NOT_SHOWN = (
    *("/feed", "/contradictions", "/prune"),
    *("/review/count", "/conversations/{id}/export", "/topics/{id}", "/topics/passages/{id}"),
)
SHOWN = [page for page in PAGES if page.method == "GET" and page.path not in NOT_SHOWN]


def addresses(memory: LocalMemory) -> dict[str, str]:
    """An address for every page, by its path in the table; on an empty memory those that need nothing to show."""
    items = memory.store.newest(Scope(types=("decision",)), 1)
    sessions = memory.store.latest_sessions(SessionScope(), 1)
    found: dict[str, str] = {}
    for page in SHOWN:
        if page.path.startswith("/items/{id}"):
            found |= {page.path: page.path.replace("{id}", items[0].short_id)} if items else {}
        elif page.path == "/about/{name:path}":
            found |= {page.path: "/about/Redis"} if items else {}
        elif page.path == "/projects/{name:path}":
            found |= {page.path: f"/projects/{items[0].project}"} if items else {}
        elif page.path.startswith("/conversations/{id}"):
            found |= {page.path: page.path.replace("{id}", sessions[0].short_id)} if sessions else {}
        else:
            assert "{" not in page.path, f"{page.path} has no address here: give it one"
            found[page.path] = page.path
    return found


def test_every_page_of_an_empty_memory(visit: Visit, memory: LocalMemory) -> None:
    look_at_all(visit, memory, "empty", LOOKS[:2])


def test_every_page_of_a_full_memory(visit: Visit, memory: LocalMemory) -> None:
    fill(memory)
    look_at_all(visit, memory, "full", LOOKS)


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_nothing_moves_while_a_page_loads(visit: Visit, memory: LocalMemory, size: tuple[int, int]) -> None:
    visitor = visit(size)
    visitor.page.add_init_script(WATCH_SHIFTS)
    for path, address in addresses(memory).items():
        visitor.go(address + ("?q=webhook+retries" if path == "/search" else ""))
        visitor.check_still()


def test_what_moves_is_noticed(visit: Visit) -> None:
    visitor = visit()
    visitor.page.add_init_script(WATCH_SHIFTS)
    page = visitor.go("/settings")
    page.evaluate(
        "document.querySelector('main').prepend(Object.assign(document.createElement('p'), "
        "{textContent: 'late', style: 'height: 300px'}))"
    )
    with pytest.raises(AssertionError):
        visitor.check_still()


def look_at_all(visit: Visit, memory: LocalMemory, state: str, looks: Sequence[Look]) -> None:
    visitor = visit()
    for path, address in addresses(memory).items():
        page = visitor.go(address + ("?q=webhook+retries" if path == "/search" else ""))
        assert page.query_selector("main h1") and not page.query_selector("main .wrong"), address
        name = path.strip("/").replace("/", "-").replace("{id}", "one").replace("{name:path}", "one") or "home"
        visitor.look(f"{state}-{name}", looks, examined=EXAMINED[state])


def test_no_page_ships_more_script_than_it_may(served: Served, memory: LocalMemory) -> None:
    scripts = {name: len(file.content) for name, file in static_files().items() if name.endswith(".js")}
    for address in addresses(memory).values():
        text = httpx2.get(served.url + address, headers={**served.headers, "accept": "text/html"}).text
        named = set(re.findall(r"/static/([\w.-]+\.js)", text))
        # Scripts import each other, so at worst all of them come.
        assert named <= scripts.keys() and "<script>" not in text and " style=" not in text, address
    assert sum(scripts.values()) < MOST_SCRIPT


def test_every_page_is_for_those_who_are_signed_in(served: Served) -> None:
    for page in PAGES:
        address = served.url + page.path.replace("{id}", "1")
        reply = httpx2.request(page.method, address, headers={"accept": "text/html"})
        assert reply.status_code in (303, 401), page.path
        assert reply.status_code == 401 or reply.headers["location"].startswith("/login")


def test_nothing_is_changed_by_looking(served: Served) -> None:
    for page in PAGES:
        if page.method == "GET":
            reply = httpx2.post(served.url + page.path.replace("{id}", "1"), headers=served.headers, data={"x": "1"})
            known = any(other.path == page.path and other.method == "POST" for other in PAGES)
            assert known or reply.status_code == 405, page.path
