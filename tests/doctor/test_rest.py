"""Model, spool, permissions and versions: what is well, what is not, and what mends it."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

import commonplace
from commonplace.capture.hooks.spool import leave, note, record, spool_of
from commonplace.doctor import model, permissions, spool, versions
from commonplace.doctor.asking import Answer
from commonplace.doctor.patient import Patient, patient_here

from .conftest import failing, states

NEEDS_MODES = pytest.mark.skipif(os.name != "posix", reason="permissions are others there")


def test_the_built_in_model_works_and_the_memory_is_not_touched(patient: Patient) -> None:
    patient.settings = replace(patient.settings, embedder="builtin")
    (found,) = model.examine(patient)
    assert found.state == "ok" and "384 numbers" in found.sentence
    assert not patient.settings.data_dir.exists()


def test_a_model_that_is_off_is_a_remark(patient: Patient) -> None:
    assert states([*model.examine(patient)]) == {"model": "remark"}


def test_an_endpoint_that_nobody_answers_at(patient: Patient) -> None:
    patient.settings = replace(
        patient.settings,
        embedder="endpoint",
        endpoint_url="http://127.0.0.1:9/v1",
        endpoint_model="some-model",
        endpoint_timeout=5.0,
    )
    found = failing([*model.examine(patient)])
    assert "some-model" in found.sentence and "endpoint_url" in found.fix


def leave_event(patient: Patient, at_ms: int = 0, payload: bytes = b"{}") -> None:
    fields = ("claude-code", "UserPromptSubmit", str(at_ms), "/", "", str(len(payload)), "whole")
    name = f"{(at_ms or time.time_ns() // 1_000_000) * 1_000_000:020d}-1-{os.urandom(4).hex()}"
    leave(spool_of(str(patient.settings.data_dir)), record(fields, payload), name=name)


def test_a_spool_with_nothing_in_it(patient: Patient) -> None:
    assert states([*spool.examine(patient)]) == {"waiting": "ok"}


def test_what_waits_is_a_remark_and_what_waits_for_long_a_failure(filled: Patient) -> None:
    now = time.time_ns() // 1_000_000
    leave_event(filled, now, b'{"session_id": "s", "prompt": "Why is the build so slow today?"}')
    (found,) = spool.examine(filled)
    assert found.state == "remark" and "1 events wait" in found.sentence
    leave_event(filled, now - 3 * 86_400_000, b'{"session_id": "s", "prompt": "Which port does the server use?"}')
    late = failing([*spool.examine(filled)])
    assert "3 d ago" in late.sentence and late.mend is not None
    assert "2 events were remembered" in late.mend()
    assert states([*spool.examine(filled)]) == {"waiting": "ok"}


def test_refused_events_and_failed_hooks_are_counted_until_they_were_seen(filled: Patient) -> None:
    folder = spool_of(str(filled.settings.data_dir))
    leave(folder, b"no event of ours")
    (waiting,) = spool.examine(filled)
    assert waiting.mend is not None and "0 events were remembered" in waiting.mend()
    note(folder, "hook", "disk-full")
    note(folder, "hook", "disk-full")
    found = {finding.what: finding for finding in spool.examine(filled)}
    assert {what: finding.state for what, finding in found.items()} == {
        "waiting": "ok",
        "hooks": "failure",
        "refused": "failure",
    }
    assert "disk-full 2" in found["hooks"].sentence and "Make room" in found["hooks"].fix
    assert "refused" in found["refused"].fix and found["refused"].mend is not None
    found["refused"].mend()
    assert states([*spool.examine(filled)]) == {"waiting": "ok"}


def test_what_killed_hooks_left_is_swept_away(filled: Patient) -> None:
    leave_event(filled)
    folder = Path(spool_of(str(filled.settings.data_dir)))
    for name in ("1-a.part", "2-b.sample", "3-c.part"):
        (folder / name).touch()
    assert states([*spool.examine(filled)]) == {"waiting": "remark"}
    for name in ("1-a.part", "2-b.sample"):
        os.utime(folder / name, (1, 1))
    found = {one.what: one for one in spool.examine(filled)}["leftovers"]
    assert found.state == "remark" and "2 files" in found.sentence and found.mend is not None
    found.mend()
    assert states([*spool.examine(filled)]) == {"waiting": "remark"}
    assert (folder / "3-c.part").exists()


def test_a_session_that_was_told_nothing_is_a_remark(filled: Patient) -> None:
    folder = spool_of(str(filled.settings.data_dir))
    note(folder, "hook", "opening-too-slow")
    note(folder, "hook", "opening-DB_CORRUPT")
    (_waiting, told) = spool.examine(filled)
    assert (told.what, told.state) == ("openings", "remark") and told.sentence.startswith("2 sessions started without")


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="no links")
def test_a_spool_that_is_a_link_is_not_used(filled: Patient, tmp_path: Path) -> None:
    (filled.settings.data_dir / "spool").symlink_to(tmp_path)
    assert failing([*spool.examine(filled)]).what == "folder"


@NEEDS_MODES
def test_files_that_others_may_read_are_closed(filled: Patient) -> None:
    data = filled.settings.data_dir
    assert states([*permissions.examine(filled)]) == {"files": "ok"}
    (data / "backups").mkdir(mode=0o700)
    for name in ("api-key", "backups/old.db"):
        (data / name).touch()
        (data / name).chmod(0o644)
    leave_event(filled)
    for folder in ("", "backups", "spool"):
        (data / folder).chmod(0o755)
    filled.settings.database.chmod(0o640)
    found = failing([*permissions.examine(filled)])
    assert "chmod" in found.fix and found.mend is not None
    assert "6 files and folders" in found.mend()
    assert states([*permissions.examine(filled)]) == {"files": "ok"}
    assert data.stat().st_mode & 0o777 == 0o700
    assert filled.settings.database.stat().st_mode & 0o777 == 0o600


@NEEDS_MODES
def test_nothing_there_is_nothing_to_close(patient: Patient) -> None:
    assert [*permissions.examine(patient)] == []


def test_settings_that_do_not_hold_are_a_failure_and_the_rest_goes_on(
    filled: Patient, monkeypatch: pytest.MonkeyPatch
) -> None:
    (filled.settings.data_dir / "config.toml").write_text("profile = 'none'\n", encoding="utf-8")
    other = patient_here()
    assert other.settings.data_dir == filled.settings.data_dir
    found = failing([*versions.examine(other)])
    assert found.what == "settings" and "profile" in found.sentence
    assert other.opens()
    other.close()


def test_another_version_in_an_editor_is_a_remark(patient: Patient) -> None:
    patient.answers["a"] = Answer("", ("search",), commonplace.__version__)
    assert set(states([*versions.examine(patient)]).values()) == {"ok"}
    patient.answers["b"] = Answer("", ("search",), "0.0.1")
    assert states([*versions.examine(patient)])["editors"] == "remark"


def test_the_places_of_a_project_are_looked_at_too(tmp_path: Path) -> None:
    found = patient_here(str(tmp_path / "data"), tmp_path)
    assert [places.project for places in found.places] == [None, tmp_path]
    assert found.settings.data_dir == tmp_path / "data"
