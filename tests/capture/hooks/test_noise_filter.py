"""What is not worth remembering is left out, and counted by its reason."""

from __future__ import annotations

import pytest
from tests.whole_items import all_words

from commonplace.capture.hooks.noise_filter import REASONS, is_small_talk_prompt
from commonplace.capture.hooks.remember_events import remember_events
from commonplace.memory.captured_events import capture_counts
from commonplace.memory.conversations import find_session, forget_session, latest_conversations
from commonplace.memory.local_memory import LocalMemory
from commonplace.model import SessionScope

from .hook_sessions import FOLDER, Telling, a_fix, items


def dropped(memory: LocalMemory, telling: Telling) -> dict[str, int]:
    return dict(remember_events(memory, telling.events).dropped)


def titles(memory: LocalMemory) -> list[str]:
    return [item.title for item in items(memory, "observation")]


def test_a_read_of_a_file_just_written_or_read_says_nothing_new(memory: LocalMemory) -> None:
    telling = Telling()
    telling.uses("Write", file_path=f"{FOLDER}/a.py", content="x")
    telling.uses("Read", "x", file_path="a.py")
    telling.uses("Read", "y", file_path="b.py")
    telling.uses("Read", "y, more of it", file_path="b.py")
    telling.add("tool", later_ms=3_600_000, tool="Read", input={"file_path": "a.py"}, output="x")
    assert dropped(memory, telling) == {"just-seen": 2}
    assert titles(memory) == ["Created a.py", "b.py", "a.py"]


def test_another_session_has_not_seen_it(memory: LocalMemory) -> None:
    for session in ("s1", "s2"):
        telling = Telling(session=session)
        telling.uses("Read", "x", file_path="a.py")
        assert dropped(memory, telling) == {}


def test_looking_around_is_told_once_at_most(memory: LocalMemory) -> None:
    telling = Telling()
    for line in ("pwd", "cd src", "cd src && pwd", "echo hello", "ls -la", "git status", "ls -la", "git status"):
        telling.uses("Bash", f"result {len(telling.events)}", command=line)
    assert dropped(memory, telling) == {"looking-around": 6}
    assert titles(memory) == ["ls -la", "git status"]


def test_a_failing_look_is_kept(memory: LocalMemory) -> None:
    telling = Telling()
    telling.fails("Bash", "cd: no such directory: src", command="cd src")
    assert dropped(memory, telling) == {} and titles(memory) == ["Failed: cd src"]


def test_the_same_command_with_the_same_result_is_told_once(memory: LocalMemory) -> None:
    telling = Telling()
    for output in ("3 failed", "3 failed", "all passed", "3 failed"):
        telling.uses("Bash", output, command="npm test")
    assert dropped(memory, telling) == {"repeated": 1}
    assert len(titles(memory)) == 3


def test_what_was_dropped_in_an_earlier_batch_counts_too(memory: LocalMemory) -> None:
    telling = Telling()
    telling.uses("Bash", "3 failed", command="npm test")
    remember_events(memory, telling.events)
    again = Telling(at_ms=telling.at_ms)
    again.uses("Bash", "3 failed", command="npm test")
    assert dropped(memory, again) == {"repeated": 1} and capture_counts(memory).dropped == {"repeated": 1}


def test_our_own_memory_is_never_remembered_again(memory: LocalMemory) -> None:
    telling = Telling()
    telling.uses("mcp__commonplace__search", {"observations": ["a memory"]}, query="login")
    telling.uses("MCP:recall", "a memory", query="login")
    telling.uses("Bash", "a memory", command="commonplace search login")
    telling.uses("Bash", "a memory", command="/usr/local/bin/commonplace recall login --json")
    assert dropped(memory, telling) == {"own-memory": 4} and titles(memory) == []


def test_lists_thoughts_and_empty_answers_are_left_out(memory: LocalMemory) -> None:
    telling = Telling()
    telling.uses("TodoWrite", todos=[{"content": "x"}])
    telling.uses("update_plan", plan=[])
    telling.uses("Grep", "", pattern="nothing like it")
    telling.uses("WebSearch", [], query="nothing like it")
    telling.uses("Bash", "x", command="")
    telling.asks("   ")
    assert dropped(memory, telling) == {"thinking": 2, "empty": 4}


def test_a_host_that_tells_no_answers_loses_nothing(memory: LocalMemory) -> None:
    telling = Telling("windsurf")
    telling.uses("read_code", None, file_path="a.py")
    telling.uses("run_command", None, command="make deploy")
    assert dropped(memory, telling) == {} and titles(memory) == ["a.py", "make deploy"]


@pytest.mark.parametrize(
    "text", ["yes", "Continue.", "ok!", "go on", "Yes, please", "LGTM, thanks", "👍", "/clear", "ja"]
)
def test_small_talk(text: str) -> None:
    assert is_small_talk_prompt(text)


@pytest.mark.parametrize(
    "text",
    ["fix it", "run the tests", "why?", "use JWT", "/review src/auth.ts", "no, use postgres", "yes, but with redis"],
)
def test_no_small_talk(text: str) -> None:
    assert not is_small_talk_prompt(text)


def test_what_is_private_is_never_stored(memory: LocalMemory) -> None:
    plan = "the plan " * 4000
    telling = Telling()
    telling.asks("<private>all of the plan</private>")
    telling.asks(f"Write it down. <private>{plan}</private> But not that.")
    telling.uses(
        "Bash", {"stdout": [f"<private>{plan}</private>ok"]}, command=f"echo '<private>{plan}</private>' > a.md"
    )
    telling.uses("Write", file_path="a.md", content=f"x <private>{plan}")
    telling.stops(f"It is done because <private>{plan}</private> you said so.")
    assert dropped(memory, telling) == {"private": 1, "small-talk": 1}
    assert len(items(memory)) == 5 and "plan" not in all_words(items(memory))


def test_what_is_private_as_a_whole_is_counted_as_such(memory: LocalMemory) -> None:
    telling = Telling()
    telling.add("compact", text="<private>the plan</private>")
    telling.add("subagent-stop", text="<private>the plan")
    telling.asks("<private>the plan")
    assert dropped(memory, telling) == {"private": 3}
    assert "plan" not in all_words(items(memory))


def test_a_forgotten_session_stays_forgotten(memory: LocalMemory) -> None:
    telling = a_fix()
    remember_events(memory, telling.events)
    forget_session(memory, find_session(memory, "claude-code:s1").id)
    more = Telling(at_ms=telling.at_ms)
    more.asks("What else is there to do?")
    more.stops("Nothing.")
    assert remember_events(memory, more.events).dropped == {"forgotten-session": 2}
    assert items(memory) == [] and latest_conversations(memory, SessionScope(empty=True)).sessions == ()


def test_every_reason_is_explained(memory: LocalMemory) -> None:
    assert len(REASONS) == 11 and all(REASONS.values())
