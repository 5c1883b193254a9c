"""The month that pages are looked at with holds everything that a page may have to show."""

from __future__ import annotations

from pathlib import Path

from tests.web.month import fill
from tests.web.month_sessions import PROJECTS, SESSIONS

from commonplace import config
from commonplace.library.memory import Memory
from commonplace.memory.local_memory import open_memory


def test_the_month_holds_everything_that_pages_show(tmp_path: Path) -> None:
    local = open_memory(config.load({"data_dir": str(tmp_path), "embedder": "off"}))
    fill(local)
    memory = Memory.over(local)
    assert {project.name for project in memory.projects()} == set(PROJECTS)
    assert len(memory.sessions(limit=100).sessions) >= len(SESSIONS)
    assert len(memory.proposals().items) >= 3
    assert {pair.reason for pair in memory.open_contradictions(twins=True)} >= {"number", "same"}
    types = {item.type for item in memory.list(kind="memory", limit=100).items}
    assert types >= {"decision", "rule", "constraint", "rejected", "fact", "heuristic", "skill"}
    authors = {item.author for item in memory.list(limit=100).items}
    assert {"anna", "tom", "anna via claude-code", "tom via cursor"} <= authors
    assert any(memory.history(item.id) for item in memory.list(type="decision", limit=100).items)
    assert all(memory.report(project, since="30d").open_ends for project in PROJECTS)
    local.close()
