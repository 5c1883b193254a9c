"""Scrubbing: what should never have been kept is found everywhere, and leaves no trace in the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
from tests.capture.hooks.hook_sessions import Telling, only_item
from tests.raw_sql import all_rows, behind
from tests.whole_items import all_words

from commonplace.capture.hooks.remember_events import remember_events
from commonplace.config import Settings
from commonplace.errors import InvalidInput
from commonplace.memory import streamed_memories
from commonplace.memory.conversations import (
    ConversationChanges,
    NewConversation,
    NewMessage,
    open_conversation,
    store_conversation,
    update_conversation,
)
from commonplace.memory.edit_and_forget import Changes, edit_item, forget_items
from commonplace.memory.idempotency import SavedReply, run_once
from commonplace.memory.items import get_item, item_history
from commonplace.memory.local_memory import LocalMemory, open_memory
from commonplace.memory.recall import recall
from commonplace.memory.remember import NewItem, remember
from commonplace.memory.scrub import copies_of_store, files_holding, scrub_secrets, wipe_deleted
from commonplace.model import Scope

TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3
NAME = "Rumpelstilzchen"


@contextmanager
def careless(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As it was before anyone knew this kind of secret."""
    with monkeypatch.context() as patched:
        for module in ("draft", "conversations", "streamed_memories"):
            patched.setattr(f"commonplace.memory.{module}.redact", lambda text: text)
        patched.setattr("commonplace.text.project_names.redact", lambda text: text)
        yield


def everywhere(memory: LocalMemory, text: str) -> list[int]:
    """Write a text into everything that is kept; the ids of some items."""
    first = remember(
        memory,
        NewItem(
            f"The deploy uses {text} today",
            title=f"Deploy with {text}",
            tags=[f"tag {text}"],
            meta={f"name {text}": [f"value {text}"]},
            session=f"session {text}",
            project=f"project {text}",
        ),
    ).id
    long = remember(memory, NewItem("\n\n".join(f"Part {n} is about {text} and more. " * 20 for n in range(20)))).id
    edit_item(memory, first, Changes(content=f"The deploy used {text} once"))
    edit_item(memory, first, Changes(content="The deploy uses nothing"))
    gone = remember(memory, NewItem(f"Forgotten: {text}")).id
    forget_items(memory, [gone])
    talk = NewConversation(
        f"About {text}",
        [NewMessage("user", f"Use {text}", meta={"name": text}), NewMessage("assistant", "Yes.")],
        f"/f/{text}",
    )
    session = store_conversation(memory, talk).session
    update_conversation(memory, session.uid, ConversationChanges(label="Renamed", folder="/g"))
    streamed_memories.append_to_stream(
        memory, streamed_memories.start_stream(memory, tags=[f"t {text}"]).id, f"chunk {text}"
    )
    answer = SavedReply(200, "{}", f'{{"content": "{text}"}}'.encode())
    run_once(memory, "me", "first", b"x", lambda: answer)
    memory.maintenance.save_source_mark(f"/home/{text}/x.jsonl", {"title": text}, 1)
    memory.maintenance.use_model("tiny", 8)
    jobs = memory.maintenance.claim_jobs("me", 1000, memory.clock(), 1000)
    tokens = [job.passage.text.encode() for job in jobs]
    memory.maintenance.finish_jobs(jobs, np.ones((len(jobs), 8), np.float32), "me", None, tokens)
    return [first, long, gone]


def in_files(settings: Settings, text: str) -> list[str]:
    """The files that hold a text, and the tables of a database that is elsewhere."""
    files = [path for path in settings.data_dir.rglob("*") if path.is_file()]
    forms = (text.encode(), text.lower().encode())
    found = [path.name for path in files if any(form in path.read_bytes() for form in forms)]
    tables = all_rows(settings) if settings.database_url else {}
    return found + [name for name, rows in tables.items() if any(form.decode() in "".join(rows) for form in forms)]


