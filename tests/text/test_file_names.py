"""Titles as names of files, on every operating system."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.text.paths import file_name_key, safe_file_name


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Rate limiting", "Rate limiting"),
        ("日本語 の 会話", "日本語 の 会話"),
        ('a/b\\c: <d>|e? * "f"', "a b c d e f"),
        ("../../etc/passwd", "etc passwd"),
        (".hidden", "hidden"),
        ("-rf", "rf"),
        ("ends with dots. . .", "ends with dots"),
        ("CON", "_CON"),
        ("nul.txt", "_nul.txt"),
        ("com¹", "_com¹"),
        ("console", "console"),
        ("...", "_"),
        ("", "_"),
        ("line\nbreak\x1b[31m", "line break [31m"),
    ],
)
def test_titles_become_names(title: str, name: str) -> None:
    assert safe_file_name(title) == name


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_every_title_becomes_a_name_that_can_be_used(title: str) -> None:
    name = safe_file_name(title)
    assert name and len(name.encode()) <= 161
    assert not re.search(r'[<>:"/\\|?*\x00-\x1f]', name)
    assert name[0] not in " .-" and name[-1] not in " ."
    assert Path(f"{name}.md").name == f"{name}.md"


@given(st.text())
def test_what_some_file_system_takes_for_one_is_known(name: str) -> None:
    assert file_name_key(name) == file_name_key(file_name_key(name))
    assert file_name_key("ÉCOLE") == file_name_key("e\u0301cole")
