"""`export --everything` and `import` of what it wrote, as people and programs call them."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from tests.capture.full_memory import records

from .conftest import Run

NAMES = {"manifest.json", "projects.jsonl", "sessions.jsonl", "items.jsonl"}


def files_of(folder: Path) -> dict[str, bytes]:
    return {one.name: one.read_bytes() for one in folder.iterdir()}


def test_everything_goes_elsewhere_and_back(run: Run, story: list[int], folder: Path, tmp_path: Path) -> None:
    elsewhere = ("--data-dir", str(tmp_path / "elsewhere"))
    done = run("export", "--everything", "--output", "memory.zip")
    assert done.out == "Exported 6 items, 1 session, 1 project to memory.zip\n"
    assert run("import", "memory.zip", *elsewhere, "--json").data["items"] == {"added": 6, "known": 0, "skipped": 0}
    data = run("export", "--everything", "--output", "there", *elsewhere, "--json").data
    assert (data["path"], data["format"], data["counts"]["items"]) == ("there", "commonplace-archive", 6)
    assert run("export", "--everything", "--output", "here").code == 0
    assert records(files_of(folder / "here")) == records(files_of(folder / "there"))
    assert run("import", "there", "--json").data["items"] == {"added": 0, "known": 6, "skipped": 0}


@pytest.mark.skipif(sys.platform == "win32", reason="modes")
def test_its_files_are_for_their_owner_only(run: Run, story: list[int], folder: Path) -> None:
    run("export", "--everything", "--output", "memory.zip")
    run("export", "--everything", "--output", "memory")
    files = [folder / "memory.zip", *(folder / "memory").iterdir()]
    assert {file.name for file in files} == {"memory.zip", *NAMES}
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


def test_a_pipe_gets_a_zip(run: Run, story: list[int], folder: Path) -> None:
    command = [sys.executable, "-m", "commonplace", "export", "--everything"]
    done = subprocess.run(command, capture_output=True, timeout=60, check=True, env={**os.environ})
    (folder / "piped.zip").write_bytes(done.stdout)
    with zipfile.ZipFile(folder / "piped.zip") as archive:
        assert {*archive.namelist()} == NAMES and archive.testzip() is None
    assert run("import", "piped.zip", "--dry-run", "--json").data["items"]["added"] == 6


def test_only_a_part(run: Run, story: list[int], folder: Path) -> None:
    data = run("export", "--everything", "--project", "my-api", "--output", "part", "--json").data
    assert (data["projects"], data["counts"]["items"]) == (["my-api"], 5)
    assert run("export", "--everything", "--since", "1d", "--output", "new", "--json").data["counts"]["items"] == 6
    assert run("export", "--everything", "--since", "whenever", "--output", "x").code == 2


def test_nothing_is_written_over_without_being_told_to(run: Run, story: list[int]) -> None:
    for output in ("memory.zip", "memory"):
        assert run("export", "--everything", "--output", output).code == 0
        assert run("export", "--everything", "--output", output).code == 4
        assert run("export", "--everything", "--output", output, "--force").code == 0


@pytest.mark.parametrize(
    "wrong",
    [
        ("--everything", "--all"),
        ("--everything", "1"),
        ("--everything", "--format", "markdown"),
        ("--everything", "--no-metadata"),
        ("--all", "--since", "1d"),
        ("--all", "--project", "my-api"),
    ],
)
def test_what_does_not_go_together(run: Run, story: list[int], wrong: tuple[str, ...]) -> None:
    assert run("export", *wrong, "--output", "x").code == 2


def test_a_changed_archive_is_refused_with_a_next_step(
    run: Run, story: list[int], folder: Path, tmp_path: Path
) -> None:
    run("export", "--everything", "--output", "memory")
    items = folder / "memory" / "items.jsonl"
    items.write_bytes(items.read_bytes().replace(b"JWT", b"TWJ"))
    done = run("import", "memory", "--data-dir", str(tmp_path / "elsewhere"), "--json")
    assert (done.code, done.error["code"], done.error["files"]) == (2, "VALIDATION_ERROR", {"read": 0, "skipped": 1})
    assert "items.jsonl is not what its manifest says" in done.error["message"]
    assert "Create or download the archive again" in done.error["message"]


def test_conflicts_are_told_to_people(run: Run, story: list[int], tmp_path: Path) -> None:
    elsewhere = ("--data-dir", str(tmp_path / "elsewhere"))
    run("export", "--everything", "--output", "before.zip")
    run("import", "before.zip", *elsewhere)
    run("edit", "1", "--content", "Use cookies")
    run("export", "--everything", "--output", "after.zip")
    assert run("edit", "1", "--content", "Use tokens", *elsewhere).code == 0
    done = run("import", "after.zip", *elsewhere)
    assert "was changed here too. The local version wins; the other one is in its history." in done.err
    shown = json.loads(run("show", "1", *elsewhere, "--json").out)
    assert "Use tokens" in json.dumps(shown)


def test_a_place_that_cannot_be_written_is_told_and_left_alone(run: Run, story: list[int], folder: Path) -> None:
    (folder / "memory.zip").mkdir()
    assert run("export", "--everything", "--output", "memory.zip").code == 2
    assert run("export", "--everything", "--output", "no/such/memory.zip").code == 2
    assert [one.name for one in folder.iterdir()] == ["memory.zip"]
