"""`sessions`: everything that agents and people did, session by session."""

from __future__ import annotations

import click

from commonplace.cli import tables
from commonplace.cli.call import Call, command
from commonplace.dialects.records import conversation_record
from commonplace.memory.browse import require_project
from commonplace.memory.conversations import latest
from commonplace.model import SessionScope


@command(
    "sessions",
    "commonplace sessions",
    "commonplace sessions --source claude-code --project my-api",
    "commonplace sessions --limit 100 --json",
)
@click.option("--project", help="Only this project.")
@click.option(
    "--source", default="", help="Only what came from there: claude-code, codex, gemini, cursor, chatgpt, ..."
)
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="Sessions per page.")
@click.option("--cursor", help="Where the page before ended, as it was printed there.")
def sessions(call: Call, project: str | None, source: str, limit: int, cursor: str | None) -> None:
    """All sessions, the one with the newest message first: those of coding agents, conversations, and all others.

    `reconstruct` tells what happened in one; `ingest` reads those that coding agents left on this machine.
    """
    with call.book(asks=True) as book:
        require_project(book, project)
        page = latest(book, SessionScope(project=project, source=source, empty=True), limit, cursor)
    records = [conversation_record(session) for session in page.sessions]
    if call.json:
        call.reply({"sessions": records, "next_cursor": page.next_cursor})
    elif not records:
        call.note("No session is there. `commonplace ingest` reads those of coding agents.")
    else:
        tables.table(
            ("id", "source", "project", "label", "messages", "when"),
            [
                {
                    **record,
                    "id": record["short_id"],
                    "label": record["label"] or record["key"],
                    "messages": record["message_count"],
                    "when": record["last_message_at_epoch"],
                }
                for record in records
            ],
        )
    if page.next_cursor:
        call.note(f"More: --cursor {page.next_cursor}")
