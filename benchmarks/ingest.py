"""How quickly sessions of a coding agent come in, and in how much memory: `python -m benchmarks.ingest`."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.client import environment
from benchmarks.corpus import START_MS
from benchmarks.importing import Writer

TURNS, TURNS_EACH = 10_000, 100
# Reads sessions, then links them; tells the seconds and the processor's seconds of both, and the most memory.
MEASURED = """
import json, resource, sys, time
from pathlib import Path
from commonplace import config
from commonplace.capture.ingest_transcripts import IngestRun
from commonplace.memory.local_memory import open_memory
from commonplace.memory.graph import link_new_passages
times = [(time.perf_counter(), time.process_time())]
memory = open_memory(config.load({"data_dir": sys.argv[2], "embedder": "off"}))
reading = IngestRun(memory)
reading.add([Path(sys.argv[1])])
times.append((time.perf_counter(), time.process_time()))
while link_new_passages(memory):
    pass
times.append((time.perf_counter(), time.process_time()))
memory.close()
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"messages": reading.report.messages.added, "times": times, "peak": peak}))
"""


def write_sessions(folder: Path, turns: int, seed: int = 7) -> int:
    """Sessions of Claude Code in three projects, 100 turns each; how many bytes they have."""
    writer, written = Writer(seed), 0
    for number in range(-(-turns // TURNS_EACH)):
        session = writer.id()
        path = folder / f"-srv-code-project-{number % 3}" / f"{session}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        began = datetime.fromtimestamp(START_MS / 1000, UTC) + timedelta(hours=3 * number)
        with path.open("w", encoding="utf-8") as file:
            for record in records(writer, session, f"/srv/code/project-{number % 3}", began, min(turns, TURNS_EACH)):
                written += file.write(json.dumps(record, ensure_ascii=False) + "\n")
    return written


def records(writer: Writer, session: str, folder: str, began: datetime, turns: int) -> Iterator[dict[str, Any]]:
    """A session: in each turn a question, a thought, some calls of tools with their results, and an answer."""
    last, at = None, began
    for _ in range(turns):
        for kind, message, more in turn(writer):
            at += timedelta(seconds=writer.chance.randint(1, 30))
            uuid = writer.id()
            yield {
                "parentUuid": last,
                "isSidechain": False,
                "userType": "external",
                "cwd": folder,
                "sessionId": session,
                "version": "2.1.0",
                "gitBranch": "main",
                "type": kind,
                "message": message,
                "uuid": uuid,
                "timestamp": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
                **more,
            }
            last = uuid


def turn(writer: Writer) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    def says(block: dict[str, Any]) -> tuple[str, dict[str, Any], dict[str, Any]]:
        usage = {"input_tokens": 10, "cache_read_input_tokens": 20_000, "output_tokens": 300}
        message = {"id": writer.id(), "type": "message", "role": "assistant", "model": "claude-x", "usage": usage}
        return "assistant", {**message, "content": [block]}, {"requestId": writer.id()}

    yield "user", {"role": "user", "content": writer.question()}, {}
    yield says({"type": "thinking", "thinking": writer.question(), "signature": writer.id() * 4})
    for _ in range(writer.chance.choice((0, 0, 0, 1, 1))):
        call = f"toolu_{writer.id()[:18]}"
        a, b, c = writer.words(3)
        name, given, output = (
            ("Read", {"file_path": f"/srv/code/src/{a}/{b}.py"}, writer.answer())
            if writer.chance.random() < 0.5
            else ("Bash", {"command": f"pytest tests/{a} -k {b}", "description": c}, f"{writer.answer()}\nexit code: 0")
        )
        yield says({"type": "tool_use", "id": call, "name": name, "input": given})
        result = {"type": "tool_result", "tool_use_id": call, "content": output}
        yield "user", {"role": "user", "content": [result]}, {"toolUseResult": {"stdout": output[:200]}}
    yield says({"type": "text", "text": writer.answer()})


def ingesting(turns: int, folder: Path) -> Iterator[tuple[str, str, str]]:
    """Rows of (what, figure, remark): new sessions, the same once more, and after one of them grew.

    What is read can be found by its words; links and vectors follow.
    """
    sessions = folder / f"sessions-{turns}"
    size = (
        sum(path.stat().st_size for path in sessions.rglob("*.jsonl"))
        if sessions.exists()
        else write_sessions(sessions, turns)
    )
    with tempfile.TemporaryDirectory() as data_dir:
        for what in ("new", "unchanged", "one grew"):
            if what == "one grew":
                _grow(next(sessions.rglob("*.jsonl")))
            command = [sys.executable, "-c", MEASURED, str(sessions), data_dir]
            done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=True)
            printed = json.loads(done.stdout)
            memory = printed["peak"] / (1e6 if sys.platform == "darwin" else 1e3)
            name = f"{turns:,} turns, {size / 1e6:.0f} MB, {what}"
            for stage, before, after in zip(("read", "linked"), printed["times"], printed["times"][1:], strict=False):
                seconds, computing = (late - early for early, late in zip(before, after, strict=True))
                yield f"{name}: {stage}", f"{seconds:.1f} s", f"{computing:.1f} s of CPU"
            yield f"{name}: most memory", f"{memory:.0f} MB", f"{printed['messages']:,} messages"


def _grow(path: Path) -> None:
    """Say one more thing in a session."""
    last = json.loads(path.read_bytes().splitlines()[-1])
    content = [{"type": "text", "text": "And that was the last of it."}]
    more = {**last, "uuid": f"{last['uuid']}-more", "parentUuid": last["uuid"], "type": "assistant"}
    more["message"] = {"role": "assistant", "content": content}
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(more) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=TURNS, help="how many turns there are in all")
    parser.add_argument("--keep", type=Path, help="folder for the sessions; a temporary one if omitted")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        for row in ingesting(options.turns, options.keep or Path(temporary)):
            print(f"| {row[0]:50} | {row[1]:>8} | {row[2]:>16} |", flush=True)


if __name__ == "__main__":
    main()
