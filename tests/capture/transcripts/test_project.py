"""A transcript belongs to the repository around its folder, also from a worktree, also when the folder is gone."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.hosts.transcript import Transcript, transcript_project


def of(folder: str, remote: str = "") -> str | None:
    return transcript_project(Transcript("claude-code", "x.jsonl", folder=folder, remote=remote))


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git = tmp_path / "my-api" / ".git"
    (git / "worktrees" / "fix").mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    (git / "config").write_text('[remote "origin"]\n\turl = git@github.com:acme/my-api.git\n', encoding="utf-8")
    (git / "worktrees" / "fix" / "commondir").write_text("../..\n", encoding="utf-8")
    return git.parent


def test_a_folder_in_a_repository(repository: Path) -> None:
    (repository / "src").mkdir()
    assert of(str(repository / "src")) == "github.com/acme/my-api"


def test_a_worktree_belongs_to_its_repository(repository: Path, tmp_path: Path) -> None:
    worktree = tmp_path / "elsewhere" / "fix"
    worktree.mkdir(parents=True)
    (worktree / ".git").write_text(f"gitdir: {repository / '.git' / 'worktrees' / 'fix'}\n", encoding="utf-8")
    assert of(str(worktree)) == "github.com/acme/my-api"


def test_a_deleted_worktree_inside_its_repository_still_does(repository: Path) -> None:
    assert of(str(repository / ".claude" / "worktrees" / "gone")) == "github.com/acme/my-api"


@pytest.mark.parametrize(
    ("folder", "remote", "project"),
    [
        ("/nowhere/my-api", "", "my-api"),
        ("/nowhere/my-api", "https://u:p@github.com/acme/my-api.git", "github.com/acme/my-api"),
        ("/nowhere/my-api/.claude/worktrees/brave-fox", "", "my-api"),
        ("/nowhere/my-api/.worktrees/fix/src", "", "my-api"),
        ("/home/me/.cursor/worktrees/my-api/x1", "", "my-api"),
        ("C:\\Users\\me\\my-api", "", "my-api"),
        ("", "", None),
        ("/", "", None),
    ],
)
def test_what_is_left_of_a_folder_that_is_gone(folder: str, remote: str, project: str | None) -> None:
    assert of(folder, remote) == project
