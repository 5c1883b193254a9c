"""Connecting and disconnecting again leaves every byte as it was, whatever the files looked like before."""

from __future__ import annotations

import json
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commonplace.hosts.connections import plan_connection, plan_disconnection, read_connection
from commonplace.hosts.host import Host, Locations, System, editor_named, editors
from commonplace.hosts.json_and_toml_edits import parse_json

from .conftest import SYSTEMS, connect, disconnect, tree, wanted
from .settings_files import files

WITH_JSON = [editor for editor in editors() if editor.mcp.format == "jsonc"]


def all_files(editor: Host, places: Locations) -> list[Path]:
    """The files that it shares with others; the hooks of Kiro and OpenCode have files of our own."""
    if editor.name in ("kiro", "opencode"):
        return [path for path in [editor.mcp.file(places)] if path]
    named = [editor.mcp.file(places), editor.hooks.file(places) if editor.hooks else None]
    return list(dict.fromkeys(path for path in named if path))


@settings(max_examples=60)
@given(st.sampled_from(WITH_JSON), st.data())
def test_every_byte_comes_back(editor: Host, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        places = Locations(Path(folder), "linux")
        for path in all_files(editor, places):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data.draw(files()))
        before = tree(places.home)
        assert connect(editor, places).state == "connected"
        assert plan_connection(editor, places, wanted()).state == "already connected"
        there = read_connection(editor, places)
        assert (
            there is not None and there.ours and len(there.hooks) == (len(editor.hooks.events) if editor.hooks else 0)
        )
        assert disconnect(editor, places).state == "disconnected"
        assert tree(places.home) == before


@settings(max_examples=60)
@given(st.sampled_from(WITH_JSON), st.data())
def test_without_the_copy_everything_else_still_stays(editor: Host, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        places = Locations(Path(folder), "linux")
        path = all_files(editor, places)[-1]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.draw(files()))
        before = path.read_bytes()
        connect(editor, places)
        Path(f"{path}.before-commonplace").unlink()
        disconnect(editor, places)
        # That a file has a version is true of what stays in it as well.
        version = editor.hooks.always if editor.hooks else {}
        assert {**version, **non_empty_content(path.read_bytes() if path.exists() else b"")} == {
            **version,
            **non_empty_content(before),
        }


def non_empty_content(data: bytes) -> dict[str, Any]:
    """What a file says, without lists and objects that hold nothing."""
    text = data.decode().removeprefix("\ufeff")
    value = parse_json(text).value if text.strip() else {}
    if isinstance(value.get("hooks"), dict):
        value["hooks"] = {event: items for event, items in value["hooks"].items() if items}
    return {key: inner for key, inner in value.items() if inner not in ({}, [])}


@pytest.mark.parametrize("editor", editors(), ids=lambda editor: editor.name)
@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("in_project", [False, True])
def test_where_nothing_was_nothing_stays(tmp_path: Path, editor: Host, system: System, in_project: bool) -> None:
    project = tmp_path / "work"
    project.mkdir()
    places = Locations(tmp_path / "home", system, {}, project if in_project else None)
    places.home.mkdir()
    if editor.mcp.file(places) is None:
        assert plan_disconnection(editor, places).state == "not connected"
        return
    assert read_connection(editor, places) is None
    connect(editor, places)
    there = read_connection(editor, places)
    assert there is not None and there.ours and there.args == ("mcp", "--profile", "core")
    assert {hook.event for hook in there.hooks} == set(editor.hooks.events if editor.hooks else ())
    made = tree(tmp_path)
    assert connect(editor, places).state == "already connected" and tree(tmp_path) == made
    disconnect(editor, places)
    assert tree(tmp_path) == {}


TOML = [
    "",
    "# mine\n",
    'model = "gpt-5" # the best\n',
    "[mcp_servers.other]\ncommand = 'x'",
    "[mcp_servers.other]\ncommand = 'x'\n\n[tui]\ntheme = 1\n",
    "mcp_servers = { other = { command = 'x' } }\n",
    "a = 1\r\n[mcp_servers.other]\r\ncommand = 'x'\r\n",
    "mcp_servers.other.command = 'x'\n[tui]\n\n\n",
    "[mcp_servers]\n",
    "[mcp_servers.a]\nx=1\n[tui]\ny=2\n[mcp_servers.b]\nz = [\n  1, # one\n]\n# end",
    "\ufeffa = 1\n",
]


@pytest.mark.parametrize("text", TOML)
def test_toml_comes_back_too(places: Locations, text: str) -> None:
    codex = editor_named("codex")
    path = codex.mcp.file(places)
    assert path is not None
    path.parent.mkdir(parents=True)
    path.write_bytes(text.encode())
    connect(codex, places)
    after = path.read_bytes()
    value = tomllib.loads(after.decode().removeprefix("\ufeff"))
    assert value["mcp_servers"]["commonplace"]["args"] == ["mcp", "--profile", "core"]
    if "= {" not in text:
        assert after.startswith(text.encode())
    assert connect(codex, places, wanted(profile="all")).state == "updated"
    assert connect(codex, places, wanted()).state == "updated" and path.read_bytes() == after
    assert connect(codex, places).state == "already connected"
    disconnect(codex, places)
    assert tree(places.home) == {".codex/config.toml": text.encode()}


@pytest.mark.parametrize("text", TOML)
def test_toml_without_the_copy_says_the_same(places: Locations, text: str) -> None:
    codex = editor_named("codex")
    path = codex.mcp.file(places)
    assert path is not None
    path.parent.mkdir(parents=True)
    path.write_bytes(text.encode())
    connect(codex, places)
    path.with_name("config.toml.before-commonplace").unlink()
    disconnect(codex, places)
    left = tomllib.loads(path.read_text(encoding="utf-8-sig")) if path.exists() else {}
    was = tomllib.loads(text.removeprefix("\ufeff"))
    assert {k: v for k, v in left.items() if v} == {k: v for k, v in was.items() if v}
    assert "# mine" in text or "# mine" not in (path.read_text(encoding="utf-8") if path.exists() else "")


def test_what_was_edited_meanwhile_stays_edited(places: Locations) -> None:
    cursor = editor_named("cursor")
    path = places.home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_text('{\n  "mcpServers": {}\n}\n', encoding="utf-8")
    connect(cursor, places)
    value = json.loads(path.read_text(encoding="utf-8"))
    value["mcpServers"] = {"new": {"command": "x"}, **value["mcpServers"]}
    path.write_text(json.dumps(value, indent=2), encoding="utf-8")
    disconnect(cursor, places)
    assert json.loads(path.read_text(encoding="utf-8")) == {"mcpServers": {"new": {"command": "x"}}}
    assert path.with_name("mcp.json.before-commonplace").exists()
    # Its time is over when we come again.
    now = path.read_bytes()
    connect(cursor, places)
    assert path.with_name("mcp.json.before-commonplace").read_bytes() == now
    disconnect(cursor, places)
    assert tree(places.home) == {".cursor/mcp.json": now}
