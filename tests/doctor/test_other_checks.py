"""Model, spool, permissions and versions: what is well, what is not, and what mends it."""

from __future__ import annotations

import os
import re
import time
from dataclasses import replace
from pathlib import Path

import pytest

import commonplace
from commonplace.doctor import checkup, editor_checks, memory_checks
from commonplace.doctor.doctor_context import DoctorContext, doctor_context
from commonplace.doctor.mcp_probe import ProbeResult
from commonplace.fast.spool import count_failure, encode_record, spool_folder, write_event

from .conftest import failing, states

NEEDS_MODES = pytest.mark.skipif(os.name != "posix", reason="permissions are others there")


def test_the_built_in_model_works_and_the_memory_is_not_touched(context: DoctorContext) -> None:
    context.settings = replace(context.settings, embedder="builtin")
    (found,) = memory_checks.check_model(context)
    assert found.state == "ok" and "384 numbers" in found.sentence
    assert not context.settings.data_dir.exists()


def test_a_model_that_is_off_is_a_remark(context: DoctorContext) -> None:
    assert states([*memory_checks.check_model(context)]) == {"model": "remark"}


def test_an_endpoint_that_nobody_answers_at(context: DoctorContext) -> None:
    context.settings = replace(
        context.settings,
        embedder="endpoint",
        endpoint_url="http://127.0.0.1:9/v1",
        endpoint_model="some-model",
        endpoint_timeout=5.0,
    )
    found = failing([*memory_checks.check_model(context)])
    assert "some-model" in found.sentence and "endpoint_url" in found.advice


def leave_event(context: DoctorContext, at_ms: int = 0, payload: bytes = b"{}") -> None:
    fields = ("claude-code", "UserPromptSubmit", str(at_ms), "/", "", str(len(payload)), "whole")
    name = f"{(at_ms or time.time_ns() // 1_000_000) * 1_000_000:020d}-1-{os.urandom(4).hex()}"
    write_event(spool_folder(str(context.settings.data_dir)), encode_record(fields, payload), name=name)


def test_a_spool_with_nothing_in_it(context: DoctorContext) -> None:
    assert states([*editor_checks.check_spool(context)]) == {"waiting": "ok"}


def test_what_waits_is_a_remark_and_what_waits_for_long_a_failure(filled: DoctorContext) -> None:
    now = time.time_ns() // 1_000_000
    leave_event(filled, now, b'{"session_id": "s", "prompt": "Why is the build so slow today?"}')
    (found,) = editor_checks.check_spool(filled)
    assert found.state == "remark" and "1 event is waiting" in found.sentence
    leave_event(filled, now - 3 * 86_400_000, b'{"session_id": "s", "prompt": "Which port does the server use?"}')
    late = failing([*editor_checks.check_spool(filled)])
    assert "3 d ago" in late.sentence and late.fix is not None
    assert "2 events were stored" in late.fix()
    assert states([*editor_checks.check_spool(filled)]) == {"waiting": "ok"}


def test_refused_events_and_failed_hooks_are_counted_until_they_were_seen(filled: DoctorContext) -> None:
    folder = spool_folder(str(filled.settings.data_dir))
    write_event(folder, b"no event of ours")
    (waiting,) = editor_checks.check_spool(filled)
    assert waiting.fix is not None and "0 events were stored" in waiting.fix()
    count_failure(folder, "hook", "disk-full")
    count_failure(folder, "hook", "disk-full")
    found = {finding.what: finding for finding in editor_checks.check_spool(filled)}
    assert {what: finding.state for what, finding in found.items()} == {
        "waiting": "ok",
        "hooks": "failure",
        "refused": "failure",
    }
    assert "disk-full 2" in found["hooks"].sentence and "Free some space" in found["hooks"].advice
    assert "refused" in found["refused"].advice and found["refused"].fix is not None
    found["refused"].fix()
    assert states([*editor_checks.check_spool(filled)]) == {"waiting": "ok"}


