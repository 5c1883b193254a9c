"""`export`: conversations as JSON that can be imported again or as Markdown to read, or everything as an archive."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from commonplace.cli import tables
from commonplace.cli.archive import write_archive
from commonplace.cli.call import Call, command
from commonplace.cli.files import checked_target, new_folder, whole_file
from commonplace.cli.terminal import plain
from commonplace.errors import InvalidInput
from commonplace.memory.archive import Archive
from commonplace.memory.book import Book
from commonplace.memory.browse import require_project
from commonplace.memory.conversations import find, opened
from commonplace.memory.export import FORMAT, FORMATS, VERSION, export_data, exported, whole_conversations
from commonplace.memory.records import Extent
from commonplace.memory.stats import stats
from commonplace.model import Item, Session, SessionScope
from commonplace.text.file_names import file_name, same_name
from commonplace.text.folders import folder_path
from commonplace.text.periods import beginning
from commonplace.text.redact import redact
from commonplace.text.redacted_data import redacted
from commonplace.text.times import stamp

STDOUT = "-"
Whole = tuple[Session, Sequence[Item]]


@command(
    "export",
    "commonplace export 1",
    "commonplace export 1 --format markdown --no-metadata",
    "commonplace export --all --output conversations.json",
    "commonplace export --folder /desk --format markdown --output chats-of-desk",
    "commonplace export --everything --output memory.zip",
    "commonplace export --everything --project my-api --since 30d --output my-api-archive",
)
@click.argument("ids", metavar="[ID]...", nargs=-1)
@click.option("--all", "all_", is_flag=True, help="Every conversation, also archived ones.")
@click.option("--folder", help="Every conversation in this folder and all below it.")
@click.option("--everything", is_flag=True, help="All that is remembered, with its history, as an archive.")
@click.option("--project", "projects", metavar="NAME", multiple=True, help="Of everything, only this project.")
@click.option("--since", help='Of everything, only items that changed since: 7d, "last week", 2026-11-01, ...')
@click.option("--format", "format_", type=click.Choice(FORMATS), default="json", show_default=True, help="Format.")
@click.option(
    "--output", metavar="PATH", default=STDOUT, help="File, or folder for Markdown of many and archives; else stdout."
)
@click.option("--no-metadata", is_flag=True, help="Only what was said, with label, roles and times.")
@click.option("--force", is_flag=True, help="Write over what is there.")
def export(
    call: Call,
    ids: Sequence[str],
    all_: bool,
    folder: str | None,
    everything: bool,
    projects: Sequence[str],
    since: str | None,
    format_: str,
    output: str,
    no_metadata: bool,
    force: bool,
) -> None:
    """Conversations to keep elsewhere: one by its ID, several, those of a folder, or all. Secrets are blacked out.

    One is one JSON object; many are one document that `commonplace import` reads back without loss. As Markdown, many
    become a folder with a file for each. Files are readable by you only, and appear when they are complete.

    With --everything, all that is remembered, conversations or not, becomes an archive of JSON lines: a zip if PATH
    ends in .zip or is a pipe, else a folder. `commonplace import` reads it back without loss.
    """
    if bool(ids) + all_ + (folder is not None) + everything != 1:
        raise InvalidInput("What is to be exported?", "Name ids, or a --folder, or give --all or --everything.")
    if everything:
        if format_ != "json" or no_metadata:
            raise InvalidInput("An archive has one format.", "Leave out --format and --no-metadata.")
        with call.book() as book:
            for name in projects:
                require_project(book, name)
            since_ms = beginning(since, book.clock()) if since else None
            write_archive(call, Archive(book, Extent(tuple(projects)), since_ms), output, force=force)
        return
    if projects or since:
        raise InvalidInput("--project and --since are for --everything.", "Give it, or leave them out.")
    many = len(ids) != 1
    if many and format_ == "markdown" and output == STDOUT:
        raise InvalidInput("Many conversations as Markdown are many files.", "Name a folder with --output.")
    scope = SessionScope(folder="" if folder is None else folder_path(folder))
    with call.book() as book:
        # All of them exist, or nothing is written.
        found = {session.uid: session for session in (find(book, id_) for id_ in ids)}
        size = sum(session.bytes for session in found.values()) if ids else stats(book, folder).counts.bytes
        whole = (opened(book, uid) for uid in found) if ids else whole_conversations(book, scope)
        with tables.progress("Exporting", size) as advance:
            exporting = _Export(book, format_, not no_metadata, force)
            exporting.write(_counted(whole, advance), output, many=many, as_data=call.json)
    if output == STDOUT:
        return
    if call.json:
        call.reply(exporting.told | {"format": format_, "path": str(Path(output))})
    else:
        counts = exporting.told
        call.say(f"Exported {counts['conversations']:,} conversations, {counts['messages']:,} messages to {output}")


def _counted(whole: Iterable[Whole], advance: Any) -> Iterator[Whole]:
    for session, messages in whole:
        yield session, messages
        advance(session.bytes)


class _Export:
    """One export: how it is written, and how much was."""

    def __init__(self, book: Book, format_: str, metadata: bool, force: bool) -> None:
        self.told = {"conversations": 0, "messages": 0}
        self._moment, self._markdown = stamp(book.clock()), format_ == "markdown"
        self._metadata, self._force = metadata, force

    def write(self, whole: Iterable[Whole], output: str, *, many: bool, as_data: bool) -> None:
        if many and self._markdown:
            self._files(whole, Path(output))
            return
        pieces = self._document(whole) if many else self._one(whole, as_data=as_data and output == STDOUT)
        if output == STDOUT:
            harmless = plain if self._markdown and sys.stdout.isatty() else str
            for piece in pieces:
                click.echo(harmless(piece), nl=False)
            return
        with whole_file(checked_target(Path(output), force=self._force), force=self._force) as stream:
            for piece in pieces:
                stream.write(piece.encode("utf-8", "replace"))

    def _one(self, whole: Iterable[Whole], *, as_data: bool) -> Iterator[str]:
        for session, messages in whole:
            text = self._text(session, messages)
            if self._markdown and as_data:
                data = {"id": session.uid, "format": "markdown", "content": text}
                yield json.dumps(data, ensure_ascii=False, indent=2) + "\n"
            else:
                yield text

    def _document(self, whole: Iterable[Whole]) -> Iterator[str]:
        """One JSON document, a conversation to a line, as they come."""
        head = json.dumps({"format": FORMAT, "version": VERSION, "exported_at": self._moment})
        yield f'{head[:-1]}, "conversations": ['
        between = "\n"
        for session, messages in whole:
            self._count(messages)
            yield between + json.dumps(
                redacted(export_data(session, messages, metadata=self._metadata)), ensure_ascii=False
            )
            between = ",\n"
        yield "\n]}\n"

    def _files(self, whole: Iterable[Whole], folder: Path) -> None:
        new_folder(folder, force=self._force)
        taken: set[str] = set()
        for session, messages in whole:
            name = file_name(redact(session.label))
            if same_name(name) in taken:
                name = f"{name} {session.short_id}"
            taken.add(same_name(name))
            with whole_file(folder / f"{name}.md", force=self._force) as stream:
                stream.write(self._text(session, messages).encode("utf-8", "replace"))

    def _text(self, session: Session, messages: Sequence[Item]) -> str:
        self._count(messages)
        return exported(session, messages, "markdown" if self._markdown else "json", metadata=self._metadata)

    def _count(self, messages: Sequence[Item]) -> None:
        self.told["conversations"] += 1
        self.told["messages"] += len(messages)
