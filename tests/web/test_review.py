"""The inbox of what waits for a decision: by keys, by forms without JavaScript, and for readers only to look at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import httpx2
import pytest
from playwright.sync_api import Page, expect
from tests.mcp.conftest import Served
from tests.polling import until
from tests.web.conftest import LOOKS, Visit

from commonplace.memory.api_keys import create_key
from commonplace.memory.authors import for_agent, with_writer
from commonplace.memory.conversations import NewConversation, NewMessage, find_session, store_conversation
from commonplace.memory.edit_and_forget import Changes, edit_item, mark_superseded
from commonplace.memory.items import get_item
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.prune import PRUNE_IMPORTANCE
from commonplace.memory.remember import NewItem, remember, remember_item
from commonplace.memory.review import accept, list_proposals
from commonplace.model import Author, Item, Session

HTML = {"accept": "text/html"}
LONG_AGO = 1_600_000_000_000
HOSTILE = "<script>document.title='hit'</script> {{7*7}} \u202e \"'>"


def propose(memory: LocalMemory, *texts: str, project: str | None = None) -> list[int]:
    meta = {"sentence": "no, always do it <b>like this</b>"}
    drafts = [NewItem(text, type="rule", meta=meta, review="proposed", project=project) for text in texts]
    return [remember(memory, draft).id for draft in drafts]


def state(memory: LocalMemory, text: str, project: str) -> Item:
    return get_item(memory, remember(memory, NewItem(text, type="fact", project=project)).id)


def talk(memory: LocalMemory, label: str, importance: float = 2.0, folder: str = "/old") -> Session:
    messages = [NewMessage("user", f"What about {label}?", LONG_AGO), NewMessage("assistant", f"No {label}.", LONG_AGO)]
    return store_conversation(memory, NewConversation(label, messages, folder=folder, importance=importance)).session


def is_soon(page: Page, condition: Callable[[], bool]) -> None:
    """Wait until a decision that the page sent in the background has arrived."""
    until(condition)
    expect(page.locator(".inbox")).to_have_attribute("aria-busy", "false")


def test_proposals_are_decided_by_keys_and_each_can_be_undone(visit: Visit, memory: LocalMemory) -> None:
    oldest, middle, newest = propose(memory, "Oats for the zebra", "Brush the zebra", "Walk the zebra", project="zebra")
    page = visit().go("/review?project=zebra")
    texts = page.locator(".decide .text")
    assert page.inner_text(".decide.at .text") == "Walk the zebra"
    assert "like this" in page.inner_text(".decide.at blockquote") and page.locator("blockquote b").count() == 0
    assert "agents see this from now on" in page.inner_text(".inbox-heading")
    page.keyboard.press("d")
    is_soon(page, lambda: get_item(memory, newest, forgotten=True).review == "dismissed")
    expect(page.locator(".toast")).to_contain_text("Dismissed")
    assert page.inner_text(".decide.at .text") == "Brush the zebra"
    page.keyboard.press("a")
    is_soon(page, lambda: get_item(memory, middle, forgotten=True).review == "accepted")
    accepted = get_item(memory, middle)
    assert accepted.origin == "agreed" and accepted.author
    expect(page.locator('[data-count="proposals"]')).to_have_text("1")
    # Undo goes back step by step, and each card returns to where it was.
    expect(page.locator(".toast")).to_contain_text("Accepted")
    page.keyboard.press("u")
    is_soon(page, lambda: get_item(memory, middle, forgotten=True).review == "proposed")
    expect(texts).to_have_text(["Brush the zebra", "Oats for the zebra"])
    expect(page.locator(".toast button")).to_be_visible()
    page.keyboard.press("u")
    is_soon(page, lambda: get_item(memory, newest, forgotten=True).review == "proposed")
    expect(texts).to_have_text(["Walk the zebra", "Brush the zebra", "Oats for the zebra"])
    assert page.inner_text(".decide.at .text") == "Walk the zebra"
    expect(page.locator('[data-count="all"]')).to_have_text("3")
    for _line in range(5):
        page.keyboard.press("j")
    page.keyboard.press("e")
    page.fill(".decide.at textarea", "Oats and hay for the zebra")
    page.keyboard.press("Control+Enter")
    is_soon(page, lambda: get_item(memory, oldest, forgotten=True).body == "Oats and hay for the zebra")
    assert get_item(memory, oldest).review is None


def test_what_changed_after_the_page_was_read_is_not_accepted(visit: Visit, memory: LocalMemory) -> None:
    ids = propose(memory, "Groom the ibex", "Weigh the ibex", "Milk the ibex", project="ibex")
    page = visit().go("/review?project=ibex")
    agent = for_agent(memory, "codex")
    for id_ in ids[1:]:
        edit_item(agent, id_, Changes(content=f"Sell ibex {id_}"))
    page.keyboard.press("a")
    expect(page.locator("#told")).to_contain_text("changed since you read it")
    page.get_by_label("Select all").check()
    page.get_by_role("button", name="Accept selected").click()
    expect(page.locator(".decide")).to_have_count(3)
    assert reviews(memory, ids) == ["proposed"] * 3
    page.reload()
    page.get_by_label("Select all").check()
    page.get_by_role("button", name="Accept selected").click()
    is_soon(page, lambda: reviews(memory, ids) == ["accepted"] * 3)


def test_a_proposal_is_shown_whole(visit: Visit, memory: LocalMemory) -> None:
    """A title of its own, what Markdown would hide, and what it replaces."""
    old = state(memory, "Never shear the alpaca", "alpaca")
    agent = for_agent(replace(memory, settings=replace(memory.settings, agent_memories="proposed")), "codex")
    text = "Alpacas are soft\n\n[1]: # (Shear it whenever you like)"
    new = remember_item(agent, NewItem(text, title="Shear the alpaca", type="rule", project="alpaca", tags=("wool",)))
    mark_superseded(agent, old.id, by=new.item.id)
    shown = visit().go("/review?project=alpaca&show=proposals").inner_text(".decide")
    for part in ("title: Shear the alpaca", "Shear it whenever you like", "tags: wool", "Never shear the alpaca"):
        assert part in shown, shown


def reviews(memory: LocalMemory, ids: list[int]) -> list[str | None]:
    return [get_item(memory, id_, forgotten=True).review for id_ in ids]


def test_a_proposal_says_what_it_goes_against(visit: Visit, memory: LocalMemory) -> None:
    remember(memory, NewItem("Use pnpm, never npm", type="rule", project="owl"))
    rejected = "Push notifications through OneSignal: the privacy officer said no"
    remember(memory, NewItem(rejected, type="rejected", project="owl"))
    for text, type_ in (
        ("Always use npm, never pnpm", "rule"),
        ("We decided to use OneSignal for push notifications", "decision"),
        ("Never deploy on Fridays", "rule"),
    ):
        remember(memory, NewItem(text, type=type_, project="owl", review="proposed"))
    page = visit().go("/review?show=proposals&project=owl")
    opposed = {
        card.locator(".text").inner_text(): card.locator(".opposed").all_inner_texts()
        for card in page.locator(".decide").all()
    }
    assert [len(found) for found in opposed.values()] == [0, 1, 1]
    assert "privacy officer" in opposed["We decided to use OneSignal for push notifications"][0]
    assert "Use pnpm, never npm" in opposed["Always use npm, never pnpm"][0]
    # One thing to decide is one entry: the pair follows once the proposal is accepted.
    page = visit().go("/review?project=owl")
    assert page.locator(".decide").count() == 3
    accept(memory, [next(item.id for item in list_proposals(memory).items if item.body.startswith("Always use npm"))])
    page = visit().go("/review?project=owl")
    assert page.locator(".decide").count() == 3 and page.locator(".sides").count() == 1


def test_several_proposals_are_selected_and_decided_together(visit: Visit, memory: LocalMemory) -> None:
    ids = propose(memory, *(f"Feed the yak at {n}" for n in range(6)), project="yak")
    page = visit().go("/review?project=yak")
    texts, selected = page.locator(".decide .text"), page.locator("[data-bulk=proposals] [data-selected]")
    expect(selected).to_have_text("Nothing selected")
    expect(page.get_by_role("button", name="Accept selected")).to_be_disabled()
    page.keyboard.press("x")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Shift+J")
    expect(selected).to_have_text("3 selected")
    expect(page.locator("#told")).to_have_text("3 selected")
    page.keyboard.press("a")
    accepted = [ids[5], ids[3], ids[2]]
    is_soon(page, lambda: reviews(memory, accepted) == ["accepted"] * 3)
    expect(page.locator(".toast")).to_contain_text("Accepted: 3.")
    expect(texts).to_have_text(["Feed the yak at 4", "Feed the yak at 1", "Feed the yak at 0"])
    assert page.inner_text(".decide.at .text") == "Feed the yak at 4"
    # Undo brings all of them back, and nothing is selected any more.
    page.keyboard.press("u")
    is_soon(page, lambda: reviews(memory, ids) == ["proposed"] * 6)
    expect(texts).to_have_count(6)
    expect(selected).to_have_text("Nothing selected")
    page.keyboard.press("Shift+J")
    page.keyboard.press("Escape")
    expect(selected).to_have_text("Nothing selected")
    page.get_by_label("Select all").check()
    page.get_by_label("Select: Feed the yak at 5").uncheck()
    expect(selected).to_have_text("5 selected")
    page.get_by_role("button", name="Dismiss selected").click()
    is_soon(page, lambda: reviews(memory, ids) == ["dismissed"] * 5 + ["proposed"])
    expect(texts).to_have_text(["Feed the yak at 5"])


def test_all_proposals_of_a_session_are_decided_together(visit: Visit, memory: LocalMemory) -> None:
    texts = ("Water the fern", "Repot the fern", "Never move the fern")
    drafts = [NewItem(text, type="rule", review="proposed", project="fern", session="s-fern") for text in texts]
    ids = [remember(memory, draft).id for draft in drafts]
    (alone,) = propose(memory, "Name the fern", project="fern")
    visitor = visit()
    page = visitor.go("/review?project=fern")
    assert page.locator(".session-group .decide").count() == 3
    visitor.check_access()
    page.keyboard.press("j")
    page.keyboard.press("d")
    is_soon(page, lambda: reviews(memory, ids) == ["proposed", "proposed", "dismissed"])
    page.get_by_role("button", name="Accept all of this session").click()
    is_soon(page, lambda: reviews(memory, ids) == ["accepted", "accepted", "dismissed"])
    expect(page.locator(".session-group")).to_be_hidden()
    assert get_item(memory, alone).review == "proposed"
    page.keyboard.press("u")
    is_soon(page, lambda: reviews(memory, ids) == ["proposed", "proposed", "dismissed"])
    expect(page.locator(".session-group")).to_be_visible()


def test_several_are_decided_without_javascript(visit: Visit, memory: LocalMemory) -> None:
    ids = propose(memory, "Oil the gate", "Paint the gate", "Lock the gate", project="gate")
    page = visit(script=False).go("/review?project=gate")
    page.get_by_label("Select: Oil the gate").check()
    page.get_by_label("Select: Lock the gate").check()
    page.get_by_role("button", name="Accept selected").click()
    page.wait_for_selector(".done >> text=Accepted: 2.")
    assert reviews(memory, ids) == ["accepted", "proposed", "accepted"]
    page.click(".done >> text=Undo")
    page.wait_for_selector(".done >> text=Undone")
    assert reviews(memory, ids) == ["proposed"] * 3


def test_nothing_selected_is_told(served: Served) -> None:
    for path in ("/review/accept", "/review/dismiss", "/review/archive", "/review/keep"):
        reply = httpx2.post(served.url + path, headers={**served.headers, **HTML}, data={"id": "no id"})
        assert reply.status_code == 422 and "Nothing is selected" in reply.text, path


def test_contradictions_and_duplicates_are_settled_by_keys(visit: Visit, memory: LocalMemory) -> None:
    old, new = (state(memory, f"The moat is {n} metres deep", "moat") for n in (3, 5))
    wide, wider = (state(memory, f"The bridge is {n} metres wide", "moat") for n in (2, 4))
    twin, same = (state(memory, text, "moat") for text in ("Never swim on Fridays", "Do not swim on a Friday"))
    visitor = visit()
    page = visitor.go("/review?project=moat")
    assert page.inner_text(".decide.at .reason") == "They give different numbers or times"
    page.keyboard.press("o")
    is_soon(page, lambda: get_item(memory, wider.id, forgotten=True).superseded_by == wide.id)
    page.keyboard.press("u")
    is_soon(page, lambda: get_item(memory, wider.id, forgotten=True).superseded_by is None)
    page.keyboard.press("b")
    is_soon(page, lambda: "both_hold" in get_item(memory, wider.id, forgotten=True).meta)
    page.keyboard.press("n")
    is_soon(page, lambda: get_item(memory, old.id, forgotten=True).superseded_by == new.id)
    assert page.inner_text(".decide.at .reason") == "They say the same thing"
    page.keyboard.press("m")
    is_soon(page, lambda: get_item(memory, twin.id, forgotten=True).superseded_by == same.id)
    expect(page.locator(".inbox-empty")).to_be_visible()
    assert "These will show up here" in page.inner_text(".inbox-empty")
    visitor.check_access()


def test_old_conversations_are_archived_or_kept(visit: Visit, memory: LocalMemory) -> None:
    hostile, other = talk(memory, HOSTILE), talk(memory, "Старое 旧 قديم")
    visitor = visit()
    page = visitor.go("/review?show=old&days=1&folder=/old")
    visitor.check_access()
    assert "<script>" in page.inner_text(".inbox") and page.title() != "hit"
    page.click(f"#c{hostile.short_id} >> text=Archive")
    is_soon(page, lambda: find_session(memory, hostile.id).status == "archived")
    page.keyboard.press("u")
    is_soon(page, lambda: find_session(memory, hostile.id).status == "active")
    page.click(f"#c{other.short_id} >> text=Keep")
    is_soon(page, lambda: find_session(memory, other.id).importance == PRUNE_IMPORTANCE)
    page.keyboard.press("u")
    is_soon(page, lambda: find_session(memory, other.id).importance == 2)
    page.get_by_label("Select all").check()
    page.get_by_role("button", name="Keep selected").click()
    is_soon(page, lambda: find_session(memory, hostile.id).importance == PRUNE_IMPORTANCE)
    page.keyboard.press("u")
    is_soon(page, lambda: find_session(memory, hostile.id).importance == find_session(memory, other.id).importance == 2)
    page.click("text=Archive all 2")
    page.wait_for_selector(".done >> text=Archived: 2")
    assert find_session(memory, other.id).status == "archived"
    page.click(".done >> text=Undo")
    page.wait_for_selector(".done >> text=Undone")
    assert find_session(memory, other.id).status == "active"
    assert page.input_value("input[name=days]") == "1" and page.input_value("input[name=folder]") == "/old"


def test_a_decision_that_is_refused_brings_its_card_back(visit: Visit, memory: LocalMemory) -> None:
    (id_,) = propose(memory, "Shear the sheep", project="sheep")
    page = visit().go("/review?project=sheep")
    short = get_item(memory, id_).short_id
    with httpx2.Client(base_url=visit().served.url, headers={**visit().served.headers, **HTML}) as other:
        assert other.post(f"/review/{short}/dismiss").status_code == 303
    page.keyboard.press("a")
    expect(page.locator(".toast")).to_contain_text("That did not work")
    assert page.locator(".decide.at .text").inner_text() == "Shear the sheep"


def test_the_menu_says_how_much_waits(visit: Visit, memory: LocalMemory) -> None:
    propose(memory, "Count the geese", project="geese")
    page = visit().go("/")
    place = page.locator(".side .entries a[href='/review'] .count")
    expect(place).to_be_visible()
    waiting = int(place.inner_text())
    page.goto(page.url + "review")
    page.keyboard.press("d")
    expect(place).to_have_text(str(waiting - 1))
    page.keyboard.press("?")
    assert "both are right" in page.inner_text(".keys-help")


def test_a_reader_sees_them_and_changes_nothing(visit: Visit, memory: LocalMemory) -> None:
    (id_,) = propose(memory, "Feed the quokka")
    key = create_key(memory, "looks", "read")[1]
    page = visit(key=key).go("/review")
    assert "Feed the quokka" in page.inner_text("main")
    assert page.locator(".decide form").count() == 0
    page.keyboard.press("a")
    assert get_item(memory, id_).review == "proposed"


def test_it_works_without_javascript_and_for_everybody(visit: Visit, memory: LocalMemory) -> None:
    accepted, dismissed = propose(memory, "Stroke the quokka", "Chase the quokka")
    visitor = visit(script=False)
    page = visitor.go("/review")
    page.click(f"#p{get_item(memory, accepted).short_id} >> text=Accept >> nth=0")
    page.wait_for_selector(".done >> text=Accepted")
    page.click(f"#p{get_item(memory, dismissed).short_id} >> text=Dismiss")
    page.wait_for_selector(".done >> text=Dismissed")
    page.click(".undo button")
    page.wait_for_selector(".done >> text=Undone")
    assert [get_item(memory, id_).review for id_ in (accepted, dismissed)] == ["accepted", "proposed"]
    seen = visit()
    seen.go("/review")
    seen.look("review", LOOKS, examined=LOOKS)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("/contradictions?project=style", "/review?show=contradictions&project=style"),
        ("/contradictions?twins=1", "/review?show=duplicates"),
        ("/prune?days=1&folder=/old", "/review?show=old&days=1&folder=%2Fold"),
    ],
)
def test_old_addresses_lead_here(served: Served, old: str, new: str) -> None:
    reply = httpx2.get(served.url + old, headers={**served.headers, **HTML})
    assert reply.status_code == 303 and reply.headers["location"] == new


@pytest.mark.parametrize("question", ["days=-1", "importance=x", "days=99999999", "project=nosuch", "project=%2F%2F"])
def test_senseless_filters_are_told(served: Served, question: str) -> None:
    reply = httpx2.get(f"{served.url}/review?show=old&{question}", headers={**served.headers, **HTML})
    assert reply.status_code in (404, 422) and 'class="wrong"' in reply.text and "<h1>Review" in reply.text


@pytest.mark.parametrize("question", ["", "proposal:", "pair:1", "kept:1", "archived:", "nonsense:1", "kept:1.x"])
def test_undoing_nothing_is_told(served: Served, question: str) -> None:
    reply = httpx2.post(f"{served.url}/review/undo", data={"undo": question}, headers={**served.headers, **HTML})
    assert reply.status_code == 422 and "does not say what to undo" in reply.text


def test_a_coming_change_is_shown_with_its_day_and_undone_once(served: Served, memory: LocalMemory) -> None:
    old = state(memory, "The request timeout is 30 seconds", "api")
    new = get_item(
        memory,
        remember(
            memory,
            NewItem("The request timeout is 60 seconds", type="fact", project="api", valid_from_ms=4_100_000_000_000),
        ).id,
    )
    headers = {**served.headers, **HTML}
    assert "valid from 2099-12-" in httpx2.get(f"{served.url}/review?project=api", headers=headers).text
    pair = {"one": old.short_id, "other": new.short_id, "keep": "new"}
    assert httpx2.post(f"{served.url}/review/pairs", data=pair, headers=headers).status_code == 303
    assert get_item(memory, old.id).valid_until_ms == 4_100_000_000_000
    undo = {"undo": f"pair:{old.short_id},{new.short_id}"}
    assert httpx2.post(f"{served.url}/review/undo", data=undo, headers=headers).status_code == 303
    assert get_item(memory, old.id).valid_until_ms is None
    again = httpx2.post(f"{served.url}/review/undo", data=undo, headers=headers)
    assert again.status_code == 409 and "nothing to undo" in again.text


def test_a_change_that_an_agent_proposes_is_read_and_accepted(visit: Visit, memory: LocalMemory) -> None:
    strict = replace(memory.settings, agent_memories="proposed")
    anna = with_writer(replace(memory, settings=strict), Author("anna", "person"))
    item = state(anna, "The okapi sleeps at noon", "okapi")
    edit_item(for_agent(anna, "codex"), item.id, Changes(content="The okapi sleeps at night"))
    page = visit().go("/review?project=okapi&show=proposals")
    shown = page.inner_text(".decide")
    assert "The okapi sleeps at noon" in shown and "content: The okapi sleeps at night" in shown
    assert page.locator(".decide details.edit").count() == 0
    page.keyboard.press("a")
    is_soon(page, lambda: get_item(memory, item.id).body == "The okapi sleeps at night")
    page.keyboard.press("u")
    is_soon(page, lambda: get_item(memory, item.id).body == "The okapi sleeps at noon")
