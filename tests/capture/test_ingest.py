"""Sessions of coding agents become conversations that follow their files, once, and a person's word stands."""

from __future__ import annotations

import gzip
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from commonplace.capture.ingest import Ingest
from commonplace.memory.book import Book
from commonplace.memory.conversations import latest
from commonplace.memory.edit import Changes, edit
from commonplace.memory.forget import forget
from commonplace.memory.organise import Arrangement, arrange
from commonplace.memory.organise import forget as forget_session
from commonplace.memory.recall import recall
from commonplace.memory.sources import note_mark
from commonplace.model import Scope, SessionScope

from .ingesting import bodies_at_once, ingest, messages, place, session, talk
from .transcripts.corpus import Claude, jsonl, write


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return place(tmp_path)


def test_a_session_becomes_a_conversation(book: Book, path: Path) -> None:
    summary = ingest(book, write(path, talk().records))
    assert (summary.conversations.added, summary.messages.added, summary.files.added) == (1, 4, 1)
    kept = session(book)
    assert kept.label == "Why does the login test fail?" and kept.source == "claude-code" and kept.messages == 4
    assert kept.project == "my-api" and kept.folder == "/sessions/claude-code"
    assert kept.started_ms == messages(book)[0].created_ms and kept.meta["branch"] == "main"
    question, answer, _thanks, _written = messages(book)
    assert question.details["role"] == "user" and answer.details["role"] == "assistant"
    assert answer.details["files"] == "/srv/code/my-api/src/login.py"
    assert answer.details["commands"] == "pytest tests/test_login.py"
    assert "TimeoutError" in answer.details["errors"]
    assert answer.meta["turn"] == question.meta["turn"] == "u000"
    assert "```\nE   TimeoutError: no answer in 30 s" in answer.body


def test_twice_changes_nothing_and_reads_nothing(book: Book, path: Path) -> None:
    write(path, talk().records)
    ingest(book, path)
    before = messages(book), session(book)
    summary = ingest(book, path)
    assert (summary.files.known, summary.files.added, summary.messages.added) == (1, 0, 0)
    assert (messages(book), session(book)) == before


def test_after_a_crash_before_the_mark_nothing_is_doubled(book: Book, path: Path) -> None:
    write(path, talk().records)
    ingest(book, path)
    before = messages(book), session(book)
    note_mark(book, str(path), {})
    summary = ingest(book, path)
    assert (summary.messages.added, summary.messages.known) == (0, 4)
    assert (messages(book), session(book)) == before


def test_a_mark_of_another_version_is_no_obstacle(book: Book, path: Path) -> None:
    write(path, talk().records)
    note_mark(book, str(path), {"shape": "unknown", "position": 3})
    assert ingest(book, path).messages.added == 4


def test_a_turn_that_grew_is_read_again_and_stays_the_same_message(book: Book, path: Path) -> None:
    claude = talk()
    ingest(book, write(path, claude.records))
    before, label = messages(book), session(book).label
    claude.says("And in the release notes, as zebra-striped text.")
    summary = ingest(book, write(path, claude.records))
    after = messages(book)
    assert (summary.messages.added, summary.messages.known) == (0, 2)
    assert [item.id for item in after] == [item.id for item in before]
    assert after[-1].body.startswith(before[-1].body) and "zebra" in after[-1].body
    assert after[-1].created_ms > before[-1].created_ms
    kept = session(book)
    assert kept.messages == 4 and kept.label == label and kept.rev == 1
    assert kept.ended_ms == after[-1].created_ms
    assert [hit.item.id for hit in recall(book, "zebra", Scope(), 5).hits] == [after[-1].id]


def test_a_session_whose_file_was_cut_off_loses_nothing(book: Book, path: Path) -> None:
    write(path, talk().records)
    ingest(book, path)
    whole = [message.body for message in messages(book)]
    for records in range(1, len(talk().records)):
        write(path, talk().records[:records])
        ingest(book, path)
        assert [message.body for message in messages(book)] == whole


