"""Bad lines, huge lines, missing times, secrets: told, passed over or cleaned, and nothing else is lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commonplace.capture.ingest_transcripts import IngestRun
from commonplace.memory.import_items_and_records import save_source_mark, source_mark
from commonplace.memory.local_memory import LocalMemory

from .ingest_helpers import bodies_at_once, ingest, messages, place, session, talk
from .transcripts.corpus import Claude, jsonl, write

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return place(tmp_path)


def test_nothing_secret_is_stored_also_where_a_long_result_is_cut(memory: LocalMemory, path: Path) -> None:
    claude = Claude()
    claude.user(f"My token is {'x' * 60} {SECRET} so use it")
    for at in range(9_950, 10_020, 7):
        claude.calls("Bash", f"c{at}", command="env")
        claude.answers(f"c{at}", "=" * at + SECRET + "=" * 40_000 + SECRET + "=" * (at - 20))
    key = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEowIBAAKCAQEAu1SU1LfVLPHCozMxH2Mo4lgOEePzNm0t\n" * 30
    claude.calls("Bash", "k", command="cat key; false")
    claude.answers("k", f"{'.' * 9_000}{key}-----END RSA PRIVATE KEY-----\nexit code: 1", error=True)
    claude.add("custom-title", customTitle=f"{'A title that is long ' * 5}{SECRET}")
    ingest(memory, write(path, claude.records))
    stored = json.dumps([(item.title, item.body, item.details) for item in messages(memory)]) + session(memory).label
    assert SECRET[4:12] not in stored and SECRET[-8:] not in stored and "MIIEowIBAAKC" not in stored


def test_bad_lines_are_counted_and_cost_nothing_else(memory: LocalMemory, path: Path) -> None:
    lines = jsonl(talk().records).splitlines(keepends=True)
    bad = [b"{broken\n", b"\xff\xfe\xfd not text\n", b'["a list"]\n', b'{"type": "from-the-future"}\n']
    path.parent.mkdir(parents=True)
    path.write_bytes(b"".join([lines[0], *bad, *lines[1:], b'{"type": "user", "mess']))
    summary = ingest(memory, path)
    assert summary.messages.added == 4 and summary.unknown == {"from-the-future": 1}
    assert summary.reasons == {("message", "malformed lines"): 3, ("message", "records of unknown types"): 1}


def test_a_line_of_fifty_megabytes_is_passed_over(memory: LocalMemory, path: Path) -> None:
    path.parent.mkdir(parents=True)
    with path.open("wb") as file:
        file.write(jsonl(talk().records))
        file.write(b'{"type": "user", "text": "')
        for _ in range(50):
            file.write(b"x" * 1_000_000)
        file.write(b'"}\n')
    summary = ingest(memory, path)
    assert summary.messages.added == 4 and summary.reasons == {("message", "lines too long to be read"): 1}


def test_times_that_are_missing_or_out_of_order_leave_the_order(memory: LocalMemory, path: Path) -> None:
    claude = talk()
    for record in claude.records[:2]:
        del record["timestamp"]
    claude.records[-1]["timestamp"] = "1999-01-01T00:00:00Z"
    ingest(memory, write(path, claude.records))
    assert [item.body for item in messages(memory)] == bodies_at_once(path)
    again = messages(memory)
    save_source_mark(memory, str(path), {})
    ingest(memory, path)
    assert messages(memory) == again


def test_a_folder_is_searched_for_sessions_only(memory: LocalMemory, path: Path, tmp_path: Path) -> None:
    write(path, talk().records)
    for number in range(300):
        (tmp_path / "projects" / f"{number}.json").write_text(json.dumps({"n": number}), encoding="utf-8")
        (tmp_path / "projects" / f"{number}.bin").touch()
    summary = ingest(memory, tmp_path / "projects")
    assert summary.files.added == 1 and not summary.files.skipped


def test_what_is_no_session_is_told(memory: LocalMemory, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("Nothing", encoding="utf-8")
    summary = ingest(memory, tmp_path / "notes.txt", tmp_path / "missing")
    assert summary.files.skipped == 2 and [Path(one.what).name for one in summary.examples] == ["notes.txt", "missing"]


def test_a_long_turn_becomes_several_messages_and_loses_nothing(memory: LocalMemory, path: Path) -> None:
    claude = Claude()
    claude.user("Read everything")
    for number in range(60):
        claude.calls("Read", f"c{number}", file_path=f"f{number}.py")
    for number in range(60):
        claude.answers(f"c{number}", f"number {number}\n" + "line of code\n" * 1_400)
    ingest(memory, write(path, claude.records))
    whole = "".join(item.body for item in messages(memory))
    assert len(messages(memory)) > 2 and all(f"number {number}\n" in whole for number in range(60))


def test_a_file_that_vanishes_before_it_is_read_is_told(memory: LocalMemory, path: Path) -> None:
    reading = IngestRun(memory)
    files = reading.find([write(path, talk().records)])
    path.unlink()
    reading.read(files)
    assert reading.report.files.skipped == 1 and source_mark(memory, str(path)) is None
