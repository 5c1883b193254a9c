"""`list`, `show`, `history`, `edit`, `revert`, `supersede`, `forget`, `restore` and `streams`: single items."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import click

from commonplace.cli import tables
from commonplace.cli.command import Call, command, listing
from commonplace.cli.options import (
    ITEMS,
    STDIN,
    TYPES,
    field_option,
    id_argument,
    ids_argument,
    item_filters,
    page_options,
    parse_fields,
    project_option,
    validity_options,
)
from commonplace.cli.terminal import read_stdin
from commonplace.dialects.records import change_record, item_brief, item_record, parse_id, stream_record
from commonplace.errors import InvalidInput, NotFound
from commonplace.memory.proposed_changes import is_only_proposed
from commonplace.model import DISMISSED
from commonplace.text.paths import check_glob

if TYPE_CHECKING:
    from commonplace.memory.history import FieldChange
    from commonplace.model import Item

# `history` prints the values of a change up to this length in all.
MAX_VALUES = 120
NOTHING_STORED = 'Nothing is remembered yet. `commonplace add "..."` remembers something.'


@command(
    "list",
    "commonplace list",
    "commonplace list -p my-api -t decision -t constraint",
    'commonplace list --since "last week" --author ada',
    "commonplace list --kind observation -n 100",
)
@item_filters
@page_options("Items")
def list_items(call: Call, **filters: Any) -> None:
    """List memories, observations, messages and summaries, newest first, a page at a time."""
    with call.memory(drain_more=True) as memory:
        page = memory.list(**filters)
        records = [item_record(item) for item in page.items]
    columns = ("id", "kind", "type", "title", "project", "when")
    narrowed = any(value for name, value in filters.items() if name != "limit")
    empty = "No items match." if narrowed else NOTHING_STORED
    call.answer_list("items", records, lambda rows: tables.items(columns, rows), empty, next_cursor=page.next_cursor)


@command("show", "commonplace show 12", "commonplace show 12 17 --all")
@ids_argument
@click.option("--all", "everything", is_flag=True, help="Every field, including those that only programs need.")
@click.option("--forgotten", is_flag=True, help="Include forgotten items.")
def show(call: Call, ids: Sequence[str], everything: bool, forgotten: bool) -> None:
    """Show memories in full, in the order given.

    ID is a number, a UUID, or its last twelve digits. If some do not exist, the others are shown, with exit code 3.
    """
    with call.memory() as memory:
        found = memory.get_many([parse_id(text) for text in ids], forgotten=forgotten)
        records = [item_record(item) for item in found.items]
        hidden = () if forgotten else memory.get_many(found.missing, forgotten=True).items
    missing = ", ".join(map(str, found.missing))
    hint = None if not hidden else f"{hidden[0].id} was forgotten; `commonplace restore {hidden[0].id}` brings it back."
    if not records:
        raise NotFound(
            f"There is no item {missing}.",
            hint or "`commonplace list` shows the newest ids, `commonplace search` finds others.",
        )
    call.answer(
        {"items": records, "missing": list(found.missing)}, lambda: tables.records(records, everything=everything)
    )
    if found.missing:
        call.note(f"There is no item {missing}. {hint or ''}".rstrip())
        call.exit(NotFound.exit_code)


@command("history", "commonplace history 12")
@id_argument
def history(call: Call, id_: str) -> None:
    """Show what a memory was before each change, and what changed, oldest first, even if it is forgotten."""
    with call.memory() as memory:
        item = memory.get(parse_id(id_), forgotten=True)
        lines = memory.history(item.id)
    changes = [change_record(change) for change in lines]
    record = {"id": item.id, "uid": item.uid, "rev": item.rev, "changes": changes}
    if not changes:
        call.answer(record, f"{item.kind.capitalize()} {item.id} has not been changed.")
        return
    from commonplace.memory.history import diff_states, item_state

    # Who changed it, and whose the version before was.
    columns = ("rev", "op", "when", "author", "was_by", "type", "changed", "title", "content")
    states = [*(line.before for line in lines), item_state(item)]
    changed = ["; ".join(map(_describe_change, diff_states(*pair))) for pair in pairwise(states)]
    rows = [
        {
            **change["before"],
            "was_by": change["before"].get("author"),
            "author": None,
            **change,
            "when": change["at_epoch"],
            "changed": fields,
        }
        for change, fields in zip(changes, changed, strict=True)
    ]
    call.answer(record, lambda: tables.table(columns, rows))


def _describe_change(change: FieldChange) -> str:
    """A field that changed, with what it was and is where that is short."""
    if change.name in ("title", "body"):
        return "content" if change.name == "body" else "title"
    bounds = change.name in tables.BOUNDS
    was, now = (
        tables.bound(change.name, text) if bounds and text else text or "none" for text in (change.before, change.after)
    )
    name = change.name.removeprefix("details.")
    return name if len(was) + len(now) > MAX_VALUES else f"{name}: {was} → {now}"


@command(
    "edit",
    'commonplace edit 12 -c "Sessions are kept in Redis for 14 days"',
    'commonplace edit 17 -t rule --tag auth --path "src/api/**" --category api',
    'commonplace edit 12 --title "Session lifetime"',
)
@id_argument
@click.option("-c", "--content", help="New text (- reads standard input).")
@click.option("--title", help="New title.")
@click.option("-t", "--type", help="New type.", shell_complete=TYPES)
@project_option("Move it to this project.")
@click.option("--tag", "tags", multiple=True, help="New tags, which replace the old ones; repeatable.")
@click.option("--path", "paths", multiple=True, metavar="GLOB", help="New files it is about; repeatable.")
@click.option("--category", help="The rule file or skill folder it goes into.")
@field_option("New value of any other field (NAME= clears it); repeatable.")
@click.option("--importance", type=float, help="From 0 to 10.")
@validity_options
@click.option(
    "--expect-rev", type=int, metavar="N", help="Refuse (exit code 4) if someone changed it since revision N."
)
def edit(
    call: Call,
    id_: str,
    content: str | None,
    paths: Sequence[str],
    category: str | None,
    fields: Sequence[str],
    expect_rev: int | None,
    tags: Sequence[str],
    valid_from: str | None,
    valid_until: str | None,
    expires: str | None,
    **changes: Any,
) -> None:
    """Change a memory. What you do not name stays as it is; `history` shows the earlier versions."""
    from commonplace.memory.edit_and_forget import Changes, edit_item, parse_validity

    details = {
        **({"paths": "\n".join(map(check_glob, paths))} if paths else {}),
        **({} if category is None else {"category": category}),
        **parse_fields(fields),
    }
    content = read_stdin() if content == STDIN else content
    changes |= {"content": content, "tags": tuple(tags) or None, "details": details or None}
    if not any(value is not None for value in (*changes.values(), valid_from, valid_until, expires)):
        raise InvalidInput("Nothing to change.", "Give what to change, such as --content, --title, --type or --tag.")
    with call.local_memory() as memory:
        wanted = Changes(**changes, **parse_validity(memory.clock(), valid_from, valid_until, expires))
        item = edit_item(memory, parse_id(id_), wanted, expect_rev)
        record = item_record(item)
    if is_only_proposed(item):
        call.answer(record, _proposed(item))
        return
    call.answer(record, f"Changed {item.kind} {item.id} to revision {item.rev}: {item.title}")


@command("revert", "commonplace revert 12", "commonplace revert 12 --rev 1")
@id_argument
@click.option("--rev", type=int, metavar="N", help="The revision to go back to, as listed by `history`.")
def revert(call: Call, id_: str, rev: int | None) -> None:
    """Undo the last edit of a memory, or go back to revision N.

    This is an edit, too: another `revert` undoes it.
    """
    with call.memory() as memory:
        item = memory.revert(parse_id(id_), rev)
        record = item_record(item)
    if is_only_proposed(item):
        call.answer(record, _proposed(item))
        return
    call.answer(record, f"Reverted {item.kind} {item.id}, now revision {item.rev}: {item.title}")


@command("supersede", "commonplace supersede 12 --by 17")
@click.argument("old", metavar="OLD", shell_complete=ITEMS)
@click.option("--by", "new", required=True, metavar="NEW", help="What replaces it.", shell_complete=ITEMS)
def supersede(call: Call, old: str, new: str) -> None:
    """Replace OLD with NEW: OLD leaves searches, lists, contexts and rules, but keeps its history.

    NEW has to apply wherever OLD did: in the same project, or everywhere. `restore OLD` undoes it.
    """
    with call.memory() as memory:
        replaced, replacing = memory.supersede(parse_id(old), by=parse_id(new))
    if is_only_proposed(replaced):
        call.answer({"proposed": item_brief(replaced), "by": item_brief(replacing)}, _proposed(replaced))
        return
    call.answer(
        {"superseded": item_brief(replaced), "by": item_brief(replacing)},
        f"{replacing.kind.capitalize()} {replacing.id} supersedes {replaced.id}: {replaced.title}",
    )
    call.note(f"Undo: commonplace restore {replaced.id}")


@command("forget", "commonplace forget 12", "commonplace forget 13 17")
@ids_argument
def forget(call: Call, ids: Sequence[str]) -> None:
    """Hide memories from every answer; `restore` undoes it. If one does not exist, none is hidden."""
    with call.memory() as memory:
        done = memory.forget(*map(parse_id, ids))
    proposals = [item for item in done if item.forgotten_ms is None or item.review == DISMISSED]
    items = [item for item in done if item not in proposals]
    call.answer(
        {"forgotten": [item_brief(item) for item in items]} | _proposals(proposals),
        [f"Forgot {item.kind} {item.id}: {item.title}" for item in items] + [_proposed(one) for one in proposals],
    )
    if items:
        call.note(f"Undo: commonplace restore {' '.join(str(item.id) for item in items)}")


def _proposed(item: Item) -> str:
    """What is said of a change that its caller may only propose."""
    if item.review == DISMISSED:
        return f"Nothing was changed: {item.id} was proposed before, and dismissed: {item.title}"
    return f"Proposed as {item.id}, not done: {item.title}\nIt waits for a person: commonplace review"


def _proposals(items: Sequence[Item]) -> dict[str, Any]:
    return {"proposed": [item_brief(item) for item in items]} if items else {}


@command("restore", "commonplace restore 12", "commonplace restore 13 17")
@ids_argument
def restore(call: Call, ids: Sequence[str]) -> None:
    """Bring back forgotten or superseded memories. If one does not exist, none is brought back."""
    numbers = [parse_id(text) for text in ids]
    with call.memory() as memory:
        before = {item.id: item.rev for item in memory.get_many(numbers, forgotten=True).items}
        items = memory.restore(*numbers)
    proposals = [item for item in items if is_only_proposed(item)]
    restored = [item for item in items if item not in proposals and item.rev != before[item.id]]
    call.answer(
        {"restored": [item_brief(item) for item in restored]} | _proposals(proposals),
        [f"Restored {item.kind} {item.id}: {item.title}" for item in restored]
        + [_proposed(item) for item in proposals],
    )
    for item in items:
        if item not in restored and item not in proposals:
            call.note(f"{item.kind.capitalize()} {item.id} is neither forgotten nor superseded: nothing to restore.")


@command("cancel", "commonplace streams cancel stream_0123456789abcdef")
@click.argument("id_", metavar="ID")
def cancel(call: Call, id_: str) -> None:
    """Discard a stream and its parts. This cannot be undone."""
    from commonplace.memory.streamed_memories import cancel_stream

    with call.local_memory() as memory:
        stream = cancel_stream(memory, id_)
    call.answer(
        stream_record(stream),
        f"Cancelled {stream.id}: {stream.chunks} parts, {stream.characters} characters discarded",
    )


@listing("streams", "commonplace streams", commands=(cancel,))
def streams(call: Call) -> None:
    """List memories that agents have not finished sending, oldest first. After a day without a new part they expire."""
    from commonplace.memory.streamed_memories import IDLE_HOURS, open_streams

    with call.local_memory() as memory:
        records = [stream_record(stream) for stream in open_streams(memory)]
    columns = ("stream_id", "type", "project", "chunks", "characters", "when")
    empty = f"No stream is open. A stream that is not continued expires after {IDLE_HOURS} hours."
    call.answer_list("streams", records, lambda rows: tables.table(columns, rows), empty)
