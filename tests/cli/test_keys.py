"""`keys`: a key is made, shown once, listed by its beginning, and revoked."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace import config
from commonplace.errors import Unauthorized
from commonplace.memory import api_keys
from commonplace.memory.local_memory import LocalMemory, open_memory

from .conftest import Run


@pytest.fixture
def memory(data_dir: Path) -> Iterator[LocalMemory]:
    with contextlib.closing(open_memory(config.load({"data_dir": str(data_dir), "embedder": "off"}))) as opened:
        yield opened


def test_a_key_is_printed_alone_so_that_a_script_can_take_it(run: Run, memory: LocalMemory) -> None:
    done = run("keys", "create", "laptop")
    assert done.code == 0
    assert re.fullmatch(r"sk-sekha-[0-9a-f]{48}\n", done.out)
    assert "Authorization: Bearer" in done.err and "not shown again" in done.err
    assert done.out.strip() not in done.err
    assert api_keys.check_key(memory, done.out.strip()).name == "laptop"


def test_a_key_is_made_as_it_is_wanted(run: Run, memory: LocalMemory) -> None:
    options = ("--scope", "read", "--project", "github.com/acme/my-api", "--expires", "90d")
    made = run("keys", "create", "reports", *options, "--json").data
    key = api_keys.check_key(memory, made["key"])
    assert (key.id, key.scope, key.project) == (made["id"], "read", "github.com/acme/my-api")
    assert key.expires_ms is not None
    assert 89 * 86_400_000 < key.expires_ms - key.created_ms <= 90 * 86_400_000
    assert made["state"] == "works" and made["expires_at"].endswith("Z")


@pytest.mark.parametrize(
    ("span", "hours"),
    [("12h", 12), ("2 d", 48), ("3W", 504), ("1y", 8760), ("2999-01-31", None), ("2999-01-31T12:00Z", None)],
)
def test_an_end_is_said_as_people_say_it(run: Run, memory: LocalMemory, span: str, hours: int | None) -> None:
    assert run("keys", "create", "k", "--expires", span).code == 0
    (key,) = api_keys.list_keys(memory)
    assert key.expires_ms is not None
    if hours is not None:
        assert abs(key.expires_ms - key.created_ms - hours * 3_600_000) < 60_000
    else:
        assert key.expires_ms > 32_000_000_000_000


@pytest.mark.parametrize("when", ["soon", "-3d", "0d", "1999-01-01", "99999y", "", "90"])
def test_an_end_that_makes_no_sense_is_refused(run: Run, memory: LocalMemory, when: str) -> None:
    done = run("keys", "create", "k", "--expires", when, "--json")
    assert (done.code, done.error["code"]) == (2, "VALIDATION_ERROR")
    assert api_keys.list_keys(memory) == []


def test_keys_are_listed_without_their_secrets(run: Run) -> None:
    first = run("keys", "create", "laptop").out.strip()
    second = run("keys", "create", "reports", "--scope", "read", "--project", "my-api", "--json").data
    run("keys", "revoke", "1")
    done = run("keys", "--json")
    rows = done.data["keys"]
    assert [(row["id"], row["name"], row["state"]) for row in rows] == [
        (1, "laptop", "revoked"),
        (2, "reports", "works"),
    ]
    assert rows[1]["prefix"] == second["prefix"] == second["key"][: len(second["prefix"])]
    assert "key" not in rows[0] and first not in done.out and second["key"] not in done.out
    header, *lines = run("keys").out.splitlines()
    assert header.split("\t") == ["id", "name", "prefix", "role", "project", "state", "expires_at", "last_used"]
    assert [line.split("\t")[3:6] for line in lines] == [["writer", "all", "revoked"], ["reader", "my-api", "works"]]


def test_a_key_is_revoked_by_number_or_beginning(run: Run, memory: LocalMemory) -> None:
    secrets = [run("keys", "create", name).out.strip() for name in ("one", "two")]
    assert run("keys", "revoke", "1").out.startswith("Revoked key 1 (one).")
    assert run("keys", "revoke", secrets[1][:17], "--json").data["state"] == "revoked"
    for secret in secrets:
        with pytest.raises(Unauthorized, match="revoked"):
            api_keys.check_key(memory, secret)
    again = run("keys", "revoke", "77", "--json")
    assert (again.code, again.error["code"]) == (3, "NOT_FOUND")


def test_no_key_yet(run: Run) -> None:
    done = run("keys")
    assert (done.code, done.out) == (0, "")
    assert "keys create NAME" in done.err
    assert run("keys", "--json").data == {"keys": []}


def test_a_scope_that_is_none_is_refused(run: Run) -> None:
    done = run("keys", "create", "k", "--scope", "root", "--json")
    assert (done.code, done.error["code"]) == (2, "VALIDATION_ERROR")


def test_the_subcommands_explain_themselves(run: Run) -> None:
    assert "commonplace keys create laptop" in run("keys", "--help").out
    assert "--expires" in run("keys", "create", "--help").out
    assert "Revoke a key" in run("keys", "revoke", "--help").out
