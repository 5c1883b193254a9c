"""Sessions of coding agents become conversations that follow their files, once, and a person's word stands."""

from __future__ import annotations

import gzip
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from commonplace.capture.hooks.remember_events import remember_events
from commonplace.capture.ingest_transcripts import IngestRun
from commonplace.hosts.hook_event import Event
from commonplace.memory.conversations import ConversationChanges, latest_conversations, update_conversation
from commonplace.memory.conversations import forget_session as forget_session
from commonplace.memory.edit_and_forget import Changes, edit_item, forget_items
from commonplace.memory.import_items_and_records import save_source_mark
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.recall import recall
from commonplace.memory.review import dismiss, list_proposals
from commonplace.model import Scope, SessionScope
from commonplace.text.dates import DAY_MS, iso_time

from .ingest_helpers import bodies_at_once, ingest, messages, place, session, talk
from .transcripts.corpus import FOLDER, SESSION, Claude, jsonl, write


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return place(tmp_path)


def test_a_session_becomes_a_conversation(memory: LocalMemory, path: Path) -> None:
    summary = ingest(memory, write(path, talk().records))
    assert (summary.conversations.added, summary.messages.added, summary.files.added) == (1, 4, 1)
    stored = session(memory)
    assert stored.label == "Why does the login test fail?" and stored.source == "claude-code" and stored.messages == 4
    assert stored.project == "my-api" and stored.folder == "/sessions/claude-code"
    assert stored.started_ms == messages(memory)[0].created_ms and stored.meta["branch"] == "main"
    question, answer, _thanks, _written = messages(memory)
    assert question.details["role"] == "user" and answer.details["role"] == "assistant"
    assert answer.details["files"] == "/srv/code/my-api/src/login.py"
    assert answer.details["commands"] == "pytest tests/test_login.py"
    assert "TimeoutError" in answer.details["errors"]
    assert answer.meta["turn"] == question.meta["turn"] == "u000"
    assert "```\nE   TimeoutError: no answer in 30 s" in answer.body


def test_a_session_in_which_nothing_happened_leaves_nothing_until_something_does(
    memory: LocalMemory, path: Path
) -> None:
    claude = Claude()
    claude.user("hi")
    claude.says("Hello! What can I do for you?")
    assert ingest(memory, write(path, claude.records)).conversations.added == 0
    assert not latest_conversations(memory, SessionScope()).sessions
    claude.user("Why does the login test fail?")
    claude.says("The token server is slow.")
    assert ingest(memory, write(path, claude.records)).conversations.added == 1
    assert "Why does the login test fail?" in [message.body for message in messages(memory)]


def test_twice_changes_nothing_and_reads_nothing(memory: LocalMemory, path: Path) -> None:
    write(path, talk().records)
    ingest(memory, path)
    before = messages(memory), session(memory)
    summary = ingest(memory, path)
    assert (summary.files.known, summary.files.added, summary.messages.added) == (1, 0, 0)
    assert (messages(memory), session(memory)) == before


def test_after_a_crash_before_the_mark_nothing_is_doubled(memory: LocalMemory, path: Path) -> None:
    write(path, talk().records)
    ingest(memory, path)
    before = messages(memory), session(memory)
    save_source_mark(memory, str(path), {})
    summary = ingest(memory, path)
    assert (summary.messages.added, summary.messages.known) == (0, 4)
    assert (messages(memory), session(memory)) == before


def test_a_mark_of_another_version_is_no_obstacle(memory: LocalMemory, path: Path) -> None:
    write(path, talk().records)
    save_source_mark(memory, str(path), {"shape": "unknown", "position": 3})
    assert ingest(memory, path).messages.added == 4


def test_a_turn_that_grew_is_read_again_and_stays_the_same_message(memory: LocalMemory, path: Path) -> None:
    claude = talk()
    ingest(memory, write(path, claude.records))
    before, label = messages(memory), session(memory).label
    claude.says("And in the release notes, as zebra-striped text.")
    summary = ingest(memory, write(path, claude.records))
    after = messages(memory)
    assert (summary.messages.added, summary.messages.known) == (0, 2)
    assert [item.id for item in after] == [item.id for item in before]
    assert after[-1].body.startswith(before[-1].body) and "zebra" in after[-1].body
    assert after[-1].created_ms > before[-1].created_ms
    stored = session(memory)
    assert stored.messages == 4 and stored.label == label and stored.rev == 1
    assert stored.ended_ms == after[-1].created_ms
    assert [hit.item.id for hit in recall(memory, "zebra", Scope(), 5).hits] == [after[-1].id]


