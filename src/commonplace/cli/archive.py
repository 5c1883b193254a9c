"""`export --everything`: all that a space remembers as an archive, in one zip or in a folder of its files."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from commonplace.cli import tables
from commonplace.cli.call import Call
from commonplace.cli.files import checked_target, new_folder, whole_file
from commonplace.errors import InvalidInput
from commonplace.memory.archive import Archive

STDOUT = "-"
Advance = Callable[[int], object]


def write_archive(call: Call, archive: Archive, output: str, *, force: bool) -> None:
    """A zip if the name says so or it goes to a pipe, else a folder. The manifest comes last, when all is there."""
    with tables.progress("Exporting", None) as advance:
        if output == STDOUT:
            _pipe(archive, advance)
            return
        if output.lower().endswith(".zip"):
            with whole_file(checked_target(Path(output), force=force), force=force) as stream:
                for piece in archive.zipped():
                    stream.write(piece)
                    advance(len(piece))
        else:
            _folder(archive, Path(output), advance, force=force)
    if call.json:
        call.reply({"path": str(Path(output)), **archive.manifest})
    else:
        counts = archive.counts
        call.say(
            f"Exported {counts['items']:,} items, {counts['sessions']:,} sessions, {counts['projects']:,} projects"
            f" to {output}"
        )


def _pipe(archive: Archive, advance: Advance) -> None:
    if sys.stdout.isatty():
        raise InvalidInput("An archive is nothing to read in a terminal.", "Name a file with --output, or use a pipe.")
    for piece in archive.zipped():
        sys.stdout.buffer.write(piece)
        advance(len(piece))
    sys.stdout.buffer.flush()


def _folder(archive: Archive, folder: Path, advance: Advance, *, force: bool) -> None:
    new_folder(folder, force=force)
    for name, pieces in archive.files():
        with whole_file(folder / name, force=force) as stream:
            for piece in pieces:
                stream.write(piece)
                advance(len(piece))
