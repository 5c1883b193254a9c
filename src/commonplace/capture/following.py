"""Following: which sessions changed since the last look, at the price of a look at their folders."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from commonplace.capture.foreign import Skipped
from commonplace.capture.transcripts.find import DATABASE, Found, candidates, judged
from commonplace.capture.transcripts.marks import stamp

# A database changes all the time while its editor runs, and is read whole.
DATABASE_SECONDS = 60.0
# After a look it rests at least this long, and this many times as long as the look took.
REST_SECONDS, REST_FACTOR = 2.0, 20.0


class Following:
    """Looks again and again at what lies at and under some paths. A file that vanished is no matter."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = paths
        self._seen: dict[Path, tuple[int, int]] = {}
        self._read_at: dict[Path, float] = {}
        self.rest = REST_SECONDS
        """Seconds to wait before the next look, so that looking costs little however much there is to look at."""

    def changed(self) -> list[Found]:
        """The sessions that are new or changed; at the first look all."""
        began = time.monotonic()
        seen: dict[Path, tuple[int, int]] = {}
        files: list[Found] = []
        for path in candidates(self._paths):
            if isinstance(path, Skipped):
                continue
            try:
                now = stamp(path)
            except OSError:
                continue
            if self._seen.get(path) == now or self._too_soon(path, began):
                seen[path] = self._seen.get(path, now)
                continue
            seen[path] = now
            self._read_at[path] = began
            files += [found for found in judged(path) if isinstance(found, Found)]
        self._seen = seen
        self.rest = max(REST_SECONDS, REST_FACTOR * (time.monotonic() - began))
        return sorted(files, key=lambda found: "subagents" in found.path.parts)

    def _too_soon(self, path: Path, now: float) -> bool:
        return path.name == DATABASE and now - self._read_at.get(path, -DATABASE_SECONDS) < DATABASE_SECONDS
