"""The pages of conversations: folders, the list, reading, arranging, exporting, forgetting, and taking it all back."""

from __future__ import annotations

import json

import httpx2
from tests.mcp.conftest import Served
from tests.web.conftest import LOOKS, Visit

from commonplace.memory.api_keys import create_key
from commonplace.memory.conversations import (
    ConversationChanges,
    NewConversation,
    NewMessage,
    find_session,
    open_conversation,
    store_conversation,
    update_conversation,
)
from commonplace.memory.export_conversations import export_text
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import NewItem, remember
from commonplace.memory.sessions import SESSION_PAGE
from commonplace.model import Session
from commonplace.web.conversations import Folder, folder_tree

HTML = {"accept": "text/html"}
THEN = 1_742_000_000_000
HOSTILE = (
    "<script>document.title='hit'</script><img src=x onerror=\"document.title='hit'\"> [x](javascript:alert(1))"
    " {{7*7}} \u202e \"'> Größe 大小 حجم"
)
CODE = "Use this:\n\n```python\ndef limit(n: int) -> int:\n    return n\n```\n\n```\n" + "out\n" * 40 + "```\n"


def stored_conversation(
    memory: LocalMemory, label: str, *texts: str, folder: str = "/", project: str | None = None, **meta: str
) -> Session:
    messages = [
        NewMessage("assistant" if number % 2 else "user", text, THEN + number)
        for number, text in enumerate(texts or (f"What about {label}?", "Nothing."))
    ]
    found = NewConversation(label, messages, folder, project=project, key=f"key of {label}", meta=meta, source="codex")
    return store_conversation(memory, found).session


def test_the_tree_shows_the_way_to_a_folder_and_what_is_beside_it() -> None:
    counts = {"/": 1, "/work/api/old": 2, "/work/site": 3, "/home": 4, "/home/garden": 5}
    names = [(folder.path, folder.count) for folder in folder_tree(counts, "/work")]
    assert names == [("/", 15), ("/home", 9), ("/work", 5), ("/work/api", 2), ("/work/site", 3)]
    assert folder_tree(counts, "/work")[2] == Folder("/work", "work", 1, 5, True)
    assert [folder.path for folder in folder_tree({}, "/")] == []


def test_nothing_there_yet(visit: Visit) -> None:
    visitor = visit()
    page = visitor.go("/conversations")
    assert "No conversations here" in page.inner_text("main")
    assert "nothing here" in visitor.go("/conversations/999999").inner_text("h1")


def test_the_list_is_filtered_and_chosen_ones_are_put_elsewhere_and_back(visit: Visit, memory: LocalMemory) -> None:
    one = stored_conversation(memory, "Queue is slow", folder="/work/api", project="my-api")
    two = stored_conversation(memory, "Größe der Straße", folder="/work")
    visitor = visit()
    page = visitor.go("/conversations?folder=/work")
    assert page.inner_text(".tree [aria-current]").split() == ["work", "2"]
    assert "Queue is slow" in visitor.go("/conversations?project=my-api").inner_text(".letters")
    page.fill("#q", "STRASSE")
    page.press("#q", "Enter")
    page.wait_for_url("**named=STRASSE**")
    page = visitor.go("/conversations?named=STRASSE")
    assert page.inner_text(".letter a") == "Größe der Straße" and len(page.query_selector_all(".letter")) == 1
    page = visitor.go("/conversations?folder=/work")
    page.check("[data-choose-all]")
    page.fill("#to", "/done/2025")
    page.get_by_role("button", name="Move").click()
    page.wait_for_selector(".done >> text=Moved: 2")
    assert {find_session(memory, one.uid).folder, find_session(memory, two.uid).folder} == {"/done/2025"}
    page.click(".done >> text=Undo")
    page.wait_for_selector(".done >> text=Undone: 2")
    assert (find_session(memory, one.uid).folder, find_session(memory, two.uid).folder) == ("/work/api", "/work")
    page = visitor.go("/conversations?folder=/work")
    page.check(f"#c{two.short_id}")
    page.click(".acting >> text=Archive")
    page.wait_for_selector(".done >> text=Archived: 1")
    assert find_session(memory, two.uid).status == "archived" and not page.query_selector(f"#c{two.short_id}")
    page = visitor.go("/conversations?status=archived")
    page.check(f"#c{two.short_id}")
    update_conversation(memory, two.uid, ConversationChanges(importance=7))
    page.click(".acting >> text=Unarchive")
    page.wait_for_selector("text=Someone else changed the conversation")
    assert find_session(memory, two.uid).status == "archived"
    assert "status is" in visitor.go("/conversations?status=x").inner_text(".wrong")


