"""`import` and `ingest`: conversations and memories of other products, and the sessions of coding agents."""

from __future__ import annotations

import contextlib
import gc
import signal
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import click

from commonplace.capture.import_files import ImportRun
from commonplace.capture.import_report import ImportReport
from commonplace.capture.importers.formats import (
    FORMATS,
    PRODUCT_NAMES,
    default_locations,
    format_names,
)
from commonplace.capture.ingest_transcripts import IngestReport, IngestRun, SessionWatcher
from commonplace.capture.transcripts import TranscriptFile, transcript_folders
from commonplace.cli import tables
from commonplace.cli.command import Call, StoppedEarly, command
from commonplace.cli.options import STDIN, PluginChoice, project_option
from commonplace.cli.terminal import progress
from commonplace.errors import InvalidInput, StoreBusy
from commonplace.hosts.host import locations_here
from commonplace.memory.graph import link_new_passages
from commonplace.memory.imports import PastImport, list_imports, redo_import, undo_import
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.status_and_stats import passages_waiting
from commonplace.temporary_files import private_temporary_files
from commonplace.text.dates import iso_time
from commonplace.text.sentences import counted

AUTO = "auto"
# How many examples are named for each reason, and how many of all.
MAX_EXAMPLES, MAX_SHOWN = 3, 10
SESSION_FILES = "Sessions are files of Claude Code, Codex and Gemini CLI (.jsonl, .json) and Cursor's state.vscdb."


@command(
    "import",
    "commonplace import chatgpt-export.zip",
    "commonplace import chatgpt-export.zip --dry-run",
    "commonplace import chats/ --folder /design/chats -p my-api",
    "commonplace import --from server-memory --dry-run",
    "cat chats/colours.txt | commonplace import - --format text",
    "commonplace import --list",
    "commonplace import --undo 20261118-221305-123",
)
@click.argument("paths", metavar="[PATH...]", nargs=-1, type=click.Path(allow_dash=True))
@click.option(
    "--from",
    "product",
    type=click.Choice(PRODUCT_NAMES),
    help="The product it comes from; without PATH, look in its usual places.",
)
@click.option("--folder", help="The folder for conversations (default: the one in the file, or /imports/PRODUCT).")
@project_option("The project it belongs to (default: the one in the file).")
@click.option(
    "--format",
    "format_",
    type=PluginChoice((AUTO, *FORMATS), lambda: (AUTO, *format_names())),
    default=AUTO,
    show_default=True,
    help="The format of the files.",
)
@click.option("--accept", is_flag=True, help="Let imported rules hold at once, as if you had stated them.")
@click.option("--dry-run", is_flag=True, help="Store nothing; count what would be read.")
@click.option("--list", "list_", is_flag=True, help="List the imports so far.")
@click.option("--undo", metavar="ID", help="Take back all that an import brought in.")
@click.option("--redo", metavar="ID", help="Bring back what --undo took back.")
def import_(
    call: Call,
    paths: Sequence[str],
    product: str | None,
    folder: str | None,
    project: str | None,
    format_: str,
    accept: bool,
    dry_run: bool,
    list_: bool,
    undo: str | None,
    redo: str | None,
) -> None:
    """Import conversations and memories from other products, or from `commonplace export`.

    Conversations: exports of ChatGPT and Claude, Markdown, HTML and text. Memories: databases and exports of Kiro
    Memory, memories.sh, Causantic (ECM), Sekha, claude-mem and mem0, and the file of the reference memory server.

    PATH is a file, a folder, or the zip of an export; `-` reads standard input. Importing again adds only what is new.
    Rules and constraints of other products wait for your review, unless you --accept them.
    What cannot be read is reported, and the files are never changed.
    """
    if list_ or undo or redo:
        _past_imports(call, undo, redo)
        return
    paths = paths or _usual_files(product)
    if product:
        if format_ not in (AUTO, product):
            raise InvalidInput("--from and --format name different things.", "Give one of them.")
        format_ = product
    for path in paths:
        if path != STDIN and not Path(path).exists():
            raise InvalidInput(f"There is no file or folder {path}.", "Name one, or - for standard input.")
    if dry_run:
        summary = _import_paths(call, None, paths, folder, project, format_, accept=False)
    else:
        with call.local_memory() as memory, private_temporary_files(memory.settings.data_dir):
            summary = _import_paths(call, memory, paths, folder, project, format_, accept=accept)
    record = summary.as_json(dry_run=dry_run)
    if summary.nothing_read:
        why = _first_examples(summary) or "there is nothing in it"
        raise StoppedEarly(f"Nothing could be read: {why}.", IMPORT_HINT, record)
    call.answer(record, lambda: _show_imported(call, summary, dry_run))


