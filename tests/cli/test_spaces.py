"""`spaces`: made, limited and listed, and people invited into them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .conftest import Run


@pytest.fixture(autouse=True)
def here(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMONPLACE_DATA_DIR", str(data_dir))
    monkeypatch.setenv("COMMONPLACE_EMBEDDER", "off")


def test_a_space_is_made_and_listed(run: Run) -> None:
    made = run("spaces", "create", "team", "--max-items", "2", "--max-mb", "3", "--json").data
    assert (made["name"], made["max_items"], made["max_bytes"]) == ("team", 2, 3_000_000)
    run("add", "Something of our own", "--global")
    header, first, second = run("spaces").out.splitlines()
    assert header.split("\t") == ["name", "items", "max_items", "mb", "max_mb", "keys"]
    assert first.split("\t") == ["default", "1", "any", "0.0", "any", "0"]
    assert second.split("\t") == ["team", "0", "2", "0.0", "3", "0"]
    assert [space["name"] for space in run("spaces", "--json").data["spaces"]] == ["default", "team"]


def test_a_space_is_made_once(run: Run) -> None:
    assert run("spaces", "create", "team").out == "Created the space team.\n"
    assert run("spaces", "create", "Team", "--json").data["error"]["code"] == "CONFLICT"
    done = run("spaces", "create", "a b", "--json")
    assert (done.code, done.data["error"]["code"]) == (2, "VALIDATION_ERROR")


def test_a_person_is_invited_and_listed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("spaces", "create", "team")
    done = run("spaces", "invite", "team", "ada")
    assert re.fullmatch(r"sk-sekha-[0-9a-f]{48}\n", done.out)
    assert "ada" in done.err and "writer" in done.err and "--http https://<your server>/mcp" in done.err
    monkeypatch.setenv("COMMONPLACE_ALLOWED_HOSTS", "memory.example.org")
    named = run("spaces", "invite", "team", "bo").err
    assert "--http https://memory.example.org/mcp" in named and "--share" in named and "--no-hooks" not in named
    assert done.out.strip() not in done.err
    reader = run("spaces", "invite", "team", "ci", "--role", "reader").err
    assert "--no-hooks" in reader and "--share" not in reader
    more = ("--role", "reader", "--project", "my-api", "--expires", "90d", "--json")
    made = run("spaces", "invite", "team", "reports", *more).data
    assert (made["space"], made["role"], made["project"]) == ("team", "reader", "my-api")
    assert made["key"].startswith(made["prefix"]) and made["url"].endswith("/mcp")
    assert [key["name"] for key in run("spaces", "people", "team", "--json").data["keys"]] == [
        "ada",
        "bo",
        "ci",
        "reports",
    ]
    assert "reports" in run("spaces", "people", "team").out
    assert run("keys", "--json").data["keys"] == []


def test_keys_of_a_space_are_made_and_revoked(run: Run) -> None:
    run("spaces", "create", "team")
    made = run("keys", "create", "ada", "--space", "team", "--role", "admin", "--json").data
    assert made["role"] == "admin"
    assert [key["id"] for key in run("keys", "--space", "team", "--json").data["keys"]] == [made["id"]]
    assert run("keys", "revoke", str(made["id"])).code == 3, "it is no key of our own space"
    assert run("keys", "revoke", str(made["id"]), "--space", "team").code == 0
    assert run("spaces", "people", "team", "--json").data["keys"][0]["state"] == "revoked"


def test_limits_are_changed_one_by_one(run: Run) -> None:
    run("spaces", "create", "team", "--max-items", "5")
    assert run("spaces", "limit", "team", "--max-mb", "1").out == "team holds 0 of 5 items, 0.0 of 1 MB.\n"
    changed = run("spaces", "limit", "team", "--max-items", "none", "--json").data
    assert (changed["max_items"], changed["max_bytes"]) == (None, 1_000_000)
    for wrong in (("team",), ("team", "--max-items", "few"), ("team", "--max-mb", "-1"), ("team", "--max-items", "")):
        assert run("spaces", "limit", *wrong).code == 2


def test_our_own_space_stops_at_its_limit(run: Run) -> None:
    run("spaces", "limit", "default", "--max-items", "1")
    assert run("add", "One", "--global").code == 0
    done = run("add", "Two", "--global", "--json")
    assert (done.code, done.data["error"]["code"]) == (5, "QUOTA_EXCEEDED")
    assert "prune" in done.data["error"]["suggestion"] and "spaces limit" in done.data["error"]["suggestion"]
    assert run("forget", "1").code == 0
    assert run("add", "Two", "--global").code == 0


@pytest.mark.parametrize(
    "line", [("limit", "nobody", "--max-items", "1"), ("people", "nobody"), ("invite", "nobody", "ada")]
)
def test_a_space_that_is_none_is_told_so(run: Run, line: tuple[str, ...]) -> None:
    done = run("spaces", *line, "--json")
    assert (done.code, done.data["error"]["code"]) == (3, "NOT_FOUND")
    assert "commonplace spaces" in done.data["error"]["suggestion"]
    assert len(run("spaces", "--json").data["spaces"]) == 1


def test_commands_in_an_empty_space_say_where_the_memories_are(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("spaces", "create", "team")
    assert "team" not in run("list").err
    monkeypatch.setenv("COMMONPLACE_SPACE", "team")
    run("add", "Deploys run on Mondays", "--global")
    assert "This store also has" not in run("list").err
    monkeypatch.delenv("COMMONPLACE_SPACE")
    said = "The space default is empty. This store also has team: `COMMONPLACE_SPACE=team` before a command chooses it."
    for command in (("list",), ("search", "deploys"), ("review",), ("export", "--everything", "-o", "all.zip")):
        assert said in run(*command).err, command
    run("add", "Ours", "--global")
    done = run("export", "--everything", "-o", "ours.zip")
    assert (
        "Exported 1 item, 0 sessions, 0 projects of the space default to ours.zip" in done.out and said not in done.err
    )
