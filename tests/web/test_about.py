"""The pages Who and what, and How you work: opened, pinned and hidden, without JavaScript and for readers too."""

from __future__ import annotations

from tests.web.conftest import LOOKS, Visit

from commonplace.memory.api_keys import create_key
from commonplace.memory.authors import with_writer
from commonplace.memory.items import get_item
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import NewItem, remember_item
from commonplace.model import Author


def say(memory: LocalMemory, *texts: str, project: str | None = None) -> list[int]:
    anna = with_writer(memory, Author("anna", "person"))
    return [remember_item(anna, NewItem(text, type="fact", project=project)).item.id for text in texts]


def test_a_statement_leads_to_who_said_it_and_what_it_names(visit: Visit, memory: LocalMemory) -> None:
    text = "Sessions are kept in Memcached, because the auditors asked for it and a restart costs nothing that matters"
    (id_,) = say(memory, text)
    page = visit().go(f"/items/{id_}")
    assert page.inner_text("h1") == text and page.locator(".item-text").count() == 0
    page.click(".names-in >> text=Memcached")
    assert page.inner_text("h1") == "Memcached" and text in page.inner_text(".statement")
    page.click(".statement .meta >> text=anna")
    assert page.inner_text("h1") == "anna" and page.inner_text("main .tag") == "person"


def test_entities_lead_to_what_is_known_and_on_to_others(visit: Visit, memory: LocalMemory) -> None:
    say(memory, "Jonas maintains checkout-api", "checkout-api uses Redis <b>only</b>", project="github.com/acme/shop")
    say(memory, "The pool is in src/db/pool.py", "Never edit src/db/pool.py by hand")
    visitor = visit(script=False)
    page = visitor.go("/about")
    assert page.locator("main h2").all_inner_texts() == ["People", "Projects", "Services", "Files"]
    page.click("text=checkout-api")
    assert page.inner_text("h1") == "checkout-api"
    assert page.locator(".statement .text").all_inner_texts() == [
        "checkout-api uses Redis <b>only</b>",
        "Jonas maintains checkout-api",
    ]
    assert page.inner_text(".related >> nth=0").split("\n") == ["Jonas maintains it", "person", "uses Redis", "service"]
    page.click(".related a >> text=Jonas")
    assert page.inner_text("h1") == "Jonas"
    page.goto(page.url.rpartition("/about")[0] + "/about?named=pool")
    page.click("text=src/db/pool.py")
    assert page.inner_text("h1") == "src/db/pool.py" and page.locator(".statement").count() == 2
    page.fill("input[name=as_of]", "now")
    page.click("text=Show")
    assert page.locator(".statement").count() == 2
    page.fill("input[name=as_of]", "yesterday")
    page.click("text=Show")
    assert "Nothing is known" in page.inner_text("main")
    seen = visit()
    seen.go("/about/checkout-api")
    seen.look("entity", LOOKS, examined=LOOKS)


def test_a_name_that_is_not_known_leads_to_search(visit: Visit, memory: LocalMemory) -> None:
    say(memory, "Redis is version 7")
    page = visit(script=False).go("/about/Nemo")
    assert page.inner_text("h1") == "Nemo"
    page.click("text=Search for it instead")
    assert page.url.endswith("/search?q=Nemo")


def test_lines_are_pinned_hidden_and_shown_again(visit: Visit, memory: LocalMemory) -> None:
    tabs, uv = say(memory, "I prefer tabs", "We use uv")
    visitor = visit(script=False)
    page = visitor.go("/profile")
    page.click(".statement:has-text('We use uv') >> text=Pin")
    page.wait_for_selector(".done >> text=Pinned")
    assert get_item(memory, uv).tags == ("profile-pinned",)
    page.click(".statement:has-text('I prefer tabs') >> text=Hide")
    page.wait_for_selector(".done >> text=Hidden")
    assert page.locator(".statement .row a").all_inner_texts() == ["We use uv"]
    page.click(".undo button")
    page.wait_for_selector(".done >> text=No longer pinned or hidden")
    assert get_item(memory, tabs).tags == ()
    remember_item(memory, NewItem("I prefer short answers", type="fact"))
    # The start page has only what its reader prefers.
    home = visitor.go("/").inner_text("main")
    assert "I prefer short answers" in home and "I prefer tabs" not in home
    seen = visit()
    seen.go("/profile")
    seen.look("profile", LOOKS, examined=LOOKS)


def test_a_reader_changes_nothing(visit: Visit, memory: LocalMemory) -> None:
    say(memory, "I prefer tabs")
    key = create_key(memory, "looks", "read")[1]
    page = visit(key=key).go("/profile")
    assert "I prefer tabs" in page.inner_text("main") and page.locator(".statement form").count() == 0
