"""`predict`: what came next in situations like this one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from commonplace.cli.call import Call, command
from commonplace.cli.meaning import warn
from commonplace.cli.past import prepare
from commonplace.cli.terminal import one_line, plain, read_stdin
from commonplace.errors import InvalidInput, NoResults
from commonplace.memory.predict import Suggestion
from commonplace.memory.predict import predict as predicted
from commonplace.text.redact import redact


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
    with call.book(asks=True) as book:
        prepare(book)
        found = predicted(book, now, limit)
        warn(call, book.meaning.state)
    if not found:
        raise NoResults("Nothing like this happened before.")
    suggestions = [_record(one) for one in found]
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


def _record(one: Suggestion) -> dict[str, Any]:
    return {
        "title": redact(one.title),
        "relevance": round(one.relevance, 4),
        "summary": redact(one.summary),
        "chunkId": one.chunk.id,
        "session": one.chunk.session_name,
    }