@pytest.mark.parametrize("text", [TOKEN, NAME])
def test_it_is_found_everywhere_and_leaves_no_trace(
    memory: LocalMemory, settings: Settings, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    with careless(monkeypatch):
        ids = everywhere(memory, text)
    other = remember(memory, NewItem("Sessions are kept in Redis")).id
    assert in_files(settings, text) and text in "".join(all_rows(settings)["token_vectors"])
    named = NAME if text == NAME else None
    looked = scrub_secrets(memory, named, dry_run=True)
    assert in_files(settings, text)
    done = scrub_secrets(memory, named)
    assert done.holders == looked.holders
    assert done.kinds == looked.kinds
    assert set(done.kinds) == ({"named"} if named else {"github-token"})
    assert {*memory.maintenance.text_parts()} - set(done.holders) <= {"topics", "jobs", "keys"}
    assert wipe_deleted(memory)
    assert in_files(settings, text) == []
    assert files_holding(memory, text) == []
    mark = "[REDACTED:named]" if named else "[REDACTED:github-token]"
    assert get_item(memory, ids[0]).body == "The deploy uses nothing"
    assert mark in get_item(memory, ids[0]).title
    assert [change.before["body"] for change in item_history(memory, ids[0])] == [
        f"The deploy uses {mark} today",
        f"The deploy used {mark} once",
    ]
    assert mark in get_item(memory, ids[1]).body
    assert get_item(memory, ids[2], forgotten=True).forgotten_ms is not None
    assert get_item(memory, other).rev == 1
    assert scrub_secrets(memory, named).places == 0


def test_what_was_cleaned_is_still_found_by_its_other_words(
    memory: LocalMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    with careless(monkeypatch):
        everywhere(memory, TOKEN)
    scrub_secrets(memory)
    assert [hit.item.id for hit in recall(memory, "about more part", Scope()).hits][:1]
    assert not recall(memory, f'"{TOKEN}"', Scope()).hits
    assert memory.maintenance.index_state(10).stray == memory.maintenance.index_state(10).wordless == 0


def test_two_that_differed_in_a_secret_stay_two(memory: LocalMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    with careless(monkeypatch):
        ids = [remember(memory, NewItem(f"The token is {TOKEN}{n}")).id for n in range(3)]
        keys = [remember(memory, NewItem("x", kind="observation", session=f"{TOKEN}{n}")).id for n in range(2)]
    scrub_secrets(memory)
    assert {get_item(memory, id_).body for id_ in ids} == {"The token is [REDACTED:github-token]"}
    sessions = {get_item(memory, id_).session for id_ in keys}
    assert len(sessions) == 2 and all(session and TOKEN not in session for session in sessions)


def test_a_conversation_that_was_cleaned_is_known_when_it_comes_again(
    memory: LocalMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk = NewConversation("Deploy", [NewMessage("user", f"Use {TOKEN}", identity="m1")], key="conversation-1")
    with careless(monkeypatch):
        conversation = store_conversation(memory, talk)
    scrub_secrets(memory)
    again = store_conversation(memory, talk)
    assert again.duplicate
    assert [message.body for message in open_conversation(memory, conversation.session.uid)[1]] == [
        "Use [REDACTED:github-token]"
    ]


def test_a_title_that_was_cut_keeps_no_beginning_of_it(memory: LocalMemory, settings: Settings) -> None:
    body = "We will meet at the house of the king where everything is made of straw, and then " + NAME * 3
    item = remember(memory, NewItem(body)).id
    session = store_conversation(
        memory, NewConversation("A label that ends in Rumpelstil…", [NewMessage("user", "x")])
    ).session
    scrub_secrets(memory, NAME * 3)
    scrub_secrets(memory, NAME)
    wipe_deleted(memory)
    assert "Rumpel" not in get_item(memory, item).title
    assert open_conversation(memory, session.uid)[0].label == "A label that ends in [REDACTED:named]"
    assert in_files(settings, "Rumpel") == []


def test_what_was_all_private_says_so(memory: LocalMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    with careless(monkeypatch):
        id_ = remember(memory, NewItem("<private>My birthday</private>", title="<private>a</private>")).id
    assert scrub_secrets(memory).kinds == {"private": 2}
    assert get_item(memory, id_).body == "All of this was private."


@pytest.mark.parametrize("named", ["", "abc", "x" * 10_001])
def test_a_text_to_remove_has_a_sensible_length(memory: LocalMemory, named: str) -> None:
    with pytest.raises(InvalidInput, match="characters"):
        scrub_secrets(memory, named)


def test_backups_are_named_because_they_hold_what_was(memory: LocalMemory, settings: Settings) -> None:
    folder = settings.data_dir / "backups"
    folder.mkdir()
    (folder / "commonplace-schema1-x.db").write_bytes(f"... {NAME} ...".encode())
    scrub_secrets(memory, NAME)
    assert [path.name for path in copies_of_store(memory)] == ["commonplace-schema1-x.db"]
    assert [path.name for path in files_holding(memory, NAME)] == ["commonplace-schema1-x.db"]


def test_while_another_process_reads_the_file_is_not_called_wiped(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = open_memory(replace(settings, busy_timeout=0.1))
    try:
        with careless(monkeypatch):
            remember(memory, NewItem(f"Use {TOKEN}"))
        with behind(settings, reading=True) as ask:
            ask("SELECT count(*) FROM items")
            scrub_secrets(memory)
            assert not wipe_deleted(memory)
        assert wipe_deleted(memory)
        assert in_files(settings, TOKEN) == []
    finally:
        memory.close()


def test_a_summary_that_was_cleaned_is_still_brought_up_to_date(memory: LocalMemory) -> None:
    telling = Telling()
    telling.asks(f"Tell {NAME} about the login")
    telling.stops(f"{NAME} knows, because I wrote to him.")
    remember_events(memory, telling.events)
    assert scrub_secrets(memory, NAME).places
    more = Telling(at_ms=telling.at_ms)
    more.asks("Now mend the login")
    more.stops("The login works, because the clock is right.")
    remember_events(memory, more.events)
    for kind in ("summary", "checkpoint"):
        text = all_words([only_item(memory, kind)])
        assert "Now mend the login" in text and NAME not in text


def test_a_summary_that_a_person_edited_is_left_alone_after_cleaning(memory: LocalMemory) -> None:
    telling = Telling()
    telling.asks(f"Tell {NAME} about the login")
    telling.uses("Write", file_path="login.py", content="x")
    telling.stops("It is done.")
    remember_events(memory, telling.events)
    edit_item(memory, only_item(memory).id, Changes(content=f"What {NAME} was told"))
    scrub_secrets(memory, NAME)
    more = Telling(at_ms=telling.at_ms)
    more.asks("Now mend the login")
    more.stops("The login works.")
    remember_events(memory, more.events)
    assert only_item(memory).body == "What [REDACTED:named] was told"
