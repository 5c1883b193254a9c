"""Globs that say for which files a rule holds: `src/api/**`, `*.{ts,tsx}`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from commonplace.errors import InvalidInput

MAX_GLOB = 300
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_DRIVE = re.compile(r"[A-Za-z]:")


def checked_glob(glob: str) -> str:
    """A glob as it is kept: relative to the project's root, with forward slashes. Anything else is InvalidInput."""
    cleaned = glob.strip().replace("\\", "/").removeprefix("./")
    problem = (
        "is empty"
        if not cleaned
        else f"has more than {MAX_GLOB} characters"
        if len(cleaned) > MAX_GLOB
        else "has a control character"
        if _CONTROL.search(cleaned)
        else "is absolute"
        if cleaned.startswith(("/", "~")) or _DRIVE.match(cleaned)
        else "leaves the project"
        if ".." in cleaned.split("/")
        else "has an unbalanced bracket"
        if not _balanced(cleaned)
        else ""
    )
    if problem:
        raise InvalidInput(
            f"The path {glob[:60]!r} {problem}.", 'Give a glob relative to the project, such as "src/api/**".'
        )
    return cleaned


def any_matches(globs: Iterable[str], files: Sequence[str]) -> bool:
    """Whether one of the files is meant by one of the globs. A glob without a slash holds in every folder."""
    from wcmatch import glob as matcher

    flags = matcher.GLOBSTAR | matcher.BRACE | matcher.DOTGLOB | matcher.FORCEUNIX
    patterns = [glob if "/" in glob else f"**/{glob}" for glob in globs]
    names = [file.strip().replace("\\", "/").removeprefix("./") for file in files]
    return any(matcher.globmatch(name, patterns, flags=flags) for name in names if name)


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
