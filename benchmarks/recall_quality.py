"""How much of what answers is found: `make bench-recall FOLDER=...`, or `python -m benchmarks.recall_quality FOLDER`.

FOLDER is laid out as benchmarks/dialogues.py says. Dialogues are stored through `memory_store`, and every question is
asked of a real server through `memory_search` and `recall`, with default settings but for a limit of 50, and once more
with no option at all. What `recall` tells has to fit its reply: the column `depth` says how many messages were told.
Plain BM25 over the same texts is the floor.

Modes: `each` dialogue in a store of its own, with sessions ranked by their best turn beside it; `pooled`, all of a set
in one store; `mixed`, the same among 50,000 items of other kinds, which take minutes to embed: `--keep FOLDER` keeps
all stores for the next run. With `--engine postgres` every store is a space of a PostgreSQL server of our own, which
keeps nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

from benchmarks import bm25_baseline, reports
from benchmarks.background_items import COUNT, Others, others
from benchmarks.dialogue_store import StoredDialogue, Way, stored_dialogue
from benchmarks.dialogues import Dialogue, pooled, sets
from benchmarks.measures import DEPTHS, Answered, figures
from benchmarks.reports import Result
from benchmarks.tool_clients import Door, InProcess, Opening, Served

MOST = max(DEPTHS)
WAYS = (
    Way("memory_search", "memory_search", {"limit": MOST}),
    Way("recall", "recall", {"limit": MOST}),
    Way("memory_search, no options", "memory_search"),
    Way("recall, no options", "recall"),
)
BRIEF = tuple(way.name for way in WAYS if not way.options)
FLOOR = "plain BM25"
MODES = ("each", "pooled", "mixed")


@dataclass(slots=True)
class QuestionResults:
    """How the questions were answered, by way: judged by turns and by sessions, and how long it took."""

    turns: dict[str, list[Answered]] = field(default_factory=lambda: defaultdict(list))
    sessions: dict[str, list[Answered]] = field(default_factory=lambda: defaultdict(list))
    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def by_turn(self) -> dict[str, Result]:
        return {how: Result.of(self.turns[how], self.seconds[how]) for how in self._ways()}

    def by_session(self) -> dict[str, Result]:
        return {how: Result.of(self.sessions[how]) for how in self._ways()}

    def _ways(self) -> list[str]:
        return [name for name in (*(way.name for way in WAYS), FLOOR) if name in self.turns]


def ask_all(store: StoredDialogue, dialogue: Dialogue, other_texts: Sequence[str], questions: QuestionResults) -> None:
    """Ask every question in every way. Only the first to ask is timed: the others find it understood already."""
    session_of = {turn.id: turn.session for turn in dialogue.turns}
    by_turn, by_session = bm25_baseline.by_turn(dialogue, other_texts, MOST), bm25_baseline.by_session(dialogue, MOST)
    store.ask(WAYS[0], "Is anybody there?")
    for number, question in enumerate(dialogue.questions):
        places = {session_of[turn] for turn in question.gold}
        found = {FLOOR: (by_turn(question.text), by_session(question.text))}
        for place in range(len(WAYS)):
            way = WAYS[(number + place) % len(WAYS)]
            began = time.perf_counter()
            ranked = list(store.ask(way, question.text))
            if place == 0:
                questions.seconds[way.name].append(time.perf_counter() - began)
            found[way.name] = (ranked, [session_of.get(id_, id_) for id_ in ranked])
        for how, (turns, sessions) in found.items():
            about = (question.dialogue, question.category)
            questions.turns[how].append(Answered(*about, figures(turns, question.gold)))
            questions.sessions[how].append(Answered(*about, figures(sessions, places)))


def measured(
    dialogues: Sequence[Dialogue], stores: Path, opening: Opening, among: Others | None = None
) -> QuestionResults:
    """Each dialogue stored for itself, or each among other things, and asked about."""
    questions = QuestionResults()
    for dialogue in dialogues:
        with stored_dialogue(dialogue, stores, opening, among.data_dir if among else None) as store:
            ask_all(store, dialogue, among.texts if among else (), questions)
    return questions


def tables_of(
    name: str, dialogues: Sequence[Dialogue], mode: str, work: Path, opening: Opening, count: int
) -> dict[str, dict[str, Result]]:
    """The results of a set in one mode, by title."""
    if mode == "each":
        questions = measured(dialogues, work / name, opening)
        return {f"{name}, a store for each": questions.by_turn(), f"{name}, sessions": questions.by_session()}
    if mode == "pooled":
        return {f"{name}, one store for all": measured([pooled(dialogues)], work / name, opening).by_turn()}
    among = others(count, work)
    return {f"{name}, among {count:,} others": measured([pooled(dialogues)], work / name, opening, among).by_turn()}


@contextlib.contextmanager
def opened_by(engine: str, server: str | None, in_process: bool) -> Iterator[Opening]:
    """How to open the store of a folder with an engine."""
    door = InProcess if in_process else Served
    if engine == "sqlite":
        yield door
        return
    from tests.postgres_server import running_server

    def in_a_space(data_dir: Path) -> Door:
        data_dir.mkdir(parents=True)
        return door(data_dir, database_url=address, space=data_dir.name)

    with running_server(server) as running:
        address = running.new_database("commonplace_recall")
        yield in_a_space


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--keep", type=Path, help="where the stores are kept for the next run")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    parser.add_argument("--against", type=Path, help="figures of an earlier run to compare with")
    parser.add_argument("--modes", type=_listed, default=MODES, help="some of " + ",".join(MODES))
    parser.add_argument("--sets", type=_listed, help="only these folders of FOLDER, such as locomo,realtalk")
    parser.add_argument(
        "--others", type=int, default=COUNT, help=f"items of other kinds in mixed; {COUNT:,} if omitted"
    )
    parser.add_argument("--in-process", action="store_true", help="ask the tools without a server, to try things")
    parser.add_argument("--engine", choices=("sqlite", "postgres"), default="sqlite", help="what keeps the stores")
    parser.add_argument("--server", help="address of a PostgreSQL server to use instead of one of our own")
    options = parser.parse_args(arguments)
    if options.engine == "postgres" and (options.keep or "mixed" in options.modes):
        parser.error("on postgres no store is kept or copied: leave out --keep, and the mode mixed")
    chosen = {name: made for name, made in sets(options.folder).items() if not options.sets or name in options.sets}
    if not chosen or not set(options.modes) <= set(MODES):
        parser.error(f"the sets are {', '.join(sets(options.folder))}; the modes are {', '.join(MODES)}")
    print("Asked in this process, without a server." if options.in_process else "Asked of a server, over HTTP.")
    results: dict[str, dict[str, Result]] = {}
    with (
        tempfile.TemporaryDirectory() as temporary,
        opened_by(options.engine, options.server, options.in_process) as opening,
    ):
        work = options.keep or Path(temporary)
        for (name, dialogues), mode in product(chosen.items(), options.modes):
            began = time.perf_counter()
            made = tables_of(name, dialogues, mode, work, opening, options.others)
            for title, ways in made.items():
                reports.table(title, ways, brief=BRIEF)
            print(f"\nStored and asked in {time.perf_counter() - began:.0f} s.", flush=True)
            results |= made
    if options.json:
        reports.write(options.json, results)
    if options.against:
        reports.compare(options.against, results)


def _listed(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


if __name__ == "__main__":
    main()
