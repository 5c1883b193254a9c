"""What is not worth remembering is left out, and counted by its reason."""

from __future__ import annotations

import pytest

from commonplace.capture.hooks.outcomes import remembered
from commonplace.capture.hooks.remembering import remember_events
from commonplace.capture.hooks.trivia import REASONS, is_small_talk
from commonplace.memory.book import Book
from commonplace.memory.conversations import find, latest
from commonplace.memory.organise import forget
from commonplace.model import SessionScope

from .sessions import FOLDER, Telling, a_fix, items


def dropped(book: Book, telling: Telling) -> dict[str, int]:
    return dict(remember_events(book, telling.events).dropped)


def titles(book: Book) -> list[str]:
    return [item.title for item in items(book, "observation")]


def test_a_read_of_a_file_just_written_or_read_says_nothing_new(book: Book) -> None:
    telling = Telling()
    telling.uses("Write", file_path=f"{FOLDER}/a.py", content="x")
    telling.uses("Read", "x", file_path="a.py")
    telling.uses("Read", "y", file_path="b.py")
    telling.uses("Read", "y, more of it", file_path="b.py")
    telling.add("tool", later_ms=3_600_000, tool="Read", input={"file_path": "a.py"}, output="x")
    assert dropped(book, telling) == {"just-seen": 2}
    assert titles(book) == ["Created a.py", "b.py", "a.py"]


def test_another_session_has_not_seen_it(book: Book) -> None:
    for session in ("s1", "s2"):
        telling = Telling(session=session)
        telling.uses("Read", "x", file_path="a.py")
        assert dropped(book, telling) == {}


def test_looking_around_is_told_once_at_most(book: Book) -> None:
    telling = Telling()
    for line in ("pwd", "cd src", "cd src && pwd", "echo hello", "ls -la", "git status", "ls -la", "git status"):
        telling.uses("Bash", f"result {len(telling.events)}", command=line)
    assert dropped(book, telling) == {"looking-around": 6}
    assert titles(book) == ["ls -la", "git status"]


def test_a_failing_look_is_kept(book: Book) -> None:
    telling = Telling()
    telling.fails("Bash", "cd: no such directory: src", command="cd src")
    assert dropped(book, telling) == {} and titles(book) == ["Failed: cd src"]


def test_the_same_command_with_the_same_result_is_told_once(book: Book) -> None:
    telling = Telling()
    for output in ("3 failed", "3 failed", "all passed", "3 failed"):
        telling.uses("Bash", output, command="npm test")
    assert dropped(book, telling) == {"repeated": 1}
    assert len(titles(book)) == 3


def test_what_was_dropped_in_an_earlier_batch_counts_too(book: Book) -> None:
    telling = Telling()
    telling.uses("Bash", "3 failed", command="npm test")
    remember_events(book, telling.events)
    again = Telling(at_ms=telling.at_ms)
    again.uses("Bash", "3 failed", command="npm test")
    assert dropped(book, again) == {"repeated": 1} and remembered(book).dropped == {"repeated": 1}


def test_our_own_memory_is_never_remembered_again(book: Book) -> None:
    telling = Telling()
    telling.uses("mcp__commonplace__search", {"observations": ["a memory"]}, query="login")
    telling.uses("MCP:recall", "a memory", query="login")
    telling.uses("Bash", "a memory", command="commonplace search login")
    telling.uses("Bash", "a memory", command="/usr/local/bin/commonplace recall login --json")
    assert dropped(book, telling) == {"own-memory": 4} and titles(book) == []


def test_lists_thoughts_and_empty_answers_are_left_out(book: Book) -> None:
    telling = Telling()
    telling.uses("TodoWrite", todos=[{"content": "x"}])
    telling.uses("update_plan", plan=[])
    telling.uses("Grep", "", pattern="nothing like it")
    telling.uses("WebSearch", [], query="nothing like it")
    telling.uses("Bash", "x", command="")
    telling.asks("   ")
    assert dropped(book, telling) == {"thinking": 2, "empty": 4}


def test_a_host_that_tells_no_answers_loses_nothing(book: Book) -> None:
    telling = Telling("windsurf")
    telling.uses("read_code", None, file_path="a.py")
    telling.uses("run_command", None, command="make deploy")
    assert dropped(book, telling) == {} and titles(book) == ["a.py", "make deploy"]


@pytest.mark.parametrize(
    "text", ["yes", "Continue.", "ok!", "go on", "Yes, please", "LGTM, thanks", "👍", "/clear", "ja"]
)
def test_small_talk(text: str) -> None:
    assert is_small_talk(text)


@pytest.mark.parametrize(
    "text",
    ["fix it", "run the tests", "why?", "use JWT", "/review src/auth.ts", "no, use postgres", "yes, but with redis"],
)
def test_no_small_talk(text: str) -> None:
    assert not is_small_talk(text)


def test_what_is_private_is_never_stored(book: Book) -> None:
    plan = "the plan " * 4000
    telling = Telling()
    telling.asks("<private>all of the plan</private>")
    telling.asks(f"Write it down. <private>{plan}</private> But not that.")
    telling.uses(
        "Bash", {"stdout": [f"<private>{plan}</private>ok"]}, command=f"echo '<private>{plan}</private>' > a.md"
    )
    telling.uses("Write", file_path="a.md", content=f"x <private>{plan}")
    telling.stops(f"It is done because <private>{plan}</private> you said so.")
    assert dropped(book, telling) == {"private": 1, "small-talk": 1}
    assert len(items(book)) == 5 and "plan" not in repr(items(book))


def test_what_is_private_as_a_whole_is_counted_as_such(book: Book) -> None:
    telling = Telling()
    telling.add("compact", text="<private>the plan</private>")
    telling.add("subagent-stop", text="<private>the plan")
    telling.asks("<private>the plan")
    assert dropped(book, telling) == {"private": 3}
    assert "plan" not in repr(items(book))


def test_a_forgotten_session_stays_forgotten(book: Book) -> None:
    telling = a_fix()
    remember_events(book, telling.events)
    forget(book, find(book, "claude-code:s1").id)
    more = Telling(at_ms=telling.at_ms)
    more.asks("What else is there to do?")
    more.stops("Nothing.")
    assert remember_events(book, more.events).dropped == {"forgotten-session": 2}
    assert items(book) == [] and latest(book, SessionScope(empty=True)).sessions == ()


def test_every_reason_is_explained(book: Book) -> None:
    assert len(REASONS) == 10 and all(REASONS.values())
