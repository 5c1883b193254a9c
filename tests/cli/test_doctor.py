"""`doctor`: green for every editor after `connect`; and what it says, mends and exits with when something is broken."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from commonplace.doctor.editor_checks import SLOW_ADVICE
from commonplace.fast.host_events import HOSTS
from commonplace.hosts.host import EDITOR_NAMES

from .conftest import Outcome, Run
from .test_conversations import uncoloured
from .test_terminal import needs_terminal

EVERY = (
    "claude-code",
    "claude-desktop",
    "cursor",
    "windsurf",
    "vscode",
    "cline",
    "kiro",
    "codex",
    "gemini",
    "opencode",
    "zed",
)


def of(done: Outcome, area: str) -> dict[str, Any]:
    """What was found in an area, by what it is about."""
    return {one["what"]: one for one in done.data["findings"] if one["area"] == area}


def test_every_editor_is_connected_started_and_fired(run: Run, data_dir: Path) -> None:
    assert EDITOR_NAMES == EVERY
    assert run("connect", *EVERY).code == 0
    run("add", "Something to remember")
    done = run("doctor", "--json")
    data = done.data
    assert done.code == 0 and data["healthy"], [one for one in data["findings"] if one["state"] == "failure"]
    assert {what: one["state"] for what, one in of(done, "connections").items()} == dict.fromkeys(EVERY, "ok")
    # A busy machine may be slow, which is a remark: that each hook works is what counts here.
    hooks = of(done, "hooks")
    assert {what for what, one in hooks.items() if one["state"] == "ok" or one["advice"] == SLOW_ADVICE} == set(HOSTS)
    assert all("8 tools" in one["sentence"] for one in of(done, "connections").values())
    assert {one["area"] for one in data["findings"]} == {
        *("store", "index", "model", "connections", "hooks", "recall", "spool", "resident", "versions"),
        *(("permissions",) if os.name == "posix" else ()),
    }
    # The samples left no trace.
    assert run("list", "--json").data["items"][0]["content"] == "Something to remember"
    assert len(run("list", "--json").data["items"]) == 1
    assert not [path for path in (data_dir / "spool").iterdir() if path.suffix in (".event", ".sample", ".part")]


def test_people_get_a_line_for_each_thing_and_a_verdict(run: Run) -> None:
    run("add", "Something")
    done = run("doctor", "store", "versions")
    assert done.code == 0 and done.out.endswith("Everything works.\n")
    lines = [line.split()[:3] for line in done.out.splitlines()[:-1]]
    assert ["ok", "store", "file:"] in lines and ["ok", "versions", "settings:"] in lines


def test_a_failure_has_a_fix_and_exit_code_1_and_fix_mends_it(run: Run, data_dir: Path) -> None:
    run("add", "Something")
    with contextlib.closing(apsw.Connection(str(data_dir / "commonplace.db"))) as behind:
        behind.execute("DELETE FROM passages_fts")
    done = run("doctor", "index", "store")
    assert done.code == 1
    assert "failure  index words: 1 of 1 passages cannot be found by their words." in done.out
    assert "use --fix" in done.out and "1 of " in done.out.splitlines()[-1]
    outcome = run("doctor", "index", "--json")
    assert outcome.code == 1 and outcome.data["healthy"] is False and of(outcome, "index")["words"]["mendable"]
    mended = run("doctor", "index", "store", "--fix", "--json")
    assert mended.code == 0 and mended.data["healthy"]
    assert [(one["area"], one["what"]) for one in mended.data["mended"]] == [("index", "words")]
    assert len(run("search", "something", "--json").data["results"]) == 1
    assert run("doctor", "index", "--fix").out.endswith("Everything works.\n")


@pytest.mark.no_store
def test_what_cannot_be_mended_stays_a_failure(run: Run, data_dir: Path) -> None:
    data_dir.mkdir()
    (data_dir / "commonplace.db").write_bytes(b"This is no database at all. " * 100)
    done = run("doctor", "store", "index", "--fix", "--json")
    assert done.code == 1 and of(done, "store")["file"]["state"] == "failure"
    assert done.data["mended"] == []
    assert (data_dir / "commonplace.db").read_bytes().startswith(b"This is no database")


def test_wrong_settings_are_a_finding_and_not_the_end(run: Run, data_dir: Path) -> None:
    run("add", "Something")
    (data_dir / "config.toml").write_text("nonsense = 1\n", encoding="utf-8")
    done = run("doctor", "--json")
    assert done.code == 1
    assert "nonsense" in of(done, "versions")["settings"]["sentence"]
    assert of(done, "store")["file"]["state"] == "ok"


def test_a_command_that_is_gone_is_mended_for_good(run: Run, home: Path) -> None:
    assert run("connect", "claude-desktop", "windsurf", "--no-hooks").code == 0
    for file in home.rglob("*.json"):
        data = json.loads(file.read_text(encoding="utf-8"))
        if entry := data.get("mcpServers", {}).get("commonplace"):
            entry["command"] = str(home / "removed" / "commonplace")
            file.write_text(json.dumps(data), encoding="utf-8")
    done = run("doctor", "connections")
    assert done.code == 1 and done.out.count("which does not exist") == 2
    assert "`commonplace doctor --fix` fixes 2 of them." in done.out
    fixed = run("doctor", "connections", "--fix")
    assert fixed.code == 0 and fixed.out.count("connected again") == 2
    assert run("doctor", "connections").out.count("listed 8 tools") == 2


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_editors_that_call_a_server_are_asked_over_http(run: Run) -> None:
    callers = [name for name in EVERY if name != "claude-desktop"]
    with serving() as address:
        assert run("connect", *callers, "--http", f"{address}/mcp").code == 0
        (key,) = (one["id"] for one in run("keys", "--json").data["keys"] if one["name"] == "connect zed")
        run("keys", "revoke", str(key))
        found = of(run("doctor", "connections", "--json"), "connections")
        assert {what: one["state"] for what, one in found.items()} == {**dict.fromkeys(callers, "ok"), "zed": "failure"}
        assert "connect zed" in found["zed"]["fix"] and "8 tools" in found["cursor"]["sentence"]
        assert run("connect", "zed", "--http", f"{address}/mcp").code == 0
        assert run("doctor", "connections", "hooks").code == 0
    gone = run("doctor", "connections", "--json")
    assert gone.code == 1 and {one["state"] for one in of(gone, "connections").values()} == {"failure"}
    assert all("commonplace serve" in one["fix"] for one in of(gone, "connections").values())


@contextlib.contextmanager
def serving() -> Iterator[str]:
    """A server of the same store, and where it is."""
    command = [sys.executable, "-m", "commonplace", "serve", "--port", "0", "--profile", "core"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            address = re.search(r"http://127\.0\.0\.1:\d+", process.stderr.readline())
            assert address
            yield address[0]
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)


def test_an_unknown_area_is_refused(run: Run) -> None:
    done = run("doctor", "heart", "--json")
    assert done.code == 2 and done.error["code"] == "VALIDATION_ERROR"


def test_keys_in_files_of_editors_are_not_shown(run: Run, home: Path) -> None:
    key = "sk-sekha-" + "0123456789abcdef" * 3
    entry = {"type": "http", "url": "http://127.0.0.1:9/mcp", "headers": {"Authorization": f"Bearer {key}"}}
    (home / ".claude.json").write_text(json.dumps({"mcpServers": {"commonplace": entry}}), encoding="utf-8")
    done = run("doctor", "connections", "--json")
    assert done.code == 1 and key not in done.out + done.err


@needs_terminal
@pytest.mark.parametrize("no_colour", ["", "1"])
def test_states_are_coloured_for_people(spawn_in_terminal: Run, no_colour: str) -> None:
    shown = spawn_in_terminal("doctor", "spool", NO_COLOR=no_colour).out
    assert ("\x1b[32m" in shown) is (not no_colour)
    assert "ok       spool waiting: No events are waiting." in uncoloured(shown)
