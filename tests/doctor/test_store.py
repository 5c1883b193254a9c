"""The store and its indexes: each thing that can break is found, and what can be mended is."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.doctor import memory_checks
from commonplace.doctor.doctor_context import DoctorContext
from commonplace.memory.recall import recall
from commonplace.model import Scope

from .conftest import Behind, failing, states


def test_no_store_yet_is_no_failure_and_none_is_made(context: DoctorContext) -> None:
    assert states([*memory_checks.check_store(context)]) == {"disk": "ok", "file": "remark"}
    assert [*memory_checks.check_index(context)] == []
    assert not context.settings.data_dir.exists()


def test_a_store_that_is_well(filled: DoctorContext) -> None:
    found = [*memory_checks.check_store(filled), *memory_checks.check_index(filled)]
    assert states(found) == {
        **dict.fromkeys(("disk", "file", "integrity", "log", "words"), "ok"),
        # There is no embedder here.
        "vectors": "remark",
    }
    assert "10 items" in next(one.sentence for one in found if one.what == "file")


def test_a_file_that_is_no_store(context: DoctorContext) -> None:
    context.settings.data_dir.mkdir()
    context.settings.database.write_bytes(b"These are not the pages you are looking for. " * 100)
    found = failing([*memory_checks.check_store(context)])
    assert found.what == "file" and "damaged or is not a Commonplace store" in found.sentence
    assert [*memory_checks.check_index(context)] == []


def test_a_store_that_cannot_be_read(filled: DoctorContext) -> None:
    filled.settings.database.unlink()
    filled.settings.database.mkdir()
    assert failing([*memory_checks.check_store(filled)]).what == "file"


def test_a_store_that_is_read_only(filled: DoctorContext) -> None:
    filled.settings.database.chmod(0o400)
    found = failing([*memory_checks.check_store(filled)])
    assert found.what == "file"
    filled.settings.database.chmod(0o600)


def test_damaged_pages_are_told_with_what_to_do(filled: DoctorContext, behind: Behind) -> None:
    behind("CREATE TABLE t (a UNIQUE); INSERT INTO t VALUES (1)")
    behind("PRAGMA writable_schema = 1; UPDATE sqlite_schema SET rootpage = 2 WHERE name = 't'")
    found = failing([*memory_checks.check_store(filled)])
    assert found.what == "integrity" and found.fix is None and "a copy of your own" in found.advice
    backups = filled.settings.data_dir / "backups"
    backups.mkdir()
    (backups / "commonplace-schema1.db").write_bytes(b"")
    filled.close()
    assert str(backups) in failing([*memory_checks.check_store(filled)]).advice


def test_a_damaged_index_is_made_anew(filled: DoctorContext, behind: Behind) -> None:
    behind("UPDATE passages_fts_data SET block = x'00ff00ff' WHERE id > 10")
    found = failing([*memory_checks.check_store(filled)])
    assert found.what == "integrity" and found.fix is not None
    assert "10 items" in found.fix()
    assert set(states([*memory_checks.check_store(filled)]).values()) == {"ok"}
    assert len(recall(filled.memory(), "apple", Scope(), 20).hits) == 10


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("DELETE FROM passages_fts WHERE rowid > 6", "4 of 10 passages"),
        ("UPDATE items SET forgotten_ms = 1 WHERE id > 7", "3 rows"),
    ],
)
def test_words_that_were_lost_or_left_behind(filled: DoctorContext, behind: Behind, script: str, words: str) -> None:
    behind(script)
    found = failing([*memory_checks.check_index(filled)])
    assert found.what == "words" and words in found.sentence and found.fix is not None
    assert "repaired" in found.fix()
    assert states([*memory_checks.check_index(filled)])["words"] == "ok"


def test_vectors_that_nobody_works_on(filled: DoctorContext, behind: Behind) -> None:
    behind("DELETE FROM jobs WHERE id > 5; UPDATE jobs SET tries = 5 WHERE id = 1")
    found = failing([*memory_checks.check_index(filled)])
    assert found.what == "vectors" and "6 of 10" in found.sentence and found.fix is not None
    assert "10 are waiting" in found.fix()
    assert states([*memory_checks.check_index(filled)])["vectors"] == "remark"


def test_little_room_is_told(filled: DoctorContext, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    free = next(one for one in memory_checks.check_store(filled) if one.what == "disk")
    assert free.state == "ok" and "GB free" in free.sentence
    monkeypatch.setattr(memory_checks, "LOW_DISK_SPACE", 2**62)
    assert states([*memory_checks.check_store(filled)])["disk"] == "remark"
    monkeypatch.setattr(memory_checks, "NO_DISK_SPACE", 2**61)
    assert failing([*memory_checks.check_store(filled)]).what == "disk"


def test_a_large_log_is_told(filled: DoctorContext, monkeypatch: pytest.MonkeyPatch) -> None:
    filled.memory()
    monkeypatch.setattr(memory_checks, "LARGE_LOG", -1)
    assert states([*memory_checks.check_store(filled)])["log"] == "remark"


def test_a_check_that_takes_too_long_is_given_up(filled: DoctorContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_checks, "COUNT_SECONDS", -1.0)
    memory = filled.memory()
    assert memory is filled.memory()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("commonplace.store.sqlite.database.PROGRESS_STEPS", 1)
        assert states([*memory_checks.check_index(filled)]) == {"words": "remark"}
