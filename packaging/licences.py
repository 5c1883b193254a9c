"""The licences of everything in requirements.lock, read from what is installed, against those that we may use.

`python packaging/licences.py` names what has another one. A package that says nothing clear about itself, or whose
licence asks for something, stands in a table with the reason why it may be used all the same.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata

from locked import LOCK, pinned

# Whoever has a copy may use, change and pass it on, if the notice stays.
ALLOWED = frozenset(
    "0BSD Apache-2.0 BSD-2-Clause BSD-3-Clause CC0-1.0 ISC MIT MIT-0 PSF-2.0 Unlicense Zlib".split(),
)
# What packages call these where they do not use the names of SPDX.
SPELLINGS: Mapping[str, str] = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2.0": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "MIT License": "MIT",
    "MIT, BSD": "MIT AND BSD-3-Clause",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
}


@dataclass(frozen=True, slots=True)
class Known:
    """The licence of a package that does not tell it, or asks for something, and why it may be used."""

    licence: str
    why: str


_UNCHANGED = "used unchanged, as a package of its own; only changes to its files would have to be published"
EXCEPTIONS: Mapping[str, Known] = {
    "apsw-sqlite3mc": Known("Zlib", "it says `any OSI approved licence`; its SQLite is public domain, its ciphers MIT"),
    "axe-playwright-python": Known("MIT", "it says so in its repository only; for tests, and not shipped"),
    "certifi": Known("MPL-2.0", _UNCHANGED),
    "docutils": Known("Public Domain", "parts are BSD, one file for Emacs is GPL; builds the docs, and is not shipped"),
    "hypothesis": Known("MPL-2.0", f"for tests, and not shipped; {_UNCHANGED}"),
    "pathspec": Known("MPL-2.0", f"for building, and not shipped; {_UNCHANGED}"),
    "pyasn1-modules": Known("BSD", "its text is that of BSD-2-Clause; for tests, and not shipped"),
    "psycopg": Known("LGPL-3.0-only", "the extra `postgres`: a library that its user can replace"),
    "psycopg-binary": Known("LGPL-3.0-only", "the extra `postgres`: a library that its user can replace"),
    "tqdm": Known("MPL-2.0 AND MIT", _UNCHANGED),
    # These are not installed on every system.
    "backports-tarfile": Known("MIT", "up to Python 3.11"),
    "colorama": Known("BSD-3-Clause", "on Windows"),
    "httpx2-jsfetch": Known("BSD-3-Clause", "in browsers, where we do not run"),
    "importlib-metadata": Known("Apache-2.0", "up to Python 3.11"),
    "jeepney": Known("MIT", "on Linux"),
    "lazy-importer": Known("Apache-2.0", "up to Python 3.11"),
    "pywin32": Known("PSF-2.0", "on Windows"),
    "pywin32-ctypes": Known("BSD-3-Clause", "on Windows"),
    "secretstorage": Known("BSD-3-Clause", "on Linux"),
    "tzdata": Known("Apache-2.0", "on Windows"),
    "zipp": Known("MIT", "up to Python 3.11"),
}


def faults(lock: str) -> Iterator[str]:
    """What may not be used, or cannot be told, in a sentence each."""
    names = dict.fromkeys(one.name for one in pinned(lock))
    for name in names:
        licence = licence_of(name)
        if name in EXCEPTIONS:
            if licence and not is_allowed(licence) and licence != EXCEPTIONS[name].licence:
                yield f"{name} is under {licence!r} now, not {EXCEPTIONS[name].licence!r}: look whether that will do."
        elif not licence:
            yield f"{name} does not tell its licence, or is not installed: look it up, and note it in EXCEPTIONS."
        elif not is_allowed(licence):
            yield f"{name} is under {licence!r}: it may not be used, or needs a reason in EXCEPTIONS."
    for name in EXCEPTIONS.keys() - names.keys():
        yield f"{name} stands in EXCEPTIONS and is not locked any more."


def licence_of(name: str) -> str:
    """The licence that a package tells of itself, as an expression of SPDX where it can be read as one."""
    try:
        about = metadata.metadata(name)
    except metadata.PackageNotFoundError:
        return ""
    classified = [
        one.rsplit(" :: ", 1)[-1] for one in about.get_all("Classifier") or () if one.startswith("License ::")
    ]
    free = [one for one in about.get_all("License") or () if "\n" not in one]
    for licence in (*(about.get_all("License-Expression") or ()), *free, *classified):
        if licence and licence != "OSI Approved":
            return SPELLINGS.get(licence, licence)
    return ""


def is_allowed(expression: str) -> bool:
    """Whether one of the alternatives asks for nothing but what is allowed."""
    return any(
        all(part.strip("() ") in ALLOWED for part in re.split(r"\sAND\s", choice))
        for choice in re.split(r"\sOR\s", expression)
    )


def main() -> int:
    found = list(faults(LOCK.read_text(encoding="utf-8")))
    for fault in found:
        sys.stderr.write(f"{LOCK.name}: {fault}\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
