"""What hooks show while an agent works: the right memory, once, in few words, in its host's shape; mostly nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from commonplace.capture.hooks.drain import drain
from commonplace.capture.hooks.hint_answers import answer_hints
from commonplace.config import Settings
from commonplace.fast.session_hints import SessionHints, hint_files, ids_in
from commonplace.fast.spool import HINT_FOLDER
from commonplace.memory.edit_and_forget import forget_items, mark_superseded
from commonplace.memory.hints import MOST_TOKENS
from commonplace.memory.items import get_item
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.predict import predict
from commonplace.memory.remember import NewItem, remember
from commonplace.text.tokens import count_tokens

from .hook_runner import COMMAND, SECONDS, environment, fire, names

BUG = "The double order bug: POST /orders was retried without an idempotency key."
PROMPT = "fix the double order bug, POST /orders is retried again"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """The folder of a repository."""
    folder = tmp_path / "my-api"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="ascii")
    return folder


@pytest.fixture(autouse=True)
def others(memory: LocalMemory) -> None:
    """What else is known: among nothing but itself, no memory stands out."""
    for content in ("Mails are sent in the language of the customer.", "The logo is blue.", "Invoices have a number."):
        keep(memory, content, "note")


def keep(
    memory: LocalMemory, content: str = BUG, type_: str = "fact", project: str | None = "my-api", **more: Any
) -> str:
    stored = remember(memory, NewItem(content, "memory", type_, project=project, **more))
    return get_item(memory, stored.id).short_id


def ask(settings: Settings, work: Path, prompt: str = PROMPT, session: str = "s1", **more: Any) -> str:
    """What Claude Code is told at a prompt."""
    payload = {"session_id": session, "cwd": str(work), "hook_event_name": "UserPromptSubmit", "prompt": prompt}
    return _context(fire(settings, "claude-code", "UserPromptSubmit", payload, **more), "UserPromptSubmit")


def use(settings: Settings, work: Path, tool: str, given: Mapping[str, Any], session: str = "s1") -> str:
    """What Claude Code is told before it uses a tool."""
    payload = {"session_id": session, "cwd": str(work), "tool_name": tool, "tool_input": given}
    return _context(fire(settings, "claude-code", "PreToolUse", payload), "PreToolUse")


def edit(settings: Settings, work: Path, file: str, session: str = "s1") -> str:
    given = {"file_path": str(work / file), "old_string": "a", "new_string": "b"}
    return use(settings, work, "Edit", given, session)


def _context(done: subprocess.CompletedProcess[bytes], event: str) -> str:
    assert (done.returncode, done.stderr) == (0, b"")
    if not done.stdout:
        return ""
    ((key, output),) = json.loads(done.stdout).items()
    assert key == "hookSpecificOutput" and output["hookEventName"] == event
    # Nothing is allowed or refused in the person's place.
    assert set(output) == {"hookEventName", "additionalContext"}
    return str(output["additionalContext"])


def test_a_prompt_is_told_what_is_known_of_it(memory: LocalMemory, settings: Settings, work: Path) -> None:
    id_ = keep(memory)
    text = ask(settings, work)
    first, line = text.splitlines()
    assert "not instructions" in first
    assert line == f"- 2025-03-15 [fact] {BUG} ({id_})"
    assert count_tokens(text) <= MOST_TOKENS


@pytest.mark.parametrize(
    ("host", "event"), [("codex", "UserPromptSubmit"), ("gemini", "BeforeAgent"), ("kiro", "UserPromptSubmit")]
)
def test_every_host_that_takes_it_in_gets_its_shape(
    memory: LocalMemory, settings: Settings, work: Path, host: str, event: str
) -> None:
    keep(memory)
    done = fire(settings, host, event, {"session_id": "s1", "cwd": str(work), "prompt": PROMPT})
    printed = done.stdout.decode()
    if host != "kiro":
        output = json.loads(printed)["hookSpecificOutput"]
        assert output["hookEventName"] == event
        printed = output["additionalContext"]
    assert BUG in printed


@pytest.mark.parametrize(("host", "event"), [("cursor", "beforeSubmitPrompt"), ("windsurf", "pre_user_prompt")])
def test_a_host_that_takes_in_nothing_is_told_nothing(
    memory: LocalMemory, settings: Settings, work: Path, host: str, event: str
) -> None:
    keep(memory)
    payload: dict[str, Any] = {"conversation_id": "s1", "workspace_roots": [str(work)], "prompt": PROMPT}
    payload["tool_info"] = {"user_prompt": PROMPT}
    done = fire(settings, host, event, payload)
    assert done.stdout == (b'{"continue": true}\n' if host == "cursor" else b"")


def test_nothing_is_told_twice_in_a_session(memory: LocalMemory, settings: Settings, work: Path) -> None:
    keep(memory)
    assert BUG in ask(settings, work)
    assert ask(settings, work) == ask(settings, work, "why is POST /orders retried without an idempotency key") == ""
    assert BUG in ask(settings, work, session="s2")


def test_what_the_start_of_a_session_told_is_not_told_again(
    memory: LocalMemory, settings: Settings, work: Path
) -> None:
    keep(memory, BUG, "decision")
    fire(settings, "claude-code", "SessionStart", {"session_id": "s1", "cwd": str(work), "source": "startup"})
    assert ask(settings, work) == ""
    assert BUG in ask(settings, work, session="s2")


@pytest.mark.parametrize(
    "prompt", ["yes", "go on", "ok, do it", "thanks, looks good!", "/compact", "/review orders", "!ls"]
)
def test_trivia_is_told_nothing(memory: LocalMemory, settings: Settings, work: Path, prompt: str) -> None:
    keep(memory, "yes: go on, do it, thanks, looks good, review orders, ls")
    assert ask(settings, work, prompt) == ""


def test_what_has_nothing_to_do_with_it_is_not_told(memory: LocalMemory, settings: Settings, work: Path) -> None:
    keep(memory)
    for prompt in ("add a dark mode to the account page", "reset the wifi password of the office"):
        assert ask(settings, work, prompt) == ""


def test_what_is_forgotten_or_replaced_or_elsewhere_is_not_told(
    memory: LocalMemory, settings: Settings, work: Path
) -> None:
    keep(memory, BUG + " Elsewhere.", project="other")
    forgotten, old = keep(memory, BUG), keep(memory, BUG + " Old.")
    forget_items(memory, [forgotten])
    newer = remember(memory, NewItem("Orders have a key.", "memory", "fact", project="my-api")).id
    mark_superseded(memory, old, newer)
    assert ask(settings, work) == ""


def test_secrets_are_not_told(memory: LocalMemory, settings: Settings, work: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    keep(memory, f"{BUG} Test it with {secret}")
    # As if it had been written before secrets of this kind were known.
    text = ask(settings, work)
    assert "double order bug" in text and secret not in text
    assert all(secret.encode() not in Path(path).read_bytes() for path in hint_files(str(settings.data_dir)))


def test_rules_of_a_path_are_told_when_a_file_there_is_edited(
    memory: LocalMemory, settings: Settings, work: Path
) -> None:
    keep(memory, "Amounts are cents.", "rule", details={"paths": "src/billing/**"})
    keep(memory, "Quotes cached in billing.ts were stale.", "rejected")
    keep(memory, "Never use floats.", "constraint")
    text = edit(settings, work, "src/billing/billing.ts")
    assert "[rule] Amounts are cents." in text and "[rejected] Quotes cached" in text and "floats" not in text
    assert edit(settings, work, "src/billing/billing.ts") == edit(settings, work, "src/billing/tax.ts") == ""
    assert edit(settings, work, "src/login.ts", session="s2") == ""
    assert "Amounts are cents." in edit(settings, work, "src/billing/tax.ts", session="s2")


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cd web && npm install left-pad", True),
        ("npm run lint", False),
        ("FOO=1 npm  install", True),
        ("echo npm install", False),
        ("git push --force origin main", True),
        ("git status", False),
        ("alembic downgrade -1", True),
        ("pytest -q", False),
    ],
)
def test_a_command_is_told_what_concerns_just_it(
    memory: LocalMemory, settings: Settings, work: Path, command: str, expected: bool
) -> None:
    keep(memory, "Never run `npm install` here: use pnpm.", "constraint")
    keep(memory, "git push to main only through a pull request", "rule")
    keep(memory, "Tried alembic for going back: it lost the sequences.", "rejected")
    assert bool(use(settings, work, "Bash", {"command": command})) == expected


def test_what_is_about_to_be_done_is_not_captured(memory: LocalMemory, settings: Settings, work: Path) -> None:
    edit(settings, work, "a.py")
    assert names(settings) == []
    ask(settings, work)
    assert len(names(settings)) == 1


def session_with_a_fix(settings: Settings, memory: LocalMemory, work: Path) -> None:
    """A test fails, a file is edited, the test passes, and the agent says why."""
    common = {"session_id": "before", "cwd": str(work)}
    run = {"tool_name": "Bash", "tool_input": {"command": "pytest tests/test_stock.py"}}
    error = "E   psycopg.errors.DeadlockDetected: deadlock detected\n1 failed in 0.4s"
    fire(settings, "claude-code", "PostToolUseFailure", {**common, **run, "error": error})
    change = {"file_path": str(work / "stock.py"), "old_string": "a", "new_string": "b"}
    fire(settings, "claude-code", "PostToolUse", {**common, "tool_name": "Edit", "tool_input": change})
    fire(settings, "claude-code", "PostToolUse", {**common, **run, "tool_response": {"stdout": "1 passed in 0.3s"}})
    answer = "Fixed: the rows are now locked in the order of their ids."
    fire(settings, "claude-code", "Stop", {**common, "last_assistant_message": answer})
    drain(memory, settings)


def test_after_a_failure_the_cure_of_the_last_time_is_told(memory: LocalMemory, settings: Settings, work: Path) -> None:
    session_with_a_fix(settings, memory, work)
    error = "psycopg.errors.DeadlockDetected: deadlock detected\nDETAIL: Process 77 waits"
    payload: dict[str, Any] = {"session_id": "now", "cwd": str(work), "tool_name": "Bash", "error": error}
    payload["tool_input"] = {"command": "make test"}
    event = "PostToolUseFailure"
    text = _context(fire(settings, "claude-code", event, payload), event)
    assert "Fixed before" in text and "in the order of their ids" in text
    assert "stock.py" in text and "pytest tests/test_stock.py" in text
    assert _context(fire(settings, "claude-code", event, payload), event) == ""
    other = {**payload, "session_id": "other", "error": "ModuleNotFoundError: No module named 'yaml'"}
    assert _context(fire(settings, "claude-code", event, other), event) == ""


NATIVE_MODULE = """Exit code 1
FAIL src/screens/Home.test.tsx
  ● Test suite failed to run

    Invariant Violation: TurboModuleRegistry.getEnforcing(...): 'RNSignature' could not be found.

