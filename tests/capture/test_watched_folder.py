"""The watched folder: a file is taken once it has settled, put aside, and never taken half."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from tests.polling import until

from commonplace.capture.watched_folder import WatchedFolder, watch_folder
from commonplace.config import Settings
from commonplace.errors import StoreBusy
from commonplace.memory.local_memory import LocalMemory, open_memory
from commonplace.memory.status_and_stats import status

from .chat_exports import as_bytes, chatgpt, zipped


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "inbox"


@pytest.fixture
def inbox(memory: LocalMemory, folder: Path) -> WatchedFolder:
    made = WatchedFolder(lambda: memory, folder)
    assert made.step() == [] and folder.is_dir()
    return made


def test_a_settled_file_is_imported_and_put_aside(inbox: WatchedFolder, folder: Path) -> None:
    zipped(folder / "export.zip", {"conversations.json": as_bytes([chatgpt()])})
    assert inbox.step() == []
    (handled,) = inbox.step()
    assert (handled.name, handled.report.messages.added) == ("export.zip", 2)
    assert handled.moved_to == folder / "imported" / "20250315T143000-export.zip"
    assert handled.moved_to.exists() and not (folder / "export.zip").exists()
    assert inbox.step() == [] and not list(folder.glob("**/*.txt"))


def test_a_growing_file_is_left_alone(inbox: WatchedFolder, folder: Path) -> None:
    file = folder / "chat.txt"
    for text in ("User: Hi\n", "User: Hi\nAI: Hello\n", "User: Hi\nAI: Hello\nUser: Bye\n"):
        file.write_text(text, encoding="utf-8")
        assert inbox.step() == []
    (handled,) = inbox.step()
    assert handled.report.messages.added == 3


def test_what_cannot_be_read_goes_to_failed_with_the_reason(inbox: WatchedFolder, folder: Path) -> None:
    (folder / "photo.jpg").write_bytes(b"\xff\xd8\0\0")
    inbox.step()
    (handled,) = inbox.step()
    assert handled.moved_to.parent.name == "failed"
    assert "photo.jpg: it is not text" in handled.moved_to.with_name(f"{handled.moved_to.name}.txt").read_text()


def test_what_was_read_in_part_is_imported_and_says_what_is_missing(inbox: WatchedFolder, folder: Path) -> None:
    (folder / "conversations.json").write_bytes(as_bytes([chatgpt(), None]))
    inbox.step()
    (handled,) = inbox.step()
    assert handled.moved_to.parent.name == "imported"
    assert "conversation 2" in handled.moved_to.with_name(f"{handled.moved_to.name}.txt").read_text()


def test_the_same_name_twice_overwrites_nothing(inbox: WatchedFolder, folder: Path) -> None:
    for text in ("First words", "Other words"):
        (folder / "note.txt").write_text(text, encoding="utf-8")
        inbox.step()
        inbox.step()
    assert len(list((folder / "imported").iterdir())) == 2


def test_unfinished_and_hidden_files_and_folders_are_not_touched(inbox: WatchedFolder, folder: Path) -> None:
    (folder / "sub").mkdir()
    for name in ("export.zip.part", "export.crdownload", ".DS_Store"):
        (folder / name).write_text("x", encoding="utf-8")
    inbox.step()
    assert inbox.step() == [] and len(list(folder.iterdir())) == 4


def test_while_the_store_is_busy_the_file_waits(memory: LocalMemory, folder: Path) -> None:
    busy, complaints = [True], list[str]()

    def reach() -> LocalMemory:
        if busy:
            raise StoreBusy("The store is busy.")
        return memory

    inbox = WatchedFolder(reach, folder, complaints.append)
    inbox.step()
    (folder / "note.txt").write_text("Words", encoding="utf-8")
    assert [inbox.step(), inbox.step(), inbox.step()] == [[], [], []]
    assert len(complaints) == 1 and "note.txt" in complaints[0] and (folder / "note.txt").exists()
    busy.clear()
    assert len(inbox.step()) == 1


def test_a_folder_that_cannot_be_is_told_once(memory: LocalMemory, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    complaints: list[str] = []
    inbox = WatchedFolder(lambda: memory, tmp_path / "file", complaints.append)
    assert [inbox.step(), inbox.step()] == [[], []] and len(complaints) == 1


def test_watching_imports_until_the_block_ends(settings: Settings, folder: Path) -> None:
    folder.mkdir()
    (folder / "note.txt").write_text("User: Hi\nAI: Hello\n", encoding="utf-8")
    memory = open_memory(settings)
    done = threading.Event()
    with watch_folder(lambda: memory, str(folder), lambda _words: done.set(), every=0.01):
        until(lambda: (folder / "imported").exists() and not (folder / "note.txt").exists())
    assert not done.is_set() and status(memory)["total"] == 2
    memory.close()


def test_a_stop_ends_it_in_the_middle_of_a_file(memory: LocalMemory, folder: Path) -> None:
    folder.mkdir()
    (folder / "note.txt").write_text("Words", encoding="utf-8")
    stop = threading.Event()

    def reach() -> LocalMemory:
        stop.set()
        return memory

    WatchedFolder(reach, folder).run(stop, every=0.001)
    assert (folder / "note.txt").exists()


def test_without_a_folder_nothing_is_watched(memory: LocalMemory) -> None:
    before = threading.active_count()
    with watch_folder(lambda: memory, "", print):
        assert threading.active_count() == before
