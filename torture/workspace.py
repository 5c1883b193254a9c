"""The arena: a data folder of its own, the processes that work on it, and the hand that kills them."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import IO

from commonplace import config
from commonplace.config import Settings
from commonplace.memory.local_memory import LocalMemory, open_memory, wall_clock
from torture.embedding_endpoint import MODEL
from torture.ledger import Ledger
from torture.outcome import Outcome

ROOT = Path(__file__).resolve().parent.parent
# Nothing here waits longer for a process, however busy the machine is.
TIMEOUT = 300
# As long as the lease of a job of somebody who was killed, and more.
LEASE_MS = 120_000


@dataclass(slots=True)
class Workspace:
    """Where one run of a scenario happens."""

    folder: Path
    endpoint: str
    random: Random
    effort: int
    outcome: Outcome = field(default_factory=Outcome)
    ledger: Ledger = field(default_factory=Ledger)
    more: dict[str, str] = field(default_factory=dict)
    """Settings besides those of every scenario."""
    _started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def settings(self) -> Settings:
        return config.load({"data_dir": str(self.data), **self._report_line()}, env={})

    def _report_line(self) -> dict[str, str]:
        known = {"embedder": "endpoint", "endpoint_url": self.endpoint, "endpoint_model": MODEL, "resident": "off"}
        return {
            **known,
            "resident": "off",
            "backup_every_hours": "0",
            "rate_limit": "100000",
            "rate_burst": "100000",
            **self.more,
        }

    def environment(self) -> dict[str, str]:
        saved = {name: value for name, value in os.environ.items() if not name.startswith("COMMONPLACE_")}
        home = str(self.folder / "home")
        output = {f"COMMONPLACE_{name.upper()}": value for name, value in self._report_line().items()}
        path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
        return {
            **saved, **output, "COMMONPLACE_DATA_DIR": str(self.data), "HOME": home, "USERPROFILE": home,
            "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1",
        }  # fmt: skip

    def start(self, *arguments: str, stderr: int | IO[bytes] = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
        """`python -m` something, with pipes."""
        process = subprocess.Popen(
            [sys.executable, "-m", *arguments],
            env=self.environment(),
            cwd=self.folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
        )
        self._started.append(process)
        return process

    def run(self, *arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        """`python -m` something, to its end."""
        return subprocess.run(
            [sys.executable, "-m", *arguments],
            env=self.environment(),
            cwd=self.folder,
            input=stdin,
            capture_output=True,
            timeout=TIMEOUT,
            check=False,
        )

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        """Without a word, as `kill -9` does."""
        if process.poll() is None:
            process.kill()
            self.outcome.count("kills")

    @contextlib.contextmanager
    def memory(self, ahead_ms: int = 0) -> Iterator[LocalMemory]:
        """The memory, opened in this process, by a clock that may be ahead."""
        memory = open_memory(self.settings, lambda: wall_clock() + ahead_ms)
        try:
            yield memory
        finally:
            memory.close()

    def turn_page(self, ledger: Ledger) -> None:
        """Go on with another ledger; what was acknowledged counts."""
        self.outcome.acknowledged += self.ledger.acknowledged
        self.ledger = ledger

    def close(self) -> None:
        """End everything that still runs."""
        for process in self._started:
            if process.poll() is None:
                process.kill()
            process.wait(TIMEOUT)
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()
        self.turn_page(Ledger())


Play = Callable[[Workspace], None]


@dataclass(frozen=True, slots=True)
class Scenario:
    """Something that may go wrong, as a story that is told on an arena. More effort, more of it."""

    name: str
    says: str
    play: Play
    effort: int
    posix: bool = False
