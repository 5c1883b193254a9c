"""What the commands about past sessions share: a memory that is ready to answer, and passages as they are shown."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import click

from commonplace.cli import tables
from commonplace.cli.command import Call, command
from commonplace.cli.search import embed_for_question, embed_pending, warn_incomplete, warn_keywords_only
from commonplace.cli.terminal import one_line, plain, read_stdin
from commonplace.dialects.ecm import chunk_data
from commonplace.errors import InvalidInput, NoResults, StoreError
from commonplace.memory.chunks import CHUNK_KINDS, Chunk, RecalledChunks, chunk_ids, recall_chunks
from commonplace.memory.explain import explain as explained
from commonplace.memory.graph import link_new_passages
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.predict import Prediction
from commonplace.memory.predict import predict as predicted
from commonplace.model import Scope
from commonplace.text.dates import iso_time
from commonplace.text.redact import redact, redact_data
from commonplace.text.titles import shorten

# What a question links at most before it answers, in steps of a few passages: about a second of work.
LINK_STEPS = 50


def embed_and_link(memory: LocalMemory, question: str = "") -> None:
    """Do what a server would have done in the background. A store that cannot be written still answers."""
    if question:
        embed_for_question(memory, question, [Scope(kinds=CHUNK_KINDS)])
    else:
        embed_pending(memory)
    with contextlib.suppress(StoreError):
        for _ in range(LINK_STEPS):
            if not link_new_passages(memory):
                break


def chunk_record(chunk: Chunk) -> dict[str, Any]:
    """A passage as programs read it, under the names that agents know."""
    shown: dict[str, Any] = redact_data(chunk_data(chunk))
    return shown | {
        "item": chunk.item.id,
        "conversation": chunk.session.uid if chunk.session else None,
        "project": chunk.item.project,
        "created_at": iso_time(chunk.item.created_ms),
    }


def show_chunks(records: Sequence[dict[str, Any]]) -> None:
    """Passages with where they are from, best first."""
    for number, record in enumerate(records):
        if number:
            click.echo()
        facts = [record["session"], *([record["cluster"]] if record["cluster"] else []), record["chunkId"]]
        click.secho(f"{record['score']:.0%} ", nl=False, bold=True)
        click.secho(one_line(" · ".join(facts)), fg="cyan")
        click.echo(plain(record["content"]).strip("\n"))


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
    with call.memory(asks=True) as memory:
        embed_and_link(memory, question)
        found = recall_chunks(memory, question, limit, min_score)
        results, around = [chunk_record(chunk) for chunk in found.chunks], _neighbour_records(memory, found)
        warn_keywords_only(call, memory.embeddings.state)
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


def _neighbour_records(memory: LocalMemory, found: RecalledChunks) -> list[dict[str, Any]]:
    ids = chunk_ids(memory, {one.passage_id: one.item for one in found.around})
    return [
        {"chunkId": ids[one.passage_id], "content": redact(one.text), "relation": one.relation, "hops": one.hops}
        for one in found.around
    ]


@command("explain", "commonplace explain third thing", "commonplace explain third thing --depth 5 --no-timeline --json")
@click.argument("topic", nargs=-1, required=True)
@click.option(
    "--depth", type=click.IntRange(1, 50), default=20, show_default=True, help="How far links are followed at most."
)
@click.option("--no-timeline", is_flag=True, help="Leave out what happened on which day.")
def explain(call: Call, topic: Sequence[str], depth: int, no_timeline: bool) -> None:
    """How TOPIC came about: a summary in phases, what happened when, related topics, and what says most about it.

    `-` reads the topic from a pipe.
    """
    asked = read_stdin() if tuple(topic) == ("-",) else " ".join(topic)
    if not asked.strip():
        raise InvalidInput("The topic is empty.", "Say what to explain.")
    with call.memory(asks=True) as memory:
        embed_and_link(memory)
        found = explained(memory, asked, depth)
        chunks = [chunk_record(chunk) for chunk in found.chunks]
        warn_keywords_only(call, memory.embeddings.state)
    timeline = [{"date": one.day, "session": one.session, "event": redact(one.event)} for one in found.timeline]
    if call.json:
        told = {} if no_timeline else {"timeline": timeline}
        call.reply(
            {"summary": redact(found.summary), **told, "relatedClusters": list(found.topics), "keyChunks": chunks}
        )
        return
    call.say(redact(found.summary))
    if timeline and not no_timeline:
        call.say("\nWhen:", bold=True)
        tables.table(("date", "session", "event"), timeline)
    if found.topics:
        call.say("\nRelated: " + ", ".join(found.topics))
    call.say("\nWhat says most:\n", bold=True)
    show_chunks(chunks)


@command(
    "predict",
    'commonplace predict "I am about to change the third thing"',
    "echo Changing the third thing | commonplace predict - --limit 3 --json",
)
@click.argument("text", metavar="[TEXT|-]", nargs=-1)
@click.option("--limit", type=click.IntRange(1, 100), default=5, show_default=True, help="Most suggestions.")
def predict(call: Call, text: Sequence[str], limit: int) -> None:
    """What came next in situations like the one that TEXT tells of, and errors that were met before.

    Without TEXT, or with `-`, it is read from a pipe: the end of a conversation, or an error message.
    """
    now = read_stdin() if tuple(text) in ((), ("-",)) else " ".join(text)
    if not now.strip():
        raise InvalidInput("There is no text.", "Say what is going on, or pipe it in.")
    with call.memory(asks=True) as memory:
        embed_and_link(memory)
        found = predicted(memory, now, limit)
        warn_keywords_only(call, memory.embeddings.state)
    if not found:
        raise NoResults("Nothing like this happened before.")
    suggestions = [_suggestion_record(one) for one in found]
    if call.json:
        call.reply({"suggestions": suggestions})
        return
    for number, one in enumerate(suggestions):
        if number:
            click.echo()
        click.secho(f"{one['relevance']:.0%} ", nl=False, bold=True)
        click.secho(one_line(one["title"]), fg="cyan", nl=False)
        click.secho(f"  {one_line(one['session'])} · {one['chunkId']}", dim=True)
        click.echo(plain(one["summary"]))


def _suggestion_record(one: Prediction) -> dict[str, Any]:
    return {
        "title": redact(one.title),
        "relevance": round(one.relevance, 4),
        "summary": redact(one.summary),
        "chunkId": one.chunk.id,
        "session": one.chunk.session_name,
    }
