"""What is stored cannot take over a terminal; what is shown suits a terminal or a pipe."""

from __future__ import annotations

import contextlib
import re
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.cli.terminal import one_line, plain
from commonplace.errors import InvalidInput
from commonplace.text.dates import iso_time, parse_time, time_ago

from .conftest import Run

HOSTILE = "\x1b[31mred\x1b[0m \x1b]0;title\x07\x1b]8;;http://x\x1b\\link\x9b2J \x08\x7f bell\x07 \u202eesrever"
needs_terminal = pytest.mark.skipif(sys.platform == "win32", reason="pseudo terminals")


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_nothing_a_terminal_would_obey_is_left(text: str) -> None:
    shown = plain(text + HOSTILE)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]", shown)
    assert "\n" not in one_line(text) and "\t" not in one_line(text)
    shown.encode("utf-8")


def test_text_without_control_characters_stays_as_it_is() -> None:
    text = "naïve café 日本語 👩‍👩‍👧 [bold]not markup[/bold] :smile:\n\tindented"
    assert plain(text) == text
    assert plain("\x1b[31mred\x1b[0m\r\nnext") == "red\nnext"


@pytest.mark.parametrize("arguments", [("show", "1"), ("list",), ("search", "bell"), ("context", "p"), ("forget", "1")])
def test_hostile_text_is_shown_harmless(run: Run, arguments: tuple[str, ...]) -> None:
    run("add", "-", "--title", f"A {HOSTILE}", "--project", "p", "--type", "decision", stdin=HOSTILE)
    done = run(*arguments)
    assert done.code == 0 and "red" in done.out
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", done.out + done.err)


def test_a_piped_row_is_one_line_with_whole_cells(run: Run) -> None:
    title = "A title " + "that is long " * 30
    run("add", "x\ty\nz", "--title", title.strip(), "--project", "github.com/acme/my-api")
    header, row = run("list").out.splitlines()
    cells = dict(zip(header.split("\t"), row.split("\t"), strict=True))
    assert cells["title"] == title.strip() and cells["project"] == "github.com/acme/my-api"
    assert cells["when"].endswith("Z")


@needs_terminal
def test_a_terminal_gets_colour_and_a_table(spawn_in_terminal: Run, run: Run) -> None:
    run(
        "add", "[red]Not markup[/red] :smile: \x1b[5mblink", "--project", "github.com/acme/my-api", "--type", "decision"
    )
    run("add", "A long text " * 50)
    done = spawn_in_terminal("list", NO_COLOR="", TERM="xterm-256color")
    assert "\x1b[" in done.out and "\x1b[5m" not in done.out
    assert "[red]Not markup[/red] :smile:" in done.out and "…" in done.out
    assert re.search(r"mnow |m\d+ (s|min)", done.out)
    bare = spawn_in_terminal("list", NO_COLOR="1", TERM="xterm-256color")
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]m", bare.out)
    assert all(len(line.rstrip()) <= 80 for line in re.sub(r"\x1b\[[0-9;]*m", "", bare.out).splitlines())


@needs_terminal
def test_errors_are_coloured_for_a_terminal(spawn_in_terminal: Run) -> None:
    assert "\x1b[31m" in spawn_in_terminal("show", "1", NO_COLOR="").out
    assert "\x1b" not in spawn_in_terminal("show", "1", NO_COLOR="1").out


def test_output_is_utf8_whatever_the_locale(spawn: Run) -> None:
    ascii_only = {"PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    assert spawn("add", "-", stdin="日本語 ✓", **ascii_only).code == 0
    assert "日本語 ✓" in spawn("list", **ascii_only).out
    assert "日本語 ✓" in spawn("list", "--json", **ascii_only).out


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("2025-03-15T14:30:00Z", 1_742_049_000_000),
        ("2025-03-15T15:30:00.250+01:00", 1_742_049_000_250),
        ("2025-03-15 14:30", 1_742_049_000_000),
        ("20250315T143000", 1_742_049_000_000),
        ("2025-03-15", 1_741_996_800_000),
        ("1742049000000", 1_742_049_000_000),
        ("1969-12-31T23:59:59.999Z", -1),
        ("0001-01-01T00:00:00Z", -62_135_596_800_000),
    ],
)
def test_times_as_people_write_them(text: str, ms: int) -> None:
    assert parse_time(text, local=False) == ms


def test_a_time_without_an_offset_is_local_when_typed() -> None:
    local = time.mktime((2025, 3, 15, 14, 30, 0, 0, 0, -1))
    assert parse_time("2025-03-15T14:30", local=True) == int(local) * 1000


@given(st.text(max_size=40))
def test_no_text_breaks_the_clock(text: str) -> None:
    for local in (True, False):
        with contextlib.suppress(InvalidInput):
            assert isinstance(parse_time(text, local=local), int)


def test_how_long_ago() -> None:
    now = 1_742_049_000_000
    spans = {0: "now", 30: "30 s ago", 90: "1 min ago", 7_300: "2 h ago", 200_000: "2 d ago", 30 * 86_400: "2025-02-13"}
    assert {seconds: time_ago(now - seconds * 1000, now) for seconds in spans} == spans
    assert time_ago(now + 60_000, now) == "2025-03-15"
    assert [iso_time(ms) for ms in (now + 7, -62_135_596_800_000)] == [
        "2025-03-15T14:30:00.007Z",
        "0001-01-01T00:00:00.000Z",
    ]


@needs_terminal
def test_a_narrow_terminal_keeps_titles_and_leaves_out_lesser_columns(spawn_in_terminal: Run, run: Run) -> None:
    run("add", "Sessions live in Redis for 30 days", "-p", "github.com/acme/my-api", "-t", "decision")
    narrow = spawn_in_terminal("list", NO_COLOR="1", COLUMNS="44").out
    assert "Sessions live in" in narrow and "kind" not in narrow and "when" not in narrow
    wide = spawn_in_terminal("list", NO_COLOR="1", COLUMNS="160").out
    assert "Sessions live in Redis for 30 days" in wide and "kind" in wide and "when" in wide


@needs_terminal
def test_notes_and_errors_break_between_words(spawn_in_terminal: Run, run: Run) -> None:
    shown = spawn_in_terminal("list", "-p", "nowhere", NO_COLOR="1", COLUMNS="50").out.split("\r\n")
    assert shown[:3] == [
        "error: There is no project 'nowhere'.",
        "hint: `commonplace projects` lists those that are",
        "known.",
    ]
    piped = run("list", "-p", "nowhere").err
    assert piped.endswith("hint: `commonplace projects` lists those that are known.\n")


@needs_terminal
def test_the_help_suits_the_terminal(spawn_in_terminal: Run) -> None:
    for columns, most in (("80", 80), ("160", 100)):
        plain_help = spawn_in_terminal("--help", NO_COLOR="1", COLUMNS=columns).out
        assert "\x1b" not in plain_help and max(map(len, plain_help.splitlines())) <= most
    assert "\x1b[1mEveryday:\x1b[0m" in spawn_in_terminal("--help", NO_COLOR="", TERM="xterm-256color").out
