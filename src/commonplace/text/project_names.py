"""Project names: one canonical spelling for a git remote, a folder or a plain name.

`github.com/acme/my-api` is the canonical name of a repository with a remote; people see and type its base name.
Which project a folder belongs to is for memory/detect_project.py to say.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import lru_cache
from urllib.parse import unquote

from commonplace.errors import InvalidInput
from commonplace.text.redact import redact

MAX_PROJECT_NAME = 200
MAX_RAW = 4096
# The pattern that means every project, and what is done outside any.
EVERY_PROJECT = "*"

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)
_SCP = re.compile(r"(?:[^@/\\\s]+@(\[[^\]]+\]|[^:/\\\s]+)|([^:@/\\\s.]++\.[^:@/\\\s]++)):(?!//)(.*)", re.DOTALL)
_FOLDER = re.compile(r"[/~\\]|\.{1,2}(?:[/\\]|\Z)|[A-Za-z]:(?:[/\\]|\Z)")
_HOST_ALIASES = {
    "ssh.github.com": "github.com",
    "altssh.gitlab.com": "gitlab.com",
    "altssh.bitbucket.org": "bitbucket.org",
}


def normalise_project(raw: str) -> str:
    """The canonical name for a git remote, a folder path or a plain name.

    Remotes become `host/path` without user, password, port or `.git`; folders their last segment. A key or password
    that stands in the name is redacted, so every spelling leads to the same project and none of them is kept.
    """
    name, previous = raw, None
    # A name is canonical when it is its own canonical name; decoding or cutting can uncover another layer.
    while name != previous:
        previous = name
        name = redact(_canonical(_checked(name)))
    if len(name) > MAX_PROJECT_NAME:
        raise _too_long()
    return name


def base_name(name: str) -> str:
    """The last segment of a project name: what people call it."""
    return name.rstrip("/").rpartition("/")[2]


def short_names(projects: Iterable[tuple[str, Sequence[str]]]) -> dict[str, str]:
    """The shortest end of each project's name that means no other one; given are names with their aliases."""
    known = [(name, {name.casefold(), *(alias.casefold() for alias in aliases)}) for name, aliases in projects]
    ends: dict[str, set[str]] = {}
    for name, answers_to in known:
        for one in answers_to:
            for end in _ends(one):
                ends.setdefault(end, set()).add(name)
    return {
        name: next((end for end in _ends(name) if ends[end.casefold()] == {name} or end == name), name)
        for name, _answers_to in known
    }


def _ends(name: str) -> Iterator[str]:
    """The ends of a name at a `/`, the shortest first."""
    parts = name.split("/")
    return ("/".join(parts[start:]) for start in reversed(range(len(parts))))


def same_project(a: str, b: str) -> bool:
    """Whether two names mean one project: equal but for case, or one the end of the other at a `/`."""
    a, b = a.casefold().strip("/"), b.casefold().strip("/")
    return bool(a and b) and (a == b or a.endswith("/" + b) or b.endswith("/" + a))


def means_project(written: str, project: str | None) -> bool:
    """Whether a name or pattern that a person wrote means a project: `my-api`, `acme/my-api`, `github.com/acme/*`.

    It is compared with the whole name and with its ends at a `/`; a pattern without a `/` only with the last of them.
    """
    if project is None:
        return written.strip() == EVERY_PROJECT
    pattern, name = _spelled(written), project.casefold().strip("/")
    ends = _ends(name) if "/" in pattern else [base_name(name)]
    return fnmatchcase(name, pattern) or any(fnmatchcase(end, pattern) for end in ends)


def may_mean_project(written: str, project: str | None) -> bool:
    """The same for what must not be missed: a project with a short name may be the one that was written in full."""
    return means_project(written, project) or (project is not None and same_project(_spelled(written), project))


@lru_cache(maxsize=256)
def _spelled(written: str) -> str:
    """What somebody wrote for a project, in canonical spelling if it has one."""
    with suppress(InvalidInput):
        written = normalise_project(written)
    return written.casefold().strip("/")


def _checked(raw: str) -> str:
    text = unicodedata.normalize("NFC", raw).strip()
    if not text:
        raise InvalidInput("The project name is empty.")
    if len(text) > MAX_RAW:
        raise _too_long()
    if any(unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") for char in text):
        raise InvalidInput("The project name contains control characters.")
    return text


def _canonical(text: str) -> str:
    if url := _URL.fullmatch(text):
        scheme, rest = url[1].lower(), unquote(re.split(r"[?#]", url[2], maxsplit=1)[0])
        if scheme == "file":
            return _last_segment(rest)
        authority, _, path = rest.partition("/")
        host = authority.rpartition("@")[2]
        return _remote_name(re.sub(r":\d*\Z", "", host), path)
    if _FOLDER.match(text) or "\\" in text:
        return _last_segment(text)
    if scp := _SCP.fullmatch(text):
        return _remote_name(scp[1] or scp[2], scp[3])
    host, _, path = text.partition("/")
    return _remote_name(host, path) if path.strip("/") and "." in host.strip(".") else "/".join(_segments(text))


def _remote_name(host: str, path: str) -> str:
    host = host.strip("[]").rstrip(".").lower().removeprefix("www.")
    if not host:
        return "/".join(_segments(path))
    return "/".join([_HOST_ALIASES.get(host, host), *_segments(path, optional=True)])


def _segments(path: str, optional: bool = False) -> list[str]:
    segments = [segment.strip() for segment in re.split(r"[/\\]+", path)]
    if ".." in segments:
        raise InvalidInput("The project name contains a `..` segment.", "Name the project, or give its full path.")
    segments = [segment for segment in segments if segment not in ("", ".", "~")]
    while segments and segments[-1].removesuffix(".git") != segments[-1]:
        bare = segments.pop().removesuffix(".git").strip()
        if bare:
            segments.append(bare)
    if not segments and not optional:
        raise InvalidInput("The project name contains no name.", "Name the project, or give its full path.")
    return segments


def _last_segment(path: str) -> str:
    last = _segments(path)[-1]
    if re.fullmatch(r"[A-Za-z]:", last):
        raise InvalidInput("The project name is a drive, not a folder.")
    return last


def _too_long() -> InvalidInput:
    return InvalidInput(f"The project name is longer than {MAX_PROJECT_NAME} characters.")
