"""The fault suite in short, with fixed seeds: it finds what it is for, and finds nothing in the product."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import apsw
import pytest
from torture.__main__ import main, played
from torture.checks import check_all
from torture.crash_step_table import STEPS, fill
from torture.crash_steps import PREPARED, break_at, moments_of
from torture.embedding_endpoint import endpoint
from torture.outcome import Outcome
from torture.scenarios import SCENARIOS
from torture.workspace import Workspace

SEED = 7


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with endpoint() as error:
        yield error


@pytest.fixture
def workspace(tmp_path: Path, address: str) -> Iterator[Workspace]:
    opened = Workspace(tmp_path, address, Random(SEED), 1)
    yield opened
    opened.close()


def sound(outcome: Outcome) -> bool:
    if outcome.complaints():
        pytest.fail("\n".join(outcome.complaints()))
    return True


def behind(workspace: Workspace, *statements: str) -> None:
    connection = apsw.Connection(str(workspace.settings.database))
    for statement in statements:
        connection.execute(statement)
    connection.close()


def test_the_judge_sees_what_is_lost_what_is_not_indexed_and_a_vector_of_another_text(workspace: Workspace) -> None:
    fill(workspace, items=6)
    check_all(workspace, "before")
    assert sound(workspace.outcome)
    last = "(SELECT max(seq) FROM vectors)"
    behind(
        workspace,
        "UPDATE items SET body = 'changed' WHERE id = 1",
        "DELETE FROM passages_fts WHERE rowid = 2",
        f"UPDATE vectors SET v = (SELECT v FROM vectors ORDER BY seq LIMIT 1) WHERE seq = {last}",
    )
    check_all(workspace, "after")
    (lost,) = workspace.outcome.lost
    assert "'changed'" in lost
    text = "\n".join(workspace.outcome.unsound)
    assert "passages are not indexed" in text and "is not that of its text" in text


@pytest.mark.parametrize("name", ["checkpoint", "drain"])
def test_a_step_that_is_broken_is_whole_or_undone(address: str, name: str) -> None:
    outcome = played(SCENARIOS[name], SEED, address, times=0.25)
    assert sound(outcome)
    assert outcome.done["kills"] + outcome.done["full disks"] == 1


def test_a_store_that_is_being_encrypted_is_never_missing(workspace: Workspace) -> None:
    step = STEPS["encryption"][1]
    step.prepare(workspace)
    shutil.copytree(workspace.data, workspace.folder / PREPARED)
    known, moments = workspace.ledger.copy(), moments_of(workspace, step)
    number = next(n for n, what in enumerate(moments, 1) if what == "os.rename commonplace.db.turned")
    break_at(workspace, step, number, "kill", moments[number - 1], known)
    assert sound(workspace.outcome)
    assert workspace.outcome.done["kills"] == 1


def test_a_flipped_bit_crashes_nothing_and_loses_no_row_that_can_be_read(address: str) -> None:
    outcome = played(SCENARIOS["bit-flips"], SEED, address, times=0.4)
    assert sound(outcome)
    assert outcome.done["rows surviving"] == outcome.done["rows readable before"] > 1000


def test_a_clock_that_jumps_loses_nothing(address: str) -> None:
    assert sound(played(SCENARIOS["clock"], SEED, address, times=0.3))


def test_whoever_is_killed_at_random_loses_nothing(address: str) -> None:
    outcome = played(SCENARIOS["killed"], SEED, address, times=0.01)
    assert sound(outcome)
    assert outcome.done["kills"] >= 6 and outcome.acknowledged


@pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be replaced there")
def test_files_that_are_swapped_under_everybody_lose_nothing(address: str) -> None:
    outcome = played(SCENARIOS["swapped"], SEED, address, times=0.5)
    assert sound(outcome)
    assert outcome.acknowledged > 100 and sum(n for what, n in outcome.done.items() if what.startswith("swaps")) == 5


def test_every_scenario_can_be_told_and_others_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(SCENARIOS)
    with pytest.raises(SystemExit):
        main(["--only", "nothing"])
    assert "there is no scenario nothing" in capsys.readouterr().err
