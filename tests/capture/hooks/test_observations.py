"""Events of every host as observations: types, titles, subtitles, narratives, facts, files, tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from commonplace.capture.hooks.observations import Observation, observe
from commonplace.capture.hooks.tool_calls import OWN_MEMORY_TOOL, THINKING_TOOL, tool_type
from commonplace.capture.hooks.working_folder import WorkingFolder, WorkingFolders
from commonplace.hosts.hook_event import Event
from commonplace.text.redact import redact

HERE = WorkingFolder("/srv/code/my-api", "my-api", "/srv/code/my-api")
PATCH = """*** Begin Patch
*** Update File: src/auth.ts
@@
-const days = 1
+const days = 7
+const grace = 1
*** End Patch"""


def used(
    tool: str, output: object = "done", *, failed: bool = False, place: WorkingFolder = HERE, **given: Any
) -> Observation:
    return observe(Event("claude-code", "tool", "1", tool=tool, input=given, output=output, failed=failed), place)


@pytest.mark.parametrize(
    ("tool", "type_"),
    [
        *(("Write", "file-write"), ("Edit", "file-write"), ("MultiEdit", "file-write"), ("NotebookEdit", "file-write")),
        *(("fs_write", "file-write"), ("apply_patch", "file-write"), ("write_file", "file-write")),
        *(("replace", "file-write"), ("write_code", "file-write"), ("mcp__files__write_file", "file-write")),
        *(("Read", "file-read"), ("Grep", "file-read"), ("glob", "file-read"), ("fs_read", "file-read")),
        *(("read_many_files", "file-read"), ("read_code", "file-read"), ("codebase_search", "file-read")),
        *(("Bash", "command"), ("Shell", "command"), ("execute_bash", "command"), ("run_shell_command", "command")),
        *(("container.exec", "command"), ("functions.shell", "command"), ("run_terminal_cmd", "command")),
        *(("WebSearch", "research"), ("web_fetch", "research"), ("google_web_search", "research")),
        *(("Task", "delegation"), ("use_subagent", "delegation"), ("delegate", "delegation")),
        *(
            ("TodoWrite", THINKING_TOOL),
            ("update_plan", THINKING_TOOL),
            ("introspect", THINKING_TOOL),
            ("write_todos", THINKING_TOOL),
        ),
        *(("mcp__github__search_code", "tool-use"), ("mcp__jira__task", "tool-use"), ("Unheard", "tool-use")),
        *(
            ("mcp__commonplace__search", OWN_MEMORY_TOOL),
            ("@commonplace/timeline", OWN_MEMORY_TOOL),
            ("search_memories", OWN_MEMORY_TOOL),
        ),
        *(
            ("mcp__plugin_commonplace_commonplace__recall", OWN_MEMORY_TOOL),
            ("mcp_commonplace_get_context", OWN_MEMORY_TOOL),
        ),
        *(("MCP:search", OWN_MEMORY_TOOL), ("MCP:create_issue", "tool-use"), ("", "tool-use")),
    ],
)
def test_a_tool_has_a_type_whatever_its_host_calls_it(tool: str, type_: str) -> None:
    assert tool_type(tool) == type_


def test_an_edit_says_which_file_and_how_many_lines() -> None:
    edit = used("Edit", file_path="/srv/code/my-api/src/auth.ts", old_string="a\nb", new_string="a\nb\nc")
    assert (edit.type, edit.title, edit.subtitle) == ("file-write", "Modified auth.ts", "edit src/auth.ts")
    assert edit.narrative == "Modified auth.ts at src/auth.ts — replacing 2 lines with 3 lines"
    assert edit.files_modified == ("src/auth.ts",) and edit.facts == "src/auth.ts" and not edit.files_read
    assert edit.concepts == "security"


@pytest.mark.parametrize(
    ("tool", "given", "output", "title"),
    [
        ("Write", {"file_path": "a.py", "content": "1"}, {"type": "create"}, "Created a.py"),
        ("Write", {"file_path": "a.py", "content": "1"}, {"type": "update"}, "Modified a.py"),
        ("write_file", {"file_path": "a.py", "content": "1"}, "ok", "Created a.py"),
        ("replace", {"file_path": "a.py", "old_string": "1", "new_string": "2"}, "ok", "Modified a.py"),
        ("fs_write", {"command": "create", "path": "a.py", "file_text": "1"}, "ok", "Created a.py"),
        ("fs_write", {"command": "append", "path": "a.py", "new_str": "1"}, "ok", "Modified a.py"),
        ("write_code", {"file_path": "a.py", "edits": [{"old_string": "", "new_string": "1"}]}, None, "Modified a.py"),
        ("apply_patch", {"input": PATCH}, "ok", "Modified auth.ts"),
        ("shell", {"command": ["apply_patch", PATCH]}, "ok", "Modified auth.ts"),
        ("apply_patch", {"input": "*** Begin Patch\n*** Delete File: a.py\n*** End Patch"}, "ok", "Deleted a.py"),
    ],
)
def test_a_write_is_told_alike_for_every_host(tool: str, given: dict[str, Any], output: object, title: str) -> None:
    write = used(tool, output, **given)
    assert (write.type, write.title) == ("file-write", title)
    assert write.files_modified


def test_a_patch_counts_its_lines() -> None:
    assert used("apply_patch", input=PATCH).narrative.endswith("replacing 1 line with 2 lines")


def test_a_command_says_how_it_went() -> None:
    command = used("Bash", {"stdout": "1 skipped\n47 tests passed\n", "stderr": ""}, command="cd api && npm test | cat")
    assert (command.type, command.title, command.subtitle) == ("command", "npm test", "npm")
    assert command.narrative == "Ran npm test — 47 tests passed (success)"
    assert command.facts == "cd api && npm test | cat" and command.concepts == "testing"
    described = used("Bash", "ok", command="npm test", description="Run the tests")
    assert described.title == "Run the tests" and described.narrative == "Ran npm test to run the tests — ok"


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("npm test", "npm test"),
        ("cd api && npm test 2>&1 | tail -5", "npm test"),
        ("git add -A && git commit -m 'Fix it'", "git commit -m 'Fix it'"),
        ("export A=1; python build.py > log.txt", "python build.py"),
        ("cd api", "cd api"),
    ],
)
def test_a_title_is_the_part_of_a_command_that_does_something(line: str, title: str) -> None:
    assert used("Bash", command=line).title == title


@pytest.mark.parametrize(
    ("output", "line"),
    [
        (
            "PASS a.test.ts\nTest Suites: 1 passed, 1 total\nTests:       47 passed, 47 total\nRan all test suites.",
            "Tests: 47 passed, 47 total",
        ),
        (
            "test result: ok. 12 passed; 0 failed\n\nDoc-tests x\n\ntest result: ok. 0 passed; 0 failed; finished",
            "test result: ok. 12 passed; 0 failed",
        ),
        ('{\n  "status": "ok"\n}', '"status": "ok"'),
        ("[\n]", ""),
        ("compiling\n42", "compiling"),
        ("42", "42"),
        ("Exit code: 0\nWall time: 1 seconds\nOutput:\nbuilt it\n------", "built it"),
    ],
)
def test_the_line_that_tells_most_is_told(output: str, line: str) -> None:
    result = used("Bash", output, command="do-it").narrative.removesuffix(" (success)")
    assert result == "Ran do-it" + (f" — {line}" if line else "")


def test_a_commit_is_called_by_its_message() -> None:
    line = "git commit -m \"$(cat <<'EOF'\nfix: a thing\n\nbody\nEOF\n)\""
    assert used("Bash", command=line).title == 'git commit -m "fix: a thing"'


MIXED = """*** Begin Patch
*** Update File: src/a.ts
@@
-a
+b
*** Add File: src/new.ts
+hello
*** Delete File: src/old.ts
*** End Patch"""


def test_a_patch_says_what_became_of_each_file() -> None:
    patch = used("apply_patch", command=MIXED)
    assert patch.title == "Modified a.ts, created new.ts, deleted old.ts"
    assert patch.verbs == {"src/a.ts": "Modified", "src/new.ts": "Created", "src/old.ts": "Deleted"}
    moved = used("apply_patch", input=PATCH.replace("@@", "*** Move to: src/login.ts\n@@"))
    assert moved.title == "Moved auth.ts and 1 more"


def test_lines_are_counted_truly_or_not_at_all() -> None:
    assert "writing 400000 lines" in used("Write", file_path="a.txt", content="line\n" * 400_000).narrative
    assert used("Read", "line\n" * 400_000, file_path="a.txt").narrative == "Read a.txt — 400000 lines"
    cut_off = Event("claude-code", "tool", "1", tool="Write", input={"file_path": "a", "content": "b"}, partial=True)
    assert observe(cut_off, HERE).narrative == "Created a"


def test_the_line_that_names_the_error_is_told() -> None:
    output = "Error: Exit code 1\n===== FAILURES =====\nE   KeyError: 'id'\n1 failed"
    assert used("Bash", output, failed=True, command="pytest").narrative == "Ran pytest — E KeyError: 'id' (failed)"


@pytest.mark.parametrize(
    ("output", "failed"),
    [
        ("TypeError: x is undefined", True),
        ({"stdout": "", "stderr": "TypeError: x is undefined", "exit_code": 1}, False),
        ({"output": "TypeError: x is undefined", "metadata": {"exit_code": 2}}, False),
        ("TypeError: x is undefined\nExit code: 1", False),
    ],
)
def test_a_failure_is_kept_with_its_error(output: object, failed: bool) -> None:
    command = used("Bash", output, failed=failed, command="node app.js")
    assert command.type == "command" and command.title == "Failed: node app.js"
    assert "TypeError: x is undefined" in command.error
    assert command.narrative == "Ran node app.js — TypeError: x is undefined (failed)"


def test_a_failed_write_changed_no_file() -> None:
    edit = used("Edit", "String to replace not found", failed=True, file_path="a.py", old_string="x", new_string="y")
    assert edit.title == "Failed: Modified a.py" and not edit.files_modified
    assert "String to replace not found" in edit.narrative


def test_a_read_does_not_keep_what_was_read() -> None:
    read = used("Read", {"file": {"content": "secret plan\n" * 20}}, file_path="/srv/code/my-api/docs/plan.md")
    assert (read.type, read.title, read.subtitle) == ("file-read", "plan.md", "docs/plan.md")
    assert read.files_read == ("docs/plan.md",) and not read.body and "plan\n" not in read.narrative
    assert read.tokens >= 60


def test_a_search_says_what_was_sought() -> None:
    search = used("Grep", "src/a.py:3: def retry", pattern="def retry", path="/srv/code/my-api/src")
    assert search.title == "Searched for def retry" and search.subtitle == "search in src"
    assert "src/a.py:3" in search.body and not search.files_read


def test_a_search_of_the_whole_project_names_no_place() -> None:
    search = used("Grep", "src/a.py", pattern="x", path="/srv/code/my-api")
    assert search.narrative == "Searched for x — 1 line of results" and search.subtitle == "search in ."


def test_kiro_reads_by_operations() -> None:
    assert used("fs_read", operations=[{"mode": "Line", "path": "src/a.py"}]).files_read == ("src/a.py",)


def test_research_names_the_question_or_the_domain() -> None:
    search = used("google_web_search", "Use a mutex.", query="python file lock")
    assert (search.title, search.subtitle) == ("python file lock", "web search")
    page = used("WebFetch", "Locks ...", url="https://docs.python.org/3/library/fcntl.html", prompt="How?")
    assert (page.title, page.subtitle) == ("Fetched docs.python.org", "docs.python.org")
    assert page.facts == "https://docs.python.org/3/library/fcntl.html"


def test_a_delegation_names_the_task_and_the_agent() -> None:
    task = used("Task", [{"type": "text", "text": "It is in auth.ts."}], description="Find it", subagent_type="Explore")
    assert (task.type, task.title, task.subtitle) == ("delegation", "Find it", "Explore")
    assert task.narrative == "Delegated to Explore: Find it" and "It is in auth.ts." in task.body


def test_a_tool_of_another_server_is_named_with_it() -> None:
    issue = used("mcp__github__create_issue", {"content": [{"type": "text", "text": "#12 made"}]}, title="Slow login")
    assert issue.type == "tool-use" and issue.subtitle == "github" and issue.title == "create_issue: title: Slow login"


def test_a_prompt_is_called_by_its_first_line() -> None:
    prompt = observe(Event("kiro", "prompt", "1", text="# Fix the login\n\nIt times out."), HERE)
    assert (prompt.type, prompt.title) == ("prompt", "Fix the login") and prompt.body.endswith("It times out.")


def test_a_long_secret_is_not_torn_where_text_is_cut() -> None:
    key = "sk-ant-api03-" + "Ab1" * 40
    for at in (440, 740, 780, 790, 799, 960):
        text = "x " * (at // 2) + key + " y" * 600
        seen = used("Bash", text, command=f"deploy --note '{text}'")
        assert key[:24] not in redact("\n".join([seen.body, seen.facts, seen.narrative, seen.title]))


def test_files_are_named_from_the_root_of_the_repository(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "packages" / "web").mkdir(parents=True)
    place = WorkingFolders().of(str(tmp_path / "packages" / "web"))
    inside, outside = tmp_path / "src" / "a.py", tmp_path.parent / "b.py"
    named = place.relative([str(inside), "index.ts", str(outside), str(inside)])
    assert named == ("src/a.py", "packages/web/index.ts", str(outside).replace("\\", "/"))


def test_windows_paths_are_named_alike() -> None:
    place = WorkingFolder("C:\\code\\my-api", "my-api", "C:\\code\\my-api")
    assert place.relative(["c:\\code\\my-api\\src\\a.py", "D:\\x\\b.py"]) == ("src/a.py", "D:/x/b.py")
