"""`import`: what other products kept, taken over from the files they send and the databases they have."""

from __future__ import annotations

import gc
import io
import json
import re
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click

from commonplace.capture.import_files import ImportRun, split_long_messages
from commonplace.capture.import_report import ImportReport, Skipped
from commonplace.capture.importers.formats import FORMATS, PRODUCT_NAMES, PRODUCTS, default_locations, detect_format
from commonplace.capture.importers.text_files import MAX_TEXT_BYTES
from commonplace.cli import tables
from commonplace.cli.command import Call, StoppedEarly, command
from commonplace.cli.terminal import stdin_is_piped
from commonplace.dialects.records import conversation_record
from commonplace.dialects.sekha_records import parse_message
from commonplace.errors import InvalidInput, TooLarge
from commonplace.input_limits import check_json, values_for
from commonplace.memory.conversations import (
    STATUSES,
    NewConversation,
    NewMessage,
    StoredConversation,
    store_conversation,
)
from commonplace.memory.local_memory import LocalMemory
from commonplace.temporary_files import private_temporary_files
from commonplace.text.paths import ROOT_FOLDER

AUTO = "auto"
STDIN = "-"
# How many of those that are skipped for one reason are named.
NAMED = 3


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
    "--from", "product", type=click.Choice(PRODUCT_NAMES), help="The product; without PATH, from its usual place."
)
@click.option("--folder", help="Folder for the conversations; else /imports/ and the product, or the one they name.")
@click.option("--project", help="The project they belong to; as their source says if omitted.")
@click.option(
    "--format", "format_", type=click.Choice((AUTO, *FORMATS)), default=AUTO, show_default=True, help="What it is."
)
@click.option("--dry-run", is_flag=True, help="Keep nothing; count what could be read.")
def import_(
    call: Call,
    paths: Sequence[str],
    product: str | None,
    folder: str | None,
    project: str | None,
    format_: str,
    dry_run: bool,
) -> None:
    """Take over what other products kept.

    Conversations: ChatGPT's and Claude's data exports, our own, Markdown and plain text. Memories: the databases and
    exports of Kiro Memory, memories.sh, Causantic (ECM), Sekha and claude-mem, and the reference memory server's file.
    Everything: an archive of `commonplace export --everything`.

    PATH is a file, a folder, or the zip as the product sends it; `-` reads a pipe. Doing it again, or with a newer
    export, adds only what is new. What cannot be read is skipped and told; it never stops the rest. A product's
    own files are only read.
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
        with call.memory() as memory, private_temporary_files(memory.settings.data_dir):
            summary = _import_paths(call, memory, paths, folder, project, format_)
    reply = summary.as_json(dry_run=dry_run)
    if summary.nothing_read:
        why = "; ".join(f"{one.what}: {one.why}" for one in summary.examples[:3]) or "there is nothing in it"
        raise StoppedEarly(f"Nothing could be read: {why}.", _hint(), reply)
    if call.json:
        call.reply(reply)
    else:
        _show_imported(call, summary, dry_run)


def _usual_files(product: str | None) -> Sequence[str]:
    """Where a product keeps its memory."""
    if product is None:
        raise InvalidInput("There is nothing to import.", "Name a PATH, or a product with --from.")
    found = [str(path) for path in default_locations(product, Path.home())]
    if not found:
        raise InvalidInput(f"{product} keeps nothing in its usual places.", "Name its file: PATH.")
    return found


def _import_paths(
    call: Call, memory: LocalMemory | None, paths: Sequence[str], folder: str | None, project: str | None, format_: str
) -> ImportReport:
    # What reading makes holds no circles: looking for some all the time would only cost.
    gc.disable()
    with tables.progress("Importing", _size(paths)) as advance:
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
                f" and {done.items.added:,} other items are stored; the same command goes on from there."
            )
            raise


def _size(paths: Sequence[str]) -> int | None:
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
        reasons = sorted(summary.reasons.items(), key=lambda entry: -entry[1])
        tables.table(
            ("skipped", "what", "why"),
            [{"skipped": count, "what": unit, "why": why} for (unit, why), count in reasons],
        )
    named: Counter[str] = Counter()
    for one in summary.examples:
        named[one.why] += 1
        if named[one.why] <= NAMED:
            call.note(f"{one.what}: {one.why}")
    for told in summary.disputed[:NAMED]:
        stands = "The archive's version" if told.took else "What is here"
        call.note(f"The {told.what} {told.name} had changed here too. {stands} stands; its history keeps the other.")
    if summary.conflicts > NAMED:
        call.note(f"So had {summary.conflicts - NAMED:,} more (--json names them).")
    if dry_run:
        call.note("Nothing was kept: this was a dry run.")


def _hint() -> str:
    files = "; ".join(f"{name} ({format_.what})" for name, format_ in FORMATS.items())
    return f"These can be read: {files}; and the databases of {', '.join(PRODUCTS)}."


STORE_STDIN = "-"
# How JSON begins; a text may begin with a bracket too.
_JSON = re.compile(r'\s*(?:\[\s*[{\]]|\{\s*["}])')
_SHAPE = 'Write [{"role": "user", "content": "..."}, ...], or an object with such messages.'


@command(
    "store",
    'commonplace store "Colours" chats/colours.txt --folder /desk/design',
    'commonplace store "Colours" chats/colours.txt --importance 8 --project my-api',
    'echo \'[{"role": "user", "content": "Hello"}]\' | commonplace store "Greetings" - --json',
)
@click.argument("label")
@click.argument("file", required=False)
@click.option("--folder", default=ROOT_FOLDER, show_default=True, help="Where to keep it, such as /desk/design.")
@click.option("--importance", type=float, help="0 to 10; 5 if omitted, 10 pins it.")
@click.option("--status", type=click.Choice(STATUSES), help="How it stands; active if omitted.")
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
    """Keep a conversation under the title LABEL. The same one again is found instead of repeated.

    FILE (`-` or a pipe for stdin) is JSON: a list of messages with role, content and perhaps timestamp and metadata,
    or an object with such `messages`; or it is a text or Markdown with speakers, such as `User: ...` and `AI: ...`.
    """
    messages = _messages(_read_input(file), STORE_STDIN if file is None else file)
    conversation = NewConversation(
        label, messages, folder, importance=importance, status=status, project=project or None
    )
    with call.memory() as memory:
        kept = store_conversation(memory, split_long_messages(conversation))
    if call.json:
        call.reply(conversation_record(kept.session) | {"duplicate": kept.duplicate})
        return
    call.say(_describe_stored(kept))
    if len(messages) == 1 and not kept.duplicate:
        call.note("It is one message. Several begin with their speakers: `User: ...` and `Assistant: ...`.")


def _read_input(file: str | None) -> bytes:
    """The file, or what is piped in."""
    if file is None and not stdin_is_piped():
        raise InvalidInput("There is nothing to keep.", "Name a file, or pipe the conversation in.")
    if file in (None, STORE_STDIN):
        data = sys.stdin.buffer.read(MAX_TEXT_BYTES + 1)
    else:
        try:
            with Path(str(file)).open("rb") as stream:
                data = stream.read(MAX_TEXT_BYTES + 1)
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise InvalidInput(f"{file} could not be read: {why}.", "Name a file, or - for stdin.") from error
    if len(data) > MAX_TEXT_BYTES:
        raise TooLarge(f"It has more than {MAX_TEXT_BYTES:,} bytes.", "Keep it in parts.")
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
        why = found.why if isinstance(found, Skipped) else "it is no conversation"
        raise InvalidInput(f"{name}: {why}.", _SHAPE)
    return [NewMessage(one.role, one.content, one.at_ms) for one in found.messages]


def _from_json(data: bytes) -> Sequence[NewMessage]:
    check_json(data, values_for(len(data)), "It")
    try:
        value = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"It is not JSON: {error}.", _SHAPE) from error
    if isinstance(value, dict) and isinstance(value.get("conversations"), list):
        raise InvalidInput("It holds several conversations.", "`commonplace import FILE` takes them all over.")
    entries = value.get("messages") if isinstance(value, dict) else value
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise InvalidInput("It holds no list of messages.", _SHAPE)
    # A message of an export has the id it has there; here it becomes another.
    return [
        parse_message({k: v for k, v in entry.items() if k != "id"}, number) for number, entry in enumerate(entries)
    ]


def _describe_stored(kept: StoredConversation) -> str:
    session = kept.session
    begin = "Already known:" if kept.duplicate else "Stored"
    counts = f"{session.messages:,} message{'' if session.messages == 1 else 's'}, {session.words:,} words"
    return f"{begin} conversation {session.short_id} in {session.folder}: {session.label} ({counts})"
