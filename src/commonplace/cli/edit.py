"""`edit`: change what is remembered; its history keeps what it was."""

from __future__ import annotations

from collections.abc import Sequence

import click

from commonplace.cli.call import Call, command
from commonplace.cli.fields import field_option, pairs
from commonplace.cli.terminal import read_stdin
from commonplace.dialects.records import id_of, record
from commonplace.memory.edit import Changes
from commonplace.memory.edit import edit as change
from commonplace.text.globs import checked_glob


@command(
    "edit",
    'commonplace edit 1 --content "Sessions are kept in Redis for 14 days"',
    'commonplace edit 1 --type rule --tag auth --path "src/api/**" --category api',
    'commonplace edit 1 --title "Session lifetime" --expect-rev 3 --json',
)
@click.argument("id_", metavar="ID")
@click.option("--content", help="New text (- reads it from a pipe).")
@click.option("--title", help="New title.")
@click.option("--type", "type_", help="New type.")
@click.option("--project", help="Move it to this project.")
@click.option("--tag", "tags", multiple=True, help="New tags in place of the old; may be repeated.")
@click.option("--path", "paths", multiple=True, metavar="GLOB", help="New files it is about; may be repeated.")
@click.option("--category", help="New grouping key: its rule file or skill folder.")
@field_option("New value of another field (NAME= empties it); may be repeated.")
@click.option("--importance", type=float, help="0 to 10.")
@click.option("--expect-rev", type=int, metavar="N", help="Refuse (exit 4) unless its revision is still N.")
def edit(
    call: Call,
    id_: str,
    content: str | None,
    title: str | None,
    type_: str | None,
    project: str | None,
    tags: Sequence[str],
    paths: Sequence[str],
    category: str | None,
    fields: Sequence[str],
    importance: float | None,
    expect_rev: int | None,
) -> None:
    """Change an item. What is not named stays as it is; `history` shows what it was."""
    named = {
        **({"paths": "\n".join(map(checked_glob, paths))} if paths else {}),
        **({} if category is None else {"category": category}),
    }
    changes = Changes(
        content=read_stdin() if content == "-" else content,
        title=title,
        type=type_,
        project=project,
        tags=tuple(tags) or None,
        importance=importance,
        details=named | pairs(fields) or None,
    )
    with call.book() as book:
        item = change(book, id_of(id_), changes, expect_rev)
        changed = record(item)
    if call.json:
        call.reply(changed)
    else:
        call.say(f"Changed {item.kind} {item.id} to revision {item.rev}: {item.title}")
