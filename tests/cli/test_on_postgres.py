"""Commands on a store in PostgreSQL: they work as on a file, and say the right thing where that is another."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from commonplace.config import Settings

from .conftest import Run

SECRET = "swordfish-77"


@pytest.fixture
def engine_name() -> str:
    return "postgres"


def test_what_was_added_is_found_by_the_next_command(run: Run, settings: Settings) -> None:
    added = run("add", "Tokens live an hour", "--json")
    assert added.code == 0
    assert [hit["id"] for hit in run("search", "tokens", "--json").data["results"]] == [added.data["id"]]
    assert not settings.database.exists()


def test_status_names_the_engine_and_the_space(run: Run) -> None:
    data = run("status", "--json").data
    assert data["store"]["engine"] == "postgres" and data["store"]["row_security"] is True
    people = run("status").out
    assert "postgres" in people and "space default" in people


def test_a_space_is_chosen_by_its_setting(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("add", "Tokens live an hour")
    monkeypatch.setenv("COMMONPLACE_SPACE", "others")
    assert run("status", "--json").data["total"] == 0
    assert run("search", "tokens", "--json").data["results"] == []


def test_doctor_asks_the_server(run: Run) -> None:
    found_by_name = {one["what"]: one["state"] for one in run("doctor", "store", "index", "--json").data["findings"]}
    assert found_by_name == {"disk": "ok", "server": "ok", "integrity": "ok", "words": "ok", "vectors": "ok"}


def test_a_replica_that_is_away_is_missed_by_the_doctor_only(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("add", "Tokens live an hour")
    monkeypatch.setenv("COMMONPLACE_DATABASE_REPLICAS", f"postgresql://ann:{SECRET}@127.0.0.1:1/team")
    assert len(run("search", "tokens", "--json").data["results"]) == 1
    outcome = run("doctor", "store", "--json")
    assert {"replica": "remark"}.items() <= {one["what"]: one["state"] for one in outcome.data["findings"]}.items()
    assert SECRET not in outcome.out + outcome.err


def test_scrub_cleans_and_says_what_it_cannot_reach(run: Run) -> None:
    run("add", "Ask Rumpelstilzchen about gold")
    done = run("scrub", "--text", stdin="Rumpelstilzchen")
    assert done.code == 0 and "backups of the database server" in done.err
    assert "Rumpelstilzchen" not in run("list", "--json").out


@pytest.mark.parametrize("arguments", [("status",), ("status", "--json"), ("add", "x"), ("doctor", "store", "--json")])
@pytest.mark.parametrize(
    "address",
    [
        f"postgresql://ann:{SECRET}@127.0.0.1:1/team",
        f"host=127.0.0.1 port=1 user=ann password={SECRET}",
        f"mysql://ann:{SECRET}@127.0.0.1/team",
        f"postgresql://ann:{SECRET}@127.0.0.1:{SECRET}/team",
        f"postgresql://ann:x@{SECRET}@127.0.0.1:1/team",
        f"postgresql://ann:x/{SECRET}@127.0.0.1:1/team",
    ],
)
def test_a_password_is_never_told(
    run: Run, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], address: str
) -> None:
    monkeypatch.setenv("COMMONPLACE_DATABASE_URL", address)
    done = run(*arguments)
    assert SECRET not in done.out + done.err
    assert done.code != 0 or arguments[0] == "doctor"


def test_a_server_that_is_away_is_told_with_what_to_do(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMONPLACE_DATABASE_URL", "postgresql://ann@127.0.0.1:1/team")
    error = run("status", "--json").error
    assert error["code"] == "SERVICE_UNAVAILABLE" and "database_url" in str(error)


def test_without_the_extra_it_says_what_to_install(tmp_path: Path, settings: Settings) -> None:
    package = tmp_path / "hidden" / "psycopg"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise ModuleNotFoundError(\"No module named 'psycopg'\", name='psycopg')\n")
    path = os.pathsep.join([str(package.parent), *(part for part in sys.path if part)])
    command = [sys.executable, "-m", "commonplace", "--data-dir", str(settings.data_dir), "status"]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}, timeout=60, check=False
    )
    assert done.returncode == 5 and "commonplace-*.whl)[postgres]" in done.stderr