def test_a_session_whose_file_was_cut_off_loses_nothing(memory: LocalMemory, path: Path) -> None:
    write(path, talk().records)
    ingest(memory, path)
    whole = [message.body for message in messages(memory)]
    for records in range(1, len(talk().records)):
        write(path, talk().records[:records])
        ingest(memory, path)
        assert [message.body for message in messages(memory)] == whole


def test_vectors_of_passages_that_did_not_change_are_kept(memory_with_model: LocalMemory, path: Path) -> None:
    claude = Claude()
    claude.user("Tell a long story")
    claude.says("\n\n".join(f"Chapter {n}. " + "The fox met the crow on the road and spoke. " * 30 for n in range(6)))
    ingest(memory_with_model, write(path, claude.records))
    memory_with_model.embeddings.catch_up()
    vectors = memory_with_model.store.counts().vectors
    assert vectors > 4 and not memory_with_model.store.pending()
    claude.says("The end of the story.")
    ingest(memory_with_model, write(path, claude.records))
    assert 1 <= memory_with_model.store.pending() <= 2


def test_a_session_that_grows_while_it_is_read_is_read_on(memory: LocalMemory, path: Path) -> None:
    """A last line in the making waits; the next time it is whole."""
    data = jsonl(talk().records)
    path.parent.mkdir(parents=True)
    for size in range(0, len(data) + 1, 97):
        path.write_bytes(data[:size])
        ingest(memory, path)
    path.write_bytes(data)
    ingest(memory, path)
    assert [item.body for item in messages(memory)] == bodies_at_once(path)
    assert session(memory).messages == 4 and not session(memory).meta.get("malformed")


def test_a_session_that_was_compressed_or_rewritten_changes_nothing(memory: LocalMemory, path: Path) -> None:
    data = jsonl(talk().records)
    ingest(memory, write(path, talk().records))
    before = messages(memory)
    packed = path.with_name(f"{path.name}.gz")
    packed.write_bytes(gzip.compress(data))
    path.unlink()
    assert ingest(memory, packed).messages.added == 0
    packed.unlink()
    path.write_bytes(b"\n" + data)
    assert ingest(memory, path).messages.added == 0
    assert messages(memory) == before


def test_what_a_person_renamed_stays_renamed_and_still_grows(memory: LocalMemory, path: Path) -> None:
    claude = talk()
    ingest(memory, write(path, claude.records))
    update_conversation(memory, session(memory).uid, ConversationChanges(label="Slow tokens"))
    claude.add("ai-title", aiTitle="Fix the login test")
    claude.user("One more thing")
    ingest(memory, write(path, claude.records))
    assert session(memory).label == "Slow tokens" and session(memory).messages == 5


def test_what_a_person_forgot_stays_forgotten(memory: LocalMemory, path: Path) -> None:
    claude = talk()
    ingest(memory, write(path, claude.records))
    first = messages(memory)[0]
    forget_items(memory, [first.uid])
    claude.says("More.")
    ingest(memory, write(path, claude.records))
    assert first.id not in [item.id for item in messages(memory)] and session(memory).messages == 3
    forget_session(memory, session(memory).uid)
    claude.user("And more")
    summary = ingest(memory, write(path, claude.records))
    assert summary.messages.added == 0 and session(memory).forgotten_ms is not None
    assert not latest_conversations(memory, SessionScope()).sessions


def test_what_a_person_changed_stays_as_it_is(memory: LocalMemory, path: Path) -> None:
    claude = talk()
    ingest(memory, write(path, claude.records))
    edit_item(memory, messages(memory)[-1].uid, Changes(content="It is in CHANGES.md."))
    claude.says("More.")
    ingest(memory, write(path, claude.records))
    assert messages(memory)[-1].body == "It is in CHANGES.md."


