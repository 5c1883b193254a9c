"""The command line of a hook is taken apart by the editor's shell as it was meant, and known again as ours."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.hosts.host import Shell
from commonplace.hosts.settings_file import event_of_command, hook_command, is_our_hook_command

WORDS = st.text(st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp")), min_size=1, max_size=12)


@given(WORDS, st.none() | WORDS)
def test_a_shell_takes_it_apart_as_it_was_meant(folder: str, data_dir: str | None) -> None:
    line = hook_command((f"/opt/{folder}/commonplace",), "cursor", "stop", data_dir, "linux", "cmd")
    place = ["--data-dir", data_dir] if data_dir else []
    assert shlex.split(line) == [f"/opt/{folder}/commonplace", "hook", *place, "cursor", "stop"]
    assert is_our_hook_command(line) and event_of_command(line) == "stop"


def test_a_real_shell_runs_it(tmp_path: Path) -> None:
    program = tmp_path / "it's my $tools" / "commonplace"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\nprintf "%s|" "$@"\ncat\n', encoding="utf-8")
    program.chmod(0o755)
    if sys.platform == "win32":
        return
    line = hook_command((str(program),), "claude-code", "Stop", "/data of mine", "linux", "cmd")
    done = subprocess.run(["/bin/sh", "-c", line], input=b"{}", capture_output=True, check=True, timeout=60)
    assert done.stdout == b"hook|--data-dir|/data of mine|claude-code|Stop|{}"


PLAIN, SPACED, QUOTED = r"C:\tools\commonplace.exe", r"C:\My Tools\commonplace.exe", r"C:\it's\commonplace.exe"


@pytest.mark.parametrize(
    ("windows", "program", "line"),
    [
        ("cmd", PLAIN, r"C:\tools\commonplace.exe hook kiro Stop"),
        ("cmd", SPACED, r'"C:\My Tools\commonplace.exe" hook kiro Stop'),
        ("powershell", PLAIN, r"& C:\tools\commonplace.exe hook kiro Stop"),
        ("powershell", SPACED, r"& 'C:\My Tools\commonplace.exe' hook kiro Stop"),
        ("powershell", QUOTED, r"& 'C:\it''s\commonplace.exe' hook kiro Stop"),
        ("bash or powershell", PLAIN, "C:/tools/commonplace.exe hook kiro Stop"),
        ("bash or powershell", SPACED, "& 'C:/My Tools/commonplace.exe' hook kiro Stop"),
    ],
)
def test_on_windows_it_is_quoted_for_the_shell_of_the_editor(windows: Shell, program: str, line: str) -> None:
    assert hook_command((program,), "kiro", "Stop", None, "win32", windows) == line
    assert is_our_hook_command(line) and event_of_command(line) == "Stop"
    with_folder = hook_command((program,), "kiro", "Stop", r"D:\my data", "win32", windows)
    assert "my data" in with_folder and is_our_hook_command(with_folder) and event_of_command(with_folder) == "Stop"


@pytest.mark.parametrize(
    "line",
    [
        "commonplace hook codex Stop",
        "/usr/bin/commonplace hook claude-code SessionStart",
        "/usr/bin/python3 -m commonplace hook gemini AfterTool",
        '"C:\\Program Files\\commonplace.exe" hook cursor afterFileEdit',
    ],
)
def test_ours_are_known_whatever_version_wrote_them(line: str) -> None:
    assert is_our_hook_command(line)


@pytest.mark.parametrize(
    "line",
    ["", "lint", "commonplace status", "notcommonplace hook codex Stop", "echo commonplace", "commonplace hooks a b"],
)
def test_others_are_not_ours(line: str) -> None:
    assert not is_our_hook_command(line) and event_of_command(line) == ""