def test_each_tells_what_was_said_last_and_where_it_belongs(visit: Visit, memory: LocalMemory) -> None:
    said = [NewMessage("user", "Frau Brandt of Hartmann closes the year.")]
    store_conversation(memory, NewConversation("Chat with Mira", said, folder="/owls"))
    answered = [NewMessage("user", "At which number do invoices start?"), NewMessage("assistant", "They start at 14.")]
    store_conversation(memory, NewConversation("Numbers", answered, folder="/owls", project="owl"))
    page = visit().go("/conversations?folder=/owls")
    text = page.inner_text("main")
    assert "Frau Brandt of Hartmann closes the year." in text and "They start at 14." in text
    # Nothing is told everywhere because it belongs to no project; only statements are.
    assert "no project" in text and "everywhere" not in text
    page.get_by_role("link", name="Chat with Mira").click()
    assert "no project" in page.inner_text("p.about")


def test_one_is_arranged_forgotten_and_brought_back(visit: Visit, memory: LocalMemory) -> None:
    session = stored_conversation(memory, "Billing")
    visitor = visit()
    page = visitor.go(f"/conversations/{session.short_id}")
    page.click("text=Rename, move or rate")
    page.fill("#label", "Billing of customers")
    page.fill("#folder", "/new/../place")
    page.fill("#importance", "7.5")
    page.click("text=Save")
    page.wait_for_selector(".wrong >> text=is not a folder")
    assert page.input_value("#label") == "Billing of customers"
    page.fill("#folder", "/new/place")
    page.click("text=Save")
    page.wait_for_selector(".done >> text=Changed")
    now = find_session(memory, session.uid)
    assert (now.label, now.folder, now.importance) == ("Billing of customers", "/new/place", 7.5)
    page.click(".acting >> text=Pin")
    page.wait_for_selector(".done >> text=Pinned")
    assert find_session(memory, session.uid).status == "pinned"
    page.click(".done >> text=Undo")
    page.wait_for_selector(".done >> text=Undone")
    assert (find_session(memory, session.uid).status, find_session(memory, session.uid).importance) == ("active", 7.5)
    page.click(".acting >> text=Archive")
    page.wait_for_selector(".done >> text=Archived")
    page.click("text=Rename, move or rate")
    page.fill("#label", "Mine")
    update_conversation(memory, session.uid, ConversationChanges(label="Theirs"))
    page.click("text=Save")
    page.wait_for_selector("text=Someone else changed this conversation")
    visitor.check_access()
    visitor.picture("conversation-conflict")
    assert "Theirs" in page.inner_text(".wrong") and page.input_value("#label") == "Mine"
    page.click("text=Save")
    page.wait_for_selector(".done >> text=Changed")
    assert find_session(memory, session.uid).label == "Mine"
    page.click("text=Forget")
    page.wait_for_selector("text=This conversation was forgotten")
    assert find_session(memory, session.uid, forgotten=True).forgotten_ms is not None
    page.click("button >> text=Restore")
    page.wait_for_selector(".entry")
    assert find_session(memory, session.uid).forgotten_ms is None


