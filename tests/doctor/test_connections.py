"""Connections and hooks, tried for real; and each way in which they break, with what mends it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from commonplace.capture.hooks.spool_reader import spool_state
from commonplace.doctor import editor_checks
from commonplace.doctor.doctor_context import DoctorContext
from commonplace.fast.session_hints import SessionHints, hint_files
from commonplace.fast.spool import spool_folder
from commonplace.hosts.connections import (
    DesiredConnection,
    apply_plan,
    commonplace_program,
    local_server,
    plan_connection,
    read_connection,
)
from commonplace.hosts.host import Locations, Server, editor_named
from commonplace.memory import api_keys
from commonplace.memory.local_memory import open_memory

from .conftest import failing, states

Connect = Callable[..., Locations]


@pytest.fixture
def connect(context: DoctorContext) -> Connect:
    """Connects an editor, for everything or for one project."""

    def do(
        name: str, program: tuple[str, ...] | None = None, project: Path | None = None, server: Server | None = None
    ) -> Locations:
        program = program or commonplace_program()
        locations = replace(context.locations[0], project=project)
        wanted = DesiredConnection(server or local_server(program, "kiro", None), program)
        apply_plan(plan_connection(editor_named(name), locations, wanted), locations)
        return locations

    return do


def test_nothing_is_connected(context: DoctorContext) -> None:
    (found,) = editor_checks.check_connections(context)
    assert found.state == "remark" and "commonplace connect" in found.advice
    assert [*editor_checks.check_hooks(context)] == []


def test_what_is_installed_but_not_connected_is_a_remark(context: DoctorContext, home: Path) -> None:
    (home / ".claude").mkdir()
    (home / ".codex").mkdir()
    found = {one.what: one for one in editor_checks.check_connections(context)}
    assert {what: one.state for what, one in found.items()} == {"claude-code": "remark", "codex": "remark"}
    assert found["codex"].advice == "Run `commonplace connect codex`."


def test_what_is_connected_is_started_once_and_its_hooks_are_fired(context: DoctorContext, connect: Connect) -> None:
    connect("claude-code")
    connect("kiro")
    found = [*editor_checks.check_connections(context)]
    assert states(found) == {"claude-code": "ok", "kiro": "ok"}
    assert all("listed 4 tools" in one.sentence for one in found)
    assert len(context.answers) == 1
    fired = [*editor_checks.check_hooks(context)]
    assert states(fired) == {"claude-code": "ok", "kiro": "ok"}
    assert "ran 10 hooks" in fired[0].sentence
    # Nothing is left of it.
    assert not [*Path(spool_folder(str(context.settings.data_dir))).iterdir()]


def test_what_the_doctor_tries_is_no_failure_of_a_session(
    filled: DoctorContext, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own session starts may come too late on a busy machine; nobody was without anything."""
    connect("claude-code")
    monkeypatch.setenv("COMMONPLACE_HOOKS_SECONDS", "0.001")
    assert states([*editor_checks.check_hooks(filled)]).keys() == {"claude-code"}
    monkeypatch.delenv("COMMONPLACE_HOOKS_SECONDS")
    assert states([*editor_checks.check_hooks(filled)]).keys() == {"claude-code"}
    assert spool_state(filled.settings).hook_failures == {}
    assert states([*editor_checks.check_spool(filled)]) == {"waiting": "ok"}
    assert hint_files(str(filled.settings.data_dir)) == []


def test_connections_of_a_project(context: DoctorContext, connect: Connect, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    context.locations = (*context.locations, connect("cursor", project=project))
    assert states([*editor_checks.check_connections(context)]) == {"cursor (project)": "ok"}


def test_a_command_that_is_gone_is_connected_anew(context: DoctorContext, connect: Connect, home: Path) -> None:
    gone = str(home / "old" / "commonplace")
    connect("claude-code", (gone,))
    connect("codex", (gone,))
    first, second = editor_checks.check_connections(context)
    assert {first.state, second.state} == {"failure"} and gone in first.sentence
    assert failing([first]).advice.startswith("Run `commonplace connect claude-code`")
    assert failing([one for one in editor_checks.check_hooks(context) if one.what == "codex"]).advice
    for finding in (first, second):
        assert finding.fix is not None and "connected again" in finding.fix()
    assert states([*editor_checks.check_connections(context)]) == {"claude-code": "ok", "codex": "ok"}
    assert states([*editor_checks.check_hooks(context)]) == {"claude-code": "ok", "codex": "ok"}
    stored = read_connection(editor_named("claude-code"), context.locations[0])
    assert stored is not None and stored.args[-2:] == ("--profile", "kiro")


def test_a_server_that_does_not_start(context: DoctorContext, connect: Connect) -> None:
    broken = Server(sys.executable, ("-m", "commonplace", "mcp", "--profile", "nonsense"))
    connect("zed", server=broken)
    found = failing([*editor_checks.check_connections(context)])
    assert "gets no tools" in found.sentence and found.fix is None
    assert "--profile nonsense" in found.advice and "`commonplace connect zed`" in found.advice


@pytest.mark.parametrize("name", ["claude-code", "codex"])
def test_a_file_with_a_syntax_error(context: DoctorContext, connect: Connect, name: str) -> None:
    editor, locations = editor_named(name), connect(name)
    file = editor.mcp.file(locations)
    assert file is not None
    file.write_text(file.read_text(encoding="utf-8") + "\n}} = [", encoding="utf-8")
    found = failing([*editor_checks.check_connections(context)])
    assert found.what == name and str(file) in found.sentence and found.fix is None
    assert [*editor_checks.check_hooks(context)] == []


def test_a_broken_hook(context: DoctorContext, connect: Connect, home: Path) -> None:
    connect("claude-code")
    file = home / ".claude" / "settings.json"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace(commonplace_program()[0], str(home / "gone" / "commonplace")), encoding="utf-8")
    assert states([*editor_checks.check_connections(context)]) == {"claude-code": "ok"}
    found = failing([*editor_checks.check_hooks(context)])
    assert "SessionStart" in found.sentence and "its event did not arrive" in found.sentence
    assert "`commonplace connect claude-code`" in found.advice and found.fix is not None
    found.fix()
    assert states([*editor_checks.check_hooks(context)]) == {"claude-code": "ok"}


