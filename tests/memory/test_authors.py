"""Who wrote something: set by the way a call comes in, kept for each revision, and not by what the call says."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.conftest import Clock

from commonplace.config import Settings
from commonplace.memory.authors import for_agent, for_capture, for_import, with_writer
from commonplace.memory.callers import clean_author, http_writer, local_writer
from commonplace.memory.captured_events import EventOutcome, StartedSession, store_captured
from commonplace.memory.conversations import NewConversation, NewMessage, store_conversation
from commonplace.memory.edit_and_forget import Changes, edit_item, forget_items, restore_items
from commonplace.memory.history import item_revisions
from commonplace.memory.import_items_and_records import ImportedItem, import_items
from commonplace.memory.items import get_item, item_history
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import NewItem, remember, remember_item
from commonplace.model import ORIGINS, Author, Item, Key, Scope

ANNA, BEN = Author("anna", "person"), Author("ben", "person")


def source(item: Item) -> tuple[str | None, str | None]:
    return item.author, item.origin


@pytest.fixture
def anna(memory: LocalMemory) -> LocalMemory:
    return with_writer(memory, ANNA)


@pytest.mark.parametrize(
    ("env", "author", "expected"),
    [
        ({"LOGNAME": "anna"}, "", Author("anna", "person")),
        ({"USER": "anna"}, "Anna Berg", Author("Anna Berg", "person")),
        ({"LOGNAME": "anna", "CLAUDECODE": "1"}, "", Author("anna via claude-code", "agent")),
        ({"LOGNAME": "anna", "CURSOR_AGENT": "1"}, "Anna", Author("Anna via cursor", "agent")),
        ({"LOGNAME": "anna", "CODEX_SANDBOX_NETWORK_DISABLED": "1"}, "", Author("anna via codex", "agent")),
        ({"LOGNAME": "anna", "AI_AGENT": "amp\n"}, "", Author("anna via amp", "agent")),
        ({"LOGNAME": "anna", "AI_AGENT": "1", "CLAUDECODE": "1"}, "", Author("anna via claude-code", "agent")),
        ({"LOGNAME": "anna", "CLAUDECODE": ""}, "", Author("anna", "person")),
    ],
)
def test_who_works_on_this_machine(settings: Settings, env: dict[str, str], author: str, expected: Author) -> None:
    assert local_writer(replace(settings, author=author), env) == expected


@pytest.mark.parametrize(
    ("headers", "by_login", "expected"),
    [
        ({}, True, Author("anna", "person")),
        ({"user-agent": "curl/8.0"}, False, Author("anna", "person")),
        ({"user-agent": "claude-code/2.1 (cli)"}, False, Author("anna via claude-code", "agent")),
        ({"x-commonplace-agent": "reviewer (opus-4)"}, False, Author("anna via reviewer (opus-4)", "agent")),
        ({"x-commonplace-agent": "anna via boss"}, False, Author("anna via anna boss", "agent")),
        ({"x-commonplace-agent": "reviewer"}, True, Author("anna", "person")),
    ],
)
def test_who_calls_over_http(settings: Settings, headers: dict[str, str], by_login: bool, expected: Author) -> None:
    assert http_writer(key("anna", "write"), settings, headers, by_login=by_login) == expected


def test_only_the_key_that_a_server_made_first_is_its_persons(settings: Settings) -> None:
    ada = replace(settings, author="Ada Berg")
    assert http_writer(key("first", "admin"), ada, {}, by_login=False).name == "Ada Berg"
    assert http_writer(key("first", "write"), ada, {}, by_login=False).name == "first"
    assert http_writer(key("ada", "admin"), ada, {}, by_login=False).name == "ada"


def key(name: str, scope: str) -> Key:
    return Key(1, name, "sk-sekha-0", scope, None, 0)


def test_a_name_stays_on_one_line_and_short() -> None:
    assert clean_author("  Anna\n\x1b[31m <b>Berg</b>  ") == "Anna 31m b Berg /b"
    assert len(clean_author("x" * 5000)) == 100


def test_what_is_said_of_the_author_does_not_count(anna: LocalMemory) -> None:
    agent = for_agent(anna, "claude-code")
    new = NewItem("Deploy on Mondays", author="ben", origin="person", review="accepted")
    assert source(remember_item(agent, new).item) == ("anna via claude-code", "agent")
    assert remember_item(agent, new).item.review is None


def test_each_revision_has_the_author_of_its_words(anna: LocalMemory) -> None:
    item = remember_item(anna, NewItem("Deploy on Mondays", type="rule")).item
    agent, ben = for_agent(anna, "claude-code"), with_writer(anna, BEN)
    edit_item(agent, item.id, Changes(content="Deploy on Tuesdays"))
    assert source(get_item(anna, item.id)) == ("anna via claude-code", "agent")
    edit_item(ben, item.id, Changes(tags=["deploy"]))
    assert source(get_item(anna, item.id)) == ("anna via claude-code", "agent"), "a tag is not what it says"
    forget_items(ben, [item.id])
    restore_items(anna, [item.id])
    changes = item_history(anna, item.id)
    assert [(change.op, change.author) for change in changes] == [
        ("edit", "anna via claude-code"),
        ("edit", "ben"),
        ("forget", "ben"),
        ("restore", "anna"),
    ]
    assert changes[0].before["author"] == "anna"
    assert [revision.author for revision in item_revisions(anna, item.id)][::-1][:2] == ["anna via claude-code", "ben"]


def test_what_is_imported_captured_or_stored_as_a_conversation(anna: LocalMemory, clock: Clock) -> None:
    uid = "0192f0c1-2b3c-7d4e-8f50-0123456789ab"
    import_items(anna, [ImportedItem(NewItem("Imported", uid=uid))])
    assert source(get_item(anna, uid)) == ("anna", "imported")
    stored = store_conversation(for_import(anna), NewConversation("Chat", [NewMessage("user", "Hello there")]))
    assert {source(item) for item in anna.store.messages_of(stored.session.id)} == {("anna", "imported")}
    note = NewItem("Ran the tests", kind="observation", type="command", session="claude-code:1", created_ms=clock())
    started = StartedSession("claude-code:1", "claude-code", "Work", clock())
    store_captured(anna, [started], [EventOutcome("e1", "kept:command", note)], [])
    (found,) = anna.store.newest(Scope(kinds=("observation",)), 5)
    assert source(found) == ("anna via claude-code", "captured")
    assert for_capture(anna).writer == Author("anna", "captured")


def test_trust_falls_from_a_person_to_what_was_proposed(anna: LocalMemory) -> None:
    levels = []
    for number, origin in enumerate((*ORIGINS, None)):
        stored = remember(with_writer(anna, Author("x", origin)), NewItem(f"Fact number {number}"))
        levels.append(get_item(anna, stored.id).trust)
    assert levels[:5] == sorted(levels[:5], reverse=True) and len(set(levels[:5])) == 5
    assert levels[5] == levels[2], "unknown counts as an agent's"
    proposed = remember_item(anna, NewItem("Perhaps", review="proposed")).item
    assert proposed.trust == 0.0 < min(levels)
