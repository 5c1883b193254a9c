"""`import`, `ingest` and `store`: conversations of other products, sessions of coding agents, single conversations."""

from __future__ import annotations

import contextlib
import gc
import io
import json
import re
import signal
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

import click

from commonplace.capture.import_files import ImportRun, split_long_messages
from commonplace.capture.import_report import ImportReport, Skipped
from commonplace.capture.importers.formats import (
    FORMATS,
    PRODUCT_NAMES,
    PRODUCTS,
    default_locations,
    describe_formats,
    detect_format,
    format_names,
)
from commonplace.capture.importers.text_files import MAX_TEXT_BYTES
from commonplace.capture.ingest import IngestReport, IngestRun, SessionWatcher
from commonplace.capture.transcripts import TranscriptFile, transcript_folders
from commonplace.cli import tables
from commonplace.cli.command import Call, StoppedEarly, command
from commonplace.cli.options import STDIN, PluginChoice
from commonplace.cli.terminal import progress, stdin_is_piped
from commonplace.dialects.records import conversation_record
from commonplace.dialects.sekha_records import parse_message
from commonplace.errors import InvalidInput, StoreBusy, TooLarge
from commonplace.hosts.host import locations_here
from commonplace.input_limits import check_json, values_for
from commonplace.memory.conversations import (
    STATUSES,
    NewConversation,
    NewMessage,
    StoredConversation,
    store_conversation,
)
from commonplace.memory.graph import link_new_passages
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.status import status as status_of
from commonplace.temporary_files import private_temporary_files
from commonplace.text.paths import ROOT_FOLDER

AUTO = "auto"
# How many examples are named for each reason, and how many of all.
MAX_EXAMPLES, MAX_SHOWN = 3, 10
SESSION_FILES = "Sessions are files of Claude Code, Codex and Gemini CLI (.jsonl, .json) and Cursor's state.vscdb."
# How JSON begins; a text may begin with a bracket too.
_JSON = re.compile(r'\s*(?:\[\s*[{\]]|\{\s*["}])')
_SHAPE = 'Write [{"role": "user", "content": "..."}, ...], or an object with such messages.'


@command(
    "import",
    "commonplace import chatgpt-export.zip",
    "commonplace import chatgpt-export.zip --dry-run --json",
    "commonplace import chats/ --folder /desk/chats --project my-api",
    "commonplace import --from server-memory --dry-run",
    "cat chats/colours.txt | commonplace import - --format text",
)
@click.argument("paths", metavar="[PATH...]", nargs=-1)
@click.option(
    "--from", "product", type=click.Choice(PRODUCT_NAMES), help="The product; without PATH, from its usual places."
)
@click.option("--folder", help="Folder for the conversations; else /imports/ and the product, or the one in the file.")
@click.option("--project", help="The project they belong to; that in the file if omitted.")
@click.option(
    "--format",
    "format_",
    type=PluginChoice((AUTO, *FORMATS), lambda: (AUTO, *format_names())),
    default=AUTO,
    show_default=True,
    help="The format of the files.",
)
@click.option("--dry-run", is_flag=True, help="Store nothing; count what can be read.")
def import_(
    call: Call,
    paths: Sequence[str],
    product: str | None,
    folder: str | None,
    project: str | None,
    format_: str,
    dry_run: bool,
) -> None:
    """Import conversations and memories of other products.

    Conversations: ChatGPT's and Claude's data exports, our own, Markdown and plain text. Memories: the databases and
    exports of Kiro Memory, memories.sh, Causantic (ECM), Sekha and claude-mem, and the reference memory server's file.
    Everything: an archive of `commonplace export --everything`.

    PATH is a file, a folder, or the zip of an export; `-` reads standard input. Importing again, or a newer export,
    adds only what is new. What cannot be read is skipped and reported; it never stops the rest. A product's own files
    are never changed.
    """
    paths = paths or _usual_files(product)
    if product:
        if format_ not in (AUTO, product):
            raise InvalidInput("--from and --format name different things.", "Give one of them.")
        format_ = product
    for path in paths:
        if path != STDIN and not Path(path).exists():
            raise InvalidInput(f"There is no file or folder {path}.", "Name one, or - for stdin.")
    if dry_run:
        summary = _import_paths(call, None, paths, folder, project, format_)
    else:
        with call.local_memory() as memory, private_temporary_files(memory.settings.data_dir):
            summary = _import_paths(call, memory, paths, folder, project, format_)
    record = summary.as_json(dry_run=dry_run)
    if summary.nothing_read:
        why = _first_examples(summary) or "there is nothing in it"
        raise StoppedEarly(f"Nothing could be read: {why}.", _import_hint(), record)
    call.answer(record, lambda: _show_imported(call, summary, dry_run))


