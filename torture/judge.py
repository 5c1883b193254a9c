"""The judge: nothing acknowledged is lost, and words and vectors say what the rows say."""

from __future__ import annotations

import json

from commonplace.memory.book import Book
from commonplace.memory.check import check
from commonplace.model import Scope
from commonplace.store.columns import QUERY_COLUMNS
from commonplace.text.query import parse
from torture.arena import LEASE_MS, Arena
from torture.meanings import DIM, vector_of

# Vectors are kept in bytes, so that they are not quite what they were.
ALIKE = 0.98
_LOOKED_UP = 12
_EVERY = 100_000


def judge(arena: Arena, when: str) -> None:
    """Look everything up in a store that nobody needs to have closed."""
    with arena.book() as book:
        judge_book(arena, book, when)


def judge_book(arena: Arena, book: Book, when: str) -> None:
    arena.outcome.lost += [f"{when}: {one}" for one in arena.ledger.lost(book.store)]
    faults = [f"{fault.part}: {fault.count} {fault.says} {fault.examples}" for fault in check(book)]
    arena.outcome.unsound += [f"{when}: {one}" for one in (*faults, *_other_vectors(book), *_not_found(arena, book))]
    arena.outcome.count("checks")


def judge_at_last(arena: Arena) -> None:
    """When nobody is left: every vector is made, and the command line says that all is well."""
    with arena.book(ahead_ms=LEASE_MS) as book:
        while book.meaning.catch_up():
            pass
        if left := book.store.pending():
            arena.outcome.unsound.append(f"{left} passages never get a vector")
        judge_book(arena, book, "at last")
    told = arena.run("commonplace", "check", "--json")
    if told.returncode or not json.loads(told.stdout)["sound"]:
        arena.outcome.unsound.append(f"`check` says {told.stdout!r} {told.stderr!r}")


def _other_vectors(book: Book) -> list[str]:
    """Vectors that stand for another text than their passage has."""
    store = book.store
    items = [item.id for item in store.newest(Scope(kinds=("memory",)), _EVERY)]
    passages = [id_ for some in store.passages_of(items).values() for id_ in some]
    if not passages or book.meaning.model is None:
        return []
    store.use_model(book.meaning.model, DIM)
    wrong = []
    for id_, told in store.passage_texts(passages).items():
        cosine = store.cosines(vector_of(told.text), [id_]).get(id_)
        if cosine is not None and cosine < ALIKE:
            wrong.append(f"the vector of passage {id_} is not that of its text ({cosine:.2f})")
    return wrong


def _not_found(arena: Arena, book: Book) -> list[str]:
    """Of what is surely there, some is looked for as people do: by its own word, and by its meaning."""
    live = arena.ledger.live()
    wrong = []
    for uid in arena.random.sample(live, min(_LOOKED_UP, len(live))):
        item = next((item for item in book.store.newest(Scope(), _EVERY) if item.uid == uid), None)
        if item is None:
            # That is told as lost.
            continue
        word = item.body.split()[0]
        hits = book.store.search_text(parse(word, QUERY_COLUMNS), Scope(), 50).hits
        if item.id not in {hit.item_id for hit in hits}:
            wrong.append(f"{uid} is not found by {word!r}")
    return wrong
