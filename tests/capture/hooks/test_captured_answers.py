"""The last answer of each turn is remembered, of every host: once, bounded, without secrets, and no small talk."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.whole_items import all_words

from commonplace.capture.hooks.drain import TAIL_BYTES, drain, with_last_answer
from commonplace.capture.hooks.remember_events import remember_events
from commonplace.config import Settings
from commonplace.hosts.hook_event import Event
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.recall import recall
from commonplace.model import Scope

from .hook_runner import put
from .hook_sessions import THEN, Telling, items, only_item

SAID = "The sweeper freed a reservation while the payment was being captured."


def answers(memory: LocalMemory) -> list[str]:
    return [item.body for item in items(memory, "observation") if item.type == "answer"]


def session_with_question(telling: Telling | None = None) -> Telling:
    telling = telling or Telling()
    telling.asks("Fix the deadlock when two carts check out")
    return telling


PROMPTS: dict[str, tuple[str, dict[str, Any]]] = {
    "claude-code": ("UserPromptSubmit", {"session_id": "s", "prompt": "Why do carts lock?"}),
    "codex": ("UserPromptSubmit", {"session_id": "s", "prompt": "Why do carts lock?"}),
    "gemini": ("BeforeAgent", {"session_id": "s", "prompt": "Why do carts lock?"}),
    "cursor": ("beforeSubmitPrompt", {"conversation_id": "s", "prompt": "Why do carts lock?"}),
    "kiro": ("UserPromptSubmit", {"session_id": "s", "prompt": "Why do carts lock?"}),
    "windsurf": ("pre_user_prompt", {"trajectory_id": "s", "tool_info": {"user_prompt": "Why do carts lock?"}}),
}
STOPS: list[tuple[str, str, dict[str, Any]]] = [
    ("claude-code", "Stop", {"session_id": "s", "last_assistant_message": SAID}),
    ("codex", "Stop", {"session_id": "s", "last_assistant_message": SAID}),
    ("gemini", "AfterAgent", {"session_id": "s", "prompt_response": SAID}),
    ("cursor", "afterAgentResponse", {"conversation_id": "s", "text": SAID}),
    ("kiro", "Stop", {"session_id": "s", "assistant_response": SAID}),
    ("windsurf", "post_cascade_response", {"trajectory_id": "s", "tool_info": {"response": SAID}}),
]


@pytest.mark.parametrize(("host", "event", "payload"), STOPS)
def test_every_host_has_its_answers_kept(
    memory: LocalMemory, settings: Settings, host: str, event: str, payload: dict[str, Any]
) -> None:
    name, prompt = PROMPTS[host]
    put(settings, prompt, name, host, name="00000000000000000001-a-1")
    put(settings, payload, event, host, name="00000000000000000002-a-1")
    drain(memory, settings)
    assert answers(memory) == [SAID] and only_item(memory).details["learned"] == SAID


def line(text: str, at_ms: int, role: str = "assistant", **more: Any) -> str:
    stamp = datetime.fromtimestamp(at_ms / 1000, UTC).isoformat().replace("+00:00", "Z")
    content = [{"type": "text", "text": text}] if role == "assistant" else text
    return json.dumps({"type": role, "timestamp": stamp, "message": {"role": role, "content": content}, **more})


def codex_line(text: str, at_ms: int) -> str:
    stamp = datetime.fromtimestamp(at_ms / 1000, UTC).isoformat()
    message = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
    return json.dumps({"type": "response_item", "timestamp": stamp, "payload": message})


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ([line("Question", THEN - 9, "user"), line(SAID, THEN - 5)], SAID),
        ([codex_line(SAID, THEN - 5)], SAID),
        ([json.dumps({"type": "planner_response", "planner_response": {"response": SAID}})], SAID),
        ([json.dumps({"role": "assistant", "message": {"content": [{"type": "text", "text": SAID}]}})], SAID),
        ([line(SAID, THEN - 5), line("Of a sub-agent", THEN - 4, isSidechain=True)], SAID),
        # A drain may come much later: what was said after the stop is another turn's.
        ([line(SAID, THEN - 5), line("Next?", THEN + 500, "user"), line("Another turn", THEN + 900)], SAID),
        ([line(SAID, THEN - 5), line("Much later", THEN + 10**6)], SAID),
        # The turn ended without a word: what was answered before belongs to another prompt.
        ([line("Before", THEN - 50), line("Question", THEN - 9, "user")], ""),
        (["no json", "[]", "{}", '{"message": 5}'], ""),
        ([line(SAID, THEN - 5), "x" * 10], SAID),
        ([line("y" * TAIL_BYTES, THEN - 50), line(SAID, THEN - 5)], SAID),
        ([], ""),
    ],
)
def test_a_transcript_tells_the_answer_that_a_stop_left_out(tmp_path: Path, written: list[str], expected: str) -> None:
    file = tmp_path / "s.jsonl"
    file.write_text("\n".join(written) + "\n", encoding="utf-8")
    event = Event("claude-code", "stop", at_ms=THEN, transcript=str(file))
    assert with_last_answer(event).text == expected


@pytest.mark.parametrize("name", ["missing.jsonl", "folder.jsonl", "pipe.jsonl", "notes.txt", "\0.jsonl"])
def test_what_is_no_transcript_is_not_read(tmp_path: Path, name: str) -> None:
    if name == "folder.jsonl":
        (tmp_path / name).mkdir()
    if name == "pipe.jsonl" and hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / name)
    if name == "notes.txt":
        (tmp_path / name).write_text(line(SAID, THEN), encoding="utf-8")
    event = Event("claude-code", "stop", at_ms=THEN, transcript=str(tmp_path / name))
    assert with_last_answer(event).text == ""


@pytest.mark.parametrize(
    "text", ["Done.", "Great, thanks!", "I'll look at the carts first.", "Let me run the tests now."]
)
def test_small_talk_is_not_kept(memory: LocalMemory, text: str) -> None:
    telling = session_with_question()
    telling.stops(text)
    assert remember_events(memory, telling.events).dropped == {"small-talk": 1}


def test_an_answer_to_nothing_is_not_kept(memory: LocalMemory) -> None:
    telling = Telling()
    telling.asks("hi")
    telling.stops("Hello! I can help you with the code of this project, or look something up for you.")
    remember_events(memory, telling.events)
    assert items(memory) == []


def test_the_same_answer_again_is_kept_once(memory: LocalMemory) -> None:
    telling = session_with_question()
    telling.stops(SAID)
    telling.stops(SAID)
    assert remember_events(memory, telling.events).dropped == {"repeated": 1}
    assert answers(memory) == [SAID]


def test_an_answer_is_bounded_and_tells_nothing_secret_or_private(memory: LocalMemory) -> None:
    key = "sk-ant-api03-" + "Ab1" * 40
    telling = session_with_question()
    telling.stops(f"{SAID} The key is {key}. <private>my diary</private> " + "More words about it. " * 5_000)
    telling.asks("And what does nobody need to know?")
    telling.stops(f"<private>{SAID}</private>")
    remember_events(memory, telling.events)
    (stored,) = answers(memory)
    assert stored.startswith(SAID) and len(stored) < 9_000
    assert key[:20] not in all_words(items(memory)) and "diary" not in all_words(items(memory))


def test_a_cause_is_learnt_where_one_was_asked_for_or_something_failed(memory: LocalMemory) -> None:
    cause = "The driver opens a second connection for every statement of the batch."
    for session, question in (("s1", "Why is the import so slow?"), ("s2", "Import the customers")):
        telling = Telling(session=session)
        telling.asks(question)
        if session == "s2":
            telling.fails("Bash", "E   TimeoutError: no answer\n1 failed", command="pytest")
        telling.stops(f"{cause} I use one now.")
        remember_events(memory, telling.events)
    assert [item.details.get("learned") for item in items(memory, "summary")] == [cause, cause]


LONG = """Perfect! I've taken a look at the checkout and here's what I found.

