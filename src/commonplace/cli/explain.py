"""`explain`: how something came about, over all sessions."""

from __future__ import annotations

from collections.abc import Sequence

import click

from commonplace.cli import tables
from commonplace.cli.call import Call, command
from commonplace.cli.meaning import warn
from commonplace.cli.past import chunk_record, prepare, show_chunks
from commonplace.cli.terminal import read_stdin
from commonplace.errors import InvalidInput
from commonplace.memory.explain import explain as explained
from commonplace.text.redact import redact


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
    with call.book(asks=True) as book:
        prepare(book)
        found = explained(book, asked, depth)
        chunks = [chunk_record(chunk) for chunk in found.chunks]
        warn(call, book.meaning.state)
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
