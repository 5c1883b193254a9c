"""One summary and one checkpoint of each session, kept up to date, honest, and left alone where a person wrote."""

from __future__ import annotations

from tests.whole_items import all_words

from commonplace.capture.hooks.remember_events import remember_events
from commonplace.memory.edit_and_forget import Changes, edit_item, forget_items
from commonplace.memory.items import item_history
from commonplace.memory.local_memory import LocalMemory

from .hook_sessions import FOLDER, Telling, a_fix, items, only_item


def test_a_summary_tells_what_was_asked_done_learnt_and_left(memory: LocalMemory) -> None:
    remember_events(memory, a_fix().events)
    summary = only_item(memory)
    assert summary.title == "Why does the login test fail?" and summary.session == "claude-code:s1"
    assert summary.details == {
        "request": "Why does the login test fail?",
        "investigated": "Read src/token_server.py",
        "learned": "The root cause was that the token server is slow, so I doubled its time.",
        "completed": "Modified src/login.py\nRan `pytest tests/test_login.py` — 47 passed",
        "next_steps": "Ask for a faster token server",
        "notes": "1 prompt, 1 edit, 2 commands, 1 read",
    }


def test_a_checkpoint_tells_where_it_stopped(memory: LocalMemory) -> None:
    telling = a_fix()
    remember_events(memory, telling.events)
    checkpoint = only_item(memory, "checkpoint")
    snapshot = checkpoint.details["snapshot"].splitlines()
    assert {name: text for name, text in checkpoint.details.items() if name != "snapshot"} == {
        "task": "Why does the login test fail?",
        "progress": "The login test passes again.",
        "next_steps": "Ask for a faster token server",
        "open_questions": "Shall I write it down in the changelog?",
        "relevant_files": "src/login.py, src/token_server.py",
    }
    assert len(snapshot) == 5 and snapshot[-1] == "command: pytest tests/test_login.py"
    assert checkpoint.created_ms == telling.at_ms


def test_fifty_stops_make_one_summary_that_is_up_to_date(memory: LocalMemory) -> None:
    telling = Telling()
    telling.asks("Rename the modules")
    for number in range(50):
        telling.uses("Edit", file_path=f"src/m{number}.py", old_string="a", new_string=f"b{number}")
        telling.stops(f"I renamed module {number} because of reason {number}.")
        remember_events(memory, telling.events[-2:])
    summary, checkpoint = only_item(memory), only_item(memory, "checkpoint")
    assert summary.details["completed"].startswith("Modified src/m49.py, Modified src/m48.py")
    assert summary.details["completed"].endswith("and 30 more")
    assert "reason 49." in summary.details["learned"] and "reason 37." not in summary.details["learned"]
    assert checkpoint.details["relevant_files"].count(",") == 19
    assert len(item_history(memory, summary.id)) == 49
    assert summary.created_ms == checkpoint.created_ms == telling.at_ms


def test_stopping_again_without_news_changes_nothing(memory: LocalMemory) -> None:
    telling = a_fix()
    telling.stops()
    telling.add("session-end", reason="logout")
    remember_events(memory, telling.events)
    before = only_item(memory), only_item(memory, "checkpoint")
    after = Telling(at_ms=telling.at_ms)
    after.add("session-end", reason="other")
    remember_events(memory, after.events)
    assert (only_item(memory), only_item(memory, "checkpoint")) == before and before[0].rev == 1
    assert before[0].details["next_steps"] == "Ask for a faster token server"


def test_a_session_in_which_nothing_happened_has_none(memory: LocalMemory) -> None:
    for host in ("claude-code", "gemini", "kiro"):
        telling = Telling(host)
        telling.add("session-start", reason="startup")
        telling.asks("hi")
        telling.stops("Hello! What can I do?")
        telling.add("session-end")
        remember_events(memory, telling.events)
    assert items(memory, "summary", "checkpoint", "observation") == []


def test_a_question_that_was_answered_is_summed_up_even_without_tools(memory: LocalMemory) -> None:
    telling = Telling("kiro")
    telling.asks("Which database do we use?")
    telling.stops("We use SQLite because it needs no server.")
    remember_events(memory, telling.events)
    assert only_item(memory).details == {
        "request": "Which database do we use?",
        "learned": "We use SQLite because it needs no server.",
        "notes": "1 prompt",
    }


