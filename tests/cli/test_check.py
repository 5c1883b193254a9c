"""`check`, `repair`, `backup` and `backups` as a person types them: what is told, and the exit codes."""

from __future__ import annotations

import contextlib
from pathlib import Path

import apsw
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


def damage(settings: Settings, table: str, pages: slice) -> None:
    """Flip every bit of some pages of a table."""
    with contextlib.closing(apsw.Connection(str(settings.database))) as file:
        question = "SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY pageno"
        numbers = [int(str(row[0])) for row in file.execute(question, (table,))]
    data = bytearray(settings.database.read_bytes())
    for number in numbers[pages]:
        for at in range((number - 1) * 4096, number * 4096):
            data[at] ^= 0xFF
    settings.database.write_bytes(data)


def test_a_damaged_file_is_saved_as_far_as_it_can_be_read_and_the_rest_comes_from_a_backup(
    run: Run, settings: Settings
) -> None:
    for number in range(60):
        run("add", f"Apple {number} " + "and many more words " * 20)
    assert run("backup").code == 0
    damage(settings, "items", slice(2, 3))
    found = run("check")
    assert found.code == 9 and "places of the file are damaged" in found.out and "check --fix" in found.out
    for tried in (run("doctor", "store"), run("doctor", "store", "--fix")):
        assert tried.code == 1 and "The file is damaged" in tried.out
        assert "`commonplace check --fix`" in tried.out and "`commonplace backup restore`" in tried.out
    mended = run("check", "--fix")
    assert mended.code == 0 and "Saved " in mended.out and "Could not save: item" in mended.out
    assert "commonplace backup restore" in mended.err and "places of the file" not in mended.out
    kept = run("list", "--limit", "100", "--json").data["items"]
    assert 40 < len(kept) < 60
    assert run("backup", "restore", "latest").code == 0
    assert run("check").out == "No faults found.\n"
    assert len(run("list", "--limit", "100", "--json").data["items"]) == 60


def test_a_file_that_cannot_be_read_at_all_is_replaced_by_a_backup(run: Run, settings: Settings) -> None:
    run("add", "Apple")
    whole = settings.database.read_bytes()
    settings.database.write_bytes(bytes(4096) + whole[4096:])
    assert run("check").code == 9
    assert run("doctor", "store", "--fix").code == 1
    refused = run("check", "--fix")
    assert (
        refused.code != 0 and "commonplace backup restore latest" in refused.err and "move the file away" in refused.err
    )
    assert "no backup" in run("backup", "restore", "latest").err
    settings.database.rename(settings.database.with_name("damaged.db"))
    assert run("add", "Pear").code == 0
    assert run("backup").code == 0
    settings.database.write_bytes(b"nonsense " * 1000)
    assert run("search", "Pear").code != 0
    assert run("backup", "restore", "latest").code == 0
    assert "Pear" in run("search", "Pear").out and run("check").code == 0


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
