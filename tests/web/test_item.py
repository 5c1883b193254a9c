"""The page of an item: read, changed, replaced, forgotten and brought back, by two at once and by whoever was away."""

from __future__ import annotations

import os
import re

import httpx2
from tests.mcp.conftest import Served
from tests.web.conftest import LOOKS, NARROW, Visit

from commonplace.memory.api_keys import create_key
from commonplace.memory.authors import with_writer
from commonplace.memory.conversations import NewConversation, NewMessage, open_conversation, store_conversation
from commonplace.memory.draft import MAX_TEXT
from commonplace.memory.edit_and_forget import Changes, edit_item, forget_items, mark_superseded
from commonplace.memory.items import get_item, item_history
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import NewItem, remember, remember_all
from commonplace.model import Author, Item, Scope

HOSTILE = "<img src=x onerror=alert(1)><script>document.title='hit'</script>[x](javascript:alert(1)) {{7*7}} \u202e'\"&"
HTML = {"accept": "text/html"}


def stored_item(memory: LocalMemory, text: str, **more: object) -> Item:
    return get_item(memory, remember(memory, NewItem(text, **more)).id)  # type: ignore[arg-type]


def test_everything_about_an_item_is_there_under_any_spelling_of_its_id(
    visit: Visit, memory: LocalMemory, served: Served
) -> None:
    (served.folder / "pump.py").write_text("x", encoding="utf-8")
    item = stored_item(
        memory, "Pumps run at **night**", kind="observation", type="change", title="Pumps", session="s-pumps",
        project="github.com/acme/works", tags=["water"], importance=6.0, created_ms=memory.clock() - 90_000,
        details={"facts": "two pumps", "files_modified": "pump.py"},
        meta={"root": str(served.folder), "shift": {"by": "Ada"}},
    )  # fmt: skip
    stored_item(
        memory, "Pumps stopped", kind="observation", type="change", title="After", session="s-pumps", project="works"
    )
    visitor = visit()
    for id_ in (item.short_id, item.uid, str(item.id), item.uid.upper(), f"%23{item.id}"):
        page = visitor.go(f"/items/{id_}")
        assert page.inner_text("h1") == "Pumps", id_
    page.click("text=Identifiers and metadata")
    shown = page.inner_text("main")
    for fact in (
        item.uid,
        item.short_id,
        "github.com/acme/works",
        "water",
        "two pumps",
        "6 of 10",
        "Ada",
        "s-pumps",
        "After",
    ):
        assert fact in shown, fact
    assert "has changed since: pump.py" in shown and page.inner_text(".item-text strong") == "night"
    visitor.check_access()
    visitor.picture("item-light-1280")
    page.click("text=As plain text")
    assert "**night**" in page.inner_text(".item-text")
    os.utime(served.folder / "pump.py", (1, 1))
    assert "has changed" not in visitor.go(f"/items/{item.id}").inner_text("main")


def test_an_item_is_changed_in_place_and_its_history_shows_how(visit: Visit, memory: LocalMemory) -> None:
    item = stored_item(memory, "Tokens live fifteen minutes\nand are checked twice", type="fact", tags=["auth"])
    visitor = visit()
    page = visitor.go(f"/items/{item.short_id}")
    page.keyboard.press("e")
    page.wait_for_selector("#edit")
    visitor.check_access()
    page.fill("#f-importance", "eleven")
    page.fill("#f-content", "Tokens live thirty minutes\nand are checked twice")
    page.click("text=Save")
    page.wait_for_selector(".wrong >> text=is not an importance")
    assert page.input_value("#f-content").startswith("Tokens live thirty")
    page.fill("#f-importance", "4,5")
    page.fill("#f-tags", "auth, tokens ,")
    page.select_option("#f-type", "decision")
    page.fill("#f-project", "my-api")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".done >> text=Changed")
    changed = get_item(memory, item.id)
    assert (changed.body, changed.title) == (
        "Tokens live thirty minutes\nand are checked twice",
        "Tokens live thirty minutes",
    )
    assert (changed.type, changed.project, changed.importance) == ("decision", "my-api", 4.5)
    assert changed.tags == ("auth", "tokens") and len(item_history(memory, item.id)) == 1
    assert page.locator(".version del").first.inner_text().strip() == "fifteen"
    assert page.locator(".version ins").first.inner_text().strip() == "thirty"
    visitor.check_access()
    visitor.picture("item-history")
    page.click("text=Edit")
    page.click("text=Save")
    page.wait_for_selector("h1")
    assert len(item_history(memory, item.id)) == 1
    page.click("text=Go back to before this edit")
    page.wait_for_selector(".done >> text=Reverted")
    again = get_item(memory, item.id)
    assert (again.body, again.project, again.tags) == (item.body, None, ("auth",)) and again.rev == 3


