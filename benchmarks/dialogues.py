"""Long conversations with questions whose answering turns are known, kept and asked through the tools.

A folder of data has a folder for each set: of chats between two people (`Chat_*.json`: sessions of turns, and `qa` with
evidence), or of chats with an assistant (`*/chat.json` beside `probing_questions.json`). None of it is in this
repository. A session of a dialogue is stored as one conversation.
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

from commonplace import config
from commonplace.dialects.profiles import tools_of
from commonplace.errors import NoResults
from commonplace.memory.book import Book, open_book
from commonplace.memory.chunks import recollect

TOOLS = {tool.name: tool for tool in tools_of("all")}
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


@dataclass(frozen=True, slots=True)
class Dialogue:
    """Turns in order, and questions about them."""

    name: str
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]

    @property
    def sessions(self) -> Mapping[str, list[Turn]]:
        made = defaultdict(list)
        for turn in self.turns:
            made[turn.session].append(turn)
        return made


@dataclass(frozen=True, slots=True)
class Kept:
    """Dialogues in a store, and what each of its messages is called: the dialogue's name, a slash, the turn's id."""

    book: Book
    turns: Mapping[str, str]


def sets(folder: Path) -> dict[str, list[Dialogue]]:
    """Every set of a folder, by its name."""
    found = {}
    for part in sorted(path for path in folder.iterdir() if path.is_dir()):
        chats = sorted(part.glob("Chat_*.json"))
        assisted = sorted(part.glob("*/chat.json"), key=lambda path: (len(path.parent.name), path.parent.name))
        dialogues = [_between_people(path) for path in chats] + [_with_assistant(path) for path in assisted]
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


def keep(dialogue: Dialogue, folder: Path) -> Kept:
    """A dialogue in a store of its own, made once in a folder: `memory_store` for each of its sessions."""
    book = open_book(config.load({"data_dir": str(folder)}, env={}))
    names = folder / "turns.json"
    if not names.exists():
        turns: dict[str, str] = {}
        first: dict[str, str] = {}
        for session, said in dialogue.sessions.items():
            stored = _call(book, "memory_store", **_conversation(session, said, first))
            kept = _call(book, "memory_get_context", conversation_id=stored["id"])["messages"]
            turns |= {message["id"]: turn.id for message, turn in zip(kept, said, strict=True)}
        book.meaning.catch_up()
        names.write_text(json.dumps(turns), encoding="utf-8")
    return Kept(book, json.loads(names.read_text(encoding="utf-8")))


def search(kept: Kept, question: str, limit: int) -> dict[str, float]:
    """Turns and their similarity as `memory_search` tells them, best first."""
    results = _call(kept.book, "memory_search", query=question, limit=limit)["results"]
    return {kept.turns[result["id"]]: result["similarity"] for result in results}


def recalled(kept: Kept, question: str, limit: int, min_score: float = 0.0) -> dict[str, float]:
    """Turns and their score as `recall` finds them: the tool itself tells only as many as fit into its reply."""
    try:
        chunks = recollect(kept.book, question, limit, min_score).chunks
    except NoResults:
        return {}
    return {kept.turns[chunk.item.uid]: chunk.score for chunk in chunks}


def _conversation(session: str, said: Sequence[Turn], first: dict[str, str]) -> dict[str, Any]:
    """The arguments that store a session; whoever speaks first in a dialogue is its user."""
    place = said[0].id.rpartition("/")[0]
    messages = []
    for turn in said:
        user = first.setdefault(place, turn.speaker)
        message = {
            "role": "user" if turn.speaker == user else "assistant",
            "content": turn.text,
            "metadata": {"name": turn.speaker},
        }
        messages.append(message | ({"timestamp": turn.at} if turn.at else {}))
    return {"label": f"Session {session}", "folder": f"/dialogues/{place}", "messages": messages}


def _call(book: Book, tool: str, **arguments: object) -> Mapping[str, Any]:
    return TOOLS[tool].run(book, arguments).data


def _between_people(path: Path) -> Dialogue:
    data = json.loads(path.read_text(encoding="utf-8"))
    talk = data.get("conversation", data)
    numbers = sorted(int(key[8:]) for key in talk if re.fullmatch(r"session_\d+", key))
    turns = tuple(
        Turn(said["dia_id"], str(number), said["speaker"], text, _iso(talk.get(f"session_{number}_date_time"), said))
        for number in numbers
        for said in talk[f"session_{number}"]
        if (text := _spoken(said))
    )
    known = {turn.id for turn in turns}
    questions = tuple(
        Question(f"{path.stem}/q{number}", str(asked["question"]), CATEGORIES[asked["category"]], gold)
        for number, asked in enumerate(data.get("qa", ()))
        if asked["category"] in CATEGORIES
        if (gold := frozenset(_evidence(asked.get("evidence") or ())) & known)
    )
    return Dialogue(path.stem, turns, questions)


def _spoken(said: Mapping[str, Any]) -> str:
    """What was said, and what a picture shows that came with it."""
    words = str(said.get("clean_text") or said.get("text") or "")
    picture = said.get("blip_caption")
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
    asked = json.loads((path.parent / "probing_questions.json").read_text(encoding="utf-8"))
    questions = tuple(
        Question(f"{path.parent.name}/{category}{number}", one["question"], category, gold)
        for category, group in asked.items()
        if category not in NOT_ASKED
        for number, one in enumerate(group)
        if (gold := frozenset(f"m{n}" for n in _numbers(one.get("source_chat_ids"))) & known)
    )
    return Dialogue(path.parent.name, tuple(turns), questions)


def _numbers(value: object) -> Iterator[int]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for entry in value:
            yield from _numbers(entry)
    elif isinstance(value, int):
        yield value


def _iso(text: str | None, said: Mapping[str, Any] | None = None) -> str:
    """A time as these sets print it in ISO 8601; empty if none is told."""
    text = text or str((said or {}).get("date_time") or "")
    for shape in _TIMES:
        try:
            return datetime.strptime(text, shape).isoformat() + "Z"  # noqa: DTZ007 - no zone is told
        except ValueError:
            continue
    return ""
