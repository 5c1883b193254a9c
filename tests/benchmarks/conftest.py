"""A small folder of dialogues, laid out as the public sets are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

LAKE = [
    ("Ann", "Hi Ben, how was your summer?"),
    ("Ben", "Great, I learned to sail on the big lake near Zurich."),
    ("Ann", "I would be afraid of the water."),
    ("Ben", "My teacher was a retired captain called Ottilie."),
]
CAKE = [
    ("Ann", "I baked a carrot cake with walnuts for my mother's birthday."),
    ("Ben", "Did she like it?"),
    ("Ann", "She ate three pieces and asked for the recipe."),
]
CHESS = [
    ("Cleo", "The chess tournament in Prague starts on Friday."),
    ("Dan", "Which opening will you play?"),
    ("Cleo", "The Caro-Kann, as always."),
    ("Dan", "My violin was repaired at last, it cost 400 euros."),
]


def _chat(path: Path, sessions: list[list[tuple[str, str]]], result: list[tuple[str, int, list[str]]]) -> None:
    talk: dict[str, Any] = {}
    for number, message in enumerate(sessions, 1):
        talk[f"session_{number}_date_time"] = f"1:56 pm on {number} May, 2023"
        talk[f"session_{number}"] = [
            {"speaker": speaker, "dia_id": f"D{number}:{turn}", "text": text}
            for turn, (speaker, text) in enumerate(message, 1)
        ]
    questions = [{"question": text, "category": kind, "evidence": gold} for text, kind, gold in result]
    path.write_text(json.dumps({"conversation": talk, "qa": questions}), encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two chats of people, and one with an assistant."""
    people, assistant = tmp_path / "sets" / "people", tmp_path / "sets" / "assistant" / "1"
    people.mkdir(parents=True)
    assistant.mkdir(parents=True)
    lake = [
        ("Where did Ben learn to sail?", 4, ["D1:2"]),
        ("What did Ann bake for her mother's birthday?", 1, ["D2:1", "D2:3"]),
        ("Who plays football?", 5, ["D1:1"]),
    ]
    _chat(people / "Chat_1_Ann_Ben.json", [LAKE, CAKE], lake)
    _chat(people / "Chat_2_Cleo_Dan.json", [CHESS], [("How much did the repair of Dan's violin cost?", 4, ["D1:4"])])
    messages = [
        {"id": 0, "role": "user", "content": "Which port does Postgres use? ->-> 1,1", "time_anchor": "March-15-2024"},
        {"id": 1, "role": "assistant", "content": "PostgreSQL listens on port 5432."},
    ]
    chat = [{"batch_number": 1, "turns": [messages]}]
    (assistant / "chat.json").write_text(json.dumps(chat), encoding="utf-8")
    request = {
        "information_extraction": [{"question": "On which port is Postgres?", "source_chat_ids": {"first": [1]}}],
        "abstention": [{"question": "Who wrote it?", "source_chat_ids": [0]}],
    }
    (assistant / "probing_questions.json").write_text(json.dumps(request), encoding="utf-8")
    return people.parent
