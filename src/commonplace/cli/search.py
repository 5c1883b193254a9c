"""Meaning for a command that runs once: what waits for its vector gets it, and who asked learns if words had to do."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

import click

from commonplace.cli import tables
from commonplace.cli.command import Call, command
from commonplace.cli.terminal import read_stdin
from commonplace.dialects.records import hit_record
from commonplace.dialects.tool import missing_vectors_notice
from commonplace.errors import InvalidInput, StoreError
from commonplace.memory.embeddings import NO_WAIT
from commonplace.memory.items import require_project, require_types
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.recall import embed_waiting, parse_question, recall
from commonplace.model import KINDS, Kind, Scope
from commonplace.text.dates import parse_period

# What a command embeds before it answers, the newest first, in small steps; the rest waits for the next, or a server.
EMBED_SECONDS, EMBED_STEP = 0.5, 4
# The same for a command that was asked something: first what holds the words of the question.
QUESTION_SECONDS, QUESTION_PASSAGES = 2.0, 1_000
# The same for what is made of vectors alone.
MANY_SECONDS = 10.0


def embed_pending(memory: LocalMemory, seconds: float = EMBED_SECONDS) -> None:
    """Let meaning work right after `add`, without any server. A store that cannot be written now still answers."""
    with contextlib.suppress(StoreError):
        memory.embeddings.catch_up(batch=EMBED_STEP, seconds=seconds, patience=NO_WAIT)


def embed_for_question(memory: LocalMemory, question: str, scopes: Sequence[Scope]) -> None:
    """Let meaning work right after `add`, however much was added: what may answer a question comes first."""
    embed_waiting(memory, parse_question(memory, question), scopes, QUESTION_PASSAGES, QUESTION_SECONDS)


def warn_incomplete(call: Call, waiting: int) -> None:
    """Say so where some passages were compared by their words alone."""
    if waiting:
        call.note(missing_vectors_notice(waiting).replace("Ask again in a moment", "Search again, or run a server"))


def warn_keywords_only(call: Call, state: str) -> None:
    """Say so where only words were compared."""
    if state == "off" or state.startswith("failed"):
        why = "meaning is off" if state == "off" else state.removeprefix("failed: ").rstrip(".")
        call.note(f"Found by keywords only: {why}.")


MAX_RESULTS = 1000


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
@click.option("--limit", type=click.IntRange(1, MAX_RESULTS), default=10, show_default=True, help="Most results.")
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
    with call.memory(asks=True) as memory:
        require_project(memory, project)
        time = parse_period(since, until, memory.clock())
        scope = Scope(
            project=project,
            only_global=everywhere,
            kinds=tuple(kinds),
            types=tuple(types),
            tag=tag,
            since_ms=time.from_ms,
            until_ms=time.to_ms,
        )
        embed_for_question(memory, question, [scope])
        found = recall(memory, question, scope, limit)
        if not found.hits:
            require_types(memory, types)
        results = [hit_record(hit) for hit in found.hits]
        state = memory.embeddings.state
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
        warn_keywords_only(call, state)
    warn_incomplete(call, found.waiting)
    if not results:
        call.note("Nothing was found.")
        return
    tables.results(results)
    if found.total > len(results):
        call.note(f"{len(results)} of {found.total} shown; --limit shows more.")
