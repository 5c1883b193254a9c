"""One project has one name, however it is spelt, and a folder knows its project without running git."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commonplace.errors import InvalidInput
from commonplace.text.project_names import (
    base_name,
    detect_project,
    normalise_project,
    same_project,
    short_names,
)


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        ("git@github.com:acme/my-api.git", "github.com/acme/my-api"),
        ("https://user:tok@github.com/acme/my-api.git/", "github.com/acme/my-api"),
        ("https://GitHub.com/acme/My-API", "github.com/acme/My-API"),
        ("https://www.github.com/acme/x?tab=readme#top", "github.com/acme/x"),
        ("ssh://git@host:22/acme/x.git", "host/acme/x"),
        ("ssh://git@ssh.github.com:443/acme/x.git", "github.com/acme/x"),
        ("git+ssh://git@example.org/~me/x.git", "example.org/~me/x"),
        ("git://example.org/x.git", "example.org/x"),
        ("example.org:acme/x.git", "example.org/acme/x"),
        ("git@[::1]:acme/x.git", "::1/acme/x"),
        ("https://gitlab.com/group/sub/x.git", "gitlab.com/group/sub/x"),
        ("github.com/acme/my-api", "github.com/acme/my-api"),
        ("GITHUB.com/acme/my-api.git", "github.com/acme/my-api"),
        ("file:///srv/git/x.git", "x"),
        ("file:///C:/code/x", "x"),
        ("/srv/code/my-api", "my-api"),
        ("/srv/code/my-api/.git", "my-api"),
        ("~/code/my-api/", "my-api"),
        ("./my-api", "my-api"),
        ("C:\\work\\my-api\\", "my-api"),
        ("C:/code/my-api", "my-api"),
        ("\\\\server\\share\\my-api", "my-api"),
        ("  my-api  ", "my-api"),
        ("my api", "my api"),
        ("my.api", "my.api"),
        ("acme/my-api", "acme/my-api"),
        ("@acme/my-api", "@acme/my-api"),
        ("日本語", "日本語"),
        ("cafe\u0301", "café"),
        ("https://example.org/a%20b.git", "example.org/a b"),
    ],
)
def test_every_spelling_has_its_canonical_name(raw: str, name: str) -> None:
    assert normalise_project(raw) == name


@pytest.mark.parametrize(
    "raw",
    [
        "",
        "  ",
        "x" * 201,
        "x" * 5000,
        "a\0b",
        "a\nb",
        "a\ud800",
        "..",
        "a/../b",
        "../x",
        "/",
        "C:\\",
        ".",
        "~",
        "/.git",
        "//",
    ],
)
def test_what_names_nothing_is_refused(raw: str) -> None:
    with pytest.raises(InvalidInput):
        normalise_project(raw)


def test_a_deep_folder_may_have_a_short_name() -> None:
    assert normalise_project("/" + "deep/" * 100 + "x") == "x"


@settings(derandomize=True, deadline=None, max_examples=500)
@given(st.one_of(st.text(), st.text(alphabet="ab.:/\\@~[]-C%20git ", max_size=30)))
def test_a_canonical_name_is_its_own(raw: str) -> None:
    try:
        name = normalise_project(raw)
    except InvalidInput:
        return
    assert name
    assert name == name.strip()
    assert normalise_project(name) == name


def test_the_base_name_is_what_people_say() -> None:
    assert base_name("github.com/acme/my-api") == base_name("my-api") == "my-api"


@pytest.mark.parametrize(
    ("projects", "names"),
    [
        ([("github.com/acme/my-api", ())], ["my-api"]),
        ([("notes", ())], ["notes"]),
        ([("github.com/acme/web", ()), ("github.com/other/web", ())], ["acme/web", "other/web"]),
        ([("github.com/acme/web", ()), ("gitlab.com/acme/web", ())], ["github.com/acme/web", "gitlab.com/acme/web"]),
        # A project of just this name keeps it.
        ([("web", ()), ("github.com/acme/web", ())], ["web", "acme/web"]),
        ([("github.com/acme/Web", ()), ("github.com/acme/site", ("web",))], ["acme/Web", "site"]),
    ],
)
def test_a_short_name_means_no_other_project(projects: list[tuple[str, tuple[str, ...]]], names: list[str]) -> None:
    assert list(short_names(projects).values()) == names


def test_names_of_one_project_are_recognised() -> None:
    assert same_project("my-api", "github.com/acme/My-API")
    assert same_project("acme/my-api", "github.com/acme/my-api")
    assert same_project("x", "X")
    assert not same_project("api", "github.com/acme/my-api")
    assert not same_project("github.com/acme/x", "gitlab.com/acme/x")
    assert not same_project("", "x")


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
