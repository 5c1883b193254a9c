"""One verb, one behaviour: what is said again gets its new tags and metadata, through whichever door it comes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.rest.conftest import Site, running, settings_in

from commonplace import Memory
from commonplace.cli.main import run
from commonplace.dialects.tool_profiles import ALL

Door = Callable[[Site, str], None]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with running(settings_in(tmp_path_factory.mktemp("site"))) as site:
        yield site


def by_library(site: Site, text: str) -> None:
    Memory.over(site.memory).remember(text, tags=["again"], metadata={"root": "/work"}, type="rule", project="works")


def by_server(site: Site, text: str) -> None:
    with Memory(site.url, key=site.secrets["write"]) as memory:
        memory.remember(text, tags=["again"], metadata={"root": "/work"}, type="rule", project="works")


def by_rest(site: Site, text: str) -> None:
    body = {"content": text, "tags": ["again"], "metadata": {"root": "/work"}, "type": "rule", "project": "works"}
    with site.client("write") as client:
        assert client.post("/api/v1/items", json=body).json()["duplicate"] is True


def by_tool(site: Site, text: str) -> None:
    tool = next(one for one in ALL if one.name == "add_memory")
    given = {"content": text, "tags": ["again"], "metadata": {"root": "/work"}, "type": "rule", "project_id": "works"}
    assert tool.run(site.memory, given).data["duplicate"] is True


@pytest.mark.parametrize("door", [by_library, by_server, by_rest, by_tool], ids=lambda door: door.__name__)
def test_what_is_said_again_gets_what_is_new(site: Site, door: Door) -> None:
    library = Memory.over(site.memory)
    text = f"Valves are checked {door.__name__.replace('_', ' ')}"
    first = library.remember(text, tags=["first"], metadata={"by": "ann"}, type="rule", project="works")
    door(site, text)
    item = library.get(first.id)
    assert set(item.tags) == {"first", "again"} and item.meta == {"by": "ann", "root": "/work"}


def test_the_command_line_keeps_metadata_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "repository" / ".git").mkdir(parents=True)
    folder = str(tmp_path / "data")
    with Memory(folder, embedder="off") as memory:
        item = memory.remember("Valves are checked", files_modified=["src/valves.py"], metadata={"by": "ann"})
    monkeypatch.chdir(tmp_path / "repository")
    monkeypatch.setenv("COMMONPLACE_EMBEDDER", "off")
    arguments = ["--data-dir", folder, "add", "Valves are checked", "--global", "--files-modified", "src/valves.py"]
    assert run([*arguments, "--tag", "again"]) == 0 and "Already known" in capsys.readouterr().out
    with Memory(folder, embedder="off") as memory:
        again = memory.get(item.id)
    assert again.tags == ("again",) and again.meta["by"] == "ann" and "root" in again.meta
