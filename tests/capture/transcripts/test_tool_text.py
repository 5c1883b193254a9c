"""Calls and results as text: cut in the middle, with their files, commands and errors."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.hosts.tool_text import MAX_TEXT, call_block, command_of, cut_middle, files_of, result_block, text_of

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)


def test_a_long_result_keeps_its_head_and_tail_and_says_what_is_missing() -> None:
    text = "head" + "x" * 100_000 + "tail"
    shortened = result_block("Bash", "t", text).text
    assert shortened.startswith("head") and shortened.endswith("tail")
    assert "[... 80,008 characters cut ...]" in shortened and len(shortened) < MAX_TEXT + 100


@pytest.mark.parametrize("before", [0, 5_000, 30_000, 100_000])
@pytest.mark.parametrize("size", [3_000, 30_000, 300_000])
def test_nothing_private_is_cut_loose_from_its_marks(before: int, size: int) -> None:
    text = "a " * (before // 2) + "<private>" + "diary " * (size // 6) + "</private>" + " b" * 15_000
    shortened = cut_middle(text)
    assert "diary" not in shortened and shortened.endswith(" b") and len(shortened) < MAX_TEXT + 100
    assert "diary" not in cut_middle(text.removesuffix(" b" * 15_000).removesuffix("</private>"))


@given(st.text(max_size=200), st.integers(2, 50))
def test_what_is_cut_adds_up(text: str, limit: int) -> None:
    shortened = cut_middle(text, limit)
    clean = text.replace("\0", "\ufffd")
    if len(text) <= limit:
        assert shortened == clean
    else:
        half = limit // 2
        assert shortened == f"{clean[:half]}\n[... {len(text) - 2 * half:,} characters cut ...]\n{clean[-half:]}"


@pytest.mark.parametrize(
    ("given", "files"),
    [
        ({"file_path": "a.py"}, ("a.py",)),
        ({"notebook_path": "n.ipynb", "cell": 1}, ("n.ipynb",)),
        ({"paths": ["a.py", "b.py", "a.py", 3]}, ("a.py", "b.py")),
        ({"files": [{"path": "a.py"}, {"path": "b.py"}]}, ("a.py", "b.py")),
        ({"edits": [{"file_path": "a.py", "old": "x"}]}, ("a.py",)),
        ({"patch": "*** Add File: new one.py\n*** Move to: moved.py\n"}, ("new one.py", "moved.py")),
        ({"command": ["apply_patch", "*** Begin Patch\n*** Delete File: a.py\n"]}, ("a.py",)),
        ({"diff": "--- a/x.py\n+++ b/x.py\n@@\n+++ /dev/null\n"}, ("x.py",)),
        ("*** Update File: a.py\r\n", ("a.py",)),
        ({"path": {"odd": 1}, "file": None}, ()),
        ({"path": "x" * 2000}, ()),
        (None, ()),
    ],
)
def test_files_are_found_in_arguments_and_patches(given: Any, files: tuple[str, ...]) -> None:
    assert files_of(given) == files


@pytest.mark.parametrize(
    ("given", "command"),
    [
        ({"command": "ls -l"}, "ls -l"),
        ({"cmd": "ls"}, "ls"),
        ({"command": ["/bin/bash", "-lc", "make && ls"]}, "make && ls"),
        ({"command": ["cmd.exe", "/c", "dir"]}, "dir"),
        ({"command": ["git", "log", "-1"]}, "git log -1"),
        ({"command": 3}, ""),
        ({"query": "x"}, ""),
        ("ls", ""),
    ],
)
def test_commands_are_told_however_they_are_passed(given: Any, command: str) -> None:
    assert command_of(given) == command


@pytest.mark.parametrize(
    ("text", "failed", "error"),
    [
        ("all good", False, ""),
        ("Error: nothing failed here really", False, ""),
        ("Traceback\n  File x\nValueError: bad\n\n", True, "ValueError: bad"),
        ("one\ntwo", True, "one\ntwo"),
        ("Exit code 1\nmake: *** no rule, failed", False, "make: *** no rule, failed"),
        ("output\nexit code: 0", False, ""),
        ("x" * 400 + "\nExit code 1\n" + "y" * 400, False, ""),
    ],
)
def test_errors_are_the_last_meaningful_lines_of_what_failed(text: str, failed: bool, error: str) -> None:
    assert result_block("Bash", "t", text, failed).error == error


@given(JSON)
def test_anything_becomes_text(value: Any) -> None:
    assert isinstance(text_of(value), str)
    made = call_block("tool", "t", value)
    result = result_block("tool", "t", value)
    assert (made.text + result.text).encode() is not None
