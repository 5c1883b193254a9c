"""`sessions`: everything that agents and people did, session by session."""

from __future__ import annotations

from typing import Any

import click

from commonplace.cli import tables
from commonplace.cli.command import Call, command
from commonplace.cli.terminal import one_line, plain
from commonplace.dialects.records import conversation_record
from commonplace.memory.conversations import latest_conversations
from commonplace.memory.items import require_project
from commonplace.memory.sessions import MIN_RECONSTRUCT_TOKENS, RECONSTRUCT_TOKENS, Reconstruction, ShownMessage
from commonplace.memory.sessions import reconstruct as reconstructed
from commonplace.model import SessionScope
from commonplace.text.dates import iso_time
from commonplace.text.redact import redact


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
    with call.memory(asks=True) as memory:
        require_project(memory, project)
        page = latest_conversations(memory, SessionScope(project=project, source=source, empty=True), limit, cursor)
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


SPEAKERS = {"user": "Asked", "assistant": "Did", "system": "Noted", "tool": "Tool"}
MAX_NAMES_SHOWN = 10


@command(
    "reconstruct",
    "commonplace reconstruct",
    "commonplace reconstruct 1 --last 10 --budget 2000",
    "commonplace reconstruct 1 --json",
)
@click.argument("session", required=False)
@click.option("--last", type=click.IntRange(1), help="Only the last so many messages.")
@click.option(
    "--budget",
    type=click.IntRange(MIN_RECONSTRUCT_TOKENS),
    default=RECONSTRUCT_TOKENS,
    show_default=True,
    help="Tokens that it may take; what does not fit is told more shortly, and at last the oldest is left out.",
)
def reconstruct(call: Call, session: str | None, last: int | None, budget: int) -> None:
    """What happened in a session, oldest first: what was asked and done, with which files, commands and errors.

    SESSION is an id as `sessions` shows it, or what its agent calls it; if omitted, the newest of the current
    project, or of all.
    """
    with call.memory(asks=True) as memory:
        found = reconstructed(memory, session, call.project_here(), last, budget)
    if call.json:
        call.reply(
            {
                "session": conversation_record(found.session),
                "messages": [_message_record(one) for one in found.messages],
                "left_out": found.left_out,
            }
        )
        return
    _show_session(call, found)


def _message_record(one: ShownMessage) -> dict[str, Any]:
    details = one.item.details
    named = {name: redact(details[name]) for name in ("files", "commands", "errors") if details.get(name)}
    return {
        "id": one.item.id,
        "role": details.get("role", ""),
        "at": iso_time(one.item.created_ms),
        "content": redact(one.text),
        "whole": one.whole,
        **named,
        **({"off_path": True} if one.item.meta.get("off_path") else {}),
    }


def _show_session(call: Call, found: Reconstruction) -> None:
    session = found.session
    call.say(f"# {one_line(redact(session.label)) or session.key}\n", bold=True)
    facts = [
        session.source or "session",
        session.project or "no project",
        iso_time(session.started_ms)[:16],
        session.short_id,
    ]
    call.say(one_line(" · ".join(facts)).replace("T", " ", 1), dim=True)
    if found.left_out:
        call.say(f"\n({found.left_out:,} earlier messages are left out.)", dim=True)
    for record in map(_message_record, found.messages):
        aside = ", then left behind" if record.get("off_path") else ""
        call.say(
            f"\n## {SPEAKERS.get(record['role'], 'Said')} {record['at'][:16].replace('T', ' ')}{aside}\n", bold=True
        )
        click.echo(plain(record["content"]))
        for name, separator in (("files", ", "), ("commands", "\n"), ("errors", "\n")):
            if not record["whole"] and (names := record.get(name, "").split(separator))[0]:
                more = f" and {len(names) - MAX_NAMES_SHOWN} more" if len(names) > MAX_NAMES_SHOWN else ""
                call.say(f"\n{name.capitalize()}: {one_line(', '.join(names[:MAX_NAMES_SHOWN]))}{more}", dim=True)
