"""Events of any hosts and sessions, in any shape and told any number of times, become one memory."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.capture.ingest_helpers import KEY, ingest, messages, place, talk
from tests.capture.transcripts.corpus import FOLDER, SESSION, write

from commonplace.capture.hooks.remember_events import remember_events
from commonplace.hosts.hook_event import Event, EventKind
from commonplace.memory.captured_events import CaptureCounts, capture_counts
from commonplace.memory.conversations import find_session, latest_conversations
from commonplace.memory.local_memory import LocalMemory
from commonplace.model import SessionScope

from .hook_sessions import Telling, a_fix, items, only_item


def everything(memory: LocalMemory) -> list[tuple[object, ...]]:
    return [(i.kind, i.type, i.title, i.body, i.details, i.meta, i.session, i.rev) for i in items(memory)]


def test_what_became_of_events_is_counted(memory: LocalMemory) -> None:
    done = remember_events(memory, a_fix().events)
    assert done.captured == {"answer": 1, "command": 2, "file-read": 1, "file-write": 1, "prompt": 1}
    assert (done.dropped, done.led) == ({}, {"session-start": 1})
    assert capture_counts(memory) == done


def test_an_event_told_again_is_the_same_one(memory: LocalMemory) -> None:
    events = a_fix().events
    remember_events(memory, events)
    before, counts = everything(memory), capture_counts(memory)
    assert remember_events(memory, events) == CaptureCounts(known=len(events))
    assert remember_events(memory, [*events[3:], *events[3:]]).known == 2 * len(events[3:])
    assert (everything(memory), capture_counts(memory)) == (before, counts)


def test_a_batch_that_is_told_twice_in_parts_is_one(memory: LocalMemory) -> None:
    events = a_fix().events
    for end in range(1, len(events) + 1):
        remember_events(memory, events[:end])
    assert capture_counts(memory).captured == {"answer": 1, "command": 2, "file-read": 1, "file-write": 1, "prompt": 1}
    assert len(items(memory, "summary")) == len(items(memory, "checkpoint")) == 1


def test_an_event_without_an_id_is_known_by_what_it_says(memory: LocalMemory) -> None:
    event = replace(Telling().asks("Write the docs"), id="")
    remember_events(memory, [event, event])
    remember_events(memory, [event])
    assert len(items(memory, "observation")) == 1


def test_observations_carry_their_session_time_project_and_cost(memory: LocalMemory) -> None:
    telling = a_fix("gemini", "g1")
    remember_events(memory, telling.events)
    write_ = next(item for item in items(memory, "observation") if item.type == "file-write")
    assert (write_.project, write_.session) == ("my-api", "gemini:g1")
    assert write_.created_ms == telling.events[4].at_ms and write_.tokens > 10
    assert write_.meta["root"] == FOLDER and write_.details["files_modified"] == "src/login.py"


def test_sessions_of_several_hosts_do_not_mix(memory: LocalMemory) -> None:
    one, two = a_fix("claude-code", "s"), a_fix("codex", "s")
    mixed = [event for pair in zip(one.events, two.events, strict=True) for event in pair]
    remember_events(memory, mixed)
    summaries = items(memory, "summary")
    assert {item.session for item in summaries} == {"claude-code:s", "codex:s"}
    assert [item.details["notes"] for item in summaries] == ["1 prompt, 1 edit, 2 commands, 1 read"] * 2
    sessions = latest_conversations(memory, SessionScope(empty=True)).sessions
    assert {(s.key, s.source, s.label, s.folder, s.project) for s in sessions} == {
        (f"{host}:s", host, "Why does the login test fail?", f"/sessions/{host}", "my-api")
        for host in ("claude-code", "codex")
    }


def test_a_session_without_a_prompt_is_called_by_what_it_did_first(memory: LocalMemory) -> None:
    telling = Telling(session="s9")
    telling.asks("continue")
    telling.fails("Bash", "1 failed", command="pytest tests/test_locks.py")
    telling.stops("One test fails still.")
    remember_events(memory, telling.events)
    (session,) = latest_conversations(memory, SessionScope(empty=True)).sessions
    assert session.label == "Failed: pytest tests/test_locks.py"


def test_a_host_without_session_names_has_a_session_each_day(memory: LocalMemory) -> None:
    telling = Telling("kiro", session="")
    telling.asks("Write the docs")
    telling.add("prompt", later_ms=80_000_000, text="Write more docs")
    remember_events(memory, telling.events)
    keys = [item.session for item in items(memory, "observation")]
    assert keys == ["kiro:my-api 2025-03-15", "kiro:my-api 2025-03-16"]


def test_a_transcript_joins_the_session_that_hooks_told(memory: LocalMemory, tmp_path: Path) -> None:
    remember_events(memory, a_fix(session=SESSION).events)
    before = items(memory, "observation", "summary", "checkpoint")
    ingest(memory, write(place(tmp_path), talk().records))
    joined = find_session(memory, KEY)
    assert [session.key for session in latest_conversations(memory, SessionScope(empty=True)).sessions] == [KEY]
    assert (joined.messages, joined.label, joined.source) == (4, "Why does the login test fail?", "claude-code")
    assert joined.folder == "/sessions/claude-code" and joined.project == "my-api"
    assert items(memory, "observation", "summary", "checkpoint") == before


def test_hooks_join_the_session_of_a_transcript(memory: LocalMemory, tmp_path: Path) -> None:
    path = write(place(tmp_path), talk().records)
    ingest(memory, path)
    find_before, texts = find_session(memory, KEY), messages(memory)
    telling = Telling(session=SESSION)
    telling.asks("And what about the other test?")
    telling.stops("It fails because of the same server.")
    remember_events(memory, telling.events)
    joined = find_session(memory, KEY)
    assert (joined.id, joined.label, joined.messages) == (find_before.id, find_before.label, 4)
    assert messages(memory) == texts
    ingest(memory, path)
    assert messages(memory) == texts and len(items(memory, "observation")) == 2
    assert only_item(memory).session == KEY


def test_a_compaction_under_a_new_name_continues_the_session_before(memory: LocalMemory) -> None:
    first = a_fix(session="one")
    remember_events(memory, first.events)
    second = Telling(session="two", at_ms=first.at_ms)
    second.add("session-start", reason="compact")
    third = Telling(session="three", at_ms=second.at_ms)
    third.add("session-start", reason="startup")
    third.asks("Now look at the other test, please")
    remember_events(memory, [*second.events, *third.events])
    assert find_session(memory, "claude-code:two").meta["continued_from"] == "claude-code:one"
    assert "continued_from" not in find_session(memory, "claude-code:three").meta
    again = Telling(session="one", at_ms=third.at_ms)
    again.add("session-start", reason="compact")
    remember_events(memory, again.events)
    assert "continued_from" not in find_session(memory, "claude-code:one").meta


def test_a_session_of_many_events_is_taken_in_several_transactions(memory: LocalMemory) -> None:
    telling = Telling()
    for number in range(1200):
        telling.uses("Bash", f"result {number}", command=f"make part-{number}")
    telling.stops("Built all parts.")
    assert remember_events(memory, telling.events).captured == {"command": 1200}
    assert only_item(memory).details["notes"] == "1200 commands"


def test_a_clock_that_is_wrong_is_not_believed(memory: LocalMemory) -> None:
    telling = Telling()
    for at_ms in (0, -5, 10**18, 2 * 10**12):
        remember_events(memory, [replace(telling.asks(f"What about {at_ms}?"), at_ms=at_ms)])
    assert {item.created_ms for item in items(memory)} == {memory.clock()}


_NAMES = st.sampled_from(
    "command file_path path edits old_string new_string query url prompt content operations".split()
)
_JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES | st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
_RUNS = count()
_KINDS: list[EventKind] = ["session-start", "prompt", "tool", "compact", "stop", "subagent-stop", "session-end"]
_TOOLS = "Bash Edit Write Read Grep WebFetch Task apply_patch fs_write mcp__a__b TodoWrite".split()
_EVENTS = st.builds(
    Event,
    host=st.sampled_from(["claude-code", "kiro"]),
    kind=st.sampled_from(_KINDS),
    id=st.text(max_size=3),
    session=st.sampled_from(["", "s", "x" * 500]) | st.text(max_size=5),
    cwd=st.sampled_from(["", "/srv/code/my-api", "C:\\code\\web", "\0", "x" * 5000]),
    at_ms=st.sampled_from([0, -1, 10**20]) | st.integers(1_742_049_000_000, 1_742_059_000_000),
    text=st.text(max_size=100),
    tool=st.sampled_from(_TOOLS) | st.text(max_size=10),
    input=st.dictionaries(_NAMES | st.text(max_size=8), _JSON, max_size=4),
    output=_JSON,
    failed=st.booleans(),
    reason=st.sampled_from(["", "compact", "resume"]),
    agent=st.sampled_from(["", "explorer"]),
)


@settings(max_examples=60)
@given(events_sent=st.lists(_EVENTS, max_size=8))
def test_any_events_twice_are_as_once(memory: LocalMemory, events_sent: list[Event]) -> None:
    number = next(_RUNS)
    events = [
        replace(event, id=event.id and f"{number} {event.id}", session=event.session and f"{number} {event.session}")
        for event in events_sent
    ]
    done = remember_events(memory, events)
    before, counts = everything(memory), capture_counts(memory)
    assert done.unfit == 0
    assert sum(sum(group.values()) for group in (done.captured, done.dropped, done.led)) + done.known == len(events)
    assert remember_events(memory, events).known == len(events)
    assert (everything(memory), capture_counts(memory)) == (before, counts)
    for kind in ("summary", "checkpoint"):
        sessions = [item.session for item in items(memory, kind)]
        assert len(sessions) == len(set(sessions))


def test_output_that_no_host_would_write_is_no_answer(memory: LocalMemory) -> None:
    telling = Telling()
    telling.uses("Bash", {"a": b"bytes"}, command="make x")
    telling.uses("Frob", {"a": {1, 2}}, thing=object())
    deep: list[Any] = []
    for _ in range(10_000):
        deep = [deep]
    telling.uses("Read", deep, file_path="deep.json")
    telling.uses("Grep", "x" * 3_000_000, pattern="y")
    assert sum(remember_events(memory, telling.events).captured.values()) >= 3
    assert all(len(item.body) < 20_000 for item in items(memory))