def test_mending_hooks_keeps_the_address_of_a_server(context: DoctorContext, connect: Connect, home: Path) -> None:
    server = Server(url="http://127.0.0.1:9/mcp", key="sk-sekha-" + "0" * 48)
    connect("claude-code", (str(home / "gone" / "commonplace"),), server=server)
    before = (home / ".claude.json").read_bytes()
    found = failing([*editor_checks.check_hooks(context)])
    assert found.fix is not None
    found.fix()
    (found,) = editor_checks.check_hooks(context)
    # They send to it now, and nobody answers there.
    assert found.state == "failure" and "does not reach http://127.0.0.1:9/mcp" in found.sentence
    assert found.fix is None and (home / ".claude.json").read_bytes() == before


def test_hooks_that_capture_here_though_the_server_is_elsewhere(context: DoctorContext, connect: Connect) -> None:
    memory = open_memory(context.settings)
    secret = api_keys.create_key(memory, "mine")[1]
    memory.close()
    connect("claude-code", server=Server(url="https://memory.example/mcp?profile=core", key="sk-sekha-" + "0" * 48))
    (found,) = editor_checks.check_hooks(context)
    assert found.state == "failure" and "did not arrive" in found.sentence and found.fix is not None
    # A key of this memory shows that the server answers from it.
    connect("claude-code", server=Server(url="https://memory.example/mcp", key=secret))
    (found,) = editor_checks.check_hooks(context)
    assert "ran 10 hooks" in found.sentence


def test_a_hook_that_keeps_its_events_elsewhere(context: DoctorContext, connect: Connect, tmp_path: Path) -> None:
    connect("claude-code")
    context.settings = replace(context.settings, data_dir=tmp_path / "other")
    assert "did not arrive" in failing([*editor_checks.check_hooks(context)]).sentence


def test_no_hooks_is_a_remark_and_hooks_alone_a_failure(context: DoctorContext, connect: Connect, home: Path) -> None:
    connect("claude-code")
    (home / ".claude" / "settings.json").unlink()
    assert states([*editor_checks.check_hooks(context)]) == {"claude-code": "remark"}
    connect("claude-code")
    (home / ".claude.json").unlink()
    assert "no server" in failing([*editor_checks.check_connections(context)]).sentence


def test_somebody_elses_server_of_that_name_is_left_alone(context: DoctorContext, home: Path) -> None:
    entry = {"mcpServers": {"commonplace": {"command": "node", "args": ["other.js"]}}}
    (home / ".claude.json").write_text(json.dumps(entry), encoding="utf-8")
    assert states([*editor_checks.check_connections(context)]) == {"claude-code": "remark"}


def test_an_address_where_nobody_answers(context: DoctorContext, connect: Connect) -> None:
    connect("claude-code", server=Server(url="http://127.0.0.1:9/mcp", key="sk-sekha-" + "0" * 48))
    found = failing([*editor_checks.check_connections(context)])
    assert "nothing answers" in found.sentence and "commonplace serve" in found.advice


def test_an_editor_that_an_older_version_connected_gets_the_hooks_that_are_new(
    context: DoctorContext, connect: Connect, home: Path
) -> None:
    connect("claude-code")
    settings = home / ".claude" / "settings.json"
    before = json.loads(settings.read_text(encoding="utf-8"))
    older = {event: entry for event, entry in before["hooks"].items() if event != "PreToolUse"}
    settings.write_text(json.dumps({**before, "hooks": older}), encoding="utf-8")
    (found,) = editor_checks.check_hooks(context)
    assert found.state == "remark" and "PreToolUse" in found.sentence and found.fix is not None
    found.fix()
    assert json.loads(settings.read_text(encoding="utf-8")) == before
    assert states([*editor_checks.check_hooks(context)]) == {"claude-code": "ok"}


def test_what_hooks_showed_and_what_was_used_is_told(context: DoctorContext) -> None:
    (nothing,) = editor_checks.check_recall(context)
    assert "have not shown" in nothing.sentence and "hooks_recall is full" in nothing.sentence
    for session in ("claude-code:1", "codex:2"):
        shown = SessionHints(str(context.settings.data_dir), session)
        shown.add("shown", "session-start", "a" * 12, "")
        shown.add("shown", "prompt", "b" * 12, "some words")
    shown.add("used", "b" * 12)
    (found,) = editor_checks.check_recall(context)
    assert "showed 2 memories in 2 sessions; agents used 1 of them" in found.sentence
    (off,) = editor_checks.check_recall(replace(context, settings=replace(context.settings, hooks_recall="off")))
    assert "start of a session only" in off.sentence
