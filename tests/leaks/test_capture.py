"""Nothing that is captured without being asked keeps a secret: hooks, sessions of agents, exports, other memories."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.capture.chat_exports import as_bytes, chatgpt, claude, claude_message
from tests.capture.hooks.hook_runner import put
from tests.capture.importers.databases import AT, CAUSANTIC, CLAUDE_MEM, ISO, KIRO, MEMORIES, SEKHA, make
from tests.capture.ingest_helpers import ingest, place, talk
from tests.capture.transcripts.corpus import codex_meta, question_records, replied, write
from tests.leaks.planting import SEEDS, Seed, everywhere, leaks, leaks_in_files
from tests.whole_items import all_words, everything_in

from commonplace.capture.hooks.drain_inline import BackgroundDrain
from commonplace.capture.import_files import import_path
from commonplace.capture.watched_folder import WatchedFolder
from commonplace.config import Settings
from commonplace.memory.items import browse_items
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.report import report
from commonplace.memory.session_context import session_context
from commonplace.model import Scope

IDS = "8c0f3a52-6d6f-4a49-9a3c-5d1f4b7f{:04}"
NUMBERS = ("INTEGER", "REAL", "BLOB")
FOLDER = "/srv/code/my-api"
BASE = {"session_id": "s1", "agent_id": "", "source": "startup"}
BASH = {"tool_name": "Bash", "tool_input": {"command": "make", "description": "Build it"}}
EDIT = {"tool_name": "Edit", "tool_input": {"file_path": "a.py", "old_string": "one", "new_string": "two"}}
# What a host tells, by its name and the event's.
TOLD: Mapping[tuple[str, str], dict[str, Any]] = {
    ("claude-code", "SessionStart"): BASE,
    ("claude-code", "UserPromptSubmit"): {**BASE, "prompt": "Why is the build slow?"},
    ("claude-code", "PostToolUse"): {**BASE, **BASH, "tool_response": {"stdout": "done", "stderr": "warned"}},
    ("codex", "PostToolUse"): {**BASE, **EDIT, "tool_response": {"filePath": "a.py", "content": ["changed"]}},
    ("claude-code", "PostToolUseFailure"): {**BASE, **BASH, "error": "no rule to make it"},
    ("claude-code", "SubagentStop"): {**BASE, "agent_id": "a7", "last_assistant_message": "I found the cause."},
    ("claude-code", "PostCompact"): {**BASE, "compact_summary": "We made the build quick."},
    ("claude-code", "Stop"): {**BASE, "last_assistant_message": "It was slow because of the disk. Next: buy one."},
    ("gemini", "AfterTool"): {**BASE, "tool_name": "web_fetch", "tool_input": {"url": "https://a.example/x"}},
    ("gemini", "AfterAgent"): {**BASE, "prompt": "Why?", "prompt_response": "The disk is slow, so it waits."},
    ("cursor", "afterShellExecution"): {"conversation_id": "c1", "command": "make", "output": "done"},
    ("cursor", "afterMCPExecution"): {"conversation_id": "c1", "tool_name": "ask", "tool_input": '{"q": "x"}'},
    ("kiro", "postToolUse"): {**BASE, "tool_name": "fs_write", "tool_input": {"path": "a.py", "file_text": "x"}},
    ("windsurf", "post_run_command"): {"trajectory_id": "t1", "tool_info": {"command_line": "make", "cwd": "/x"}},
    ("windsurf", "post_cascade_response"): {"trajectory_id": "t1", "tool_info": {"response": "It is quick now."}},
}


def read_everywhere(memory: LocalMemory) -> str:
    """What is said unasked: the opening of a session, and the report of the week."""
    return (
        session_context(memory, "my-api", 20_000)
        + session_context(memory, None, 20_000)
        + everything_in(report(memory, Scope(), 0, 4 * 10**12))
    )


def assert_clean(memory: LocalMemory, settings: Settings) -> None:
    items = browse_items(memory, Scope(), 100).items
    assert items, "something was kept"
    assert leaks(all_words(items)) == [] and leaks(read_everywhere(memory)) == []
    assert leaks_in_files(settings.data_dir) == {}


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: seed.kind)
def test_no_hook_keeps_a_secret(memory: LocalMemory, settings: Settings, seed: Seed) -> None:
    for (host, event), payload in TOLD.items():
        for planted in everywhere(payload, seed.text):
            put(settings, {**planted, "cwd": FOLDER}, event, host)
    put(settings, f"no event, but {seed.text}".encode())
    put(settings, f'{{"prompt": "cut off {seed.text}'.encode(), "UserPromptSubmit", ended="cut")
    draining = BackgroundDrain()
    while draining(memory):
        pass
    draining(memory)
    assert list((settings.data_dir / "spool" / "refused").iterdir())
    assert list((settings.data_dir / "openings").iterdir())
    assert_clean(memory, settings)


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: seed.kind)
def test_no_session_of_an_agent_keeps_a_secret(
    memory: LocalMemory, settings: Settings, tmp_path: Path, seed: Seed
) -> None:
    folder = tmp_path / "agents"
    for number, records in enumerate(planted_records(talk().records, seed)):
        ingest(memory, write(place(folder / f"claude{number}"), records))
    rollout = [codex_meta(), *question_records(1, "Why is it slow?"), *replied(2, "The disk is slow.")]
    for number, records in enumerate(planted_records(rollout, seed)):
        name = f"rollout-2026-03-15T10-00-00-0b4f4b0e-3f5c-4c59-9f57-6b1c8f3f{number:04}.jsonl"
        ingest(memory, write(folder / "codex" / name, records))
    assert_clean(memory, settings)


def planted_records(records: list[dict[str, Any]], seed: Seed) -> Iterator[list[dict[str, Any]]]:
    """The session with a secret in one place of one of its records, for every place where somebody's words stand."""
    for at, record in enumerate(records):
        words = {name: record[name] for name in ("message", "payload") if name in record}
        for planted in everywhere(words, seed.text):
            yield [*records[:at], record | planted, *records[at + 1 :]]


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: seed.kind)
def test_no_watched_folder_keeps_a_secret(memory: LocalMemory, settings: Settings, tmp_path: Path, seed: Seed) -> None:
    folder = tmp_path / "inbox"
    inbox = WatchedFolder(lambda: memory, folder)
    inbox.step()
    exports = {"chatgpt": chatgpt(), "claude": claude(claude_message("m1", "human", "Hello"))}
    for product, export in exports.items():
        for number, planted in enumerate(everywhere(export, seed.text)):
            (folder / f"{product}-{number}.json").write_bytes(as_bytes([planted]))
    (folder / "chat.txt").write_text(f"User: {seed.text}\nAI: {seed.text}\n", encoding="utf-8")
    (folder / "nonsense.json").write_text(json.dumps({seed.text: seed.text}), encoding="utf-8")
    inbox.step()
    assert inbox.step()
    reports = [path.read_text(encoding="utf-8") for path in folder.rglob("*.json.txt")]
    assert reports and [text for text in reports if leaks(text)] == []
    assert_clean(memory, settings)


