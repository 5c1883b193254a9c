"""`ingest`: finds the sessions, tells what came in, and follows them while agents write."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.capture.transcripts.corpus import jsonl

from .conftest import Run, wait_for_output
from .sessions_of_agents import LOGIN, furnish, login


def test_sessions_are_found_where_they_lie(run: Run, home: Path) -> None:
    furnish(home)
    done = run("ingest")
    assert done.code == 0 and "claude-code sessions\t2\t0\t0" in done.out and "messages\t6\t0\t0" in done.out
    data = run("ingest", "--json").data
    assert data["files"] == {"read": 0, "unchanged": 2, "skipped": 0}
    assert data["messages"] == {"added": 0, "known": 0}
    assert "sixty seconds" in run("search", "sixty", "--json").out


def test_the_files_of_agents_stay_as_they_are(run: Run, home: Path) -> None:
    folder = furnish(home)

    def state() -> dict[Path, tuple[bytes, int]]:
        files = [path for path in folder.rglob("*") if path.is_file()]
        return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in files}

    before = state()
    assert before and run("ingest").code == 0 and run("ingest").code == 0
    assert state() == before


def test_nothing_to_find_is_no_failure(run: Run) -> None:
    done = run("ingest")
    assert done.code == 0 and "No sessions were found" in done.err


def test_a_path_may_be_named_and_a_project(run: Run, home: Path) -> None:
    folder = furnish(home)
    assert run("ingest", str(folder / f"{LOGIN}.jsonl"), "--project", "github.com/acme/shop").code == 0
    (session,) = run("sessions", "--json").data["sessions"]
    assert session["project"] == "github.com/acme/shop"


def test_what_cannot_be_read_is_told(run: Run, home: Path, folder: Path) -> None:
    furnish(home)
    (folder / "notes.txt").write_text("Nothing", encoding="utf-8")
    done = run("ingest", "nowhere")
    assert done.code == 2 and "nowhere" in done.err
    done = run("ingest", "notes.txt", "--json")
    assert done.code == 2 and "notes.txt" in done.error["message"] and done.error["files"]["skipped"] == 1
    done = run("ingest", "notes.txt", str(home / ".claude"))
    assert (
        done.code == 0
        and "skipped\twhat\twhy\n" in done.out
        and "not a session" in done.out
        and "notes.txt" in done.err
    )
    assert run("ingest", "--watch", "--json").code == 2


def test_unknown_records_and_bad_lines_are_counted(run: Run, home: Path) -> None:
    path = furnish(home) / f"{LOGIN}.jsonl"
    path.write_bytes(path.read_bytes() + b'{"type": "from-the-future"}\n{broken\n')
    data = run("ingest", "--json").data
    assert data["unknown_records"] == {"from-the-future": 1}
    reasons = {one["why"]: one["count"] for one in data["skipped"]}
    assert reasons == {"records of unknown types": 1, "malformed lines": 1}


def test_what_came_in_is_linked_at_once(run: Run, home: Path) -> None:
    furnish(home)
    run("ingest")
    data = run("recall", "token", "bucket", "--min-score", "0", "--limit", "1", "--json").data
    assert data["graphContext"]


def test_vectors_are_announced(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    furnish(home)
    monkeypatch.setenv("COMMONPLACE_EMBEDDER", "builtin")
    done = run("ingest")
    assert done.code == 0 and "Search by meaning follows: 6 passages to go" in done.err


def test_progress_is_shown_to_people(spawn_in_terminal: Run, home: Path) -> None:
    furnish(home)
    done = spawn_in_terminal("ingest")
    assert done.code == 0 and "claude-code" in done.out and "messages" in done.out


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_watching_follows_sessions_until_it_is_told_to_end(run: Run, home: Path, ending: signal.Signals) -> None:
    command = [sys.executable, "-m", "commonplace", "ingest", "--watch"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=dict(os.environ))
    assert process.stdout is not None

    try:
        wait_for_output(process.stdout, b"Watching")
        path = furnish(home) / f"{LOGIN}.jsonl"
        wait_for_output(process.stdout, b"6 new messages in 2 sessions.")
        claude = login()
        claude.user("Is there a test for it?")
        path.write_bytes(jsonl(claude.records) + b'{"type": "user", "mess')
        wait_for_output(process.stdout, b"1 new message in 1 session.")
        path.unlink()
        other = home / ".codex" / "sessions" / "rollout-x.jsonl"
        other.parent.mkdir(parents=True)
        meta = {"type": "session_meta", "timestamp": "2026-03-17T10:00:00Z", "payload": {"id": "c1", "cwd": "/srv/x"}}
        words = [{"type": "input_text", "text": "Name a colour"}]
        item = {"type": "message", "role": "user", "content": words}
        request = {"type": "response_item", "timestamp": "2026-03-17T10:01:00Z", "payload": item}
        other.write_text(f"{json.dumps(meta)}\n{json.dumps(request)}\n", encoding="utf-8")
        wait_for_output(process.stdout, b"1 new message in 1 session.")
        process.send_signal(ending)
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    assert len(run("sessions", "--json").data["sessions"]) == 3
