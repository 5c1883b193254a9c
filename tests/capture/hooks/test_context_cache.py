"""What a session is told when it starts: true at that moment, in its host's shape, and never at anybody's cost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from commonplace.capture.hooks.drain_inline import BackgroundDrain, drop_stale_contexts
from commonplace.capture.hooks.spool_reader import spool_state
from commonplace.capture.hooks.working_folder import KNOWN_COMMITS_FILE
from commonplace.config import Settings
from commonplace.fast.context_cache import CONTEXT_FOLDER
from commonplace.fast.session_start import OTHERS_HEADING
from commonplace.fast.spool import SECONDS_VARIABLE
from commonplace.memory.authors import with_writer
from commonplace.memory.callers import machine_person
from commonplace.memory.edit_and_forget import forget_items
from commonplace.memory.local_memory import LocalMemory, open_memory, wall_clock
from commonplace.memory.remember import NewItem, remember
from commonplace.model import Author

from .hook_runner import COMMAND, SECONDS, environment, fire, put

RULE = "Amounts are integers of cents."


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """The folder of a repository."""
    folder = tmp_path / "my-api"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="ascii")
    return folder


def keep_rule(memory: LocalMemory, content: str = RULE) -> int:
    return remember(memory, NewItem(kind="memory", type="rule", content=content, project="my-api")).id


def start(settings: Settings, work: Path, host: str = "kiro", **more: str) -> str:
    payload = {"session_id": "s1", "cwd": str(work), "source": "startup", **more}
    event = "sessionStart" if host == "cursor" else "SessionStart"
    done = fire(settings, host, event, payload)
    assert done.returncode == 0
    return done.stdout.decode()


def lying(settings: Settings) -> list[str]:
    return [path.read_text(encoding="utf-8") for path in (settings.data_dir / CONTEXT_FOLDER).glob("*")]


@pytest.mark.parametrize("host", ["claude-code", "codex", "gemini", "cursor", "kiro", "windsurf"])
def test_every_host_gets_its_shape(memory: LocalMemory, settings: Settings, work: Path, host: str) -> None:
    keep_rule(memory)
    output = start(settings, work, host)
    if host in ("claude-code", "codex", "gemini"):
        inner = json.loads(output)["hookSpecificOutput"]
        assert inner["hookEventName"] == "SessionStart" and RULE in inner["additionalContext"]
    elif host == "cursor":
        assert RULE in json.loads(output)["additional_context"]
    else:
        assert (RULE in output) == (host == "kiro")


def test_cursor_names_its_folder_by_workspace_roots(memory: LocalMemory, settings: Settings, work: Path) -> None:
    keep_rule(memory)
    done = fire(settings, "cursor", "sessionStart", {"conversation_id": "c", "workspace_roots": [str(work)]})
    assert RULE in json.loads(done.stdout)["additional_context"]


def test_what_was_written_or_forgotten_since_is_seen_at_once(
    memory: LocalMemory, settings: Settings, work: Path
) -> None:
    assert start(settings, work) == ""
    rule = keep_rule(memory)
    assert RULE in start(settings, work) and RULE in start(settings, work)
    forget_items(memory, [rule])
    assert start(settings, work) == ""
    assert start(settings, work) == ""


def test_a_text_that_lies_ready_is_used_without_loading_what_reads_the_store(
    memory: LocalMemory, settings: Settings, work: Path
) -> None:
    keep_rule(memory)
    outcome = start(settings, work)
    command = [sys.executable, "-X", "importtime", COMMAND, "--data-dir", str(settings.data_dir), "hook", "kiro"]
    payload = json.dumps({"cwd": str(work)}).encode()
    done = subprocess.run([*command, "agentSpawn"], input=payload, capture_output=True, timeout=SECONDS, check=True)
    loaded = {line.split("|")[-1].strip() for line in done.stderr.decode().splitlines()}
    assert done.stdout.decode() == outcome and "apsw" in loaded
    assert not loaded & {
        "json",
        "re",
        "dataclasses",
        "pathlib",
        "threading",
        "commonplace.store.protocol",
        "commonplace.memory.local_memory",
    }


def test_another_setting_is_another_text(memory: LocalMemory, settings: Settings, work: Path) -> None:
    keep_rule(memory)
    assert RULE in start(settings, work)
    payload = {"session_id": "s1", "cwd": str(work)}
    done = fire(settings, "kiro", "SessionStart", payload, env=environment(COMMONPLACE_OPENING_TOKENS="0"))
    assert done.stdout == b""
    (settings.data_dir / "config.toml").write_text("opening_tokens = 0\n", encoding="ascii")
    assert start(settings, work) == ""


def test_how_people_work_is_told_until_it_is_turned_off(memory: LocalMemory, settings: Settings, work: Path) -> None:
    keep_rule(memory)
    remember(with_writer(memory, Author("anna", "person")), NewItem("I prefer small commits", project="my-api"))
    assert "I prefer small commits" in start(settings, work)
    payload = {"session_id": "s1", "cwd": str(work)}
    done = fire(settings, "kiro", "SessionStart", payload, env=environment(COMMONPLACE_USER_PROFILE="off"))
    assert RULE in done.stdout.decode() and "I prefer small commits" not in done.stdout.decode()


def test_whoever_holds_the_write_lock_is_not_waited_for(memory: LocalMemory, settings: Settings, work: Path) -> None:
    keep_rule(memory)
    holder = apsw.Connection(str(settings.database))
    holder.execute("BEGIN IMMEDIATE")
    holder.execute("UPDATE items SET title = 'never committed'")
    assert RULE in start(settings, work)
    holder.close()
    assert spool_state(settings).hook_failures == {}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs a file that nobody ever finishes reading")
def test_a_context_that_takes_too_long_is_not_waited_for(
    memory: LocalMemory, settings: Settings, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_rule(memory)
    remote = '[remote "origin"]\n\turl = https://github.com/acme/my-api.git\n'
    (work / ".git" / "config").write_text(remote, encoding="ascii")
    os.mkfifo(settings.data_dir / KNOWN_COMMITS_FILE)
    monkeypatch.delenv(SECONDS_VARIABLE)
    assert start(settings, work) == "" and start(settings, work, "gemini") == "{}\n"
    assert spool_state(settings).hook_failures == {"opening-too-slow": 2}


def test_a_store_that_has_to_be_migrated_is_left_alone_and_counted(
    memory: LocalMemory, settings: Settings, work: Path
) -> None:
    keep_rule(memory)
    memory.close()
    connection = apsw.Connection(str(settings.database))
    connection.pragma("user_version", 1)
    connection.close()
    assert start(settings, work) == ""
    assert spool_state(settings).hook_failures == {"opening-DB_READ_ONLY": 1}
    connection = apsw.Connection(str(settings.database))
    assert connection.pragma("user_version") == 1
    connection.close()


def test_a_damaged_store_or_configuration_harms_no_session(settings: Settings, work: Path) -> None:
    settings.data_dir.mkdir()
    settings.database.write_bytes(b"no database" * 1000)
    assert start(settings, work) == "" and start(settings, work, "gemini") == "{}\n"
    (settings.data_dir / "config.toml").write_text("= nonsense", encoding="ascii")
    assert start(settings, work) == ""
    assert sum(spool_state(settings).hook_failures.values()) == 3


def test_a_session_that_was_compacted_is_told_how_far_it_came(
    memory: LocalMemory, settings: Settings, work: Path
) -> None:
    payload = {"session_id": "s1", "cwd": str(work)}
    put(settings, {**payload, "prompt": "Make the login remember people for 30 days"}, "UserPromptSubmit")
    given = {"file_path": str(work / "login.py"), "content": "DAYS = 30\n"}
    put(settings, {**payload, "tool_name": "Write", "tool_input": given})
    put(settings, {**payload, "trigger": "auto"}, "PreCompact")
    keeping = BackgroundDrain()
    assert keeping(memory) is False
    keeping(memory)
    assert any(f"{work}\0claude-code:s1\0" in text for text in lying(settings)), "it lies ready before it is asked for"
    output = json.loads(start(settings, work, "claude-code", source="compact"))["hookSpecificOutput"][
        "additionalContext"
    ]
    thread = output.partition("## This session so far")[2]
    assert "30 days" in thread.split("\n## ")[0] and "login.py" in thread
    assert "## This session so far" not in start(settings, work, "claude-code")


def test_a_server_keeps_what_lies_ready_true(memory: LocalMemory, settings: Settings, work: Path) -> None:
    start(settings, work)
    (empty,) = lying(settings)
    assert RULE not in empty
    keeping = BackgroundDrain()
    keep_rule(memory)
    # The event of the start itself is drained, which is a write; the next look is at what is settled.
    keeping(memory)
    keeping(memory)
    (text,) = lying(settings)
    assert RULE in text


def test_no_more_than_so_many_lie_ready(memory: LocalMemory, settings: Settings, tmp_path: Path) -> None:
    keep_rule(memory)
    for number in range(50):
        put(settings, {"session_id": f"s{number}", "cwd": str(tmp_path / f"p{number}")}, "SessionStart")
    keeping = BackgroundDrain()
    keeping(memory)
    keeping(memory)
    assert len(lying(settings)) == 50
    keep_rule(memory, "Another rule.")
    keeping(memory)
    assert len(lying(settings)) == 40


def test_a_command_leaves_no_text_that_is_untrue(memory: LocalMemory, settings: Settings, work: Path) -> None:
    rule = keep_rule(memory)
    start(settings, work)
    assert len(lying(settings)) == 1
    drop_stale_contexts(settings)
    assert len(lying(settings)) == 1
    forget_items(memory, [rule])
    drop_stale_contexts(settings)
    assert lying(settings) == [f"\0{work}\0\0"], "that it is wanted is all that is left"
    keep_rule(memory, "Another rule.")
    BackgroundDrain()(memory)
    assert "Another rule." in "".join(lying(settings)), "and the next server makes it anew"


def test_what_lies_ready_stays_true_when_the_store_is_closed(
    memory: LocalMemory, settings: Settings, work: Path
) -> None:
    """The last to close folds the log into the file, which changes both, and nothing that is remembered."""
    keep_rule(memory)
    start(settings, work)
    before = lying(settings)
    memory.close()
    drop_stale_contexts(settings)
    assert lying(settings) == before and RULE in before[0]


def test_looking_at_the_store_ends_no_lock_on_it(memory: LocalMemory, settings: Settings) -> None:
    """POSIX ends all locks of a process on a file when it closes any descriptor of it; then two could write at once."""
    keep_rule(memory)
    keeping = BackgroundDrain()
    writer = apsw.Connection(str(settings.database))
    writer.execute("BEGIN IMMEDIATE")
    keeping(memory)
    drop_stale_contexts(settings)
    script = f"import apsw; apsw.Connection({str(settings.database)!r}).execute('BEGIN IMMEDIATE')"
    other = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=SECONDS, check=False)
    writer.close()
    assert other.returncode != 0 and b"BusyError" in other.stderr


def test_what_others_said_is_told_once_though_nothing_was_stored_in_between(
    memory: LocalMemory, settings: Settings, work: Path
) -> None:
    keep_rule(with_writer(memory, Author(machine_person(settings), "person")))
    bo = with_writer(memory, Author("bo", "person"))
    for type_, text in (("decision", "Invoices are sent by the queue"), ("fact", "The importer reads CSV")):
        remember(bo, NewItem(text, type=type_, project="my-api", created_ms=wall_clock()))
    told = start(settings, work)
    news = told.partition(f"{OTHERS_HEADING}\n")[2].partition("\n\n")[0]
    assert "bo: [decision] Invoices" in news and "bo: [fact] The importer" in news
    again = start(settings, work, session_id="s2")
    assert RULE in again and OTHERS_HEADING not in again
    # What still holds has a place of its own.
    assert "## Decisions" in again and "Invoices are sent" in again
    assert start(settings, work, session_id="s3") == again


@pytest.mark.skipif(sys.platform != "linux", reason="needs a file system of its own")
@pytest.mark.parametrize("host", ["claude-code", "cursor"])
def test_a_store_on_a_read_only_disk_is_told(tmp_path: Path, work: Path, host: str) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", disk], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("this user may not mount a file system")
    try:
        settings = Settings(data_dir=disk / "data", embedder="off")
        memory = open_memory(settings)
        keep_rule(memory)
        remember(memory, NewItem("Never use npm", kind="memory", type="rule"))
        memory.close()
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        told = start(settings, work, host)
        assert RULE in told and start(settings, work, host) == told
        tool = {"session_id": "s1", "cwd": str(work), "tool_name": "Bash", "tool_input": {"command": "npm install x"}}
        hint = fire(settings, host, "PreToolUse", tool).stdout.decode()
        assert "Never use npm" in hint or host == "cursor"
    finally:
        subprocess.run(["umount", disk], check=True)


@pytest.mark.skipif(os.name == "nt", reason="links need a right there")
def test_a_folder_that_is_a_link_costs_no_context(memory: LocalMemory, settings: Settings, work: Path) -> None:
    keep_rule(memory)
    elsewhere = settings.data_dir.parent / "elsewhere"
    elsewhere.mkdir()
    for folder in ("hints", CONTEXT_FOLDER):
        (settings.data_dir / folder).symlink_to(elsewhere)
    assert RULE in start(settings, work)
    assert list(elsewhere.iterdir()) == []
