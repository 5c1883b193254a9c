"""Whatever is in an editor's files, only ours changes, and what cannot be done safely is not done at all."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from commonplace.errors import CommonplaceError, Conflict, InvalidInput
from commonplace.hosts.connections import (
    DesiredConnection,
    apply_plan,
    local_server,
    plan_connection,
    plan_disconnection,
    read_connection,
)
from commonplace.hosts.host import Locations, Server, editor_named, editors

from .conftest import PROGRAMS, connect, disconnect, tree, wanted

CLAUDE, CURSOR, GEMINI, KIRO = (editor_named(name) for name in ("claude-code", "cursor", "gemini", "kiro"))
KEY = "sk-sekha-" + "0123456789abcdef" * 3


def write(path: Path, value: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value, indent=2), encoding="utf-8")
    return path


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "theirs", [{"command": "node", "args": ["commonplace-js"]}, {"url": "http://x/mcp"}, "off", None]
)
def test_a_server_of_the_same_name_is_not_overwritten(places: Locations, theirs: object) -> None:
    path = write(places.home / ".cursor" / "mcp.json", {"mcpServers": {"commonplace": theirs}})
    before = tree(places.home)
    with pytest.raises(Conflict, match="another server called commonplace") as caught:
        plan_connection(CURSOR, places, wanted())
    assert "--force" in caught.value.hint and tree(places.home) == before
    assert plan_disconnection(CURSOR, places).state == "not connected"
    connect(CURSOR, places, force=True)
    assert read(path)["mcpServers"]["commonplace"]["command"] == PROGRAMS["linux"][0]
    disconnect(CURSOR, places)
    assert tree(places.home) == before


def test_what_a_person_added_to_our_entry_stays(places: Locations) -> None:
    connect(KIRO, places)
    path = places.home / ".kiro" / "settings" / "mcp.json"
    value = read(path)
    entry = value["mcpServers"]["commonplace"]
    entry |= {"autoApprove": ["search"], "timeout": 5, "env": {"COMMONPLACE_EMBEDDER": "off"}}
    write(path, value)
    assert plan_connection(KIRO, places, wanted()).state == "already connected"
    program = ("/new/commonplace",)
    connect(KIRO, places, DesiredConnection(local_server(program, "all", "/data"), program, "/data"))
    assert read(path)["mcpServers"]["commonplace"] == {
        "command": "/new/commonplace",
        "args": ["mcp", "--profile", "all"],
        "disabled": False,
        "autoApprove": ["search"],
        "timeout": 5,
        "env": {"COMMONPLACE_EMBEDDER": "off", "COMMONPLACE_DATA_DIR": "/data"},
    }
    hooks = read_connection(KIRO, places)
    assert hooks is not None and {hook.command.split(" kiro ")[0] for hook in hooks.hooks} == {
        "/new/commonplace hook --data-dir /data"
    }


def test_other_peoples_hooks_stay_where_they_are(places: Locations) -> None:
    theirs = {"matcher": "Bash", "hooks": [{"type": "command", "command": "lint"}]}
    before = {"model": "x", "hooks": {"PostToolUse": [theirs], "Notification": [theirs]}}
    path = write(places.home / ".claude" / "settings.json", before)
    connect(CLAUDE, places)
    hooks = read(path)["hooks"]
    assert hooks["PostToolUse"][0] == theirs and len(hooks["PostToolUse"]) == 2 and hooks["Notification"] == [theirs]
    # Somebody puts their hook into our group.
    value = read(path)
    value["hooks"]["Stop"][0]["hooks"].insert(0, {"type": "command", "command": "bell"})
    write(path, value)
    disconnect(CLAUDE, places)
    assert read(path) == {
        "model": "x",
        "hooks": {**before["hooks"], "Stop": [{"hooks": [{"type": "command", "command": "bell"}]}]},  # type: ignore[dict-item]
    }


def test_hooks_of_an_older_version_make_way(places: Locations) -> None:
    old = {"hooks": [{"type": "command", "command": "/old/commonplace hook claude-code Stop"}]}
    gone = {"hooks": [{"type": "command", "command": "/old/commonplace hook claude-code Vanished"}]}
    path = write(places.home / ".claude" / "settings.json", {"hooks": {"Stop": [old, old], "Vanished": [gone]}})
    assert connect(CLAUDE, places).state == "updated"
    hooks = read(path)["hooks"]
    assert "/old/" not in json.dumps(hooks) and len(hooks["Stop"]) == 1 and "Vanished" not in hooks


@pytest.mark.parametrize("editor", [editor for editor in editors() if editor.hooks], ids=lambda editor: editor.name)
def test_hooks_can_be_left_out_later(places: Locations, editor: Any) -> None:
    connect(editor, places)
    assert connect(editor, places, DesiredConnection(wanted().server)).state == "updated"
    there = read_connection(editor, places)
    assert there is not None and there.ours and there.hooks == ()
    assert "hook" not in "".join(tree(places.home)) or editor.name == "gemini"
    disconnect(editor, places)
    assert tree(places.home) == {}


@pytest.mark.parametrize("editor", [editor for editor in editors() if editor.mcp.http], ids=lambda editor: editor.name)
def test_an_address_with_its_key_is_written_for_nobody_else_to_read(places: Locations, editor: Any) -> None:
    connect(editor, places, DesiredConnection(Server(url="http://127.0.0.1:8765/mcp", key=KEY), PROGRAMS["linux"]))
    there = read_connection(editor, places)
    assert there is not None and there.ours and there.url == "http://127.0.0.1:8765/mcp"
    assert there.headers == {"Authorization": f"Bearer {KEY}"} and there.command == ""
    if sys.platform != "win32":
        assert stat.S_IMODE(there.file.stat().st_mode) == 0o600
    assert connect(editor, places).state == "updated"
    there = read_connection(editor, places)
    assert there is not None and there.url == "" and there.command == PROGRAMS["linux"][0]
    disconnect(editor, places)
    assert tree(places.home) == {}


def test_what_an_editor_cannot_do_is_said(places: Locations, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="Claude Desktop cannot connect to an address"):
        plan_connection(editor_named("claude-desktop"), places, DesiredConnection(Server(url="http://x/mcp", key=KEY)))
    in_project = Locations(places.home, "linux", {}, tmp_path)
    for name in ("windsurf", "cline", "claude-desktop"):
        with pytest.raises(InvalidInput, match="does not read servers from a project"):
            plan_connection(editor_named(name), in_project, wanted())


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "cannot be parsed: line 1"),
        ("[]", "it is not an object"),
        ('{"mcpServers": []}', "mcpServers is not an object"),
        ('{"mcpServers": {}} x', "line 1, column 20"),
        ("\udcff", "cannot be parsed"),
        ("[" * 50_000, "nested too deeply"),
    ],
)
def test_a_file_that_is_not_understood_is_left_alone(places: Locations, text: str, why: str) -> None:
    path = places.home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_bytes(text.encode(errors="surrogateescape"))
    before = tree(places.home)
    with pytest.raises(Conflict) as caught:
        plan_connection(CURSOR, places, wanted())
    assert why in caught.value.message and str(path) in caught.value.message
    assert tree(places.home) == before


def test_the_first_file_is_untouched_if_the_second_is_bad(places: Locations) -> None:
    write(places.home / ".cursor" / "mcp.json", {})
    write(places.home / ".cursor" / "hooks.json", '{"hooks": {"stop": {}}}')
    before = tree(places.home)
    with pytest.raises(Conflict, match=r"hooks\.stop is not a list"):
        connect(CURSOR, places)
    assert tree(places.home) == before


def test_bad_toml_is_left_alone(places: Locations) -> None:
    path = write(places.home / ".codex" / "config.toml", "a = \n")
    for text in ("a = \n", "mcp_servers = 3\n", "[[mcp_servers]]\nx = 1\n"):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(Conflict):
            plan_connection(editor_named("codex"), places, wanted())
        assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize(("mode", "why"), [(0o000, "not readable"), (0o200, "not readable"), (0o400, "read-only")])
def test_a_file_without_permissions_is_refused(places: Locations, mode: int, why: str) -> None:
    path = write(places.home / ".cursor" / "mcp.json", {"mcpServers": {}})
    path.chmod(mode)
    # Windows knows only read-only files.
    with pytest.raises(Conflict, match="read-only" if os.name == "nt" else why):
        plan_connection(CURSOR, places, wanted())
    path.chmod(0o600)
    assert read(path) == {"mcpServers": {}}


def test_a_folder_without_permissions_is_refused(places: Locations) -> None:
    folder = places.home / ".cursor"
    folder.mkdir()
    folder.chmod(0o500)
    if os.name != "nt":
        with pytest.raises(Conflict, match="not writable"):
            plan_connection(CURSOR, places, wanted())
    folder.chmod(0o700)
    assert tree(places.home) == {}


def test_what_is_no_file_is_refused(places: Locations) -> None:
    (places.home / ".cursor" / "mcp.json").mkdir(parents=True)
    with pytest.raises(Conflict, match="is not a file"):
        plan_connection(CURSOR, places, wanted())
    write(places.home / ".kiro", "a file")
    with pytest.raises(CommonplaceError, match=r"Not a directory|not a folder"):
        plan_connection(KIRO, places, wanted())


def test_a_link_is_followed_and_stays_a_link(places: Locations, tmp_path: Path) -> None:
    real = write(tmp_path / "dotfiles" / "cursor.json", '{\n  // mine\n  "mcpServers": {}\n}\n')
    link = places.home / ".cursor" / "mcp.json"
    link.parent.mkdir()
    link.symlink_to(real)
    before = real.read_bytes()
    connect(CURSOR, places, DesiredConnection(wanted().server))
    assert link.is_symlink() and b"commonplace" in real.read_bytes() and b"// mine" in real.read_bytes()
    assert (tmp_path / "dotfiles" / "cursor.json.before-commonplace").read_bytes() == before
    assert sorted(path.name for path in link.parent.iterdir()) == ["mcp.json"]
    disconnect(CURSOR, places)
    assert link.is_symlink() and tree(tmp_path / "dotfiles") == {"cursor.json": before}


def test_a_link_to_nothing_or_to_itself_is_refused(places: Locations, tmp_path: Path) -> None:
    link = places.home / ".cursor" / "mcp.json"
    link.parent.mkdir()
    link.symlink_to(tmp_path / "gone.json")
    with pytest.raises(Conflict, match="link to nothing"):
        plan_connection(CURSOR, places, wanted())
    link.unlink()
    link.symlink_to(link)
    with pytest.raises(Conflict, match="cannot be read"):
        plan_connection(CURSOR, places, wanted())


def test_modes_are_kept_and_the_copy_is_as_private_as_the_file(places: Locations) -> None:
    path = write(places.home / ".cursor" / "mcp.json", {"mcpServers": {}})
    path.chmod(0o640)
    connect(CURSOR, places)
    if sys.platform != "win32":
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        assert stat.S_IMODE(path.with_name("mcp.json.before-commonplace").stat().st_mode) == 0o640
        assert stat.S_IMODE(path.with_name("hooks.json").stat().st_mode) == 0o600


def test_the_copy_is_made_once(places: Locations) -> None:
    path = write(places.home / ".cursor" / "mcp.json", {"mcpServers": {}})
    first = path.read_bytes()
    connect(CURSOR, places)
    connect(CURSOR, places, wanted(profile="all"))
    assert path.with_name("mcp.json.before-commonplace").read_bytes() == first
    assert sorted(tree(places.home)) == [
        ".cursor/hooks.json",
        ".cursor/mcp.json",
        ".cursor/mcp.json.before-commonplace",
    ]


def test_a_file_that_changes_under_us_is_not_overwritten(places: Locations) -> None:
    path = write(places.home / ".cursor" / "mcp.json", {"mcpServers": {}})
    planned = plan_connection(CURSOR, places, wanted())
    write(path, {"mcpServers": {"new": {}}})
    before = tree(places.home)
    with pytest.raises(Conflict, match="just changed by something else"):
        apply_plan(planned, places)
    assert tree(places.home) == before


def test_all_files_are_written_or_none(places: Locations) -> None:
    write(places.home / ".claude.json", {"projects": {}})
    planned = plan_connection(CLAUDE, places, wanted())
    # A file where the folder of the settings should come to be.
    write(places.home / ".claude", "in the way")
    before = tree(places.home)
    with pytest.raises(CommonplaceError):
        apply_plan(planned, places)
    assert tree(places.home) == before


def test_gemini_has_both_in_one_file_and_counts_milliseconds(places: Locations) -> None:
    path = write(places.home / ".gemini" / "settings.json", {"theme": "Dark"})
    planned = connect(GEMINI, places)
    assert [Path(change.path) for change in planned.files] == [path]
    value = read(path)
    assert list(value) == ["theme", "mcpServers", "hooks"]
    assert value["hooks"]["AfterTool"][0]["hooks"][0]["timeout"] == 10_000


def test_versions_are_there_where_hooks_need_them(places: Locations) -> None:
    write(places.home / ".cursor" / "hooks.json", {"hooks": {}})
    connect(CURSOR, places)
    connect(KIRO, places)
    assert read(places.home / ".cursor" / "hooks.json")["version"] == 1
    made = read(places.home / ".kiro" / "hooks" / "commonplace.json")
    assert made["version"] == "v1" and [hook["trigger"] for hook in made["hooks"]] == list(planned_events(KIRO))


def planned_events(editor: Any) -> tuple[str, ...]:
    assert editor.hooks is not None
    return tuple(editor.hooks.events)


def test_windsurf_is_told_what_to_run_in_powershell(tmp_path: Path) -> None:
    places = Locations(tmp_path, "win32")
    connect(editor_named("windsurf"), places, wanted("win32"))
    hooks = read(tmp_path / ".codeium" / "windsurf" / "hooks.json")["hooks"]
    assert hooks["post_write_code"][0]["powershell"].startswith("& C:\\tools\\commonplace.exe hook windsurf")
    assert "command" not in hooks["post_write_code"][0]
