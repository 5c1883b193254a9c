"""Cursor's database is read as well as it can be, and never touched."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.capture.transcripts.corpus import texts

from commonplace.capture.transcripts import Reading, read_sessions
from commonplace.errors import InvalidInput
from commonplace.hosts.transcript import Turn

HEADERS = [{"bubbleId": f"b{number}", "type": 1 if number == 0 else 2} for number in range(4)]
COMPOSER = {
    "composerId": "c1",
    "name": "Fix login",
    "createdAt": 1_773_568_800_000,
    "fullConversationHeadersOnly": [*HEADERS, {"bubbleId": "lost", "type": 2}],
    "workspaceIdentifier": {"uri": {"fsPath": "/srv/code/my-api"}},
}
BUBBLES = [
    {"type": 1, "text": "Why does login fail?", "createdAt": "2026-03-15T10:00:00Z", "modelInfo": {"modelName": "m"}},
    {"type": 2, "thinking": {"text": "Look."}, "text": ""},
    {
        "type": 2,
        "text": "",
        "toolFormerData": {
            "name": "run_terminal_cmd",
            "toolCallId": "t1",
            "params": json.dumps({"command": "make test"}),
            "result": json.dumps({"output": "1 failed", "exitCode": 1}),
        },
    },
    {"type": 2, "text": "A test fails."},
]


def database(path: Path, tables: dict[str, dict[str, Any]], journal: str = "delete") -> apsw.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    made = apsw.Connection(str(path))
    made.execute(f"PRAGMA journal_mode={journal}")
    for table, rows in tables.items():
        made.execute(f"CREATE TABLE IF NOT EXISTS {table} (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")
        for key, value in rows.items():
            text = value if isinstance(value, str) else json.dumps(value)
            made.execute(f"INSERT INTO {table} VALUES (?, ?)", (key, text))
    return made


def readings(path: Path) -> list[tuple[list[Turn], Reading]]:
    return [(list(one), one) for one in read_sessions(path, "cursor")]


def test_a_composer_is_a_session(tmp_path: Path) -> None:
    path = tmp_path / "state.vscdb"
    rows = {f"bubbleId:c1:b{number}": bubble for number, bubble in enumerate(BUBBLES)}
    broken = {"composerData:c2": "{broken", "composerData:c3": {"fullConversationHeadersOnly": []}, "other": {}}
    database(path, {"cursorDiskKV": {"composerData:c1": COMPOSER, **rows, **broken}, "ItemTable": {}}).close()
    before = path.read_bytes()
    (((turn,), one),) = readings(path)
    assert texts(turn) == [
        ("text", "Why does login fail?"),
        ("thinking", "Look."),
        ("tool_call", "make test"),
        ("tool_result", "1 failed"),
        ("text", "A test fails."),
    ]
    assert (turn.blocks[2].command, turn.blocks[3].error, turn.model) == ("make test", "1 failed", "m")
    about = one.transcript
    assert (about.session, about.title, about.folder) == ("c1", "Fix login", "/srv/code/my-api")
    assert about.started_ms == turn.at_ms == 1_773_568_800_000
    assert one.counts.malformed == 1
    assert path.read_bytes() == before and [file.name for file in tmp_path.iterdir()] == ["state.vscdb"]


def test_what_is_only_in_the_log_of_a_running_cursor_is_read(tmp_path: Path) -> None:
    path = tmp_path / "state.vscdb"
    inline = {"composerId": "c1", "conversation": BUBBLES}
    running = database(path, {"cursorDiskKV": {"composerData:c1": inline}}, "wal")
    try:
        (((turn,), _),) = readings(path)
        assert len(turn.blocks) == 5
        running.execute("INSERT INTO cursorDiskKV VALUES ('more', 'x')")
    finally:
        running.close()


def test_the_older_layout(tmp_path: Path) -> None:
    path = tmp_path / "workspaceStorage" / "h" / "state.vscdb"
    chat = {
        "tabs": [
            {
                "tabId": "t1",
                "chatTitle": "Old",
                "bubbles": [
                    {"type": "user", "id": "1", "text": "Go"},
                    {"type": "ai", "id": "2", "rawText": "Gone."},
                    {"type": "user", "id": "3", "text": "Again"},
                    {"type": "ghost", "id": "4"},
                ],
            }
        ]
    }
    database(path, {"ItemTable": {"workbench.panel.aichat.view.aichat.chatdata": chat}}).close()
    path.with_name("workspace.json").write_text(json.dumps({"folder": "file:///srv/my%20api"}), encoding="utf-8")
    ((turns, one),) = readings(path)
    assert [texts(turn) for turn in turns] == [[("text", "Go"), ("text", "Gone.")], [("text", "Again")]]
    assert turns[1].parent == turns[0].identity
    assert (one.transcript.title, one.transcript.folder) == ("Old", "/srv/my api")
    assert one.counts.unknown == {"bubble ghost": 1}


def test_a_drive_of_windows_is_no_folder_below_the_root(tmp_path: Path) -> None:
    path = tmp_path / "state.vscdb"
    inline = {"composerId": "c1", "conversation": [{"type": 1, "text": "Go"}]}
    database(path, {"cursorDiskKV": {"composerData:c1": inline}}).close()
    path.with_name("workspace.json").write_text(json.dumps({"folder": "file:///c%3A/my-api"}), encoding="utf-8")
    ((_, one),) = readings(path)
    assert one.transcript.folder == "c:/my-api"


def test_a_file_that_is_no_database_is_told(tmp_path: Path) -> None:
    path = tmp_path / "state.vscdb"
    path.write_bytes(b"SQLite format 3\0" + b"junk" * 500)
    with pytest.raises(InvalidInput, match="Cursor's database could not be read"):
        readings(path)
