"""The folder that an agent works in: its project, file names relative to its root, and whether it may see the project.

Anybody can write another project's address into a folder's `.git/config`. A session there must not be shown that
project's memory. So the commits at which sessions started are recorded per project, and another folder proves to be the
same repository by having one of them. Folders without a remote that only share a name are one project by mistake: that
is reported.
"""

from __future__ import annotations

import json
import os
import re
import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from commonplace.fast.context_cache import cached_contexts
from commonplace.hosts.transcript import Transcript, transcript_project
from commonplace.memory.detect_project import file_text, git_folder_of
from commonplace.text.redact import redact

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
    """Working folders, each looked up once; with `known`, which are on another machine, only these are known."""

    def __init__(self, known: Mapping[str, WorkingFolder] | None = None) -> None:
        self._known, self._here = dict(known or {}), known is None

    def of(self, folder: str) -> WorkingFolder:
        if folder not in self._known:
            self._known[folder] = _look_up(folder) if self._here else WorkingFolder()
        return self._known[folder]


def _look_up(folder: str) -> WorkingFolder:
    if not folder.strip() or len(folder) > _MAX_PATH or _UNSTORABLE.search(folder):
        return WorkingFolder()
    # The project does not depend on the product.
    project = transcript_project(Transcript("claude-code", "", folder=folder))
    return WorkingFolder(folder, project, _repository_root(folder))


def _repository_root(folder: str) -> str:
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


_BRANCH = "ref: refs/heads/"


def checked_out_branch(root: str) -> str:
    """The branch that is checked out in the repository at a folder; empty if that is unknown."""
    if not root or not Path(root).is_absolute():
        return ""
    head = file_text(own_git_folder(Path(root)) / "HEAD")
    return head.removeprefix(_BRANCH).strip() if head.startswith(_BRANCH) else ""


def own_git_folder(root: Path) -> Path:
    """Where git keeps the HEAD and the index of a folder; those of a worktree are its own."""
    marker = root / ".git"
    return marker if marker.is_dir() else root / file_text(marker).removeprefix("gitdir:").strip()


KNOWN_COMMITS_FILE = "known-commits.json"
NAME_CLASH_ADVICE = "`git config commonplace.project NAME` in one of them tells them apart."
# Commits that are recorded per project, and projects in all; the oldest are dropped first.
MAX_COMMITS, MAX_PROJECTS = 50, 2000
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_IDX_MAGIC = b"\xfftOc\x00\x00\x00\x02"
_FANOUT = 8
_NAMES = _FANOUT + 256 * 4


def is_known_repository(data: Path, project: str, folder: Path) -> bool:
    """Whether a folder may be shown the memory of the project that its remote names.

    It may if it has a commit recorded for the project, or is its first folder with a commit; its newest commit is then
    recorded. A folder whose project is only its own name has nothing to prove.
    """
    git = git_folder_of(folder)
    if git is None or "/" not in project:
        return True
    commits = _load(data).get(project, [])
    if commits and not any(has_object(git, commit) for commit in commits):
        return False
    return record_commit(data, project, folder)


def record_commit(data: Path, project: str, folder: Path) -> bool:
    """Record a folder's newest commit as one of the project; False if it has none."""
    git = git_folder_of(folder)
    head = head_commit(git) if git else None
    if git is None or head is None or not has_object(git, head):
        return False
    known = _load(data)
    commits = known.pop(project, [])
    if commits[-1:] != [head]:
        known[project] = [*[commit for commit in commits if commit != head][1 - MAX_COMMITS :], head]
        _save(data, dict(list(known.items())[-MAX_PROJECTS:]))
    return True


def head_commit(git: Path) -> str | None:
    """The commit that a repository has checked out; None before the first one."""
    head = file_text(git / "HEAD").strip()
    if not head.startswith("ref:"):
        return head if _COMMIT.fullmatch(head) else None
    name = head.removeprefix("ref:").strip()
    if not re.fullmatch(r"refs/[\w./+@-]{1,200}", name) or ".." in name:
        return None
    loose = file_text(git / name).strip()
    if _COMMIT.fullmatch(loose):
        return loose
    packed = (line.partition(" ") for line in file_text(git / "packed-refs").splitlines())
    return next((commit for commit, _, ref in packed if ref == name and _COMMIT.fullmatch(commit)), None)


