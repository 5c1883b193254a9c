"""What somebody tries who trusts nothing: rules, echoes, changes and names that no page speaks of."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .desk import Desk

STATED = (
    ("rule", "Use uv, not pip"),
    ("rule", "Never touch generated/"),
    ("rule", "Tests with vitest only"),
    ("rejected", "Meilisearch for the address search: its memory use exploded on our 40 million addresses"),
    ("fact", "The label printer needs a reboot after every firmware update, because it forgets its IP"),
    ("decision", "Sensor readings are kept in InfluxDB"),
    ("fact", "Frau Petrova plans the batteries of the sensors"),
)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    desk = Desk(tmp_path_factory.mktemp("outsider"), "mara")
    parcels = desk.repository("parcels")
    desk.do("connect", "claude-code", where=parcels)
    for type_, text in STATED:
        desk.do("add", text, "--type", type_, where=parcels)
    yield desk
    desk.leave()


@pytest.fixture
def parcels(desk: Desk) -> Path:
    return desk.home / "src" / "parcels"


def test_a_rule_speaks_before_what_breaks_it_in_another_way(desk: Desk, parcels: Path) -> None:
    session = desk.session(parcels, "5d0f5c1e-0001-4000-8000-000000000001")
    assert "Use uv, not pip" in session.start()
    assert "Never touch generated/" in session.before("Bash", command="sed -i 's/a b/c/' generated/api.ts")
    assert "Tests with vitest only" in session.before("Bash", command="yarn mocha")
    mocha = session.before("Write", file_path="src/cart.test.ts", content='import { it } from "mocha"\n')
    assert "Tests with vitest only" in mocha
    settings = session.before("Write", file_path="jest.config.js", content="export default {}\n")
    assert "Tests with vitest only" in settings
    assert not session.before("Bash", command="sed -n '1,9p' generated/api.ts")
    assert not session.before("Write", file_path="src/a.test.ts", content='import { it } from "vitest"\n')
    session.end()


def test_neither_an_echo_nor_a_breach_is_an_answer(desk: Desk, parcels: Path) -> None:
    proposal = "Let's use Meilisearch for the returns search"
    first = desk.session(parcels, "5d0f5c1e-0002-4000-8000-000000000002")
    first.start()
    first.prompt(proposal)
    first.prompt("Why is the label printer offline after I updated the firmware?")
    first.bash("pip install requests", "Successfully installed requests")
    first.answer("It forgot its IP.")
    first.end()

    second = desk.session(parcels, "5d0f5c1e-0003-4000-8000-000000000003")
    second.start()
    told = second.prompt(proposal)
    assert "its memory use exploded" in told
    assert "returns search" not in told
    with desk.window(parcels) as window:
        context = window.call("get_context", project="parcels", query="returns search")
    assert "success" not in context.partition('"summaries"')[2], context
    hits = desk.json("search", proposal, where=parcels)["results"]
    assert hits[0]["type"] == "rejected", hits
    hits = desk.json("search", "why did we not take Meilisearch", where=parcels)["results"]
    assert hits[0]["type"] == "rejected", hits
    second.prompt("Refactor the label export, it is too slow in the browser")
    second.end()
    asked_before = desk.do("search", "Refactor the label export, it is too slow in the browser", where=parcels)
    hits = desk.json("search", "Refactor the label export, it is too slow in the browser", where=parcels)["results"]
    assert all(hit["relevance"] < 0.5 for hit in hits), asked_before


def test_a_change_is_noticed_that_shares_only_a_name(desk: Desk, parcels: Path) -> None:
    change = "We switched from InfluxDB to plain PostgreSQL (timescale), because joins with the orders were painful"
    told = desk.run("add", change, "--type", "decision", where=parcels).said
    assert "Sensor readings are kept in InfluxDB" in told
    with desk.window(parcels) as window:
        window.call("add_memory", content="We use Meilisearch for the address search", type="decision")
    listed = desk.do("contradictions", where=parcels)
    assert "one brings back what was rejected" in listed
    assert "Sensor readings are kept in InfluxDB" in listed


def test_where_nothing_is_found_the_next_step_is_one_for_people(desk: Desk, parcels: Path) -> None:
    for command in ("recall", "explain"):
        nothing = desk.run(command, "quantum chromodynamics", where=parcels)
        assert nothing.code == 3
        assert "chunk" not in nothing.said
        assert "commonplace search" in nothing.said


def test_a_person_is_known_with_a_title_and_without(desk: Desk, parcels: Path) -> None:
    with_title, without = (desk.do("about", name, where=parcels) for name in ("Frau Petrova", "Petrova"))
    assert "(person)" in with_title.splitlines()[0]
    assert with_title.splitlines()[2:] == without.splitlines()[2:]


def test_the_same_exception_is_known_from_another_place(desk: Desk, parcels: Path) -> None:
    raised = "carrier.errors.QuotaExceeded: quota of 400 labels used up"
    first = desk.session(parcels, "5d0f5c1e-0004-4000-8000-000000000004")
    first.start()
    first.failed("Bash", f"Exit code 1\nE   {raised}", command="pytest tests/labels")
    first.write("src/labels.py", "quota = 900\n")
    first.bash("pytest tests/labels", "5 passed")
    first.answer("The quota was too low: I raised it to 900 in src/labels.py.")
    first.end()
    second = desk.session(parcels, "5d0f5c1e-0005-4000-8000-000000000005")
    second.start()
    place = 'Traceback (most recent call last):\n  File "send.py", line 9, in <module>\n    send()'
    trace = f"Exit code 1\n{place}\n{raised}"
    assert "I raised it to 900" in second.failed("Bash", trace, command="python send.py --all")
    second.end()
