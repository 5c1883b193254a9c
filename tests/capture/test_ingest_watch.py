"""Following sees what appears, grows and vanishes, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.capture.ingest_transcripts import SessionWatcher
from commonplace.memory.local_memory import LocalMemory

from .ingest_helpers import place, talk
from .transcripts.corpus import write


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return place(tmp_path)


def test_following_sees_what_appears_grows_and_vanishes(memory: LocalMemory, path: Path, tmp_path: Path) -> None:
    following = SessionWatcher([tmp_path / "projects"])
    assert following.changed() == []
    write(path, talk().records[:2])
    (path.parent / "other.json").write_text("{}", encoding="utf-8")
    assert [found.path for found in following.changed()] == [path]
    assert following.changed() == []
    write(path, talk().records)
    assert [found.path for found in following.changed()] == [path]
    path.unlink()
    assert following.changed() == []
    write(path, talk().records)
    assert [found.path for found in following.changed()] == [path]
