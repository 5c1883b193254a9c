"""A session is told in order, within a budget, the outcome before the way to it."""

from __future__ import annotations

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import THEN

from commonplace.errors import InvalidInput, NoResults, NotFound
from commonplace.memory.conversations import NewConversation, NewMessage, store_conversation
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.sessions import collapse_code_blocks, newest_session, reconstruct, shorten_message
from commonplace.text.tokens import estimate_tokens

LONG = "\n\n".join(
    [
        "Thought: where could it be?",
        "[Bash] grep -r limit",
        "```\n" + "found it\n" * 50 + "```",
        "First I looked around.",
        "The limiter is a token bucket.",
    ]
)


def talk(memory: LocalMemory, key: str, *texts: str, project: str | None = None, minute: int = 0, **meta: str) -> str:
    messages = [
        NewMessage("assistant" if number % 2 else "user", text, THEN + minute * 60_000 + number)
        for number, text in enumerate(texts)
    ]
    conversation = store_conversation(memory, NewConversation(key, messages, key=key, project=project, meta=meta))
    return conversation.session.uid


def test_all_is_told_where_it_fits(memory: LocalMemory) -> None:
    uid = talk(memory, "s", "Limit it", LONG)
    found = reconstruct(memory, uid)
    assert [one.text for one in found.messages] == ["Limit it", LONG] and all(one.whole for one in found.messages)
    assert found.left_out == 0


def test_results_go_first_then_the_way_then_the_oldest(memory: LocalMemory) -> None:
    talk(memory, "s", *["Limit it", LONG] * 5)
    lines = [reconstruct(memory, "s", budget=budget).messages for budget in (1_000, 500, 150)]
    assert lines[0][1].text == collapse_code_blocks(LONG) and "[50 lines]" in lines[0][1].text
    assert lines[1][1].text.endswith("The limiter is a token bucket.") and len(lines[1]) == 10
    assert len(lines[2]) < 10 and lines[2][-1].item.body == LONG


def test_of_an_answer_the_end_is_kept_and_of_a_question_the_beginning(memory: LocalMemory) -> None:
    talk(memory, "s", "Limit it. " * 100, LONG)
    question, answer = (one.item for one in reconstruct(memory, "s").messages)
    assert shorten_message(answer, 60) == "First I looked around.\n\nThe limiter is a token bucket."
    assert shorten_message(answer, 30) == "…\n\nThe limiter is a token bucket."
    assert shorten_message(question, 20).startswith("Limit it. Limit it")


@given(texts=st.lists(st.text(alphabet="ab `\n[", min_size=1).filter(str.strip), min_size=1, max_size=8))
@pytest.mark.parametrize("budget", [100, 200, 1_000])
def test_the_budget_is_kept_and_what_is_missing_is_counted(memory: LocalMemory, texts: list[str], budget: int) -> None:
    uid = talk(memory, uuid.uuid4().hex, *(text * 50 for text in texts))
    found = reconstruct(memory, uid, budget=budget)
    assert len(found.messages) + found.left_out == len(texts)
    assert len(found.messages) == 1 or sum(estimate_tokens(len(one.text)) for one in found.messages) <= budget


def test_the_newest_is_of_the_project_and_no_sub_agents(memory: LocalMemory) -> None:
    with pytest.raises(NoResults):
        newest_session(memory, None)
    mine = talk(memory, "mine", "Hello", project="my-api")
    other = talk(memory, "other", "Hello", project="shop", minute=1)
    talk(memory, "mine/agent", "Search", project="my-api", minute=2, parent_session="mine")
    assert newest_session(memory, "my-api").uid == mine
    assert newest_session(memory, "unheard-of").uid == newest_session(memory, None).uid == other


def test_bad_input_is_refused(memory: LocalMemory) -> None:
    with pytest.raises(InvalidInput, match="too small"):
        reconstruct(memory, "s", budget=10)
    with pytest.raises(NotFound):
        reconstruct(memory, "no such session")
