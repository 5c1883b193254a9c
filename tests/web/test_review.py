"""The page of the review queue: by keys, by forms without JavaScript, and for readers only to look at."""

from __future__ import annotations

from tests.polling import until
from tests.web.conftest import LOOKS, Visit

from commonplace.memory.items import get_item
from commonplace.memory.keys import create_key
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import NewItem, remember


def propose(memory: LocalMemory, *texts: str) -> list[int]:
    meta = {"sentence": "no, always do it <b>like this</b>"}
    return [remember(memory, NewItem(text, type="rule", meta=meta, review="proposed")).id for text in texts]


def test_proposals_are_gone_through_by_keys(visit: Visit, memory: LocalMemory) -> None:
    oldest, middle, newest = propose(memory, "Oats for the zebra", "Brush the zebra", "Walk the zebra")
    visitor = visit()
    page = visitor.go("/review")
    assert page.inner_text(".rule.at .text") == "Walk the zebra"
    assert "like this" in page.inner_text(".rule.at blockquote") and page.locator("blockquote b").count() == 0
    page.keyboard.press("d")
    page.wait_for_selector(".done >> text=Dismissed")
    assert get_item(memory, newest, forgotten=True).review == "dismissed"
    page.keyboard.press("u")
    page.wait_for_selector(".done >> text=Undone")
    assert get_item(memory, newest).review == "proposed"
    page.keyboard.press("j")
    page.keyboard.press("a")
    page.wait_for_selector(".done >> text=Accepted")
    accepted = get_item(memory, middle)
    assert (accepted.review, accepted.origin) == ("accepted", "agreed") and accepted.author
    page.keyboard.press("j")
    page.keyboard.press("e")
    page.fill(".rule.at textarea", "Oats and hay for the zebra")
    page.keyboard.press("Control+Enter")
    until(lambda: get_item(memory, oldest).body == "Oats and hay for the zebra")
    assert get_item(memory, oldest).review is None


def test_a_reader_sees_them_and_changes_nothing(visit: Visit, memory: LocalMemory) -> None:
    (id_,) = propose(memory, "Feed the quokka")
    key = create_key(memory, "looks", "read")[1]
    page = visit(key=key).go("/review")
    assert "Feed the quokka" in page.inner_text("main")
    assert page.locator(".rule form").count() == 0
    assert get_item(memory, id_).review == "proposed"


def test_it_works_without_javascript_and_for_everybody(visit: Visit, memory: LocalMemory) -> None:
    accepted, dismissed = propose(memory, "Stroke the quokka", "Chase the quokka")
    visitor = visit(script=False)
    page = visitor.go("/review")
    page.click(f"#p{get_item(memory, accepted).short_id} >> text=Accept")
    page.wait_for_selector(".done >> text=Accepted")
    page.click(f"#p{get_item(memory, dismissed).short_id} >> text=Dismiss")
    page.wait_for_selector(".done >> text=Dismissed")
    page.click(".undo button")
    page.wait_for_selector(".done >> text=Undone")
    assert [get_item(memory, id_).review for id_ in (accepted, dismissed)] == ["accepted", "proposed"]
    seen = visit()
    seen.go("/review")
    seen.look("review", LOOKS, examined=LOOKS)
