"""The page of threats: every line names a test, and every test that it names exists."""

from __future__ import annotations

import re

import pytest
from tests.security.named import ROOT, source_of

PAGE = (ROOT / "docs" / "inside" / "security.md").read_text(encoding="utf-8")
LINES = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith("| threat")]


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.split("|")[1].strip()[:60])
def test_what_holds_a_threat_off_is_proven_by_a_test(line: str) -> None:
    named = re.findall(r"`(tests/[^`]+)`", line)
    assert named and all(source_of(id_) for id_ in named)


def test_the_page_has_its_lines() -> None:
    assert len(LINES) > 15