def _usual_files(product: str | None) -> Sequence[str]:
    """The files in a product's usual places."""
    if product is None:
        raise InvalidInput("There is nothing to import.", "Name a PATH, or a product with --from.")
    found = [str(path) for path in default_locations(product, Path.home())]
    if not found:
        raise InvalidInput(f"{product} has no files in its usual places.", "Name its file: PATH.")
    return found


def _import_paths(
    call: Call, memory: LocalMemory | None, paths: Sequence[str], folder: str | None, project: str | None, format_: str
) -> ImportReport:
    # Reading creates no reference cycles: collecting them would only cost time.
    gc.disable()
    with progress("Importing", _total_size(paths)) as advance:
        importing = ImportRun(
            memory, folder=folder, project=project, format_=None if format_ == AUTO else format_, advance=advance
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
    counts = {
        "conversations": summary.conversations,
        "messages": summary.messages,
        "items": summary.items,
        "files": summary.files,
    }
    columns = ("", "read", "skipped") if dry_run else ("", "added", "known", "skipped")
    rows = [
        {"": name, "read": tally.added, "added": tally.added, "known": tally.known, "skipped": tally.skipped}
        for name, tally in counts.items()
    ]
    tables.table(columns, rows)
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
            f"The {conflict.what} {conflict.name} was changed here too. {winner} wins; its history keeps the other."
        )
    if summary.conflicts > MAX_EXAMPLES:
        call.note(f"So were {summary.conflicts - MAX_EXAMPLES:,} more (--json names them).")
    if dry_run:
        call.note("Nothing was stored: this was a dry run.")


def _show_reasons(summary: ImportReport) -> None:
    rows = [{"skipped": count, "what": unit, "why": why} for (unit, why), count in _sorted_reasons(summary)]
    tables.table(("skipped", "what", "why"), rows)


def _sorted_reasons(summary: ImportReport) -> list[tuple[tuple[str, str], int]]:
    return sorted(summary.reasons.items(), key=lambda entry: -entry[1])


def _import_hint() -> str:
    files = describe_formats()
    return f"These can be read: {files}; and the databases of {', '.join(PRODUCTS)}."


@command(
    "ingest",
    "commonplace ingest",
    "commonplace ingest session.jsonl --project my-api",
    "commonplace ingest --json",
)
@click.argument("paths", metavar="[PATH]...", nargs=-1)
@click.option("--project", help="The project they belong to; else the repository that each session ran in.")
@click.option("--watch", is_flag=True, help="Keep following sessions as agents write them, until Ctrl-C.")
def ingest(call: Call, paths: Sequence[str], project: str | None, watch: bool) -> None:
    """Read the sessions of Claude Code, Codex, Gemini CLI, Cursor and OpenCode from their places, or from PATH.

    Only what is new since the last run is read; running it twice changes nothing. Secrets are redacted before anything
    is stored. What cannot be read is skipped and reported; it never stops the rest.
    """
    if watch and call.json:
        raise InvalidInput("--watch prints text.", "Leave --json out.")
    chosen = [Path(path).expanduser() for path in paths]
    for path in chosen:
        if not path.exists():
            raise InvalidInput(f"There is no file or folder {path}.", "Name one, or none to look in the usual places.")
    chosen = chosen or transcript_folders(locations_here())
    with call.local_memory() as memory:
        summary = _ingest_paths(call, memory, chosen, project, named=bool(paths))
        record = summary.as_json()
        waiting = 0 if memory.embeddings.state == "off" else status_of(memory)["pending"]
        if paths and not watch and summary.nothing_read and not summary.files.known:
            raise StoppedEarly(
                f"No session could be read: {_first_examples(summary) or 'there is none'}.", SESSION_FILES, record
            )
        call.answer(record | {"waiting_for_vectors": waiting}, lambda: _show_ingested(call, summary))
        if waiting:
            call.note(
                f"Everything can be searched by words now, and by meaning once {waiting:,} passages have their vectors:"
                " a running server makes them, and each search makes some."
            )
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
    call.note("Watching. Ctrl-C ends it.")
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
                call.say(f"{new.messages.added:,} new messages in {new.conversations.added:,} sessions.")
            time.sleep(following.rest)
    call.note("Ended.")


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
    tallies |= {"messages": summary.messages, "files": summary.files}
    tables.table(
        ("", "new", "known", "skipped"),
        [
            {"": name, "new": tally.added, "known": tally.known, "skipped": tally.skipped}
            for name, tally in tallies.items()
        ],
    )
    if summary.reasons:
        _show_reasons(summary)
    if summary.unknown:
        names = ", ".join(f"{name or '(none)'} ({count:,})" for name, count in summary.unknown.most_common(MAX_SHOWN))
        call.note(f"Unknown types of records: {names}.")
    for one in summary.examples[:MAX_SHOWN]:
        call.note(f"{one.what}: {one.why}")
    if not (summary.files.added or summary.files.known):
        call.note("No sessions were found. Name a file or folder, or run an agent first.")


