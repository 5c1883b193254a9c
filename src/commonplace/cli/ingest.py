"""`ingest`: the sessions that coding agents left on this machine, read into the memory."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from commonplace.capture.ingest import Ingest, Ingested
from commonplace.capture.transcripts.find import places
from commonplace.cli import tables
from commonplace.cli.call import Call, command
from commonplace.memory.book import Book

# How often `--watch` looks for what agents have written since.
LOOK_AGAIN_SECONDS = 2.0


@command(
    "ingest",
    "commonplace ingest",
    "commonplace ingest session.jsonl --project my-api",
    "commonplace ingest --json",
)
@click.argument("paths", metavar="[PATH]...", nargs=-1)
@click.option("--project", help="The project they belong to; else the repository each session ran in.")
@click.option("--watch", is_flag=True, help="Go on following sessions as agents write them. Ctrl-C ends it.")
def ingest(call: Call, paths: Sequence[str], project: str | None, watch: bool) -> None:
    """Read the sessions of Claude Code, Codex, Gemini CLI and Cursor, where they lie or at PATH.

    Only what is new since the last time is read; doing it again changes nothing. Secrets are blacked out before
    anything is kept.
    """
    named = bool(paths)
    chosen = [Path(path).expanduser() for path in paths] or places(os.environ, Path.home(), sys.platform)
    with call.book() as book:
        summary = _round(call, book, chosen, project, named=named)
        _tell(call, summary)
        if watch:
            call.note("Following. Ctrl-C ends it.")
            _follow(call, book, chosen, project)


def _round(call: Call, book: Book, paths: Sequence[Path], project: str | None, *, named: bool) -> Ingested:
    with tables.progress("Ingesting", _size(paths)) as advance:
        reading = Ingest(book, project=project, advance=advance)
        try:
            reading.add(paths, named=named)
        except KeyboardInterrupt:
            done = reading.summary.messages.added
            call.note(f"Interrupted. {done:,} messages are stored; the same command goes on from there.")
            raise
    return reading.summary


def _follow(call: Call, book: Book, paths: Sequence[Path], project: str | None) -> None:
    pause = threading.Event()
    while not pause.wait(LOOK_AGAIN_SECONDS):
        reading = Ingest(book, project=project)
        reading.add(paths)
        if reading.summary.messages.added:
            call.say(f"{reading.summary.messages.added:,} new messages in {reading.summary.files.added:,} sessions.")


def _size(paths: Sequence[Path]) -> int:
    files = [one for path in paths for one in (path.rglob("*.jsonl*") if path.is_dir() else [path])]
    return sum(one.stat().st_size for one in files if one.is_file())


def _tell(call: Call, summary: Ingested) -> None:
    if call.json:
        call.reply(_reply(summary))
        return
    rows = [
        {
            "": "sessions",
            "added": summary.conversations.added,
            "known": summary.conversations.known + summary.unchanged,
        },
        {"": "messages", "added": summary.messages.added, "known": summary.messages.known},
    ]
    tables.table(("", "added", "known"), rows)
    if summary.reasons:
        reasons = sorted(summary.reasons.items(), key=lambda entry: -entry[1])
        tables.table(
            ("skipped", "what", "title"),
            [{"skipped": count, "what": unit, "title": why} for (unit, why), count in reasons],
        )
    if not (summary.files.added or summary.unchanged):
        call.note("No sessions were found. Name a file or folder, or run an agent first.")


def _reply(summary: Ingested) -> dict[str, Any]:
    return {
        "sessions": asdict(summary.conversations) | {"unchanged": summary.unchanged},
        "messages": asdict(summary.messages),
        "files": {"read": summary.files.added, "skipped": summary.files.skipped},
        "skipped": [
            {"unit": unit, "why": why, "count": count}
            for (unit, why), count in sorted(summary.reasons.items(), key=lambda entry: -entry[1])
        ],
        "unknown_records": dict(summary.unknown),
    }
