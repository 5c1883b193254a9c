"""`recall`: what earlier sessions said and did about something, and what stands next to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from commonplace.cli import tables
from commonplace.cli.call import Call, command
from commonplace.cli.meaning import warn, warn_incomplete
from commonplace.cli.past import chunk_record, prepare, show_chunks
from commonplace.cli.terminal import read_stdin
from commonplace.errors import InvalidInput
from commonplace.memory.book import Book
from commonplace.memory.chunks import Recollection, chunk_ids, recollect
from commonplace.text.redact import redact
from commonplace.text.summarise import shorten

SHOWN = 200


@command(
    "recall",
    "commonplace recall First thing --min-score 0",
    'commonplace recall "what did we do last?"',
    "commonplace recall thing --limit 3 --min-score 0 --json",
)
@click.argument("query", nargs=-1, required=True)
@click.option("--limit", type=click.IntRange(1, 100), default=10, show_default=True, help="Most passages.")
@click.option(
    "--min-score",
    type=click.FloatRange(0, 1),
    default=0.5,
    show_default=True,
    help="Only what is at least that likely to answer.",
)
def recall(call: Call, query: Sequence[str], limit: int, min_score: float) -> None:
    """What earlier sessions said and did about QUERY, best first, and what stands next to it.

    A question about time alone, such as "what did we do last?", is answered by what is newest. `-` reads the query
    from a pipe.
    """
    question = read_stdin() if tuple(query) == ("-",) else " ".join(query)
    if not question.strip():
        raise InvalidInput("The query is empty.", "Say what to look for.")
    with call.book(asks=True) as book:
        prepare(book, question)
        found = recollect(book, question, limit, min_score)
        results, around = [chunk_record(chunk) for chunk in found.chunks], _around(book, found)
        warn(call, book.meaning.state)
    if call.json:
        call.reply(
            {
                "results": results,
                "graphContext": around,
                "total": found.total,
                "waiting_for_vectors": found.waiting,
            }
        )
        return
    warn_incomplete(call, found.waiting)
    show_chunks(results)
    if around:
        call.say("\nNext to these:", bold=True)
        rows = [{**one, "id": one["chunkId"], "content": shorten(one["content"], SHOWN)} for one in around]
        tables.table(("id", "relation", "hops", "content"), rows)
    if found.total > len(results):
        call.note(f"{len(results)} of {found.total} shown; --limit shows more.")


def _around(book: Book, found: Recollection) -> list[dict[str, Any]]:
    ids = chunk_ids(book, {one.passage_id: one.item for one in found.around})
    return [
        {"chunkId": ids[one.passage_id], "content": redact(one.text), "relation": one.relation, "hops": one.hops}
        for one in found.around
    ]