def _past_imports(call: Call, undo: str | None, redo: str | None) -> None:
    """List the imports so far, or take one back, or bring it back."""
    with call.local_memory() as memory:
        if undo or redo:
            done = undo_import(memory, undo) if undo else redo_import(memory, redo or "")
            what = f"{counted(done.conversations, 'conversation')} and {counted(done.items, 'other item')}"
            call.answer(import_record(done), f"Took back {what}." if done.undone else f"Brought back {what}.")
            if done.undone:
                call.note(f"`commonplace import --redo {done.id}` brings them back.")
            return
        records = [import_record(one) for one in list_imports(memory)]
    call.answer_list("imports", records, _show_imports, "Nothing was imported yet.")


def _show_imports(records: Sequence[Mapping[str, Any]]) -> None:
    rows = []
    for one in records:
        state = "taken back" if one["undone"] else ""
        rows.append({**one, "files": ", ".join(one["files"]), "state": state})
    tables.table(("id", "files", "conversations", "messages", "items", "state"), rows)


def import_record(one: PastImport) -> dict[str, Any]:
    """An import for programs."""
    return {
        "id": one.id,
        "at": iso_time(one.at_ms),
        "files": list(one.names),
        "conversations": one.conversations,
        "messages": one.messages,
        "items": one.items,
        "undone": one.undone,
    }


def _usual_files(product: str | None) -> Sequence[str]:
    """The files in a product's usual places."""
    if product is None:
        raise InvalidInput("There is nothing to import.", "Name a PATH, or a product with --from.")
    found = [str(path) for path in default_locations(product, Path.home())]
    if not found:
        raise InvalidInput(f"{product} has no files in its usual places.", "Name its file: PATH.")
    return found


def _import_paths(
    call: Call,
    memory: LocalMemory | None,
    paths: Sequence[str],
    folder: str | None,
    project: str | None,
    format_: str,
    *,
    accept: bool,
) -> ImportReport:
    # Reading creates no reference cycles: collecting them would only cost time.
    gc.disable()
    with progress("Importing", _total_size(paths)) as advance:
        importing = ImportRun(
            memory,
            folder=folder,
            project=project,
            format_=None if format_ == AUTO else format_,
            advance=advance,
            accept=accept,
        )
        try:
            for path in paths:
                if path == STDIN:
                    importing.add_stream(sys.stdin.buffer, STDIN)
                else:
                    importing.add(Path(path))
            return importing.finish()
        except KeyboardInterrupt:
            done = importing.report
            call.note(
                f"Interrupted. {done.conversations.added:,} conversations with {done.messages.added:,} new messages"
                f" and {done.items.added:,} other items are stored; the same command continues from there."
            )
            raise


def _total_size(paths: Sequence[str]) -> int | None:
    """Bytes on the disk; unknown for a pipe."""
    if STDIN in paths:
        return None
    files = [one for path in map(Path, paths) for one in (path.rglob("*") if path.is_dir() else [path])]
    return sum(one.stat().st_size for one in files if one.is_file())


def _show_imported(call: Call, summary: ImportReport, dry_run: bool) -> None:
    counts = {"conversations": summary.conversations, "messages": summary.messages, "items": summary.items}
    columns = ("", "read", "skipped") if dry_run else ("", "added", "known", "skipped")
    rows = [
        {"": name, "read": tally.added, "added": tally.added, "known": tally.known, "skipped": tally.skipped}
        for name, tally in counts.items()
    ]
    tables.table(columns, rows)
    files = f"{summary.files.added:,} file{'' if summary.files.added == 1 else 's'} read"
    call.say(f"{files}, {summary.files.skipped:,} skipped." if summary.files.skipped else f"{files}.")
    if summary.reasons:
        call.say("\nSkipped:")
        _show_reasons(summary)
    counted: Counter[str] = Counter()
    for one in summary.examples:
        counted[one.why] += 1
        if counted[one.why] <= MAX_EXAMPLES:
            call.note(f"{one.what}: {one.why}")
    for conflict in summary.disputed[:MAX_EXAMPLES]:
        winner = "The archive's version" if conflict.took else "The local version"
        call.note(
            f"The {conflict.what} {conflict.name} was changed here too. {winner} wins; the other one is in its history."
        )
    if summary.conflicts > MAX_EXAMPLES:
        call.note(f"So were {summary.conflicts - MAX_EXAMPLES:,} more (--json names them).")
    if dry_run:
        call.note("Nothing was stored: this was a dry run.")
    if summary.import_id:
        call.note(f"`commonplace import --undo {summary.import_id}` takes all of this back.")


def _show_reasons(summary: ImportReport) -> None:
    rows = [{"skipped": one["count"], "what": one["unit"], "why": one["why"]} for one in summary.skipped_by_reason()]
    tables.table(("skipped", "what", "why"), rows)


IMPORT_HINT = "`commonplace help import` says what can be read."


