"""The locked dependencies: each with its hashes, from no address of its own, and none that is known to be bad.

`python packaging/locked.py` says what is wrong with requirements.lock. It needs no network: what the network knows of
new faults is for `make audit`, and what it told is kept in blocked.txt, so that it does not come back.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
LOCK = ROOT / "requirements.lock"
BLOCKED = Path(__file__).parent / "blocked.txt"
_PINNED = re.compile(r"([A-Za-z0-9][\w.-]*)(?:\[[\w,-]+\])?==([^\s;\\]+)")
_HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")
_ADDRESS = re.compile(r"://|\s@\s|--(?:extra-)?index-url|--find-links|--trusted-host|^-[eif]\b")


@dataclass(frozen=True, slots=True)
class Pinned:
    """A dependency of one version, and how many files of it are known by their hashes."""

    name: str
    version: str
    hashes: int


def pinned(lock: str) -> list[Pinned]:
    """The dependencies of a lock file."""
    found = []
    for entry in _entries(lock):
        match = _PINNED.match(entry)
        if match:
            found.append(Pinned(canonicalize_name(match[1]), match[2], len(_HASH.findall(entry))))
    return found


def faults(lock: str, blocked: str) -> Iterator[str]:
    """What is wrong with a lock file, in a sentence each."""
    for entry in _entries(lock):
        shown = entry.split("--hash", 1)[0].strip()[:80]
        if _ADDRESS.search(entry):
            yield f"{shown!r} names an address or another index."
        elif not _PINNED.match(entry):
            yield f"{shown!r} is not pinned to a version."
        elif not _HASH.search(entry):
            yield f"{shown!r} has no hash."
    bad = [_blocked(line) for line in blocked.splitlines() if line.strip() and not line.startswith("#")]
    for one in pinned(lock):
        for name, versions, why in bad:
            if one.name == name and versions.contains(one.version, prereleases=True):
                yield f"{one.name} {one.version} is blocked: {why}."


def _blocked(line: str) -> tuple[str, SpecifierSet, str]:
    """`name<1.2  # why`"""
    requirement, _, why = line.partition("#")
    match = re.match(r"([\w.-]+?)\s*([<>=!~].*)", requirement.strip())
    if match is None or not why.strip():
        raise ValueError(f"{line!r} does not say which versions, or why")
    return canonicalize_name(match[1]), SpecifierSet(match[2].strip()), why.strip()


def _entries(lock: str) -> list[str]:
    """The lines, those that go on put together, without comments."""
    whole = lock.replace("\\\n", " ")
    return [line.strip() for line in whole.splitlines() if line.strip() and not line.startswith("#")]


def main() -> int:
    found = list(faults(LOCK.read_text(encoding="utf-8"), BLOCKED.read_text(encoding="utf-8")))
    for fault in found:
        sys.stderr.write(f"{LOCK.name}: {fault}\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