def test_a_title_that_comes_later_is_learnt(memory: LocalMemory, path: Path) -> None:
    claude = talk()
    ingest(memory, write(path, claude.records))
    claude.add("ai-title", aiTitle="Fix the login test")
    ingest(memory, write(path, claude.records))
    assert session(memory).label == "Fix the login test"


def test_a_wall_of_text_is_no_label(memory: LocalMemory, path: Path) -> None:
    claude = Claude()
    claude.user("Please look at this log of the build server. " + "It failed again at step seven of the run. " * 200)
    ingest(memory, write(path, claude.records))
    assert session(memory).label == "Please look at this log of the build server."


def test_a_worktree_belongs_to_its_repository(memory: LocalMemory, path: Path, tmp_path: Path) -> None:
    repository, tree = tmp_path / "shop", tmp_path / "elsewhere" / "feature"
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", "-C", str(repository)]
    repository.mkdir()
    for arguments in (
        ["init", "-q"],
        ["remote", "add", "origin", "git@github.com:acme/shop.git"],
        ["commit", "-q", "--allow-empty", "-m", "First"],
        ["worktree", "add", "-q", str(tree)],
    ):
        subprocess.run([*git, *arguments], check=True, capture_output=True)
    claude = talk()
    for record in claude.records:
        record["cwd"] = str(tree)
    ingest(memory, write(path, claude.records))
    assert session(memory).project == "github.com/acme/shop"


def test_two_at_once_keep_everything_once(
    memory: LocalMemory, open_again: Callable[[], LocalMemory], path: Path
) -> None:
    other = open_again()
    try:
        write(path, talk().records)
        first, second = IngestRun(memory), IngestRun(other)
        files = first.find([path])
        assert second.find([path]) == files
        first.read(files)
        second.read(files)
        assert session(memory).messages == 4 and len(messages(other)) == 4
    finally:
        other.close()


DECIDED = "We decided to always write a BOM in CSV files, because Excel needs it."


def deciding(at_ms: int) -> Claude:
    """A session in which a person decides something, and the agent says that it did as well."""
    claude, when = Claude(), {"timestamp": iso_time(at_ms)}
    claude.user("The export shows broken umlauts in Excel, please fix it.", **when)
    claude.says("It writes a byte order mark now.", **when)
    claude.user(f"Good. {DECIDED} <private>We decided to fire Bob.</private>", **when)
    claude.says("Noted. We decided to keep the commas.", **when)
    return claude


def proposed(memory: LocalMemory) -> list[str]:
    return [item.body for item in list_proposals(memory).items]


def test_what_a_person_stated_is_proposed_once(memory: LocalMemory, path: Path) -> None:
    write(path, deciding(memory.clock() - DAY_MS).records)
    assert ingest(memory, path).proposed == 1
    (item,) = list_proposals(memory).items
    assert (item.body, item.type, item.project, item.origin) == (DECIDED, "decision", "my-api", "captured")
    assert memory.store.sessions_of([item.id])[item.id].key == session(memory).key
    save_source_mark(memory, str(path), {})
    assert ingest(memory, path).proposed == 0 and proposed(memory) == [DECIDED]
    dismiss(memory, [item.id])
    claude = deciding(memory.clock() - DAY_MS)
    claude.user(DECIDED, timestamp=iso_time(memory.clock()))
    assert ingest(memory, write(path, claude.records)).messages.added == 1
    assert proposed(memory) == []


def test_old_sessions_and_those_of_agents_propose_nothing(memory: LocalMemory, path: Path) -> None:
    assert ingest(memory, write(path, deciding(memory.clock() - 40 * DAY_MS).records)).messages.added == 4
    helper = path.with_suffix("") / "subagents" / "agent-1.jsonl"
    records = [{**one, "isSidechain": True, "agentId": "1"} for one in deciding(memory.clock()).records]
    assert ingest(memory, write(helper, records)).messages.added
    assert proposed(memory) == []


def test_what_hooks_saw_is_not_proposed_again(memory: LocalMemory, path: Path) -> None:
    at_ms = memory.clock()
    said = Event("claude-code", "prompt", session=SESSION, cwd=FOLDER, at_ms=at_ms, text=DECIDED)
    remember_events(memory, [said])
    assert len(proposed(memory)) == 1
    assert ingest(memory, write(path, deciding(at_ms).records)).proposed == 0
