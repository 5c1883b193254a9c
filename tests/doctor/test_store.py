"""The store and its indexes: each thing that can break is found, and what can be mended is."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.doctor import index, store
from commonplace.doctor.patient import Patient
from commonplace.memory.recall import recall
from commonplace.model import Scope

from .conftest import Behind, failing, states


def test_no_store_yet_is_no_failure_and_none_is_made(patient: Patient) -> None:
    assert states([*store.examine(patient)]) == {"disk": "ok", "file": "remark"}
    assert [*index.examine(patient)] == []
    assert not patient.settings.data_dir.exists()


def test_a_store_that_is_well(filled: Patient) -> None:
    found = [*store.examine(filled), *index.examine(filled)]
    assert states(found) == {
        **dict.fromkeys(("disk", "file", "integrity", "log", "words"), "ok"),
        # There is no embedder here.
        "vectors": "remark",
    }
    assert "10 items" in next(one.sentence for one in found if one.what == "file")


def test_a_file_that_is_no_store(patient: Patient) -> None:
    patient.settings.data_dir.mkdir()
    patient.settings.database.write_bytes(b"These are not the pages you are looking for. " * 100)
    found = failing([*store.examine(patient)])
    assert found.what == "file" and "damaged or is not a Commonplace store" in found.sentence
    assert [*index.examine(patient)] == []


def test_a_store_that_cannot_be_read(filled: Patient) -> None:
    filled.settings.database.unlink()
    filled.settings.database.mkdir()
    assert failing([*store.examine(filled)]).what == "file"


def test_a_store_that_is_read_only(filled: Patient) -> None:
    filled.settings.database.chmod(0o400)
    found = failing([*store.examine(filled)])
    assert found.what == "file"
    filled.settings.database.chmod(0o600)


def test_damaged_pages_are_told_with_what_to_do(filled: Patient, behind: Behind) -> None:
    behind("CREATE TABLE t (a UNIQUE); INSERT INTO t VALUES (1)")
    behind("PRAGMA writable_schema = 1; UPDATE sqlite_schema SET rootpage = 2 WHERE name = 't'")
    found = failing([*store.examine(filled)])
    assert found.what == "integrity" and found.mend is None and "a copy of your own" in found.fix
    backups = filled.settings.data_dir / "backups"
    backups.mkdir()
    (backups / "commonplace-schema1.db").write_bytes(b"")
    filled.close()
    assert str(backups) in failing([*store.examine(filled)]).fix


def test_a_damaged_index_is_made_anew(filled: Patient, behind: Behind) -> None:
    behind("UPDATE passages_fts_data SET block = x'00ff00ff' WHERE id > 10")
    found = failing([*store.examine(filled)])
    assert found.what == "integrity" and found.mend is not None
    assert "10 items" in found.mend()
    assert set(states([*store.examine(filled)]).values()) == {"ok"}
    assert len(recall(filled.book(), "apple", Scope(), 20).hits) == 10


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("DELETE FROM passages_fts WHERE rowid > 6", "4 of 10 passages"),
        ("UPDATE items SET forgotten_ms = 1 WHERE id > 7", "3 rows"),
    ],
)
def test_words_that_were_lost_or_left_behind(filled: Patient, behind: Behind, script: str, words: str) -> None:
    behind(script)
    found = failing([*index.examine(filled)])
    assert found.what == "words" and words in found.sentence and found.mend is not None
    assert "mended" in found.mend()
    assert states([*index.examine(filled)])["words"] == "ok"


def test_vectors_that_nobody_works_on(filled: Patient, behind: Behind) -> None:
    behind("DELETE FROM jobs WHERE id > 5; UPDATE jobs SET tries = 5 WHERE id = 1")
    found = failing([*index.examine(filled)])
    assert found.what == "vectors" and "6 of 10" in found.sentence and found.mend is not None
    assert "10 wait" in found.mend()
    assert states([*index.examine(filled)])["vectors"] == "remark"


def test_little_room_is_told(filled: Patient, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    free = next(one for one in store.examine(filled) if one.what == "disk")
    assert free.state == "ok" and "GB are free" in free.sentence
    monkeypatch.setattr(store, "LITTLE_ROOM", 2**62)
    assert states([*store.examine(filled)])["disk"] == "remark"
    monkeypatch.setattr(store, "NO_ROOM", 2**61)
    assert failing([*store.examine(filled)]).what == "disk"


def test_a_large_log_is_told(filled: Patient, monkeypatch: pytest.MonkeyPatch) -> None:
    filled.book()
    monkeypatch.setattr(store, "LARGE_LOG", -1)
    assert states([*store.examine(filled)])["log"] == "remark"


def test_a_check_that_takes_too_long_is_given_up(filled: Patient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "SECONDS", -1.0)
    book = filled.book()
    assert book is filled.book()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("commonplace.store.sqlite.database.PROGRESS_STEPS", 1)
        assert states([*index.examine(filled)]) == {"words": "remark"}
