"""What a person states in a prompt is proposed as a memory: once, with its sentence, and not as a rule that holds."""

from __future__ import annotations

import pytest

from commonplace.capture.hooks.remember_events import remember_events
from commonplace.memory.captured_events import capture_counts
from commonplace.memory.edit_and_forget import forget_items
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.recall import recall
from commonplace.memory.remember import NewItem, remember_item
from commonplace.memory.rules import active_rules, rule_set
from commonplace.memory.session_context import session_context
from commonplace.model import Item, Scope

from .hook_sessions import Telling, items


def proposals(memory: LocalMemory) -> list[Item]:
    return [item for item in items(memory, "memory") if item.review == "proposed"]


def store_prompts(memory: LocalMemory, *prompts: str, session: str = "s1") -> Telling:
    telling = Telling(session=session)
    for prompt in prompts:
        telling.asks(prompt)
    remember_events(memory, telling.events)
    return telling


@pytest.mark.parametrize(
    ("prompt", "type_", "text"),
    [
        (
            "We decided that tokens live 15 minutes because the auditors asked for it. Now fix the login.",
            "decision",
            "We decided that tokens live 15 minutes because the auditors asked for it.",
        ),
        ("Please add a retry. Always use pnpm here, never npm.", "rule", "Always use pnpm here, never npm."),
        ("I prefer small pull requests, one topic each.", "heuristic", "I prefer small pull requests, one topic each."),
        ("no, use argon2 and not bcrypt", "decision", "Use argon2 and not bcrypt"),
    ],
)
def test_what_a_prompt_states_is_proposed(memory: LocalMemory, prompt: str, type_: str, text: str) -> None:
    store_prompts(memory, prompt)
    (made,) = proposals(memory)
    assert (made.type, made.body, made.origin) == (type_, text, "captured")
    assert made.session == "claude-code:s1" and made.project == "my-api"
    assert str(made.meta["sentence"]).casefold().endswith(text.casefold()) and str(made.meta["sentence"]) in prompt
    # It is found like everything else.
    assert made.id in [hit.item.id for hit in recall(memory, text, Scope(), 5).hits]


def test_it_is_proposed_once_however_often_it_is_said(memory: LocalMemory) -> None:
    telling = store_prompts(memory, "Never deploy on Fridays.", "And now the tests", "never deploy on fridays")
    store_prompts(memory, "Never deploy on Fridays. Update the docs of it", session="s2")
    assert len(proposals(memory)) == 1
    # The same events again change nothing.
    assert remember_events(memory, telling.events).known == 3
    assert capture_counts(memory).proposed == {"rule": 1}


def test_what_was_dismissed_is_not_proposed_again(memory: LocalMemory) -> None:
    store_prompts(memory, "Never deploy on Fridays.")
    (made,) = proposals(memory)
    forget_items(memory, [made.id])
    store_prompts(memory, "Never deploy on Fridays. Update the docs of it", session="s2")
    assert items(memory, "memory") == []


def test_what_is_remembered_already_is_not_proposed(memory: LocalMemory) -> None:
    remember_item(memory, NewItem("never deploy on Fridays", type="fact", project="my-api"))
    store_prompts(memory, "Never deploy on Fridays.")
    assert proposals(memory) == []


def test_a_proposal_is_no_rule_until_it_is_accepted(memory: LocalMemory) -> None:
    store_prompts(memory, "Never deploy on Fridays.")
    assert active_rules(memory, "my-api").project == () and rule_set(memory, "my-api").rules == ()


def test_sub_agents_and_small_talk_propose_nothing(memory: LocalMemory) -> None:
    telling = Telling()
    telling.add("prompt", text="Never deploy on Fridays.", agent="explore")
    telling.asks("no, try again")
    telling.asks("<private>We decided to sell the company.</private> Fix the tests please")
    remember_events(memory, telling.events)
    assert proposals(memory) == []


def test_a_prompt_that_only_states_is_not_where_work_stopped(memory: LocalMemory) -> None:
    telling = Telling()
    telling.asks("Find out why carts lock at night")
    telling.stops("The sweeper held the lock because its transaction was open.")
    telling.asks("We decided that tokens live 15 minutes because the auditors asked for it.")
    telling.stops("Understood, tokens live for 15 minutes from now on.")
    remember_events(memory, telling.events)
    (checkpoint,) = items(memory, "checkpoint")
    assert checkpoint.title == "Find out why carts lock at night"


def test_a_correction_that_repeats_a_rule_is_noted_with_the_rule_and_proposes_nothing(memory: LocalMemory) -> None:
    rule = remember_item(memory, NewItem("Use pnpm, never npm", type="rule", project="my-api")).item
    telling = Telling()
    telling.asks("Add the signature canvas")
    telling.uses("Bash", {"stdout": "added 611 packages"}, command="npm install react-native-signature-canvas")
    telling.asks("No, use pnpm! Always use pnpm here, never npm.")
    telling.stops("I will use pnpm.")
    remember_events(memory, telling.events)
    assert proposals(memory) == []
    (line,) = [line for line in session_context(memory, "my-api", 2000).splitlines() if rule.short_id in line]
    assert line.startswith("- Use pnpm, never npm (said again; broken by `npm install react-native-signature")
    store_prompts(memory, "Always use pnpm in this repository, never npm.", session="s2")
    assert proposals(memory) == [] and "said again 2 times" in session_context(memory, "my-api", 2000)


def test_a_correction_proposes_what_it_says_once(memory: LocalMemory) -> None:
    store_prompts(memory, "No, use pnpm! Always use pnpm here, never npm.")
    assert [item.body for item in proposals(memory)] == ["Always use pnpm here, never npm."]


def test_what_says_more_than_a_rule_or_the_opposite_is_proposed(memory: LocalMemory) -> None:
    remember_item(memory, NewItem("Use pnpm, never npm", type="rule", project="my-api"))
    store_prompts(memory, "Always use npm here, never pnpm. Never deploy with pnpm on Fridays.")
    assert len(proposals(memory)) == 2