PRINTED = "# Set up\n- Copy the settings, because nothing works without them\n- Warm the cache"


def test_what_a_tool_printed_is_no_step_of_the_session(memory: LocalMemory) -> None:
    telling = Telling()
    telling.asks("Set the project up")
    telling.uses("Bash", {"stdout": PRINTED, "stderr": ""}, command="cat SETUP.md")
    telling.uses("Bash", {"stdout": "added 3 packages", "stderr": ""}, command="npm ci")
    steps = "- Copy the settings, because nothing works without them.\n- Ask for a key\n- Warm the **cache**"
    telling.stops(f"I installed it.\n\nNext steps:\n{steps}")
    remember_events(memory, telling.events)
    details = only_item(memory).details
    assert details["next_steps"] == "Ask for a key" and "learned" not in details


def test_a_step_that_was_named_before_a_tool_printed_it_stays(memory: LocalMemory) -> None:
    telling = Telling()
    telling.asks("Set the project up")
    telling.uses("Bash", {"stdout": "added 3 packages", "stderr": ""}, command="npm ci")
    telling.stops("I installed it.\n\nNext steps:\n- Warm the cache")
    remember_events(memory, telling.events)
    telling = Telling(at_ms=telling.at_ms)
    telling.asks("Open a pull request and tell what is left to do")
    telling.uses("Bash", {"stdout": PRINTED, "stderr": ""}, command="gh pr view 3")
    telling.stops("It is open.\n\nNext steps:\n- Warm the cache\n- Ask for a key")
    remember_events(memory, telling.events)
    assert only_item(memory).details["next_steps"] == "Warm the cache\nAsk for a key"


def test_what_stands_in_a_file_of_the_session_are_its_own_steps(memory: LocalMemory) -> None:
    telling = Telling()
    telling.asks("Plan it")
    telling.uses("Write", file_path=f"{FOLDER}/plan.ts", content=PRINTED)
    telling.uses("Read", {"file": {"content": PRINTED}}, later_ms=3_600_000, file_path=f"{FOLDER}/plan.ts")
    telling.stops("It is planned.\n\nNext steps:\n- Warm the cache")
    remember_events(memory, telling.events)
    assert only_item(memory).details["next_steps"] == "Warm the cache"


def test_a_command_that_still_fails_is_a_next_step_until_it_goes_well(memory: LocalMemory) -> None:
    telling = Telling()
    telling.fails("Bash", "error TS2304: Cannot find name 'x'.", command="npm run build")
    telling.stops()
    remember_events(memory, telling.events)
    failing = "Still failing: npm run build — failed"
    assert only_item(memory).details["next_steps"] == only_item(memory, "checkpoint").details["next_steps"] == failing
    telling = Telling(at_ms=telling.at_ms)
    telling.uses("Bash", "built in 2 s", command="npm run build")
    telling.stops()
    remember_events(memory, telling.events)
    assert "next_steps" not in only_item(memory).details
    assert only_item(memory).details["completed"] == "Ran `npm run build` — success"


def test_what_a_person_rewrote_or_forgot_stays_so(memory: LocalMemory) -> None:
    telling = a_fix()
    remember_events(memory, telling.events)
    edit_item(memory, only_item(memory).id, Changes(details={"learned": "It was the network."}))
    forget_items(memory, [only_item(memory, "checkpoint").id])
    more = Telling(at_ms=telling.at_ms)
    more.uses("Edit", file_path=f"{FOLDER}/src/other.py", old_string="a", new_string="b")
    more.stops("I changed the other one because it was slow.")
    remember_events(memory, more.events)
    assert (
        only_item(memory).details["learned"] == "It was the network."
        and "other.py" not in only_item(memory).details["completed"]
    )
    assert items(memory, "checkpoint") == []


