"""Claude Code's records become turns: what was asked, thought, done and answered, on every branch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.capture.transcripts.corpus import FOLDER, SESSION, Claude, reading, texts, write

from commonplace.hosts.transcript import MAX_TURN


@pytest.fixture
def session() -> Claude:
    return Claude()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / f"{SESSION}.jsonl"


def test_a_turn_is_a_question_and_all_that_was_done_about_it(session: Claude, path: Path) -> None:
    prompt = session.user("Why does login fail?")
    session.assistant({"type": "thinking", "thinking": "Look at the log.", "signature": "x"})
    session.says("Let me look.")
    session.calls("Bash", "t1", command="tail app.log", description="Read the log")
    session.answers("t1", "Error: token expired\nexit", error=True)
    session.calls("Edit", "t2", file_path="/srv/code/my-api/auth.py", old_string="60", new_string="3600")
    session.answers("t2", [{"type": "text", "text": "The file was updated."}])
    session.says("Tokens lived for a minute.")
    session.user("Thanks, now add a test.")
    turns, pass_ = reading(write(path, session.records), "claude-code")
    first, second = turns
    assert (first.identity, first.role, first.parent, first.model) == (prompt, "user", None, "claude-x")
    assert texts(first) == [
        ("text", "Why does login fail?"),
        ("thinking", "Look at the log."),
        ("text", "Let me look."),
        ("tool_call", "tail app.log"),
        ("tool_result", "Error: token expired\nexit"),
        ("tool_call", "file_path: /srv/code/my-api/auth.py\nold_string: 60\nnew_string: 3600"),
        ("tool_result", "The file was updated."),
        ("text", "Tokens lived for a minute."),
    ]
    command, failure, edit, updated = first.blocks[3:7]
    assert (command.tool, command.command, command.call_id) == ("Bash", "tail app.log", "t1")
    assert (failure.tool, failure.error) == ("Bash", "Error: token expired")
    assert (edit.tool, edit.files) == ("Edit", ("/srv/code/my-api/auth.py",))
    assert (updated.tool, updated.error) == ("Edit", "")
    assert first.blocks[0].who == "user" and first.blocks[2].who == "assistant"
    assert (second.parent, texts(second)) == (prompt, [("text", "Thanks, now add a test.")])
    assert first.at_ms and first.until_ms and first.until_ms - first.at_ms == 7 * 60_000
    about = pass_.transcript
    assert (about.session, about.folder, about.branch, about.version) == (SESSION, FOLDER, "main", "2.1.0")
    assert about.started_ms == first.at_ms and not pass_.counts.unknown


@pytest.mark.parametrize(
    ("content", "more", "text"),
    [
        ("plain", {}, "plain"),
        ([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}], {}, "one\ntwo"),
        ([{"type": "text", "text": "see"}, {"type": "image", "source": {"data": "AAAA"}}], {}, "see\n[image]"),
        ([{"type": "tool_reference", "tool_name": "Read"}], {}, "tool_name: Read"),
        ({"stdout": "out", "stderr": "err", "interrupted": False}, {}, "out\nerr"),
        ("", {"toolUseResult": {"stdout": "from the record", "stderr": ""}}, "from the record"),
        ([], {"toolUseResult": "Error: no"}, "Error: no"),
        (None, {}, ""),
        ("x <system-reminder>be good</system-reminder>", {}, "x"),
        ("\x1b[31mred\x1b[0m", {}, "red"),
        ({"file": {"filePath": "a.py", "content": "pass"}}, {}, "pass"),
    ],
)
def test_results_of_every_shape_are_text(
    session: Claude, path: Path, content: Any, more: dict[str, Any], text: str
) -> None:
    session.user("Go")
    session.calls("Tool", "t1", path="a.py")
    session.answers("t1", content, **more)
    (turn,), _ = reading(write(path, session.records), "claude-code")
    assert texts(turn)[-1] == ("tool_result", text)


@pytest.mark.parametrize(
    "content",
    [
        "[Request interrupted by user]",
        [{"type": "text", "text": "[Request interrupted by user for tool use]"}],
        "<local-command-stdout>Set model</local-command-stdout>",
        "<local-command-caveat>Caveat: the messages below</local-command-caveat>",
        "<system-reminder>Never mind.</system-reminder>",
        "   ",
    ],
)
def test_noise_begins_no_turn(session: Claude, path: Path, content: Any) -> None:
    prompt = session.user("Go")
    session.says("Gone.")
    session.user(content)
    session.user("Meta words", isMeta=True)
    turns, _ = reading(write(path, session.records), "claude-code")
    assert [(turn.identity, texts(turn)) for turn in turns] == [(prompt, [("text", "Go"), ("text", "Gone.")])]


def test_a_command_is_what_was_typed_and_one_to_the_product_alone_is_dropped(session: Claude, path: Path) -> None:
    first = session.user("Go")
    session.says("Gone.")
    session.user("<command-name>/clear</command-name>\n<command-message>clear</command-message>")
    session.user("<local-command-stdout></local-command-stdout>")
    session.user("<command-name>/review</command-name><command-args>auth.py</command-args>")
    session.user([{"type": "text", "text": "Please review the file with care."}], isMeta=True)
    session.says("Looks fine.")
    turns, _ = reading(write(path, session.records), "claude-code")
    assert [texts(turn)[0][1] for turn in turns] == ["Go", "/review auth.py"]
    assert turns[1].parent == first


def test_what_a_person_ran_in_the_shell_is_a_call(session: Claude, path: Path) -> None:
    session.user("<bash-input>make test</bash-input>")
    session.user("<bash-stdout>1 failed</bash-stdout><bash-stderr>exit code 2</bash-stderr>")
    (turn,), _ = reading(write(path, session.records), "claude-code")
    assert texts(turn) == [("tool_call", "make test"), ("tool_result", "1 failed\nexit code 2")]
    assert (turn.role, turn.blocks[0].command, turn.blocks[1].error) == ("user", "make test", "1 failed")


def test_a_notice_of_a_background_task_belongs_to_the_running_turn(session: Claude, path: Path) -> None:
    session.user("Go")
    session.user("<task-notification><summary>tests passed</summary></task-notification>")
    session.says("They passed.")
    (turn,), _ = reading(write(path, session.records), "claude-code")
    assert [kind for kind, _ in texts(turn)] == ["text", "tool_result", "text"]


def test_what_was_typed_while_the_agent_worked_begins_a_turn(session: Claude, path: Path) -> None:
    session.user("Go")
    session.says("Going.")
    typed = session.add("attachment", attachment={"type": "queued_command", "prompt": "Left, please"})
    session.add("attachment", attachment={"type": "todo_reminder", "content": []})
    session.says("Left.")
    turns, _ = reading(write(path, session.records), "claude-code")
    assert (turns[1].identity, texts(turns[1])) == (typed, [("text", "Left, please"), ("text", "Left.")])


def test_an_edited_question_leaves_its_first_form_beside_the_path(session: Claude, path: Path) -> None:
    root = session.user("Set up the project")
    done = session.says("Done.")
    wrong = session.user("Use MySQL")
    session.says("MySQL it is.")
    child = session.user("And Redis")
    session.says("And Redis.")
    right = session.user("Use Postgres", parentUuid=done)
    session.says("Postgres it is.")
    turns, pass_ = reading(write(path, session.records), "claude-code")
    assert [(turn.identity, turn.parent) for turn in turns] == [
        (root, None),
        (wrong, root),
        (child, wrong),
        (right, root),
    ]
    assert pass_.off_path == {wrong, child}


def test_a_retried_answer_of_an_older_question_stands_alone(session: Claude, path: Path) -> None:
    first = session.user("One")
    session.says("1")
    session.user("Two")
    session.says("2")
    again = session.says("I", parentUuid=first)
    turns, _ = reading(write(path, session.records), "claude-code")
    assert (turns[2].identity, turns[2].role, turns[2].parent) == (again, "assistant", first)


def test_sidechains_in_the_same_file_are_turns_of_their_agent(session: Claude, path: Path) -> None:
    main = session.user("Find the bug")
    task = session.calls("Task", "t1", prompt="Search for it")
    side = session.user("Search for it", isSidechain=True, parentUuid=None, agentId="a1")
    found = session.says("It is in auth.py", isSidechain=True)
    session.answers("t1", [{"type": "text", "text": "auth.py"}], parentUuid=task, toolUseResult={"agentId": "a1"})
    session.says("auth.py, line 3.")
    turns, pass_ = reading(write(path, session.records), "claude-code")
    mine, agents = turns
    assert (mine.identity, mine.sidechain, mine.spawned) == (main, False, (("t1", "a1"),))
    assert (agents.identity, agents.sidechain, agents.agent_id, agents.parent) == (side, True, "a1", main)
    assert texts(agents)[-1][1] == "It is in auth.py" and found
    assert pass_.off_path == frozenset()


def test_a_sub_agent_has_its_own_file_and_is_linked_to_the_call(session: Claude, tmp_path: Path) -> None:
    session.user("Search", isSidechain=True, agentId="abc123")
    session.says("Found.", isSidechain=True, agentId="abc123")
    folder = tmp_path / SESSION / "subagents"
    path = write(folder / "agent-abc123.jsonl", session.records)
    (folder / "agent-abc123.meta.json").write_text(
        json.dumps({"agentType": "Explore", "description": "Find it", "toolUseId": "t9"}), encoding="utf-8"
    )
    (turn,), pass_ = reading(path, "claude-code")
    about = pass_.transcript
    assert (about.session, about.parent_session, about.agent_id) == (f"{SESSION}/agent-abc123", SESSION, "abc123")
    assert (about.agent_type, about.parent_call, about.title) == ("Explore", "t9", "Find it")
    assert (turn.agent_id, turn.sidechain) == ("abc123", False)


def test_a_sub_agent_may_lie_elsewhere_under_another_name(session: Claude, tmp_path: Path) -> None:
    session.user("Search", isSidechain=True, agentId="a1")
    for path in (tmp_path / "agent-a1.jsonl", tmp_path / SESSION / "subagents" / "a1.jsonl"):
        (turn,), pass_ = reading(write(path, session.records), "claude-code")
        about = pass_.transcript
        assert (about.session, about.parent_session, turn.agent_id) == (f"{SESSION}/agent-a1", SESSION, "a1")


def test_progress_tells_which_call_started_an_agent(session: Claude, path: Path) -> None:
    session.user("Go")
    session.calls("Task", "t1", prompt="Search")
    session.add("progress", data={"type": "agent_progress", "agentId": "a7"}, parentToolUseID="t1")
    (turn,), _ = reading(write(path, session.records), "claude-code")
    assert turn.spawned == (("t1", "a7"),)


def test_a_compacted_session_goes_on_from_its_summary(session: Claude, path: Path) -> None:
    first = session.user("Build it")
    last = session.says("Half built.")
    session.add("system", subtype="compact_boundary", parentUuid=None, logicalParentUuid=last)
    words = "This session is being continued from a previous conversation that ran out of context. We built half."
    summary = session.user(words, isCompactSummary=True)
    session.says("The other half now.")
    turns, pass_ = reading(write(path, session.records), "claude-code")
    assert [(turn.identity, turn.role, turn.parent) for turn in turns] == [
        (first, "user", None),
        (summary, "system", first),
    ]
    assert texts(turns[1])[0] == ("summary", words) and pass_.transcript.continued_from == ""


def test_a_session_that_continues_another_names_it(session: Claude, path: Path) -> None:
    before = "99999999-1111-4222-8333-444455556666"
    session.user(f"This session is being continued from a previous conversation. Read /x/{before}.jsonl for more.")
    _, pass_ = reading(write(path, session.records), "claude-code")
    assert pass_.transcript.continued_from == before


def test_history_copied_from_another_session_names_it(path: Path) -> None:
    session = Claude("88888888-1111-4222-8333-444455556666")
    session.user("Go")
    _, pass_ = reading(write(path, session.records), "claude-code")
    assert (pass_.transcript.session, pass_.transcript.continued_from) == (SESSION, session.session)


def test_a_session_without_an_id_is_named_after_its_file(tmp_path: Path) -> None:
    path = write(tmp_path / "notes.jsonl", [{"type": "user", "message": {"content": "Go"}}])
    assert reading(path, "claude-code")[1].transcript.session == "notes"


def test_titles(session: Claude, path: Path) -> None:
    session.records.append({"type": "summary", "summary": "Another session", "leafUuid": "elsewhere"})
    session.user("Go")
    session.records.append({"type": "ai-title", "aiTitle": "Going", "sessionId": SESSION})
    assert reading(write(path, session.records), "claude-code")[1].transcript.title == "Going"
    session.records.append({"type": "custom-title", "customTitle": "Went", "sessionId": SESSION})
    assert reading(write(path, session.records), "claude-code")[1].transcript.title == "Went"


def test_a_summary_of_this_session_is_its_title(session: Claude, path: Path) -> None:
    leaf = session.user("Go")
    session.records.append({"type": "summary", "summary": "Going there", "leafUuid": leaf})
    assert reading(write(path, session.records), "claude-code")[1].transcript.title == "Going there"


def test_unknown_and_broken_records_are_counted_and_nothing_is_lost(session: Claude, path: Path) -> None:
    session.user("Go")
    session.add("hologram", data=1)
    for kind in ("file-history-snapshot", "queue-operation", "attachment", "system"):
        session.add(kind)
    session.assistant({"type": "smell", "text": "roses"}, "bare", {"type": "redacted_thinking", "data": "x"})
    session.records += [{"type": "user"}, {"type": "assistant", "message": "odd"}, {"no": "type"}]
    write(path, session.records)
    with path.open("ab") as file:
        file.write(b'not json\n[1]\n"text"\n\n{"type": "user", "message": \n')
    (turn,), pass_ = reading(path, "claude-code")
    assert [text for _, text in texts(turn)] == ["Go", "roses", "bare"]
    assert pass_.counts.unknown == {"hologram": 1, "block smell": 1, "": 1}
    assert pass_.counts.malformed == 4


def test_times_may_be_missing_or_out_of_order(session: Claude, path: Path) -> None:
    session.user("Go", timestamp=None)
    session.says("later", timestamp="2026-03-15T12:00:00Z")
    session.says("earlier", timestamp="2026-03-15T11:00:00Z")
    session.says("nonsense", timestamp="soon")
    (turn,), _ = reading(write(path, session.records), "claude-code")
    assert (turn.at_ms, turn.until_ms) == (None, 1_773_576_000_000)


def test_without_ids_the_content_names_a_turn(session: Claude, path: Path) -> None:
    for words in ("continue", "continue", "stop"):
        session.user(words, uuid=None, timestamp=None)
        session.says("ok", uuid=None)
    turns, _ = reading(write(path, session.records), "claude-code")
    assert len({turn.identity for turn in turns}) == 3
    again, _ = reading(write(path, session.records), "claude-code")
    assert again == turns


def test_a_day_of_work_on_one_question_is_cut_where_no_tool_is_waited_for(session: Claude, path: Path) -> None:
    session.user("Do everything")
    for number in range(40):
        session.calls("Read", f"t{number}", file_path=f"{number}.py")
        session.answers(f"t{number}", "x" * 15_000)
    turns, _ = reading(write(path, session.records), "claude-code")
    assert len(turns) == 3 and [turn.role for turn in turns] == ["user", "assistant", "assistant"]
    assert [turn.parent for turn in turns] == [None, turns[0].identity, turns[1].identity]
    assert all(sum(len(block.text) for block in turn.blocks) < MAX_TURN + 20_000 for turn in turns)
    calls = [block.call_id for turn in turns for block in turn.blocks if block.kind == "tool_result"]
    assert calls == [f"t{number}" for number in range(40)]
    assert all(block.tool == "Read" for turn in turns for block in turn.blocks if block.kind == "tool_result")


def test_a_turn_that_grew_has_another_digest(session: Claude, path: Path) -> None:
    session.user("Go")
    (before,), _ = reading(write(path, session.records), "claude-code")
    session.says("Gone.")
    (after,), _ = reading(write(path, session.records), "claude-code")
    assert before.identity == after.identity and before.digest != after.digest