def test_a_long_one_is_read_page_by_page_and_found_in(visit: Visit, memory: LocalMemory) -> None:
    texts = [f"turn number {number}" for number in range(SESSION_PAGE * 2 + 5)]
    texts[60] = "a zebra crossed the street"
    session = stored_conversation(memory, "Long", *texts)
    agent = stored_conversation(memory, "Explorer", parent_session=session.key)
    visitor = visit()
    page = visitor.go(f"/conversations/{session.short_id}")
    assert len(page.query_selector_all(".entry")) == SESSION_PAGE and "Explorer" in page.inner_text(".kin")
    page.click("text=Last >> nth=0")
    page.wait_for_selector(f"text=turn number {len(texts) - 1}")
    page.fill("#q", "zebra")
    page.press("#q", "Enter")
    page.wait_for_selector("mark >> text=zebra")
    visitor.check_access()
    page.click(".found a")
    page.wait_for_selector(".entry.meant >> text=a zebra crossed")
    zebra = memory.store.messages_of(session.id)[60]
    for address in (f"/conversations/{session.short_id}#m{zebra.short_id}", f"/conversations/{zebra.uid}"):
        page = visitor.go(address)
        page.wait_for_selector(f"#m{zebra.short_id}:target")
    assert "Long" in visitor.go(f"/conversations/{agent.short_id}").inner_text(".kin")


def test_an_export_is_what_the_command_writes(memory: LocalMemory, served: Served) -> None:
    session = stored_conversation(memory, "Größe / <b>", "Look", CODE)
    for format_, ending in (("json", "json"), ("markdown", "md")):
        address = f"{served.url}/conversations/{session.short_id}/export?format={format_}"
        reply = httpx2.get(address, headers={**served.headers, **HTML})
        result = reply.headers["content-disposition"]
        assert reply.status_code == 200 and result.startswith("attachment") and result.endswith(f".{ending}")
        wanted = export_text(*open_conversation(memory, session.uid), format_)
        # Each reading is noted, which is part of the data.
        assert _unread(reply.text) == _unread(wanted)


def _unread(text: str) -> object:
    return json.loads(text) | {"last_accessed": None} if text.startswith("{") else text


def test_hostile_text_is_only_read(visit: Visit, memory: LocalMemory) -> None:
    session = stored_conversation(
        memory, HOSTILE, HOSTILE, CODE, "x" * 990_000, folder=f"/{HOSTILE[:60].replace('/', '')}"
    )
    details = {"narrative": HOSTILE, "files_read": HOSTILE}
    for number in range(3):
        remember(
            memory,
            NewItem(
                f"{HOSTILE} {number}\n" * 20,
                kind="observation",
                title=HOSTILE,
                session=session.key,
                details=details,
                created_ms=THEN + number,
            ),
        )
    summary = {"request": HOSTILE, "next_steps": "Measure"}
    remember(memory, NewItem(kind="summary", title="Done", session=session.key, details=summary, created_ms=THEN + 9))
    visitor = visit()
    addresses = {"conversations": "/conversations?status=all", "conversation": f"/conversations/{session.short_id}"}
    for name, address in addresses.items():
        page = visitor.go(address)
        visitor.look(name, LOOKS, examined=LOOKS[:1])
        assert page.title() != "hit" and not page.query_selector("main img, a[href^=javascript]")
        assert "{{7*7}}" in page.inner_text("main")
    assert page.query_selector(".code .k") and page.query_selector("details.fold pre")
    long = memory.store.messages_of(session.id)[2]
    page = visitor.go(f"/conversations/{long.uid}")
    assert "970,000 more characters" in page.inner_text(f"#m{long.short_id}")


def test_sessions_without_messages_and_readers_without_buttons(visit: Visit, memory: LocalMemory) -> None:
    remember(memory, NewItem("pytest passed", kind="observation", title="Ran the tests", session="agent-1"))
    _key, secret = create_key(memory, "reader", "read")
    page = visit(key=secret).go("/conversations")
    page.click("text=agent-1")
    page.wait_for_selector(".entry.observation >> text=Ran the tests")
    assert not page.query_selector("main form[method=post]")


def test_a_key_of_a_project_sees_its_conversations_only(visit: Visit, memory: LocalMemory) -> None:
    stored_conversation(memory, "Ours only", project="ours")
    theirs = stored_conversation(memory, "Theirs only", project="theirs")
    _key, secret = create_key(memory, "limited", "write", project="ours")
    visitor = visit(key=secret)
    page = visitor.go("/conversations")
    assert "Ours only" in page.inner_text("main") and "Theirs only" not in page.inner_text("main")
    assert "nothing here" in visitor.go(f"/conversations/{theirs.short_id}").inner_text("h1")