@command(
    "ingest",
    "commonplace ingest",
    "commonplace ingest session.jsonl -p my-api",
)
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path())
@project_option("The project they belong to (default: the repository that each session ran in).")
@click.option("--watch", is_flag=True, help="Keep reading new sessions as agents write them, until Ctrl-C.")
def ingest(call: Call, paths: Sequence[str], project: str | None, watch: bool) -> None:
    """Read the sessions of Claude Code, Codex, Gemini CLI, Cursor and OpenCode, from their folders or from PATH.

    Only what is new since the last run is read. Secrets are removed first, and what cannot be read is reported.
    """
    if watch and call.json:
        raise InvalidInput("--watch prints text.", "Leave out --json.")
    chosen = [Path(path).expanduser() for path in paths]
    for path in chosen:
        if not path.exists():
            raise InvalidInput(f"There is no file or folder {path}.", "Name one, or none to look in the usual places.")
    chosen = chosen or transcript_folders(locations_here())
    with call.local_memory() as memory:
        summary = _ingest_paths(call, memory, chosen, project, named=bool(paths))
        record = summary.as_json()
        waiting = 0 if memory.embeddings.state == "off" else passages_waiting(memory)
        if paths and not watch and summary.nothing_read and not summary.files.known:
            raise StoppedEarly(
                f"No session could be read: {_first_examples(summary) or 'there is none'}.", SESSION_FILES, record
            )
        call.answer(record | {"waiting_for_vectors": waiting}, lambda: _show_ingested(call, summary))
        if waiting:
            call.note(f"Ready. Search by meaning follows: {counted(waiting, 'passage')} to go.")
        if watch:
            _follow(call, memory, chosen, project)


def _ingest_paths(
    call: Call, memory: LocalMemory, paths: Sequence[Path], project: str | None, *, named: bool
) -> IngestReport:
    reading = IngestRun(memory, project=project)
    try:
        files = reading.find(paths, named=named)
        with progress("Ingesting", _size(files)) as advance:
            reading.read(files, advance)
        _link(memory)
    except KeyboardInterrupt:
        done = reading.report.messages.added
        call.note(f"Interrupted. {done:,} messages are stored; the same command continues from there.")
        raise
    return reading.report


def _follow(call: Call, memory: LocalMemory, paths: Sequence[Path], project: str | None) -> None:
    """Read new parts of sessions again and again, and give way to other writers of the store."""
    signal.signal(signal.SIGTERM, _interrupt)
    call.note("Watching; Ctrl-C stops it.")
    following = SessionWatcher(paths)
    with contextlib.suppress(KeyboardInterrupt):
        while True:
            reading = IngestRun(memory, project=project)
            try:
                reading.read(following.changed())
                _link(memory)
            except StoreBusy:
                following = SessionWatcher(paths)
            new = reading.report
            if new.messages.added:
                messages = counted(new.messages.added, "new message")
                call.say(f"{messages} in {counted(new.conversations.added, 'session')}.")
            time.sleep(following.rest)
    call.note("Stopped watching.")


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _link(memory: LocalMemory) -> None:
    """Link the new passages. If another process is writing, it does that too."""
    with contextlib.suppress(StoreBusy):
        while link_new_passages(memory):
            pass


def _size(files: Sequence[TranscriptFile]) -> int:
    size = 0
    for found in files:
        with contextlib.suppress(OSError):
            size += found.path.stat().st_size
    return size


def _first_examples(summary: ImportReport) -> str:
    return "; ".join(f"{one.what}: {one.why}" for one in summary.examples[:MAX_EXAMPLES]).rstrip(".")


def _show_ingested(call: Call, summary: IngestReport) -> None:
    tallies = {f"{source} sessions": tally for source, tally in sorted(summary.by_source.items())}
    tallies |= {"messages": summary.messages}
    tables.table(
        ("", "new", "known", "skipped"),
        [
            {"": name, "new": tally.added, "known": tally.known, "skipped": tally.skipped}
            for name, tally in tallies.items()
        ],
    )
    files = (
        (counted(summary.files.added, "file"), "read"),
        (f"{summary.files.known:,}", "unchanged"),
        (f"{summary.files.skipped:,}", "skipped"),
    )
    shown = [f"{number} {what}" for number, what in files if what == "read" or number != "0"]
    call.say(f"{', '.join(shown)}.")
    if summary.reasons:
        _show_reasons(summary)
    if summary.proposed:
        call.note(f"{counted(summary.proposed, 'statement')} of yours to accept or dismiss: commonplace review")
    if summary.unknown:
        names = ", ".join(f"{name or '(none)'} ({count:,})" for name, count in summary.unknown.most_common(MAX_SHOWN))
        call.note(f"Unknown types of records: {names}.")
    for one in summary.examples[:MAX_SHOWN]:
        call.note(f"{one.what}: {one.why}")
    if not (summary.files.added or summary.files.known):
        call.note("No sessions were found. Name a file or folder, or use an agent first.")
