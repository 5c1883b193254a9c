"""Turns become messages that lose nothing, keep tool results whole, and have names."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from commonplace.capture.transcripts import MAX_MESSAGE, session_title, turn_messages
from commonplace.hosts.transcript import Block, Transcript, Turn
from commonplace.memory.draft import make_draft
from commonplace.memory.remember import NewItem

BLOCKS = st.lists(
    st.builds(
        Block,
        kind=st.sampled_from(["text", "thinking", "tool_call", "tool_result", "summary"]),
        text=st.text(alphabet="ab`~ \n", max_size=200),
        who=st.sampled_from(["user", "assistant"]),
        tool=st.sampled_from(["", "Bash"]),
    ),
    max_size=8,
)


def turn(*blocks: Block, **more: object) -> Turn:
    return Turn("t1", "user", 1_000, blocks, 5_000, **more)  # type: ignore[arg-type]


def test_question_and_answer_are_two_messages() -> None:
    question, answered = turn_messages(
        turn(
            Block("text", "Why does it fail?", who="user"),
            Block("thinking", "Let me look."),
            Block("tool_call", "pytest -q", tool="Bash", command="pytest -q"),
            Block("tool_result", "1 failed", error="1 failed"),
            Block("tool_call", "file_path: a.py", tool="Edit", files=("a.py",)),
            Block("text", "It was the clock."),
            parent="t0",
            model="claude-x",
            spawned=(("call", "agent"),),
        )
    )
    assert (question.role, question.content, question.at_ms, question.identity) == (
        "user",
        "Why does it fail?",
        1_000,
        "t1/user",
    )
    assert question.meta == {"turn": "t1", "follows": "t0"} and not question.details
    assert answered.content == (
        "Thought: Let me look.\n\n[Bash] pytest -q\n\n```\n1 failed\n```\n\n[Edit] file_path: a.py\n\nIt was the clock."
    )
    assert answered.details == {"files": "a.py", "commands": "pytest -q", "errors": "1 failed"}
    assert answered.meta == {"turn": "t1", "model": "claude-x", "spawned": ["agent", "call"]}
    assert (answered.at_ms, answered.title) == (5_000, "It was the clock.")


def test_a_summary_is_the_products_and_what_follows_it_the_agents() -> None:
    noted, done = turn_messages(turn(Block("summary", "So far: tests.", who="system"), Block("text", "Going on.")))
    assert (noted.role, noted.content) == ("system", "Summary: So far: tests.")
    assert (done.role, done.content) == ("assistant", "Going on.")


def test_a_result_with_fences_in_it_stands_in_a_longer_one() -> None:
    (message,) = turn_messages(turn(Block("tool_result", "```py\nx\n```\n      ````\n")))
    assert message.content.startswith("`````\n") and message.content.endswith("\n`````")


def test_a_result_that_fits_is_never_cut() -> None:
    results = [f"result {n}\n" + "\n".join(f"line {n} {m} of it" for m in range(60)) for n in range(12)]
    blocks = [Block("text", "Look at all of these. " * 30)]
    for result in results:
        blocks += [Block("tool_call", "cat", tool="Bash", command="cat"), Block("tool_result", result)]
    (message,) = turn_messages(turn(*blocks))
    passages = [passage.text or "" for passage in make_draft(NewItem(message.content, "message"), 0).passages]
    assert len(passages) > 5
    for result in results:
        assert sum(result in passage for passage in passages) == 1


@given(BLOCKS)
def test_nothing_is_lost(blocks: list[Block]) -> None:
    whole = "".join(message.content for message in turn_messages(turn(*blocks)))
    for block in blocks:
        assert block.text.strip() in whole


@given(BLOCKS, BLOCKS)
def test_what_comes_later_leaves_the_identities(before: list[Block], after: list[Block]) -> None:
    first = [message.identity for message in turn_messages(turn(*before))]
    assert set(first) <= {entry.identity for entry in turn_messages(turn(*before, *after))}


def test_a_long_turn_is_several_messages_of_which_only_the_last_grows() -> None:
    blocks = [Block("text", f"{n} " + "x" * (MAX_MESSAGE // 3)) for n in range(8)]
    whole = list(turn_messages(turn(*blocks)))
    assert [message.identity for message in whole] == ["t1/assistant", *(f"t1/assistant/{n}" for n in range(2, 5))]
    assert [entry.meta.get("part") for entry in whole] == [None, 2, 3, 4]
    part = list(turn_messages(turn(*blocks[:5])))
    assert part[:2] == whole[:2]


def test_commands_are_named_shortly_and_without_a_torn_secret() -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
    (message,) = turn_messages(turn(Block("tool_call", "", tool="Bash", command="x" * 980 + " " + secret)))
    assert len(message.details["commands"]) <= 1000 and "ghp_a" not in message.details["commands"]


def test_a_session_is_called_by_its_title_or_its_first_question() -> None:
    messages = list(turn_messages(turn(Block("text", "# Fix the build\n\n" + "It fails. " * 100, who="user"))))
    assert session_title(Transcript("codex", "p"), messages) == "Fix the build"
    assert session_title(Transcript("codex", "p", title=" The  build "), messages) == "The build"
    assert len(session_title(Transcript("codex", "p", title="word " * 500), messages)) <= 100
    assert session_title(Transcript("codex", "p"), ()) == ""
