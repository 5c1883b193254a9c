"""The page of searching: by words, filters and keys, as one types, and with anything in the address."""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import quote

import httpx2
import pytest
from tests.mcp.conftest import Served
from tests.web.conftest import LOOKS, Visit

from commonplace.memory.conversations import NewConversation, NewMessage, store_conversation
from commonplace.memory.items import get_item
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import NewItem, remember
from commonplace.model import Item

DAY = 86_400_000
HOSTILE = "<img src=x onerror=alert(1)><script>document.title='hit'</script> {{7*7}} \u202e'\"&"
HTML = {"accept": "text/html"}


@pytest.fixture(scope="module")
def lighthouse(memory: LocalMemory) -> Item:
    """A few things about a lighthouse, old and new, in a project, a conversation and neither."""
    now = memory.clock()
    remember(memory, NewItem("The lighthouse lamp was gas", type="fact", created_ms=now - 400 * DAY, tags=["lamp"]))
    said = [
        NewMessage("user", "Who painted the lighthouse?"),
        NewMessage("assistant", "The **lighthouse** was painted by Ada."),
    ]
    store_conversation(memory, NewConversation("Painting the tower", said, folder="/coast/north"))
    text = "# Lighthouse lamp\n\n- the lamp is electric\n\n```sh\nlamp --on\n```\nLamps are changed in spring."
    stored = remember(memory, NewItem(text, type="decision", project="github.com/coast/tower", tags=["lamp", "power"]))
    return get_item(memory, stored.id)


def test_results_follow_what_is_typed_and_keys_go_through_them(visit: Visit, lighthouse: Item) -> None:
    visitor = visit()
    page = visitor.go("/search")
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.keyboard.type("electric lighthouse lamp")
    page.wait_for_url("**/search?q=electric+lighthouse+lamp")
    assert page.locator(".hit h2").first.inner_text() == "Lighthouse lamp"
    first = page.locator(".hit").first
    # The title is not told again, and neither is what only makes sense in Markdown.
    assert first.locator(".excerpt").inner_text() == "the lamp is electric lamp --on Lamps are changed in spring."
    assert {"lamp", "Lamps"} <= set(first.locator(".excerpt mark").all_inner_texts())
    assert first.locator(".signal").count() >= 2 and "%" in first.locator(".why").inner_text()
    place = page.locator(".hit a", has_text="Painting the tower").first
    assert "/conversations/" in (place.get_attribute("href") or "")
    assert page.locator(".hit", has_text="painted by Ada").locator(".excerpt").count() == 0
    for key, at in (("ArrowDown", 0), ("ArrowDown", 1), ("k", 0), ("j", 1), ("ArrowUp", 0)):
        page.keyboard.press(key)
        assert page.evaluate("[...document.querySelectorAll('.hit')].findIndex(e => e.matches('.at'))") == at, key
    page.keyboard.press("ArrowUp")
    assert page.evaluate("document.activeElement.id") == "q"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/items/{lighthouse.short_id}")


@pytest.mark.parametrize(
    ("narrowed", "expected"),
    [
        ("project=github.com/coast/tower", ["Lighthouse lamp"]),
        ("project=tower&q=lamp", ["Lighthouse lamp"]),
        ("q=lamp&type=fact", ["The lighthouse lamp was gas"]),
        (
            "q=lighthouse&kind=message&folder=coast",
            ["The lighthouse was painted by Ada.", "Who painted the lighthouse?"],
        ),
        ("q=lighthouse&folder=/elsewhere", []),
        ("q=lamp&tag=power", ["Lighthouse lamp"]),
        ("q=lighthouse+AND+lamp&when=30d", ["Lighthouse lamp"]),
        ("tag=lamp&until=2025-12-31", ["The lighthouse lamp was gas"]),
        ("since=2025-12-31&type=decision", ["Lighthouse lamp"]),
        ("q=lamp&project=*", ["The lighthouse lamp was gas"]),
        ("q=lamp&since=someday", ["Lighthouse lamp", "The lighthouse lamp was gas"]),
    ],
)
def test_every_filter_narrows(served: Served, lighthouse: Item, narrowed: str, expected: list[str]) -> None:
    reply = httpx2.get(f"{served.url}/search?{narrowed}", headers={**served.headers, **HTML})
    assert reply.status_code == 200
    found = [_text(part.split("</h2>")[0]) for part in reply.text.split('<h2><a href="/items')[1:]]
    assert sorted(found) == sorted(expected)
    assert ("was not understood" in reply.text) == ("someday" in narrowed)


@pytest.mark.parametrize(
    "asked",
    ["q=%22", "q=AND+OR+(((", "q=title:", "q=*", "q=%00%FF", "q=NOT", f"q={'x' * 12_000}", "n=-5&q=a",
     "cursor=zz&tag=a", "since=99999-99-99&until=-1&q=a", "kind=nonsense&q=a", "folder=..&q=a", "project=%2F%2F&q=a",
     "when=never&q=lamp"],
)  # fmt: skip
def test_no_address_is_an_error(served: Served, lighthouse: Item, asked: str) -> None:
    reply = httpx2.get(f"{served.url}/search?{asked}", headers={**served.headers, **HTML})
    assert reply.status_code == 200 and 'id="results"' in reply.text
    part = httpx2.get(f"{served.url}/search?{asked}", headers={**served.headers, **HTML, "x-part": "results"})
    assert part.status_code == 200 and "<html" not in part.text


def test_more_is_a_link_that_can_be_shared(visit: Visit, memory: LocalMemory) -> None:
    for n in range(45):
        remember(memory, NewItem(f"Buoy {n} drifts near marker {n * 7}", project="buoys"))
    visitor = visit(script=False)
    page = visitor.go("/search?q=buoy+drifts&project=buoys")
    assert page.locator(".hit").count() == 20
    page.click("text=More results")
    assert page.locator(".hit").count() == 40 and "n=40" in page.url
    page = visitor.go("/search?project=buoys")
    page.click("main a.button >> text=Older")
    page.click("main a.button >> text=Older")
    assert page.locator(".hit").count() == 5 and not page.query_selector("main a.button >> text=Older")


def test_hostile_words_are_only_read(visit: Visit, memory: LocalMemory) -> None:
    note = NewItem(f"{HOSTILE} ship\nsecond line {HOSTILE}", project="危险-خطر", tags=["<b>'\"", "тег"], type="note")
    remember(memory, note)
    visitor = visit()
    page = visitor.go(f"/search?q={quote(HOSTILE + ' ship')}&tag={quote('<b>')}&since=2020-01-01")
    assert page.locator(".hit").count() == 1
    visitor.look("search", LOOKS, examined=LOOKS[:1])
    assert not page.title().startswith("hit") and not page.query_selector("main img, main .hit script")
    assert "{{7*7}}" in page.inner_text(".hit") and page.input_value("#q").startswith("<img")


def _text(html: str) -> str:
    return unescape(re.sub(r"<[^>]+>", "", "<a" + html)).strip()
