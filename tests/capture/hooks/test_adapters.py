"""Six hosts say the same things in six ways; every adapter understands its own, and no nonsense breaks one."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.capture.hooks.drain import close_truncated_json, read_event
from commonplace.capture.hooks.spool_reader import UnreadableEvent
from commonplace.fast.host_events import HOSTS
from commonplace.hosts.hook_event import Event, HookRecord
from commonplace.hosts.host import editors, hooks_of

EVENTS = (
    *("SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "PreCompact", "PostCompact", "Stop"),
    *("SubagentStop", "SessionEnd", "AfterTool", "BeforeAgent", "AfterAgent", "PreCompress", "beforeSubmitPrompt"),
    *("afterFileEdit", "afterShellExecution", "afterMCPExecution", "afterAgentResponse", "agentSpawn"),
    *("pre_user_prompt", "post_write_code", "post_read_code", "post_run_command", "post_mcp_tool_use"),
    *("post_cascade_response", "post_cascade_response_with_transcript"),
)
FIELDS = (
    *("session_id", "sessionId", "conversation_id", "cwd", "workspace_roots", "tool_name", "tool_input", "tool_info"),
    *("tool_response", "tool_output", "result_json", "edits", "file_path", "command", "prompt", "agent_id", "source"),
    *("transcript_path", "trajectory_id", "error", "exit_code", "mcp_tool_arguments", "success", "text"),
)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=12)
    | st.sampled_from(['{"a":1}', "[", "x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS) | st.text(max_size=5), inner),
    max_leaves=12,
)


def record(host: str, event: str, payload: bytes = b"", *, ended: str = "whole", prompt: str = "") -> HookRecord:
    return HookRecord("0001-a", host, event, 1_742_049_000_000, "/here", prompt, len(payload), ended, payload)


def adapted(host: str, event: str, **payload: Any) -> Event:
    found = read_event(record(host, event, json.dumps(payload).encode()))
    assert found is not None
    assert (found.host, found.id, found.at_ms) == (host, "0001-a", 1_742_049_000_000)
    return found


def test_every_host_has_an_adapter() -> None:
    assert all(hooks_of(host) for host in HOSTS)
    assert set(HOSTS) == {host.name for host in editors() if host.hooks}


@pytest.mark.parametrize("host", ["claude-code", "codex"])
def test_claude_code_and_codex(host: str) -> None:
    base = {"session_id": "s1", "cwd": "/src/api", "transcript_path": "/t/s1.jsonl", "permission_mode": "default"}
    start = adapted(host, "SessionStart", **base, source="compact")
    assert (start.kind, start.session, start.cwd, start.reason) == ("session-start", "s1", "/src/api", "compact")
    assert start.transcript == "/t/s1.jsonl"
    assert adapted(host, "UserPromptSubmit", **base, prompt="Fix it").text == "Fix it"
    used = adapted(
        host,
        "PostToolUse",
        **base,
        agent_id="agent-a7",
        tool_name="Edit",
        tool_input={"file_path": "a.py"},
        tool_response={},
    )
    assert (used.kind, used.tool, used.input, used.output, used.failed) == (
        "tool",
        "Edit",
        {"file_path": "a.py"},
        {},
        False,
    )
    assert used.agent == "a7"
    wrong = adapted(host, "PostToolUseFailure", **base, tool_name="Bash", tool_input={"command": "x"}, error="no x")
    assert (wrong.output, wrong.failed) == ("no x", True)
    stop = adapted(host, "Stop", **base, stop_hook_active=False, last_assistant_message="Done.")
    assert (stop.kind, stop.text, stop.agent) == ("stop", "Done.", "")
    agent = adapted(host, "SubagentStop", **base, agent_id="a7", last_assistant_message="Found it.")
    assert (agent.kind, agent.text, agent.agent) == ("subagent-stop", "Found it.", "a7")
    assert adapted(host, "PreCompact", **base, trigger="auto").kind == "compact"
    assert adapted(host, "PostCompact", **base, compact_summary="We fixed it.").text == "We fixed it."
    assert adapted(host, "SessionEnd", **base, reason="logout").reason == "logout"


def test_a_session_without_a_name_is_called_as_its_transcript_is() -> None:
    name = "0b4f4b0e-3f5c-4c59-9f57-6b1c8f3f1a11"
    assert adapted("claude-code", "Stop", transcript_path=f"/x/{name}.jsonl").session == name
    assert adapted("codex", "Stop", transcript_path=f"/x/rollout-2025-03-15T14-30-00-{name}.jsonl").session == name


def test_gemini() -> None:
    base = {"session_id": "g1", "cwd": "/src", "timestamp": "2025-03-15T14:30:00Z"}
    answer = {"llmContent": "42 lines", "returnDisplay": "shown"}
    used = adapted("gemini", "AfterTool", **base, tool_name="read_file", tool_input={"path": "a"}, tool_response=answer)
    assert (used.session, used.tool, used.output, used.failed) == ("g1", "read_file", "42 lines", False)
    wrong = adapted("gemini", "AfterTool", **base, tool_name="read_file", tool_response={"error": {"message": "no"}})
    assert (wrong.output, wrong.failed) == ({"message": "no"}, True)
    assert adapted("gemini", "BeforeAgent", **base, prompt="Why?").text == "Why?"
    assert adapted("gemini", "AfterAgent", **base, prompt="Why?", prompt_response="So.").text == "So."
    # It comes before every request to the model.
    assert read_event(record("gemini", "PreCompress", b'{"session_id": "g1", "trigger": "auto"}')) is None
    assert adapted("gemini", "SessionEnd", **base, reason="exit").kind == "session-end"


def test_cursor() -> None:
    base = {"conversation_id": "c1", "generation_id": "g", "workspace_roots": ["/src/web", "/src/api"]}
    edits = [{"old_string": "a", "new_string": "b"}]
    edit = adapted("cursor", "afterFileEdit", **base, file_path="/src/web/a.ts", edits=edits)
    assert (edit.session, edit.cwd, edit.tool) == ("c1", "/src/web", "Edit")
    assert edit.input == {"file_path": "/src/web/a.ts", "edits": edits}
    new = adapted("cursor", "afterFileEdit", **base, file_path="a", edits=[{"old_string": "", "new_string": "b"}])
    assert (new.tool, new.input) == ("Write", {"file_path": "a", "content": "b"})
    shell = adapted("cursor", "afterShellExecution", **base, command="make", output="ok", cwd="/src/web/x")
    assert (shell.cwd, shell.input["command"], shell.output) == ("/src/web", "make", "ok")
    request = {"tool_name": "search", "tool_input": '{"q": 1}', "result_json": '{"isError": true}'}
    mcp = adapted("cursor", "afterMCPExecution", **base, **request)
    assert (mcp.tool, mcp.input, mcp.output, mcp.failed) == ("search", {"q": 1}, {"isError": True}, True)
    assert adapted("cursor", "beforeSubmitPrompt", **base, prompt="Go").text == "Go"
    assert adapted("cursor", "stop", **base, status="completed").kind == "stop"
    assert adapted("cursor", "sessionStart", sessionId="c2", conversationId="c1").session == "c1"


def test_hooks_of_a_cursor_user_run_in_no_project() -> None:
    result = HookRecord("1", "cursor", "stop", 1, "/home/me/.cursor", "", 0, "whole", b"")
    found = read_event(result)
    assert found is not None and found.cwd == ""


def test_kiro() -> None:
    base = {"hook_event_name": "postToolUse", "cwd": "/src"}
    answer = {"success": False, "result": ["no"]}
    used = adapted("kiro", "postToolUse", **base, tool_name="fs_write", tool_input={"path": "a"}, tool_response=answer)
    assert (used.session, used.tool, used.failed) == ("", "fs_write", True)
    assert adapted("kiro", "agentSpawn", **base).kind == adapted("kiro", "SessionStart").kind == "session-start"
    assert adapted("kiro", "stop", assistant_response="Done").text == "Done"
    result = read_event(record("kiro", "userPromptSubmit", prompt="From the environment"))
    assert result is not None and (result.text, result.cwd) == ("From the environment", "/here")


def test_windsurf() -> None:
    base = {"trajectory_id": "t1", "execution_id": "e1"}
    edits = [{"old_string": "a", "new_string": "b"}]
    wrote = adapted("windsurf", "post_write_code", **base, tool_info={"file_path": "/a.py", "edits": edits})
    assert (wrote.session, wrote.cwd, wrote.tool) == ("t1", "/here", "write_code")
    assert wrote.input == {"file_path": "/a.py", "edits": edits}
    ran = adapted("windsurf", "post_run_command", **base, tool_info={"command_line": "make", "cwd": "/src"})
    assert (ran.tool, ran.input) == ("run_command", {"command": "make", "cwd": "/src"})
    about = {"mcp_server_name": "gh", "mcp_tool_name": "issues", "mcp_tool_arguments": {"n": 1}, "mcp_result": "two"}
    question = adapted("windsurf", "post_mcp_tool_use", **base, tool_info=about)
    assert (question.tool, question.input, question.output) == ("mcp__gh__issues", {"n": 1}, "two")
    assert adapted("windsurf", "pre_user_prompt", **base, tool_info={"user_prompt": "Go"}).text == "Go"
    stop = adapted("windsurf", "post_cascade_response", **base, tool_info={"response": "Done"})
    assert (stop.kind, stop.text) == ("stop", "Done")


@pytest.mark.parametrize("host", HOSTS)
def test_what_says_nothing_is_passed_over(host: str) -> None:
    for event in ("PreToolUse", "Notification", "PostToolUse", "UserPromptSubmit", "AfterTool", "post_write_code", ""):
        assert read_event(record(host, event, b"{}")) is None


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (b"\xff\xfe\x00\x80", "not-text"),
        (b"hello", "not-json"),
        (b'{"session_id": "s", "tool', "truncated"),
        (b'{"session_id":', "truncated"),
        (b"[1]", "not-an-object"),
        (b'"text"', "not-an-object"),
        (b"[" * 200_000, "too-deep"),
    ],
)
def test_nonsense_has_a_reason(payload: bytes, reason: str) -> None:
    with pytest.raises(UnreadableEvent, match=f"^{reason}$"):
        read_event(record("claude-code", "Stop", payload))


def test_a_payload_that_was_cut_tells_what_is_whole_in_it() -> None:
    whole = json.dumps(
        {"session_id": "s", "tool_name": "Write", "tool_input": {"file_path": "a", "content": "é\n" * 50}}
    )
    for end in range(whole.index('"tool_input"'), len(whole)):
        found = read_event(record("claude-code", "PostToolUse", whole[:end].encode(), ended="cut"))
        assert found is not None and (found.session, found.tool) == ("s", "Write")


@given(JSON, st.data())
def test_mended_json_is_json(value: Any, data: st.DataObject) -> None:
    text = json.dumps({"a": value, "b": [value]})
    cut = text[: data.draw(st.integers(1, len(text)))]
    assert isinstance(json.loads(close_truncated_json(cut)), dict)


@given(st.sampled_from(list(HOSTS)), st.sampled_from(EVENTS), JSON)
def test_no_payload_breaks_an_adapter(host: str, event: str, payload: Any) -> None:
    result = payload if isinstance(payload, dict) else {"tool_info": payload, "tool_input": payload, "edits": payload}
    found = read_event(record(host, event, json.dumps(result).encode()))
    if found is not None:
        words = (found.session, found.cwd, found.text, found.tool, found.reason, found.agent, found.transcript)
        assert all(isinstance(word, str) for word in words)
        assert isinstance(found.input, dict) and isinstance(found.failed, bool)


@given(
    st.sampled_from(list(HOSTS)), st.sampled_from(EVENTS), st.binary(max_size=200), st.sampled_from(["whole", "cut"])
)
def test_no_bytes_break_the_reading(host: str, event: str, payload: bytes, ended: str) -> None:
    with contextlib.suppress(UnreadableEvent):
        read_event(record(host, event, payload, ended=ended))
