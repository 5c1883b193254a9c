"""`conversations folders`: the tree of folders, with how many conversations each holds."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from commonplace.cli import organise, tables
from commonplace.cli.command import Call, command, listing
from commonplace.cli.terminal import one_line, plain
from commonplace.dialects.records import change_record, conversation_record
from commonplace.dialects.sekha_records import megabytes, prune_candidate
from commonplace.errors import Conflict, InvalidInput
from commonplace.memory.conversations import (
    MAX_MESSAGES,
    STATUSES,
    ConversationChanges,
    find_session,
    latest_conversations,
    open_conversation,
    update_conversation,
)
from commonplace.memory.conversations import conversation_history as changes_of
from commonplace.memory.export_conversations import message_data
from commonplace.memory.items import require_project
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.prune import MAX_DAYS, PRUNE_DAYS, PRUNE_IMPORTANCE, PruneCandidate, PruneProposal
from commonplace.memory.prune import find_prunable as propose
from commonplace.memory.stats import conversation_stats
from commonplace.model import Session, SessionScope
from commonplace.text.paths import ROOT_FOLDER, folder_names, normalise_folder
from commonplace.text.redact import redact_data

if TYPE_CHECKING:
    from rich.console import Console


@command("folders", "commonplace conversations folders", "commonplace conversations folders --folder /desk --json")
@click.option("--folder", help="Only this folder and all below it.")
def folders(call: Call, folder: str | None) -> None:
    """The tree of folders: how many conversations are in each, and with all below it."""
    with call.memory() as memory:
        own = conversation_stats(memory, folder).counts.folders
    totals = _folder_totals(own)
    rows = [{"folder": path, "conversations": own.get(path, 0), "total": total} for path, total in totals.items()]
    console = tables.terminal()
    if call.json:
        call.reply({"folders": rows})
    elif not rows:
        call.note("No conversation is there.")
    elif console is None:
        tables.table(("folder", "conversations", "total"), rows)
    else:
        _draw_folders(console, own, totals)


def _folder_totals(own: Mapping[str, int]) -> dict[str, int]:
    """Conversations in each folder's tree, a folder before those below it."""
    totals: Counter[str] = Counter()
    for path, count in own.items():
        names = folder_names(path)
        for depth in range(len(names) + 1):
            totals[ROOT_FOLDER + "/".join(names[:depth])] += count
    return {path: totals[path] for path in sorted(totals, key=lambda path: [n.casefold() for n in folder_names(path)])}


def _draw_folders(console: Console, own: Mapping[str, int], totals: Mapping[str, int]) -> None:
    from rich.text import Text
    from rich.tree import Tree

    drawn: dict[str, Tree] = {}
    for path, total in totals.items():
        *above, name = folder_names(path) or [ROOT_FOLDER]
        text = Text.assemble((one_line(name), "bold green"), (f"  {total:,}", "cyan"))
        if 0 < own.get(path, 0) < total:
            text.append(f"  ({own[path]:,} here)", "dim")
        parent = drawn.get(ROOT_FOLDER + "/".join(above)) if path != ROOT_FOLDER else None
        drawn[path] = parent.add(text) if parent else Tree(text, guide_style="dim")
    console.print(drawn[ROOT_FOLDER])


ROLE_COLOURS = {"user": "cyan", "assistant": "green", "system": "yellow", "tool": "magenta"}


@listing(
    "conversations",
    "commonplace conversations",
    "commonplace conversations --folder /desk --status active --status pinned",
    "commonplace conversations --label colours --limit 100 --json",
)
@click.option("--folder", help="Only this folder and all below it.")
@click.option("--label", "labels", multiple=True, help="Only with this label or in a folder of this name; repeatable.")
@click.option("--status", "statuses", type=click.Choice(STATUSES), multiple=True, help="Only this status; repeatable.")
@click.option("--project", help="Only this project.")
@click.option("--source", default="", help="Only what came from there: chatgpt, claude, text, ...")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="Conversations per page.")
@click.option("--cursor", help="Where the page before ended, as it was printed there.")
def conversations(
    call: Call,
    folder: str | None,
    labels: Sequence[str],
    statuses: Sequence[str],
    project: str | None,
    source: str,
    limit: int,
    cursor: str | None,
) -> None:
    """Conversations, the one with the newest message first, a page at a time; and commands to read and arrange them.

    The commands take an ID as the list shows it, its UUID, its number, or the id of a message in it.
    """
    path = "" if folder is None else normalise_folder(folder)
    scope = SessionScope(folder=path, labels=tuple(labels), statuses=tuple(statuses), project=project, source=source)
    with call.memory() as memory:
        require_project(memory, project)
        page = latest_conversations(memory, scope, limit, cursor)
    records = [conversation_record(session) for session in page.sessions]
    if call.json:
        call.reply({"conversations": records, "next_cursor": page.next_cursor})
    elif not records:
        call.note("No conversation is there.")
    else:
        tables.conversations(records)
    if page.next_cursor:
        call.note(f"More: --cursor {page.next_cursor}")


