"""Globs that say for which files a rule holds: `src/api/**`, `*.{ts,tsx}`."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from commonplace.errors import InvalidInput

MAX_GLOB = 300
# A file has to be matched quickly whatever someone's rule file says: few branches, and few ways to divide a path.
MAX_BRANCHES, MAX_GLOBSTARS = 100, 3
MAX_FILE, MAX_DEPTH = 4096, 100
_DRIVE = re.compile(r"[A-Za-z]:")


def checked_glob(glob: str) -> str:
    """A glob as it is kept: relative to the project's root, with forward slashes. Anything else is InvalidInput."""
    cleaned = glob.strip().replace("\\", "/").removeprefix("./")
    problem = _wrong_with(cleaned)
    if problem:
        raise InvalidInput(
            f"The path {glob[:60]!r} {problem}.", 'Give a glob relative to the project, such as "src/api/**".'
        )
    return cleaned


def from_root(glob: str) -> str:
    """A glob for readers to whom `*.ts` is about the top folder only: one without a slash holds in every folder."""
    return glob if "/" in glob or glob == "**" else f"**/{glob}"


def listed_globs(text: str) -> tuple[str, ...]:
    """Globs as an item's details keep them, one to a line."""
    return tuple(glob.strip() for glob in text.split("\n") if glob.strip())


def any_matches(globs: Iterable[str], files: Sequence[str]) -> bool:
    """Whether one of the files is meant by one of the globs. A glob without a slash holds in every folder."""
    from wcmatch import glob as matcher

    flags = matcher.GLOBSTAR | matcher.BRACE | matcher.DOTGLOB | matcher.FORCEUNIX
    names = [name for file in files for name in _readings(file)]
    for glob in globs:
        # One that was kept before it would have been refused holds for nothing.
        if _is_small(glob) and any(matcher.globmatch(name, from_root(glob), flags=flags) for name in names):
            return True
    return False


def _wrong_with(glob: str) -> str:
    if not glob:
        return "is empty"
    if len(glob) > MAX_GLOB:
        return f"has more than {MAX_GLOB} characters"
    if any(unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp") for letter in glob):
        return "has a control character"
    if glob.startswith(("/", "~")) or _DRIVE.match(glob):
        return "is absolute"
    if ".." in glob.split("/"):
        return "leaves the project"
    if not _balanced(glob):
        return "has an unbalanced bracket"
    if glob.count("**") > MAX_GLOBSTARS:
        return f"has more than {MAX_GLOBSTARS} folders of any depth (**)"
    if not _is_small(glob):
        return f"stands for more than {MAX_BRANCHES} patterns"
    return ""


def _readings(file: str) -> Iterator[str]:
    """A file's path relative to the project. Where that begins is unknown of an absolute one: every tail of it."""
    name = file.strip().removeprefix("file://").replace("\\", "/")
    absolute = name.startswith(("/", "~")) or _DRIVE.match(name) is not None
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if len(name) > MAX_FILE or len(parts) > MAX_DEPTH:
        return
    if not absolute:
        yield "/".join(parts)
        return
    for start in range(len(parts)):
        yield "/".join(parts[start:])


def _is_small(glob: str) -> bool:
    import bracex

    try:
        bracex.expand(glob, limit=MAX_BRANCHES)
    except bracex.ExpansionLimitException:
        return False
    return glob.count("**") <= MAX_GLOBSTARS


def _balanced(glob: str) -> bool:
    depth, bracket = 0, False
    for letter in glob:
        if bracket:
            bracket = letter != "]"
        elif letter == "[":
            bracket = True
        elif letter in "{}":
            depth += 1 if letter == "{" else -1
            if depth < 0:
                return False
    return depth == 0 and not bracket
