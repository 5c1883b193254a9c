"""The folder that an agent works in: its project, the root of its repository, and file names relative to that."""

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
    """A folder that an agent worked in. Without a path, project and root are unknown."""

    path: str = ""
    project: str | None = None
    root: str = ""

    def relative(self, files: Iterable[str]) -> tuple[str, ...]:
        """The files relative to the root where they are below it, else unchanged."""
        valid = (file.strip() for file in files if file.strip() and len(file) <= _MAX_PATH)
        return tuple(dict.fromkeys(self._relative(_UNSTORABLE.sub("\ufffd", file)) for file in valid))[:_MAX_FILES]

    def _relative(self, file: str) -> str:
        path = _with_slashes(file.removeprefix("file://"))
        if not (path.startswith(("/", "~")) or _DRIVE.match(path)):
            # Relative to the folder, which may be below the root.
            below = _below(self.path, self.root)
            path = path.removeprefix("./")
            return f"{below}/{path}" if below and not path.startswith("../") else path
        return _below(path, self.root) or ("." if path == _with_slashes(self.root) else path)


class WorkingFolders:
    """Working folders, each looked up once."""

    def __init__(self) -> None:
        self._known: dict[str, WorkingFolder] = {}

    def of(self, folder: str) -> WorkingFolder:
        if folder not in self._known:
            self._known[folder] = _look_up(folder)
        return self._known[folder]


def _look_up(folder: str) -> WorkingFolder:
    if not folder.strip() or len(folder) > _MAX_PATH or _UNSTORABLE.search(folder):
        return WorkingFolder()
    # The project does not depend on the product.
    project = transcript_project(Transcript("claude-code", "", folder=folder))
    return WorkingFolder(folder, project, _root(folder))


def _root(folder: str) -> str:
    """The top of the repository around a folder; the folder itself if there is none."""
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
    """A path relative to a root; empty if it is not below it."""
    path, root = _with_slashes(path), _with_slashes(root).rstrip("/")
    same = (lambda text: text.casefold()) if _DRIVE.match(root) else str
    return path[len(root) + 1 :] if root and same(path).startswith(f"{same(root)}/") else ""


def _with_slashes(path: str) -> str:
    return path.replace("\\", "/") if _DRIVE.match(path) or path.startswith("\\\\") else path
