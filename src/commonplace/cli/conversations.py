"""`conversations`: add, list, read and arrange whole exchanges."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from commonplace.cli import tables
from commonplace.cli.command import Call, command, listing
from commonplace.cli.options import (
    CONVERSATIONS,
    STDIN,
    folder_filter,
    page_options,
    project_filter,
    project_option,
    source_filter,
)
from commonplace.cli.prune_and_stats import prune, stats
from commonplace.cli.terminal import console, one_line, plain, stdin_is_piped
from commonplace.dialects.records import change_record, conversation_record
from commonplace.dialects.sekha_records import parse_message
from commonplace.errors import InvalidInput, TooLarge
from commonplace.memory.conversations import (
    MAX_MESSAGES,
    STATUSES,
    ConversationChanges,
    NewConversation,
    NewMessage,
    StoredConversation,
    conversation_history,
    find_session,
    forget_session,
    open_conversation,
    restore_session,
    store_conversation,
    unarchive_conversation,
    unpin_conversation,
    update_conversation,
)
from commonplace.memory.export_conversations import message_data
from commonplace.memory.local_memory import LocalMemory
from commonplace.model import Session
from commonplace.text.paths import ROOT_FOLDER, folder_names, totals_by_folder
from commonplace.text.untrusted_json import check_json, values_for

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
    totals = totals_by_folder(own)
    rows = [{"folder": path, "conversations": own.get(path, 0), "total": total} for path, total in totals.items()]
    call.answer_list("folders", rows, lambda rows: _show_folders(rows, own, totals), EMPTY)


def _show_folders(rows: Sequence[Mapping[str, Any]], own: Mapping[str, int], totals: Mapping[str, int]) -> None:
    terminal = console()
    if terminal is None:
        tables.table(("folder", "conversations", "total"), rows)
    else:
        _draw_folders(terminal, own, totals)


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


# How JSON begins; a text may begin with a bracket too.
_JSON = re.compile(r'\s*(?:\[\s*[{\]]|\{\s*["}])')
_SHAPE = 'Write [{"role": "user", "content": "..."}, ...], or an object with such messages.'


@command(
    "add",
    'commonplace conversations add "Brand colours" chats/colours.txt --folder /design',
    'commonplace conversations add "Brand colours" chats/colours.txt --importance 8 -p my-api',
    'echo \'[{"role": "user", "content": "Which cache?"}]\' | commonplace conversations add "Cache" -',
)
@click.argument("label")
@click.argument("file", required=False, type=click.Path(allow_dash=True))
@click.option("--folder", default=ROOT_FOLDER, show_default=True, help="Its folder, such as /design/web.")
@click.option("--importance", type=float, help="From 0 to 10 (default: 5); 10 pins it.")
@click.option("--status", type=click.Choice(STATUSES), help="Its status (default: active).")
@project_option("The project it belongs to (default: none).")
def add_conversation(
    call: Call,
    label: str,
    file: str | None,
    folder: str,
    importance: float | None,
    status: str | None,
    project: str | None,
) -> None:
    """Store a conversation under the title LABEL. The same one is stored only once.

    FILE (`-` or a pipe: standard input) is text with speakers, such as `User: ...` and `AI: ...`; or JSON: a list of
    messages with role, content and perhaps timestamp and metadata, or an object with such `messages`.
    """
    from commonplace.capture.import_files import split_long_messages

    messages = _messages(_read_input(file), STDIN if file is None else file)
    conversation = NewConversation(
        label, messages, folder, importance=importance, status=status, project=project or None
    )
    with call.local_memory() as memory:
        stored = store_conversation(memory, split_long_messages(conversation))
    call.answer(conversation_record(stored.session) | {"duplicate": stored.duplicate}, _describe_stored(stored))
    if len(messages) == 1 and not stored.duplicate:
        call.note(
            "It was stored as one message. To store several, begin each with its speaker: `User: ...`, `AI: ...`."
        )


def _read_input(file: str | None) -> bytes:
    """The file, or standard input."""
    from commonplace.capture.importers.text_files import MAX_TEXT_BYTES

    if file is None and not stdin_is_piped():
        raise InvalidInput("There is nothing to store.", "Name a file, or pipe the conversation in.")
    if file in (None, STDIN):
        data = sys.stdin.buffer.read(MAX_TEXT_BYTES + 1)
    else:
        try:
            with Path(str(file)).open("rb") as stream:
                data = stream.read(MAX_TEXT_BYTES + 1)
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise InvalidInput(f"{file} could not be read: {why}.", "Name a file, or - for stdin.") from error
    if len(data) > MAX_TEXT_BYTES:
        raise TooLarge(f"It has more than {MAX_TEXT_BYTES:,} bytes.", "Store it in parts.")
    return data


def _messages(data: bytes, name: str) -> Sequence[NewMessage]:
    from commonplace.capture.import_report import Skipped
    from commonplace.capture.importers.formats import FORMATS, detect_format

    text = data.decode("utf-8-sig", "replace")
    if name.lower().endswith(".json") or _JSON.match(text):
        return _from_json(data)
    format_ = detect_format(data, name) if not name.lower().endswith(".jsonl") else None
    if format_ not in ("markdown", "text"):
        raise InvalidInput(f"{name} is neither a conversation in JSON nor text.", _SHAPE)
    found = next(iter(FORMATS[format_].read(io.BytesIO(data), name)))
    if not isinstance(found, NewConversation):
        why = found.why if isinstance(found, Skipped) else "it is not a conversation"
        raise InvalidInput(f"{name}: {why}.", _SHAPE)
    return [NewMessage(one.role, one.content, one.at_ms) for one in found.messages]


def _from_json(data: bytes) -> Sequence[NewMessage]:
    check_json(data, values_for(len(data)), "It")
    try:
        value = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"It is not JSON: {error}.", _SHAPE) from error
    if isinstance(value, dict) and isinstance(value.get("conversations"), list):
        raise InvalidInput("It contains several conversations.", "`commonplace import FILE` imports all of them.")
    entries = value.get("messages") if isinstance(value, dict) else value
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise InvalidInput("It contains no list of messages.", _SHAPE)
    # A message in an export has an id of its own there; here it gets a new one.
    return [
        parse_message({k: v for k, v in entry.items() if k != "id"}, number) for number, entry in enumerate(entries)
    ]


def _describe_stored(stored: StoredConversation) -> str:
    session = stored.session
    begin = "Already known:" if stored.duplicate else "Stored"
    counts = f"{session.messages:,} message{'' if session.messages == 1 else 's'}, {session.words:,} words"
    return f"{begin} conversation {session.short_id} in {session.folder}: {session.label} ({counts})"


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
