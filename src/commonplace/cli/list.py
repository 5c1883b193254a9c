"""`list`: what is there, newest first, page by page."""

from __future__ import annotations

from collections.abc import Sequence

import click

from commonplace.cli import tables
from commonplace.cli.call import Call, command
from commonplace.dialects.records import record
from commonplace.memory.browse import browse, require_project, require_types
from commonplace.model import KINDS, Kind, Scope
from commonplace.text.periods import stretch


@command(
    "list",
    "commonplace list",
    "commonplace list --project my-api --type decision --type constraint",
    "commonplace list --kind observation --limit 100 --json",
)
@click.option("--project", help="Only this project; all projects if omitted.")
@click.option("--global", "everywhere", is_flag=True, help="Only what belongs to no project.")
@click.option("--kind", "kinds", type=click.Choice(KINDS), multiple=True, help="Only this kind; may be repeated.")
@click.option("--type", "types", multiple=True, help="Only this type; may be repeated.")
@click.option("--tag", default="", help="Only with a tag that contains this.")
@click.option("--since", help='Only from then on: 7d, yesterday, "last week", 2026-11-01, ...')
@click.option("--until", help="Only up to then, a day with all of it.")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="Items per page.")
@click.option("--cursor", help="Where the page before ended, as it was printed there.")
def list_(
    call: Call,
    project: str | None,
    everywhere: bool,
    kinds: Sequence[Kind],
    types: Sequence[str],
    tag: str,
    since: str | None,
    until: str | None,
    limit: int,
    cursor: str | None,
) -> None:
    """What is remembered, newest first, a page at a time."""
    with call.book(asks=True) as book:
        require_project(book, project)
        time = stretch(since, until, book.clock())
        scope = Scope(
            project=project,
            only_global=everywhere,
            kinds=tuple(kinds),
            types=tuple(types),
            tag=tag,
            since_ms=time.from_ms,
            until_ms=time.to_ms,
        )
        page = browse(book, scope, limit, cursor)
        if not page.items:
            require_types(book, types)
        records = [record(item) for item in page.items]
    if call.json:
        call.reply({"items": records, "next_cursor": page.next_cursor})
        return
    if not records:
        call.note("Nothing is there.")
        return
    tables.listing(records)
    if page.next_cursor:
        call.note(f"More: --cursor {page.next_cursor}")
