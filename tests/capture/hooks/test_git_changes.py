"""What is changing in a folder is what git itself says, read without it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from commonplace.capture.hooks.context_refresh import work_in_progress
from commonplace.memory.session_context import NO_CHANGES, WorkInProgress


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main")
    command = ["git", *identity, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A repository with three files, all committed."""
    folder = tmp_path / "shop"
    (folder / "src").mkdir(parents=True)
    for name in ("a.py", "src/b.py", "src/größe.py"):
        (folder / name).write_text(f"{name}\n", encoding="utf-8")
    git(folder, "init")
    git(folder, "add", ".")
    git(folder, "commit", "-m", "All")
    return folder


def test_changed_and_deleted_files_and_the_branch_are_told(work: Path) -> None:
    assert work_in_progress(str(work)) == NO_CHANGES, "the usual branch says nothing"
    git(work, "checkout", "-b", "fix/cart")
    (work / "src" / "größe.py").write_text("changed and longer\n", encoding="utf-8")
    (work / "a.py").unlink()
    (work / "new.py").touch()
    assert work_in_progress(str(work / "src")) == WorkInProgress("fix/cart", ("a.py", "src/größe.py"))


def test_a_worktree_has_its_own_branch_and_changes(work: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    git(work, "worktree", "add", "-b", "redo-mails", str(other))
    (other / "src" / "b.py").write_text("another text\n", encoding="utf-8")
    assert work_in_progress(str(other)) == WorkInProgress("redo-mails", ("src/b.py",))
    assert work_in_progress(str(work)) == NO_CHANGES


@pytest.mark.parametrize("damage", [b"", b"DIRC", b"DIRC\0\0\0\2\0\0\0\x09" + b"\xff" * 90, b"x" * 200])
def test_a_damaged_index_says_nothing(work: Path, damage: bytes) -> None:
    (work / ".git" / "index").write_bytes(damage)
    assert work_in_progress(str(work)).branch == ""


def test_outside_any_repository_nothing_changes(tmp_path: Path) -> None:
    assert work_in_progress(str(tmp_path)) == work_in_progress("somewhere") == NO_CHANGES