@command(
    "store",
    'commonplace store "Colours" chats/colours.txt --folder /desk/design',
    'commonplace store "Colours" chats/colours.txt --importance 8 --project my-api',
    'echo \'[{"role": "user", "content": "Hello"}]\' | commonplace store "Greetings" - --json',
)
@click.argument("label")
@click.argument("file", required=False)
@click.option("--folder", default=ROOT_FOLDER, show_default=True, help="Its folder, such as /desk/design.")
@click.option("--importance", type=float, help="0 to 10; 5 if omitted, 10 pins it.")
@click.option("--status", type=click.Choice(STATUSES), help="Its status; active if omitted.")
@click.option("--project", help="The project it belongs to; none if omitted.")
def store(
    call: Call,
    label: str,
    file: str | None,
    folder: str,
    importance: float | None,
    status: str | None,
    project: str | None,
) -> None:
    """Store a conversation under the title LABEL. Storing the same one again does not duplicate it.

    FILE (`-` or a pipe for stdin) is JSON: a list of messages with role, content and maybe timestamp and metadata,
    or an object with such `messages`; or it is a text or Markdown with speakers, such as `User: ...` and `AI: ...`.
    """
    messages = _messages(_read_input(file), STDIN if file is None else file)
    conversation = NewConversation(
        label, messages, folder, importance=importance, status=status, project=project or None
    )
    with call.local_memory() as memory:
        stored = store_conversation(memory, split_long_messages(conversation))
    call.answer(conversation_record(stored.session) | {"duplicate": stored.duplicate}, _describe_stored(stored))
    if len(messages) == 1 and not stored.duplicate:
        call.note("It is one message. Several messages begin with their speakers: `User: ...`, `Assistant: ...`.")


def _read_input(file: str | None) -> bytes:
    """The file, or standard input."""
    if file is None and not stdin_is_piped():
        raise InvalidInput("There is nothing to store.", "Name a file, or pipe the conversation in.")
    if file in (None, STDIN):
        data = sys.stdin.buffer.read(MAX_TEXT_BYTES + 1)
    else:
        try:
            with Path(str(file)).open("rb") as stream:
                data = stream.read(MAX_TEXT_BYTES + 1)
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise InvalidInput(f"{file} could not be read: {why}.", "Name a file, or - for stdin.") from error
    if len(data) > MAX_TEXT_BYTES:
        raise TooLarge(f"It has more than {MAX_TEXT_BYTES:,} bytes.", "Store it in parts.")
    return data


def _messages(data: bytes, name: str) -> Sequence[NewMessage]:
    text = data.decode("utf-8-sig", "replace")
    if name.lower().endswith(".json") or _JSON.match(text):
        return _from_json(data)
    format_ = detect_format(data, name) if not name.lower().endswith(".jsonl") else None
    if format_ not in ("markdown", "text"):
        raise InvalidInput(f"{name} is neither a conversation as JSON nor a text.", _SHAPE)
    found = next(iter(FORMATS[format_].read(io.BytesIO(data), name)))
    if not isinstance(found, NewConversation):
        why = found.why if isinstance(found, Skipped) else "it is not a conversation"
        raise InvalidInput(f"{name}: {why}.", _SHAPE)
    return [NewMessage(one.role, one.content, one.at_ms) for one in found.messages]


def _from_json(data: bytes) -> Sequence[NewMessage]:
    check_json(data, values_for(len(data)), "It")
    try:
        value = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"It is not JSON: {error}.", _SHAPE) from error
    if isinstance(value, dict) and isinstance(value.get("conversations"), list):
        raise InvalidInput("It holds several conversations.", "`commonplace import FILE` imports all of them.")
    entries = value.get("messages") if isinstance(value, dict) else value
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise InvalidInput("It holds no list of messages.", _SHAPE)
    # A message in an export has an id of its own there; here it gets a new one.
    return [
        parse_message({k: v for k, v in entry.items() if k != "id"}, number) for number, entry in enumerate(entries)
    ]


def _describe_stored(stored: StoredConversation) -> str:
    session = stored.session
    begin = "Already known:" if stored.duplicate else "Stored"
    counts = f"{session.messages:,} message{'' if session.messages == 1 else 's'}, {session.words:,} words"
    return f"{begin} conversation {session.short_id} in {session.folder}: {session.label} ({counts})"
