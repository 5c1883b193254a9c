"""Choose the relevance model: `python -m benchmarks.calibration FOLDER FOLDER...`

A folder holds one data set of another world than the others': docs.jsonl (store, id, text, speaker, session) and
questions.jsonl (store, text, gold: ids that answer). Every question is asked of its own store, where gold among the
first ten should be kept, and of stores of the other worlds, where nothing should be. Relevance 0.5 is a border on
`cosine + ratio * found`; the table shows for each ratio, with the border set to keep the wanted share of gold, how
many foreign questions are refused.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from commonplace import config
from commonplace.memory.book import Book, open_book
from commonplace.memory.recall import CANDIDATES, candidates
from commonplace.memory.remember import Note, remember_all
from commonplace.model import Scope
from commonplace.ranking.fusion import Evidence, best_first, fuse
from commonplace.ranking.relevance import relevance
from commonplace.store.columns import QUERY_COLUMNS
from commonplace.text.query import parse

FIRST = 10
KEPT = 0.94
RATIOS = (0.0, 0.2, 0.4, 0.5, 0.55, 0.6, 0.8, 1.1)


@dataclass
class World:
    """A data set: its stores, what each of their items is called, and its questions."""

    name: str
    books: dict[str, Book]
    ids: dict[str, dict[int, str]]
    questions: list[tuple[str, str, frozenset[str]]]


def load(folder: Path, work: Path) -> World:
    docs = defaultdict(list)
    for line in (folder / "docs.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        docs[row["store"]].append(row)
    books, ids = {}, {}
    for store, rows in docs.items():
        book = open_book(config.load({"data_dir": str(work / folder.name / store)}, env={}))
        notes = [
            Note(
                content=row["text"],
                kind="message",
                session=str(row["session"]),
                details={"speaker": str(row["speaker"])},
                created_ms=number,
            )
            for number, row in enumerate(rows)
            if row["text"].strip()
        ]
        named = [row["id"] for row in rows if row["text"].strip()]
        stored = remember_all(book, notes)
        ids[store] = {one.id: name for one, name in zip(stored, named, strict=True)}
        book.meaning.catch_up()
        books[store] = book
    questions = [json.loads(line) for line in (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()]
    return World(folder.name, books, ids, [(q["store"], q["text"], frozenset(q["gold"])) for q in questions])


def ask(book: Book, question: str) -> list[tuple[int, Evidence]]:
    """The first ten items for a question, with the evidence of their best passage."""
    query = parse(question, QUERY_COLUMNS)
    evidence, owner, _total = candidates(book, query, book.meaning.of_question(query.text), Scope(), CANDIDATES)
    best: dict[int, Evidence] = {}
    for passage in best_first(fuse(evidence), newest=owner):
        best.setdefault(owner[passage], evidence[passage])
    return list(best.items())[:FIRST]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        worlds = [load(folder, Path(work)) for folder in options.folders]
        positives: dict[str, list[Evidence]] = {}
        foreign: dict[str, list[list[Evidence]]] = {}
        for world in worlds:
            positives[world.name] = [
                evidence
                for store, text, answers in world.questions
                for item, evidence in ask(world.books[store], text)
                if world.ids[store][item] in answers
            ]
            for other in worlds:
                if other is world:
                    continue
                books = list(other.books.values())
                foreign[f"{world.name} asked of {other.name}"] = [
                    [evidence for _item, evidence in ask(books[number % len(books)], text)]
                    for number, (_store, text, _answers) in enumerate(world.questions)
                ]
        report(positives, foreign)


def report(positives: dict[str, list[Evidence]], foreign: dict[str, list[list[Evidence]]]) -> None:
    """The trade-off between keeping gold and refusing foreign questions, for each weight of the words found."""
    gold = [evidence for group in positives.values() for evidence in group]
    names = [*positives, *foreign]
    print("| found : cosine | border | " + " | ".join(names) + " |")
    print("|---|---|" + "---|" * len(names))
    for ratio in RATIOS:
        border = float(np.quantile([_sum(evidence, ratio) for evidence in gold], 1 - KEPT))
        kept = [np.mean([_sum(e, ratio) >= border for e in group]) for group in positives.values()]
        refused = [
            np.mean([max((_sum(e, ratio) for e in hits), default=0.0) < border for hits in group])
            for group in foreign.values()
        ]
        cells = [f"{share:.0%} kept" for share in kept] + [f"{share:.0%} refused" for share in refused]
        print(f"| {ratio} | {border:.3f} | " + " | ".join(cells) + " |")
    kept = [np.mean([relevance(e) >= 0.5 for e in group]) for group in positives.values()]
    refused = [
        np.mean([max((relevance(e) for e in hits), default=0.0) < 0.5 for hits in group]) for group in foreign.values()
    ]
    cells = [f"{share:.0%} kept" for share in kept] + [f"{share:.0%} refused" for share in refused]
    print("| as shipped | 0.5 | " + " | ".join(cells) + " |")


def _sum(evidence: Evidence, ratio: float) -> float:
    return (evidence.cosine or 0.0) + ratio * evidence.found


if __name__ == "__main__":
    main()
