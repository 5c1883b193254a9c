"""Dialogues are stored as the tools would get them from an agent, and found under the names of their turns."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.dialogue_store import Way, stored_dialogue
from benchmarks.dialogues import pooled, sets
from benchmarks.tool_clients import InProcess, Refused, Served

SEARCH = Way("memory_search", "memory_search")


def test_sets_are_read_as_they_are_published(folder: Path) -> None:
    read = sets(folder)
    assert {name: [one.name for one in dialogues] for name, dialogues in read.items()} == {
        "assistant": ["1"],
        "people": ["Chat_1_Ann_Ben", "Chat_2_Cleo_Dan"],
    }
    (chat,) = read["assistant"]
    assert [(turn.id, turn.text, turn.at) for turn in chat.turns] == [
        ("m0", "Which port does Postgres use?", "2024-03-15T00:00:00Z"),
        ("m1", "PostgreSQL listens on port 5432.", "2024-03-15T00:00:00Z"),
    ]
    (question,) = chat.questions
    assert (question.category, question.dialogue) == ("information_extraction", "1") and question.gold == {"m1"}
    together = pooled(read["people"])
    assert together.questions[-1].gold == {"Chat_2_Cleo_Dan/D1:4"} and len(together.sessions) == 3


def test_a_session_is_a_conversation_with_names_and_times(folder: Path, tmp_path: Path) -> None:
    dialogue = pooled(sets(folder)["people"])
    with stored_dialogue(dialogue, tmp_path / "stores", InProcess) as store:
        (found,) = store.door.call("memory_search", query="learn to sail", limit=1)["results"]
        assert next(iter(store.ask(SEARCH, "learn to sail"))) == "Chat_1_Ann_Ben/D1:2"
        result = store.door.call("memory_get_context", conversation_id=found["conversation_id"])
        assert store.door.call("memory_stats")["total_conversations"] == 3
    assert result["folder"] == "/dialogues/Chat_1_Ann_Ben"
    assert [(one["role"], one["metadata"]["name"]) for one in result["messages"]] == [
        ("user", "Ann"),
        ("assistant", "Ben"),
        ("user", "Ann"),
        ("assistant", "Ben"),
    ]
    assert {one["timestamp"] for one in result["messages"]} == {"2023-05-01T13:56:00Z"}


def test_a_long_message_has_the_place_of_its_first_chunk(folder: Path, tmp_path: Path) -> None:
    (chat,) = sets(folder)["assistant"]
    long = "\n\n".join(f"Paragraph {n} is about port {n} of the Postgres server. " * 20 for n in range(12))
    chat = replace(chat, turns=(chat.turns[0], replace(chat.turns[1], text=long)))
    with stored_dialogue(chat, tmp_path / "stores", InProcess) as store:
        found = store.ask(Way("recall", "recall", {"minScore": 0}), "Postgres server port 7")
        assert set(found) <= {"m0", "m1"} and "m1" in found
        # Nothing is told where nothing answers, and that is no failure of the measurement.
        assert store.ask(Way("recall", "recall", {"minScore": 1}), "zebra") == {}
        with pytest.raises(Refused, match="VALIDATION_ERROR"):
            store.ask(Way("recall", "recall", {"limit": 0}), "Postgres")


def test_a_server_without_a_model_is_not_waited_for(tmp_path: Path) -> None:
    with closing(Served(tmp_path, embedder="off")) as door:
        with pytest.raises(Refused, match="VALIDATION_ERROR"):
            door.call("memory_search", query=" ")
        with pytest.raises(RuntimeError, match="model is off"):
            door.until_understood()
