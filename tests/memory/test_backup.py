"""Backups: verified, listed, thinned out, made when they are due, and put back as a whole or not at all."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.conftest import Clock
from tests.memory.test_repair import embed
from tests.raw_sql import all_rows, behind

from commonplace import config
from commonplace.config import Settings
from commonplace.errors import Conflict, NotFound, StoreBusy, StoreCorrupt
from commonplace.memory import background_tasks, status_and_stats
from commonplace.memory.api_keys import check_key, create_key, is_revoked_or_expired, revoke_key
from commonplace.memory.background_tasks import MaintenanceTask
from commonplace.memory.backup import (
    BACKUP_LOCK,
    SCHEDULED,
    back_up_if_due,
    back_up_store,
    backup_path,
    delete_old_backups,
    list_backups,
    restore_backup,
)
from commonplace.memory.edit_and_forget import forget_items
from commonplace.memory.local_memory import LocalMemory, open_memory
from commonplace.memory.remember import NewItem, remember, remember_all
from commonplace.model import Scope
from commonplace.text.dates import DAY_MS

HOLDER = """
import sys
from commonplace.config import load
from commonplace.memory.local_memory import open_memory
memory = open_memory(load({"data_dir": sys.argv[1], "embedder": "off"}))
print("open", flush=True)
sys.stdin.readline()
memory.close()
"""


@pytest.fixture
def own_settings(tmp_path: Path) -> Settings:
    return config.load({"data_dir": str(tmp_path / "data"), "embedder": "off", "durability": "normal"})


@pytest.fixture
def filled_memory(own_settings: Settings, clock: Clock) -> Iterator[LocalMemory]:
    memory = open_memory(own_settings, clock)
    remember_all(memory, [NewItem(f"Apple {n}") for n in range(5)])
    yield memory
    memory.close()


def items(settings: Settings) -> int:
    with behind(settings) as ask:
        return int(ask("SELECT count(*) FROM items")[0][0])


def test_a_copy_is_one_private_file_with_everything(filled_memory: LocalMemory, tmp_path: Path) -> None:
    embed(filled_memory)
    made = back_up_store(filled_memory, tmp_path / "copy.db")
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["copy.db"]
    if sys.platform != "win32":
        assert stat.S_IMODE(made.path.stat().st_mode) == 0o600
    (tmp_path / "other").mkdir()
    made.path.replace(tmp_path / "other" / "commonplace.db")
    copied = all_rows(replace(filled_memory.settings, data_dir=tmp_path / "other"))
    assert copied == all_rows(filled_memory.settings) and len(copied["token_vectors"]) == 5


def test_nothing_is_overwritten_and_a_folder_will_do(filled_memory: LocalMemory, tmp_path: Path) -> None:
    (tmp_path / "safe").mkdir()
    made = back_up_store(filled_memory, tmp_path / "safe")
    assert made.path.parent == tmp_path / "safe"
    with pytest.raises(Conflict):
        back_up_store(filled_memory, made.path)
    first, second = back_up_store(filled_memory), back_up_store(filled_memory)
    assert [one.path for one in list_backups(filled_memory.settings)] == [second.path, first.path]


def test_a_copy_of_a_damaged_store_is_refused(filled_memory: LocalMemory) -> None:
    with behind(filled_memory.settings) as ask:
        ask("CREATE TABLE t (a UNIQUE); INSERT INTO t VALUES (1)")
        ask("PRAGMA writable_schema = 1; UPDATE sqlite_schema SET rootpage = 2 WHERE name = 't'")
    with pytest.raises(StoreCorrupt):
        back_up_store(filled_memory)
    assert [*filled_memory.settings.backups.iterdir()] == []


def test_a_dry_run_tells_what_would_change(filled_memory: LocalMemory, clock: Clock) -> None:
    made = back_up_store(filled_memory)
    remember(filled_memory, NewItem("Pear that would be lost"))
    forget_items(filled_memory, [1])
    filled_memory.close()
    done = restore_backup(filled_memory.settings, made.path.name, clock(), dry_run=True)
    assert done.difference is not None and done.current is not None
    assert (done.difference.lost, done.difference.back, done.difference.changed) == (1, 0, 1)
    assert done.difference.examples == ("Pear that would be lost",)
    assert done.backup.counts["items"] == 5 and done.current.counts["items"] == 6
    assert done.current.newest_title == "Pear that would be lost"
    assert done.old_copy is None and items(filled_memory.settings) == 6


def test_a_backup_is_put_back_and_the_store_kept(filled_memory: LocalMemory, clock: Clock) -> None:
    embed(filled_memory)
    made = back_up_store(filled_memory)
    remember(filled_memory, NewItem("Pear"))
    forget_items(filled_memory, [1])
    filled_memory.close()
    done = restore_backup(filled_memory.settings, "latest", clock())
    assert items(filled_memory.settings) == 5 and len(all_rows(filled_memory.settings)["token_vectors"]) == 5
    assert done.old_copy is not None and done.old_copy != made.path
    # The way back is the same; `latest` is still what a person made.
    restore_backup(filled_memory.settings, done.old_copy.name, clock())
    assert items(filled_memory.settings) == 6
    restore_backup(filled_memory.settings, "latest", clock())
    assert items(filled_memory.settings) == 5


def test_a_key_that_was_revoked_since_stays_revoked(filled_memory: LocalMemory, clock: Clock) -> None:
    lost_laptop, secret = create_key(filled_memory, "Eve's laptop")
    other, known = create_key(filled_memory, "Ada's laptop")
    made = back_up_store(filled_memory)
    revoke_key(filled_memory, lost_laptop.id)
    filled_memory.close()
    planned = restore_backup(filled_memory.settings, made.path.name, clock(), dry_run=True)
    assert (planned.revoked_keys, planned.working_keys) == (("Eve's laptop",), ("Ada's laptop",))
    restore_backup(filled_memory.settings, made.path.name, clock())
    memory = open_memory(filled_memory.settings, clock)
    assert is_revoked_or_expired(memory, secret)
    assert check_key(memory, known).id == other.id
    memory.close()


def test_a_key_stays_revoked_over_two_restores_and_beside_a_damaged_store(
    filled_memory: LocalMemory, clock: Clock
) -> None:
    settings = filled_memory.settings
    before = back_up_store(filled_memory)
    lost_laptop, secret = create_key(filled_memory, "Eve's laptop")
    clock.now += 5000
    made = back_up_store(filled_memory)
    revoke_key(filled_memory, lost_laptop.id)
    filled_memory.close()
    # The first one knows nothing of the key, so neither does the store that the second one replaces.
    restore_backup(settings, before.path.name, clock())
    assert restore_backup(settings, made.path.name, clock()).revoked_keys == ("Eve's laptop",)
    # A store of which nothing can be read tells nothing, but a copy that was made aside does.
    settings.database.write_bytes(b"damaged")
    restored = restore_backup(settings, made.path.name, clock())
    assert restored.difference is None and restored.revoked_keys == ("Eve's laptop",)
    memory = open_memory(settings, clock)
    assert is_revoked_or_expired(memory, secret)
    memory.close()


def test_what_was_put_back_is_another_store_to_those_who_sync_with_it(filled_memory: LocalMemory, clock: Clock) -> None:
    with behind(filled_memory.settings) as ask:
        before = ask("SELECT uid FROM spaces")
    back_up_store(filled_memory)
    filled_memory.close()
    restore_backup(filled_memory.settings, "latest", clock())
    with behind(filled_memory.settings) as ask:
        after = ask("SELECT uid FROM spaces")
    assert len(after[0][0]) == 32 and after != before


def test_a_store_that_is_open_elsewhere_is_left_alone(filled_memory: LocalMemory, clock: Clock) -> None:
    made = back_up_store(filled_memory)
    remember(filled_memory, NewItem("Pear"))
    filled_memory.close()
    command = [sys.executable, "-c", HOLDER, str(filled_memory.settings.data_dir)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdin is not None and holder.stdout is not None
        assert holder.stdout.readline() == "open\n"
        with pytest.raises(StoreBusy) as refused:
            restore_backup(replace(filled_memory.settings, busy_timeout=0.1), made.path.name, clock())
        assert "Stop" in refused.value.hint and items(filled_memory.settings) == 6
        holder.communicate("\n", timeout=60)
    restore_backup(filled_memory.settings, made.path.name, clock())
    assert items(filled_memory.settings) == 5


@pytest.mark.parametrize("rest", [b"nonsense " * 1000, b""])
def test_a_damaged_store_is_replaced_and_kept(filled_memory: LocalMemory, clock: Clock, rest: bytes) -> None:
    made = back_up_store(filled_memory)
    filled_memory.close()
    filled_memory.settings.database.write_bytes(rest)
    done = restore_backup(filled_memory.settings, made.path.name, clock())
    assert items(filled_memory.settings) == 5
    assert done.difference is None or not rest
    if rest:
        assert done.old_copy is not None and done.old_copy.read_bytes() == rest


def test_a_damaged_backup_replaces_nothing(filled_memory: LocalMemory, clock: Clock) -> None:
    made = back_up_store(filled_memory)
    filled_memory.close()
    pages = bytearray(made.path.read_bytes())
    pages[4096 * 5 : 4096 * 30] = b"\xff" * 4096 * 25
    made.path.write_bytes(pages)
    with pytest.raises(StoreCorrupt):
        restore_backup(filled_memory.settings, made.path.name, clock())
    with pytest.raises(NotFound):
        restore_backup(filled_memory.settings, "no-such.db", clock())
    assert items(filled_memory.settings) == 5


def test_days_and_weeks_are_kept(own_settings: Settings) -> None:
    own_settings.backups.mkdir(parents=True)
    day = 86_400_000
    for n in range(60):
        for hour in (0, 6):
            backup_path(own_settings, SCHEDULED, Clock().now + n * day + hour * 3_600_000).touch()
    others = [
        backup_path(own_settings, why, Clock().now) for why in ("made", "before-schema-3", "before-repair", "restore")
    ]
    for other in others:
        other.touch()
    delete_old_backups(own_settings)
    left = [one for one in list_backups(own_settings) if one.why == SCHEDULED]
    assert len(left) == 7 + 4 and all(other.exists() for other in others)
    ages = [(left[0].made_ms - one.made_ms) / day for one in left]
    assert ages[:7] == [0, 1, 2, 3, 4, 5, 6] and all(6 < age < 40 for age in ages[7:])
    assert delete_old_backups(own_settings) == []


def test_a_backup_is_made_when_it_is_due_and_something_changed(filled_memory: LocalMemory, clock: Clock) -> None:
    first = back_up_if_due(filled_memory)
    assert first is not None and back_up_if_due(filled_memory) is None
    clock.forward(days=1.1)
    assert back_up_if_due(filled_memory) is None
    remember(filled_memory, NewItem("Pear"))
    assert back_up_if_due(filled_memory) is not None
    remember(filled_memory, NewItem("Plum"))
    assert back_up_if_due(filled_memory) is None
    clock.forward(days=1.1)
    # Another process is at it.
    lock = filled_memory.settings.backups / BACKUP_LOCK
    lock.touch()
    assert back_up_if_due(filled_memory) is None
    lock.unlink()
    assert back_up_if_due(filled_memory) is not None and not lock.exists()
    assert (
        back_up_if_due(replace(filled_memory, settings=replace(filled_memory.settings, backup_every_hours=0.0))) is None
    )


def test_a_server_looks_at_its_store_and_says_farewell(filled_memory: LocalMemory) -> None:
    running = filled_memory.settings.data_dir / background_tasks.RUNNING_FOLDER
    server = MaintenanceTask(first_backup=0.0)
    assert server(filled_memory) is False
    assert len([*running.iterdir()]) == 1 and len(list_backups(filled_memory.settings)) == 1
    report = status_and_stats.last_check_result(filled_memory.settings)
    assert report is not None and report.how == "start" and report.faults == ()
    server.mark_clean_end(filled_memory.settings)
    assert [*running.iterdir()] == []


def test_a_server_that_ended_without_a_farewell_has_the_store_checked(filled_memory: LocalMemory) -> None:
    MaintenanceTask()(filled_memory)
    (mark,) = (filled_memory.settings.data_dir / background_tasks.RUNNING_FOLDER).iterdir()
    with behind(filled_memory.settings) as ask:
        ask("UPDATE tally SET items = 99")
    MaintenanceTask()(filled_memory)
    report = status_and_stats.last_check_result(filled_memory.settings)
    assert report is not None and report.faults == ()
    long_ago = mark.stat().st_mtime - 2 * background_tasks.ABANDONED_SECONDS
    os.utime(mark, (long_ago, long_ago))
    MaintenanceTask()(filled_memory)
    report = status_and_stats.last_check_result(filled_memory.settings)
    assert report is not None and report.how == "unclean end"
    assert [fault.part for fault in report.faults] == ["counts"] and not mark.exists()


def test_what_is_seen_at_the_start_is_told(filled_memory: LocalMemory) -> None:
    with behind(filled_memory.settings) as ask:
        ask("DELETE FROM jobs")
    MaintenanceTask()(filled_memory)
    report = status_and_stats.last_check_result(filled_memory.settings)
    assert report is not None and report.how == "start" and [fault.part for fault in report.faults] == ["vectors"]


def test_what_others_left_half_made_is_swept_away(filled_memory: LocalMemory) -> None:
    filled_memory.settings.backups.mkdir()
    half = filled_memory.settings.backups / "commonplace-daily-20250101T000000.db.1-2.partial"
    half.touch()
    os.utime(half, (1, 1))
    back_up_if_due(filled_memory)
    assert not half.exists() and len(list_backups(filled_memory.settings)) == 1


def test_a_backup_of_a_clock_that_ran_ahead_counts_neither_as_the_last_nor_as_latest(
    filled_memory: LocalMemory, clock: Clock
) -> None:
    year = 365 * DAY_MS
    clock.now += year
    ahead = back_up_if_due(filled_memory)
    clock.now -= year
    remember(filled_memory, NewItem("Pear"))
    right = back_up_if_due(filled_memory)
    assert ahead is not None and right is not None
    assert [back_up_if_due(filled_memory) for _ in range(3)] == [None] * 3
    settings = filled_memory.settings
    filled_memory.close()
    restore_backup(settings, "latest", clock.now)
    again = open_memory(settings, clock)
    assert "Pear" in {item.text for item in again.store.newest(Scope(), 10)}
    again.close()