## Summary

Checkout took 2.4 s because every cart line ran its own price query (N+1). I load all prices with one query now.

```python
prices = load(lines)
```

| step | before | after |
|---|---|---|
| prices | 2.1 s | 90 ms |

- **src/cart.py**: replaced the loop with `load_prices`

Next steps:
- Tell the mobile team

Let me know if you want me to look at shipping too. Would you like that?"""


def test_a_long_answer_is_condensed_to_causes_and_results_and_found_whole(memory: LocalMemory) -> None:
    telling = session_with_question()
    telling.stops(LONG)
    remember_events(memory, telling.events)
    (answer,) = [item for item in items(memory, "observation") if item.type == "answer"]
    assert answer.title == "Checkout took 2.4 s because every cart line ran its own price query (N+1)."
    assert answer.details["narrative"] == (
        "Checkout took 2.4 s because every cart line ran its own price query (N+1). I load all prices with one query"
        " now. src/cart.py: replaced the loop with `load_prices`."
    )
    for words in ('"price query"', '"load_prices"', '"90 ms"'):
        assert answer.id in [hit.item.id for hit in recall(memory, words, Scope(), 5).hits]


def test_an_answer_without_causes_and_results_is_condensed_to_its_main_sentences(memory: LocalMemory) -> None:
    telling = session_with_question()
    telling.stops("The queue has three consumers for carts. Each consumer of the queue reads one partition. " * 4)
    remember_events(memory, telling.events)
    (answer,) = [item for item in items(memory, "observation") if item.type == "answer"]
    assert "Each consumer of the queue reads one partition." in answer.details["narrative"]
