"""`add`: remember one thing from the command line or a pipe, or many from a JSONL file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from commonplace.cli.call import Call, command
from commonplace.cli.fields import field_option, listed, pairs, root_of
from commonplace.cli.jsonl import add_lines
from commonplace.cli.terminal import read_stdin, stdin_is_piped
from commonplace.dialects.records import contradiction_record
from commonplace.errors import InvalidInput
from commonplace.memory.contradictions import Contradiction, contradictions
from commonplace.memory.enrich import enrich
from commonplace.memory.fetch import fetch_one
from commonplace.memory.remember import Note, remember
from commonplace.model import KINDS, Item, Kind
from commonplace.text.globs import checked_glob
from commonplace.text.names import base_name
from commonplace.text.times import moment


@command(
    "add",
    'commonplace add "Sessions are kept in Redis for 30 days" --type decision',
    'commonplace add "Never log request bodies" --type rule --global --tag privacy',
    'commonplace add "Validate input with zod" --type rule --path "src/api/**" --category api',
    'git log -1 --format=%B | commonplace add - --kind observation --type commit --title "Last commit"',
    'commonplace add "Added token checks" --kind observation --type file-write --files-modified src/auth.py',
    'commonplace add --kind summary --field request="Log in" --field completed="JWT middleware"',
    "commonplace add --jsonl notes.jsonl --project my-api",
)
@click.argument("text", required=False)
@click.option("--kind", type=click.Choice(KINDS), default="memory", show_default=True, help="What sort of thing it is.")
@click.option("--type", "type_", default="", help="decision, rule, fact, note, file-write, command, ... (any word).")
@click.option("--title", default="", help="Short title; taken from the text if omitted.")
@click.option("--subtitle", help="A line below the title.")
@click.option("--narrative", help="What happened, told in a sentence or two.")
@click.option("--facts", multiple=True, help="A fact; may be repeated.")
@click.option("--concepts", multiple=True, help="Concepts, comma separated or repeated.")
@click.option("--files-read", multiple=True, help="Files looked at, comma separated or repeated.")
@click.option("--files-modified", multiple=True, help="Files changed, comma separated or repeated.")
@click.option("--path", "paths", multiple=True, metavar="GLOB", help="Files it is about (memories); may be repeated.")
@click.option("--category", help="Grouping key of a memory: its rule file or skill folder.")
@field_option(
    "Another field of its kind: request, completed, learned, next_steps (summary), task, progress"
    " (checkpoint), role (message) ...; may be repeated."
)
@click.option("--tag", "tags", multiple=True, help="A tag; may be repeated.")
@click.option("--project", help="The project it belongs to; found from the current folder if omitted.")
@click.option("--global", "everywhere", is_flag=True, help="It belongs to no project: it holds everywhere.")
@click.option("--session", metavar="KEY", help="The session it is part of.")
@click.option("--importance", type=float, help="0 to 10.")
@click.option("--at", metavar="TIME", help="When it happened: ISO 8601 (local without an offset) or epoch ms.")
@click.option("--jsonl", metavar="FILE", help="Remember one JSON object per line of FILE (- reads stdin).")
def add(
    call: Call,
    text: str | None,
    kind: Kind,
    type_: str,
    title: str,
    subtitle: str | None,
    narrative: str | None,
    facts: Sequence[str],
    concepts: Sequence[str],
    files_read: Sequence[str],
    files_modified: Sequence[str],
    paths: Sequence[str],
    category: str | None,
    fields: Sequence[str],
    tags: Sequence[str],
    project: str | None,
    everywhere: bool,
    session: str | None,
    importance: float | None,
    at: str | None,
    jsonl: str | None,
) -> None:
    """Remember something. It can be found as soon as the command returns.

    TEXT is what to remember; `-` reads it from a pipe, and so does leaving it out when something is piped in.
    The same thing said twice in the same place is kept once. Passwords and keys are blacked out before writing.

    With --jsonl each line is one object with content (or text), kind, type, title, the fields of its kind, project,
    session, tags, importance, created_at or created_at_epoch, and metadata. Times without an offset are UTC there.
    """
    project = call.project(project, everywhere)
    details = {
        "subtitle": subtitle or "",
        "narrative": narrative or "",
        "facts": ", ".join(facts),
        "concepts": listed(concepts),
        "files_read": listed(files_read),
        "files_modified": listed(files_modified),
        "paths": "\n".join(map(checked_glob, paths)),
        "category": category or "",
        **pairs(fields),
    }
    details = {name: value for name, value in details.items() if value}
    if jsonl is not None:
        _refuse_beside_jsonl(text, title, details, tags, session, importance, at)
        add_lines(call, jsonl, kind=kind, type_=type_, project=project)
        return
    note = Note(
        content=_content(text, optional=bool(title or details)),
        kind=kind,
        type=type_,
        title=title,
        details=details,
        meta=root_of(details),
        project=project,
        session=session,
        tags=tags,
        importance=importance,
        created_ms=None if at is None else moment(at, local=True),
    )
    _keep(call, note)


def _keep(call: Call, note: Note) -> None:
    """Remember it, and say what became of it."""
    with call.book() as book:
        stored = remember(book, note)
        item = fetch_one(book, stored.id)
        if stored.duplicate:
            item = enrich(book, item, note.tags)
        # By words only: a model takes longer to load than all the rest.
        against = contradictions(book, item)
    if call.json:
        call.reply(_reply(item, stored.duplicate, against))
        return
    call.say(_sentence(item, stored.duplicate))
    for one in against:
        call.note(
            f"This may contradict or replace {one.item.id}: {one.item.title}\n"
            f"If it replaces it: commonplace supersede {one.item.id} --by {item.id}"
        )


def _content(text: str | None, *, optional: bool) -> str:
    """The text given, or piped in. Without a text, a pipe is read only if nothing else was given: it may never end."""
    if text == "-":
        return read_stdin()
    if text is not None:
        return text
    if not optional and stdin_is_piped():
        return read_stdin()
    if not optional:
        raise InvalidInput("There is nothing to remember.", 'Give a text: commonplace add "We use PostgreSQL 16".')
    return ""


def _refuse_beside_jsonl(*given: object) -> None:
    if any(given):
        raise click.UsageError(
            "Beside --jsonl only --kind, --type, --project and --global are used; each line has its own fields.",
            click.get_current_context(),
        )


def _reply(item: Item, duplicate: bool, against: Sequence[Contradiction]) -> dict[str, Any]:
    return {
        "id": item.id,
        "uid": item.uid,
        "short_id": item.short_id,
        "duplicate": duplicate,
        "project": item.project,
        "kind": item.kind,
        "type": item.type,
        "contradicts": [contradiction_record(one) for one in against],
    }


def _sentence(item: Item, duplicate: bool) -> str:
    place = f"in {base_name(item.project)}" if item.project else "for every project"
    said = "Already known:" if duplicate else "Remembered"
    return f"{said} {item.kind} {item.id} ({item.short_id}) {place}"
