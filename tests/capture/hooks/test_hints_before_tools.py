"""What hooks say before a tool is used: a rule that is about to be broken, each time; one that is obeyed, never."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Clock

from commonplace.config import Settings
from commonplace.fast.session_hints import SessionHints, hint_files
from commonplace.fast.session_start import SUBAGENTS
from commonplace.fast.spool import HINT_FOLDER
from commonplace.memory import session_context
from commonplace.memory.items import get_item
from commonplace.memory.local_memory import LocalMemory, open_memory
from commonplace.memory.remember import NewItem, remember
from commonplace.memory.session_context import SUBAGENT_TOKENS
from commonplace.text.tokens import estimate_tokens

from .hook_runner import fire, names

RULE = "Use pnpm, never npm"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """The folder of a repository."""
    folder = tmp_path / "my-api"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="ascii")
    return folder


def keep(memory: LocalMemory, content: str = RULE, type_: str = "rule", **details: str) -> str:
    stored = remember(memory, NewItem(content, "memory", type_, project="my-api", details=details))
    return get_item(memory, stored.id).short_id


def told(settings: Settings, work: Path, event: str, **payload: Any) -> str:
    """What Claude Code is told at an event of session s1."""
    given = {"session_id": "s1", "cwd": str(work), "hook_event_name": event, **payload}
    done = fire(settings, "claude-code", event, given)
    assert (done.returncode, done.stderr) == (0, b"")
    return str(json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]) if done.stdout else ""


def run(settings: Settings, work: Path, command: str, **more: Any) -> str:
    """What it is told before a command runs."""
    return told(settings, work, "PreToolUse", tool_name="Bash", tool_input={"command": command}, **more)


def start(settings: Settings, work: Path) -> str:
    return told(settings, work, "SessionStart", source="startup")


def ten_minutes_pass(settings: Settings) -> None:
    """Make everything that sessions were told and asked eleven minutes older."""
    for path in map(Path, hint_files(str(settings.data_dir))):
        lines = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
        for line in lines:
            line[1] = str(int(line[1]) - 660_000)
        path.write_text("".join("\t".join(line) + "\n" for line in lines), encoding="utf-8")


def test_a_broken_rule_is_told_although_the_session_began_with_it(
    memory: LocalMemory, settings: Settings, work: Path
) -> None:
    id_ = keep(memory)
    assert RULE in start(settings, work)
    first, line = run(settings, work, "cd web && npm install react").splitlines()
    assert "go against" in first and "not instructions" in first
    assert line == f"- 2025-03-15 [rule] {RULE} (against this: npm install react) ({id_})"


def test_to_go_on_against_a_rule_is_no_use_of_it(memory: LocalMemory, settings: Settings, work: Path) -> None:
    id_ = keep(memory, "Packages are installed with pnpm, never with npm, because of the workspace lockfile")
    given = {"tool_name": "Bash", "tool_input": {"command": "npm install react-native-signature"}}
    assert id_ in told(settings, work, "PreToolUse", **given)
    told(settings, work, "PostToolUse", **given, tool_response={"stdout": "added 3 packages"})
    assert SessionHints(str(settings.data_dir), "claude-code:s1").unused
    told(settings, work, "Stop", last_assistant_message="Right: the workspace has a lockfile of pnpm.")
    assert not SessionHints(str(settings.data_dir), "claude-code:s1").unused


def test_an_obeyed_rule_is_not_told(memory: LocalMemory, settings: Settings, work: Path) -> None:
    keep(memory)
    keep(memory, "Use uv, never pip install")
    for command in ("pnpm jest", "pnpm add x", "uv pip install boto3", "git commit -m 'use pnpm, never npm'"):
        assert run(settings, work, command) == ""


def test_a_broken_rule_is_told_again_for_another_kind_of_action_or_after_ten_minutes(
    memory: LocalMemory, settings: Settings, work: Path
) -> None:
    keep(memory)
    assert RULE in run(settings, work, "npm install")
    assert run(settings, work, "npm install") == run(settings, work, "npm install react") == ""
    assert RULE in run(settings, work, "npm run build")
    ten_minutes_pass(settings)
    assert RULE in run(settings, work, "npm install")


@pytest.mark.parametrize(
    ("type_", "content", "tool", "given"),
    [
        ("rejected", "A managed database at AWS RDS. 900 euros", "Bash", {"command": "aws rds create-db-instance"}),
        ("constraint", "No MongoDB for orders", "Bash", {"command": "docker pull mongodb"}),
        ("constraint", "No MongoDB for orders", "Bash", {"command": "pip install pymongo mongodb"}),
        ("constraint", "Redis is not allowed in production", "Bash", {"command": "docker run redis"}),
        ("constraint", "Redis is not allowed in production", "Bash", {"command": "redis-cli"}),
        ("rejected", "Push notifications through OneSignal", "Bash", {"command": "pnpm add react-native-onesignal"}),
        ("rejected", "DynamoDB for the ledger", "Write", {"file_path": "src/store/dynamodb.py", "content": "x = 1"}),
        ("constraint", "Invoices must never be renumbered", "Bash", {"command": "make renumber-invoices"}),
        ("rule", "Never commit directly to main", "Bash", {"command": "git push origin main"}),
        ("rule", RULE, "Write", {"file_path": "package-lock.json", "content": "{}"}),
        ("constraint", "Never push with --force", "Bash", {"command": "git push --force origin main"}),
        ("rule", "Never commit directly to main", "Bash", {"command": "git commit -am wip"}),
        ("constraint", "Migrations are append-only", "Edit", {"file_path": "migrations/1.sql", "old_string": "a"}),
        ("rule", "No console.log in src", "Edit", {"file_path": "src/a.ts", "new_string": "console.log(1)"}),
    ],
)
def test_packages_images_services_branches_and_files_break_rules_too(
    memory: LocalMemory, settings: Settings, work: Path, type_: str, content: str, tool: str, given: Mapping[str, str]
) -> None:
    keep(memory, content, type_)
    start(settings, work)
    files = {"file_path": str(work / given["file_path"])} if "file_path" in given else {}
    assert content in told(settings, work, "PreToolUse", tool_name=tool, tool_input={**given, **files})


def test_a_rule_for_a_path_is_told_there_once_although_the_session_began_with_it(
    memory: LocalMemory, settings: Settings, work: Path
) -> None:
    keep(memory, "Amounts are cents.", paths="src/billing/**")
    assert "Amounts are cents." in start(settings, work)

    def edit(file: str, text: str) -> str:
        given = {"file_path": str(work / file), "old_string": "a", "new_string": text}
        return told(settings, work, "PreToolUse", tool_name="Edit", tool_input=given)

    assert "Amounts are cents." in edit("src/billing/tax.ts", "b")
    assert edit("src/billing/tax.ts", "c") == edit("src/billing/sum.ts", "d") == ""


def test_a_sub_agent_gets_the_rules_at_its_start_and_has_seen_nothing_of_its_parent(
    memory: LocalMemory, settings: Settings, work: Path
) -> None:
    keep(memory)
    keep(memory, "Handlers are async.", paths="src/api/**")
    keep(memory, "Sessions live in Redis", "decision")
    start(settings, work)
    before = len(names(settings))
    text = told(settings, work, "SubagentStart", agent_id="a7", agent_type="Explore")
    assert RULE in text and "Handlers are async." in text and "Redis" not in text
    assert len(names(settings)) == before
    assert RULE in run(settings, work, "npm ci")
    assert RULE in run(settings, work, "npm ci", agent_id="a7")
    assert run(settings, work, "npm ci", agent_id="a7") == ""
    # The cached text is used as well.
    assert told(settings, work, "SubagentStart", agent_id="a8", agent_type="Explore") == text
    assert SUBAGENTS == session_context.SUBAGENTS


def test_a_sub_agent_is_told_only_so_much(memory: LocalMemory, settings: Settings, work: Path) -> None:
    for number in range(60):
        keep(memory, f"Never call service number {number} without a timeout, and log each of its answers")
    text = told(settings, work, "SubagentStart", agent_id="a7", agent_type="Explore")
    assert "service number" in text and estimate_tokens(len(text)) <= SUBAGENT_TOKENS == 300


def test_three_at_most_are_told_at_a_time(memory: LocalMemory, settings: Settings, work: Path) -> None:
    for program in ("curl", "wget", "npm", "yarn", "terraform"):
        keep(memory, f"Never use {program}")
    text = run(settings, work, "curl a && wget b && npm ci && yarn add c && terraform plan")
    assert "data to weigh" in text and len([line for line in text.splitlines() if line.startswith("- ")]) == 3


def test_the_examples_of_the_page_are_true(memory: LocalMemory, settings: Settings, work: Path) -> None:
    keep(memory)
    keep(memory, "Keep functions short")
    start(settings, work)
    assert run(settings, work, "pnpm add react") == ""
    long = "def f():\n" + "    x = 1\n" * 300
    assert (
        told(settings, work, "PreToolUse", tool_name="Write", tool_input={"file_path": "f.py", "content": long}) == ""
    )
    npm = {"tool_name": "Bash", "tool_input": {"command": "npm install"}}
    given = {"session_id": "s1", "cwd": str(work), "hook_event_name": "PreToolUse", **npm}
    done = fire(settings, "claude-code", "PreToolUse", given)
    # It is told, and no decision about the tool is made.
    assert done.returncode == 0 and RULE in done.stdout.decode() and b"permissionDecision" not in done.stdout
    ten_minutes_pass(settings)
    assert RULE in run(settings, work, "npx jest")


def test_what_no_text_can_hold_harms_no_hook(memory: LocalMemory, settings: Settings, work: Path) -> None:
    keep(memory)
    for name in ("command", "file_path"):
        payload = b'{"session_id": "s\\ud800", "cwd": "/a\\udfff", "tool_name": "Bash", "agent_id": "\\ud83d",'
        payload += b' "tool_input": {"' + name.encode() + b'": "npm install \\ud800"}}'
        for event in ("PreToolUse", "PostToolUse", "PostToolUseFailure", "SubagentStart"):
            done = fire(settings, "claude-code", event, payload)
            assert (done.returncode, done.stderr) == (0, b"")


def test_beside_an_encrypted_store_no_words_of_memories_are_kept(
    settings: Settings, clock: Clock, tmp_path: Path, work: Path
) -> None:
    def left_beside(store: Settings) -> list[bytes]:
        """What a session leaves beside a store that has told it of a rule."""
        with contextlib.closing(open_memory(store, clock)) as opened:
            keep(opened, "Never run zyxwcanary canaryson")
        assert "zyxwcanary" in run(store, work, "zyxwcanary canaryson")
        return [path.read_bytes() for path in (store.data_dir / HINT_FOLDER).iterdir()]

    plain = replace(settings, data_dir=tmp_path / "plain")
    assert any(b"canaryson" in content for content in left_beside(plain))
    key = tmp_path / "store.key"
    key.write_text("ab" * 32, encoding="ascii")
    secret = replace(settings, data_dir=tmp_path / "secret", encryption="file", encryption_key_file=str(key))
    secret.data_dir.mkdir(mode=0o700)
    config = f'encryption = "file"\nencryption_key_file = "{key.as_posix()}"\n'
    (secret.data_dir / "config.toml").write_text(config, encoding="utf-8")
    assert not any(b"canary" in content for content in left_beside(secret))
