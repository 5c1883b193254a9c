"""Which project a folder belongs to: read from the files of its git repository, without running git."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from commonplace.errors import InvalidInput
from commonplace.text.project_names import normalise_project

_SECTION = re.compile(r'\s*\[\s*([\w.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]\s*(.*)')
_KEY = re.compile(r"\s*([\w-]+)\s*=\s*(.*)")
_VALUE = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|([^#;]*))')


def detect_project(folder: Path) -> str | None:
    """The project that a folder belongs to, read from the files of its git repository; None outside any.

    It is called what `git config commonplace.project` says, else like the remote `origin`, or the only remote there is,
    else like the repository's folder. Worktrees belong to their repository; a submodule is a project of its own.
    """
    found = _around(folder)
    if found is None:
        return None
    common, home = found
    settings = list(_settings(common))
    return _name_or_none(_chosen(settings)) or _name_or_none(_remote(settings)) or _name_or_none(home)


def git_folder_of(folder: Path) -> Path | None:
    """The folder in which git keeps the repository that a folder belongs to; worktrees share it."""
    found = _around(folder)
    return found[0] if found else None


def _around(folder: Path) -> tuple[Path, str] | None:
    try:
        start = folder.resolve()
    except (OSError, RuntimeError, ValueError):
        return None
    return next((found for root in (start, *start.parents) if (found := _repository(root))), None)


def _repository(root: Path) -> tuple[Path, str] | None:
    """The folder that holds a repository's config, and the repository's own folder name, if `root` is its top."""
    marker = root / ".git"
    if marker.is_dir():
        return (marker, root.name) if (marker / "HEAD").is_file() else None
    pointer = file_text(marker)
    if not pointer.startswith("gitdir:"):
        return None
    git_folder = root / pointer.removeprefix("gitdir:").strip()
    common = file_text(git_folder / "commondir").strip()
    if not common:
        return git_folder, root.name
    shared = (git_folder / common).resolve()
    return shared, shared.parent.name if shared.name == ".git" else shared.name


def _settings(common: Path) -> Iterator[tuple[str, str, str, str]]:
    """(section, what it is about, key, value) of a repository's own configuration."""
    section = about = ""
    for line in file_text(common / "config").splitlines():
        if header := _SECTION.match(line):
            section, about, line = header[1].lower(), header[2] or "", header[3]
        elif line.lstrip().startswith("["):
            section = about = ""
        key = _KEY.match(line)
        if section and key and (value := _VALUE.match(key[2])):
            quoted = value[1]
            yield (
                section,
                about,
                key[1].lower(),
                value[2].strip() if quoted is None else re.sub(r"\\(.)", r"\1", quoted),
            )


def _chosen(settings: Sequence[tuple[str, str, str, str]]) -> str:
    """What somebody called the project; the last word counts, as git has it."""
    names = [
        value for section, about, key, value in settings if (section, about, key) == ("commonplace", "", "project")
    ]
    return names[-1] if names else ""


def _remote(settings: Sequence[tuple[str, str, str, str]]) -> str:
    remotes: dict[str, str] = {}
    for section, about, key, value in settings:
        if (section, key) == ("remote", "url"):
            remotes.setdefault(about, value)
    if "origin" in remotes:
        return remotes["origin"]
    return next(iter(remotes.values())) if len(remotes) == 1 else ""


def file_text(path: Path) -> str:
    """What a file says; empty if there is none, or it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    except (OSError, ValueError):
        return ""


def _name_or_none(raw: str) -> str | None:
    try:
        return normalise_project(raw)
    except InvalidInput:
        return None
