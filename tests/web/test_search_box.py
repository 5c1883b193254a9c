"""The search box in the header: suggestions as one types, chosen by keys alone, for those who do not see them too."""

from __future__ import annotations

import httpx2
import pytest
from playwright.sync_api import Page
from tests.mcp.conftest import Served
from tests.web.conftest import LOOKS, Visit

from commonplace.memory.api_keys import create_key
from commonplace.memory.conversations import NewConversation, NewMessage, store_conversation
from commonplace.memory.items import get_item
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import NewItem, remember
from commonplace.model import Item

HOSTILE = "<img src=x onerror=alert(1)><script>document.title='hit'</script> walrus {{7*7}} \u202e'\"&"
HTML = {"accept": "text/html"}
# Notes what moves on the page by itself; the list of suggestions may grow.
MOVED = """() => {
  window.moved = [];
  new PerformanceObserver(list => {
    const nodes = list.getEntries().flatMap(entry => entry.sources.map(source => source.node));
    window.moved.push(...nodes.filter(node => !node?.parentElement?.closest(".quick")).map(node => node?.nodeName));
  }).observe({ type: "layout-shift", buffered: true });
}"""


@pytest.fixture(scope="module")
def walrus(memory: LocalMemory) -> Item:
    """Things about a walrus of each kind that can be found."""
    store_conversation(memory, NewConversation("Walrus feeding plan", [NewMessage("user", "When is it fed?")]))
    remember(memory, NewItem("Sea lions sleep on the pier", project="github.com/coast/walrus"))
    remember(memory, NewItem(HOSTILE, type="note"))
    return get_item(memory, remember(memory, NewItem("The walrus is fed at noon", type="decision")).id)


def chosen(page: Page) -> str:
    """What a screen reader tells of: the option that the box names as active."""
    return str(
        page.evaluate(
            "() => document.getElementById(document.getElementById('find-box')"
            ".getAttribute('aria-activedescendant') ?? '')?.querySelector('.find-title').textContent ?? ''"
        )
    )


def typed(page: Page, text: str) -> None:
    page.keyboard.type(text)
    page.wait_for_selector(f".find-all >> text=“{text}”")


@pytest.mark.parametrize("keys", ["Control+k", "Meta+k", "/"])
def test_it_is_opened_by_keys_anywhere_and_gives_the_focus_back(visit: Visit, walrus: Item, keys: str) -> None:
    page = visit().go("/rules")
    page.focus("main textarea" if keys != "/" else "main a")
    page.keyboard.press(keys)
    page.wait_for_selector(".find-option >> text=Add a memory")
    assert page.get_attribute("#find-box", "aria-expanded") == "true"
    page.keyboard.press("Escape")
    assert page.is_hidden(".find-panel") and page.get_attribute("#find-box", "aria-expanded") == "false"
    assert page.evaluate("document.activeElement.localName") == ("textarea" if keys != "/" else "a")


def test_a_slash_that_is_written_stays_one(visit: Visit) -> None:
    page = visit().go("/items/new")
    page.focus("#f-content")
    page.keyboard.type("a/b")
    assert page.input_value("#f-content") == "a/b" and page.is_hidden(".find-panel")


