"""Which project a transcript belongs to, also when its folder is gone."""

from __future__ import annotations

import re
from pathlib import Path

from commonplace.capture.transcripts.record import Transcript
from commonplace.errors import InvalidInput
from commonplace.text.names import detect_project, normalise_project

# Where products make worktrees that they delete again: the repository's name is all that is left.
_WORKTREE = re.compile(
    r"(.*?)[/\\]\.(?:claude[/\\])?worktrees[/\\][^/\\]+(?:[/\\].*)?|.*[/\\]\.cursor[/\\]worktrees[/\\]([^/\\]+)[/\\].*"
)


def project_of(transcript: Transcript) -> str | None:
    """The repository around the folder, else the remote that was noted, else the folder's name; None without any.

    A worktree belongs to its repository.
    """
    folder = transcript.folder
    here = Path(folder)
    # A path of another system would be taken for one below the current folder.
    if folder and here.is_absolute() and (found := detect_project(here)):
        return found
    worktree = _WORKTREE.fullmatch(folder)
    for name in (transcript.remote, (worktree[1] or worktree[2]) if worktree else folder):
        try:
            return normalise_project(name)
        except InvalidInput:
            continue
    return None
