"""`import`: what other products kept, taken over from the files they send and the databases they have."""

from __future__ import annotations

import gc
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click

from commonplace.capture.formats import FORMATS
from commonplace.capture.imports import Import
from commonplace.capture.move_in.products import NAMES, PRODUCTS, places
from commonplace.capture.summary import Summary
from commonplace.cli import tables
from commonplace.cli.call import Call, command
from commonplace.cli.failure import Stopped
from commonplace.errors import InvalidInput
from commonplace.memory.book import Book
from commonplace.temporary_files import private_temporary_files

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
@click.option("--from", "product", type=click.Choice(NAMES), help="The product; without PATH, from its usual place.")
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
    paths = paths or _found(product)
    if product:
        if format_ not in (AUTO, product):
            raise InvalidInput("--from and --format name different things.", "Give one of them.")
        format_ = product
    for path in paths:
        if path != STDIN and not Path(path).exists():
            raise InvalidInput(f"There is no file or folder {path}.", "Name one, or - for stdin.")
    if dry_run:
        summary = _imported(call, None, paths, folder, project, format_)
    else:
        with call.book() as book, private_temporary_files(book.settings.data_dir):
            summary = _imported(call, book, paths, folder, project, format_)
    reply = summary.told(dry_run=dry_run)
    if summary.fruitless:
        why = "; ".join(f"{one.what}: {one.why}" for one in summary.examples[:3]) or "there is nothing in it"
        raise Stopped(f"Nothing could be read: {why}.", _hint(), reply)
    if call.json:
        call.reply(reply)
    else:
        _show(call, summary, dry_run)


def _found(product: str | None) -> Sequence[str]:
    """Where a product keeps its memory."""
    if product is None:
        raise InvalidInput("There is nothing to import.", "Name a PATH, or a product with --from.")
    found = [str(path) for path in places(product, Path.home())]
    if not found:
        raise InvalidInput(f"{product} keeps nothing in its usual places.", "Name its file: PATH.")
    return found


def _imported(
    call: Call, book: Book | None, paths: Sequence[str], folder: str | None, project: str | None, format_: str
) -> Summary:
    # What reading makes holds no circles: looking for some all the time would only cost.
    gc.disable()
    with tables.progress("Importing", _size(paths)) as advance:
        importing = Import(
            book, folder=folder, project=project, format_=None if format_ == AUTO else format_, advance=advance
        )
        try:
            for path in paths:
                if path == STDIN:
                    importing.add_stream(sys.stdin.buffer, STDIN)
                else:
                    importing.add(Path(path))
            return importing.finish()
        except KeyboardInterrupt:
            done = importing.summary
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


def _show(call: Call, summary: Summary, dry_run: bool) -> None:
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
