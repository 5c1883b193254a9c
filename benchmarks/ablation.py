"""What is each step of recall worth? `python -m benchmarks.ablation FOLDER [--keep STORES]`

FOLDER is laid out as benchmarks/dialogues.py says. Every question is asked through `memory_search` with one step of
`memory/search_steps.py` left out at a time, and then without one source of candidates or one part of a step, in this
process, of a store for each dialogue and of one store for each set. Leaving out the context that messages are embedded
in needs stores of their own.
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
from commonplace.memory import recall, search_candidates
from commonplace.memory.search_steps import STEPS
from commonplace.ranking import scoring
from commonplace.store.sql import items
from commonplace.text import query_grammar

SEARCH = Way("memory_search", "memory_search", {"limit": 50})

Change = tuple[ModuleType, str, Any]
# What is left out, and what has to be otherwise for that.
ABLATIONS: tuple[tuple[str, tuple[Change, ...]], ...] = (
    ("everything", ()),
    *(
        (f"without {step.name}", ((recall, "STEPS", tuple(one for one in STEPS if one is not step)),))
        for step in STEPS
        if step.part is not None and step.name != "passages"
    ),
    ("without neighbouring turns", ((scoring, "NEIGHBOUR_BOOST", 0.0),)),
    ("without the session boost", ((scoring, "SESSION_BOOST", 0.0),)),
    ("without the words", ((scoring, "LEXICAL_WEIGHT", 0.0),)),
    ("with the names in the question", ((search_candidates, "without_names", lambda text, _names: text),)),
    ("without candidates of the named time", ((search_candidates, "_of_the_time", lambda *_: []),)),
    ("without titles of conversations", ((search_candidates, "_conversations_named", lambda *_: {}),)),
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


def row(name: str, columns: Sequence[str]) -> None:
    print(f"| {name} | {' | '.join(columns)} |", flush=True)


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
        for name, changes in ABLATIONS:
            with changed(changes):
                row(name, [questions(group) for group in whole])
        with changed(((items, "passages_in_context", _alone),)):
            alone = stores(work / "alone")
        row("with messages embedded alone", [questions(group) for group in alone])


if __name__ == "__main__":
    main()
