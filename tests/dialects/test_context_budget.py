"""The token budget of `get_context`: counted as the reference counts, kept as the reply is written."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.dialects.conftest import TOOLS, Call

from commonplace.dialects.get_context import LEAST_ENTRY_TOKENS, ContextRows
from commonplace.memory.context import ContextItem, Signals
from commonplace.memory.items import get_item
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import NewItem, remember, remember_all
from commonplace.text.tokens import CHARACTERS_PER_TOKEN

TEXT = st.text(st.characters(codec="utf-8"), max_size=300) | st.sampled_from(
    ['"' * 200, "\\" * 300, "\n" * 50 + "x", "🦓" * 200, "word " * 2000, "x" * 5000, "password = hunter2-hunter2 " * 20]
)
NOTES = st.builds(
    lambda kind, type_, text, n: NewItem(
        kind=kind,
        type=type_ if kind == "memory" else "",
        title=f"T{n}",
        content=text,
        session="s",
        project="my-api",
        details={"summary": {"learned": text}, "checkpoint": {"progress": text}}.get(kind, {}),
    ),
    st.sampled_from(["observation", "memory", "summary", "checkpoint"]),
    st.sampled_from(["note", "decision", "rule"]),
    TEXT,
    st.integers(0, 10**6),
)


@pytest.mark.parametrize("text", ["x", "a" * 4_000, '"' * 200, "\n\t\\" * 50, "🦓 東京 " * 40])
def test_an_entry_takes_no_less_than_is_assumed_before_it_is_written(memory: LocalMemory, text: str) -> None:
    """What surely does not fit is not written to find that out."""
    item = get_item(memory, remember(memory, NewItem(text, kind="memory", type="note", created_ms=0)).id)
    entry = ContextItem(item, text, 0.0, Signals(0.0, 0.0, 0.0, 0.0))
    texts = len(item.title) + len(text) + len(item.type)
    assert ContextRows(memory).tokens(entry) >= LEAST_ENTRY_TOKENS + texts // CHARACTERS_PER_TOKEN


@pytest.mark.promise("kiro:get_context:token-estimate")
def test_tokens_used_is_the_sum_of_a_quarter_of_each_content(example: LocalMemory, call: Call) -> None:
    reply = call("get_context", project="my-api")
    contents = [item["content"] for item in reply["items"]]
    assert contents
    assert reply["tokensUsed"] == sum(math.ceil(len(content) / 4) for content in contents)
    assert reply["tokensUsed"] <= reply["tokenBudget"]


@settings(max_examples=60)
@given(notes=st.lists(NOTES, min_size=1, max_size=12), budget=st.integers(150, 6000), query=st.booleans())
@pytest.mark.promise("kiro:get_context:budget-kept")
def test_the_reply_as_written_stays_within_the_budget(
    memory: LocalMemory, notes: list[NewItem], budget: int, query: bool
) -> None:
    remember_all(memory, notes)
    arguments = {"project": "my-api", "token_budget": budget} | ({"query": "word T1"} if query else {})
    reply = TOOLS["get_context"].run(memory, arguments)
    assert len(reply.text) / 4 <= budget
    assert json.loads(reply.text) == reply.data
    assert reply.data["tokensUsed"] == sum(math.ceil(len(item["content"]) / 4) for item in reply.data["items"])


@pytest.mark.parametrize(("question", "used"), [(0, 1), (-5, 1), (1, 1), (149.0, 149), (10**9, 200_000)])
def test_a_budget_out_of_range_is_moved_to_its_border(
    memory: LocalMemory, call: Call, question: float, used: int
) -> None:
    remember(memory, NewItem(content="Something", project="my-api"))
    reply = call("get_context", project="my-api", token_budget=question)
    assert reply["tokenBudget"] == used
    assert reply["truncated"] == (used < 100)


def test_knowledge_does_not_crowd_out_the_rest(memory: LocalMemory, call: Call) -> None:
    remember_all(
        memory,
        [
            NewItem(content=f"Decision {n}: " + f"because{n} " * 40, type="decision", project="my-api")
            for n in range(50)
        ],
    )
    remember(memory, NewItem(kind="summary", session="s", details={"request": "Last request"}, project="my-api"))
    remember(memory, NewItem(kind="checkpoint", session="s", details={"task": "Last task"}, project="my-api"))
    reply = call("get_context", project="my-api")
    assert {item["type"] for item in reply["items"]} == {"decision"}
    assert reply["summaries"][0]["request"] == "Last request"
    assert reply["checkpoint"]["task"] == "Last task"