def test_arrows_tab_and_enter_choose(visit: Visit, walrus: Item) -> None:
    page = visit().go("/")
    page.keyboard.press("Control+k")
    typed(page, "walrus")
    groups = page.locator(".find-group").all_inner_texts()
    assert [group.upper() for group in groups] == ["PROJECTS", "MEMORIES", "CONVERSATIONS"]
    assert chosen(page) == ""
    for key, expected in (
        ("ArrowDown", "walrus"),
        ("ArrowUp", ""),
        ("ArrowUp", "Search everything for “walrus”"),
        ("ArrowDown", ""),
        ("Tab", "walrus"),
        ("Tab", "The walrus is fed at noon"),
        ("Shift+Tab", "walrus"),
        ("Tab", "The walrus is fed at noon"),
    ):
        page.keyboard.press(key)
        assert chosen(page) == expected, key
    assert page.locator('[role="option"][aria-selected="true"]').count() == 1
    assert page.evaluate("document.activeElement.id") == "find-box"
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/items/{walrus.short_id}")
    page.keyboard.press("/")
    typed(page, "walr feed")
    page.keyboard.press("ArrowDown")
    while chosen(page) != "Walrus feeding plan":
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/conversations/*")


def test_tab_leaves_after_the_last_group(visit: Visit, walrus: Item) -> None:
    page = visit().go("/")
    page.keyboard.press("Control+k")
    typed(page, "walrus")
    for _group in range(4):
        page.keyboard.press("Tab")
        assert page.is_visible(".find-panel")
    page.keyboard.press("Tab")
    assert page.is_hidden(".find-panel") and page.evaluate("document.activeElement.id") != "find-box"


def test_enter_without_a_choice_searches_everything(visit: Visit, walrus: Item) -> None:
    page = visit().go("/")
    page.keyboard.press("Control+k")
    page.keyboard.type("fed walrus")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search?q=fed+walrus")
    assert page.input_value("#find-box") == "fed walrus"
    assert page.locator("input[type=search]").count() == 1
    assert "fed at noon" in page.inner_text("#results .hit >> nth=0")


def test_pages_and_actions_are_found_by_name_and_by_other_words(visit: Visit, walrus: Item) -> None:
    page = visit().go("/")
    for text, name, leads in (("sett", "Settings", "/settings"), ("new not", "Add a memory", "/items/new")):
        page.keyboard.press("Control+k")
        typed(page, text)
        page.keyboard.press("ArrowDown")
        assert chosen(page) == name
        page.keyboard.press("Enter")
        page.wait_for_url(f"**{leads}")
    page.keyboard.press("Control+k")
    typed(page, "night")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_selector('html[data-theme="dark"]')
    page.keyboard.press("Control+k")
    typed(page, "shortcuts")
    page.click(".find-option >> text=Show keyboard shortcuts")
    assert page.is_visible(".keys-help") and page.is_hidden(".find-panel")
    # Behind an open dialog nothing is searched.
    page.keyboard.press("Control+k")
    assert page.is_hidden(".find-panel")


def test_whoever_may_only_read_is_offered_no_changes(visit: Visit, memory: LocalMemory, walrus: Item) -> None:
    page = visit(key=create_key(memory, "finds", "read")[1]).go("/")
    page.keyboard.press("Control+k")
    page.wait_for_selector(".find-option >> text=Review what is waiting")
    assert page.locator(".find-option >> text=Add a memory").count() == 0


def test_it_is_readable_for_all_and_nothing_moves(visit: Visit, walrus: Item) -> None:
    visitor = visit()
    page = visitor.go("/search?q=walrus")
    page.evaluate(MOVED)
    page.keyboard.press("Control+k")
    page.fill("#find-box", "")
    typed(page, "walrus")
    assert page.inner_text(".find-status").strip() in ("4 suggestions", "5 suggestions")
    assert page.evaluate("window.moved") == []
    assert page.title() != "hit" and not page.query_selector(".find-panel img, .find-panel script")
    page.keyboard.press("ArrowDown")
    visitor.look("find", LOOKS, examined=LOOKS)


def test_what_is_not_asked_for_by_the_script_is_a_search(served: Served) -> None:
    reply = httpx2.get(f"{served.url}/find?q=two+words", headers={**served.headers, **HTML})
    assert reply.status_code == 303 and reply.headers["location"] == "/search?q=two+words"
    for request in ("%22", "((", "%00%FF", "x" * 5000, "%20", "#", "*"):
        part = httpx2.get(f"{served.url}/find?q={request}", headers={**served.headers, **HTML, "x-part": "options"})
        assert part.status_code == 200 and "<html" not in part.text and 'role="listbox"' in part.text
