"""`conversations`: whole exchanges, listed, read like a chat and kept in order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from commonplace.cli import organise, tables
from commonplace.cli.call import Call, command, listing
from commonplace.cli.folders import folders
from commonplace.cli.terminal import one_line, plain
from commonplace.dialects.records import change_record, conversation_record
from commonplace.memory.browse import require_project
from commonplace.memory.conversations import MAX_MESSAGES, STATUSES, find, latest, opened
from commonplace.memory.export import message_data
from commonplace.memory.organise import history as changes_of
from commonplace.model import SessionScope
from commonplace.text.folders import folder_path
from commonplace.text.redacted_data import redacted

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
    path = "" if folder is None else folder_path(folder)
    scope = SessionScope(folder=path, labels=tuple(labels), statuses=tuple(statuses), project=project, source=source)
    with call.book() as book:
        require_project(book, project)
        page = latest(book, scope, limit, cursor)
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
    with call.book() as book:
        session, messages = opened(book, id_)
    end = len(messages) if limit is None else min(len(messages), first - 1 + limit)
    record = conversation_record(session)
    said = redacted([message_data(item) for item in messages[first - 1 : end]])
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
    with call.book() as book:
        session = find(book, id_, forgotten=True)
        changes = [change_record(change) for change in changes_of(book, session.uid)]
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


for _made in (show, *organise.COMMANDS, history, folders):
    conversations.add_command(_made)
