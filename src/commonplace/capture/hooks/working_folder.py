"""Where something happened: the project of a folder, its root, and how files are called from there."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from commonplace.hosts.transcript import Transcript, transcript_project

_MAX_FILES, _MAX_PATH = 50, 1024
_DRIVE = re.compile(r"[A-Za-z]:[/\\]")
_UNSTORABLE = re.compile("[\0\r\n\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class WorkingFolder:
    """A folder that an agent worked in. Without one, project and root are unknown."""

    folder: str = ""
    project: str | None = None
    root: str = ""

    def named(self, files: Iterable[str]) -> tuple[str, ...]:
        """The files as they are called from the root where they lie below it, else as they were named."""
        fit = (file.strip() for file in files if file.strip() and len(file) <= _MAX_PATH)
        return tuple(dict.fromkeys(self._named(_UNSTORABLE.sub("\ufffd", file)) for file in fit))[:_MAX_FILES]

    def _named(self, file: str) -> str:
        path = _slashed(file.removeprefix("file://"))
        if not (path.startswith(("/", "~")) or _DRIVE.match(path)):
            # Told from the folder, which may lie below the root.
            below = _below(self.folder, self.root)
            path = path.removeprefix("./")
            return f"{below}/{path}" if below and not path.startswith("../") else path
        return _below(path, self.root) or ("." if path == _slashed(self.root) else path)


class WorkingFolders:
    """The places of folders, each looked up once."""

    def __init__(self) -> None:
        self._known: dict[str, WorkingFolder] = {}

    def of(self, folder: str) -> WorkingFolder:
        if folder not in self._known:
            self._known[folder] = _place(folder)
        return self._known[folder]


def _place(folder: str) -> WorkingFolder:
    if not folder.strip() or len(folder) > _MAX_PATH or _UNSTORABLE.search(folder):
        return WorkingFolder()
    # Which product it was changes nothing here.
    project = transcript_project(Transcript("claude-code", "", folder=folder))
    return WorkingFolder(folder, project, _root(folder))


def _root(folder: str) -> str:
    """The top of the repository around a folder; the folder itself where there is none."""
    here = Path(folder)
    if here.is_absolute():
        for above in (here, *here.parents):
            try:
                if (above / ".git").exists():
                    return str(above)
            except OSError:
                break
    return folder


def _below(path: str, root: str) -> str:
    """The rest of a path below a root; empty where it does not lie there."""
    path, root = _slashed(path), _slashed(root).rstrip("/")
    same = (lambda text: text.casefold()) if _DRIVE.match(root) else str
    return path[len(root) + 1 :] if root and same(path).startswith(f"{same(root)}/") else ""


def _slashed(path: str) -> str:
    return path.replace("\\", "/") if _DRIVE.match(path) or path.startswith("\\\\") else path
