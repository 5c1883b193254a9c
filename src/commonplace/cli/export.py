"""`export`: conversations as JSON or Markdown, or everything as an archive."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from commonplace.cli.command import Call, command
from commonplace.cli.options import (
    CONVERSATIONS,
    atomic_file,
    check_target,
    force_option,
    make_folder,
    project_option,
)
from commonplace.cli.terminal import plain, progress
from commonplace.errors import InvalidInput
from commonplace.memory.conversations import find_session, open_conversation
from commonplace.memory.export_conversations import (
    CONVERSATIONS_FORMAT,
    CONVERSATIONS_VERSION,
    EXPORT_FORMATS,
    all_conversations,
    conversation_export,
    export_text,
)
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.projects import require_project
from commonplace.memory.spaces import other_spaces
from commonplace.memory.status_and_stats import conversation_stats
from commonplace.memory.sync_and_archive import Archive, SyncScope
from commonplace.model import Item, Session, SessionScope
from commonplace.text.dates import period_start, short_iso_time
from commonplace.text.paths import file_name_key, normalise_folder, safe_file_name
from commonplace.text.redact import redact, redact_data
from commonplace.text.sentences import counted

STDOUT = "-"
Advance = Callable[[int], object]
Whole = tuple[Session, Sequence[Item]]


def write_archive(call: Call, archive: Archive, output: str, *, force: bool, place: str = "") -> None:
    """Write a zip if the name says so or it goes to a pipe, else a folder. The manifest is written last.

    `place` says where the memories are from, if the store has more.
    """
    with progress("Exporting") as advance:
        if output == STDOUT:
            _write_to_stdout(archive, advance)
            return
        if output.lower().endswith(".zip"):
            with atomic_file(check_target(Path(output), force=force), force=force) as stream:
                for piece in archive.zipped():
                    stream.write(piece)
                    advance(len(piece))
        else:
            _write_to_folder(archive, Path(output), advance, force=force)
    counts = archive.counts
    call.answer(
        {"path": str(Path(output)), **archive.manifest},
        f"Exported {counted(counts['items'], 'item')}, {counted(counts['sessions'], 'session')},"
        f" {counted(counts['projects'], 'project')}"
        f"{place} to {output}",
    )


def _write_to_stdout(archive: Archive, advance: Advance) -> None:
    if sys.stdout.isatty():
        raise InvalidInput("An archive cannot be printed in a terminal.", "Name a file with --output, or use a pipe.")
    for piece in archive.zipped():
        sys.stdout.buffer.write(piece)
        advance(len(piece))
    sys.stdout.buffer.flush()


def _write_to_folder(archive: Archive, folder: Path, advance: Advance, *, force: bool) -> None:
    make_folder(folder, force=force)
    for name, pieces in archive.files():
        with atomic_file(folder / name, force=force) as stream:
            for piece in pieces:
                stream.write(piece)
                advance(len(piece))


@command(
    "export",
    "commonplace export 1",
    "commonplace export 1 --format markdown --no-metadata",
    "commonplace export --all -o conversations.json",
    "commonplace export --folder /design --format markdown -o design-chats",
    "commonplace export --everything -o memory.zip",
    "commonplace export --everything -p my-api --since 30d -o my-api-archive",
)
@click.argument("ids", metavar="[ID]...", nargs=-1, shell_complete=CONVERSATIONS)
@click.option("--all", "all_", is_flag=True, help="Every conversation, including archived ones.")
@click.option("--folder", help="Every conversation in this folder and its subfolders.")
@click.option("--everything", is_flag=True, help="The whole memory, with its history, as an archive.")
@project_option("With --everything: only this project; repeatable.", names=("projects",), metavar="NAME", multiple=True)
@click.option("-s", "--since", help='With --everything: only items changed since: 7d, "last week", 2026-11-01, ...')
@click.option(
    "--format", "format_", type=click.Choice(EXPORT_FORMATS), default="json", show_default=True, help="The format."
)
@click.option(
    "-o",
    "--output",
    metavar="PATH",
    type=click.Path(allow_dash=True),
    default=STDOUT,
    help="A file, or a folder for many Markdown files or an archive (default: standard output).",
)
@click.option("--no-metadata", is_flag=True, help="Only the messages, with label, roles and times.")
@force_option
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
    """Export conversations by ID, by folder, or all; or with --everything the whole memory. Secrets are removed.

    One conversation is one JSON object; several are one document, or a folder of Markdown files. Everything is an
    archive: a zip if PATH ends in .zip or is a pipe, else a folder. `import` reads JSON and archives back without loss.
    Only you can read the files.
    """
    if bool(ids) + all_ + (folder is not None) + everything != 1:
        raise InvalidInput("It is not clear what to export.", "Name ids, or a --folder, or give --all or --everything.")
    if everything:
        if format_ != "json" or no_metadata:
            raise InvalidInput("An archive has one format.", "Leave out --format and --no-metadata.")
        with call.local_memory() as memory:
            for name in projects:
                require_project(memory, name)
            since_ms = period_start(since, memory.clock()) if since else None
            place = f" of the space {memory.settings.space}" if other_spaces(memory) else ""
            archive = Archive(memory, SyncScope(tuple(projects)), since_ms)
            write_archive(call, archive, output, force=force, place=place)
        return
    if projects or since:
        raise InvalidInput("--project and --since are for --everything.", "Give it, or leave them out.")
    many = len(ids) != 1
    if many and format_ == "markdown" and output == STDOUT:
        raise InvalidInput("Several conversations in Markdown are several files.", "Name a folder with --output.")
    scope = SessionScope(folder="" if folder is None else normalise_folder(folder))
    with call.local_memory() as memory:
        # If one does not exist, nothing is written.
        found = {session.uid: session for session in (find_session(memory, id_) for id_ in ids)}
        size = (
            sum(session.bytes for session in found.values()) if ids else conversation_stats(memory, folder).counts.bytes
        )
        whole = (open_conversation(memory, uid) for uid in found) if ids else all_conversations(memory, scope)
        with progress("Exporting", size) as advance:
            exporting = _Export(memory, format_, not no_metadata, force)
            exporting.write(_counted(whole, advance), output, many=many, as_data=call.json)
    if output == STDOUT:
        return
    counts = exporting.counts
    call.answer(
        counts | {"format": format_, "path": str(Path(output))},
        f"Exported {counted(counts['conversations'], 'conversation')}, {counted(counts['messages'], 'message')}"
        f" to {output}",
    )


def _counted(whole: Iterable[Whole], advance: Any) -> Iterator[Whole]:
    for session, messages in whole:
        yield session, messages
        advance(session.bytes)


class _Export:
    """One export: how it is written, and how much has been."""

    def __init__(self, memory: LocalMemory, format_: str, metadata: bool, force: bool) -> None:
        self.counts = {"conversations": 0, "messages": 0}
        self._moment, self._markdown = short_iso_time(memory.clock()), format_ == "markdown"
        self._metadata, self._force = metadata, force

    def write(self, whole: Iterable[Whole], output: str, *, many: bool, as_data: bool) -> None:
        if many and self._markdown:
            self._files(whole, Path(output))
            return
        pieces = self._document(whole) if many else self._one(whole, as_data=as_data and output == STDOUT)
        if output == STDOUT:
            safe = plain if self._markdown and sys.stdout.isatty() else str
            for piece in pieces:
                click.echo(safe(piece), nl=False)
            return
        with atomic_file(check_target(Path(output), force=self._force), force=self._force) as stream:
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
        """One JSON document, a conversation per line."""
        head = json.dumps(
            {"format": CONVERSATIONS_FORMAT, "version": CONVERSATIONS_VERSION, "exported_at": self._moment}
        )
        yield f'{head[:-1]}, "conversations": ['
        between = "\n"
        for session, messages in whole:
            self._count(messages)
            yield between + json.dumps(
                redact_data(conversation_export(session, messages, metadata=self._metadata)), ensure_ascii=False
            )
            between = ",\n"
        yield "\n]}\n"

    def _files(self, whole: Iterable[Whole], folder: Path) -> None:
        make_folder(folder, force=self._force)
        taken: set[str] = set()
        for session, messages in whole:
            name = safe_file_name(redact(session.label))
            if file_name_key(name) in taken:
                name = f"{name} {session.short_id}"
            taken.add(file_name_key(name))
            with atomic_file(folder / f"{name}.md", force=self._force) as stream:
                stream.write(self._text(session, messages).encode("utf-8", "replace"))

    def _text(self, session: Session, messages: Sequence[Item]) -> str:
        self._count(messages)
        return export_text(session, messages, "markdown" if self._markdown else "json", metadata=self._metadata)

    def _count(self, messages: Sequence[Item]) -> None:
        self.counts["conversations"] += 1
        self.counts["messages"] += len(messages)
