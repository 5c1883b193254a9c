"""OpenCode's database is read as it is, and never touched. The session is a real one of version 1.18.33, shortened."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.capture.ingest_helpers import ingest

from commonplace.capture.transcripts import Reading, read_sessions
from commonplace.errors import InvalidInput
from commonplace.hosts.host import Locations
from commonplace.hosts.opencode import HOST
from commonplace.hosts.transcript import Turn
from commonplace.memory.local_memory import LocalMemory
from commonplace.model import Scope

RECORDED = Path(__file__).parent / "opencode_session.jsonl"
SESSION = "ses_e1892fd60ffeTried"
PROMPT = "How long does a reservation in a cart last until the sweeper frees it?"
SCHEMA = """
CREATE TABLE session (id TEXT, parent_id TEXT, directory TEXT, title TEXT, version TEXT, time_created INTEGER);
CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, data TEXT);
CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, time_created INTEGER, data TEXT);
"""


def insert(made: apsw.Connection, table: str, row: Mapping[str, Any]) -> None:
    values = {name: json.dumps(value) if name == "data" else value for name, value in row.items()}
    marks = ", ".join("?" * len(values))
    made.execute(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})", tuple(values.values()))


def database(folder: Path) -> apsw.Connection:
    """The file as OpenCode leaves it, with the recorded session in it."""
    made = apsw.Connection(str(folder / "opencode.db"))
    made.execute("PRAGMA journal_mode=wal")
    made.execute(SCHEMA)
    text = RECORDED.read_text(encoding="utf-8").replace("FOLDER", (folder / "shop").as_posix())
    for line in map(json.loads, text.splitlines()):
        ((table, row),) = line.items()
        insert(made, table, row if table == "session" else {**row, "session_id": SESSION})
    return made


def readings(path: Path) -> list[tuple[list[Turn], Reading]]:
    return [(list(one), one) for one in read_sessions(path, "opencode")]


def test_a_session_is_one_turn_with_its_tools(tmp_path: Path) -> None:
    database(tmp_path)
    ((turns, read),) = readings(tmp_path / "opencode.db")
    assert (read.transcript.session, read.transcript.title, read.transcript.version) == (SESSION, "ok", "1.18.33")
    assert read.transcript.folder == (tmp_path / "shop").as_posix() and not read.counts.unknown
    (turn,) = turns
    assert (turn.role, turn.model, turn.blocks[0].text) == ("user", "claude-sonnet-4-5", PROMPT)
    run, failed, _asked, _recalled, wrote, written, answer = turn.blocks[1:]
    assert run.command == "sh run-tests.sh" and "DeadlockDetected" in failed.error
    assert wrote.files == ((tmp_path / "shop" / "orders.py").as_posix(),) and not written.error
    assert answer.text == "It expires after 15 minutes."


def test_a_session_that_goes_on_keeps_its_turns(tmp_path: Path) -> None:
    made = database(tmp_path)
    ((before, _read),) = readings(tmp_path / "opencode.db")
    message = {"id": "msg_2", "session_id": SESSION, "time_created": 1_794_886_500_000}
    insert(made, "message", {**message, "data": {"role": "user"}})
    parts = [
        {"type": "text", "text": "Read a.py"},
        {"type": "text", "text": "x = 1", "synthetic": True},
        {"type": "dream"},
    ]
    for number, part in enumerate(parts):
        row = {"id": f"prt_2{number}", "message_id": "msg_2", "session_id": SESSION, "time_created": 1}
        insert(made, "part", {**row, "data": part})
    ((turns, read),) = readings(tmp_path / "opencode.db")
    assert [turn.identity for turn in turns][:1] == [before[0].identity] == [turns[1].parent]
    assert [block.text for block in turns[1].blocks] == ["Read a.py"] and read.counts.unknown == {"part dream": 1}


def test_the_session_of_a_sub_agent_names_the_one_that_started_it(tmp_path: Path) -> None:
    made = database(tmp_path)
    child = {"id": "ses_child", "parent_id": SESSION, "directory": "", "time_created": 1_794_886_490_000}
    insert(made, "session", {**child, "title": "New session - 2026-11-17T03:00:00.000Z", "version": "1.18.33"})
    _first, (_turns, read) = readings(tmp_path / "opencode.db")
    assert (read.transcript.parent_session, read.transcript.agent_id) == (SESSION, "ses_child")
    assert read.transcript.title == ""


def test_what_was_recalled_is_not_stored_again(memory: LocalMemory, tmp_path: Path) -> None:
    database(tmp_path)
    ingest(memory, tmp_path / "opencode.db")
    question, answered = memory.store.newest(Scope(kinds=("message",)), 10)[::-1]
    assert question.text == PROMPT and "It expires after 15 minutes." in answered.text
    assert "RECALLED" not in answered.text


@pytest.mark.parametrize("content", [b"not a database at all", b"SQLite format 3\x00" + b"x" * 200])
def test_a_file_that_is_not_its_database_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "opencode.db").write_bytes(content)
    with pytest.raises(InvalidInput, match="OpenCode"):
        readings(tmp_path / "opencode.db")


def test_a_database_without_sessions_has_none(tmp_path: Path) -> None:
    (tmp_path / "opencode.db").write_bytes(b"")
    assert readings(tmp_path / "opencode.db") == []


def test_where_it_is_looked_for(tmp_path: Path) -> None:
    assert HOST.transcripts is not None
    usual = HOST.transcripts.folders(Locations(tmp_path, "darwin"))
    moved = HOST.transcripts.folders(Locations(tmp_path, "linux", {"XDG_DATA_HOME": str(tmp_path / "data")}))
    assert usual == [tmp_path / ".local/share/opencode/opencode.db"]
    assert moved == [tmp_path / "data/opencode/opencode.db"]
