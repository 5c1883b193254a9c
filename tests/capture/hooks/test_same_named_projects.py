"""Two repositories of the same name are not mixed up silently, and a name of its own tells one apart."""

from __future__ import annotations

import json
from pathlib import Path

from commonplace.capture.hooks.context_refresh import ContextRefresher
from commonplace.capture.hooks.drain import drain
from commonplace.capture.hooks.working_folder import projects_sharing_a_name
from commonplace.config import Settings
from commonplace.fast.context_cache import cache_context
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import NewItem, remember

from .hook_runner import fire


def repository(folder: Path, config: str = "") -> Path:
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="ascii")
    (folder / ".git" / "config").write_text(config, encoding="ascii")
    return folder


def begun(memory: LocalMemory, settings: Settings, folder: Path) -> str:
    """What a session is told that starts there, the second time."""
    fire(settings, event="SessionStart", payload={"session_id": folder.parent.name, "cwd": str(folder)})
    ContextRefresher().refresh_contexts(memory, drain(memory, settings).starts)
    output = fire(settings, event="SessionStart", payload={"session_id": "next", "cwd": str(folder)}).stdout
    return str(json.loads(output)["hookSpecificOutput"]["additionalContext"])


def test_a_session_is_told_that_two_folders_are_one_project(
    memory: LocalMemory, settings: Settings, tmp_path: Path
) -> None:
    one, other = repository(tmp_path / "a" / "api"), repository(tmp_path / "b" / "api")
    remember(memory, NewItem("Use tabs", type="rule"))
    assert "Mixed up" not in begun(memory, settings, one)
    result = begun(memory, settings, other)
    assert "Mixed up here" in result and str(one) in result and str(other) in result
    assert projects_sharing_a_name(str(settings.data_dir)) == {"api": [str(one), str(other)]}
    (other / ".git" / "config").write_text("[commonplace]\n\tproject = b/api\n", encoding="ascii")
    assert projects_sharing_a_name(str(settings.data_dir)) == {}


def test_worktrees_and_remotes_are_one_project_on_purpose(settings: Settings, tmp_path: Path) -> None:
    data = str(settings.data_dir)
    home = repository(tmp_path / "a" / "api")
    (home / ".git" / "worktrees" / "w").mkdir(parents=True)
    (home / ".git" / "worktrees" / "w" / "commondir").write_text("../..\n", encoding="ascii")
    tree = tmp_path / "w"
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {home / '.git' / 'worktrees' / 'w'}\n", encoding="utf-8")
    remote = '[remote "origin"]\n\turl = https://github.com/acme/web.git\n'
    for folder in (home, tree, repository(tmp_path / "c" / "web", remote), repository(tmp_path / "d" / "web", remote)):
        cache_context(data, str(folder), "", "1", "")
    assert projects_sharing_a_name(data) == {}