def has_object(git: Path, commit: str) -> bool:
    """Whether a repository has a commit, loose or in one of its packs."""
    for objects in (git / "objects", *_alternates(git)):
        if (objects / commit[:2] / commit[2:]).is_file():
            return True
        try:
            packs = [entry for entry in os.scandir(objects / "pack") if entry.name.endswith(".idx")]
        except OSError:
            continue
        if any(_in_pack(Path(entry.path), bytes.fromhex(commit)) for entry in packs):
            return True
    return False


def _alternates(git: Path) -> list[Path]:
    """Where a repository borrows objects from (`git clone --shared`)."""
    lines = file_text(git / "objects" / "info" / "alternates").splitlines()
    return [git / "objects" / line for line in lines[:8] if line and not line.startswith("#")]


def _in_pack(path: Path, name: bytes) -> bool:
    """Binary search in the index of a pack: a table of counts by first byte, then the sorted names."""
    try:
        with path.open("rb") as file:
            if file.read(8) != _IDX_MAGIC:
                return False
            file.seek(_FANOUT + max(0, name[0] - 1) * 4)
            low, high = struct.unpack(">II", file.read(8)) if name[0] else (0, *struct.unpack(">I", file.read(4)))
            while low < high:
                middle = (low + high) // 2
                file.seek(_NAMES + middle * len(name))
                found = file.read(len(name))
                if found == name:
                    return True
                low, high = (middle + 1, high) if found < name else (low, middle)
    except (OSError, struct.error):
        return False
    return False


def _load(data: Path) -> dict[str, list[str]]:
    try:
        found = json.loads((data / KNOWN_COMMITS_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {
        project: [commit for commit in commits if isinstance(commit, str) and _COMMIT.fullmatch(commit)]
        for project, commits in found.items()
        if isinstance(commits, list)
    }


def _save(data: Path, known: dict[str, list[str]]) -> None:
    part = data / f".{KNOWN_COMMITS_FILE}.{os.getpid()}"
    try:
        part.unlink(missing_ok=True)
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            json.dump(known, file)
        part.replace(data / KNOWN_COMMITS_FILE)
    except OSError:
        # Nothing is recorded this time; the next session in the folder will be.
        part.unlink(missing_ok=True)


def projects_sharing_a_name(data: str) -> dict[str, list[str]]:
    """Projects with several roots: different repositories or folders of the same name in which sessions ran lately."""
    roots: dict[str, dict[str, None]] = {}
    folders = WorkingFolders()
    for _path, _stamp, folder, _session in cached_contexts(data):
        project = folders.of(folder).project if folder else None
        # A longer name comes from a remote, or was given on purpose.
        if project and "/" not in project:
            roots.setdefault(project, {})[_main_repository_root(folder)] = None
    return {project: sorted(found) for project, found in roots.items() if len(found) > 1}


def name_clash_warning(data: str, project: str | None) -> str:
    """A line for a session in one of these projects; empty in any other."""
    roots = projects_sharing_a_name(data).get(project, []) if project else []
    return f"Mixed up here, since both are called {project}: {', '.join(roots)}. {NAME_CLASH_ADVICE}" if roots else ""


def _main_repository_root(folder: str) -> str:
    """The root of the repository; worktrees have that of their main repository."""
    return str(git_folder_of(Path(folder)) or folder).removesuffix("/.git")


# For a folder that names a project's remote and has none of its commits.
UNPROVEN_REPOSITORY = (
    "# Commonplace\n\nThis folder names {} as its remote but has no commit that was seen in it, so its memory is not"
    " shown here. If it is the same project, run `commonplace projects trust` in this folder.\n"
)
# A token has at least this many characters, but for rare cases.
_CHARACTERS_PER_TOKEN = 3


def folder_context(data: Path, folder: str, tokens: int, ask: Callable[[str | None, int], str]) -> str:
    """The context for a folder: what `ask` says of its project, within so many tokens, if it may be shown there."""
    project = WorkingFolders().of(folder).project
    proven = project is None or is_known_repository(data, project, Path(folder))
    warning = redact(name_clash_warning(str(data), project))
    text = ask(project, tokens - len(warning) // _CHARACTERS_PER_TOKEN)
    if text and not proven:
        return UNPROVEN_REPOSITORY.format(redact(project or ""))
    return f"{text}\n{warning}\n" if text and warning else text
