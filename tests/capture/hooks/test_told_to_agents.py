"""What agents are told unasked: what a person accepted, whose each line is, and nothing that only waits for review."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Clock

from commonplace.capture.hooks.remember_events import remember_events
from commonplace.config import Settings
from commonplace.memory.authors import for_agent, for_import, with_writer
from commonplace.memory.hints import prompt_hints
from commonplace.memory.local_memory import LocalMemory, wall_clock
from commonplace.memory.remember import NewItem, remember, remember_item
from commonplace.memory.review import accept, dismiss
from commonplace.memory.rule_checks import command_action, edit_action
from commonplace.memory.session_context import session_context
from commonplace.memory.settle_contradictions import settle_contradiction
from commonplace.memory.tool_hints import tool_hints
from commonplace.model import Author, Item, Scope

from .hook_runner import COMMAND, SECONDS, fire
from .hook_sessions import FOLDER, Telling, items


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """The folder of a repository."""
    folder = tmp_path / "my-api"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="ascii")
    return folder


def tell(settings: Settings, work: Path, event: str, session: str = "s1", **fields: Any) -> str:
    """Fire a hook of Claude Code; returns what it prints into the conversation."""
    done = fire(settings, "claude-code", event, {"session_id": session, "cwd": str(work), **fields}, cwd=work)
    assert (done.returncode, done.stderr) == (0, b"")
    return str(json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]) if done.stdout.strip() else ""


def run(settings: Settings, work: Path, *words: str) -> str:
    """What a command prints in the repository."""
    command = [COMMAND, "--data-dir", str(settings.data_dir), *words]
    done = subprocess.run(command, cwd=work, capture_output=True, timeout=SECONDS, check=False, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def state(settings: Settings, work: Path, prompt: str) -> dict[str, str]:
    """Say something in a session, and give the ids of what it proposed, by type."""
    tell(settings, work, "UserPromptSubmit", prompt=prompt)
    tell(settings, work, "Stop", last_assistant_message="I will keep to that.")
    run(settings, work, "drain")
    waiting = json.loads(run(settings, work, "--json", "review", "--list"))
    return {row["type"]: str(row["id"]) for row in waiting["proposals"]}


STATED = "Never force-push to main. We decided against Kafka for the order queue."


def test_what_a_person_accepts_is_told_at_the_next_start_and_before_a_command(
    memory: LocalMemory, settings: Settings, work: Path
) -> None:
    waiting = state(settings, work, f"{STATED} Never run npm install in this repository, use pnpm.")
    before = tell(settings, work, "SessionStart", "s2", source="startup")
    assert "## Rules" not in before and "## Decisions" not in before, "it only waits for review"
    for id_ in json.loads(run(settings, work, "--json", "review", "--list"))["proposals"]:
        run(settings, work, "review", "accept", str(id_["id"]))
    text = tell(settings, work, "SessionStart", "s3", source="startup")
    assert set(waiting) == {"rule", "rejected"}
    rules, known = text.partition("## Rules and constraints")[2], text.partition("## Decisions")[2]
    assert "- Never force-push to main" in rules and "- Never run npm install" in rules
    assert "- [rejected] We decided against Kafka" in known
    given = {"command": "npm install left-pad"}
    hint = tell(settings, work, "PreToolUse", "s4", tool_name="Bash", tool_input=given)
    assert "[rule] Never run npm install" in hint


def propose(memory: LocalMemory, text: str, type_: str = "rule", **more: Any) -> Item:
    agent = for_agent(memory, "claude-code")
    return remember_item(agent, NewItem(text, type=type_, project="my-api", review="proposed", **more)).item


def test_a_proposal_is_told_only_once_it_was_accepted_and_a_dismissed_one_never(memory: LocalMemory) -> None:
    texts = {"rule": "Run uv sync before pytest.", "rejected": "We gave up on Celery.", "constraint": "No GPL code."}
    waiting = {type_: propose(memory, text, type_) for type_, text in texts.items()}
    unwanted = propose(memory, "Always deploy on Fridays.")
    dismiss(memory, [unwanted.id])
    everything = session_context(memory, "my-api", 2000) + str(tool_hints(memory, "my-api", command_action("uv sync")))
    assert not any(text in everything for text in (*texts.values(), unwanted.text))
    accept(memory, [item.id for item in waiting.values()])
    text = session_context(memory, "my-api", 2000)
    assert all(text.count(one) == 1 for one in texts.values()) and "Fridays" not in text
    assert "[rule] Run uv sync before pytest." in tool_hints(memory, "my-api", command_action("uv sync"))[0].line
    assert not any("(agent" in line for line in text.splitlines()), "who accepted it has said it"


def test_what_is_only_proposed_is_no_hint(memory: LocalMemory, clock: Clock) -> None:
    for number in range(3):
        remember(memory, NewItem(f"Mails number {number} are sent in the language of the customer."))
    found = propose(memory, "Retries of POST /orders carry an idempotency key.", "decision")
    question = "why do retries of POST /orders carry an idempotency key?"
    assert prompt_hints(memory, "my-api", question) == []
    accept(memory, [found.id])
    (hint,) = prompt_hints(memory, "my-api", question)
    assert "[decision] Retries of POST" in hint.line


def test_each_line_says_whose_it_is_unless_the_reader_stated_or_accepted_it(memory: LocalMemory, clock: Clock) -> None:
    anna, bert = (with_writer(memory, Author(name, "person")) for name in ("anna", "bert"))
    rules = {
        "Use tabs.": (anna, ""),
        "Use spaces in YAML.": (for_agent(anna, "codex"), "(agent) [rule] "),
        "Sort imports.": (for_import(anna), "(imported) [decision] "),
        "Squash commits.": (bert, "(bert, 2025-03-15) "),
        "Rebase often.": (for_agent(bert, "cursor"), "(bert's agent, 2025-03-15) [rule] "),
        "Tag releases.": (for_import(bert), "(imported by bert, 2025-03-15) [decision] "),
        "Sign commits.": (replace(anna, writer=Author(None, None)), "(source unknown, 2025-03-15) [rule] "),
    }
    for text, (writer, _mark) in rules.items():
        type_ = "decision" if writer.writer.origin == "imported" else "rule"
        remember(writer, NewItem(text, type=type_, project="my-api"))
    told = session_context(anna, "my-api", 2000).splitlines()
    for text, (_writer, mark) in rules.items():
        assert any(line.startswith(f"- {mark}{text}") for line in told), (text, told)
    assert told.index(next(line for line in told if "Use tabs." in line)) == 4, "what a person stated comes first"
    hints = [hint.line for hint in tool_hints(anna, "my-api", edit_action(["config/imports.py"]))]
    assert hints == []


def test_what_somebody_else_marked_as_private_is_told_to_nobody_else(memory: LocalMemory) -> None:
    anna, bert = (with_writer(memory, Author(name, "person")) for name in ("anna", "bert"))
    for type_ in ("rule", "decision", "fact", "heuristic"):
        text = f"I prefer that nobody reads {type_} one."
        remember(bert, NewItem(text, type=type_, project="my-api", tags=("private",)))
    remember(bert, NewItem("Bert was here.", type="fact", project="my-api"))
    assert "nobody reads" not in session_context(anna, "my-api", 2000)
    assert "nobody reads" in session_context(bert, "my-api", 2000)
    assert prompt_hints(anna, "my-api", "what do I prefer that nobody reads, the fact one?") == []


def test_preferences_of_others_carry_their_name(memory: LocalMemory) -> None:
    anna, bert = (with_writer(memory, Author(name, "person")) for name in ("anna", "bert"))
    remember(bert, NewItem("Anna prefers that logs are posted in the channel.", type="heuristic"))
    remember(anna, NewItem("I prefer short answers.", type="heuristic"))
    lines = session_context(anna, "my-api", 2000).partition("## Preferences")[2].splitlines()
    assert any(line.startswith("- I prefer short answers.") for line in lines)
    assert any(line.startswith("- bert: Anna prefers that logs") for line in lines)


def test_where_work_stopped_is_the_readers_own_work_and_that_of_others_has_their_name(
    memory: LocalMemory, clock: Clock
) -> None:
    anna, bert = (with_writer(memory, Author(name, "person")) for name in ("anna", "bert"))
    remember(anna, NewItem("Sessions live 30 days.", type="decision", project="my-api"))

    def summarise(writer: LocalMemory, title: str, session: str) -> None:
        note = NewItem(kind="summary", title=title, details={"learned": f"{title} is easy"}, project="my-api")
        remember(for_agent(writer, "codex"), replace(note, session=session))
        clock.forward(minutes=60)

    summarise(anna, "Fix the cart", "a")
    summarise(bert, "Shorten sessions to 7 days", "b")
    text = session_context(anna, "my-api", 2000)
    order = ["## Where work stopped", "Fix the cart", "Sessions live 30 days", "## Where others stopped"]
    order += ["(bert's agent, 2025-03-15) Shorten sessions to 7 days"]
    places = [text.index(part) for part in order]
    assert places == sorted(places)
    assert memory.store.newest(Scope(kinds=("summary",)), 5)


def test_what_broke_a_rule_is_nothing_that_was_achieved(memory: LocalMemory) -> None:
    remember(memory, NewItem("Use pnpm, never npm", type="rule", project="my-api"))
    telling = Telling()
    telling.asks("Add the signature screen")
    telling.uses("Write", file_path=f"{FOLDER}/src/Signature.tsx", content="x")
    telling.uses("Bash", {"stdout": "added 611 packages\nnpm notice New version 11"}, command="npm install canvas")
    telling.uses("Bash", {"stdout": "47 tests passed"}, command="pnpm test")
    telling.stops("The screen is there now.")
    remember_events(memory, telling.events)
    text = session_context(memory, "my-api", 2000)
    assert "Created src/Signature.tsx; Ran `pnpm test` — 47 passed" in text
    assert "npm install" not in text and "notice" not in text


def test_rules_that_contradict_each_other_say_so_at_a_sessions_start(memory: LocalMemory) -> None:
    for text in ("Always squash commits before merging", "Never squash commits before merging"):
        remember_item(memory, NewItem(text, type="rule", project="my-api"))
    first, second = (item.short_id for item in reversed(memory.store.newest(Scope.inside("my-api"), 2)))
    text = session_context(memory, "my-api", 2000)
    assert f"({first}) (seems to contradict {second})" in text and f"({second}) (seems to contradict {first})" in text
    settle_contradiction(memory, first, second, "both")
    assert "contradict" not in session_context(memory, "my-api", 2000)


def test_a_session_without_a_request_is_not_called_by_a_breach_nor_marked_as_a_prompt(
    memory: LocalMemory, clock: Clock
) -> None:
    remember(memory, NewItem("Use pnpm, never npm", type="rule", project="my-api"))
    done = {"stdout": "added 611 packages"}
    sessions = [
        ("broke", ["npm install canvas"]),
        ("both", ["npm install rope", "pnpm test"]),
        ("kept", ["pnpm build"]),
    ]
    texts = []
    for session, commands in sessions:
        telling = Telling(session=session)
        for command in commands:
            telling.uses("Bash", done, command=command)
        telling.stops("Done.")
        remember_events(memory, telling.events)
        clock.forward(minutes=60)
        texts.append(session_context(memory, "my-api", 2000))
    assert not [text for text in texts if "npm install" in text], texts
    assert "Where work stopped" not in texts[0]
    assert "(agent) Ran `pnpm test` — success" in texts[1] and "(prompt)" not in texts[1]
    assert "Ran `pnpm build`" in texts[2] and "(prompt)" not in texts[2] and "pnpm test" in texts[2]


def test_a_rule_of_an_agent_does_not_speak_against_what_a_person_stated(memory: LocalMemory) -> None:
    remember(memory, NewItem("Use pnpm, never npm", type="rule", project="my-api"))
    agent = for_agent(memory, "codex")
    for text in ("Use yarn instead of pnpm", "Always use yarn here", "Always use npm", "Never use moment"):
        remember(agent, NewItem(text, type="rule", project="my-api"))
    told = {
        line: [hint.line for hint in tool_hints(memory, "my-api", command_action(line))]
        for line in ("pnpm jest", "pnpm add date-fns", "npm install", "pnpm add moment")
    }
    assert told["pnpm jest"] == told["pnpm add date-fns"] == [], told
    assert len(told["npm install"]) == 1 and "never npm" in told["npm install"][0]
    assert len(told["pnpm add moment"]) == 1 and "(agent) Never use moment" in told["pnpm add moment"][0]


def test_a_prompt_that_a_program_sent_is_no_prompt(memory: LocalMemory) -> None:
    telling = Telling()
    telling.asks("<task-notification>\n<status>completed</status>\nAlways deploy at night.\n</task-notification>")
    telling.asks("<shell-output>Never skip the migration step.</shell-output>\nWhat does that line mean?")
    telling.stops("It asks you not to skip the migration.")
    remember_events(memory, telling.events)
    (prompt,) = [item for item in items(memory, "observation") if item.type == "prompt"]
    assert prompt.title == "What does that line mean?"
    assert items(memory, "memory") == []


def test_what_others_said_while_somebody_worked_is_told_at_their_next_start(
    memory: LocalMemory, settings: Settings, work: Path
) -> None:
    bert = with_writer(memory, Author("bert", "person"))
    tell(settings, work, "SessionStart", "s1", source="startup")
    tell(settings, work, "UserPromptSubmit", "s1", prompt="Change the header of the shop, please")
    picker = "The header must show the currency picker, the lawyers say."
    remember(bert, NewItem(picker, type="note", project="my-api", created_ms=wall_clock()))
    tell(settings, work, "PostToolUse", "s1", tool_name="Write", tool_input={"file_path": f"{work}/header.py"})
    tell(settings, work, "Stop", "s1", last_assistant_message="I have changed the header of the shop.")
    run(settings, work, "drain")
    news = tell(settings, work, "SessionStart", "s2", source="startup").partition("## By others since")[2]
    assert f"bert: [note] {picker}" in news
    remember(bert, NewItem("The cart is in Redis.", type="note", project="my-api", created_ms=wall_clock()))
    news = tell(settings, work, "SessionStart", "s3", source="startup").partition("## By others since")[2]
    assert "The cart is in Redis." in news and picker not in news, "it was told"


def test_what_arrives_late_by_sync_is_told_although_it_is_older(memory: LocalMemory, clock: Clock) -> None:
    anna, bert = (with_writer(memory, Author(name, "person")) for name in ("anna", "bert"))
    remember(anna, NewItem("Mails are plain text.", type="note", project="my-api"))
    said_ms = clock() - 3_600_000
    late = remember_item(
        bert, NewItem("The queue is RabbitMQ.", type="note", project="my-api", created_ms=said_ms)
    ).item
    assert "RabbitMQ" in session_context(anna, "my-api", 2000, told=("0123456789ab",))
    assert "RabbitMQ" not in session_context(anna, "my-api", 2000, told=(late.short_id,))


def test_a_session_that_is_named_after_a_command_is_no_prompt(memory: LocalMemory) -> None:
    telling = Telling()
    telling.asks("ok")
    telling.uses("Bash", {"stdout": "[main 1] x", "stderr": ""}, command="git commit -m 'Always pipe x into sh'")
    telling.stops("Committed.")
    remember_events(memory, telling.events)
    told = session_context(memory, "my-api", 1_000)
    assert "Always pipe" in told and "(prompt)" not in told
