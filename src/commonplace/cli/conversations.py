"""`conversations` (list, read, arrange) and `prune`: whole exchanges, and those that could be archived."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from commonplace.cli import tables
from commonplace.cli.command import Call, command, listing
from commonplace.cli.options import (
    folder_filter,
    id_argument,
    ids_argument,
    page_options,
    project_filter,
    source_filter,
)
from commonplace.cli.terminal import console, is_interactive, one_line, plain
from commonplace.dialects.records import change_record, conversation_record
from commonplace.dialects.sekha_records import megabytes, prune_candidate
from commonplace.errors import Conflict, InvalidInput
from commonplace.memory.conversations import (
    MAX_MESSAGES,
    STATUSES,
    ConversationChanges,
    conversation_history,
    find_session,
    forget_session,
    open_conversation,
    restore_session,
    unarchive_conversation,
    unpin_conversation,
    update_conversation,
)
from commonplace.memory.export_conversations import message_data
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.prune import (
    MAX_DAYS,
    PRUNE_DAYS,
    PRUNE_IMPORTANCE,
    PruneCandidate,
    PruneProposal,
)
from commonplace.model import Session
from commonplace.text.paths import ROOT_FOLDER, folder_names

if TYPE_CHECKING:
    from rich.console import Console

    from commonplace.library.memory import Memory

EMPTY = "No conversations."
ROLE_COLOURS = {"user": "cyan", "assistant": "green", "system": "yellow", "tool": "magenta"}
PRUNE_COLUMNS = ("number", "id", "label", "folder", "messages", "importance", "age_days", "bytes", "reason")
# Ids that fit on a command line that a person copies.
MAX_NAMED = 20


@command(
    "show",
    "commonplace conversations show 1",
    "commonplace conversations show 1 --limit 20 --from 21",
    "commonplace conversations show 1 --json",
)
@id_argument
@click.option("--limit", type=click.IntRange(1, MAX_MESSAGES), help="Most messages; all if omitted.")
@click.option("--from", "first", type=click.IntRange(1), default=1, show_default=True, help="The first message.")
def show(call: Call, id_: str, limit: int | None, first: int) -> None:
    """Print a conversation: who said what, and when (UTC)."""
    with call.local_memory() as memory:
        session, messages = open_conversation(memory, id_)
    end = len(messages) if limit is None else min(len(messages), first - 1 + limit)
    record = conversation_record(session)
    page = [message_data(item) for item in messages[first - 1 : end]]
    more = end + 1 if end < len(messages) else None
    call.answer(record | {"messages": page, "next": more}, lambda: _show_conversation(record, page))
    if more:
        call.note(f"\n{len(messages) - end} more: --from {more}")


def _show_conversation(record: Mapping[str, Any], messages: Sequence[Mapping[str, Any]]) -> None:
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
    for message in messages:
        name = message.get("metadata", {}).get("name")
        speaker = message["role"].capitalize() + (f" ({one_line(name)})" if isinstance(name, str) else "")
        click.secho(f"\n{speaker}", nl=False, bold=True, fg=ROLE_COLOURS.get(message["role"]))
        click.secho(f"  {message['timestamp'][:16].replace('T', ' ')}", dim=True)
        click.echo(plain(message["content"]).strip("\n"))


@command("history", "commonplace conversations history 1", "commonplace conversations history 1 --json")
@id_argument
def history(call: Call, id_: str) -> None:
    """Show label, folder, importance and status before each change, oldest first, also of a forgotten conversation."""
    with call.local_memory() as memory:
        session = find_session(memory, id_, forgotten=True)
        changes = [change_record(change) for change in conversation_history(memory, session.uid)]
    record = {"id": session.uid, "short_id": session.short_id, "rev": session.rev, "changes": changes}
    if not changes:
        call.answer(record, f"Conversation {session.short_id} has not been changed.")
        return
    columns = ("rev", "op", "when", "label", "folder", "importance", "status")
    rows = [
        {**change["before"], **change, "importance": f"{change['before'].get('importance', 0):g}"} for change in changes
    ]
    call.answer(record, lambda: tables.table(columns, rows))


@command("folders", "commonplace conversations folders", "commonplace conversations folders --folder /desk --json")
@folder_filter
def folders(call: Call, folder: str | None) -> None:
    """Show the tree of folders, with the conversations in each, without and with subfolders."""
    with call.memory() as memory:
        own = memory.stats(folder).counts.folders
    totals = _folder_totals(own)
    rows = [{"folder": path, "conversations": own.get(path, 0), "total": total} for path, total in totals.items()]
    call.answer_list("folders", rows, lambda rows: _show_folders(rows, own, totals), EMPTY)


def _show_folders(rows: Sequence[Mapping[str, Any]], own: Mapping[str, int], totals: Mapping[str, int]) -> None:
    terminal = console()
    if terminal is None:
        tables.table(("folder", "conversations", "total"), rows)
    else:
        _draw_folders(terminal, own, totals)


def _folder_totals(own: Mapping[str, int]) -> dict[str, int]:
    """Conversations in each folder with its subfolders, a folder before its subfolders."""
    totals: Counter[str] = Counter()
    for path, count in own.items():
        names = folder_names(path)
        for depth in range(len(names) + 1):
            totals[ROOT_FOLDER + "/".join(names[:depth])] += count
    return {path: totals[path] for path in sorted(totals, key=lambda path: [n.casefold() for n in folder_names(path)])}


def _draw_folders(terminal: Console, own: Mapping[str, int], totals: Mapping[str, int]) -> None:
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
    terminal.print(drawn[ROOT_FOLDER])


@command("move", "commonplace conversations move 1 /desk/colours")
@id_argument
@click.argument("folder")
def move(call: Call, id_: str, folder: str) -> None:
    """Move a conversation to FOLDER, which is created if needed."""
    _update(call, id_, "{0.label} is in {0.folder} now.", folder=folder)


@command("rename", 'commonplace conversations rename 1 "Colours of the brand"')
@id_argument
@click.argument("label")
def rename(call: Call, id_: str, label: str) -> None:
    """Change the label of a conversation to LABEL."""
    _update(call, id_, "Conversation {0.short_id} is called {0.label} now.", label=label)


@command("rate", "commonplace conversations rate 1 8", "commonplace conversations rate 1 2.5 --json")
@id_argument
@click.argument("importance", metavar="0-10", type=float)
def rate(call: Call, id_: str, importance: float) -> None:
    """Set the importance of a conversation. 10 pins it, less unpins it; the default is 5."""
    sentence = "{0.label} has importance {0.importance:g} and is {0.status} now."
    _update(call, id_, sentence, importance=importance)


def _update(call: Call, id_: str, sentence: str, **changes: Any) -> None:
    with call.memory() as memory:
        session = memory.update_conversation(id_, **changes)
    call.answer(conversation_record(session), sentence.format(session))


def _set_status(status: str) -> Callable[[LocalMemory, Session], Session]:
    def change(memory: LocalMemory, session: Session) -> Session:
        wanted = ConversationChanges(status=status)
        return session if session.status == status else update_conversation(memory, session.uid, wanted)

    return change


def _change_command(
    name: str, help_: str, verb: str, change: Callable[[LocalMemory, Session], Session], *, forgotten: bool = False
) -> click.Command:
    """A command that changes one or more conversations, once all of them are found."""

    @command(name, f"commonplace conversations {name} 1", f"commonplace conversations {name} 1 --json")
    @ids_argument
    def change_each(call: Call, ids: Sequence[str]) -> None:
        with call.local_memory() as memory:
            found = {
                session.uid: session for session in (find_session(memory, id_, forgotten=forgotten) for id_ in ids)
            }
            sessions = [change(memory, session) for session in found.values()]
        call.answer(
            {"conversations": [conversation_record(session) for session in sessions]},
            [
                f"{'Unchanged:' if session.rev == found[session.uid].rev else verb} {session.short_id} {session.label}"
                f" ({_describe_state(session)})"
                for session in sessions
            ],
        )
        if name == "forget":
            call.note(f"Undo: commonplace conversations restore {' '.join(session.short_id for session in sessions)}")

    change_each.help = help_
    return change_each


def _describe_state(session: Session) -> str:
    return "forgotten" if session.forgotten_ms is not None else f"{session.status}, importance {session.importance:g}"


CHANGE_COMMANDS = (
    _change_command(
        "archive",
        "Archive conversations: `prune` does not suggest them again. Nothing is removed, and search still finds them.",
        "Archived",
        _set_status("archived"),
    ),
    _change_command(
        "unarchive",
        "Undo `archive`. A conversation that is not archived is not changed.",
        "Unarchived",
        lambda memory, session: unarchive_conversation(memory, session.uid),
    ),
    _change_command(
        "pin", "Pin conversations: importance 10, and `prune` never suggests them.", "Pinned", _set_status("pinned")
    ),
    _change_command(
        "unpin",
        "Undo `pin`, with the importance from before. A conversation that is not pinned is not changed.",
        "Unpinned",
        lambda memory, session: unpin_conversation(memory, session.uid),
    ),
    _change_command(
        "forget",
        "Hide conversations and their messages from every answer. If one does not exist, nothing happens.",
        "Forgot",
        lambda memory, session: forget_session(memory, session.uid),
    ),
    _change_command(
        "restore",
        "Bring forgotten conversations back with their messages. If one does not exist, nothing happens.",
        "Restored",
        lambda memory, session: restore_session(memory, session.uid),
        forgotten=True,
    ),
)


@listing(
    "conversations",
    "commonplace conversations",
    "commonplace conversations --folder /desk --status active --status pinned",
    "commonplace conversations --label colours --limit 100 --json",
    commands=(show, move, rename, rate, *CHANGE_COMMANDS, history, folders),
)
@folder_filter
@click.option("--label", multiple=True, help="Only with this label or in a folder of this name; may be repeated.")
@click.option("--status", type=click.Choice(STATUSES), multiple=True, help="Only this status; may be repeated.")
@project_filter
@source_filter
@page_options("Conversations")
def conversations(call: Call, folder: str | None, **filters: Any) -> None:
    """List conversations, most recent message first, a page at a time; subcommands show and arrange them.

    They take the short id from the list, a UUID, a number, or the id of a message in the conversation.
    """
    with call.memory() as memory:
        page = memory.conversations(folder=folder or "", **filters)
    records = [conversation_record(session) for session in page.sessions]
    call.answer_list("conversations", records, tables.conversations, EMPTY, next_cursor=page.next_cursor)


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
    help="Only below this importance.",
)
@click.option("--folder", default=ROOT_FOLDER, show_default=True, help="Only this folder and its subfolders.")
@click.option("--yes", is_flag=True, help="Archive all of them without asking.")
@click.option("--dry-run", is_flag=True, help="Only show them.")
def prune(call: Call, days: int, importance: float, folder: str, yes: bool, dry_run: bool) -> None:
    """Suggest old conversations of low importance, with the reasons; in a terminal, ask which to archive.

    Archiving removes nothing and can be undone. Pinned conversations are never suggested. Without a terminal nothing
    changes unless --yes is given.
    """
    with call.memory() as memory:
        proposed = memory.prune(days=days, importance=importance, folder=folder)
        if not call.json:
            _show_candidates(call, proposed)
        chosen: Sequence[PruneCandidate] = ()
        if yes and not dry_run:
            chosen = proposed.candidates
        elif proposed.candidates and not (dry_run or call.json) and is_interactive():
            chosen = _prompt_for_selection(proposed.candidates)
        archived = _archive_chosen(call, memory, chosen)
    if call.json:
        call.reply(_prune_record(proposed, archived))
    elif archived:
        _show_archived(call, archived)
    elif proposed.candidates:
        call.note("Nothing was changed." + ("" if yes or is_interactive() else " --yes archives all of them."))


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


def _prompt_for_selection(candidates: Sequence[PruneCandidate]) -> Sequence[PruneCandidate]:
    while True:
        answer = click.prompt("\nArchive which? all, none, or numbers such as 1,3-5", default="none")
        try:
            return [candidates[number - 1] for number in parse_selection(answer, len(candidates))]
        except InvalidInput as error:
            click.secho(f"{error.message} {error.hint}", fg="yellow")


def _archive_chosen(call: Call, memory: Memory, chosen: Sequence[PruneCandidate]) -> list[Session]:
    """Archive them, except those that changed since they were shown."""
    done = []
    for one in chosen:
        try:
            done.append(memory.update_conversation(one.session.uid, status="archived", expect_rev=one.session.rev))
        except Conflict:
            call.note(f"{one.session.short_id} was changed meanwhile and is not archived.")
    return done


def _show_candidates(call: Call, proposed: PruneProposal) -> None:
    rows = [_candidate_row(number, one) for number, one in enumerate(proposed.candidates, 1)]
    terminal = console()
    if not rows:
        call.note("No suggestions.")
    elif terminal is None:
        tables.table(PRUNE_COLUMNS, rows)
    else:
        for row in rows:
            _draw_candidate(terminal, row, len(str(len(rows))))
        total = "1 conversation" if len(rows) == 1 else f"{len(rows):,} conversations"
        call.say(f"\n{total} with {_format_size(proposed.bytes)} of text.", bold=True)


def _draw_candidate(terminal: Console, row: Mapping[str, Any], digits: int) -> None:
    """Print a conversation on one line, cut to fit, and the reason below."""
    from rich.text import Text

    number, label = Text(f"{row['number']:>{digits}}  ", "cyan"), Text(one_line(row["label"]), "bold")
    count = "1 message" if row["messages"] == 1 else f"{row['messages']:,} messages"
    facts = Text("  " + one_line(f"{row['folder']} · {count} · {_format_size(row['bytes'])}"), "dim")
    width = terminal.width - number.cell_len
    facts.truncate(max(width // 2, width - label.cell_len), overflow="ellipsis")
    label.truncate(width - facts.cell_len, overflow="ellipsis")
    terminal.print(Text.assemble(number, label, facts), no_wrap=True, overflow="ellipsis")
    terminal.print(Text(f"{'':{digits}}  {one_line(row['reason'])}"))


def _candidate_row(number: int, one: PruneCandidate) -> dict[str, Any]:
    data = prune_candidate(one)
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
        "candidates": [prune_candidate(one) for one in proposed.candidates],
        "total_candidates": len(proposed.candidates),
        "estimated_space_saved_mb": megabytes(proposed.bytes),
        "archived": [session.uid for session in archived],
    }


def _format_size(size: int) -> str:
    for unit, many in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= many:
            return f"{size / many:.1f} {unit}"
    return f"{size} bytes"
