"""`rules`: what always holds here, for every file or only for some."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from commonplace.cli.call import Call, command
from commonplace.dialects.memories_text import rules_text
from commonplace.dialects.records import record
from commonplace.hosts.folder import project_folder
from commonplace.memory.rules import rules as active_rules
from commonplace.text.redact import redact_lines

# Agents are told as many as fit; a person who asks here gets all.
ALL = 100_000


@command(
    "rules",
    "commonplace rules",
    "commonplace rules --project my-api --file src/api/users.ts",
    "commonplace rules --global --json",
)
@click.option("--project", help="Whose rules; found from the current folder if omitted.")
@click.option("--global", "everywhere", is_flag=True, help="Only rules that hold everywhere.")
@click.option("--file", "files", multiple=True, metavar="PATH", help="Only rules for this file; may be repeated.")
def rules(call: Call, project: str | None, everywhere: bool, files: Sequence[str]) -> None:
    """The rules of a project and those that hold everywhere, oldest first.

    Rules for certain paths stand under their globs. With --file only those are shown that hold for one of the files.
    """
    name = call.project(project, everywhere)
    wanted = [_in_project(file) for file in files]
    with call.book() as book:
        active = active_rules(book, name, wanted, ALL)
        ours, shared = ([record(item) for item in section] for section in (active.project, active.everywhere))
    if call.json:
        call.reply(
            {
                "project": name,
                "project_rules": ours,
                "global_rules": shared,
                "rules_for_other_files": active.elsewhere,
            }
        )
    else:
        call.say(redact_lines(rules_text(active, wanted)))


def _in_project(file: str) -> str:
    """A path as its project writes it: from the top of the repository, wherever one stands in it."""
    try:
        return (Path.cwd() / file).relative_to(project_folder(Path.cwd())).as_posix()
    except (OSError, ValueError):
        return file