Test Suites: 1 failed, 1 total"""


@pytest.mark.parametrize(
    ("failed", "passed", "now", "error"),
    [
        ("pnpm jest", "pnpm jest", "pnpm jest src/screens", NATIVE_MODULE),
        ("pnpm jest src/screens", "pnpm jest", "pnpm jest", NATIVE_MODULE),
        ("pnpm jest", "pnpm jest src/screens", "npx jest --ci", NATIVE_MODULE),
        ("pytest -q", "pytest -q tests/test_a.py", "make test", "FAILED tests/test_a.py::test_a - deadlock detected"),
    ],
)
def test_the_cure_is_told_although_other_arguments_were_given(
    memory: LocalMemory, settings: Settings, work: Path, failed: str, passed: str, now: str, error: str
) -> None:
    def run(session: str, event: str, command: str, **more: Any) -> subprocess.CompletedProcess[bytes]:
        given = {"command": command, "description": "Run the tests"}
        payload = {"session_id": session, "cwd": str(work), "tool_name": "Bash", "tool_input": given, **more}
        return fire(settings, "claude-code", event, payload)

    run("before", "PostToolUseFailure", failed, error=error)
    change = {"file_path": str(work / "stub.ts"), "old_string": "a", "new_string": "b"}
    edited = {"session_id": "before", "cwd": str(work), "tool_name": "Edit", "tool_input": change}
    fire(settings, "claude-code", "PostToolUse", edited)
    run("before", "PostToolUse", passed, tool_response={"stdout": "1 passed", "stderr": "", "interrupted": False})
    drain(memory, settings)
    text = _context(run("now", "PostToolUseFailure", now, error=error), "PostToolUseFailure")
    assert "Fixed before: Changed stub.ts" in text and f"`{passed}` passed afterwards" in text
    assert any("stub.ts" in one.summary for one in predict(memory, error))


@pytest.mark.parametrize(
    ("host", "event", "tool", "given"),
    [
        ("codex", "PostToolUse", "apply_patch", {"input": "*** Begin Patch\n*** Update File: src/api/a.py\n"}),
        ("gemini", "AfterTool", "write_file", {"file_path": "src/api/a.py", "content": "x"}),
        ("cursor", "postToolUse", "Write", {"file_path": "src/api/a.py", "content": "x"}),
    ],
)
def test_a_host_that_takes_in_nothing_before_a_tool_is_told_after_it(
    memory: LocalMemory, work: Path, host: str, event: str, tool: str, given: Mapping[str, Any]
) -> None:
    keep(memory, "Handlers are async.", "rule", details={"paths": "src/api/**"})
    payload = {"session_id": "s1", "tool_name": tool, "tool_input": given, "tool_response": {}, "cwd": str(work)}
    request = {"host": host, "event": event, "moment": "after-tool", "cwd": str(work), "prompt": ""}
    answer = answer_hints(memory, {**request, "session": f"{host}:s1", "payload": payload, "shown": []})
    assert "Handlers are async." in answer["text"] and answer["hints"][0][0] == ids_in(answer["text"])


def test_the_switch_turns_prompts_or_all_off(memory: LocalMemory, settings: Settings, work: Path) -> None:
    keep(memory)
    keep(memory, "Amounts are cents.", "rule", details={"paths": "*.py"})
    config = settings.data_dir / "config.toml"
    config.write_text('[hooks]\nrecall = "rules"\n', encoding="ascii")
    assert ask(settings, work) == "" and "cents" in edit(settings, work, "a.py")
    config.write_text('hooks_recall = "off"\n', encoding="ascii")
    assert ask(settings, work, session="s2") == edit(settings, work, "a.py", session="s2") == ""
    assert BUG in ask(settings, work, session="s3", env=environment(COMMONPLACE_HOOKS_RECALL="full"))


def _stop(settings: Settings, answer: str) -> None:
    fire(settings, "claude-code", "Stop", {"session_id": "s1", "last_assistant_message": answer})


@pytest.mark.parametrize(
    ("answer", "used"),
    [
        ("As {id} says, the key was missing.", True),
        ("Retries now send an idempotency key, so that POST cannot be retried into a second one.", True),
        ("I changed the colour of the button.", False),
    ],
)
def test_it_is_noticed_whether_a_hint_was_used(
    memory: LocalMemory, settings: Settings, work: Path, answer: str, used: bool
) -> None:
    id_ = keep(
        memory,
        "The double order bug: POST /orders was retried without idempotency tokens; retries carry an idempotency key.",
    )
    ask(settings, work, "fix the double order bug in POST /orders")

    def state() -> SessionHints:
        return SessionHints(str(settings.data_dir), "claude-code:s1")

    assert state().shown == {id_} and [ids for ids, _words in state().unused] == [[id_]]
    _stop(settings, answer.format(id=id_))
    assert bool(state().unused) != used


def test_a_folder_that_only_names_a_remote_is_told_nothing(
    memory: LocalMemory, settings: Settings, tmp_path: Path
) -> None:
    config = '[remote "origin"]\n\turl = https://github.com/acme/my-api.git\n'
    folder = tmp_path / "copy"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="ascii")
    (folder / ".git" / "config").write_text(config, encoding="ascii")
    known = {"github.com/acme/my-api": ["a" * 40]}
    (settings.data_dir / "known-commits.json").write_text(json.dumps(known), encoding="ascii")
    keep(memory, project="github.com/acme/my-api")
    assert ask(settings, folder) == ""


def test_a_store_on_a_server_is_not_waited_for(settings: Settings, work: Path) -> None:
    address = "postgresql://nobody@192.0.2.1/none"
    assert ask(settings, work, env=environment(COMMONPLACE_DATABASE_URL=address)) == ""


def test_a_hook_with_nothing_to_ask_loads_next_to_nothing(settings: Settings, work: Path) -> None:
    command = [sys.executable, "-X", "importtime", COMMAND, "--data-dir", str(settings.data_dir), "hook", "claude-code"]
    payload = json.dumps({"session_id": "s1", "cwd": str(work), "prompt": "yes"}).encode()
    done = subprocess.run(
        [*command, "UserPromptSubmit"], input=payload, capture_output=True, timeout=SECONDS, check=True
    )
    loaded = {line.split("|")[-1].strip() for line in done.stderr.decode().splitlines()}
    assert "commonplace.fast.hints" in loaded
    assert not loaded & {"json", "re", "dataclasses", "pathlib", "threading", "apsw", "commonplace.memory.hints"}


def test_a_damaged_or_foreign_file_of_hints_harms_nobody(memory: LocalMemory, settings: Settings, work: Path) -> None:
    keep(memory)
    assert BUG in ask(settings, work)
    (path,) = hint_files(str(settings.data_dir))
    Path(path).write_bytes(b"\xff\0shown\nshown\t1\nused\n\n")
    assert BUG in ask(settings, work)
    (settings.data_dir / HINT_FOLDER / "stray").mkdir()
    assert BUG in ask(settings, work, session="s9")
