"""The page of searching: by words, filters and keys, as one types, and with anything in the address."""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import quote

import httpx2
import pytest
from playwright.sync_api import expect
from tests.mcp.conftest import Served
from tests.web.conftest import LOOKS, Visit

from commonplace.memory.conversations import NewConversation, NewMessage, store_conversation
from commonplace.memory.items import get_item
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.recall import recall
from commonplace.memory.remember import NewItem, remember
from commonplace.model import Item, Scope
from commonplace.web.search import LIKELY_BY_WORDS

DAY = 86_400_000
HOSTILE = "<img src=x onerror=alert(1)><script>document.title='hit'</script> {{7*7}} \u202e'\"&"
HTML = {"accept": "text/html"}


@pytest.fixture(scope="module")
def lighthouse(memory: LocalMemory) -> Item:
    """A few things about a lighthouse, old and new, in a project, a conversation and neither."""
    now = memory.clock()
    remember(memory, NewItem("The lighthouse lamp was gas", type="fact", created_ms=now - 400 * DAY, tags=["lamp"]))
    messages = [
        NewMessage("user", "Who painted the lighthouse?"),
        NewMessage("assistant", "The **lighthouse** was painted by Ada."),
    ]
    store_conversation(memory, NewConversation("Painting the tower", messages, folder="/coast/north"))
    text = "# Lighthouse lamp\n\n- the lamp is electric\n\n```sh\nlamp --on\n```\nLamps are changed in spring."
    stored = remember(memory, NewItem(text, type="decision", project="github.com/coast/tower", tags=["lamp", "power"]))
    return get_item(memory, stored.id)


def test_what_is_found_is_gone_through_by_keys(visit: Visit, lighthouse: Item) -> None:
    visitor = visit()
    page = visitor.go("/search")
    page.keyboard.press("/")
    page.keyboard.type("electric lighthouse lamp")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search?q=electric+lighthouse+lamp")
    page.wait_for_selector(".hit")
    assert page.title().startswith("electric lighthouse lamp")
    assert page.locator(".hit h2").first.inner_text() == "Lighthouse lamp"
    first = page.locator(".hit").first
    # The title is not told again, and neither is what only makes sense in Markdown.
    assert first.locator(".excerpt").inner_text() == "the lamp is electric lamp --on Lamps are changed in spring."
    assert {"lamp", "Lamps"} <= set(first.locator(".excerpt mark").all_inner_texts())
    place = page.locator(".hits a", has_text="Painting the tower").first
    assert "/conversations/" in (place.get_attribute("href") or "")
    assert page.locator(".hit", has_text="painted by Ada").locator(".excerpt").count() == 0
    for key, at in (("ArrowDown", 0), ("ArrowDown", 1), ("k", 0), ("j", 1), ("ArrowUp", 0)):
        page.keyboard.press(key)
        assert page.evaluate("[...document.querySelectorAll('.hit')].findIndex(e => e.matches('.at'))") == at, key
    # Why it was found is said on demand.
    assert first.locator(".signal").first.is_hidden()
    page.keyboard.press("w")
    assert first.locator(".signal").count() >= 2 and "%" in first.locator(".why").inner_text()
    page.keyboard.press("ArrowUp")
    assert page.evaluate("document.activeElement.id") == "find-box"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/items/{lighthouse.short_id}")


def test_filters_apply_at_once_and_live_in_the_address(visit: Visit, lighthouse: Item) -> None:
    page = visit().go("/search?q=lamp")
    page.select_option("select[name=project]", "github.com/coast/tower")
    page.wait_for_url("**/search?q=lamp&project=github.com%2Fcoast%2Ftower")
    expect(page.locator(".hit")).to_have_count(1)
    page.fill("input[name=tag]", "power")
    page.wait_for_url("**&tag=power")
    expect(page.locator(".set-filters a")).to_have_text(
        ["Remove the filter Project: github.com/coast/tower ×", "Remove the filter Tag: power ×"]
    )
    page.go_back()
    expect(page.locator(".set-filters a")).to_have_count(1)
    assert page.input_value("input[name=tag]") == ""
    page.go_back()
    page.wait_for_selector(".hit >> nth=1")
    assert page.input_value("select[name=project]") == "" and page.url.endswith("/search?q=lamp")
    page.go_forward()
    expect(page.locator(".hit")).to_have_count(1)
    assert page.input_value("select[name=project]") == "github.com/coast/tower"
    page.click(".set-filters a")
    page.wait_for_selector(".hit >> nth=1")
    assert page.input_value("select[name=project]") == "" and page.url.endswith("/search?q=lamp")


def test_hits_of_one_session_stand_together_with_the_answer_marked(visit: Visit, memory: LocalMemory) -> None:
    lines = (
        "The pilot Ines guides tankers. Harbour pilot duty is with Tomas on weekends. Bye now.",
        "The boat of the harbour pilot stays at the north pier, whoever is on duty.",
        "In winter a harbour pilot on duty earns a bonus of eighty crowns.",
        "Every harbour pilot carries two radios and a whistle on duty.",
        "No harbour pilot sleeps on duty: the union forbade it in 1987.",
    )
    messages = [NewMessage("assistant", text) for text in lines]
    store_conversation(memory, NewConversation("Pilots of the harbour", messages))
    remember(memory, NewItem("The harbour pilot office opens at six."))
    page = visit().go("/search?q=harbour+pilot+duty")
    group = page.locator(".hit-session")
    assert group.locator(".session-name a").inner_text() == "Pilots of the harbour"
    shown = group.locator(":scope > .hits > .hit").count()
    assert shown == 3 and group.locator(".more-of-session > summary").inner_text() == "2 more from this session"
    assert page.locator(".answer").all_text_contents() == ["Harbour pilot duty is with Tomas on weekends."]
    assert page.locator("ol.hits > li.hit", has_text="office opens").count() == 1


def test_what_is_unlikely_is_folded_away(served: Served, memory: LocalMemory) -> None:
    for n in range(4):
        remember(memory, NewItem(f"Kettle {n} boils water for tea, slowly, in kitchen {n}, beside the old stove {n}"))
    found = recall(memory, "kettle zeppelin gondola rivet altitude", Scope(), 20)
    assert found.hits and all(hit.relevance < LIKELY_BY_WORDS for hit in found.hits)
    reply = httpx2.get(
        f"{served.url}/search?q=kettle+zeppelin+gondola+rivet+altitude", headers={**served.headers, **HTML}
    )
    assert "Nothing clearly answers this" in reply.text and "unlikely result" in reply.text


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
    "question",
    ["q=%22", "q=AND+OR+(((", "q=title:", "q=*", "q=%00%FF", "q=NOT", f"q={'x' * 12_000}", "n=-5&q=a",
     "cursor=zz&tag=a", "since=99999-99-99&until=-1&q=a", "kind=nonsense&q=a", "folder=..&q=a", "project=%2F%2F&q=a",
     "when=never&q=lamp"],
)  # fmt: skip
def test_no_address_is_an_error(served: Served, lighthouse: Item, question: str) -> None:
    reply = httpx2.get(f"{served.url}/search?{question}", headers={**served.headers, **HTML})
    assert reply.status_code == 200 and 'id="results"' in reply.text
    part = httpx2.get(f"{served.url}/search?{question}", headers={**served.headers, **HTML, "x-part": "results"})
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
    assert "{{7*7}}" in page.inner_text(".hit") and page.input_value("#find-box").startswith("<img")


def _text(html: str) -> str:
    return unescape(re.sub(r"<[^>]+>", "", "<a" + html)).strip()
