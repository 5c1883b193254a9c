"""`connect` and `disconnect` as a person calls them, on a home of their own."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from commonplace.config import Settings
from commonplace.hosts.host import EDITOR_NAMES, editors

from .conftest import Run

HOOKED = {editor.name for editor in editors() if editor.hooks}


@pytest.fixture(autouse=True)
def no_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is installed here, the tests do not find it."""
    monkeypatch.setenv("PATH", "")


def tree(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def test_what_is_installed_is_found_and_told(run: Run, home: Path) -> None:
    (home / ".cursor").mkdir()
    (home / ".codex").mkdir()
    (home / ".config" / "zed").mkdir(parents=True)
    done = run("connect")
    assert done.code == 0
    assert [line.split(" (")[0] for line in done.out.splitlines()] == [
        "Cursor: connected, with 9 hooks",
        "Codex CLI: connected, with 8 hooks",
        "Zed: connected, without hooks",
    ]
    assert "~/.cursor/mcp.json" in done.out and "/hooks" in done.err
    assert "\nNext: restart them, open a project, and ask what it remembers.\n" in done.err
    assert "`commonplace ingest` reads" in done.err and "`commonplace doctor` checks" in done.err
    again = run("connect")
    assert again.err == ""
    assert again.out == "Cursor: already connected\nCodex CLI: already connected\nZed: already connected\n"
    gone = run("disconnect")
    assert gone.code == 0 and gone.out.count(": disconnected (") == 3 and tree(home) == {}
    assert "Your memory stays in" in gone.err and "pipx uninstall commonplace" in gone.err
    assert run("disconnect").err == "No editor is connected here.\n"


def test_nothing_found_is_an_error_that_names_the_editors(run: Run, home: Path) -> None:
    done = run("connect")
    assert done.code == 3 and "claude-code, claude-desktop" in done.err and tree(home) == {}


@pytest.mark.parametrize("name", EDITOR_NAMES)
def test_every_editor_can_be_named(run: Run, home: Path, name: str) -> None:
    (reply,) = run("connect", name, "--json").data["hosts"]
    assert reply["host"] == name and reply["state"] == "connected" and bool(reply["hooks"]) == (name in HOOKED)
    assert {change["action"] for change in reply["files"]} == {"create"}
    for change in reply["files"]:
        assert Path(change["path"]).is_relative_to(home)
    (again,) = run("connect", name, "--json").data["hosts"]
    assert again["state"] == "already connected" and again["files"] == []
    (gone,) = run("disconnect", name, "--json").data["hosts"]
    assert gone["state"] == "disconnected" and tree(home) == {}
    (nothing,) = run("disconnect", name, "--json").data["hosts"]
    assert nothing["state"] == "not connected"


def test_the_server_that_is_written_starts_and_the_hook_runs(
    run: Run, home: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("connect", "claude-code")
    entry = read(home / ".claude.json")["mcpServers"]["commonplace"]
    assert Path(entry["command"]).is_absolute() and entry["args"] == ["mcp", "--profile", "core"]
    assert entry["env"] == {"COMMONPLACE_DATA_DIR": str(data_dir)}
    monkeypatch.delenv("COMMONPLACE_DATA_DIR")
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    hello = {
        "jsonrpc": "2.0",
        "id": 0,
        "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    }
    lines = [hello, {"jsonrpc": "2.0", "method": "notifications/initialized"}, request]
    done = subprocess.run(
        [entry["command"], *entry["args"]],
        input="".join(json.dumps(line) + "\n" for line in lines),
        capture_output=True,
        text=True,
        env=None,
        timeout=60,
        check=True,
    )
    replies = [json.loads(line) for line in done.stdout.splitlines()]
    assert any(reply.get("id") == 1 and reply["result"]["tools"] for reply in replies)
    line = read(home / ".claude" / "settings.json")["hooks"]["Stop"][0]["hooks"][0]["command"]
    assert str(data_dir) in line
    fired = subprocess.run(line, shell=True, input=b"{}", capture_output=True, timeout=60, check=False)
    assert fired.returncode == 0 and fired.stderr == b""


def test_a_usual_data_folder_is_not_written(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COMMONPLACE_DATA_DIR")
    run("connect", "claude-code")
    assert "env" not in read(home / ".claude.json")["mcpServers"]["commonplace"]
    assert b"--data-dir" not in (home / ".claude" / "settings.json").read_bytes()


def test_one_bad_file_does_not_keep_the_others_from_it(run: Run, home: Path) -> None:
    (home / ".cursor").mkdir()
    (home / ".cursor" / "mcp.json").write_text("{ nonsense", encoding="utf-8")
    done = run("connect", "cursor", "zed", "kiro")
    assert done.code == 4
    assert "Cursor: " in done.err and "line 1, column 3" in done.err and "was left as it is" in done.err
    assert "Zed: connected" in done.out and "Kiro: connected" in done.out
    assert tree(home / ".cursor") == {"mcp.json": b"{ nonsense"}
    outcome = run("connect", "cursor", "zed", "--json")
    assert outcome.code == 4 and outcome.data["failed"] == 1
    assert (
        outcome.data["hosts"][0]["error"]["code"] == "CONFLICT"
        and outcome.data["hosts"][1]["state"] == "already connected"
    )
    left = run("disconnect")
    assert left.code == 4 and "Zed: disconnected" in left.out and "Kiro: disconnected" in left.out


def test_a_dry_run_shows_the_diff_and_writes_nothing(run: Run, home: Path) -> None:
    path = home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_text('{\n  "mcpServers": {} // none\n}\n', encoding="utf-8")
    before = tree(home)
    done = run("connect", "cursor", "--dry-run")
    assert done.code == 0 and tree(home) == before
    assert "--- a/~/.cursor/mcp.json\n+++ b/~/.cursor/mcp.json\n" in done.out
    assert '-  "mcpServers": {} // none\n+  "mcpServers": {\n+    "commonplace": {' in done.out
    assert "--- /dev/null\n+++ b/~/.cursor/hooks.json\n" in done.out and "would be connected" in done.out
    (reply,) = run("connect", "cursor", "--dry-run", "--json").data["hosts"]
    assert [change["action"] for change in reply["files"]] == ["update", "create"]
    assert reply["files"][0]["diff"].startswith("--- a/~/.cursor/mcp.json")
    run("connect", "cursor")
    connected = tree(home)
    gone = run("disconnect", "cursor", "--dry-run")
    assert "would be disconnected" in gone.out and '-    "commonplace": {' in gone.out and tree(home) == connected


def test_a_diff_shows_no_secrets_of_anybody(run: Run, home: Path) -> None:
    path = home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    theirs = {"mcpServers": {"github": {"command": "x", "env": {"GITHUB_TOKEN": secret}}}}
    path.write_text(json.dumps(theirs, indent=1), encoding="utf-8")
    key = run("keys", "create", "mine").out.strip()
    for more in ((), ("--json",)):
        done = run("connect", "cursor", "--http", "--key", key, "--dry-run", *more)
        assert done.code == 0 and secret not in done.out and key not in done.out and "GITHUB_TOKEN" in done.out
    run("connect", "cursor", "--http", "--key", key)
    assert key in path.read_text(encoding="utf-8") and secret in path.read_text(encoding="utf-8")


def test_in_a_project(run: Run, home: Path, folder: Path) -> None:
    (folder / ".git").mkdir()
    (folder / "src").mkdir()
    done = run("connect", "cursor", "claude-code", "vscode", "--project", str(folder))
    assert done.code == 0 and tree(home) == {}
    assert sorted(tree(folder)) == [
        *(".claude/settings.local.json", ".cursor/hooks.json", ".cursor/mcp.json", ".mcp.json", ".vscode/mcp.json"),
    ]
    assert "(.cursor/mcp.json, .cursor/hooks.json)" in done.out
    assert run("disconnect", "--project").out.count("disconnected") == 3 and tree(folder) == {}
    # A name behind --project is an editor's, and the repository is found from here.
    assert "Zed: connected" in run("connect", "--project", "zed").out and sorted(tree(folder)) == [".zed/settings.json"]
    assert run("disconnect", "--project", "zed").code == 0 and tree(folder) == {}
    assert run("connect", "windsurf", "--project").code == 2
    assert run("connect", "zed", "--project", "--user").code == 2
    assert run("connect", "zed", "--project", str(folder / "missing")).code == 2


def test_choices_are_written_and_kept(run: Run, home: Path) -> None:
    run("connect", "cursor", "--no-hooks", "--profile", "all")
    assert sorted(tree(home / ".cursor")) == [".made-by-commonplace", "mcp.json"]
    assert read(home / ".cursor" / "mcp.json")["mcpServers"]["commonplace"]["args"][-1] == "all"
    assert "Cursor: updated, with 9 hooks" in run("connect", "cursor").out
    assert read(home / ".cursor" / "mcp.json")["mcpServers"]["commonplace"]["args"][-1] == "core"
    assert "Cursor: updated, without hooks" in run("connect", "cursor", "--no-hooks").out
    assert sorted(tree(home / ".cursor")) == [".made-by-commonplace", "mcp.json"]


def test_an_address_gets_a_key_of_its_own_once(run: Run, home: Path) -> None:
    done = run("connect", "--http", "zed", "--json")
    assert done.code == 0
    path = home / ".config" / "zed" / "settings.json"
    entry = read(path)["context_servers"]["commonplace"]
    assert entry["url"] == "http://127.0.0.1:8765/mcp?profile=core" and entry["headers"]["Authorization"].startswith(
        "Bearer sk-sekha-"
    )
    if sys.platform != "win32":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert run("connect", "zed", "--http", "--json").data["hosts"][0]["state"] == "already connected"
    (key,) = run("keys", "--json").data["keys"]
    assert (key["name"], key["scope"], key["state"]) == ("connect zed", "write", "works")
    other = run("connect", "zed", "--http", "https://memory.example/mcp", "--json")
    assert other.data["hosts"][0]["state"] == "updated" and len(run("keys", "--json").data["keys"]) == 2
    run("disconnect", "zed")
    states = [key["state"] for key in run("keys", "--json").data["keys"]]
    assert tree(home / ".config") == {} and states[-1] == "revoked"


@pytest.mark.parametrize("address", ["https://memory.example", "https://memory.example/"])
def test_the_address_of_a_server_is_enough(run: Run, home: Path, address: str) -> None:
    run("connect", "zed", "--http", address)
    assert "https://memory.example/mcp?profile=core" in (home / ".config/zed/settings.json").read_text(encoding="utf-8")


def test_an_address_has_the_same_tools_as_a_server_that_is_started(run: Run, home: Path) -> None:
    path = home / ".config" / "zed" / "settings.json"

    def url() -> str:
        return str(read(path)["context_servers"]["commonplace"]["url"])

    run("connect", "zed", "--http", "--profile", "all")
    assert url() == "http://127.0.0.1:8765/mcp?profile=all"
    # The key that it has stays, whichever tools are offered.
    run("connect", "zed", "--http")
    assert url() == "http://127.0.0.1:8765/mcp?profile=core" and len(run("keys", "--json").data["keys"]) == 1
    run("connect", "zed", "--http", "http://127.0.0.1:8765/mcp?profile=kiro")
    assert url() == "http://127.0.0.1:8765/mcp?profile=kiro"


def test_hooks_follow_the_connection_to_a_server_elsewhere(run: Run, home: Path, settings: Settings) -> None:
    key = "sk-sekha-" + "0" * 48
    elsewhere = ("connect", "claude-code", "--http", "https://memory.example/mcp", "--no-check")
    assert "own memory" not in run(*elsewhere, "--key", key, "--share", "all").err
    teams = settings.data_dir.absolute() / "teams"
    (folder,) = teams.iterdir()
    hooks = (home / ".claude" / "settings.json").read_text(encoding="utf-8")
    assert str(folder) in hooks and key not in hooks
    assert run(*elsewhere, "--key", key, "--json").data["hosts"][0]["state"] == "already connected"
    # Without a key of that server they capture here, and it is said.
    run("disconnect", "claude-code")
    assert not any(teams.iterdir())
    done = run(*elsewhere, "--json").data
    assert f"this machine's own memory in {settings.data_dir}" in done["notice"] and not any(teams.iterdir())
    for other in ((*elsewhere, "--key", key, "--no-hooks"), ("connect", "claude-code", "--http")):
        assert "own memory" not in run(*other).err
    mine = run("keys", "create", "mine").out.strip()
    assert "notice" not in run("connect", "cursor", "--http", "https://team.example/mcp", "--key", mine, "--json").data
    assert not any(teams.iterdir())


def test_a_key_that_was_revoked_is_replaced(run: Run, home: Path) -> None:
    run("connect", "zed", "--http")
    (key,) = run("keys", "--json").data["keys"]
    run("keys", "revoke", str(key["id"]))
    assert run("connect", "zed", "--http", "--json").data["hosts"][0]["state"] == "updated"
    assert [one["state"] for one in run("keys", "--json").data["keys"]] in (["works", "revoked"], ["revoked", "works"])
    assert run("connect", "zed", "--http", "--json").data["hosts"][0]["state"] == "already connected"


def test_a_dry_run_makes_no_key_and_a_given_one_stays(run: Run, home: Path) -> None:
    assert run("connect", "zed", "--http", "--dry-run").code == 0
    assert run("keys", "--json").data["keys"] == []
    key = run("keys", "create", "mine").out.strip()
    run("connect", "zed", "--http", "--key", key)
    run("disconnect", "zed")
    (mine,) = run("keys", "--json").data["keys"]
    assert mine["state"] == "works"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("emacs",), "emacs"),
        (("zed", "--key", "x"), "--key is for --http"),
        (("zed", "--http", "--key", "x"), "not a Commonplace key"),
        (("zed", "--http", "http://x/mcp?profile=all", "--profile", "core"), "already names a profile"),
        (("zed", "--http", "ftp://x"), "is not an address"),
        (("zed", "--http", "http://"), "is not an address"),
        (("zed", "--http", "http://a:99999/"), "is not an address"),
        (("zed", "--profile", "none"), "none"),
    ],
)
def test_bad_arguments(run: Run, home: Path, arguments: tuple[str, ...], says: str) -> None:
    done = run("connect", *arguments)
    assert done.code == 2 and says in done.err and tree(home) == {}


def test_what_cannot_call_an_address_is_left_out_unless_it_is_named(run: Run, home: Path) -> None:
    (home / ".config" / "Claude").mkdir(parents=True)
    (home / ".config" / "zed").mkdir(parents=True)
    done = run("connect", "--http")
    if sys.platform == "linux":
        assert done.code == 0 and "Zed: connected" in done.out and "Claude" not in done.out
    named = run("connect", "claude-desktop", "--http")
    assert named.code == 2 and "Claude Desktop cannot connect to an address" in named.err


def test_somebody_elses_server_needs_force(run: Run, home: Path) -> None:
    path = home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_text('{"mcpServers": {"commonplace": {"command": "other"}}}', encoding="utf-8")
    before = path.read_bytes()
    done = run("connect", "cursor")
    assert done.code == 4 and "--force" in done.err and path.read_bytes() == before
    assert "connected" in run("connect", "cursor", "--force").out
    assert run("disconnect", "cursor").code == 0 and path.read_bytes() == before


def test_help_names_every_editor(run: Run) -> None:
    text = " ".join(run("connect", "--help").out.split())
    assert [name for name in EDITOR_NAMES if f" {name}" not in text] == []


def test_only_hooks_have_to_be_trusted(run: Run) -> None:
    assert "/hooks" not in run("connect", "codex", "--no-hooks").err
    assert "/hooks" in run("connect", "codex").err


def test_a_folder_that_only_we_made_is_no_sign_and_goes_again(run: Run, home: Path) -> None:
    assert run("connect", "codex", "zed").code == 0
    assert run("connect", "--json").error["code"] == "NOT_FOUND"
    (home / ".codex" / "auth.json").write_text("{}", encoding="ascii")
    assert [host["host"] for host in run("connect", "--json").data["hosts"]] == ["codex"]
    assert run("disconnect").code == 0
    assert (home / ".codex" / "auth.json").exists() and not (home / ".config" / "zed").exists()