def test_two_tabs_change_one_item_and_choose(visit: Visit, memory: LocalMemory) -> None:
    item = stored_item(memory, "Deploy on Fridays never", title="Deploying", details={"category": "ops"})
    visitor = visit()
    for mine, choice, left in (
        ("Deploy on Tuesdays", "Keep mine", "Tuesdays"),
        ("Deploy hourly", "Keep the current one", "Monday"),
    ):
        page = visitor.go(f"/items/{item.id}?edit=1")
        theirs = edit_item(
            memory, item.id, Changes(content=f"Deploy on Mondays only, not after {len(mine)}", tags=["theirs"])
        )
        page.fill("#f-content", mine)
        page.click("text=Save")
        page.wait_for_selector("h1 >> text=Someone else changed this")
        visitor.check_access()
        visitor.picture("item-conflict")
        assert "Mondays" in page.inner_text(".pair") and page.input_value("#f-content") == mine
        assert page.locator("del").count() and page.locator("ins").count()
        page.click(f"text={choice}")
        page.wait_for_selector("article.item")
        assert left in get_item(memory, item.id).body and get_item(memory, item.id).details == {"category": "ops"}
    assert theirs.rev == get_item(memory, item.id).rev
    assert any("Mondays" in str(change.before) for change in item_history(memory, item.id))


def test_what_was_written_survives_signing_in_again(visit: Visit, memory: LocalMemory) -> None:
    item = stored_item(memory, "The ferry leaves at nine")
    text = 'The ferry leaves at ten\n\n"quoted" & <b>bold</b>\n' + "a long line " * 30
    visitor = visit()
    page = visitor.go(f"/items/{item.id}?edit=1")
    page.fill("#f-content", text)
    page.context.clear_cookies(name=re.compile("commonplace_visit"))
    page.click("text=Save")
    page.wait_for_selector("#key")
    assert "stays on this page" in page.inner_text("main")
    page.fill("#key", visitor.served.key)
    page.press("#key", "Enter")
    page.wait_for_selector("text=Send it now")
    page.click("text=Send it now")
    page.wait_for_selector(".done >> text=Changed")
    assert get_item(memory, item.id).body == text


def test_the_history_of_a_belief_spans_what_replaced_what(visit: Visit, memory: LocalMemory) -> None:
    old = stored_item(memory, "Ferries leave at nine", type="decision", project="harbour")
    new = remember_all(memory, [NewItem("Ferries leave at ten", type="decision", project="harbour")])[0]
    mark_superseded(memory, old.id, new.id)
    anna = with_writer(memory, Author("anna", "person"))
    edit_item(anna, new.id, Changes(content="Ferries leave at ten, on Sundays at noon"))
    visitor = visit()
    page = visitor.go(f"/items/{new.id}")
    visitor.look("item-belief", LOOKS[:2], examined=LOOKS[:2])
    stages = page.locator(".version").all_inner_texts()
    assert [stage.split()[0] for stage in stages] == ["Edited", "Replaced", "Stated"]
    assert "by anna" in stages[0] and "current" in stages[0] and "current" not in stages[1]
    assert [page.inner_text(f".version >> nth=1 >> {tag}").strip() for tag in ("del", "ins")] == ["nine", "ten"]
    # The one that was replaced has the same history.
    page = visitor.go(f"/items/{old.id}")
    assert [stage.split()[0] for stage in page.locator(".version").all_inner_texts()] == [
        "Edited",
        "Replaced",
        "Stated",
    ]


