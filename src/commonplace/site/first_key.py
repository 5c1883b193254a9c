"""The first key: whoever starts a server finds it in a file that only they can read."""

from __future__ import annotations

import os
from pathlib import Path
from secrets import token_hex
from typing import TextIO

from commonplace.errors import StoreReadOnly, Unauthorized
from commonplace.memory import keys
from commonplace.memory.book import Book

NAME = "first"
_ANOTHER = "`commonplace keys create NAME` makes a key."


def first_key(book: Book, path: Path) -> str:
    """Make a key if none works yet; what to tell whoever starts the server about keys."""
    if path.is_symlink():
        raise StoreReadOnly(f"The key file {path} is a link.", "Put the file itself there, or remove the link.")
    kept = _read(path)
    if kept and _works(book, kept):
        return f"Its API key is in {path}."
    if keys.working(book):
        return f"Keys exist, but none is in {path}. {_ANOTHER}"
    if kept and not keys.looks_like_one(kept):
        return f"{path} holds no key of ours. {_ANOTHER}"
    try:
        if kept is not None:
            path.unlink(missing_ok=True)
        # A store on a server does not need the folder.
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        _make(book, path)
    except FileExistsError:
        # Another server starts at the same moment.
        return f"Its API key is in {path}."
    except OSError as error:
        raise StoreReadOnly(f"The key file {path} cannot be written: {error.strerror}.") from error
    return f"Its first API key was made and is in {path}."


def kept_key(path: Path) -> str | None:
    """The key in the file, if there is one of ours."""
    kept = _read(path)
    return kept if kept is not None and keys.looks_like_one(kept) else None


def _make(book: Book, path: Path) -> None:
    """The file has its name once it is whole. A key that nobody can read works no more."""
    key, secret = keys.create(book, NAME, "admin")
    part = path.with_name(f"{path.name}.{token_hex(8)}.part")
    try:
        with _create_private(part) as file:
            file.write(secret + "\n")
        _name(part, path)
    except OSError:
        keys.revoke(book, key.id)
        raise
    finally:
        part.unlink(missing_ok=True)


def _name(part: Path, path: Path) -> None:
    """A link, unlike a renaming, takes nobody's place."""
    try:
        path.hardlink_to(part)
    except FileExistsError:
        raise
    except OSError:
        # Not every file system has links.
        part.rename(path)


def _create_private(path: Path) -> TextIO:
    return os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8")


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def _works(book: Book, secret: str) -> bool:
    try:
        keys.check(book, secret)
    except Unauthorized:
        return False
    return True
