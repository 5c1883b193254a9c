"""`list`: what is there, newest first, page by page."""

from __future__ import annotations

from collections.abc import Sequence

import click

from commonplace.cli import tables
from commonplace.cli.command import Call, command, listing
from commonplace.cli.options import field_option, parse_fields
from commonplace.cli.terminal import read_stdin
from commonplace.dialects.records import change_record, item_brief, item_record, parse_id, stream_record
from commonplace.errors import NotFound
from commonplace.memory.edit_and_forget import Changes
from commonplace.memory.edit_and_forget import edit_item as change
from commonplace.memory.edit_and_forget import forget_items as take_out
from commonplace.memory.edit_and_forget import mark_superseded as replace
from commonplace.memory.edit_and_forget import restore_items as bring_back
from commonplace.memory.items import browse_items, get_item, get_items, require_project, require_types
from commonplace.memory.items import item_history as changes_of
from commonplace.memory.revisions import revert_to_revision as go_back
from commonplace.memory.streams import IDLE_HOURS, open_streams
from commonplace.memory.streams import cancel_stream as cancel_stream
from commonplace.model import KINDS, Kind, Scope
from commonplace.text.dates import parse_period
from commonplace.text.paths import check_glob


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
def list_items(
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
        page = browse_items(memory, scope, limit, cursor)
        if not page.items:
            require_types(memory, types)
        records = [item_record(item) for item in page.items]
    if call.json:
        call.reply({"items": records, "next_cursor": page.next_cursor})
        return
    if not records:
        call.note("Nothing is there.")
        return
    tables.listing(records)
    if page.next_cursor:
        call.note(f"More: --cursor {page.next_cursor}")


@command("show", "commonplace show 1", "commonplace show 1 2 --all", "commonplace show 1 --json")
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@click.option("--all", "everything", is_flag=True, help="Every field, also those that only programs need.")
@click.option("--forgotten", is_flag=True, help="Show it even if it was forgotten.")
def show(call: Call, ids: Sequence[str], everything: bool, forgotten: bool) -> None:
    """Everything about items, in the order asked.

    An ID is a number, a UUID or the last twelve hex digits of one. If some do not exist, the others are shown and the
    exit code is 3.
    """
    with call.memory() as memory:
        wanted = [parse_id(text) for text in ids]
        found = get_items(memory, wanted, forgotten=forgotten)
        records = [item_record(item) for item in found.items]
        hidden = () if forgotten else get_items(memory, found.missing, forgotten=True).items
    missing = ", ".join(map(str, found.missing))
    hint = None if not hidden else f"`commonplace restore {hidden[0].id}` brings {hidden[0].id} back; it was forgotten."
    if not records:
        raise NotFound(f"There is no item {missing}.", hint)
    if call.json:
        call.reply({"items": records, "missing": list(found.missing)})
    else:
        tables.records(records, everything=everything)
    if found.missing:
        call.note(f"There is no item {missing}. {hint or ''}".rstrip())
        click.get_current_context().exit(NotFound.exit_code)


@command("history", "commonplace history 1", "commonplace history 1 --json")
@click.argument("id_", metavar="ID")
def history(call: Call, id_: str) -> None:
    """What an item was before each change, oldest first. Forgotten items have a history too."""
    with call.memory() as memory:
        item = get_item(memory, parse_id(id_), forgotten=True)
        changes = [change_record(change) for change in changes_of(memory, item.id)]
    if call.json:
        call.reply({"id": item.id, "uid": item.uid, "rev": item.rev, "changes": changes})
    elif not changes:
        call.say(f"{item.kind.capitalize()} {item.id} is as it was first remembered.")
    else:
        tables.history(changes)


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
        **({"paths": "\n".join(map(check_glob, paths))} if paths else {}),
        **({} if category is None else {"category": category}),
    }
    changes = Changes(
        content=read_stdin() if content == "-" else content,
        title=title,
        type=type_,
        project=project,
        tags=tuple(tags) or None,
        importance=importance,
        details=named | parse_fields(fields) or None,
    )
    with call.memory() as memory:
        item = change(memory, parse_id(id_), changes, expect_rev)
        changed = item_record(item)
    if call.json:
        call.reply(changed)
    else:
        call.say(f"Changed {item.kind} {item.id} to revision {item.rev}: {item.title}")


