"""The plugin, the registry entry and the desktop bundle are what their readers want, and true of the program."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError  # type: ignore[import-untyped]

import commonplace
from commonplace.dialects.tool_profiles import CORE
from commonplace.hosts.host import editor_named
from commonplace.hosts.settings_file import is_our_hook_command

ROOT = Path(__file__).resolve().parent.parent.parent
SCHEMAS = Path(__file__).parent / "schemas"
BUNDLE = ROOT / "packaging" / "bundle"
# A manifest, its schema, and where it says its version.
MANIFESTS: tuple[tuple[str, str, tuple[tuple[str | int, ...], ...]], ...] = (
    ("plugin/.claude-plugin/plugin.json", "claude_plugin", (("version",),)),
    ("plugin/.codex-plugin/plugin.json", "codex_plugin", (("version",),)),
    ("plugin/.mcp.json", "mcp_servers", ()),
    ("plugin/hooks/hooks.json", "hooks", ()),
    ("plugin/hooks/codex.json", "hooks", ()),
    (".claude-plugin/marketplace.json", "claude_marketplace", (("plugins", 0, "version"),)),
    (".agents/plugins/marketplace.json", "codex_marketplace", ()),
    ("server.json", "server", (("version",), ("packages", 0, "version"))),
    ("packaging/bundle/manifest.json", "bundle", (("version",),)),
)


def read(path: str) -> Any:
    return json.loads((ROOT / path).read_text(encoding="utf-8"))


def validator(schema: str) -> Draft202012Validator:
    value = json.loads((SCHEMAS / f"{schema}.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(value)
    return Draft202012Validator(value)


@pytest.mark.parametrize(("path", "schema", "versions"), MANIFESTS, ids=[path for path, _schema, _at in MANIFESTS])
def test_a_manifest_is_valid_and_of_this_version(
    path: str, schema: str, versions: tuple[tuple[str | int, ...], ...]
) -> None:
    value = read(path)
    validator(schema).validate(value)
    for keys in versions:
        text = value
        for key in keys:
            text = text[key]
        assert text == commonplace.__version__


@pytest.mark.parametrize(("path", "schema", "_versions"), MANIFESTS, ids=[path for path, _schema, _at in MANIFESTS])
def test_the_schemas_can_refuse(path: str, schema: str, _versions: object) -> None:
    with pytest.raises(ValidationError):
        validator(schema).validate({})
    with pytest.raises(ValidationError):
        validator(schema).validate(read(path) | {"unheard-of": 1})


def test_all_manifests_speak_of_the_same_thing() -> None:
    names = {read(path)["name"] for path, _schema, _at in MANIFESTS if "name" in read(path)}
    assert names == {"commonplace", "io.github.commonplace-memory/commonplace"}
    assert f"mcp-name: {read('server.json')['name']}" in (ROOT / "README.md").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert read("server.json")["packages"][0]["identifier"] == project["name"]


def test_every_path_in_the_plugin_leads_to_something() -> None:
    codex = read("plugin/.codex-plugin/plugin.json")
    for key in ("skills", "mcpServers", "hooks"):
        assert (ROOT / "plugin" / codex[key]).exists()
    assert (ROOT / read(".claude-plugin/marketplace.json")["plugins"][0]["source"] / ".claude-plugin").is_dir()
    path = read(".agents/plugins/marketplace.json")["plugins"][0]["source"]["path"]
    assert (ROOT / path / ".codex-plugin").is_dir()


@pytest.mark.parametrize(("file", "name"), [("hooks", "claude-code"), ("codex", "codex")])
def test_the_plugin_has_the_hooks_that_connect_writes(file: str, name: str) -> None:
    hooks = editor_named(name).hooks
    assert hooks is not None
    written = read(f"plugin/hooks/{file}.json")["hooks"]
    assert written == {event: [hooks.entry(event, f"commonplace hook {name} {event}")] for event in hooks.events}
    for groups in written.values():
        assert is_our_hook_command(groups[0]["hooks"][0]["command"])


def test_the_skill_says_when_to_use_it_and_names_real_tools() -> None:
    text = (ROOT / "plugin" / "skills" / "commonplace" / "SKILL.md").read_text(encoding="utf-8")
    front = text.split("---\n")[1]
    fields = dict(line.split(": ", 1) for line in front.splitlines())
    assert fields["name"] == "commonplace" and 50 < len(fields["description"]) <= 1024
    tools = set(re.findall(r"`([a-z_]+)`", text)) - {"commonplace"}
    assert tools == set(CORE)


def test_the_bundle_lists_the_tools_and_starts_the_server(tmp_path: Path) -> None:
    manifest = read("packaging/bundle/manifest.json")
    assert [tool["name"] for tool in manifest["tools"]] == list(CORE)
    project = tomllib.loads((BUNDLE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == commonplace.__version__
    assert project["dependencies"] == [f"commonplace=={commonplace.__version__}"]
    hello = {
        "jsonrpc": "2.0",
        "id": 0,
        "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    }
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    ask = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    done = subprocess.run(
        [sys.executable, manifest["server"]["entry_point"]],
        cwd=BUNDLE,
        input="".join(json.dumps(line) + "\n" for line in (hello, ready, ask)),
        env={**os.environ, "COMMONPLACE_DATA_DIR": str(tmp_path), "COMMONPLACE_EMBEDDER": "off"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    replies = [json.loads(line) for line in done.stdout.splitlines()]
    tools = next(reply["result"]["tools"] for reply in replies if reply.get("id") == 1)
    assert sorted(tool["name"] for tool in tools) == sorted(CORE)