def test_an_edit_is_undone_by_its_toast_and_ids_are_copied(visit: Visit, memory: LocalMemory) -> None:
    item = stored_item(memory, "Kites fly at dawn")
    visitor = visit()
    visitor.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = visitor.go(f"/items/{item.short_id}?edit=1")
    page.fill("#f-content", "Kites fly at dusk")
    page.press("#f-content", "Control+Enter")
    page.wait_for_selector(".toast[role=status] >> text=Changed")
    page.wait_for_url(lambda url: "did=" not in url)
    page.keyboard.press("u")
    page.wait_for_selector(".toast >> text=Reverted")
    assert get_item(memory, item.id).body == "Kites fly at dawn"
    page.click(".toast .close")
    assert not page.query_selector(".toast")
    page.click(f"[data-copy='{item.short_id}']")
    page.wait_for_selector("#told:has-text('Copied')", state="attached")
    assert page.evaluate("navigator.clipboard.readText()") == item.short_id


def test_an_item_is_replaced_by_what_is_written_or_named(visit: Visit, memory: LocalMemory) -> None:
    old, named = (
        stored_item(memory, "Lamps burn gas", type="fact", project="coast"),
        stored_item(memory, "Lamps burn oil", type="fact"),
    )
    visitor = visit()
    page = visitor.go(f"/items/{old.id}")
    page.click("summary >> text=Replace it")
    page.click("button >> text=Replace it")
    page.wait_for_selector(".wrong >> text=Nothing replaces it")
    page.click("summary >> text=Replace it")
    page.fill("#replacement", "Lamps are electric")
    page.click("button >> text=Replace it")
    page.wait_for_selector(".done >> text=Replaced")
    (new_id,) = [get_item(memory, old.id).superseded_by]
    new = get_item(memory, new_id or 0)
    assert (new.body, new.type, new.project) == ("Lamps are electric", "fact", "coast")
    assert "Lamps burn gas" in page.inner_text(".versions")
    assert "It was replaced by: Lamps are electric" in visitor.go(f"/items/{old.id}").inner_text(".state")
    page.click("button >> text=Restore")
    page.wait_for_selector(".done >> text=Restored")
    page.click("summary >> text=Replace it")
    page.fill("#by", named.short_id)
    page.click("button >> text=Replace it")
    page.wait_for_selector(".done >> text=Replaced")
    assert get_item(memory, old.id).superseded_by == named.id
    page.click(".done >> text=Undo")
    page.wait_for_selector(".done >> text=Restored")
    assert get_item(memory, old.id).superseded_by is None


def test_what_was_forgotten_says_so_and_comes_back(visit: Visit, memory: LocalMemory) -> None:
    item = stored_item(memory, "A thing to forget")
    visitor = visit()
    page = visitor.go(f"/items/{item.id}")
    page.click("text=Forget")
    page.wait_for_selector(".done >> text=Forgotten")
    assert get_item(memory, item.id, forgotten=True).forgotten_ms is not None
    page = visitor.go(f"/items/{item.short_id}")
    assert "Forgotten" in page.inner_text(".state") and not page.query_selector("main >> text=Edit")
    visitor.check_access()
    page.click("button >> text=Restore")
    page.wait_for_selector(".done >> text=Restored")
    assert get_item(memory, item.id).forgotten_ms is None
    forget_items(memory, [item.id])
    reader = visit(key=create_key(memory, "only-reads", "read")[1])
    page = reader.go(f"/items/{item.id}")
    assert "Forgotten" in page.inner_text(".state") and not page.query_selector("main form")
    for id_ in ("0", "zzz", "no-such%20id%3Cb%3E", "0" * 12):
        page = reader.go(f"/items/{id_}")
        assert "nothing here" in page.inner_text("h1")
    reader.check_access()


def test_something_is_remembered_by_hand(visit: Visit, memory: LocalMemory) -> None:
    visitor = visit()
    page = visitor.go("/search")
    page.click("text=Remember something")
    page.click("main >> button >> text=Remember")
    page.wait_for_selector(".wrong >> text=nothing to remember")
    page.fill("#f-content", "Never open the sluice in spring")
    page.select_option("#f-type", "rule")
    page.fill("#f-project", "works")
    page.click("main >> button >> text=Remember")
    page.wait_for_selector(".done >> text=Added")
    (item,) = memory.store.newest(Scope(project="works", types=("rule",)), 5)
    assert item.body == "Never open the sluice in spring" and item.short_id in page.url
    page = visitor.go("/items/new?project=works&type=rule")
    page.fill("#f-content", "Always open the sluice in spring")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".state >> text=says the opposite")
    visitor.check_access()
    page.click("text=This one is right")
    page.wait_for_selector(".done >> text=Replaced")
    assert get_item(memory, item.id).superseded_by is not None


