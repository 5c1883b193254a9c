"""Removing secrets from what hooks keep beside the store: events of the spool, and what agents were shown."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

from commonplace.capture.hooks.shown_texts import hint_folders, text_of
from commonplace.capture.hooks.spool_reader import spool_path
from commonplace.config import Settings
from commonplace.fast.session_hints import hint_files, read_lines
from commonplace.fast.spool import EVENT, PART, REFUSED, SAMPLE
from commonplace.memory.scrub import Cleaner, ScrubResult

SPOOL_AREA = "spool"
"""What a scrub calls the spool."""
# Hooks end long before this: an unfinished file as old as this stays unfinished.
_UNFINISHED_SECONDS = 60.0


def scrub_spool(settings: Settings, named: str | None, found: ScrubResult, *, dry_run: bool = False) -> int:
    """Remove secrets from refused and unfinished events, and add what was there to `found`.

    Returns how many waiting events hold a secret: they are cleaned when they are drained, not here.
    """
    clean, spool, waiting = Cleaner(named), spool_path(settings), 0
    for path in _files_to_scrub(spool):
        with contextlib.suppress(FileNotFoundError):
            text = path.read_bytes().decode("utf-8", "replace")
            found.looked_at += 1
            kinds = clean.kinds_in(text)
            if not kinds:
                continue
            waiting += path.suffix == EVENT
            found.note(SPOOL_AREA, str(path.relative_to(spool.parent)), kinds)
            if path.suffix == EVENT or dry_run:
                continue
            if path.parent == spool:
                path.unlink()
            else:
                path.write_text(clean(text), encoding="utf-8")
    return waiting


def _files_to_scrub(spool: Path) -> Iterator[Path]:
    old = time.time() - _UNFINISHED_SECONDS
    for path in sorted(spool.iterdir()) if spool.is_dir() else ():
        if path.suffix == EVENT or (path.suffix in (PART, SAMPLE) and path.lstat().st_mtime < old):
            yield path
    refused = spool / REFUSED
    if refused.is_dir() and not refused.is_symlink():
        yield from (path for path in sorted(refused.iterdir()) if path.is_file() and not path.is_symlink())


def scrub_shown_texts(settings: Settings, named: str | None, found: ScrubResult, *, dry_run: bool = False) -> None:
    """Remove texts with a secret from what is kept of sessions, and add what was there to `found`."""
    clean = Cleaner(named)
    for path in (path for data in hint_folders(settings) for path in hint_files(data)):
        lines = list(read_lines(path))
        kept = []
        for line in lines:
            kinds = clean.kinds_in(text_of(line))
            if any(kinds.values()):
                found.note("shown", Path(path).name, kinds)
            else:
                kept.append(line)
        if len(kept) < len(lines) and not dry_run:
            part = Path(f"{path}.part")
            part.write_text("".join("\t".join(line) + "\n" for line in kept), encoding="utf-8")
            part.chmod(0o600)
            part.replace(path)
