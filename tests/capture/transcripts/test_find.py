"""Sessions are found where each product keeps them, and told by their content."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from tests.capture.transcripts.corpus import SESSION, Claude, codex_meta, jsonl, question_records, write
from tests.capture.transcripts.test_cursor import database

from commonplace.capture.import_report import Skipped
from commonplace.capture.transcripts import TranscriptFile, detect_source, find_transcripts, transcript_folders
from commonplace.hosts.host import Locations, System
from commonplace.hosts.transcript import Source

GEMINI = {"sessionId": "g1", "projectHash": "abc", "startTime": "2026-03-15T10:00:00Z"}


def claude_records() -> list[dict[str, object]]:
    session = Claude()
    session.user("Go")
    return session.records


@pytest.mark.parametrize(
    ("system", "settings"),
    [("linux", ".config"), ("darwin", "Library/Application Support"), ("win32", "AppData/Roaming")],
)
def test_every_product_is_found_at_home(tmp_path: Path, system: System, settings: str) -> None:
    made = [
        write(tmp_path / ".claude/projects/-srv-my-api" / f"{SESSION}.jsonl", claude_records()),
        write(tmp_path / ".claude/projects/-srv-my-api" / SESSION / "subagents/agent-a1.jsonl", claude_records()),
        write(tmp_path / ".codex/sessions/2026/03/15/rollout-1.jsonl", [codex_meta()]),
        write(tmp_path / ".codex/archived_sessions/rollout-2.jsonl", [codex_meta()]),
        write(tmp_path / ".gemini/tmp/abc/chats/session-1.jsonl", [GEMINI]),
        tmp_path / settings / "Cursor/User/globalStorage/state.vscdb",
        tmp_path / settings / "Cursor/User/workspaceStorage/h1/state.vscdb",
    ]
    for path in made[-2:]:
        database(path, {"ItemTable": {}}).close()
    (made[0].parent / "agent-a1.meta.json").write_text('{"agentType":"x"}', encoding="utf-8")
    (tmp_path / ".gemini/tmp/abc/logs.json").write_text("[]", encoding="utf-8")
    sources: list[Source] = ["claude-code", "claude-code", "codex", "codex", "gemini", "cursor", "cursor"]
    found = list(find_transcripts(transcript_folders(Locations(tmp_path, system))))
    assert sorted(found, key=str) == sorted(
        (TranscriptFile(path, source) for path, source in zip(made, sources, strict=True)), key=str
    )


def test_the_environment_moves_them(tmp_path: Path) -> None:
    payload = {
        "CLAUDE_CONFIG_DIR": f"{tmp_path}/c1, {tmp_path}/c2",
        "CODEX_HOME": f"{tmp_path}/x",
        "GEMINI_CLI_HOME": f"{tmp_path}/g",
        "XDG_CONFIG_HOME": f"{tmp_path}/cfg",
        "XDG_DATA_HOME": f"{tmp_path}/data",
        "APPDATA": f"{tmp_path}/roaming",
    }
    folders = transcript_folders(Locations(Path("/nobody"), "linux", payload))
    linux = [path.relative_to(tmp_path).as_posix() for path in folders]
    assert linux[:5] == ["c1/projects", "c2/projects", "x/sessions", "x/archived_sessions", "g/.gemini/tmp"]
    assert linux[5:7] == ["cfg/Cursor/User/globalStorage/state.vscdb", "cfg/Cursor/User/workspaceStorage"]
    assert linux[7:] == ["data/opencode/opencode.db"]
    windows = transcript_folders(Locations(Path("/nobody"), "win32", payload))
    assert windows[-2:] == [tmp_path / "roaming/Cursor/User/workspaceStorage", tmp_path / "data/opencode/opencode.db"]


def test_only_what_may_be_a_session_is_opened(tmp_path: Path) -> None:
    session = write(tmp_path / "deep/er/s.jsonl", claude_records())
    for hidden in (".git/s.jsonl", "node_modules/s.jsonl", "deep/__pycache__/s.jsonl"):
        write(tmp_path / hidden, claude_records())
    for number in range(300):
        (tmp_path / "deep" / f"{number}.txt").write_bytes(b"x")
    (tmp_path / "other.json").write_text('{"startTime": "now", "projectHash": 3}', encoding="utf-8")
    (tmp_path / "data.jsonl").write_text('{"type": "row"}\nnot json\n', encoding="utf-8")
    (tmp_path / "config.json").write_text('{\n  "sessionId": "x",\n  "type": "y"\n}\n', encoding="utf-8")
    (tmp_path / "empty.jsonl").touch()
    (tmp_path / "state.vscdb").write_bytes(b"no database")
    assert list(find_transcripts([tmp_path])) == [TranscriptFile(session, "claude-code")]


def test_links_that_lead_in_a_circle_do_not_catch_the_walk(tmp_path: Path) -> None:
    session = write(tmp_path / "a/s.jsonl", claude_records())
    (tmp_path / "a/loop").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "gone.jsonl").symlink_to(tmp_path / "nowhere")
    (tmp_path / "self.jsonl").symlink_to(tmp_path / "self.jsonl")
    assert list(find_transcripts([tmp_path])) == [TranscriptFile(session, "claude-code")]


def test_while_a_session_is_packed_the_plain_file_counts(tmp_path: Path) -> None:
    plain = write(tmp_path / "rollout-1.jsonl", [codex_meta()])
    (tmp_path / "rollout-1.jsonl.gz").write_bytes(gzip.compress(jsonl([codex_meta()])))
    packed = tmp_path / "rollout-2.jsonl.gz"
    packed.write_bytes(gzip.compress(jsonl([codex_meta()])))
    assert list(find_transcripts([tmp_path])) == [TranscriptFile(plain, "codex"), TranscriptFile(packed, "codex")]


def test_a_path_that_a_person_gave_is_answered(tmp_path: Path) -> None:
    letter = tmp_path / "letter.jsonl"
    letter.write_text("Dear all\n", encoding="utf-8")
    result = list(find_transcripts([letter, tmp_path / "missing"], named=True))
    assert [isinstance(one, Skipped) and one.what for one in result] == [str(letter), str(tmp_path / "missing")]
    assert list(find_transcripts([letter, tmp_path / "missing"])) == []


def test_a_folder_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    session = write(tmp_path / "a/s.jsonl", claude_records())
    (tmp_path / "b").mkdir()
    walk = find_transcripts([tmp_path])
    assert next(walk) == TranscriptFile(session, "claude-code")
    (tmp_path / "b").rmdir()
    (one,) = walk
    assert isinstance(one, Skipped) and one.what == str(tmp_path / "b")


LONG = "x" * 40_000


@pytest.mark.parametrize(
    ("text", "source"),
    [
        (json.dumps({"type": "summary", "summary": "s", "leafUuid": "u", "sessionId": "s"}), "claude-code"),
        (json.dumps({"type": "file-history-snapshot"}) + "\n" + json.dumps(claude_records()[0]), "claude-code"),
        (json.dumps({"parentUuid": None, "isSidechain": False, "type": "user", "message": LONG}), "claude-code"),
        (json.dumps({"timestamp": "t", "type": "session_meta", "payload": {"x": LONG}}), "codex"),
        (json.dumps({"id": "x", "timestamp": "t", "instructions": None}), "codex"),
        (json.dumps({**GEMINI, "messages": [LONG]}), "gemini"),
        (json.dumps({**GEMINI, "messages": []}, indent=2), "gemini"),
        ("\ufeff" + json.dumps(codex_meta()), "codex"),
        ("\n\n" + json.dumps(codex_meta()), "codex"),
        (json.dumps({"mapping": {}, "sessionId": "s"}), None),
        (json.dumps({"type": "user", "text": LONG}), None),
        ("[" * 5000, None),
        ("", None),
    ],
)
def test_the_product_is_told_by_content(tmp_path: Path, text: str, source: str | None) -> None:
    path = tmp_path / "any.jsonl"
    path.write_text(text, encoding="utf-8")
    assert detect_source(path) == source


def test_a_question_alone_is_codex(tmp_path: Path) -> None:
    assert detect_source(write(tmp_path / "a.jsonl", question_records(1, "Go"))) == "codex"
