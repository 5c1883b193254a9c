"""Hints at a prompt: what is looked up, what decides, and which lines of a session are shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from tests.conftest import Clock

from commonplace.config import Settings
from commonplace.memory.conversations import NewConversation, NewMessage, open_conversation, store_conversation
from commonplace.memory.hints import (
    NOTHING_SEEN,
    Candidate,
    Seen,
    items_to_show,
    prompt_hints,
    prompt_question,
    rank_candidates,
    warm_up,
)
from commonplace.memory.items import get_item
from commonplace.memory.local_memory import LocalMemory, open_memory
from commonplace.memory.recall import Hit
from commonplace.memory.remember import NewItem, remember
from commonplace.memory.search_candidates import ParsedQuestion, parse_question
from commonplace.model import Item

SAID = (
    ("user", "checkout is slow since Monday"),
    ("tool", "EXPLAIN: Seq Scan on orders (rows=410000)"),
    ("assistant", "The index on orders was dropped with the migration of Sunday; it is back."),
    ("user", "the deadline of the release is the 31st of May"),
)


@pytest.mark.parametrize(
    "prompt",
    [
        "Which Postgres version are we on?",
        "lighthouse score",
        "What did we say about workbox?",
        "why no virtual threads",
    ],
)
def test_a_short_question_is_looked_up(prompt: str) -> None:
    assert prompt_question(prompt) == prompt


@pytest.mark.parametrize(
    "prompt",
    [
        "yes please",
        "what now?",
        "looks good to me, commit it",
        "what do you think?",
        "can you explain?",
        "/clear",
        "ok!",
    ],
)
def test_trivia_are_not(prompt: str) -> None:
    assert prompt_question(prompt) == ""


def conversation(memory: LocalMemory, texts: Sequence[tuple[str, str]] = SAID) -> list[Item]:
    messages = [NewMessage(role, text, 60_000 * number) for number, (role, text) in enumerate(texts)]
    return open_conversation(memory, store_conversation(memory, NewConversation("a", messages)).session.id)[1]


def parsed_question(memory: LocalMemory) -> ParsedQuestion:
    parsed = parse_question(memory, "why is it slow", by_meaning=False)
    return replace(parsed, pending_vector=lambda: np.zeros(1, dtype=np.float32))


def hit(item: Item, answer: float | None, cosine: float = 0.4) -> Hit:
    return Hit(item, 0, 0.9, 0.9, cosine, 0.1, answer=answer)


def test_a_session_that_answers_supports_its_lines_and_another_one_speaks_against_them(memory: LocalMemory) -> None:
    items, others = conversation(memory), conversation(memory, [("user", "something else that is slow")])
    alone, near, rival = hit(items[2], 1.0), hit(items[0], 1.0), hit(others[0], 1.0)

    def certainty(*hits: Hit) -> float:
        return next(one.certainty for one in rank_candidates(memory, parsed_question(memory), hits) if one.hit is alone)

    assert certainty(alone, near) > certainty(alone) > certainty(alone, rival)


def test_what_was_not_read_is_left_out_if_something_was(memory: LocalMemory) -> None:
    items = conversation(memory)
    read, unread = hit(items[2], -1.0), hit(items[0], None, 0.9)
    assert [one.hit for one in rank_candidates(memory, parsed_question(memory), [unread, read])] == [read]
    assert [one.hit for one in rank_candidates(memory, parsed_question(memory), [unread])] == [unread]


def test_a_memory_of_no_session_can_be_sure_too(memory: LocalMemory) -> None:
    stored = remember(memory, NewItem("Checkout is slow without the index on orders.", "memory", "fact"))
    item = memory.store.get([stored.id])[stored.id]
    (sure,) = rank_candidates(memory, parsed_question(memory), [hit(item, 4.0, 0.7)])
    (vague,) = rank_candidates(memory, parsed_question(memory), [hit(item, -2.0, 0.3)])
    assert sure.certainty > sure.borders[0] and vague.certainty < vague.borders[0]


def test_a_question_comes_with_its_answer_and_more_of_its_session(memory: LocalMemory) -> None:
    items = conversation(memory)
    (best, *_others) = rank_candidates(memory, parsed_question(memory), [hit(items[0], 3.0), hit(items[1], 1.0)])
    assert items_to_show(memory, best, ()) == items[:3]
    # What the session has seen is left out; the rest is still worth showing.
    assert items_to_show(memory, best, {items[2].short_id}) == items[:2]
    assert best.was_shown({items[0].short_id}) and not best.was_shown({items[1].short_id})


def test_what_answers_less_is_not_shown_after_what_answers_better(memory: LocalMemory) -> None:
    items = conversation(memory)
    weaker = next(
        one
        for one in rank_candidates(memory, parsed_question(memory), [hit(items[0], 3.0), hit(items[1], 1.0)])
        if one.hit.item == items[1]
    )
    assert weaker.was_shown({items[0].short_id}) and not weaker.was_shown(())


def test_a_statement_needs_no_answer(memory: LocalMemory) -> None:
    stated = conversation(memory)[3]
    assert items_to_show(memory, Candidate(hit(stated, 1.0), 1.0, (0.5, 0.9)), ()) == [stated]


def test_a_question_that_nobody_answered_is_not_shown_and_hides_nothing(settings: Settings, clock: Clock) -> None:
    memory = open_memory(replace(settings, embedder="builtin"), clock)
    warm_up(memory)
    question = "what is the demo server called?"
    for number in range(3):
        remember(memory, NewItem(question, kind="observation", type="prompt", session=f"s{number}", project="shop"))
        clock.now += 60_000
    memory.embeddings.catch_up()
    assert prompt_hints(memory, "shop", question) == []
    fact = remember(memory, NewItem("The demo server is called heron", type="fact"))
    memory.embeddings.catch_up()
    (hint,) = prompt_hints(memory, "shop", question)
    assert hint.shown == (get_item(memory, fact.id).short_id,)
    memory.close()


def warm_memory(settings: Settings, clock: Clock, *kept: NewItem) -> LocalMemory:
    memory = open_memory(replace(settings, embedder="builtin"), clock)
    warm_up(memory)
    for item in kept:
        remember(memory, replace(item, project="shop"))
        clock.now += 60_000
    memory.embeddings.catch_up()
    return memory


def test_a_prompt_asked_before_and_what_was_proposed_from_it_are_no_answers(settings: Settings, clock: Clock) -> None:
    refactor = "Refactor the PDF export, it is too slow in the container"
    audit = "Let's use DynamoDB for the audit log"
    memory = warm_memory(
        settings,
        clock,
        NewItem("PDF invoices are rendered with WeasyPrint; it is slow in the container.", "memory", "fact"),
        NewItem(refactor, "observation", "prompt", session="a"),
        NewItem(audit, "observation", "prompt", session="a"),
        NewItem(audit, "memory", "decision", review="proposed"),
        NewItem("DynamoDB for the ledger: eventual consistency is no good for money.", "memory", "rejected"),
    )
    lines = [hint.line for hint in prompt_hints(memory, "shop", refactor)]
    assert ["WeasyPrint" in line for line in lines] == [True]
    lines = [hint.line for hint in prompt_hints(memory, "shop", audit)]
    assert ["[rejected] DynamoDB for the ledger" in line for line in lines] == [True]
    memory.close()


def test_what_a_prompt_proposes_is_compared_with_what_was_turned_down(memory: LocalMemory) -> None:
    kept = {
        name: get_item(memory, remember(memory, NewItem(text, "memory", type_, project="shop")).id)
        for name, type_, text in (
            ("dynamo", "rejected", "DynamoDB for the ledger: eventual consistency"),
            ("signal", "rejected", "Push notifications through OneSignal. Our privacy officer said no"),
            ("pnpm", "rule", "Use pnpm, never npm"),
            ("lambda", "rejected", "AWS Lambda for the importer, too slow at the start"),
        )
    }

    def against(prompt: str, seen: Seen = NOTHING_SEEN) -> list[str]:
        shown = [hint.shown[0] for hint in prompt_hints(memory, "shop", prompt, seen)]
        return [name for name, item in kept.items() if item.short_id in shown[:1]]

    assert against("Let's use DynamoDB for the audit log") == ["dynamo"]
    assert against("Could you store the audit trail in DynamoDB?") == ["dynamo"]
    assert against("Please add push notifications via OneSignal to the app") == ["signal"]
    assert against("Switch the build to npm please") == ["pnpm"]
    assert against("Replace DynamoDB with Postgres in the sketch") != ["dynamo"]
    assert against("Don't use DynamoDB for this one, take Postgres") != ["dynamo"]
    # What its start showed is said again; what it was told since is not.
    ids = [kept["dynamo"].short_id]
    assert against("Let's use DynamoDB for the audit log", Seen(ids, ids)) == ["dynamo"]
    assert against("Let's use DynamoDB for the audit log", Seen(ids)) == []