@command(
    "show",
    "commonplace conversations show 1",
    "commonplace conversations show 1 --limit 20 --from 21",
    "commonplace conversations show 1 --json",
)
@click.argument("id_", metavar="ID")
@click.option("--limit", type=click.IntRange(1, MAX_MESSAGES), help="At most so many messages; all if omitted.")
@click.option(
    "--from", "first", type=click.IntRange(1), default=1, show_default=True, help="Which message to begin with."
)
def show(call: Call, id_: str, limit: int | None, first: int) -> None:
    """Read a conversation: who said what, and when (UTC)."""
    with call.memory() as memory:
        session, messages = open_conversation(memory, id_)
    end = len(messages) if limit is None else min(len(messages), first - 1 + limit)
    record = conversation_record(session)
    said = redact_data([message_data(item) for item in messages[first - 1 : end]])
    more = end + 1 if end < len(messages) else None
    if call.json:
        call.reply(record | {"messages": said, "next": more})
        return
    _head(record)
    for message in said:
        _message(message)
    if more:
        call.note(f"\n{len(messages) - end} more: --from {more}")


@command("history", "commonplace conversations history 1", "commonplace conversations history 1 --json")
@click.argument("id_", metavar="ID")
def history(call: Call, id_: str) -> None:
    """What was said about a conversation before each change, oldest first. Forgotten ones have a history too."""
    with call.memory() as memory:
        session = find_session(memory, id_, forgotten=True)
        changes = [change_record(change) for change in changes_of(memory, session.uid)]
    if call.json:
        call.reply({"id": session.uid, "short_id": session.short_id, "rev": session.rev, "changes": changes})
    elif not changes:
        call.say(f"Conversation {session.short_id} is as it was first kept.")
    else:
        tables.table(
            ("rev", "op", "when", "label", "folder", "importance", "status"),
            [
                {**change["before"], **change, "when": change["at_epoch"], "importance": _score(change["before"])}
                for change in changes
            ],
        )


def _score(before: dict[str, Any]) -> str:
    return f"{before.get('importance', 0):g}"


def _head(record: dict[str, Any]) -> None:
    click.secho(one_line(record["label"]), bold=True)
    facts = [
        record["short_id"],
        record["folder"],
        *([record["project"]] if record["project"] else []),
        record["status"],
        f"importance {record['importance_score']}",
        f"{record['message_count']:,} messages",
    ]
    click.secho(one_line(" · ".join(facts)), dim=True)


def _message(message: dict[str, Any]) -> None:
    name = message.get("metadata", {}).get("name")
    speaker = message["role"].capitalize() + (f" ({one_line(name)})" if isinstance(name, str) else "")
    click.secho(f"\n{speaker}", nl=False, bold=True, fg=ROLE_COLOURS.get(message["role"]))
    click.secho(f"  {message['timestamp'][:16].replace('T', ' ')}", dim=True)
    click.echo(plain(message["content"]).strip("\n"))


for _made in (show, *organise.ORGANISE_COMMANDS, history, folders):
    conversations.add_command(_made)

PRUNE_COLUMNS = ("number", "id", "label", "folder", "messages", "importance", "age_days", "bytes", "reason")
# Ids that fit on a command line that a person copies; beyond, the list tells the rest.
MAX_NAMED = 20


@command(
    "prune",
    "commonplace prune",
    "commonplace prune --days 90 --importance 3 --folder /imports",
    "commonplace prune --dry-run --json",
)
@click.option(
    "--days", type=click.IntRange(0, MAX_DAYS), default=PRUNE_DAYS, show_default=True, help="Days without a message."
)
@click.option(
    "--importance",
    type=click.FloatRange(0, 10),
    default=PRUNE_IMPORTANCE,
    show_default=True,
    help="Keep from this importance on.",
)
@click.option("--folder", default=ROOT_FOLDER, show_default=True, help="Only this folder and all below it.")
@click.option("--yes", is_flag=True, help="Archive all of them without asking.")
@click.option("--dry-run", is_flag=True, help="Only show them.")
def prune(call: Call, days: int, importance: float, folder: str, yes: bool, dry_run: bool) -> None:
    """Old conversations of low importance, each with the reason; in a terminal you are asked which to archive.

    Archiving removes nothing and can be undone. Pinned conversations are never proposed. Without a terminal nothing
    changes unless --yes is given.
    """
    with call.memory() as memory:
        proposed = propose(memory, days, importance, folder)
        if not call.json:
            _show_candidates(call, proposed)
        chosen: Sequence[PruneCandidate] = ()
        if yes and not dry_run:
            chosen = proposed.candidates
        elif proposed.candidates and not (dry_run or call.json) and _is_interactive():
            chosen = _prompt_for_selection(proposed.candidates)
        archived = _archive_chosen(call, memory, chosen)
    if call.json:
        call.reply(_prune_record(proposed, archived))
    elif archived:
        _show_archived(call, archived)
    elif proposed.candidates:
        call.note("Nothing was changed." + ("" if yes or _is_interactive() else " --yes archives all of them."))


