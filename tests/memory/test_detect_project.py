"""A folder knows its project without running git."""

from __future__ import annotations

import os
from pathlib import Path

from commonplace.memory.detect_project import detect_project


def repository(folder: Path, config: str = "") -> Path:
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    (folder / ".git" / "config").write_text(config, encoding="utf-8")
    return folder


ORIGIN = '[core]\n\tbare = false\n[remote "origin"]\n\turl = git@github.com:acme/my-api.git\n\tfetch = +refs/heads/*\n'


def test_a_folder_anywhere_in_a_repository_is_its_project(tmp_path: Path) -> None:
    root = repository(tmp_path / "clone", '[remote "upstream"]\n\turl = https://x.org/up/my-api\n' + ORIGIN)
    (root / "src" / "deep").mkdir(parents=True)
    assert detect_project(root) == "github.com/acme/my-api"
    assert detect_project(root / "src" / "deep") == "github.com/acme/my-api"


def test_a_repository_without_a_remote_is_called_like_its_folder(tmp_path: Path) -> None:
    assert detect_project(repository(tmp_path / "my-tool")) == "my-tool"
    assert detect_project(repository(tmp_path / "x", '[remote "origin"]\n\turl = ../elsewhere.git\n')) == "x"


def test_the_only_remote_counts_whatever_it_is_called(tmp_path: Path) -> None:
    assert (
        detect_project(repository(tmp_path / "x", '[remote "gh"]\n url = "https://h.org/a/b" ; mine\n')) == "h.org/a/b"
    )


def test_outside_any_repository_there_is_no_project(tmp_path: Path) -> None:
    (tmp_path / "fake" / ".git").mkdir(parents=True)
    found = detect_project(tmp_path / "fake")
    assert found is None or not found.endswith("fake")


def test_a_worktree_belongs_to_its_repository(tmp_path: Path) -> None:
    root = repository(tmp_path / "main-clone")
    private = root / ".git" / "worktrees" / "feature"
    private.mkdir(parents=True)
    (private / "commondir").write_text("../..\n", encoding="utf-8")
    tree = tmp_path / "feature"
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {private}\n", encoding="utf-8")
    assert detect_project(tree) == "main-clone"
    (root / ".git" / "config").write_text(ORIGIN, encoding="utf-8")
    assert detect_project(tree) == "github.com/acme/my-api"


def test_a_submodule_is_a_project_of_its_own(tmp_path: Path) -> None:
    root = repository(tmp_path / "outer", ORIGIN)
    private = root / ".git" / "modules" / "lib"
    private.mkdir(parents=True)
    (private / "config").write_text('[remote "origin"]\n\turl = https://h.org/acme/lib.git\n', encoding="utf-8")
    (root / "lib").mkdir()
    (root / "lib" / ".git").write_text(f"gitdir: {os.path.relpath(private, root / 'lib')}\n", encoding="utf-8")
    assert detect_project(root / "lib") == "h.org/acme/lib"


def test_unreadable_files_are_no_reason_to_fail(tmp_path: Path) -> None:
    root = repository(tmp_path / "x")
    (root / ".git" / "config").write_bytes(b"\xff\xfe[remote\0")
    assert detect_project(root) == "x"
    (root / ".git" / "HEAD").unlink()
    (root / ".git" / "config").unlink()
    (root / ".git").rmdir()
    (root / ".git").write_bytes(b"\0 no pointer")
    assert detect_project(root / "not" / "there") in (None, detect_project(tmp_path))


def test_a_repository_can_be_given_a_name(tmp_path: Path) -> None:
    """`git config commonplace.project NAME` tells two without a remote and with the same folder name apart."""
    for client in ("a", "b"):
        git = tmp_path / client / "api" / ".git"
        git.mkdir(parents=True)
        (git / "HEAD").write_text("ref: refs/heads/main\n", encoding="ascii")
        (git / "config").write_text('[core]\n\tbare = false\n[remote "old"]\n\turl = x\n', encoding="ascii")
    with git.joinpath("config").open("a", encoding="ascii") as config:
        config.write("[Commonplace]\n\tproject = client-b/api ; ours\n")
    assert detect_project(tmp_path / "b" / "api") == "client-b/api"
    assert detect_project(tmp_path / "a" / "api") == "x"
