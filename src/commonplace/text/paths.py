"""Paths: folders of conversations such as /work/engineering, safe file names, and the globs of rules (`src/api/**`)."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from commonplace.errors import InvalidInput
from commonplace.text.redact import redact

MAX_FOLDER = 500
ROOT_FOLDER = "/"
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_CATEGORY = re.compile(r"\w(?:[\w .-]{0,98}[\w-])?")
# Names of devices on Windows, whatever follows their first dot.
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)
_FOLDER_HINT = "Write it like /work/engineering; names may hold spaces and letters of any language."


def normalise_folder(text: str) -> str:
    """A folder as it is stored: composed letters, one slash before each name, none at the end, no secret.

    Secrets are removed first: a URL is recognised by its slashes.
    """
    text = redact(unicodedata.normalize("NFC", text))
    if _CONTROLS.search(text):
        raise InvalidInput("folder contains control characters.", _FOLDER_HINT)
    names = [name.strip() for name in text.split("/")]
    path = ROOT_FOLDER + "/".join(name for name in names if name)
    if not text.strip():
        raise InvalidInput("folder is empty.", _FOLDER_HINT)
    if any(name in (".", "..") for name in names):
        raise InvalidInput(f"{text[:60]!r} is not a folder: . and .. are not allowed.", _FOLDER_HINT)
    if len(path) > MAX_FOLDER:
        raise InvalidInput(f"folder has {len(path)} characters, more than {MAX_FOLDER}.", _FOLDER_HINT)
    return path


def folder_names(path: str) -> list[str]:
    """The names along a folder's path, outermost first."""
    return [name for name in path.split("/") if name]


def totals_by_folder(counts: Mapping[str, int]) -> dict[str, int]:
    """What is counted in each folder together with all below it, a folder before those in it, by name."""
    totals: Counter[str] = Counter()
    for path, count in counts.items():
        names = folder_names(path)
        for depth in range(len(names) + 1):
            totals[ROOT_FOLDER + "/".join(names[:depth])] += count
    return {path: totals[path] for path in sorted(totals, key=lambda path: [n.casefold() for n in folder_names(path)])}


def is_in_folder(path: str, tree: str) -> bool:
    """Whether a folder is another one or below it."""
    return tree in (ROOT_FOLDER, path) or path.startswith(f"{tree}/")


# Bytes of a name before its ending; file systems allow 255 for all of it.
MAX_FILE_NAME_BYTES = 160
# What Windows or a shell takes for something else, and what cannot be seen.
_UNFIT = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f-\x9f\ud800-\udfff\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]+')
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)(?:\..*)?", re.IGNORECASE)


def safe_file_name(title: str) -> str:
    """The title as the name of a file, without an ending; never empty, hidden or reserved."""
    name = " ".join(_UNFIT.sub(" ", unicodedata.normalize("NFC", title)).split())
    name = name.encode("utf-8")[:MAX_FILE_NAME_BYTES].decode("utf-8", "ignore").lstrip(" .-~").rstrip(" .")
    return f"_{name}" if not name or _RESERVED.fullmatch(name) else name


def file_name_key(name: str) -> str:
    """The same key for two names that some file system takes for one."""
    return unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", name).casefold())


MAX_GLOB = 300
# A file has to be matched quickly whatever someone's rule file says: few branches, and few ways to divide a path.
MAX_BRANCHES, MAX_GLOBSTARS = 100, 3
MAX_FILE, MAX_DEPTH = 4096, 100
_DRIVE = re.compile(r"[A-Za-z]:")


def check_glob(glob: str) -> str:
    """A glob as it is stored: relative to the project's root, with forward slashes. Anything else is InvalidInput."""
    cleaned = glob.strip().replace("\\", "/").removeprefix("./")
    problem = _glob_problem(cleaned)
    if problem:
        raise InvalidInput(
            f"The path {glob[:60]!r} {problem}.", 'Give a glob relative to the project, such as "src/api/**".'
        )
    return cleaned


def glob_from_root(glob: str) -> str:
    """A glob for readers that match `*.ts` in the top folder only: one without a slash is for every folder."""
    return glob if "/" in glob or glob == "**" else f"**/{glob}"


def split_globs(text: str) -> tuple[str, ...]:
    """Globs as an item's details have them, one per line."""
    return tuple(glob.strip() for glob in text.split("\n") if glob.strip())


def any_glob_matches(globs: Iterable[str], files: Sequence[str]) -> bool:
    """Whether one of the files matches one of the globs. A glob without a slash is for every folder."""
    from wcmatch import glob as matcher

    flags = matcher.GLOBSTAR | matcher.BRACE | matcher.DOTGLOB | matcher.FORCEUNIX
    names = [name for file in files for name in _possible_paths(file)]
    for glob in globs:
        # One that was stored before it would have been refused matches nothing.
        if _is_small(glob) and any(matcher.globmatch(name, glob_from_root(glob), flags=flags) for name in names):
            return True
    return False


def _glob_problem(glob: str) -> str:
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


def _possible_paths(file: str) -> Iterator[str]:
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


def checked_category(category: str) -> str:
    """A name that can become a file or a folder on every system."""
    name = category.strip()
    if not _CATEGORY.fullmatch(name) or _DEVICE.fullmatch(name):
        raise InvalidInput(
            f"{category[:60]!r} cannot be a category.",
            "It becomes a file or folder name: up to 100 letters, digits, spaces and . - _, without slashes.",
        )
    return name
