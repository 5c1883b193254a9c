"""The checkup: areas do not spoil each other, and mending goes on past what cannot be mended."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from commonplace.doctor import checkup as module
from commonplace.doctor.checkup import NAMES, fix_findings, run_checks
from commonplace.doctor.doctor_context import DoctorContext, Finding, failure, ok, remark
from commonplace.errors import StoreFull


def test_every_area_is_examined_in_order(context: DoctorContext) -> None:
    areas = "store index model connections hooks recall spool resident permissions versions"
    assert " ".join(NAMES) == areas
    found = [*run_checks(context)]
    assert not [one for one in found if one.state == "failure"]
    assert [*dict.fromkeys(one.area for one in found)] == [
        *("store", "model", "connections", "recall", "spool", "resident", "versions")
    ]
    assert {one.area for one in run_checks(context, ["spool"])} == {"spool"}


def test_an_area_that_raises_is_a_failure_and_the_others_go_on(
    context: DoctorContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_context: DoctorContext) -> Iterator[Finding]:
        yield ok("first", "It is well.")
        raise ValueError("what is this")

    def full(_context: DoctorContext) -> list[Finding]:
        raise StoreFull("The disk is full.", "Free some space.")

    areas = (("one", broken), ("two", full), ("three", lambda _context: [ok("it", "It is well.")]))
    monkeypatch.setattr(module, "AREAS", areas)
    found = [*run_checks(context)]
    assert [(one.area, one.what, one.state) for one in found] == [
        ("one", "first", "ok"),
        ("one", "examination", "failure"),
        ("two", "examination", "failure"),
        ("three", "it", "ok"),
    ]
    assert "ValueError: what is this" in found[1].sentence
    assert (found[2].sentence, found[2].advice) == ("The disk is full.", "Free some space.")


def test_mending_goes_on_past_what_cannot_be_mended() -> None:
    def full() -> str:
        raise StoreFull("The disk is full.", "Free some space.")

    def wrong() -> str:
        raise OSError("no")

    findings = [
        failure("full", "x", "y", full),
        failure("wrong", "x", "y", wrong),
        failure("by hand", "x", "y"),
        remark("small", "x", "y", lambda: "It is done."),
    ]
    assert [(finding.what, done) for finding, done in fix_findings(findings)] == [
        ("full", "It could not be fixed: The disk is full. Free some space."),
        ("wrong", "It could not be fixed: OSError: no"),
        ("small", "It is done."),
    ]
