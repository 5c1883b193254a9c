"""A project's folder, ways to put rules into the memory, and how to see that nothing in a folder changed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from commonplace.hosts.generate_rule_files import Generated, generate
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import NewItem, remember
from commonplace.memory.rules import RULE_SET_TYPES

PROJECT = "my-api"

Say = Callable[..., int]
Generate = Callable[..., Generated]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder.resolve()


@pytest.fixture
def say(memory: LocalMemory) -> Say:
    """Remembers a rule, or whatever type it is; returns its id."""

    def call(text: str, type_: str = "rule", *, category: str = "", paths: tuple[str, ...] = (), **more: object) -> int:
        details = {"category": category, "paths": "\n".join(paths)}
        meta = more.get("meta", {})
        project = more.get("project", PROJECT)
        assert isinstance(meta, dict) and (project is None or isinstance(project, str))
        note = NewItem(text, type=type_, details={k: v for k, v in details.items() if v}, meta=meta, project=project)
        return remember(memory, note).id

    return call


@pytest.fixture
def write(memory: LocalMemory, root: Path) -> Generate:
    """Generates into the project's folder."""

    def call(*targets: str, types: tuple[str, ...] | None = None) -> Generated:
        return generate(memory, root, PROJECT, targets, RULE_SET_TYPES if types is None else types)

    return call


def tree(folder: Path) -> dict[str, object]:
    """Everything in a folder: names, kinds, modes and bytes."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        kind: object = str(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else "folder"
        found[path.relative_to(folder).as_posix()] = (kind, status.st_mode, status.st_uid)
    return found


def inner(text: str) -> str:
    """What stands between our markers, without the note."""
    between = text.partition("<!-- commonplace:begin -->\n")[2].partition("<!-- commonplace:end -->")[0]
    return between.partition("-->\n")[2].strip()
