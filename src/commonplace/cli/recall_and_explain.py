"""`recall`, `explain` and `predict`: what was said and done in earlier sessions."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from commonplace.cli import tables
from commonplace.cli.command import Call, command
from commonplace.cli.options import STDIN, limit_option, searched_project, text_argument
from commonplace.cli.terminal import one_line, plain
from commonplace.errors import NoResults
from commonplace.text.dates import iso_time
from commonplace.text.sentences import shorten

if TYPE_CHECKING:
    from commonplace.memory.recall_chunks import Chunk

# Characters of a linked passage that are shown.
MAX_SHOWN = 200


@command(
    "recall",
    'commonplace recall "what did we do last?"',
    "commonplace recall redis session lifetime --min-score 0",
    "commonplace recall deploy friday -n 3 --min-score 0",
)
@click.argument("query", nargs=-1, required=True)
@limit_option(10, 100, "Show at most this many passages.")
@click.option(
    "--min-score",
    type=click.FloatRange(0, 1),
    default=0.5,
    show_default=True,
    help="Only passages with at least this score, which says how much they are like an answer.",
)
@searched_project
def recall(
    call: Call, query: Sequence[str], limit: int, min_score: float, project: str | None, everywhere: bool
) -> None:
    """Find what was said about QUERY in earlier sessions: the best passages first, then those linked to them.

    `search` lists memories with their ids; this prints the passages themselves. "What did we do last?" and the like
    print the newest ones. `-` reads the query from standard input.
    """
    from commonplace.dialects.ecm import linked_chunks

    question = text_argument(query, "The query is empty.", "Enter something to look for.")
    place, with_global = call.searched_place(project, everywhere=everywhere)
    call.say_where(place, with_global)
    with call.memory(drain_more=True) as memory:
        with _told_plainly(call, "Nothing in earlier sessions answers this."):
            found = memory.recall(question, limit=limit, min_score=min_score, project=place, with_global=with_global)
        results = [_chunk_record(chunk) for chunk in found.chunks]
        linked = linked_chunks(memory.local, found)
        call.warn_keywords_only(memory.embedding_state)
    if call.json:
        call.reply(
            {
                "results": results,
                "graphContext": linked,
                "total": found.total,
                "waiting_for_vectors": found.waiting,
                "note": found.note,
            }
        )
        return
    call.warn_incomplete(found.waiting)
    if found.note:
        call.note(found.note)
    _show_chunks(results)
    if linked:
        call.say("\nLinked to these:", bold=True)
        rows = [{**one, "id": one["chunkId"], "content": shorten(one["content"], MAX_SHOWN)} for one in linked]
        tables.table(("id", "relation", "hops", "content"), rows)
    if found.total > len(results):
        call.note(f"{len(results)} of {found.total} shown; --limit shows more.")


@command(
    "explain",
    "commonplace explain redis sessions",
    "commonplace explain redis sessions --depth 5 --no-timeline",
)
@click.argument("topic", nargs=-1, required=True)
@click.option("--depth", type=click.IntRange(1, 50), default=20, show_default=True, help="Follow links this far.")
@click.option("--no-timeline", is_flag=True, help="Leave out the timeline.")
@searched_project
def explain(
    call: Call, topic: Sequence[str], depth: int, no_timeline: bool, project: str | None, everywhere: bool
) -> None:
    """Explain how TOPIC came about: a summary in phases, a timeline, related topics, and the most relevant passages.

    `-` reads the topic from standard input.
    """
    from commonplace.dialects.ecm import timeline_row

    subject = text_argument(topic, "The topic is empty.", "Enter a topic to explain.")
    place, with_global = call.searched_place(project, everywhere=everywhere)
    call.say_where(place, with_global)
    with call.memory(drain_more=True) as memory:
        with _told_plainly(call, "Nothing is known about this."):
            found = memory.explain(subject, depth=depth, project=place, with_global=with_global)
        chunks = [_chunk_record(chunk) for chunk in found.chunks]
        call.warn_keywords_only(memory.embedding_state)
    timeline = [timeline_row(one) for one in found.timeline]
    if call.json:
        dated = {} if no_timeline else {"timeline": timeline}
        call.reply({"summary": found.summary, **dated, "relatedClusters": list(found.topics), "keyChunks": chunks})
        return
    call.say(found.summary)
    if timeline and not no_timeline:
        call.say("\nWhen:", bold=True)
        tables.table(("date", "session", "event"), timeline)
    if found.topics:
        call.say("\nRelated: " + ", ".join(found.topics))
    call.say("\nMost relevant:\n", bold=True)
    _show_chunks(chunks)


@command(
    "predict",
    'commonplace predict "I am about to change how sessions are kept in Redis"',
    "echo 'Sessions in Redis are kept for too many days' | commonplace predict -n 3",
)
@click.argument("text", metavar="[TEXT|-]", nargs=-1)
@limit_option(5, 100, "Show at most this many.")
@searched_project
def predict(call: Call, text: Sequence[str], limit: int, project: str | None, everywhere: bool) -> None:
    """Show what came next in situations like the one in TEXT, and what fixed the same errors.

    Without TEXT, or with `-`, standard input is read: the end of a conversation, or an error message.
    """
    situation = text_argument(text or (STDIN,), "There is no text.", "Describe what is going on, or pipe it in.")
    place, with_global = call.searched_place(project, everywhere=everywhere)
    call.say_where(place, with_global)
    with call.memory(drain_more=True) as memory:
        found = memory.predict(situation, limit=limit, project=place, with_global=with_global)
        call.warn_keywords_only(memory.embedding_state)
    if not found:
        raise NoResults("Nothing like this happened before.", None if call.json else _OTHER_WORDS)
    from commonplace.dialects.ecm import suggestion

    suggestions = [{**suggestion(one), "session": one.chunk.session_name} for one in found]
    call.answer({"suggestions": suggestions}, lambda: _show_suggestions(suggestions))


_OTHER_WORDS = "Try other words; `commonplace search` also shows what comes closest."


@contextlib.contextmanager
def _told_plainly(call: Call, nothing: str) -> Iterator[None]:
    """What programs are told in the words of a published reference, people are told in these."""
    try:
        yield
    except NoResults as error:
        if call.json:
            raise
        raise NoResults(nothing, _OTHER_WORDS) from error


def _show_suggestions(suggestions: Sequence[dict[str, Any]]) -> None:
    for number, one in enumerate(suggestions):
        if number:
            click.echo()
        click.secho(f"{one['relevance']:.0%} ", nl=False, bold=True)
        click.secho(one_line(one["title"]), fg="cyan", nl=False)
        click.secho(f"  {one_line(one['session'])} · {one['chunkId']}", dim=True)
        click.echo(plain(one["summary"]))


def _chunk_record(chunk: Chunk) -> dict[str, Any]:
    """A passage for programs, under the names that agents know."""
    from commonplace.dialects.ecm import chunk_data

    return {
        **chunk_data(chunk),
        "item": chunk.item.id,
        "conversation": chunk.session.uid if chunk.session else None,
        "project": chunk.item.project,
        "created_at": iso_time(chunk.item.created_ms),
    }


def _show_chunks(records: Sequence[dict[str, Any]]) -> None:
    """Print passages with their origin, best first."""
    for number, record in enumerate(records):
        if number:
            click.echo()
        origin = [record["session"], *([record["cluster"]] if record["cluster"] else []), record["chunkId"]]
        # No share: `search` says how likely something answers.
        click.secho(f"{record['score']:.2f} ", nl=False, bold=True)
        click.secho(one_line(" · ".join(origin)), fg="cyan")
        click.echo(plain(record["content"]).strip("\n"))
