"""The judge: nothing acknowledged is lost, and words and vectors say what the rows say."""

from __future__ import annotations

import json

from commonplace.memory.check_and_repair import check_store
from commonplace.memory.local_memory import LocalMemory
from commonplace.model import Scope
from commonplace.store.rows import QUERY_COLUMNS
from commonplace.text.query import parse_query
from torture.embedding_endpoint import DIM, vector_of
from torture.workspace import LEASE_MS, Workspace

# Vectors are kept in bytes, so that they are not quite what they were.
SAME_VECTOR = 0.98
_LOOKED_UP = 12
_EVERY = 100_000


def check_all(workspace: Workspace, when: str) -> None:
    """Look everything up in a store that nobody needs to have closed."""
    with workspace.memory() as memory:
        check_memory(workspace, memory, when)


def check_memory(workspace: Workspace, memory: LocalMemory, when: str) -> None:
    workspace.outcome.lost += [f"{when}: {one}" for one in workspace.ledger.lost(memory.store)]
    faults = [f"{fault.part}: {fault.count} {fault.says} {fault.examples}" for fault in check_store(memory)]
    workspace.outcome.unsound += [
        f"{when}: {one}" for one in (*faults, *_other_vectors(memory), *_not_found(workspace, memory))
    ]
    workspace.outcome.count("checks")


def check_finally(workspace: Workspace) -> None:
    """When nobody is left: every vector is made, and the command line says that all is well."""
    with workspace.memory(ahead_ms=LEASE_MS) as memory:
        while memory.embeddings.catch_up():
            pass
        if left := memory.store.pending():
            workspace.outcome.unsound.append(f"{left} passages never get a vector")
        check_memory(workspace, memory, "at last")
    output = workspace.run("commonplace", "check", "--json")
    if output.returncode or not json.loads(output.stdout)["sound"]:
        workspace.outcome.unsound.append(f"`check` says {output.stdout!r} {output.stderr!r}")


def _other_vectors(memory: LocalMemory) -> list[str]:
    """Vectors that stand for another text than their passage has."""
    store = memory.store
    items = [item.id for item in store.newest(Scope(kinds=("memory",)), _EVERY)]
    passages = [id_ for some in store.passages_of(items).values() for id_ in some]
    if not passages or memory.embeddings.model is None:
        return []
    memory.maintenance.use_model(memory.embeddings.model, DIM)
    wrong = []
    for id_, output in store.passage_texts(passages).items():
        cosine = store.cosines(vector_of(output.text), [id_]).get(id_)
        if cosine is not None and cosine < SAME_VECTOR:
            wrong.append(f"the vector of passage {id_} is not that of its text ({cosine:.2f})")
    return wrong


def _not_found(workspace: Workspace, memory: LocalMemory) -> list[str]:
    """Of what is surely there, some is looked for as people do: by its own word, and by its meaning."""
    live = workspace.ledger.live()
    wrong = []
    for uid in workspace.random.sample(live, min(_LOOKED_UP, len(live))):
        item = next((item for item in memory.store.newest(Scope(), _EVERY) if item.uid == uid), None)
        if item is None:
            # That is told as lost.
            continue
        word = item.body.split()[0]
        hits = memory.store.search_text(parse_query(word, QUERY_COLUMNS), Scope(), 50).hits
        if item.id not in {hit.item_id for hit in hits}:
            wrong.append(f"{uid} is not found by {word!r}")
    return wrong
