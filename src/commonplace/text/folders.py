"""Folders: paths such as /work/engineering that form a tree, in any language."""

from __future__ import annotations

import re
import unicodedata

from commonplace.errors import InvalidInput
from commonplace.text.redact import redact

MAX_FOLDER = 500
ROOT = "/"
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_HINT = "Write it like /work/engineering; names may hold spaces and letters of any language."


def folder_path(text: str) -> str:
    """A folder as it is kept: composed letters, one slash before each name, none at the end, no secret.

    An address is known by its slashes, so secrets go before those are folded.
    """
    text = redact(unicodedata.normalize("NFC", text))
    if _CONTROLS.search(text):
        raise InvalidInput("folder holds control characters.", _HINT)
    names = [name.strip() for name in text.split("/")]
    path = ROOT + "/".join(name for name in names if name)
    if not text.strip():
        raise InvalidInput("folder is empty.", _HINT)
    if any(name in (".", "..") for name in names):
        raise InvalidInput(f"{text[:60]!r} is not a folder: . and .. are no names.", _HINT)
    if len(path) > MAX_FOLDER:
        raise InvalidInput(f"folder has {len(path)} characters, more than {MAX_FOLDER}.", _HINT)
    return path


def names_in(path: str) -> list[str]:
    """The names along a folder's path, outermost first."""
    return [name for name in path.split("/") if name]


def lies_in(path: str, tree: str) -> bool:
    """Whether a folder is another one or below it."""
    return tree in (ROOT, path) or path.startswith(f"{tree}/")
