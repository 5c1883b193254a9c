"""`check`, `repair`, `backup` and `backups` as a person types them: what is told, and the exit codes."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.raw_sql import behind

from commonplace.config import Settings

from .conftest import Run


def test_what_is_wrong_is_told_and_mended(run: Run, settings: Settings) -> None:
    assert run("add", "Apple").code == 0
    assert run("check").out == "No faults found.\n"
    with behind(settings) as ask:
        ask("UPDATE tally SET items = 7")
    outcome = run("check", "--quick")
    assert outcome.code == 9 and "derived  counts: 1 counts by project and kind are wrong (project 0)" in outcome.out
    assert "kind are wrong; see `commonplace check`" in run("status").out
    assert "remark   store check: The last check found: 1 counts" in run("doctor", "store").out
    dry = run("check", "--fix", "--dry-run")
    assert dry.code == 9 and dry.out.endswith("Nothing was changed.\n")
    done = run("check", "--fix", "--json")
    assert done.code == 0 and done.data["left"] == [] and Path(done.data["kept"]).is_file()
    assert run("check", "--json").data == {"sound": True, "quick": False, "faults": []}
    assert "health:      sound" in run("status").out


def test_what_was_said_is_told_in_red_and_left(run: Run, settings: Settings) -> None:
    run("add", "Apple")
    with behind(settings) as ask:
        ask("UPDATE items SET title = 'Pear'")
    run("check", "--fix")
    outcome = run("check", "--fix")
    assert outcome.code == 9 and "stored   rows: 1 items have content that does not match its checksum" in outcome.out


@pytest.mark.no_store
def test_a_file_that_is_no_store_is_told(run: Run, settings: Settings) -> None:
    settings.data_dir.mkdir()
    settings.database.write_bytes(b"nonsense " * 1000)
    outcome = run("check", "--json")
    assert outcome.code == 9 and outcome.data["faults"][0]["part"] == "file"
    assert run("check", "--fix", "--json").error["code"] == "DB_CORRUPT"


def test_a_backup_is_made_listed_and_put_back(run: Run, folder: Path) -> None:
    run("add", "Apple")
    assert "There are no backups" in run("backup", "list").out
    made = run("backup", "--json").data
    assert Path(made["path"]).is_file() and made["why"] == "made"
    assert run("backup", "copy.db").code == 0 and (folder / "copy.db").is_file()
    assert run("backup", "copy.db", "--json").error["code"] == "CONFLICT"
    run("add", "Pear")
    assert Path(made["path"]).name in run("backup", "list").out
    dry = run("backup", "restore", "latest", "--dry-run")
    assert dry.code == 0 and "Of the items, 1 would be lost" in dry.out and "lost: Pear" in dry.out
    done = run("backup", "restore", "latest", "--json").data
    assert done["difference"]["lost"] == 1 and done["store"]["items"] == 1 and Path(done["kept"]).is_file()
    assert "Pear" not in run("list").out
    assert run("backup", "restore", "no-such").code == 3
