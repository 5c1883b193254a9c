"""What is each step of recall worth? `python -m benchmarks.ablation FOLDER [--keep STORES]`

FOLDER is laid out as benchmarks/dialogues.py says. Every question is asked through `memory_search` with one step left
out at a time, in this process, of a store for each dialogue and of one store for each set. Leaving out the context that
messages are embedded in needs stores of their own.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.dialogue_store import StoredDialogue, Way, stored_dialogue
from benchmarks.dialogues import Dialogue, pooled, sets
from benchmarks.measures import ALL, Answered, averages, figures
from benchmarks.tool_clients import InProcess
from commonplace.memory import search_candidates
from commonplace.ranking import scores_and_relevance
from commonplace.store.sql import items
from commonplace.text import query_grammar

SEARCH = Way("memory_search", "memory_search", {"limit": 50})

Change = tuple[ModuleType, str, Any]
# A step, and what has to be otherwise so that it is not taken.
STEPS: tuple[tuple[str, tuple[Change, ...]], ...] = (
    ("everything", ()),
    ("without the words", ((scores_and_relevance, "LEXICAL_WEIGHT", 0.0),)),
    ("without the speaker boost", ((scores_and_relevance, "SPEAKER_BOOST", 0.0),)),
    ("with the names in the question", ((search_candidates, "without_names", lambda text, _names: text),)),
    (
        "without the role boost",
        ((scores_and_relevance, "ROLE_BOOST", 0.0), (scores_and_relevance, "OTHER_ROLE_PENALTY", 0.0)),
    ),
    ("without neighbouring turns", ((scores_and_relevance, "NEIGHBOUR_BOOST", 0.0),)),
    ("without the session boost", ((scores_and_relevance, "SESSION_BOOST", 0.0),)),
    (
        "without the named time",
        ((scores_and_relevance, "TIME_BOOST", 0.0), (search_candidates, "_of_the_time", lambda *_: [])),
    ),
    ("without token vectors", ((scores_and_relevance, "TOKEN_WEIGHT", 0.0),)),
    ("without a better neighbour", ((scores_and_relevance, "BEST_NEIGHBOUR_BOOST", 0.0),)),
    ("without adjacent words", ((scores_and_relevance, "ADJACENT_BOOST", 0.0),)),
    ("without standing instructions", ((scores_and_relevance, "RULE_BOOST", 0.0),)),
    ("without reading together", ((scores_and_relevance, "ANSWER_WEIGHT", 0.0),)),
    ("without the penalty for questions", ((scores_and_relevance, "QUESTION_PENALTY", 0.0),)),
    ("with quoted titles as filters", ((query_grammar, "_is_prose", lambda lexemes: _no_quotes(lexemes)),)),
)


def _no_quotes(lexemes: Sequence[Any]) -> bool:
    return all(lexeme.kind in ("word", "AND", "OR", "NOT", "+", "(", ")") for lexeme in lexemes)


def _alone(connection: Any, space_id: int, passage_ids: Sequence[int]) -> dict[int, Any]:
    return {id_: (found, "") for id_, found in items.passage_texts(connection, space_id, passage_ids).items()}


@contextmanager
def changed(changes: Sequence[Change]) -> Iterator[None]:
    """With other values in the place of some, and with the old ones again at the end."""
    before = [(module, name, getattr(module, name)) for module, name, _value in changes]
    for module, name, value in changes:
        setattr(module, name, value)
    try:
        yield
    finally:
        for module, name, value in before:
            setattr(module, name, value)


def questions(stores: Sequence[tuple[Dialogue, StoredDialogue]]) -> str:
    """Recall@10 and MRR over all questions, in percent."""
    rows = [
        Answered(dialogue.name, question.category, figures(list(store.ask(SEARCH, question.text)), question.gold))
        for dialogue, store in stores
        for question in dialogue.questions
    ]
    means = averages(rows)[ALL]
    return f"{100 * means['recall@10']:.1f} ({100 * means['mrr']:.1f})"


def row(step: str, columns: Sequence[str]) -> None:
    print(f"| {step} | {' | '.join(columns)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--keep", type=Path, help="where the stores are kept for the next run")
    options = parser.parse_args()
    found = sets(options.folder)
    groups = [(name, dialogues) for name, dialogues in found.items()]
    groups += [(f"{name}, one store", [pooled(dialogues)]) for name, dialogues in found.items()]
    with tempfile.TemporaryDirectory() as temporary, ExitStack() as stack:
        work = options.keep or Path(temporary)

        def stores(folder: Path) -> list[list[tuple[Dialogue, StoredDialogue]]]:
            return [
                [(one, stack.enter_context(stored_dialogue(one, folder / name, InProcess))) for one in dialogues]
                for name, dialogues in groups
            ]

        row("Recall@10 (MRR)", [name for name, _dialogues in groups])
        row("---", ["---"] * len(groups))
        whole = stores(work)
        for step, changes in STEPS:
            with changed(changes):
                row(step, [questions(group) for group in whole])
        with changed(((items, "passages_in_context", _alone),)):
            alone = stores(work / "alone")
        row("with messages embedded alone", [questions(group) for group in alone])


if __name__ == "__main__":
    main()
