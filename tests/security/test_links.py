"""Every file that is written stays where it belongs: links that lead elsewhere are refused, whoever put them there."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from commonplace.capture.hooks.drain import drain
from commonplace.capture.import_files import import_path
from commonplace.capture.watched_folder import WatchedFolder
from commonplace.config import Settings
from commonplace.errors import CommonplaceError, StoreError
from commonplace.fast.spool import SPOOL, count_failure, encode_record, spool_folder, write_event
from commonplace.http_server.auth import ensure_first_key
from commonplace.memory import status_and_stats
from commonplace.memory.background_tasks import MaintenanceTask
from commonplace.memory.backup import back_up_store
from commonplace.memory.conversations import NewConversation, NewMessage, store_conversation
from commonplace.memory.local_memory import LocalMemory, open_memory
from commonplace.memory.remember import NewItem, remember

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links need a right of their own there")
VICTIM = b"nothing of ours\n"


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A folder of somebody, with a file in it."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "victim").write_bytes(VICTIM)
    return folder


def untouched(folder: Path) -> bool:
    return [path.name for path in folder.iterdir()] == ["victim"] and (folder / "victim").read_bytes() == VICTIM


def test_a_store_that_is_a_link_is_refused(settings: Settings, elsewhere: Path) -> None:
    settings.data_dir.mkdir()
    for target in ("victim", "new.db"):
        settings.database.unlink(missing_ok=True)
        settings.database.symlink_to(elsewhere / target)
        with pytest.raises(StoreError, match="is a link"):
            open_memory(settings).close()
    assert untouched(elsewhere)


def test_a_backup_is_written_through_no_link(memory: LocalMemory, elsewhere: Path, tmp_path: Path) -> None:
    remember(memory, NewItem("Tabs, not spaces."))
    shared = tmp_path / "shared"
    shared.mkdir()
    target = shared / "copy.db"
    half = f"{target.name}.{os.getpid()}-{threading.get_ident()}.partial"
    for name in (half, f"{half}-wal", f"{half}-journal", target.name):
        (shared / name).symlink_to(elsewhere / ("victim" if name == half else "new"))
    back_up_store(memory, target)
    assert untouched(elsewhere) and target.is_file() and not target.is_symlink()


@pytest.mark.parametrize("name", ["backups", "running"])
def test_folders_in_the_data_folder_that_are_links_are_not_written_into(
    memory: LocalMemory, settings: Settings, elsewhere: Path, name: str
) -> None:
    remember(memory, NewItem("Tabs, not spaces."))
    (settings.data_dir / name).symlink_to(elsewhere)
    care = MaintenanceTask(first_backup=0)
    if name == "backups":
        with pytest.raises(StoreError, match="is a link"):
            care(memory)
    else:
        care(memory)
        care.mark_clean_end(settings)
    assert untouched(elsewhere)


def test_what_a_check_found_is_written_through_no_link(
    memory: LocalMemory, settings: Settings, elsewhere: Path
) -> None:
    (settings.data_dir / f"{status_and_stats.HEALTH_FILE}.{os.getpid()}").symlink_to(elsewhere / "victim")
    (settings.data_dir / status_and_stats.HEALTH_FILE).symlink_to(elsewhere / "victim")
    status_and_stats.save_check_result(settings, "all", [], 1)
    assert untouched(elsewhere)


def test_the_first_key_is_written_through_no_link(memory: LocalMemory, settings: Settings, elsewhere: Path) -> None:
    settings.key_file.symlink_to(elsewhere / "new")
    with pytest.raises(CommonplaceError, match="is a link"):
        ensure_first_key(memory, settings.key_file)
    assert untouched(elsewhere)


def plant_lock(spool: Path, elsewhere: Path) -> None:
    (spool / "drain.lock").symlink_to(elsewhere / "new")


def plant_corner(spool: Path, elsewhere: Path) -> None:
    (spool / "refused").symlink_to(elsewhere)


def plant_troubles(spool: Path, elsewhere: Path) -> None:
    (spool / "troubles").symlink_to(elsewhere / "victim")


@pytest.mark.parametrize("plant", [plant_lock, plant_corner, plant_troubles])
def test_the_spool_is_drained_through_no_link(
    memory: LocalMemory, settings: Settings, elsewhere: Path, plant: Callable[[Path, Path], None]
) -> None:
    folder = spool_folder(str(settings.data_dir))
    write_event(folder, encode_record(("claude-code", "Stop", "1", "/", "", "4", "whole"), b"[[[["))
    plant(settings.data_dir / SPOOL, elsewhere)
    drained = drain(memory, settings)
    assert drained.elsewhere == (plant is plant_lock)
    count_failure(folder, "hook", "tried")
    assert untouched(elsewhere)


def test_a_folder_that_is_imported_is_not_left(memory: LocalMemory, elsewhere: Path, tmp_path: Path) -> None:
    folder = tmp_path / "export"
    folder.mkdir()
    (elsewhere / "victim").rename(elsewhere / "private.txt")
    (folder / "chat.txt").write_text("User: hello\nAI: hi\n", encoding="utf-8")
    (folder / "notes.txt").symlink_to(elsewhere / "private.txt")
    (folder / "inner").symlink_to(elsewhere, target_is_directory=True)
    summary = import_path(memory, folder)
    assert (summary.files.added, summary.conversations.added) == (1, 1)


def test_a_watched_folder_takes_no_links_and_moves_nothing_through_one(
    memory: LocalMemory, elsewhere: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "inbox"
    folder.mkdir()
    lines: list[str] = []
    inbox = WatchedFolder(lambda: memory, folder, lines.append)
    (folder / "theirs.txt").symlink_to(elsewhere / "victim")
    (folder / "imported").symlink_to(elsewhere)
    (folder / "chat.txt").write_text("User: hello\nAI: hi\n", encoding="utf-8")
    for _ in range(2):
        assert inbox.step() == []
    assert untouched(elsewhere) and (folder / "chat.txt").is_file()
    assert len(lines) == 1 and "is a link" in lines[0]


def test_exports_stay_in_their_folder_whatever_conversations_are_called(
    memory: LocalMemory, settings: Settings, tmp_path: Path
) -> None:
    for label in ("../../up", "/etc/passwd", "a\\..\\b", "..", "CON", "x" * 300, "\x1b[31mred"):
        store_conversation(
            memory, NewConversation(label=label, messages=[NewMessage("user", f"hello {label}")], folder="/a/b")
        )
    there = {path.name for path in tmp_path.iterdir()}
    command = ["export", "--all", "--format", "markdown", "--output", str(tmp_path / "out")]
    lines = [sys.executable, "-m", "commonplace", "--data-dir", str(settings.data_dir), *command]
    subprocess.run(lines, check=True, capture_output=True, cwd=tmp_path)
    found = [path.relative_to(tmp_path / "out") for path in (tmp_path / "out").rglob("*")]
    assert len([path for path in found if path.suffix == ".md"]) == 7
    assert not any(part.startswith(".") or "\x1b" in part or "\\" in part for path in found for part in path.parts)
    assert {path.name for path in tmp_path.iterdir()} == there | {"out"}


@pytest.mark.parametrize("linked", [".mcp.json", ".vscode"])
def test_settings_of_a_project_that_lead_out_of_it_are_left_alone(tmp_path: Path, elsewhere: Path, linked: str) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (elsewhere / "victim").write_text("{}")
    (project / linked).symlink_to(elsewhere if linked == ".vscode" else elsewhere / "victim")
    editor = "vscode" if linked == ".vscode" else "claude-code"
    run = subprocess.run(
        [sys.executable, "-m", "commonplace", "connect", editor, "--project"],
        cwd=project,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode and "leads out of the project through a link" in run.stderr, run
    assert (elsewhere / "victim").read_text() == "{}" and len([*elsewhere.iterdir()]) == 1
