"""What the commands about past sessions share: a memory that is ready to answer, and passages as they are shown."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import click

from commonplace.cli.meaning import embed_for_question, embed_what_waits
from commonplace.cli.terminal import one_line, plain
from commonplace.dialects.ecm import chunk_data
from commonplace.errors import StoreError
from commonplace.memory.book import Book
from commonplace.memory.chunks import KINDS_TOLD, Chunk
from commonplace.memory.graph import link_some
from commonplace.model import Scope
from commonplace.text.redacted_data import redacted
from commonplace.text.times import iso

# What a question links at most before it answers, in steps of a few passages: about a second of work.
LINK_STEPS = 50


def prepare(book: Book, question: str = "") -> None:
    """Do what a server would have done in the background. A store that cannot be written still answers."""
    if question:
        embed_for_question(book, question, [Scope(kinds=KINDS_TOLD)])
    else:
        embed_what_waits(book)
    with contextlib.suppress(StoreError):
        for _ in range(LINK_STEPS):
            if not link_some(book):
                break


def chunk_record(chunk: Chunk) -> dict[str, Any]:
    """A passage as programs read it, under the names that agents know."""
    shown: dict[str, Any] = redacted(chunk_data(chunk))
    return shown | {
        "item": chunk.item.id,
        "conversation": chunk.session.uid if chunk.session else None,
        "project": chunk.item.project,
        "created_at": iso(chunk.item.created_ms),
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
