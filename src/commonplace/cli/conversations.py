"""`conversations`: list, read and arrange whole exchanges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from commonplace.cli import tables
from commonplace.cli.add_conversation import add_conversation
from commonplace.cli.command import Call, command, listing
from commonplace.cli.options import CONVERSATIONS, folder_filter, page_options, project_filter, source_filter
from commonplace.cli.prune import prune
from commonplace.cli.stats import stats
from commonplace.cli.terminal import console, one_line, plain
from commonplace.dialects.records import change_record, conversation_record
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
from commonplace.model import Session
from commonplace.text.paths import ROOT_FOLDER, folder_names

if TYPE_CHECKING:
    from rich.console import Console

EMPTY = "No conversations."
ROLE_COLOURS = {"user": "cyan", "assistant": "green", "system": "yellow", "tool": "magenta"}
id_argument = click.argument("id_", metavar="ID", shell_complete=CONVERSATIONS)
ids_argument = click.argument("ids", metavar="ID...", nargs=-1, required=True, shell_complete=CONVERSATIONS)


@command(
    "show",
    "commonplace conversations show 1",
    "commonplace conversations show 1 -n 20 --from 21",
)
@id_argument
@click.option("-n", "--limit", type=click.IntRange(1, MAX_MESSAGES), help="Show at most this many messages.")
@click.option("--from", "first", type=click.IntRange(1), default=1, show_default=True, help="Start with this message.")
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


@command("history", "commonplace conversations history 1")
@id_argument
def history(call: Call, id_: str) -> None:
    """Show label, folder, importance and status before each change, oldest first."""
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


@command("folders", "commonplace conversations folders", "commonplace conversations folders --folder /design")
@folder_filter
def folders(call: Call, folder: str | None) -> None:
    """Show the tree of folders, and how many conversations are in each."""
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


@command("move", "commonplace conversations move 1 /design/web")
@id_argument
@click.argument("folder")
def move(call: Call, id_: str, folder: str) -> None:
    """Move a conversation to FOLDER, which is created if needed."""
    _update(call, id_, "{0.label} is now in {0.folder}.", folder=folder)


@command("rename", 'commonplace conversations rename 1 "Brand colours"')
@id_argument
@click.argument("label")
def rename(call: Call, id_: str, label: str) -> None:
    """Change the label of a conversation to LABEL."""
    _update(call, id_, "Conversation {0.short_id} is now called {0.label}.", label=label)


@command("rate", "commonplace conversations rate 1 8", "commonplace conversations rate 1 2.5")
@id_argument
@click.argument("importance", metavar="0-10", type=float)
def rate(call: Call, id_: str, importance: float) -> None:
    """Set the importance of a conversation. 10 pins it, less unpins it; the default is 5."""
    sentence = "{0.label} now has importance {0.importance:g} and is {0.status}."
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

    @command(name, f"commonplace conversations {name} 1")
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
        "Archive conversations. Nothing is removed, and search still finds them.",
        "Archived",
        _set_status("archived"),
    ),
    _change_command(
        "unarchive",
        "Undo `archive`.",
        "Unarchived",
        lambda memory, session: unarchive_conversation(memory, session.uid),
    ),
    _change_command(
        "pin",
        "Pin conversations: they get importance 10, and `prune` never suggests them.",
        "Pinned",
        _set_status("pinned"),
    ),
    _change_command(
        "unpin",
        "Undo `pin`; the conversation gets its earlier importance back.",
        "Unpinned",
        lambda memory, session: unpin_conversation(memory, session.uid),
    ),
    _change_command(
        "forget",
        "Hide conversations and their messages from every answer; `restore` undoes it.",
        "Forgot",
        lambda memory, session: forget_session(memory, session.uid),
    ),
    _change_command(
        "restore",
        "Bring back forgotten conversations and their messages.",
        "Restored",
        lambda memory, session: restore_session(memory, session.uid),
        forgotten=True,
    ),
)


@listing(
    "conversations",
    "commonplace conversations",
    "commonplace conversations --folder /design --status pinned",
    "commonplace conversations show 1",
    'commonplace conversations add "Brand colours" chats/colours.txt --folder /design',
    commands=(show, add_conversation, move, rename, rate, *CHANGE_COMMANDS, history, folders, prune, stats),
)
@folder_filter
@click.option("--label", multiple=True, help="Only with this label, or in a folder of this name; repeatable.")
@click.option("--status", type=click.Choice(STATUSES), multiple=True, help="Only this status; repeatable.")
@project_filter
@source_filter
@page_options("Conversations")
def conversations(call: Call, folder: str | None, **filters: Any) -> None:
    """List conversations, the most recent first. The commands below read, add and arrange them.

    ID is the short id from the list, a UUID, a number, or the id of any message in the conversation.
    """
    with call.memory() as memory:
        page = memory.conversations(folder=folder or "", **filters)
    records = [conversation_record(session) for session in page.sessions]
    narrowed = folder or any(value for name, value in filters.items() if name != "limit")
    empty = "No conversations match." if narrowed else f"{EMPTY} `commonplace import` and `ingest` bring some in."
    call.answer_list("conversations", records, tables.conversations, empty, next_cursor=page.next_cursor)
