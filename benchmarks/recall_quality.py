"""How much of what answers is found: `make bench-recall FOLDER=...`, or `python -m benchmarks.recall_quality FOLDER`.

FOLDER is laid out as benchmarks/dialogues.py says. Questions go through `memory_search` and through what `recall`
tells, with default settings but for the limit and no least score, and beside them plain BM25 over the same texts as
the floor. Three ways: each dialogue in a store of its own, all of a set in one store, and sessions ranked by their best
turn. `--json FILE` keeps the figures; `--against FILE` prints what changed since.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import apsw

from benchmarks.client import median_ms
from benchmarks.dialogues import Dialogue, keep, pooled, recalled, search, sets
from benchmarks.measures import Figures, averages, figures
from commonplace.text.query import plain_words

MOST = 50
SHOWN = ("recall@5", "recall@10", "recall@20", "recall@50", "hit@10", "ndcg@10", "mrr")

Ranker = Callable[[str], Mapping[str, float]]
Rows = list[tuple[str, Figures]]
Results = dict[str, dict[str, Figures]]


def plain_bm25(dialogue: Dialogue, *, by_session: bool) -> Ranker:
    """BM25 over porter stems, every text a document: nothing of this project but its list of function words."""
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE VIRTUAL TABLE texts USING fts5(text, name UNINDEXED, tokenize = 'porter unicode61')")
    texts = (
        [(" ".join(f"{turn.speaker}: {turn.text}" for turn in said), key) for key, said in dialogue.sessions.items()]
        if by_session
        else [(turn.text, turn.id) for turn in dialogue.turns]
    )
    connection.executemany("INSERT INTO texts (text, name) VALUES (?, ?)", texts)

    def ranked(question: str) -> dict[str, float]:
        words = [word.surface.replace('"', " ") for word in plain_words(question)]
        match = " OR ".join(f'"{word}"' for word in words)
        found = "SELECT name, -bm25(texts) AS score FROM texts WHERE texts MATCH ? ORDER BY score DESC LIMIT ?"
        return dict(connection.execute(found, (match, MOST))) if match else {}

    return ranked


def measured(dialogues: Sequence[Dialogue], stores: Path) -> tuple[Results, Results, dict[str, float]]:
    """Figures by turn and by session for each way to ask, and the milliseconds that one question takes."""
    turns: dict[str, Rows] = {}
    sessions: dict[str, Rows] = {}
    taken: dict[str, list[float]] = {}
    for dialogue in dialogues:
        kept = keep(dialogue, stores / dialogue.name)
        session_of = {turn.id: turn.session for turn in dialogue.turns}
        rankers: dict[str, Ranker] = {
            "memory_search": partial(search, kept, limit=MOST),
            "recall": partial(recalled, kept, limit=MOST),
            "BM25": plain_bm25(dialogue, by_session=False),
        }
        by_session = plain_bm25(dialogue, by_session=True)
        for question in dialogue.questions:
            places = {session_of[turn] for turn in question.gold}
            for name, ask in rankers.items():
                began = time.perf_counter()
                ranked = list(ask(question.text))
                taken.setdefault(name, []).append(time.perf_counter() - began)
                turns.setdefault(name, []).append((question.category, figures(ranked, question.gold)))
                found = list(by_session(question.text)) if name == "BM25" else [session_of[turn] for turn in ranked]
                sessions.setdefault(name, []).append((question.category, figures(found, places)))
        kept.book.close()
    return (
        {name: dict(averages(rows)) for name, rows in turns.items()},
        {name: dict(averages(rows)) for name, rows in sessions.items()},
        {name: median_ms(seconds) for name, seconds in taken.items()},
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--keep", type=Path, help="where the stores are kept for the next run")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    parser.add_argument("--against", type=Path, help="figures of an earlier run to compare with")
    options = parser.parse_args()
    made: dict[str, Results] = {}
    with tempfile.TemporaryDirectory() as temporary:
        work = options.keep or Path(temporary)
        for name, dialogues in sets(options.folder).items():
            apart, sessions, taken = measured(dialogues, work / name)
            together, _sessions, _taken = measured([pooled(dialogues)], work / name)
            for way, results in (("one store each", apart), ("one store for all", together), ("sessions", sessions)):
                made[f"{name}, {way}"] = results
                table(f"{name}, {way}", results)
            print("\nMedian of a question: " + ", ".join(f"{one} {ms:.1f} ms" for one, ms in taken.items()), flush=True)
    if options.json:
        options.json.write_text(json.dumps(made, indent=1), encoding="utf-8")
    if options.against:
        compare(json.loads(options.against.read_text(encoding="utf-8")), made)


def table(title: str, results: Results) -> None:
    print(f"\n### {title}\n")
    print("| how | questions | n | " + " | ".join(SHOWN) + " |")
    print("|---|---|---|" + "---|" * len(SHOWN))
    for how, groups in results.items():
        for group, values in groups.items():
            cells = [f"{100 * values[name]:.1f}" for name in SHOWN]
            print(f"| {how} | {group} | {values['n']:.0f} | " + " | ".join(cells) + " |", flush=True)


def compare(before: dict[str, Results], after: dict[str, Results]) -> None:
    """What changed over all questions, in points."""
    print("\n### Changes in points\n")
    print("| set | how | " + " | ".join(SHOWN) + " |")
    print("|---|---|" + "---|" * len(SHOWN))
    for title, results in after.items():
        for how, groups in results.items():
            was = before.get(title, {}).get(how, {}).get("all")
            if was and how != "BM25":
                cells = [f"{100 * (groups['all'][name] - was[name]):+.1f}" for name in SHOWN]
                print(f"| {title} | {how} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
