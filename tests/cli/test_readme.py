"""The README's demonstration does what the README says of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .conftest import Run
from .test_help import execute

README = Path(__file__).parents[2] / "README.md"


def test_the_examples_find_what_they_claim_to(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMONPLACE_EMBEDDER", "builtin")
    (block,) = re.findall(r"```console\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    lines = [line.removeprefix("$ ") for line in block.splitlines()]
    adding, asking = lines[:2], lines[2:4]
    for line in adding:
        assert execute(line, run).code == 0
    by_meaning, strict = (execute(f"{line} --json", run).data["results"] for line in asking)
    assert [hit["type"] for hit in by_meaning] == ["decision"]
    assert [hit["type"] for hit in strict] == ["rejected"]
    context = execute(lines[4], run)
    assert context.code == 0 and "JWT cookie" in context.out and "MongoDB" in context.out
