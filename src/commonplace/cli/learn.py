"""`learn`: the rule files and skills that are there already, read into the memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from commonplace.cli import tables
from commonplace.cli.call import Call, command
from commonplace.cli.place import folder_of, project_in, root_option
from commonplace.hosts.learn import Read
from commonplace.hosts.learn import learn as read_rules
from commonplace.text.globs import listed_globs
from commonplace.text.redact import redact


@command(
    "learn",
    "commonplace learn --dry-run",
    "commonplace learn --project my-api",
    "commonplace learn --global --json",
)
@click.argument("paths", metavar="[PATH]...", nargs=-1)
@click.option("--project", help="The project that the rules belong to; found from the folder if omitted.")
@click.option("--global", "everywhere", is_flag=True, help="The rules belong to no project: they hold everywhere.")
@root_option
@click.option("--dry-run", is_flag=True, help="Keep nothing; show what would be learned.")
def learn(
    call: Call, paths: Sequence[str], project: str | None, everywhere: bool, root: str | None, dry_run: bool
) -> None:
    """Read rule files and skills of every known tool into the memory. What is known already is not kept twice.

    PATH is a rule file or a folder with some; without one, all that the project has are read: CLAUDE.md, AGENTS.md,
    GEMINI.md, the rules of Cursor, Windsurf, Copilot, Kiro, Cline and Roo, and skills. Nothing is changed in them.
    """
    folder = folder_of(root)
    name = call.project(project, everywhere, here=lambda: project_in(call, folder))
    with call.book() as book:
        reads = read_rules(book, folder, name, [Path(path) for path in paths], write=not dry_run)
    if call.json:
        call.reply(_reply(reads, name, folder, written=not dry_run))
    else:
        _show(call, reads, dry_run=dry_run)


def _show(call: Call, reads: Sequence[Read], *, dry_run: bool) -> None:
    if not reads:
        call.note("There are no rule files here.")
        return
    rows = [
        {"file": read.path, "added": len(read.added), "known": read.known, "skipped": read.skipped} for read in reads
    ]
    tables.table(("file", "added", "known", "skipped"), rows)
    if dry_run:
        for read in reads:
            for note in read.added:
                call.say(f"{note.type}: {redact(note.content)}")
    added, known = sum(len(read.added) for read in reads), sum(read.known for read in reads)
    call.note(f"{'Would learn' if dry_run else 'Learned'} {added:,}; {known:,} were known already.")


def _reply(reads: Sequence[Read], project: str | None, folder: Path, *, written: bool) -> dict[str, Any]:
    return {
        "project": project,
        "root": str(folder),
        "written": written,
        "added": sum(len(read.added) for read in reads),
        "known": sum(read.known for read in reads),
        "skipped": sum(bool(read.skipped) for read in reads),
        "files": [
            {
                "path": read.path,
                "target": read.host or None,
                "added": [
                    {"type": note.type, "content": redact(note.content), **_told(note.details)} for note in read.added
                ],
                "known": read.known,
                "skipped": read.skipped or None,
            }
            for read in reads
        ],
    }


def _told(details: Mapping[str, str]) -> dict[str, Any]:
    told = {"category": details.get("category"), "topic": details.get("subtitle")}
    paths = list(listed_globs(details.get("paths", "")))
    return {name: value for name, value in told.items() if value} | ({"paths": paths} if paths else {})