@command("revert", "commonplace revert 2", "commonplace revert 2 --rev 1 --json")
@click.argument("id_", metavar="ID")
@click.option("--rev", type=int, metavar="N", help="The revision to go back to, as `history` lists them.")
def revert(call: Call, id_: str, rev: int | None) -> None:
    """Bring back what an item was before its last edit, or at revision N.

    That is a change too: what it is now goes to its history, and another `revert` undoes this one.
    """
    with call.memory() as memory:
        item = go_back(memory, parse_id(id_), rev)
        reverted = item_record(item)
    if call.json:
        call.reply(reverted)
    else:
        call.say(f"Reverted {item.kind} {item.id}, now revision {item.rev}: {item.title}")


@command("supersede", "commonplace supersede 1 --by 2", "commonplace supersede 1 --by 2 --json")
@click.argument("old", metavar="OLD")
@click.option("--by", "new", required=True, metavar="NEW", help="The item that replaces it.")
def supersede(call: Call, old: str, new: str) -> None:
    """Let NEW take the place of OLD, which leaves search, lists, context and rules, but not its history.

    NEW has to hold wherever OLD did: in the same project, or everywhere. `restore OLD` undoes it.
    """
    with call.memory() as memory:
        replaced, replacing = replace(memory, parse_id(old), by=parse_id(new))
    if call.json:
        call.reply({"superseded": item_brief(replaced), "by": item_brief(replacing)})
    else:
        call.say(f"{replacing.kind.capitalize()} {replacing.id} supersedes {replaced.id}: {replaced.title}")


@command("forget", "commonplace forget 1", "commonplace forget 2 3 --json")
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
def forget(call: Call, ids: Sequence[str]) -> None:
    """Take items out of every answer. All of them exist, or nothing happens. `restore` undoes it."""
    with call.memory() as memory:
        items = take_out(memory, [parse_id(text) for text in ids])
    if call.json:
        call.reply({"forgotten": [item_brief(item) for item in items]})
        return
    for item in items:
        call.say(f"Forgot {item.kind} {item.id}: {item.title}")


@command("restore", "commonplace restore 1", "commonplace restore 2 3 --json")
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
def restore(call: Call, ids: Sequence[str]) -> None:
    """Bring forgotten or superseded items back. All of them exist, or nothing happens."""
    with call.memory() as memory:
        items = bring_back(memory, [parse_id(text) for text in ids])
    if call.json:
        call.reply({"restored": [item_brief(item) for item in items]})
        return
    for item in items:
        call.say(f"Restored {item.kind} {item.id}: {item.title}")


@listing("streams", "commonplace streams", "commonplace streams --json")
def streams(call: Call) -> None:
    """Open streams, the oldest first: memories that agents started and neither finalized nor cancelled.

    One that nobody continues for a day expires.
    """
    with call.memory() as memory:
        records = [stream_record(stream) for stream in open_streams(memory)]
    if call.json:
        call.reply({"streams": records})
    elif not records:
        call.note(f"No stream is open. One that nobody continues expires after {IDLE_HOURS} hours.")
    else:
        rows = [{**row, "when": row["touched_at_epoch"]} for row in records]
        tables.table(("stream_id", "type", "project", "chunks", "characters", "when"), rows)


@command("cancel", "commonplace streams cancel stream_0123456789abcdef")
@click.argument("id_", metavar="ID")
def cancel(call: Call, id_: str) -> None:
    """Drop a stream and its chunks. No memory is made of them, and this cannot be undone."""
    with call.memory() as memory:
        stream = cancel_stream(memory, id_)
    if call.json:
        call.reply(stream_record(stream))
    else:
        call.say(f"Cancelled {stream.id}: {stream.chunks} chunks, {stream.characters} characters dropped")


streams.add_command(cancel)
