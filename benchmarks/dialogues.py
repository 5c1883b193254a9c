"""Long conversations with questions whose answering turns are known.

A folder of data has a folder for each set: of chats between two people (`Chat_*.json`: sessions of turns, and `qa` with
evidence), or of chats with an assistant (`*/chat.json` beside `probing_questions.json`). None of these is in this
repository. The folder `training` has a set of our own: the worlds that are kept apart for checking.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from training.worlds import World, read_worlds

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
# Questions that nothing answers, or that a whole chat does.
NOT_ASKED = ("abstention", "summarization")
_TIMES = ("%I:%M %p on %d %B, %Y", "%d.%m.%Y, %H:%M:%S", "%B-%d-%Y")


@dataclass(frozen=True, slots=True)
class Turn:
    """One message; `id` is what the questions' evidence calls it."""

    id: str
    session: str
    speaker: str
    text: str
    at: str


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the ids of the turns that answer it."""

    id: str
    text: str
    category: str
    gold: frozenset[str]

    @property
    def dialogue(self) -> str:
        return self.id.partition("/")[0]


@dataclass(frozen=True, slots=True)
class Dialogue:
    """Turns in order, questions about them, and questions about the same things that nothing in them answers."""

    name: str
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]
    unanswerable: tuple[Question, ...] = ()

    @property
    def sessions(self) -> Mapping[str, list[Turn]]:
        made = defaultdict(list)
        for turn in self.turns:
            made[turn.session].append(turn)
        return made


def sets(folder: Path) -> dict[str, list[Dialogue]]:
    """Every set of a folder, by its name."""
    found = {}
    for part in sorted(path for path in folder.iterdir() if path.is_dir()):
        chats = sorted(part.glob("Chat_*.json"))
        assisted = sorted(part.glob("*/chat.json"), key=lambda path: (len(path.parent.name), path.parent.name))
        worlds = [world for world in read_worlds(part) if world.held_out]
        dialogues = [_between_people(path) for path in chats] + [_with_assistant(path) for path in assisted]
        dialogues += [of_world(world) for world in worlds]
        if dialogues:
            found[part.name] = dialogues
    if not found:
        raise SystemExit(f"There are no dialogues in {folder}.")
    return found


def pooled(dialogues: Sequence[Dialogue]) -> Dialogue:
    """All dialogues as one, with their names before every id."""
    return Dialogue(
        "pooled",
        tuple(
            Turn(f"{d.name}/{t.id}", f"{d.name}/{t.session}", t.speaker, t.text, t.at)
            for d in dialogues
            for t in d.turns
        ),
        tuple(
            Question(q.id, q.text, q.category, frozenset(f"{d.name}/{g}" for g in q.gold))
            for d in dialogues
            for q in d.questions
        ),
    )


def _between_people(path: Path) -> Dialogue:
    data = json.loads(path.read_text(encoding="utf-8"))
    talk = data.get("conversation", data)
    numbers = sorted(int(key[8:]) for key in talk if re.fullmatch(r"session_\d+", key))
    turns = tuple(
        Turn(
            content["dia_id"],
            str(number),
            content["speaker"],
            text,
            _iso(talk.get(f"session_{number}_date_time"), content),
        )
        for number in numbers
        for content in talk[f"session_{number}"]
        if (text := _spoken(content))
    )
    known = {turn.id for turn in turns}
    questions = tuple(
        Question(f"{path.stem}/q{number}", str(results["question"]), CATEGORIES[results["category"]], gold)
        for number, results in enumerate(data.get("qa", ()))
        if results["category"] in CATEGORIES
        if (gold := frozenset(_evidence(results.get("evidence") or ())) & known)
    )
    return Dialogue(path.stem, turns, questions)


def _spoken(content: Mapping[str, Any]) -> str:
    """What was said, and what a picture shows that came with it."""
    words = str(content.get("clean_text") or content.get("text") or "")
    picture = content.get("blip_caption")
    return f"{words} [shares a photo: {picture}]".strip() if picture else words.strip()


def _evidence(given: Iterable[object]) -> Iterator[str]:
    for entry in given:
        for session, turn in re.findall(r"D:?(\d+):(\d+)", str(entry)):
            yield f"D{session}:{turn}"


def _with_assistant(path: Path) -> Dialogue:
    turns: list[Turn] = []
    day = ""
    for batch in json.loads(path.read_text(encoding="utf-8")):
        for message in (message for exchange in batch["turns"] for message in exchange):
            day = message.get("time_anchor") or day
            # The position in the chat that the set appends to some questions is none of the message's words.
            text = message["content"].partition("->->")[0].strip()
            if text:
                id_ = f"m{message['id']}"
                turns.append(Turn(id_, str(batch["batch_number"]), message["role"], text, _iso(day)))
    known = {turn.id for turn in turns}
    results = json.loads((path.parent / "probing_questions.json").read_text(encoding="utf-8"))
    questions = tuple(
        Question(f"{path.parent.name}/{category}{number}", one["question"], category, gold)
        for category, group in results.items()
        if category not in NOT_ASKED
        for number, one in enumerate(group)
        if (gold := frozenset(f"m{n}" for n in _numbers(one.get("source_chat_ids"))) & known)
    )
    return Dialogue(path.parent.name, tuple(turns), questions)


def of_world(world: World) -> Dialogue:
    """A world; its sittings are the sessions."""
    turns = tuple(
        Turn(f"L{line.number}", line.day.isoformat(), line.who, line.text, f"{line.day.isoformat()}T12:00:00Z")
        for line in world.lines
    )
    questions = tuple(
        Question(f"{world.name}/q{number}", question.text, question.type, frozenset(f"L{n}" for n in question.gold))
        for number, question in enumerate(world.questions, 1)
    )
    answerable = tuple(question for question in questions if question.gold)
    return Dialogue(world.name, turns, answerable, tuple(question for question in questions if not question.gold))


def _numbers(value: object) -> Iterator[int]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for entry in value:
            yield from _numbers(entry)
    elif isinstance(value, int):
        yield value


def _iso(text: str | None, content: Mapping[str, Any] | None = None) -> str:
    """A time as these sets print it in ISO 8601; empty if none is told."""
    text = text or str((content or {}).get("date_time") or "")
    for shape in _TIMES:
        try:
            return datetime.strptime(text, shape).isoformat() + "Z"  # noqa: DTZ007 - no zone is told
        except ValueError:
            continue
    return ""