@pytest.mark.parametrize(
    ("tables", "rows"),
    [
        pytest.param(tables, rows, id=product)
        for product, tables, rows in (
            ("kiro-memory", KIRO, ("sessions", "observations", "summaries", "checkpoints", "prompts")),
            ("memories.sh", MEMORIES, ("memories",)),
            ("causantic", CAUSANTIC, ("chunks",)),
            ("sekha", SEKHA, ("conversations", "messages")),
            ("claude-mem", CLAUDE_MEM, ("observations", "session_summaries", "user_prompts")),
        )
    ],
)
def test_no_other_memory_brings_a_secret(
    memory: LocalMemory, settings: Settings, tmp_path: Path, tables: dict[str, str], rows: tuple[str, ...]
) -> None:
    path = make(tmp_path / "theirs" / "memory.db", tables, {table: filled(tables[table]) for table in rows})
    summary = import_path(memory, path)
    assert leaks(repr(summary)) == []
    assert_clean(memory, settings)


def filled(columns: str) -> list[Mapping[str, Any]]:
    """A row for each column that holds text and each secret, which stands there."""
    named = dict(column.split()[:2] for column in columns.split(", ") if len(column.split()) > 1)
    texts = [name for name, kind in named.items() if kind not in NUMBERS and name not in ("id", "conversation_id")]
    planted = enumerate(((name, seed) for name in texts for seed in SEEDS), 1)
    return [ordinary(named, number) | {name: f"{seed.text} {number}"} for number, (name, seed) in planted]


def ordinary(named: Mapping[str, str], number: int) -> dict[str, Any]:
    """A row as it may be: no id twice, and a message in each conversation."""
    usual = {name: AT + number if kind in NUMBERS else f"some {name} {number}" for name, kind in named.items()}
    known: dict[str, str | None] = dict.fromkeys(("created_at", "timestamp", "start_time", "end_time"), ISO)
    known |= {"id": IDS.format(number), "conversation_id": IDS.format(number), "role": "user", "turn_indices": "[0]"}
    known["deleted_at"] = None
    return usual | {name: value for name, value in known.items() if named.get(name, "REAL") not in NUMBERS}
