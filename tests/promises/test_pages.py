"""What the pages for users promise without exception is proved by a test, and what is proved stands there."""

from __future__ import annotations

import re

import pytest
from tests.promises.pages import PAGES
from tests.security.named import ROOT, source_of

ABSOLUTE = re.compile(r"\b(?:always|never|nothing|at most|byte for byte)\b", re.IGNORECASE)


def running_text(name: str) -> str:
    """A page on one line, without its blocks of code."""
    text = (ROOT / name).read_text(encoding="utf-8")
    return " ".join(re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL).split())


def test_no_page_for_users_is_left_out() -> None:
    folders = (ROOT / "docs", ROOT / "docs" / "start", ROOT / "docs" / "use")
    pages = {page.relative_to(ROOT).as_posix() for folder in folders for page in folder.glob("*.md")}
    assert pages | {"README.md"} == PAGES.keys()


@pytest.mark.parametrize("name", PAGES)
def test_every_absolute_word_belongs_to_a_promise_with_its_proof(name: str) -> None:
    text = running_text(name)
    covered = [range(at, at + len(says)) for says in PAGES[name] if (at := text.find(says)) >= 0]
    bare = [found for found in ABSOLUTE.finditer(text) if not any(found.start() in span for span in covered)]
    assert [text[max(0, found.start() - 60) : found.end() + 60] for found in bare] == []


@pytest.mark.parametrize("name", PAGES)
def test_what_is_proved_is_promised_and_its_test_exists(name: str) -> None:
    text = running_text(name)
    assert [says for says in PAGES[name] if says not in text] == []
    assert [id_ for proofs in PAGES[name].values() for id_ in proofs if not source_of(id_)] == []
