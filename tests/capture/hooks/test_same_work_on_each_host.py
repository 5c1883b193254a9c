"""The same piece of work, told by the hooks of each host in its own words, is remembered alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from commonplace.capture.hooks.remember_events import remember_events
from commonplace.memory.local_memory import LocalMemory

from .hook_sessions import FOLDER, Telling, items, only_item

PATCH = """*** Begin Patch
*** Update File: src/login.py
@@
-wait(30)
+wait(60)
*** End Patch"""
EDIT = {"old_string": "wait(30)", "new_string": "wait(60)"}
LOGIN, SERVER = f"{FOLDER}/src/login.py", f"{FOLDER}/src/server.py"
FAILED = "E   TimeoutError: no answer in 30 s"

# A look at the server, a failing test, an edit, a passing test: tool, arguments, answer.
Act = tuple[str, Mapping[str, Any], object]
HOSTS: Mapping[str, tuple[Act, Act, Act, Act]] = {
    "claude-code": (
        ("Read", {"file_path": SERVER}, {"type": "text", "file": {"filePath": SERVER, "content": "x"}}),
        ("Bash", {"command": "pytest", "description": ""}, f"Error: Exit code 1\n{FAILED}\nexit code: 1"),
        ("Edit", {"file_path": LOGIN, **EDIT, "replace_all": False}, {"filePath": LOGIN, "structuredPatch": []}),
        ("Bash", {"command": "pytest"}, {"stdout": "47 passed", "stderr": "", "interrupted": False}),
    ),
    "codex": (
        ("shell", {"command": ["bash", "-lc", "sed -n 1,9p src/server.py"]}, '{"output": "x"}'),
        ("shell", {"command": ["bash", "-lc", "pytest"]}, {"output": FAILED, "metadata": {"exit_code": 1}}),
        ("apply_patch", {"input": PATCH}, "Success. Updated the following files:\nM src/login.py"),
        ("shell", {"command": ["bash", "-lc", "pytest"]}, {"output": "47 passed", "metadata": {"exit_code": 0}}),
    ),
    "gemini": (
        ("read_file", {"absolute_path": SERVER}, {"llmContent": "x"}),
        ("run_shell_command", {"command": "pytest"}, {"llmContent": f"{FAILED}\nExit Code: 1"}),
        ("replace", {"file_path": LOGIN, **EDIT, "instruction": "Wait longer"}, {"llmContent": "Modified."}),
        ("run_shell_command", {"command": "pytest"}, {"llmContent": "47 passed"}),
    ),
    "cursor": (
        ("read_file", {"target_file": SERVER}, "x"),
        ("Shell", {"command": "pytest"}, {"output": FAILED, "exit_code": 1}),
        ("Edit", {"file_path": LOGIN, "edits": [EDIT]}, None),
        ("Shell", {"command": "pytest"}, "47 passed"),
    ),
    "kiro": (
        ("fs_read", {"operations": [{"mode": "Line", "path": SERVER}]}, {"success": True, "result": ["x"]}),
        ("execute_bash", {"command": "pytest"}, {"exit_status": "1", "stdout": FAILED, "stderr": ""}),
        ("fs_write", {"command": "str_replace", "path": LOGIN, "old_str": "wait(30)", "new_str": "wait(60)"}, None),
        ("execute_bash", {"command": "pytest"}, {"exit_status": "0", "stdout": "47 passed", "stderr": ""}),
    ),
    "windsurf": (
        ("read_code", {"file_path": SERVER}, None),
        ("run_command", {"command_line": "pytest", "cwd": FOLDER}, f"{FAILED}\nexit code: 1"),
        ("write_code", {"file_path": LOGIN, "edits": [EDIT]}, None),
        ("run_command", {"command_line": "pytest", "cwd": FOLDER}, "47 passed"),
    ),
}


@pytest.mark.parametrize("host", HOSTS)
def test_a_session_of_any_host_is_told_alike(memory: LocalMemory, host: str) -> None:
    telling = Telling(host)
    telling.asks("Why does the login test fail?")
    for tool, given, output in HOSTS[host]:
        telling.uses(tool, output, **given)
    telling.stops("The server is slow, so I wait longer.")
    remember_events(memory, telling.events)
    observed = [item for item in items(memory, "observation") if item.type != "prompt"]
    looked = "command" if host == "codex" else "file-read"
    assert [item.type for item in observed] == [looked, "command", "file-write", "command", "answer"]
    assert observed[1].title == "Failed: pytest" and observed[1].details["narrative"].endswith(f"{FAILED[4:]} (failed)")
    assert observed[2].title == "Modified login.py"
    assert (
        observed[2].details["narrative"].startswith("Modified login.py at src/login.py — replacing 1 line with 1 line")
    )
    assert observed[3].details["narrative"] == "Ran pytest — 47 passed (success)"
    summary = only_item(memory).details
    assert summary["completed"] == "Modified src/login.py\nRan `pytest` — 47 passed"
    assert summary["learned"] == "The server is slow, so I wait longer."
    assert "next_steps" not in summary
    assert host == "codex" or summary["investigated"] == "Read src/server.py"
