"""`search`: find what was remembered, by its words and by its meaning."""

from __future__ import annotations

from collections.abc import Sequence

import click

from commonplace.cli import tables
from commonplace.cli.call import Call, command
from commonplace.cli.meaning import embed_for_question, warn, warn_incomplete
from commonplace.cli.terminal import read_stdin
from commonplace.dialects.records import hit_record
from commonplace.errors import InvalidInput
from commonplace.memory.browse import require_project, require_types
from commonplace.memory.recall import recall
from commonplace.model import KINDS, Kind, Scope
from commonplace.text.periods import stretch

MOST = 1000


@command(
    "search",
    'commonplace search "how do we keep users logged in"',
    "commonplace search 'authentication AND middleware NOT oauth' --project my-api",
    "commonplace search 'title:auth*' --kind observation --limit 5",
    "commonplace search 'deploy' --since 2026-11-01 --until 2026-11-07",
    "commonplace search '\"token validation\"' --json",
)
@click.argument("query", nargs=-1, required=True)
@click.option("--project", help="Only this project; all projects if omitted.")
@click.option("--global", "everywhere", is_flag=True, help="Only what belongs to no project.")
@click.option("--limit", type=click.IntRange(1, MOST), default=10, show_default=True, help="Most results.")
@click.option("--kind", "kinds", type=click.Choice(KINDS), multiple=True, help="Only this kind; may be repeated.")
@click.option("--type", "types", multiple=True, help="Only this type; may be repeated.")
@click.option("--tag", default="", help="Only with a tag that contains this.")
@click.option("--since", help='Only from then on: 7d, yesterday, "last week", 2026-11-01, ...')
@click.option("--until", help="Only up to then, a day with all of it.")
def search(
    call: Call,
    query: Sequence[str],
    project: str | None,
    everywhere: bool,
    limit: int,
    kinds: Sequence[Kind],
    types: Sequence[str],
    tag: str,
    since: str | None,
    until: str | None,
) -> None:
    """Find what was remembered.

    A plain question is ranked by words and by meaning. With operators the query is a filter that every result
    satisfies: AND, OR, NOT, "a phrase", prefix*, column:term (title, text, narrative, facts, concepts, files, tags,
    type) and parentheses. `-` reads the query from a pipe.
    """
    question = read_stdin() if tuple(query) == ("-",) else " ".join(query)
    if not question.strip():
        raise InvalidInput("The query is empty.", "Give some words to look for.")
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
        embed_for_question(book, question, [scope])
        found = recall(book, question, scope, limit)
        if not found.hits:
            require_types(book, types)
        results = [hit_record(hit) for hit in found.hits]
        state = book.meaning.state
    if call.json:
        call.reply(
            {
                "results": results,
                "total": found.total,
                "by_meaning": found.by_meaning,
                "waiting_for_vectors": found.waiting,
            }
        )
        return
    if not found.by_meaning:
        warn(call, state)
    warn_incomplete(call, found.waiting)
    if not results:
        call.note("Nothing was found.")
        return
    tables.results(results)
    if found.total > len(results):
        call.note(f"{len(results)} of {found.total} shown; --limit shows more.")