def test_what_killed_hooks_left_is_swept_away(filled: DoctorContext) -> None:
    leave_event(filled)
    folder = Path(spool_folder(str(filled.settings.data_dir)))
    for name in ("1-a.part", "2-b.sample", "3-c.part"):
        (folder / name).touch()
    assert states([*editor_checks.check_spool(filled)]) == {"waiting": "remark"}
    for name in ("1-a.part", "2-b.sample"):
        os.utime(folder / name, (1, 1))
    found = {one.what: one for one in editor_checks.check_spool(filled)}["leftovers"]
    assert found.state == "remark" and "2 partial files" in found.sentence and found.fix is not None
    found.fix()
    assert states([*editor_checks.check_spool(filled)]) == {"waiting": "remark"}
    assert (folder / "3-c.part").exists()


def test_a_session_that_was_told_nothing_is_a_remark(filled: DoctorContext) -> None:
    folder = spool_folder(str(filled.settings.data_dir))
    count_failure(folder, "hook", "opening-too-slow")
    count_failure(folder, "hook", "opening-DB_CORRUPT")
    (_waiting, report) = editor_checks.check_spool(filled)
    assert (report.what, report.state) == ("openings", "remark")
    assert re.match(
        r"2 sessions started without memories \(too-slow 1, DB_CORRUPT 1\)\. The last was (now|\d+ \w+ ago)",
        report.sentence,
    )
    assert report.advice.startswith("Nothing was lost") and report.fix is not None
    report.fix()
    for _ in range(3):
        count_failure(folder, "hook", "opening-too-slow")
    count_failure(folder, "hook", "hint-DB_BUSY")
    sentences = {one.what: one.sentence.partition(". ")[0] for one in editor_checks.check_spool(filled)}
    assert sentences["openings"] == "3 sessions started without memories: reading them took over a second"
    assert sentences["hints"] == "Hooks could not look up what to show once (DB_BUSY 1)"


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="no links")
def test_a_spool_that_is_a_link_is_not_used(filled: DoctorContext, tmp_path: Path) -> None:
    (filled.settings.data_dir / "spool").symlink_to(tmp_path)
    assert failing([*editor_checks.check_spool(filled)]).what == "folder"


@NEEDS_MODES
def test_files_that_others_may_read_are_closed(filled: DoctorContext) -> None:
    data = filled.settings.data_dir
    assert states([*memory_checks.check_permissions(filled)]) == {"files": "ok"}
    (data / "backups").mkdir(mode=0o700)
    for name in ("api-key", "backups/old.db"):
        (data / name).touch()
        (data / name).chmod(0o644)
    leave_event(filled)
    for folder in ("", "backups", "spool"):
        (data / folder).chmod(0o755)
    filled.settings.database.chmod(0o640)
    found = failing([*memory_checks.check_permissions(filled)])
    assert "chmod" in found.advice and found.fix is not None
    assert "6 files and folders" in found.fix()
    assert states([*memory_checks.check_permissions(filled)]) == {"files": "ok"}
    assert data.stat().st_mode & 0o777 == 0o700
    assert filled.settings.database.stat().st_mode & 0o777 == 0o600


@NEEDS_MODES
def test_nothing_there_is_nothing_to_close(context: DoctorContext) -> None:
    assert [*memory_checks.check_permissions(context)] == []


def test_settings_that_do_not_hold_are_a_failure_and_the_rest_goes_on(
    filled: DoctorContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    (filled.settings.data_dir / "config.toml").write_text("profile = 'none'\n", encoding="utf-8")
    other = doctor_context()
    assert other.settings.data_dir == filled.settings.data_dir
    found = failing([*checkup.check_versions(other)])
    assert found.what == "settings" and "profile" in found.sentence
    assert other.can_open()
    other.close()


def test_another_version_in_an_editor_is_a_remark(context: DoctorContext) -> None:
    context.answers["a"] = ProbeResult("", ("search",), commonplace.__version__)
    assert set(states([*checkup.check_versions(context)]).values()) == {"ok"}
    context.answers["b"] = ProbeResult("", ("search",), "0.0.1")
    assert states([*checkup.check_versions(context)])["editors"] == "remark"


def test_the_places_of_a_project_are_looked_at_too(tmp_path: Path) -> None:
    found = doctor_context(str(tmp_path / "data"), tmp_path)
    assert [locations.project for locations in found.locations] == [None, tmp_path]
    assert found.settings.data_dir == tmp_path / "data"
