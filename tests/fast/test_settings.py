"""The fast program reads in the settings what the whole program reads in them."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.fast.settings import (
    CONFIG_VARIABLE,
    config_path,
    is_remote_store,
    may_start_resident,
    profile_to_serve,
    read_config,
)

LINES = st.sampled_from(
    [
        *(
            'profile = "core"',
            "profile='kiro'  # a comment",
            'profile = "co\\u0072e"',
            '"profile" = "core"',
            "port = 8765",
        ),
        *('resident = "off"', 'resident="on"', '# resident = "off"', "resident = false", "", "  ", "rate_limit = 1e3"),
        *("# pasted\u2028[see the wiki]", '# a\u2029resident = "off"', "# b\u0085[tokens]"),
        *('database_url = "postgresql://me:a#b=c@h/d"', "database_url = ''", 'author = """me\nresident = "off"\n"""'),
        *("space = '''x'''", "[tokens]", "mcpMaxResponse = 600", 'project = "a" "b"', "backup_daily = [1, 2]"),
        *('user_profile = "off"', "\tembedder = 'off'", "when = 2025-01-01", "no value", "= 3", "hooks.recall = 'off'"),
    ]
)
WANTED = ("profile", "resident", "database_url")


def texts(config: dict[str, object]) -> dict[str, object]:
    """The settings that the fast program needs, as far as they are texts."""
    return {name: config[name] for name in WANTED if isinstance(config.get(name), str)}


@given(st.lists(LINES, max_size=6))
def test_what_is_read_of_a_file_is_what_toml_says(tmp_path_factory: pytest.TempPathFactory, lines: list[str]) -> None:
    data = tmp_path_factory.getbasetemp()
    (data / "config.toml").write_text("\n".join(lines), encoding="utf-8")
    try:
        wanted = texts(tomllib.loads("\n".join(lines)))
    except ValueError:
        # The whole program says what is wrong; nothing has to be understood.
        return
    assert texts(read_config(str(data), {})) == wanted


def test_plain_lines_are_read_without_the_reader_of_toml(tmp_path: Path) -> None:
    lines = ("# mine", 'profile = "core"', "port = 1", "", "[tokens]", "mcpMaxResponse = 600")
    (tmp_path / "config.toml").write_text("\n".join(lines), encoding="utf-8")
    script = (
        "import sys; from commonplace.fast.settings import profile_to_serve;"
        f"print(profile_to_serve({str(tmp_path)!r}, '', {{}}), 'tomllib' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "core False\n"


def test_the_environment_decides_before_the_file(tmp_path: Path) -> None:
    data = str(tmp_path)
    (tmp_path / "config.toml").write_text('resident = "off"\ndatabase_url = "postgresql://h/d"\n', encoding="utf-8")
    assert not may_start_resident(data, {}) and is_remote_store(data, {})
    assert may_start_resident(data, {"COMMONPLACE_RESIDENT": "on"})
    assert profile_to_serve(data, "", {}) is None
    assert profile_to_serve(data, "kiro", {"COMMONPLACE_RESIDENT": "on", "COMMONPLACE_PROFILE": "core"}) == "kiro"
    assert not is_remote_store(str(tmp_path / "other"), {})


@pytest.mark.parametrize("content", [b"\xff", b"profile = core", b"profile = [", b"a = " + b"[" * 100_000])
def test_a_damaged_file_is_left_to_the_command_line(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "config.toml").write_bytes(content)
    assert profile_to_serve(str(tmp_path), "", {}) is None
    assert not is_remote_store(str(tmp_path), {}) and may_start_resident(str(tmp_path), {})


def test_a_file_is_named_as_people_write_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    (tmp_path / "mine.toml").write_text('profile = "core"\n', encoding="utf-8")
    env = {CONFIG_VARIABLE: "~/mine.toml"}
    assert Path(config_path("/data", env)) == tmp_path / "mine.toml"
    assert profile_to_serve("/data", "", env) == "core"
