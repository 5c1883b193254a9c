"""What judges are expected to say is well-formed, and explains no more than it says."""

from __future__ import annotations

import re

import pytest
from judges.__main__ import JUDGES
from judges.expectations import EXPECTED, Expected
from judges.installed import LISTS, LOCKS, pinned, version
from judges.report import Finding, Report, judged, output

FOUND = Finding("product 2026-07-28", "ping:pong", "It did not answer.")


def report(*findings: Finding, checks: int = 3) -> Report:
    return Report("conformance", "1", checks, findings)


def expected(**more: object) -> Expected:
    fields = {"judge": "conformance", "where": "product *", "check": "ping:*", "text": "not answer", "reason": "So."}
    return Expected(**fields | more)  # type: ignore[arg-type]


@pytest.mark.parametrize("one", EXPECTED, ids=lambda one: f"{one.judge} {one.where} {one.check}")
def test_every_expectation_is_of_a_known_judge_and_has_a_reason(one: Expected) -> None:
    assert one.judge in JUDGES
    assert one.where and one.check
    re.compile(one.text)
    assert one.reason.endswith(".") and len(one.reason) > 20


def test_no_two_expectations_are_the_same() -> None:
    assert len({(one.judge, one.where, one.check, one.text) for one in EXPECTED}) == len(EXPECTED)


def test_what_nobody_expected_is_a_failure() -> None:
    verdict = judged(report(FOUND), ())
    assert verdict.failures == (FOUND,) and not verdict.clean
    assert "FAILED conformance | product 2026-07-28 | ping:pong | It did not answer." in output([verdict])


def test_what_was_expected_is_told_with_its_reason() -> None:
    verdict = judged(report(FOUND), (expected(),))
    assert verdict.clean and verdict.explained == ((FOUND, expected()),)
    assert "expected conformance | 1 x | So." in output([verdict])


@pytest.mark.parametrize("other", [{"where": "fixtures *"}, {"check": "pin"}, {"text": "timed out"}, {"judge": "axe"}])
def test_an_expectation_explains_nothing_else(other: dict[str, str]) -> None:
    assert judged(report(FOUND), (expected(**other),)).failures == (FOUND,)


def test_an_expectation_that_nothing_needs_is_out_of_date() -> None:
    assert judged(report(), (expected(),)).unmet == (expected(),)
    assert judged(report(), (expected(by_chance=True),)).clean


def test_a_judge_that_checked_nothing_is_not_content() -> None:
    assert not judged(report(checks=0), ()).clean


def test_every_version_is_pinned_and_no_list_names_a_server() -> None:
    for package, digest in pinned():
        assert re.fullmatch(r"(?:@[\w-]+/)?[\w-]+@\d[\w.-]*", package) and digest.startswith("sha512-")
    for environment, lock in LOCKS.items():
        wanted = lock.with_suffix(".txt").read_text(encoding="utf-8").splitlines()
        for name, _, number in (line.partition("==") for line in wanted if not line.startswith("#")):
            assert number and version(name, environment) == number
    for path in LISTS:
        assert "://" not in path.read_text(encoding="utf-8")
