"""A folder is shown a project's memory only if it is that project's repository, and not for naming its remote."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from commonplace.capture.hooks.context_refresh import compose_context
from commonplace.capture.hooks.working_folder import KNOWN_COMMITS_FILE, has_object, head_commit, is_known_repository
from commonplace.config import Settings
from commonplace.fast.context_cache import cached_context, content_stamp
from commonplace.memory.content_fingerprint import content_fingerprint
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import NewItem, remember

from .hook_runner import COMMAND, SECONDS

PROJECT = "github.com/acme/shop-api"
REMOTE = "git@github.com:acme/shop-api.git"
SECRET_PLAN = "The launch is on the ninth of May."


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, timeout=60)
    return done.stdout.decode().strip()


def repository(folder: Path, file: str = "a.txt") -> Path:
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / file).write_text(file, encoding="utf-8")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", f"Add {file}")
    git(folder, "remote", "add", "origin", REMOTE)
    return folder


def clone(of: Path, folder: Path, *options: str) -> Path:
    git(of.parent, "clone", "-q", *options, str(of), str(folder))
    git(folder, "remote", "set-url", "origin", REMOTE)
    return folder


def start(settings: Settings, folder: Path) -> str:
    """What a session that starts in a folder is shown, composed as its hook does."""
    now = content_stamp(str(settings.data_dir), {}, content_fingerprint)
    shown = cached_context(str(settings.data_dir), str(folder), "", now)
    return compose_context(str(settings.data_dir), str(folder), "", {}) if shown is None else shown


def trust(settings: Settings, *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[bytes]:
    command = [COMMAND, "--data-dir", str(settings.data_dir), "projects", "trust", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, timeout=SECONDS, check=False)


@pytest.fixture
def known(memory: LocalMemory, settings: Settings, tmp_path: Path) -> Path:
    """A repository in which a session started, so that its commit was noted."""
    remember(memory, NewItem(SECRET_PLAN, kind="memory", type="decision", project=PROJECT))
    folder = repository(tmp_path / "shop-api")
    assert SECRET_PLAN in start(settings, folder)
    return folder


def test_a_made_up_git_folder_is_shown_nothing_of_the_project_that_it_names(
    memory: LocalMemory, settings: Settings, tmp_path: Path
) -> None:
    remember(memory, NewItem(SECRET_PLAN, kind="memory", type="decision", project=PROJECT))
    folder = tmp_path / "malicious"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="ascii")
    (folder / ".git" / "config").write_text(f'[remote "origin"]\n\turl = {REMOTE}\n', encoding="ascii")
    for _ in range(2):
        shown = start(settings, folder)
        assert SECRET_PLAN not in shown and "commonplace projects trust" in shown


def test_another_repository_that_names_the_remote_is_shown_nothing(known: Path, settings: Settings) -> None:
    other = repository(known.parent / "other", "b.txt")
    assert SECRET_PLAN not in start(settings, other)
    assert SECRET_PLAN in start(settings, known)


def test_clones_and_worktrees_are_known_by_a_commit(known: Path, settings: Settings) -> None:
    near = clone(known, known.parent / "near")
    packed = clone(known, known.parent / "packed", "--no-local")
    git(packed, "gc", "-q")
    shared = clone(known, known.parent / "shared", "--shared")
    tree = known.parent / "tree"
    git(known, "worktree", "add", "-q", str(tree))
    for folder in (near, packed, shared, tree):
        assert SECRET_PLAN in start(settings, folder), folder.name


def test_a_clone_with_newer_commits_is_known_too(known: Path, settings: Settings) -> None:
    ahead = clone(known, known.parent / "ahead")
    (ahead / "c.txt").write_text("c", encoding="utf-8")
    git(ahead, "add", ".")
    git(ahead, "commit", "-q", "-m", "Add c.txt")
    assert SECRET_PLAN in start(settings, ahead)
    shutil.rmtree(known)
    assert SECRET_PLAN in start(settings, clone(ahead, ahead.parent / "later"))


def test_trust_shows_it_in_a_folder_that_shares_no_commit(known: Path, settings: Settings) -> None:
    rewritten = repository(known.parent / "rewritten", "b.txt")
    assert SECRET_PLAN not in start(settings, rewritten)
    result = trust(settings, cwd=rewritten)
    assert result.returncode == 0, result.stderr
    assert PROJECT in result.stdout.decode()
    assert SECRET_PLAN in start(settings, rewritten)


def test_trust_needs_a_repository_with_a_commit(settings: Settings, tmp_path: Path) -> None:
    result = trust(settings, str(tmp_path))
    assert result.returncode == 2 and b"not a git repository with a commit" in result.stderr


def test_a_project_called_after_its_folder_has_nothing_to_prove(settings: Settings, tmp_path: Path) -> None:
    assert is_known_repository(settings.data_dir, "notes", tmp_path)


def test_objects_are_found_loose_and_packed_and_others_are_not(tmp_path: Path) -> None:
    folder = repository(tmp_path / "many")
    for number in range(8):
        git(folder, "commit", "-q", "--allow-empty", "-m", f"Commit {number}")
    commits = git(folder, "rev-list", "HEAD").split()
    dot_git = folder / ".git"
    assert head_commit(dot_git) == commits[0]
    assert all(has_object(dot_git, commit) for commit in commits)
    git(folder, "gc", "-q")
    assert all(has_object(dot_git, commit) for commit in commits)
    assert head_commit(dot_git) == commits[0]
    others = [f"{number:02x}{commits[0][2:]}" for number in range(256)]
    assert [commit for commit in others if has_object(dot_git, commit)] == [commits[0]]


def test_a_damaged_list_of_commits_is_begun_again(known: Path, settings: Settings) -> None:
    (settings.data_dir / KNOWN_COMMITS_FILE).write_text("{not json", encoding="utf-8")
    assert is_known_repository(settings.data_dir, PROJECT, known)
    assert str(head_commit(known / ".git")) in (settings.data_dir / KNOWN_COMMITS_FILE).read_text(encoding="utf-8")
