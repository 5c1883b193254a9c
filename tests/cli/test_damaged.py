"""Commands on a store with damaged rows: they go on, say what is damaged, and repair what can be repaired."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from tests.damage import INVALID_UTF8, damage_row
from tests.rest.conftest import Site, running, settings_in

from commonplace.config import Settings
from commonplace.store.sqlite.database import Database
from commonplace.store.sqlite.migrate import migrate, recognise

from .conftest import Run


@pytest.fixture
def damaged(run: Run, settings: Settings) -> None:
    """Three items in a project: one with text that is not UTF-8, one with broken details, and one that is whole."""
    for text in ("Apples are in the cellar", "Pears are in the attic", "Plums are in the kitchen"):
        assert run("add", text, "--project", "orchard", "--tag", "fruit").code == 0
    damage_row(settings.database, "items", 1, "body", INVALID_UTF8)
    damage_row(settings.database, "items", 2, "details", "'{\"narrative'")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    with running(settings_in(tmp_path / "server")) as site:
        monkeypatch.setenv("COMMONPLACE_REMOTE_URL", site.url)
        monkeypatch.setenv("COMMONPLACE_REMOTE_KEY", site.secrets["write"])
        yield site


@pytest.mark.usefixtures("damaged")
def test_reading_goes_on_and_says_what_is_damaged(run: Run, folder: Path) -> None:
    for line in (
        ["list", "--project", "orchard"],
        ["search", "plums", "--project", "orchard"],
        ["context", "orchard"],
        ["timeline", "3"],
        ["conversations", "stats"],
        ["report"],
        ["overview", "--all"],
        ["recall", "plums"],
        ["status"],
    ):
        done = run(*line)
        assert done.code == 0, f"{line}: {done}"
    assert "Plums are in the kitchen" in run("search", "plums", "--project", "orchard").out
    shown = run("show", "1", "2").out
    assert "damaged: " in shown and '"narrative' in shown and "\ufffd" in shown
    assert run("show", "1", "--json").data["items"][0]["damaged"].keys() == {"content"}
    assert run("export", "--everything", "--output", "all.zip").code == 0 and (folder / "all.zip").stat().st_size
    assert run("backup", "copy.db").code == 0 and (folder / "copy.db").is_file()


@pytest.mark.usefixtures("damaged")
def test_check_names_damaged_items_and_they_can_be_edited_and_forgotten(run: Run) -> None:
    outcome = run("check")
    assert outcome.code == 9 and "rows are damaged" in outcome.out and "item 1 (body), item 2 (details)" in outcome.out
    # Nothing that was written is changed by a repair.
    assert run("check", "--fix").code == 9 and "item 1 (body), item 2 (details)" in run("check").out
    assert run("edit", "1", "--content", "Apples are in the barn").code == 0
    assert run("forget", "2").code == 0
    assert run("check").out == "No faults found.\n"
    before = run("history", "1", "--json").data["changes"][-1]["before"]
    assert before["damaged"].keys() == {"body"}


@pytest.mark.usefixtures("damaged")
def test_damaged_items_are_synced_as_far_as_they_can_be_read(run: Run, site: Site) -> None:
    done = run("push", "--json").data
    assert done["failed"] == [] and done["sent"] >= 3
    texts = [item.body for item in site.memory.store.get([1, 2, 3]).values()]
    assert "Plums are in the kitchen" in texts and any("\ufffd" in text for text in texts)
    again = run("sync", "--json").data
    assert (again["sent"], again["received"], again["failed"]) == (0, 0, [])


def test_a_file_cut_short_is_saved_and_what_is_lost_is_said(run: Run, settings: Settings) -> None:
    for number in range(60):
        assert run("add", f"Apple {number} " + "of the orchard " * 30).code == 0
    data = settings.database.read_bytes()
    settings.database.write_bytes(data[:-4096])
    assert run("check").code == 9
    done = run("check", "--fix")
    assert "rows of the damaged file." in done.out and "The previous store was saved to" in done.err + done.out
    stored = {item["id"] for item in run("list", "--limit", "100", "--json").data["items"]}
    lost = {*range(1, 61)} - stored
    assert len(stored) > 40
    assert not lost or f"Could not save: {', '.join(f'item {number}' for number in sorted(lost))}" in done.out


def test_a_store_of_before_with_a_damaged_row_names_the_repair_and_fills_no_disk(run: Run, settings: Settings) -> None:
    store_of_before(settings.database, ["Apples are in the cellar", "Pears are in the attic", "Plums are here"])
    damage_row(settings.database, "items", 2, "body", "NULL")
    for _again in range(2):
        refused = run("add", "Cherries are gone")
        assert refused.code != 0 and "has damaged rows" in refused.err and "commonplace check --fix" in refused.err
    assert not list(settings.data_dir.glob("backups/*-schema*"))
    run("check", "--fix")
    listed = run("list")
    assert listed.code == 0 and "Apples are in the cellar" in listed.out and "Plums are here" in listed.out


def store_of_before(path: Path, texts: Sequence[str]) -> None:
    """A file as the version before fingerprints left it, in the place of a new one."""
    path.unlink()
    database = Database(path, recognise=recognise)
    migrate(database, 18)
    with database.write() as connection:
        columns = connection.execute("PRAGMA table_info(items)").fetchall()
        connection.execute("INSERT INTO spaces (id, name, created_ms) VALUES (1, 'default', 1)")
        empty = {"INTEGER": 0, "REAL": 0.0, "TEXT": "", "BLOB": b""}
        needed: dict[str, object] = {}
        for _number, name, type_, not_null, default, _key in columns:
            if not_null and default is None:
                needed[str(name)] = empty[str(type_)]
        for number, text in enumerate(texts, 1):
            row = needed | {"id": number, "space_id": 1, "uid": f"{number:032x}", "kind": "memory", "type": "note"}
            row |= {
                "title": text,
                "body": text,
                "content_hash": number.to_bytes(32, "big"),
                "created_ms": 1,
                "updated_ms": 1,
            }
            connection.execute(
                f"INSERT INTO items ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", tuple(row.values())
            )
    database.close()
