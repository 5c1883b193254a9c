"""What goes wrong is told in one clear line, with a hint and an exit code that means something."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from tests.polling import until

from commonplace import errors
from commonplace.cli.command import Call, report_failure
from commonplace.memory.search_candidates import MAX_QUERY

from .conftest import Run

WRONG = [
    ("add", ""),
    ("add", "x", "--kind", "dream"),
    ("add", "x", "--at", "yesterday"),
    ("add", "x", "--at", "1742043000"),
    ("add", "x", "--at", "9" * 15),
    ("add", "x", "--importance", "11"),
    ("add", "x", "--importance", "high"),
    ("add", "x", "--field", "no equals sign"),
    ("add", "x", "--field", "colour=red"),
    ("add", "x", "--kind", "summary", "--narrative", "a summary has none"),
    ("add", "x", "--type", "!!"),
    ("add", "x", "--title", "t" * 501),
    ("add", "x", "--project", ""),
    ("add", "x", "--project", "p", "--global"),
    ("add", "x", "--jsonl", "-"),
    ("add", "--jsonl", "missing.jsonl"),
    ("add", "x", "--tag", ""),
    ("search", ""),
    ("search", "   "),
    ("search",),
    ("search", "x", "--limit", "0"),
    ("search", "x", "--limit", "-1"),
    ("search", "x", "--limit", "ten"),
    ("search", "x", "--kind", "dream"),
    ("context", ""),
    ("context", "p", "--budget", "0"),
    ("timeline", "1", "--before", "51"),
    ("show",),
    ("edit", "1"),
    ("list", "--cursor", "bad cursor"),
    ("list", "--limit", "1001"),
    ("forget",),
    ("serve", "--port", "65536"),
    ("mcp", "--profile", "none"),
    ("status", "--data-dir", ""),
    ("status", "--colour"),
    ("remember", "x"),
    ("projects", "rename", "a", "b"),
]


@pytest.mark.parametrize("arguments", WRONG, ids=lambda a: " ".join(a)[:40])
def test_wrong_use_is_exit_code_2(run: Run, arguments: tuple[str, ...]) -> None:
    run("add", "something to be there")
    people = run(*arguments)
    assert people.code == 2 and people.out == ""
    assert people.err.startswith("error: ") and "\nhint: " in people.err and "Traceback" not in people.err
    program = run(*arguments, "--json")
    assert program.code == 2
    output = program.err if arguments[0] == "mcp" else program.out
    assert '"code": "VALIDATION_ERROR"' in output or '"code": "TOO_LARGE"' in output
    assert '"message"' in output and '"suggestion"' in output


@pytest.mark.parametrize(
    "arguments",
    [
        ("show", "99"),
        ("show", "ffffffffffff"),
        ("show", "00000000-0000-7000-8000-000000000000"),
        ("timeline", "99"),
        ("edit", "99", "--title", "x"),
        ("forget", "99"),
        ("restore", "99"),
        ("history", "99"),
        ("show", "9" * 18),
        ("projects", "alias", "unheard-of", "x"),
    ],
    ids=" ".join,
)
def test_what_is_not_there_is_exit_code_3(run: Run, arguments: tuple[str, ...]) -> None:
    assert run(*arguments).code == 3
    done = run(*arguments, "--json")
    assert done.code == 3 and done.error["code"] == "NOT_FOUND" and done.error["suggestion"]


def test_a_lost_race_is_exit_code_4(run: Run) -> None:
    run("add", "First")
    assert run("edit", "1", "--title", "Second", "--expect-rev", "1").code == 0
    done = run("edit", "1", "--title", "Third", "--expect-rev", "1", "--json")
    assert done.code == 4 and done.error["code"] == "CONFLICT"
    run("add", "x", "--project", "one")
    run("add", "x", "--project", "two")
    assert run("projects", "alias", "one", "two").code == 4


def test_an_unknown_command_suggests_the_known_one(run: Run) -> None:
    assert "Did you mean 'search'" in run("serach", "x").err


@pytest.mark.no_store
def test_a_file_in_place_of_the_data_folder(run: Run, data_dir: Path) -> None:
    data_dir.write_text("not a folder", encoding="utf-8")
    for arguments in (("add", "x"), ("search", "x"), ("status",), ("list",)):
        done = run(*arguments, "--json")
        assert done.code == 5 and done.error["code"] == "DB_READ_ONLY", arguments
    assert data_dir.read_text(encoding="utf-8") == "not a folder"


@pytest.mark.skipif(not Path("/proc/version").exists(), reason="needs a folder that nobody can write")
def test_a_folder_that_cannot_be_made(run: Run) -> None:
    done = run("add", "x", "--data-dir", "/proc/commonplace", "--json")
    assert done.code == 5 and done.error["code"] == "DB_READ_ONLY"


def test_a_store_of_a_newer_version_is_left_alone(run: Run, data_dir: Path) -> None:
    run("add", "Precious")
    connection = apsw.Connection(str(data_dir / "commonplace.db"))
    connection.pragma("user_version", 999)
    connection.close()
    before = (data_dir / "commonplace.db").read_bytes()
    for arguments in (("add", "x"), ("list",), ("status",)):
        done = run(*arguments, "--json")
        assert done.code == 5 and done.error["code"] == "DB_TOO_NEW"
    assert (data_dir / "commonplace.db").read_bytes() == before


@pytest.mark.no_store
def test_a_corrupt_file_is_left_alone(run: Run, data_dir: Path) -> None:
    data_dir.mkdir()
    noise = bytes(range(256)) * 64
    (data_dir / "commonplace.db").write_bytes(noise)
    for arguments in (("add", "x"), ("search", "x"), ("status",)):
        done = run(*arguments, "--json")
        assert done.code == 5 and done.error["code"] == "DB_CORRUPT"
        assert "backups" in done.error["suggestion"]
    assert (data_dir / "commonplace.db").read_bytes() == noise


@pytest.mark.no_store
def test_a_bad_configuration_names_the_setting(run: Run, data_dir: Path) -> None:
    data_dir.mkdir()
    (data_dir / "config.toml").write_text("colour = 'red'\n", encoding="utf-8")
    done = run("status")
    assert done.code == 2 and "colour" in done.err


def test_a_query_of_100000_characters(run: Run) -> None:
    run("add", "word")
    done = run("search", "-", "--json", stdin=("word " * 100_000)[:MAX_QUERY])
    assert done.code == 0 and done.data["results"][0]["id"] == 1
    longer = run("search", "-", "--json", stdin="word " * 20_000)
    assert longer.code == (2 if MAX_QUERY < 100_000 else 0)
    if longer.code:
        assert longer.error["code"] == "TOO_LARGE" and str(MAX_QUERY) in longer.error["message"]


def test_more_text_than_an_item_holds(run: Run) -> None:
    done = run("add", "-", "--json", stdin="x" * 1_000_001)
    assert done.code == 2 and done.error["code"] == "TOO_LARGE"


@pytest.mark.parametrize(
    "query", ['"', "((", "AND", "a AND", "NOT NOT", "title:", "*", "'; DROP TABLE items --", "a\tb\n"]
)
def test_no_query_is_a_syntax_error(run: Run, query: str) -> None:
    assert run("search", "--json", "--", query).code == 0


def test_nul_bytes_and_what_is_not_utf8(run: Run) -> None:
    assert run("add", "-", stdin=b"before\0after \xff\xfe end").code == 0
    assert run("show", "1", "--json").data["items"][0]["content"] == "before\ufffdafter \ufffd\ufffd end"
    assert run("search", "-", "--json", stdin=b"before\0after").code == 0
    assert run("add", "lone \ud800 surrogate", "--json").code == 0
    assert run("search", "lone \ud800 surrogate", "--json").data["results"][0]["id"] == 2
    for arguments in (("list", "--project", "\ud800"), ("list", "--cursor", "\ud800")):
        assert run(*arguments).code == 2
    assert run("show", "\ud800").code == run("timeline", "not-an-id").code == 3


@pytest.mark.skipif(sys.platform == "win32", reason="arguments are text there")
def test_arguments_that_are_not_utf8(spawn: Run) -> None:
    done = spawn("add", os.fsdecode(b"caf\xe9"), "--json")
    assert done.code == 0
    assert spawn("show", "1", "--json").data["items"][0]["content"] == "caf\ufffd"


def test_an_unexpected_failure_is_one_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_args: object) -> None:
        raise RuntimeError("the roof is on fire")

    monkeypatch.setattr("commonplace.cli.status.status_of", fail)
    done = run("status")
    assert done.code == 1 and done.err.startswith("error: Something unexpected happened: RuntimeError: the roof")
    assert "Traceback" not in done.err
    assert run("status", "--json").error["code"] == "INTERNAL_ERROR"
    monkeypatch.setenv("COMMONPLACE_DEBUG", "1")
    assert "Traceback" in run("status").err


def every_error() -> list[type[errors.CommonplaceError]]:
    tree = [errors.CommonplaceError]
    for kind in tree:
        tree += [kind for kind in kind.__subclasses__() if kind.__module__ == errors.__name__]
    return tree


@pytest.mark.parametrize("kind", every_error(), ids=lambda kind: kind.__name__)
def test_every_error_keeps_its_code(kind: type[errors.CommonplaceError], capsys: pytest.CaptureFixture[str]) -> None:
    assert report_failure(kind("It broke."), Call()) == kind.exit_code
    output = capsys.readouterr()
    assert output.out == "" and output.err == f"error: It broke.\nhint: {kind.default_hint}\n"
    report_failure(kind("It broke."), Call(json=True))
    assert f'"code": "{kind.code}"' in capsys.readouterr().out


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.no_store
def test_ctrl_c_is_exit_code_130(data_dir: Path) -> None:
    command = [sys.executable, "-m", "commonplace", "add", "--jsonl", "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        until((data_dir / "commonplace.db").exists)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130 and out == b"" and b"Traceback" not in err


@pytest.mark.skipif(sys.platform == "win32", reason="pipes")
def test_a_closed_pipe_is_quiet(run: Run) -> None:
    run("add", "-", stdin="long " * 100_000)
    command = [sys.executable, "-m", "commonplace", "show", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.wait(timeout=60) == 141
        assert process.stderr.read() == b""


@pytest.mark.skipif(sys.platform == "win32", reason="file size limits")
def test_a_full_disk_loses_nothing(run: Run, spawn: Run, full_disk: Callable[[], list[str]], data_dir: Path) -> None:
    run("add", "Kept")
    done = subprocess.run(
        [*full_disk(), "add", "-", "--json"], input=b"filler " * 100_000, capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 5 and b"DB_FULL" in done.stdout, done
    assert [item["content"] for item in run("list", "--json").data["items"]] == ["Kept"]
