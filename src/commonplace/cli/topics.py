"""`clusters`: what the passages of each project are about."""

from __future__ import annotations

import contextlib
from typing import Any

import click

from commonplace.cli import tables
from commonplace.cli.call import Call, command, listing
from commonplace.cli.meaning import MANY_SECONDS, embed_what_waits
from commonplace.cli.terminal import one_line
from commonplace.errors import StoreError
from commonplace.memory.book import Book
from commonplace.memory.topics import Central, Topic, tend_topics, topics
from commonplace.memory.topics import topic as one_topic
from commonplace.text.redact import redact
from commonplace.text.summarise import shorten
from commonplace.text.times import iso

SHOWN = 200


@listing("clusters", "commonplace clusters", "commonplace clusters --json")
def clusters(call: Call) -> None:
    """Topics: groups of passages that are about the same, the largest first, named by their own words.

    Each belongs to one project. They grow as passages come, and are built anew when a third of them changed.
    """
    with call.book() as book:
        found = _built(call, book)
        state = book.meaning.state
    if call.json:
        call.reply({"clusters": [topic_record(topic) for topic in found]})
    elif found:
        rows = [{**topic_record(topic), "when": topic.built_ms} for topic in found]
        tables.table(("id", "name", "size", "project", "when"), rows)
    elif state == "off":
        call.note("No topics: meaning is off, and they are made of meaning.")
    else:
        call.note("No topics yet: too little was remembered, or it waits for its vectors (`commonplace status`).")


@command("show")
@click.argument("name_or_id", metavar="NAME_OR_ID")
@click.option("--limit", type=click.IntRange(1, 1000), default=10, show_default=True, help="Most passages.")
def show(call: Call, name_or_id: str, limit: int) -> None:
    """The most central passages of a topic. NAME_OR_ID is its name in any case, or its number."""
    with call.book() as book:
        _built(call, book)
        topic, central = one_topic(book, name_or_id, limit)
    if call.json:
        call.reply({**topic_record(topic), "passages": [central_record(one) for one in central]})
        return
    call.say(f"{topic.name} ({topic.size} passages, {topic.project or 'no project'})", bold=True)
    rows = [
        {"id": one.passage.item_id, "nearness": f"{one.nearness:.2f}", "content": shorten(one_line(_text(one)), SHOWN)}
        for one in central
    ]
    tables.table(("id", "nearness", "content"), rows)


clusters.add_command(show)


def topic_record(topic: Topic) -> dict[str, Any]:
    """A topic as a program reads it."""
    return {
        "id": topic.id,
        "name": topic.name,
        "size": topic.size,
        "project": topic.project,
        "built_at": iso(topic.built_ms),
    }


def central_record(central: Central) -> dict[str, Any]:
    return {
        "passage": central.passage.id,
        "item": central.passage.item_id,
        "nearness": round(central.nearness, 4),
        "text": _text(central),
    }


def _text(central: Central) -> str:
    return redact(central.passage.text)


def _built(call: Call, book: Book) -> list[Topic]:
    """The topics as they are now. A store that cannot be written still answers."""
    embed_what_waits(book, MANY_SECONDS)
    with contextlib.suppress(StoreError):
        if not topics(book) and tend_topics(book):
            call.note("No topics were built yet: building them now.")
        while tend_topics(book):
            pass
    return topics(book)