def test_sub_agents_do_not_speak_for_their_parent(memory: LocalMemory) -> None:
    telling = Telling()
    telling.asks("Find out why the build is slow")
    telling.add("tool", tool="Read", input={"file_path": "webpack.config.js"}, output="x", agent="explorer-1")
    telling.add(
        "tool", tool="Edit", input={"file_path": "a.js", "old_string": "1", "new_string": "2"}, agent="explorer-1"
    )
    telling.add("stop", text="I decided to delete everything because I am a sub-agent.", agent="explorer-1")
    telling.add("subagent-stop", text="The loader is slow because it parses twice.", agent="explorer-1")
    remember_events(memory, telling.events)
    assert items(memory, "summary") == []
    telling = Telling(at_ms=telling.at_ms)
    telling.stops("I removed the second loader, so the build is fast.")
    remember_events(memory, telling.events)
    details = only_item(memory).details
    assert details["learned"] == "I removed the second loader, so the build is fast."
    assert "webpack.config.js" in details["investigated"] and "a.js" in details["completed"]
    assert "Delegated: The loader is slow" in details["investigated"]
    delegation = next(item for item in items(memory, "observation") if item.type == "delegation")
    assert delegation.meta["agent"] == "explorer-1" and delegation.details["subtitle"] == "explorer-1"


def test_a_compaction_keeps_the_thread(memory: LocalMemory) -> None:
    telling = a_fix()
    telling.add("compact", reason="auto", text="We were fixing the login test. The cache must be cleared next,")
    telling.add("session-start", reason="compact")
    telling.asks("Now clear the cache on every login")
    telling.uses("Edit", file_path="src/cache.py", old_string="a", new_string="b")
    telling.stops("The cache is cleared now.")
    remember_events(memory, telling.events)
    details = only_item(memory).details
    assert details["request"] == "Why does the login test fail?\nNow clear the cache on every login"
    assert "Modified src/cache.py, Modified src/login.py" in details["completed"]
    assert "token server is slow" in details["learned"]
    assert any(item.type == "compaction" for item in items(memory, "observation"))


def test_the_summary_stands_before_a_compaction(memory: LocalMemory) -> None:
    telling = a_fix()
    telling.events.pop()
    telling.add("compact", reason="manual")
    remember_events(memory, telling.events)
    assert "Modified src/login.py" in only_item(memory).details["completed"]


def test_secrets_do_not_reach_a_summary_and_it_goes_on(memory: LocalMemory) -> None:
    key = "sk-ant-api03-" + "Ab1" * 40
    telling = Telling()
    telling.asks(f"Use {key} for the deployment")
    telling.uses("Bash", f"deployed with {key}", command=f"make build KEY={key}")
    telling.stops(f"It works because {key} is right.")
    remember_events(memory, telling.events)
    more = Telling(at_ms=telling.at_ms)
    more.uses("Edit", file_path="a.py", old_string="1", new_string="2")
    more.stops()
    remember_events(memory, more.events)
    assert key[:20] not in all_words(items(memory)) and "a.py" in only_item(memory).details["completed"]


def test_each_file_of_a_patch_has_its_own_verb(memory: LocalMemory) -> None:
    telling = Telling("codex")
    telling.asks("Move the code")
    patch = (
        "*** Begin Patch\n*** Update File: a.ts\n-a\n+b\n*** Add File: b.ts\n+c\n*** Delete File: c.ts\n*** End Patch"
    )
    telling.uses("apply_patch", command=patch)
    remember_events(memory, telling.events)
    later = Telling("codex", at_ms=telling.at_ms)
    later.stops("Done.")
    remember_events(memory, later.events)
    assert only_item(memory).details["completed"] == "Deleted c.ts, Created b.ts, Modified a.ts"


def test_what_a_sub_agent_answered_is_told_once(memory: LocalMemory) -> None:
    answer = "The loader is slow because it parses twice."
    for session, order in (("s1", 1), ("s2", -1)):
        telling = Telling(session=session)
        telling.asks("Find out why the build is slow")
        telling.add("subagent-stop", text=answer, agent="explorer-1")
        telling.uses("Task", {"content": [{"type": "text", "text": answer}]}, description="Find it", subagent_type="E")
        telling.events[1:] = telling.events[1:][::order]
        remember_events(memory, telling.events)
    assert sorted(item.type for item in items(memory, "observation")) == ["delegation"] * 2 + ["prompt"] * 2
