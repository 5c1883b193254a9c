"""A real session of Claude Code 2.1.197, shortened: what its hooks were given, and the transcript that it wrote.

A test fails with a deadlock, a file is written, the test passes, the agent explains and names two next steps; the
session is resumed for one more turn.
"""

from __future__ import annotations

import json
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from commonplace.config import Settings

from .hook_runner import COMMAND, SECONDS, environment, fire

FOLDER = Path(__file__).parent / "payloads"
SESSION = "7be2debc-266e-4462-920b-06e510c830c2"
EXPLANATION = "The sweeper freed a reservation while the payment was being captured, so both carts held one row each."


def payloads(work: Path, session: str = SESSION) -> list[tuple[str, dict[str, Any]]]:
    """The events in their order, as if they had happened in this folder."""
    output = (FOLDER / "claude_code.jsonl").read_text(encoding="utf-8").replace(SESSION, session)
    output = output.replace("FOLDER", work.as_posix()).replace("HOME", work.parent.as_posix())
    lines = map(json.loads, output.splitlines())
    return [(line["event"], line["payload"]) for line in lines]


def transcript(work: Path, at: datetime | None = None) -> str:
    """What Claude Code wrote, at this moment."""
    output = (FOLDER / "claude_code_transcript.jsonl").read_text(encoding="utf-8").replace("FOLDER", work.as_posix())
    lines = list(map(json.loads, output.splitlines()))
    stamp = (at or datetime.now(UTC)).isoformat()
    return "".join(json.dumps({**line, "timestamp": stamp}) + "\n" for line in lines)


def play(settings: Settings, work: Path, *, session: str = SESSION, turns: int = 2) -> None:
    """Fire the hooks of the session, or of its first turn only."""
    result = payloads(work, session)
    end = [place for place, (event, _payload) in enumerate(result) if event == "SessionEnd"][turns - 1] + 1
    for event, payload in result[:end]:
        done = fire(settings, event=event, payload=payload, env=environment(COMMONPLACE_HOOKS_DRAIN="off"))
        assert done.returncode == 0


def commonplace(settings: Settings, work: Path, *arguments: str) -> str:
    """What a command prints, run in the folder of the session."""
    done = subprocess.run(
        [COMMAND, "--data-dir", str(settings.data_dir), *arguments],
        capture_output=True,
        cwd=work,
        env=environment(COMMONPLACE_EMBEDDER="off", HOME=str(work.parent)),
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode in (0, 3), done
    return done.stdout.decode()
