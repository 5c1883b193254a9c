"""Data written by version 0.1.0 opens as before: its store, spool, settings, archive and backup.

`version-0.1.0.tar.xz` holds a data folder and what `export` and `backup` wrote, made by that version.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

PACKED = Path(__file__).parent / "version-0.1.0.tar.xz"


@pytest.fixture
def old(tmp_path: Path) -> Path:
    with tarfile.open(PACKED) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path


def run(data_dir: Path, *arguments: str) -> Any:
    command = [sys.executable, "-m", "commonplace", *arguments, "--json", "--data-dir", str(data_dir)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", env=os.environ, check=False, cwd=data_dir)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def listed_titles(data_dir: Path) -> set[str]:
    return {item["title"] for item in run(data_dir, "list")["items"]}


KNOWN = {"Where sessions live", "Never log request bodies", "The staging database runs on port 5434", "Log in"}


def test_the_store_is_sound_and_answers_as_before(old: Path) -> None:
    data = old / "data"
    assert run(data, "check")["sound"] is True
    found = run(data, "search", "where do sessions live")
    assert found["results"][0]["title"] == "Where sessions live"
    assert listed_titles(data) >= KNOWN
    assert [change["rev"] for change in run(data, "history", "1")["changes"]]


def test_what_was_superseded_or_forgotten_stays_so_and_can_be_restored(old: Path) -> None:
    data = old / "data"
    assert not {"A note that was forgotten", "The staging database runs on port 5433"} & listed_titles(data)
    run(data, "restore", "5")
    assert "A note that was forgotten" in listed_titles(data)


def test_a_statement_in_other_capitals_and_with_another_ending_is_known(old: Path) -> None:
    said = run(old / "data", "add", "never log  request bodies.", "--type", "rule", "--global")
    assert (said["duplicate"], said["id"]) == (True, 2)


def test_the_spool_is_drained(old: Path) -> None:
    data = old / "data"
    run(data, "drain")
    assert not [*(data / "spool").glob("*.event")]
    assert any("upload limit of the gateway" in title for title in listed_titles(data))


def test_settings_hold(old: Path) -> None:
    settings = {row["setting"]: row for row in run(old / "data", "settings")["settings"]}
    assert settings["mcp_max_response"]["value"] == "1500"
    assert settings["opening_tokens"]["value"] == "1800"


def test_an_archive_is_imported_without_loss(old: Path, tmp_path: Path) -> None:
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    run(fresh, "import", str(old / "out" / "archive.zip"))
    assert listed_titles(fresh) >= KNOWN
    (conversation,) = run(fresh, "conversations")["conversations"]
    assert conversation["label"] == "Deploying"


def test_a_backup_is_put_back(old: Path, tmp_path: Path) -> None:
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    run(fresh, "backups", "restore", str(old / "out" / "backup.db"))
    assert listed_titles(fresh) >= KNOWN
