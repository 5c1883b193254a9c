"""What a session is told when it starts: the right things first, within the budget, as data, or nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import Clock

from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import NewItem, remember
from commonplace.memory.session_context import WorkInProgress, session_context
from commonplace.model import UNKNOWN_AUTHOR, Author, Kind
from commonplace.text.tokens import estimate_tokens

WORDS = st.text(alphabet="abc é漢\n#-*`<>", min_size=1, max_size=400).filter(lambda text: bool(text.strip()))


def note(memory: LocalMemory, kind: Kind, type_: str, content: str = "", **more: Any) -> None:
    remember(memory, NewItem(content, kind, type_, **more))


def fill(memory: LocalMemory, clock: Clock) -> None:
    note(memory, "memory", "rule", "Use tabs.")
    note(memory, "memory", "rule", "Amounts are cents.", project="my-api")
    note(memory, "memory", "decision", "Sessions live in Redis.", project="my-api")
    note(memory, "memory", "rule", "Nothing of this here.", project="other")
    clock.forward(days=2)
    note(
        memory,
        "summary",
        "summary",
        title="Login",
        details={"request": "Fix login", "learned": "Cookies expire"},
        project="my-api",
    )
    details = {"task": "Remember people", "progress": "half", "snapshot": "{}"}
    note(memory, "checkpoint", "checkpoint", title="Login", details=details, project="my-api")
    note(
        memory,
        "observation",
        "file-write",
        title="Modified login.py",
        details={"narrative": "DAYS is 30."},
        project="my-api",
    )


def test_nothing_is_told_where_nothing_is_known(memory: LocalMemory) -> None:
    assert session_context(memory, "my-api", 2000) == session_context(memory, None, 2000) == ""


def test_rules_come_first_then_where_work_stopped_then_decisions(memory: LocalMemory, clock: Clock) -> None:
    fill(memory, clock)
    text = session_context(memory, "my-api", 625)
    order = ["not instructions", "## Rules and constraints", "Amounts are cents.", "Use tabs."]
    order += ["## Where work stopped", "task: Remember people", "progress: half"]
    order += ["## Decisions", "[decision] Sessions live in Redis."]
    places = [text.index(part) for part in order]
    assert places == sorted(places)
    assert "Nothing of this" not in text and "snapshot" not in text


def test_what_happened_is_not_listed(memory: LocalMemory, clock: Clock) -> None:
    fill(memory, clock)
    note(memory, "observation", "command", title="Ran npm run lint", project="my-api")
    text = session_context(memory, "my-api", 2000)
    assert "login.py" not in text and "npm run lint" not in text


def test_nothing_is_said_twice(memory: LocalMemory, clock: Clock) -> None:
    note(memory, "memory", "rule", "Amounts are cents.", project="my-api")
    note(memory, "memory", "rule", "amounts are cents")
    for kind in ("summary", "checkpoint"):
        details = {"request" if kind == "summary" else "task": "Fix the login"}
        note(memory, kind, kind, title="Fix the login", details=details, project="my-api", session="claude-code:1")
    text = session_context(memory, "my-api", 2000)
    assert text.lower().count("amounts are cents") == text.count("Fix the login") == 1


def test_decisions_about_what_is_changing_come_before_newer_ones(memory: LocalMemory, clock: Clock) -> None:
    note(memory, "memory", "decision", "Checkout retries carry an idempotency key.", project="my-api")
    for number in range(40):
        clock.forward(days=1)
        note(memory, "memory", "decision", f"Mail template {number} is plain text.", project="my-api")
    assert "idempotency" not in session_context(memory, "my-api", 400)
    for changing in (WorkInProgress("fix/checkout-retry"), WorkInProgress(files=("src/shop/checkout.py",))):
        text = session_context(memory, "my-api", 400, changing=changing)
        assert text.index("idempotency") < text.index("Mail template 39")


def test_a_rule_for_the_files_that_are_changing_comes_before_one_for_others(memory: LocalMemory) -> None:
    for paths in ("docs/**", "src/api/**"):
        note(memory, "memory", "rule", f"Mind {paths}.", details={"paths": paths}, project="my-api")
    changing = WorkInProgress(files=("src/api/login.py",))
    text = session_context(memory, "my-api", 625, changing=changing)
    assert text.index("Mind src/api/**. (for src/api/**)") < text.index("Mind docs/**.")


def test_outside_any_project_only_what_holds_everywhere_is_told(memory: LocalMemory, clock: Clock) -> None:
    fill(memory, clock)
    text = session_context(memory, None, 2000)
    assert "Use tabs." in text and "cents" not in text and "Redis" not in text


@pytest.mark.parametrize("tokens", [0, 20, 100, 300, 1000])
def test_it_keeps_to_its_budget_as_printed(memory: LocalMemory, clock: Clock, tokens: int) -> None:
    fill(memory, clock)
    for number in range(30):
        note(memory, "observation", "command", f"make part{number} " * 50, title=f"Ran {number}", project="my-api")
    text = session_context(memory, "my-api", tokens)
    assert estimate_tokens(len(text)) <= tokens
    assert ("Amounts are cents." in text) == (tokens >= 100)


@given(st.lists(WORDS, max_size=8), st.integers(0, 500))
def test_no_content_breaks_the_frame(memory: LocalMemory, bodies: list[str], tokens: int) -> None:
    for body in bodies:
        note(memory, "memory", "rule", body, project="my-api")
    text = session_context(memory, "my-api", tokens)
    assert estimate_tokens(len(text)) <= tokens
    headings = [line for line in text.splitlines() if line.startswith("#")]
    assert headings in ([], ["# Commonplace: project my-api", "## Rules and constraints"])


def test_secrets_are_not_told(memory: LocalMemory) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    note(memory, "memory", "rule", f"Deploy with {secret}", project="my-api")
    assert "Deploy with" in session_context(memory, "my-api", 2000) and secret not in session_context(
        memory, "my-api", 2000
    )


def test_what_others_did_since_is_told_with_their_names(memory: LocalMemory, clock: Clock) -> None:
    anna, bert = (replace(memory, writer=Author(name, "person")) for name in ("anna", "bert"))
    note(bert, "memory", "fact", "The cart is in Redis.", project="my-api")
    clock.forward(days=1)
    note(anna, "memory", "fact", "Mails are plain text.", project="my-api")
    clock.forward(days=1)
    note(bert, "memory", "fact", "The queue is RabbitMQ.", project="my-api")
    text = session_context(anna, "my-api", 625)
    assert "bert: [fact] The queue is RabbitMQ." in text and "Redis" not in text and "Mails" not in text
    assert "anna" not in session_context(bert, "my-api", 625)
    note(bert, "memory", "decision", "Orders are kept for ten years.", project="my-api")
    assert session_context(anna, "my-api", 625).count("ten years") == 1
    note(bert, "memory", "note", "Staging is down until Friday.")
    assert "bert: [note] Staging is down until Friday." in session_context(anna, "my-api", 625)
    agent = replace(memory, writer=Author("bert via claude-code", "agent"))
    note(agent, "memory", "note", "The kiln is at 900 degrees.")
    assert "kiln" not in session_context(anna, "my-api", 625), "an agent noted it without a project"
    unknown = replace(memory, writer=UNKNOWN_AUTHOR)
    assert "By others" not in session_context(unknown, "my-api", 625), "nobody knows who asks"
