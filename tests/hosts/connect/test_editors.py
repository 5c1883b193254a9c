"""Each editor is looked for, and written to, where it really reads, on each system."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from commonplace.errors import InvalidInput
from commonplace.hosts.connections import installed_editors, is_installed
from commonplace.hosts.host import (
    EDITOR_NAMES,
    Locations,
    System,
    editor_named,
    editors,
    editors_named,
    locations_here,
)

HOOKED = ("claude-code", "codex", "gemini", "cursor", "kiro", "windsurf", "opencode")
MAC = "Library/Application Support"
CLINE = "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"
# From the home: on Linux, macOS and Windows; then from a project.
FILES: dict[str, tuple[str, str, str, str | None]] = {
    "claude-code": (".claude.json", ".claude.json", ".claude.json", ".mcp.json"),
    "claude-desktop": (
        ".config/Claude/claude_desktop_config.json",
        f"{MAC}/Claude/claude_desktop_config.json",
        "AppData/Roaming/Claude/claude_desktop_config.json",
        None,
    ),
    "cursor": (".cursor/mcp.json", ".cursor/mcp.json", ".cursor/mcp.json", ".cursor/mcp.json"),
    "windsurf": (*(".codeium/windsurf/mcp_config.json",) * 3, None),
    "vscode": (
        ".config/Code/User/mcp.json",
        f"{MAC}/Code/User/mcp.json",
        "AppData/Roaming/Code/User/mcp.json",
        ".vscode/mcp.json",
    ),
    "cline": (f".config/{CLINE}", f"{MAC}/{CLINE}", f"AppData/Roaming/{CLINE}", None),
    "kiro": (*(".kiro/settings/mcp.json",) * 3, ".kiro/settings/mcp.json"),
    "codex": (*(".codex/config.toml",) * 3, ".codex/config.toml"),
    "gemini": (*(".gemini/settings.json",) * 3, ".gemini/settings.json"),
    "opencode": (*(".config/opencode/opencode.json",) * 3, "opencode.json"),
    "zed": (
        ".config/zed/settings.json",
        ".config/zed/settings.json",
        "AppData/Roaming/Zed/settings.json",
        ".zed/settings.json",
    ),
}
HOOK_FILES: dict[str, tuple[str, str | None]] = {
    "claude-code": (".claude/settings.json", ".claude/settings.local.json"),
    "cursor": (".cursor/hooks.json", ".cursor/hooks.json"),
    "windsurf": (".codeium/windsurf/hooks.json", None),
    "kiro": (".kiro/hooks/commonplace.json", ".kiro/hooks/commonplace.json"),
    "codex": (".codex/hooks.json", ".codex/hooks.json"),
    "gemini": (".gemini/settings.json", ".gemini/settings.json"),
    "opencode": (".config/opencode/plugins/commonplace.js", ".opencode/plugins/commonplace.js"),
}


def under(top: Path, path: Path | None) -> str | None:
    return None if path is None else path.relative_to(top).as_posix()


@pytest.mark.parametrize("name", EDITOR_NAMES)
def test_files_are_where_each_system_has_them(tmp_path: Path, name: str) -> None:
    editor = editor_named(name)
    systems: tuple[System, ...] = ("linux", "darwin", "win32")
    for system, expected in zip(systems, FILES[name], strict=False):
        assert under(tmp_path, editor.mcp.file(Locations(tmp_path, system))) == expected
        in_project = editor.mcp.file(Locations(tmp_path / "home", system, {}, tmp_path / "work"))
        assert under(tmp_path / "work", in_project) == FILES[name][3]
        if editor.hooks:
            assert under(tmp_path, editor.hooks.file(Locations(tmp_path, system))) == HOOK_FILES[name][0]
            hooks = editor.hooks.file(Locations(tmp_path / "home", system, {}, tmp_path / "work"))
            assert under(tmp_path / "work", hooks) == HOOK_FILES[name][1]


def test_the_hooks_that_are_written_are_those_that_are_understood() -> None:
    assert {editor.name for editor in editors() if editor.hooks} == set(HOOKED)
    assert set(HOOK_FILES) == set(HOOKED) and set(FILES) == set(EDITOR_NAMES)


@pytest.mark.parametrize(
    ("variable", "name", "expected"),
    [
        ("CODEX_HOME", "codex", "config.toml"),
        ("CLAUDE_CONFIG_DIR", "claude-code", ".claude.json"),
        ("XDG_CONFIG_HOME", "zed", "zed/settings.json"),
        ("XDG_CONFIG_HOME", "opencode", "opencode/opencode.json"),
        ("XDG_CONFIG_HOME", "vscode", "Code/User/mcp.json"),
    ],
)
def test_a_folder_that_a_variable_names_counts(tmp_path: Path, variable: str, name: str, expected: str) -> None:
    places = Locations(tmp_path / "home", "linux", {variable: str(tmp_path / "else")})
    assert editor_named(name).mcp.file(places) == tmp_path / "else" / expected
    relative = Locations(tmp_path, "linux", {variable: "else"})
    assert editor_named(name).mcp.file(relative) == editor_named(name).mcp.file(Locations(tmp_path, "linux"))


def test_the_roaming_folder_of_windows_may_be_elsewhere(tmp_path: Path) -> None:
    places = Locations(tmp_path / "home", "win32", {"APPDATA": str(tmp_path / "roaming")})
    assert editor_named("zed").mcp.file(places) == tmp_path / "roaming" / "Zed" / "settings.json"


def test_comments_of_opencode_stay_in_the_file_that_has_them(tmp_path: Path) -> None:
    commented = tmp_path / ".config" / "opencode" / "opencode.jsonc"
    commented.parent.mkdir(parents=True)
    commented.write_text("{}", encoding="utf-8")
    assert editor_named("opencode").mcp.file(Locations(tmp_path, "linux")) == commented


@pytest.mark.parametrize("name", EDITOR_NAMES)
def test_an_editor_is_found_by_its_folder(tmp_path: Path, name: str) -> None:
    places = Locations(tmp_path, "linux")
    assert installed_editors(places) == []
    editor = editor_named(name)
    editor.mcp.signs(places)[0].mkdir(parents=True)
    # Where Cline is, VS Code is.
    assert [one.name for one in installed_editors(places)] == (["vscode", "cline"] if name == "cline" else [name])


def test_an_editor_is_found_by_its_command(tmp_path: Path) -> None:
    program = tmp_path / "bin" / ("codex.exe" if sys.platform == "win32" else "codex")
    program.parent.mkdir()
    program.touch(0o755)
    assert is_installed(editor_named("codex"), Locations(tmp_path, "linux", {"PATH": str(program.parent)}))
    assert not is_installed(editor_named("gemini"), Locations(tmp_path, "linux", {"PATH": str(program.parent)}))


def test_only_what_reads_a_project_is_found_for_one(tmp_path: Path) -> None:
    (tmp_path / ".codeium" / "windsurf").mkdir(parents=True)
    (tmp_path / ".cursor").mkdir()
    assert [editor.name for editor in installed_editors(Locations(tmp_path, "linux", {}, tmp_path / "work"))] == [
        "cursor"
    ]


def test_names_are_told_if_one_is_unknown() -> None:
    assert [editor.name for editor in editors_named(["zed", "cursor", "zed"])] == ["cursor", "zed"]
    with pytest.raises(InvalidInput, match="There is no editor 'emacs'") as caught:
        editors_named(["emacs"])
    assert "claude-code" in caught.value.hint


def test_the_places_here_are_those_of_whoever_asks(home: Path) -> None:
    assert locations_here().home == home and locations_here(home / "work").top == home / "work"
