"""Connections and hooks, tried for real; and each way in which they break, with what mends it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from commonplace.capture.hooks.spool import spool_of
from commonplace.doctor import connections, hooks
from commonplace.doctor.patient import Patient
from commonplace.hosts.connect.connection import connection
from commonplace.hosts.connect.editor import Server
from commonplace.hosts.connect.editors import editor_called
from commonplace.hosts.connect.places import Places
from commonplace.hosts.connect.plan import carry_out, plan_connection
from commonplace.hosts.connect.program import our_program
from commonplace.hosts.connect.wanted import Wanted, local_server
from commonplace.memory import keys
from commonplace.memory.book import open_book

from .conftest import failing, states

Connect = Callable[..., Places]


@pytest.fixture
def connect(patient: Patient) -> Connect:
    """Connects an editor, for everything or for one project."""

    def do(
        name: str, program: tuple[str, ...] | None = None, project: Path | None = None, server: Server | None = None
    ) -> Places:
        program = program or our_program()
        places = replace(patient.places[0], project=project)
        wanted = Wanted(server or local_server(program, "kiro", None), program)
        carry_out(plan_connection(editor_called(name), places, wanted), places)
        return places

    return do


def test_nothing_is_connected(patient: Patient) -> None:
    (found,) = connections.examine(patient)
    assert found.state == "remark" and "commonplace connect" in found.fix
    assert [*hooks.examine(patient)] == []


def test_what_is_installed_but_not_connected_is_a_remark(patient: Patient, home: Path) -> None:
    (home / ".claude").mkdir()
    (home / ".codex").mkdir()
    found = {one.what: one for one in connections.examine(patient)}
    assert {what: one.state for what, one in found.items()} == {"claude-code": "remark", "codex": "remark"}
    assert found["codex"].fix == "Run `commonplace connect codex`."


def test_what_is_connected_is_started_once_and_its_hooks_are_fired(patient: Patient, connect: Connect) -> None:
    connect("claude-code")
    connect("kiro")
    found = [*connections.examine(patient)]
    assert states(found) == {"claude-code": "ok", "kiro": "ok"}
    assert all("told 4 tools" in one.sentence for one in found)
    assert len(patient.answers) == 1
    fired = [*hooks.examine(patient)]
    assert states(fired) == {"claude-code": "ok", "kiro": "ok"}
    assert "fired 8 hooks" in fired[0].sentence
    # Nothing is left of it.
    assert not [*Path(spool_of(str(patient.settings.data_dir))).iterdir()]


def test_connections_of_a_project(patient: Patient, connect: Connect, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    patient.places = (*patient.places, connect("cursor", project=project))
    assert states([*connections.examine(patient)]) == {"cursor (project)": "ok"}


def test_a_command_that_is_gone_is_connected_anew(patient: Patient, connect: Connect, home: Path) -> None:
    gone = str(home / "old" / "commonplace")
    connect("claude-code", (gone,))
    connect("codex", (gone,))
    first, second = connections.examine(patient)
    assert {first.state, second.state} == {"failure"} and gone in first.sentence
    assert failing([first]).fix.startswith("Run `commonplace connect claude-code`")
    assert failing([one for one in hooks.examine(patient) if one.what == "codex"]).fix
    for finding in (first, second):
        assert finding.mend is not None and "connected anew" in finding.mend()
    assert states([*connections.examine(patient)]) == {"claude-code": "ok", "codex": "ok"}
    assert states([*hooks.examine(patient)]) == {"claude-code": "ok", "codex": "ok"}
    kept = connection(editor_called("claude-code"), patient.places[0])
    assert kept is not None and kept.args[-2:] == ("--profile", "kiro")


def test_a_server_that_does_not_start(patient: Patient, connect: Connect) -> None:
    broken = Server(sys.executable, ("-m", "commonplace", "mcp", "--profile", "nonsense"))
    connect("zed", server=broken)
    found = failing([*connections.examine(patient)])
    assert "gets no tools" in found.sentence and found.mend is None
    assert "--profile nonsense" in found.fix and "`commonplace connect zed`" in found.fix


@pytest.mark.parametrize("name", ["claude-code", "codex"])
def test_a_file_with_a_syntax_error(patient: Patient, connect: Connect, name: str) -> None:
    editor, places = editor_called(name), connect(name)
    file = editor.file(places)
    assert file is not None
    file.write_text(file.read_text(encoding="utf-8") + "\n}} = [", encoding="utf-8")
    found = failing([*connections.examine(patient)])
    assert found.what == name and str(file) in found.sentence and found.mend is None
    assert [*hooks.examine(patient)] == []


def test_a_broken_hook(patient: Patient, connect: Connect, home: Path) -> None:
    connect("claude-code")
    file = home / ".claude" / "settings.json"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace(our_program()[0], str(home / "gone" / "commonplace")), encoding="utf-8")
    assert states([*connections.examine(patient)]) == {"claude-code": "ok"}
    found = failing([*hooks.examine(patient)])
    assert "SessionStart" in found.sentence and "its event did not arrive" in found.sentence
    assert "`commonplace connect claude-code`" in found.fix and found.mend is not None
    found.mend()
    assert states([*hooks.examine(patient)]) == {"claude-code": "ok"}


def test_mending_hooks_keeps_the_address_of_a_server(patient: Patient, connect: Connect, home: Path) -> None:
    server = Server(url="http://127.0.0.1:9/mcp", key="sk-sekha-" + "0" * 48)
    connect("claude-code", (str(home / "gone" / "commonplace"),), server=server)
    before = (home / ".claude.json").read_bytes()
    found = failing([*hooks.examine(patient)])
    assert found.mend is not None
    found.mend()
    (found,) = hooks.examine(patient)
    assert found.state == "remark" and "own memory" in found.sentence
    assert (home / ".claude.json").read_bytes() == before


def test_hooks_that_capture_beside_a_server_elsewhere(patient: Patient, connect: Connect) -> None:
    book = open_book(patient.settings)
    secret = keys.create(book, "mine")[1]
    book.close()
    connect("claude-code", server=Server(url="https://memory.example/mcp?profile=core", key="sk-sekha-" + "0" * 48))
    (found,) = hooks.examine(patient)
    assert found.state == "remark" and str(patient.settings.data_dir) in found.sentence
    assert "https://memory.example/mcp," in found.sentence and "commonplace sync" in found.fix
    # A key of this memory shows that the server answers from it.
    connect("claude-code", server=Server(url="https://memory.example/mcp", key=secret))
    (found,) = hooks.examine(patient)
    assert "fired 8 hooks" in found.sentence


def test_a_hook_that_keeps_its_events_elsewhere(patient: Patient, connect: Connect, tmp_path: Path) -> None:
    connect("claude-code")
    patient.settings = replace(patient.settings, data_dir=tmp_path / "other")
    assert "did not arrive" in failing([*hooks.examine(patient)]).sentence


def test_no_hooks_is_a_remark_and_hooks_alone_a_failure(patient: Patient, connect: Connect, home: Path) -> None:
    connect("claude-code")
    (home / ".claude" / "settings.json").unlink()
    assert states([*hooks.examine(patient)]) == {"claude-code": "remark"}
    connect("claude-code")
    (home / ".claude.json").unlink()
    assert "no server" in failing([*connections.examine(patient)]).sentence


def test_somebody_elses_server_of_that_name_is_left_alone(patient: Patient, home: Path) -> None:
    entry = {"mcpServers": {"commonplace": {"command": "node", "args": ["other.js"]}}}
    (home / ".claude.json").write_text(json.dumps(entry), encoding="utf-8")
    assert states([*connections.examine(patient)]) == {"claude-code": "remark"}


def test_an_address_where_nobody_answers(patient: Patient, connect: Connect) -> None:
    connect("claude-code", server=Server(url="http://127.0.0.1:9/mcp", key="sk-sekha-" + "0" * 48))
    found = failing([*connections.examine(patient)])
    assert "nothing answers" in found.sentence and "commonplace serve" in found.fix