def test_vectors_of_passages_that_did_not_change_are_kept(wise_book: Book, path: Path) -> None:
    claude = Claude()
    claude.user("Tell a long story")
    claude.says("\n\n".join(f"Chapter {n}. " + "The fox met the crow on the road and spoke. " * 30 for n in range(6)))
    ingest(wise_book, write(path, claude.records))
    wise_book.meaning.catch_up()
    vectors = wise_book.store.counts().vectors
    assert vectors > 4 and not wise_book.store.pending()
    claude.says("The end of the story.")
    ingest(wise_book, write(path, claude.records))
    assert 1 <= wise_book.store.pending() <= 2


def test_a_session_that_grows_while_it_is_read_is_read_on(book: Book, path: Path) -> None:
    """A last line in the making waits; the next time it is whole."""
    data = jsonl(talk().records)
    path.parent.mkdir(parents=True)
    for size in range(0, len(data) + 1, 97):
        path.write_bytes(data[:size])
        ingest(book, path)
    path.write_bytes(data)
    ingest(book, path)
    assert [item.body for item in messages(book)] == bodies_at_once(path)
    assert session(book).messages == 4 and not session(book).meta.get("malformed")


def test_a_session_that_was_compressed_or_rewritten_changes_nothing(book: Book, path: Path) -> None:
    data = jsonl(talk().records)
    ingest(book, write(path, talk().records))
    before = messages(book)
    packed = path.with_name(f"{path.name}.gz")
    packed.write_bytes(gzip.compress(data))
    path.unlink()
    assert ingest(book, packed).messages.added == 0
    packed.unlink()
    path.write_bytes(b"\n" + data)
    assert ingest(book, path).messages.added == 0
    assert messages(book) == before


def test_what_a_person_renamed_stays_renamed_and_still_grows(book: Book, path: Path) -> None:
    claude = talk()
    ingest(book, write(path, claude.records))
    arrange(book, session(book).uid, Arrangement(label="Slow tokens"))
    claude.add("ai-title", aiTitle="Fix the login test")
    claude.user("One more thing")
    ingest(book, write(path, claude.records))
    assert session(book).label == "Slow tokens" and session(book).messages == 5


def test_what_a_person_forgot_stays_forgotten(book: Book, path: Path) -> None:
    claude = talk()
    ingest(book, write(path, claude.records))
    first = messages(book)[0]
    forget(book, [first.uid])
    claude.says("More.")
    ingest(book, write(path, claude.records))
    assert first.id not in [item.id for item in messages(book)] and session(book).messages == 3
    forget_session(book, session(book).uid)
    claude.user("And more")
    summary = ingest(book, write(path, claude.records))
    assert summary.messages.added == 0 and session(book).forgotten_ms is not None
    assert not latest(book, SessionScope()).sessions


def test_what_a_person_changed_stays_as_it_is(book: Book, path: Path) -> None:
    claude = talk()
    ingest(book, write(path, claude.records))
    edit(book, messages(book)[-1].uid, Changes(content="It is in CHANGES.md."))
    claude.says("More.")
    ingest(book, write(path, claude.records))
    assert messages(book)[-1].body == "It is in CHANGES.md."


def test_a_title_that_comes_later_is_learnt(book: Book, path: Path) -> None:
    claude = talk()
    ingest(book, write(path, claude.records))
    claude.add("ai-title", aiTitle="Fix the login test")
    ingest(book, write(path, claude.records))
    assert session(book).label == "Fix the login test"


def test_a_wall_of_text_is_no_label(book: Book, path: Path) -> None:
    claude = Claude()
    claude.user("Please look at this log of the build server. " + "It failed again at step seven of the run. " * 200)
    ingest(book, write(path, claude.records))
    assert session(book).label == "Please look at this log of the build server."


def test_a_worktree_belongs_to_its_repository(book: Book, path: Path, tmp_path: Path) -> None:
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
    ingest(book, write(path, claude.records))
    assert session(book).project == "github.com/acme/shop"


def test_two_at_once_keep_everything_once(book: Book, open_again: Callable[[], Book], path: Path) -> None:
    other = open_again()
    try:
        write(path, talk().records)
        first, second = Ingest(book), Ingest(other)
        files = first.find([path])
        assert second.find([path]) == files
        first.read(files)
        second.read(files)
        assert session(book).messages == 4 and len(messages(other)) == 4
    finally:
        other.close()