def parse_selection(answer: str, count: int) -> list[int]:
    """The numbers, from 1, that an answer such as `all`, `none` or `1,3-5` means."""
    answer = answer.strip().lower()
    if answer in ("a", "all"):
        return list(range(1, count + 1))
    if answer in ("", "n", "no", "none"):
        return []
    numbers: set[int] = set()
    for part in filter(None, re.split(r"[,\s]+", re.sub(r"\s*-\s*", "-", answer))):
        found = re.fullmatch(r"([0-9]{1,9})(?:-([0-9]{1,9}))?", part)
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
        if not 1 <= first <= last <= count:
            raise InvalidInput(f"{part[:40]!r} is none of 1 to {count}.", "Answer all, none, or numbers such as 1,3-5.")
        numbers.update(range(first, last + 1))
    return sorted(numbers)


def _is_interactive() -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()


def _prompt_for_selection(candidates: Sequence[PruneCandidate]) -> Sequence[PruneCandidate]:
    while True:
        answer = click.prompt("\nArchive which? all, none, or numbers such as 1,3-5", default="none")
        try:
            return [candidates[number - 1] for number in parse_selection(answer, len(candidates))]
        except InvalidInput as error:
            click.secho(f"{error.message} {error.hint}", fg="yellow")


def _archive_chosen(call: Call, memory: LocalMemory, chosen: Sequence[PruneCandidate]) -> list[Session]:
    """Archive them, but for those that changed while a person was thinking."""
    done = []
    for one in chosen:
        try:
            done.append(
                update_conversation(memory, one.session.uid, ConversationChanges(status="archived"), one.session.rev)
            )
        except Conflict:
            call.note(f"{one.session.short_id} changed meanwhile and stays.")
    return done


def _show_candidates(call: Call, proposed: PruneProposal) -> None:
    rows = [_candidate_row(number, one) for number, one in enumerate(proposed.candidates, 1)]
    console = tables.terminal()
    if not rows:
        call.note("Nothing could go.")
    elif console is None:
        tables.table(PRUNE_COLUMNS, rows)
    else:
        for row in rows:
            _draw_candidate(console, row, len(str(len(rows))))
        total = "1 conversation" if len(rows) == 1 else f"{len(rows):,} conversations"
        call.say(f"\n{total} with {_format_size(proposed.bytes)} of text.", bold=True)


def _draw_candidate(console: Console, row: Mapping[str, Any], digits: int) -> None:
    """A conversation on one line, cut to fit, and the reason below."""
    from rich.text import Text

    number, label = Text(f"{row['number']:>{digits}}  ", "cyan"), Text(one_line(row["label"]), "bold")
    said = "1 message" if row["messages"] == 1 else f"{row['messages']:,} messages"
    facts = Text("  " + one_line(f"{row['folder']} · {said} · {_format_size(row['bytes'])}"), "dim")
    room = console.width - number.cell_len
    facts.truncate(max(room // 2, room - label.cell_len), overflow="ellipsis")
    label.truncate(room - facts.cell_len, overflow="ellipsis")
    console.print(Text.assemble(number, label, facts), no_wrap=True, overflow="ellipsis")
    console.print(Text(f"{'':{digits}}  {one_line(row['reason'])}"))


def _candidate_row(number: int, one: PruneCandidate) -> dict[str, Any]:
    data = redact_data(prune_candidate(one))
    return {
        "number": number,
        "id": one.session.short_id,
        "label": data["label"],
        "folder": data["folder"],
        "messages": data["message_count"],
        "importance": data["importance_score"],
        "age_days": data["age_days"],
        "bytes": one.session.bytes,
        "reason": data["reason"],
    }


def _show_archived(call: Call, archived: Sequence[Session]) -> None:
    call.say(f"Archived {len(archived):,} conversation{'' if len(archived) == 1 else 's'}. Nothing was removed.")
    named = " ".join(session.short_id for session in archived[:MAX_NAMED])
    rest = " (and so on: commonplace conversations --status archived)" if len(archived) > MAX_NAMED else ""
    call.note(f"Undo: commonplace conversations unarchive {named}{rest}")


def _prune_record(proposed: PruneProposal, archived: Sequence[Session]) -> dict[str, Any]:
    return {
        "candidates": redact_data([prune_candidate(one) for one in proposed.candidates]),
        "total_candidates": len(proposed.candidates),
        "estimated_space_saved_mb": megabytes(proposed.bytes),
        "archived": [session.uid for session in archived],
    }


def _format_size(size: int) -> str:
    for unit, many in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= many:
            return f"{size / many:.1f} {unit}"
    return f"{size} bytes"
