"""Do hooks show the right memory at the right prompt? `python -m benchmarks.hints`

Sessions are replayed prompt by prompt on a memory whose answer key is known: each of `benchmarks/prompts/*.txt`, with
tasks, trivia and prompts about something that nobody ever said, written for this; those of `benchmarks/prompts_blind`,
written like them without knowing how hints are chosen, and never used to choose; and the agents' worlds of
`training/worlds`, whose questions are the prompts (`--worlds N` of them; those kept apart for checking unless
`--training`). Some questions of another world are asked in each: nothing answers them there.

A hint is relevant if the key names one of the lines that it shows; by its id, if the key names the line whose id it
shows, the narrowest reading. A prompt is served if a line of its key is shown, at
that prompt or earlier in its session. `--words` leaves the model out, as a hook does without a resident process.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path

from training.worlds import Line, Question, World, read_world, read_worlds

from commonplace import config
from commonplace.memory.conversations import NewConversation, NewMessage, open_conversation, store_conversation
from commonplace.memory.hints import Seen, hint_text, prompt_hints
from commonplace.memory.local_memory import LocalMemory, open_memory
from commonplace.memory.recall import recall
from commonplace.memory.remember import NewItem, remember
from commonplace.model import MEMORY_TYPES, Scope
from commonplace.text.tokens import count_tokens

PROMPTS, BLIND_PROMPTS = (Path(__file__).with_name(name) for name in ("prompts", "prompts_blind"))
PROJECT = "replayed"
# Prompts of one session, after which another begins that has seen nothing yet.
SESSION = 8
# Every so many questions of another world one is asked here.
FOREIGN = 3
ROLES = {"user": "user", "agent": "assistant", "tool": "tool"}


@dataclass(slots=True)
class Counts:
    """What was counted over all prompts."""

    prompts: int = 0
    answerable: int = 0
    served: int = 0
    hints: int = 0
    relevant: int = 0
    relevant_by_id: int = 0
    tokens: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def row(self, name: str) -> str:
        """A row of the table."""
        shown, by_id = (count / max(1, self.hints) for count in (self.relevant, self.relevant_by_id))
        served = self.served / max(1, self.answerable)
        tokens = f"{statistics.mean(self.tokens):.0f}, at most {max(self.tokens)}" if self.tokens else "-"
        times = sorted(self.seconds)
        median, late = (1000 * times[int(share * (len(times) - 1))] for share in (0.5, 0.95))
        per_prompt = f"{self.hints / max(1, self.prompts):.2f}"
        cells = (f"{self.prompts}", per_prompt, f"{shown:.0%}", f"{by_id:.0%}", f"{served:.0%}")
        return f"| {name} | {' | '.join(cells)} | {tokens} | {median:.0f} / {late:.0f} ms |"


def remember_world(memory: LocalMemory, world: World) -> dict[str, int]:
    """Store a world: what was said as conversations, what was noted as memories; returns lines by short ids."""
    lines: dict[str, int] = {}
    for day, sitting in groupby(world.lines, key=lambda line: line.day):
        began = int(datetime(day.year, day.month, day.day, 9, tzinfo=UTC).timestamp() * 1000)
        result = list(sitting)
        texts = [line for line in result if line.who not in MEMORY_TYPES]
        messages = [NewMessage(ROLES.get(one.who, "user"), one.text, began + 60_000 * n) for n, one in enumerate(texts)]
        if messages:
            label = " ".join(texts[0].text.split()[:8])
            stored = store_conversation(memory, NewConversation(label, messages, project=PROJECT))
            items = open_conversation(memory, stored.session.id)[1]
            lines |= {item.short_id: line.number for item, line in zip(items, texts, strict=True)}
        lines |= {_note(memory, line): line.number for line in result if line.who in MEMORY_TYPES}
    return lines


def _note(memory: LocalMemory, line: Line) -> str:
    stored = remember(memory, NewItem(line.text, "memory", line.who, project=PROJECT))
    return memory.store.get([stored.id])[stored.id].short_id


def replay(memory: LocalMemory, lines: dict[str, int], prompts: Sequence[Question], counts: Counts) -> None:
    """Ask for hints prompt by prompt, in sessions that remember what they were shown."""
    shown: set[str] = set()
    for number, prompt in enumerate(prompts):
        if number % SESSION == 0:
            shown = set()
        began = time.perf_counter()
        text, hints = hint_text("prompt", prompt_hints(memory, PROJECT, prompt.text, Seen(shown)))
        counts.seconds.append(time.perf_counter() - began)
        gold = set(prompt.gold)
        counts.prompts += 1
        counts.hints += len(hints)
        counts.relevant += sum(any(lines.get(id_) in gold for id_ in hint.shown) for hint in hints)
        counts.relevant_by_id += sum(lines.get(hint.shown[0]) in gold for hint in hints)
        counts.tokens += [count_tokens(text)] if text else []
        shown.update(id_ for hint in hints for id_ in hint.shown)
        if gold:
            counts.answerable += 1
            counts.served += any(lines.get(id_) in gold for id_ in shown)


def run(worlds: Sequence[World], *, words: bool) -> Counts:
    """Each world in a store of its own, with a few prompts of the next one."""
    counts = Counts()
    for number, world in enumerate(worlds):
        other = [question for question in worlds[(number + 1) % len(worlds)].questions if question.gold]
        foreign = [replace(question, type="foreign", gold=()) for question in other[::FOREIGN]]
        with tempfile.TemporaryDirectory() as folder:
            settings = config.load({"data_dir": folder, "embedder": "off" if words else "builtin"}, env={})
            memory = open_memory(settings)
            lines = remember_world(memory, world)
            # As the resident process does beforehand: what was stored is embedded, and the models are loaded.
            memory.embeddings.catch_up()
            recall(memory, "Is everything there?", Scope(), 1)
            replay(memory, lines, [*world.questions, *(foreign if len(worlds) > 1 else ())], counts)
            memory.close()
    return counts


def written(folder: Path) -> Iterator[World]:
    """The sessions that were written for this."""
    for path in sorted(folder.glob("*.txt")):
        yield read_world(path.stem, path.read_text(encoding="utf-8"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=13, help="how many worlds")
    parser.add_argument(
        "--training", action="store_true", help="worlds of the training set instead of those kept apart"
    )
    parser.add_argument("--words", action="store_true", help="by words alone")
    options = parser.parse_args()
    agents = [world for world in read_worlds() if world.kind == "agent" and world.held_out != options.training]
    chosen = agents[:: max(1, len(agents) // max(1, options.worlds))][: options.worlds]
    print("| sessions | prompts | hints per prompt | relevant | by its id | prompts served | tokens | median / p95 |")
    print("|---|---|---|---|---|---|---|---|")
    print(run(list(written(PROMPTS)), words=options.words).row("written for this"), flush=True)
    print(run(list(written(BLIND_PROMPTS)), words=options.words).row("written blind"), flush=True)
    if chosen:
        name = "worlds of the training set" if options.training else "worlds kept apart"
        print(run(chosen, words=options.words).row(name))


if __name__ == "__main__":
    main()
