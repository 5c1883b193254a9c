"""`ingest`: the sessions that coding agents left on this machine, read into the memory."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

import click

from commonplace.capture.ingest import IngestReport, IngestRun, SessionWatcher
from commonplace.capture.transcript_reading import TranscriptFile, transcript_folders
from commonplace.cli import tables
from commonplace.cli.command import Call, StoppedEarly, command
from commonplace.errors import InvalidInput, StoreBusy
from commonplace.hosts.host import locations_here
from commonplace.memory.graph import link_new_passages
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.status import status

SHOWN = 10


@command(
    "ingest",
    "commonplace ingest",
    "commonplace ingest session.jsonl --project my-api",
    "commonplace ingest --json",
)
@click.argument("paths", metavar="[PATH]...", nargs=-1)
@click.option("--project", help="The project they belong to; else the repository each session ran in.")
@click.option("--watch", is_flag=True, help="Go on following sessions as agents write them, until Ctrl-C.")
def ingest(call: Call, paths: Sequence[str], project: str | None, watch: bool) -> None:
    """Read the sessions of Claude Code, Codex, Gemini CLI and Cursor, where they lie or at PATH.

    Only what is new since the last time is read; doing it again changes nothing. Secrets are blacked out before
    anything is kept. What cannot be read is skipped and told; it never stops the rest.
    """
    if watch and call.json:
        raise InvalidInput("--watch talks to people.", "Leave --json out.")
    chosen = [Path(path).expanduser() for path in paths]
    for path in chosen:
        if not path.exists():
            raise InvalidInput(f"There is no file or folder {path}.", "Name one, or none to look in the usual places.")
    chosen = chosen or transcript_folders(locations_here())
    with call.memory() as memory:
        summary = _ingest_paths(call, memory, chosen, project, named=bool(paths))
        waiting = 0 if memory.embeddings.state == "off" else status(memory)["pending"]
        if paths and not watch and summary.nothing_read and not summary.files.known:
            raise StoppedEarly(f"No session could be read: {_why(summary)}.", _hint(), summary.as_json())
        if call.json:
            call.reply(summary.as_json() | {"waiting_for_vectors": waiting})
            return
        _show(call, summary)
        if waiting:
            call.note(
                f"Everything can be found by its words, and by meaning once {waiting:,} passages have their vectors:"
                " a running server makes them, each search some."
            )
        if watch:
            _follow(call, memory, chosen, project)


def _ingest_paths(
    call: Call, memory: LocalMemory, paths: Sequence[Path], project: str | None, *, named: bool
) -> IngestReport:
    reading = IngestRun(memory, project=project)
    try:
        files = reading.find(paths, named=named)
        with tables.progress("Ingesting", _size(files)) as advance:
            reading.read(files, advance)
        _link(memory)
    except KeyboardInterrupt:
        done = reading.report.messages.added
        call.note(f"Interrupted. {done:,} messages are stored; the same command goes on from there.")
        raise
    return reading.report


def _follow(call: Call, memory: LocalMemory, paths: Sequence[Path], project: str | None) -> None:
    """Look again and again. Whoever writes to the store at the same time comes first."""
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
            told = reading.report
            if told.messages.added:
                call.say(f"{told.messages.added:,} new messages in {told.conversations.added:,} sessions.")
            time.sleep(following.rest)
    call.note("Ended.")


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _link(memory: LocalMemory) -> None:
    """Link what came in, so that its neighbours are found at once. If another process writes, it does that too."""
    with contextlib.suppress(StoreBusy):
        while link_new_passages(memory):
            pass


def _size(files: Sequence[TranscriptFile]) -> int:
    size = 0
    for found in files:
        with contextlib.suppress(OSError):
            size += found.path.stat().st_size
    return size


def _why(summary: IngestReport) -> str:
    told = "; ".join(f"{one.what}: {one.why}" for one in summary.examples[:3])
    return told.rstrip(".") or "there is none"


def _hint() -> str:
    return "Sessions are files of Claude Code, Codex and Gemini CLI (.jsonl, .json) and Cursor's state.vscdb."


def _show(call: Call, summary: IngestReport) -> None:
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
        reasons = sorted(summary.reasons.items(), key=lambda entry: -entry[1])
        rows = [{"skipped": count, "what": unit, "why": why} for (unit, why), count in reasons]
        tables.table(("skipped", "what", "why"), rows)
    if summary.unknown:
        names = ", ".join(f"{name or '(none)'} ({count:,})" for name, count in summary.unknown.most_common(SHOWN))
        call.note(f"Types of records that are not known: {names}.")
    for one in summary.examples[:SHOWN]:
        call.note(f"{one.what}: {one.why}")
    if not (summary.files.added or summary.files.known):
        call.note("No sessions were found. Name a file or folder, or run an agent first.")
