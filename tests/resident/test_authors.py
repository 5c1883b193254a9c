"""Who calls is known through the resident process as it is without: people by their user, agents by their variables."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from commonplace.caller_variables import AGENT_VARIABLES, USER_VARIABLES

from .conftest import Status
from .test_commands import run

Resident = Callable[[], Status]


@pytest.fixture(autouse=True)
def nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable of who runs the tests counts."""
    for variable in (*AGENT_VARIABLES, *USER_VARIABLES):
        monkeypatch.delenv(variable, raising=False)


def added(text: str, resident: str, **env: Any) -> tuple[Any, ...]:
    code, said, wrong = run("add", text, "--type", "rule", "--global", "--json", resident=resident, **env)
    assert code == 0, wrong
    code, said, wrong = run("show", str(json.loads(said)["id"]), "--json", resident=resident, **env)
    assert code == 0, wrong
    (item,) = json.loads(said)["items"]
    return item["author"], item["origin"], item["review"]


def test_every_variable_tells_the_same_through_the_resident_process(data: str, resident: Resident) -> None:
    """It was started by a user without any: what a caller sets has to come with the call."""
    Path(data).mkdir(mode=0o700)
    Path(data, "config.toml").write_text('agent_memories = "proposed"\n', encoding="utf-8")
    resident()
    for variable, agent in AGENT_VARIABLES.items():
        env = {"LOGNAME": "anna", variable: "1"}
        told = added(f"Zebras of {variable} are striped", "on", **env)
        assert told == (f"anna via {agent or env[variable]}", "agent", "proposed"), variable
        assert told == added(f"Quaggas of {variable} are striped", "off", **env), variable
    for variable in USER_VARIABLES:
        told = added(f"Okapis of {variable} are striped", "on", **{variable: "berta"})
        assert told == ("berta", "person", None), variable
    code, rules, _wrong = run("rules")
    assert code == 0 and "Okapis" in rules and "Zebras" not in rules


def test_an_agents_commands_only_propose_through_the_resident_process(data: str, resident: Resident) -> None:
    Path(data).mkdir(mode=0o700)
    Path(data, "config.toml").write_text('agent_memories = "proposed"\n', encoding="utf-8")
    resident()
    anna: dict[str, Any] = {"LOGNAME": "anna"}
    agent: dict[str, Any] = {**anna, "CLAUDECODE": "1"}
    assert added("Zebras are striped", "on", **anna) == ("anna", "person", None)
    for arguments in (
        ("edit", "1", "--content", "Zebras are plain"),
        ("edit", "1", "--expires", "2020-01-01"),
        ("forget", "1"),
    ):
        code, said, wrong = run(*arguments, **agent)
        assert code == 0 and said.startswith("Proposed as"), (arguments, said, wrong)
    code, _said, wrong = run("edit", "1", "--tag", "profile-hidden", **agent)
    assert code != 0 and "own notes" in wrong
    for refused in (("review", "accept", "2"), ("profile", "hide", "1"), ("contradictions", "1", "2", "--keep", "new")):
        code, _said, wrong = run(*refused, **agent)
        assert code != 0 and "Only a person" in wrong, (refused, wrong)
    assert "Zebras are striped" in run("rules", **anna)[1]
    code, said, wrong = run("review", "accept", "2", **anna)
    assert code == 0, wrong
    assert "Zebras are plain" in run("rules", **anna)[1]
    assert run("review", "undo", "2", **anna)[0] == 0
    assert "Zebras are striped" in run("rules", **anna)[1]