def test_an_item_of_a_megabyte_opens_in_part(visit: Visit, memory: LocalMemory, served: Served) -> None:
    lines = "\n".join(f"{n:06} a line of a long log" for n in range(MAX_TEXT // 28))
    item = stored_item(memory, lines[: MAX_TEXT - 10] + "\nTHE END", title="A long log")
    reply = httpx2.get(f"{served.url}/items/{item.id}", headers={**served.headers, **HTML})
    assert reply.status_code == 200 and len(reply.text) < 60_000
    visitor = visit(NARROW)
    page = visitor.go(f"/items/{item.id}")
    assert f"of {len(item.body):,} characters" in page.inner_text(".item-text")
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW[0]
    whole = httpx2.get(f"{served.url}/items/{item.id}?all=1", headers={**served.headers, **HTML})
    assert "THE END" in whole.text and "THE END" not in reply.text


def test_hostile_text_is_only_read(visit: Visit, memory: LocalMemory) -> None:
    messages = [NewMessage("user", HOSTILE), NewMessage("assistant", f"Ответ 答え جواب {HOSTILE}")]
    session = store_conversation(memory, NewConversation(f"<b>{HOSTILE[:80]}", messages, project="危险-خطر")).session
    item = stored_item(
        memory, f"{HOSTILE}\n\n```html\n{HOSTILE}\n```", title=f"危险 {HOSTILE}"[:200], type="note",
        project="危险-خطر", tags=["<b>'\"", "тег"], meta={HOSTILE[:30]: HOSTILE, "deep": [{"a": HOSTILE}]},
        details={"facts": HOSTILE, "concepts": "x" * 300},
    )  # fmt: skip
    edit_item(memory, item.id, Changes(content=f"{HOSTILE} now", tags=["<i>"]))
    visitor = visit()
    for path in (
        f"/items/{item.id}",
        f"/items/{item.id}?edit=1",
        f"/items/{open_conversation(memory, session.uid)[1][1].id}",
    ):
        page = visitor.go(path)
        visitor.look("item", LOOKS, examined=LOOKS[:1])
        assert not page.title().startswith("hit") and "49" not in page.inner_text("h1")
        assert not page.query_selector("main img, main script, a[href^=javascript]")


def test_a_key_for_one_project_sees_its_items_only(memory: LocalMemory, served: Served) -> None:
    ours = stored_item(memory, "The weir is open", project="weir", session="s-weir")
    theirs = stored_item(memory, "The dam is shut", project="dam")
    headers = {"authorization": f"Bearer {create_key(memory, 'weir', 'write', project='weir')[1]}", **HTML}
    with httpx2.Client(base_url=served.url, headers=headers) as client:
        assert "The weir is open" in client.get(f"/items/{ours.id}").text
        hidden = client.get(f"/items/{theirs.id}")
        assert hidden.status_code == 404 and "dam is shut" not in hidden.text
        assert client.post(f"/items/{theirs.id}/forget").status_code == 404
        found = client.get("/search", params={"q": "weir dam open shut"}).text
        assert "weir" in found and "dam is shut" not in found
        moved = client.post(f"/items/{ours.id}", data={"rev": "1", "project": "dam", "content": "The weir is shut"})
        assert moved.status_code == 403 and "The weir is shut" in moved.text
    assert get_item(memory, ours.id).body == "The weir is open"


def test_when_an_item_holds_is_shown_and_changed_in_its_form(visit: Visit, memory: LocalMemory) -> None:
    item = stored_item(memory, "Until 31 December 2098 walrus deploys go through Ines.", type="rule")
    page = visit().go(f"/items/{item.short_id}")
    assert "until 2098-12-31" in page.content() and "(read from the text)" in page.content()
    page.goto(page.url + "?edit=1")
    assert page.input_value("#f-valid-until") == "2098-12-31"
    page.fill("#f-valid-until", "")
    page.click("#edit button.main-button")
    page.wait_for_selector(".versions")
    assert get_item(memory, item.id).valid_until_ms is None


def test_times_of_changes_read_as_times(visit: Visit, memory: LocalMemory) -> None:
    item = remember(memory, NewItem("Backups are kept for 30 days", type="fact"))
    edit_item(memory, item.id, Changes(valid_until_ms=1_952_798_511_320))
    text = visit().go(f"/items/{item.id}").inner_text("main")
    assert "18 November 2031, 20:01 UTC" in text and "T20:01" not in text
