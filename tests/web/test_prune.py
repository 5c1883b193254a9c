"""The page of what could go: reasons, sizes, archiving what was chosen, and undoing it."""

from __future__ import annotations

from tests.mcp.conftest import Served
from tests.web.conftest import LOOKS, Visit

from commonplace.memory.conversations import NewConversation, NewMessage, store_conversation
from commonplace.memory.keys import create_key
from commonplace.memory.local_memory import LocalMemory
from commonplace.model import Session

LONG_AGO = 1_600_000_000_000
HOSTILE = "<script>document.title='hit'</script> {{7*7}} \u202e \"'>"


def kept(memory: LocalMemory, label: str, importance: float = 2.0) -> Session:
    said = [
        NewMessage("user", f"What about {label}?", LONG_AGO),
        NewMessage("assistant", f"Nothing about {label}.", LONG_AGO),
    ]
    return store_conversation(
        memory, NewConversation(label=label, folder="/old", messages=said, importance=importance)
    ).session


def test_what_could_go_is_archived_and_brought_back(visit: Visit, memory: LocalMemory) -> None:
    hostile, other = kept(memory, HOSTILE), kept(memory, "Старое 旧 قديم")
    visitor = visit()
    page = visitor.go("/prune?days=1&folder=/old")
    visitor.check_access()
    visitor.picture("prune")
    assert "<script>" in page.inner_text("table") and page.title() != "hit"
    page.check(f"#c{hostile.short_id}")
    page.click("text=Archive selected")
    page.wait_for_selector(".done >> text=Archived: 1")
    assert memory.store.get_sessions([hostile.id])[hostile.id].status == "archived"
    assert not page.query_selector(f"#c{hostile.short_id}") and page.query_selector(f"#c{other.short_id}")
    page.click(".done >> text=Undo")
    page.wait_for_selector(".done >> text=Unarchived: 1")
    assert page.input_value("input[name=days]") == "1" and page.input_value("input[name=folder]") == "/old"
    assert memory.store.get_sessions([hostile.id])[hostile.id].status == "active"
    page.check("[data-choose-all]")
    assert page.is_checked(f"#c{other.short_id}")


def test_it_is_readable_everywhere(visit: Visit, memory: LocalMemory) -> None:
    kept(memory, "A very long label " * 6)
    visitor = visit()
    visitor.go("/prune?days=1")
    visitor.look("prune", LOOKS)


def test_whoever_may_only_read_changes_nothing(visit: Visit, memory: LocalMemory, served: Served) -> None:
    kept(memory, "kept from readers")
    _key, secret = create_key(memory, "reader", "read")
    visitor = visit(key=secret)
    page = visitor.go("/prune")
    assert "kept from readers" in page.inner_text("table") and not page.query_selector("text=Archive selected")


def test_senseless_filters_are_told(visit: Visit) -> None:
    visitor = visit()
    page = visitor.go("/prune?days=-1")
    assert "whole number from 0" in page.inner_text(".wrong")
    visitor.check_access()
    page = visitor.go("/prune?days=36500")
    assert "nothing to tidy up" in page.inner_text("main")
