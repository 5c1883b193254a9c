"""The page of rules: by place and path, changed in place, compared, settled, and seen as files."""

from __future__ import annotations

from playwright.sync_api import expect
from tests.mcp.conftest import Served
from tests.web.conftest import LOOKS, Visit

from commonplace.memory.api_keys import create_key
from commonplace.memory.edit_and_forget import Changes, edit_item, forget_items
from commonplace.memory.items import get_item, item_history
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import NewItem, remember
from commonplace.model import Item, Scope

HOSTILE = "Never <img src=x onerror=alert(1)> <script>document.title='hit'</script> [x](javascript:alert(1)) {{7*7}}"


def rule(memory: LocalMemory, text: str, project: str | None = None, paths: str = "") -> Item:
    stored = remember(memory, NewItem(text, type="rule", project=project, details={"paths": paths}))
    return get_item(memory, stored.id)


def test_a_rule_is_written_changed_forgotten_and_brought_back(visit: Visit, memory: LocalMemory) -> None:
    visitor = visit()
    page = visitor.go("/rules")
    assert "No rules here yet" in page.inner_text("main")
    page.fill("#new", "Use tabs in **Go** files")
    page.fill("#new-paths", "src/**/*.{go,mod}\ncmd/**")
    page.fill("#new-project", "my-api")
    page.click("text=Add rule")
    page.wait_for_selector(".done")
    page = visitor.go("/rules?project=my-api&file=src/a/b.go")
    assert "cmd/**" in page.inner_text("main") and page.inner_text(".rule strong") == "Go"
    page.click(".rule summary")
    page.fill(".rule textarea[name=content]", "Use gofmt in Go files")
    page.click(".rule >> text=Save")
    page.wait_for_selector(".done >> text=Changed")
    assert "Use gofmt" in page.inner_text(".rule .text")
    page.click(".rule >> text=Forget")
    page.wait_for_selector(".done >> text=Forgotten")
    assert not page.query_selector(".rule")
    page.click(".done >> text=Undo")
    page.wait_for_selector(".rule")
    (id_,) = [item.id for item in memory.store.newest(Scope(project="my-api", types=("rule",)), 9)]
    assert len(item_history(memory, id_)) == 3


def test_two_tabs_change_one_rule_and_nothing_is_lost(visit: Visit, memory: LocalMemory) -> None:
    stored = rule(memory, "Deploy on Fridays never")
    visitor = visit()
    page = visitor.go("/rules")
    page.click(f"#r{stored.short_id} summary")
    edit_item(memory, stored.id, Changes(content="Deploy on Mondays only"))
    page.fill(f"#r{stored.short_id} textarea[name=content]", "Deploy on Tuesdays only")
    page.click(f"#r{stored.short_id} >> text=Save")
    page.wait_for_selector("text=Someone else changed this rule")
    visitor.check_access()
    visitor.picture("rules-conflict")
    assert "Mondays" in page.inner_text(".wrong") and page.input_value("#mine") == "Deploy on Tuesdays only"
    page.click("text=Save mine instead")
    page.wait_for_selector(".done >> text=Changed")
    assert get_item(memory, stored.id).body == "Deploy on Tuesdays only"
    assert "Mondays" in str(item_history(memory, stored.id)[-1].before)


def test_a_rule_that_cannot_be_kept_stays_in_the_page(visit: Visit, memory: LocalMemory) -> None:
    gone = rule(memory, "Feed the pigeons", "roof")
    page = visit().go("/rules?project=roof")
    page.click(f"#r{gone.short_id} summary")
    forget_items(memory, [gone.id])
    page.fill(f"#r{gone.short_id} textarea[name=content]", "Feed the pigeons at noon")
    page.click(f"#r{gone.short_id} >> text=Save")
    page.wait_for_selector(".wrong >> text=There is no item")
    assert page.input_value("#mine") == "Feed the pigeons at noon"
    page.fill("#mine-project", "roof/../cellar")
    page.click(".wrong >> text=Add rule")
    page.wait_for_selector(".wrong >> text=The project name")
    assert page.input_value("#mine") == "Feed the pigeons at noon"
    page.fill("#mine-project", "roof")
    page.click(".wrong >> text=Add rule")
    page.wait_for_selector(".done >> text=Added")
    # Whoever chooses no project sees those of all.
    assert "at noon" in visit().go("/rules").inner_text("section:has(h2:text-is('roof'))")


def test_contradictions_of_the_rules_are_settled_in_the_inbox(visit: Visit, memory: LocalMemory) -> None:
    old = rule(memory, "Always use tabs for indentation", "style")
    new = rule(memory, "Never use tabs for indentation", "style")
    visitor = visit()
    page = visitor.go("/rules?project=style")
    page.click("text=Find contradictions")
    page.wait_for_url("**/review?show=contradictions&project=style")
    statements = page.locator(".decide .statement").all_inner_texts()
    assert statements == ["Always use tabs for indentation", "Never use tabs for indentation"]
    assert page.locator(".differs").all_inner_texts() == ["Always", "Never"]
    visitor.check_access()
    visitor.picture("rules")
    page.click("text=The newer one is right")
    page.wait_for_selector(".toast >> text=Resolved")
    expect(page.locator(".decide")).to_have_count(0)
    assert get_item(memory, old.id, forgotten=True).superseded_by == new.id


def test_hostile_rules_are_only_read(visit: Visit, memory: LocalMemory) -> None:
    rule(memory, HOSTILE, "gefährlich-危险-خطر", "src/**")
    visitor = visit()
    for path in ("/rules?project=gefährlich-危险-خطر", "/rules/preview?project=gefährlich-危险-خطر&target=claude"):
        page = visitor.go(path)
        visitor.look("rules-hostile", LOOKS, examined=LOOKS[:1])
        assert page.title() != "hit" and not page.query_selector("main img, a[href^=javascript]")
        assert "49" not in page.inner_text("main .text, main pre")


def test_whoever_may_only_read_sees_rules_and_no_buttons(visit: Visit, memory: LocalMemory, served: Served) -> None:
    stored = rule(memory, "Readers read this")
    _key, secret = create_key(memory, "reader", "read")
    page = visit(key=secret).go("/rules")
    assert "Readers read this" in page.inner_text("main")
    assert not page.query_selector("main textarea") and page.query_selector(f"#r{stored.short_id}")


def test_what_is_proposed_is_no_rule_until_somebody_accepts_it(visit: Visit, memory: LocalMemory) -> None:
    rule(memory, "Use tabs in the shop.")
    remember(memory, NewItem("Never deploy on Fridays.", type="rule", review="proposed"))
    page = visit().go("/rules")
    assert "Use tabs in the shop." in page.inner_text("main")
    assert "Never deploy on Fridays." not in page.inner_text("main")
