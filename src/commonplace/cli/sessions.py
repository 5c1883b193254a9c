"""`sessions` and `sessions show`: which sessions there were, and what happened in one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from commonplace.cli import tables
from commonplace.cli.command import Call, command, listing
from commonplace.cli.options import SESSIONS, page_options, project_filter, source_filter
from commonplace.cli.terminal import one_line, plain
from commonplace.dialects.records import conversation_record
from commonplace.memory.sessions import (
    MIN_RECONSTRUCT_TOKENS,
    RECONSTRUCT_TOKENS,
    Reconstruction,
    ShownMessage,
    role_of,
)
from commonplace.text.dates import iso_time
from commonplace.text.redact import redact

SPEAKERS = {"user": "Asked", "assistant": "Did", "system": "Noted", "tool": "Did"}
MAX_NAMES_SHOWN = 10


@command(
    "show",
    "commonplace sessions show",
    "commonplace sessions show 1 --last 10 --budget 2000",
)
@click.argument("session", required=False, shell_complete=SESSIONS)
@click.option("--last", type=click.IntRange(1), metavar="N", help="Only the last N messages.")
@click.option(
    "--budget",
    type=click.IntRange(MIN_RECONSTRUCT_TOKENS),
    default=RECONSTRUCT_TOKENS,
    show_default=True,
    help="Use at most this many tokens: messages are shortened, then the oldest ones left out.",
)
def show(call: Call, session: str | None, last: int | None, budget: int) -> None:
    """Show what happened in a session, oldest first: questions, answers, files, commands and errors.

    SESSION is an id from `sessions`, or the id that its agent uses. Without one, the newest session of the current
    project is shown, or the newest of all.
    """
    with call.memory(drain_more=True) as memory:
        found = memory.reconstruct(session, project=call.current_project(), last=last, tokens=budget)
    record = {
        "session": conversation_record(found.session),
        "messages": [_message_record(one) for one in found.messages],
        "left_out": found.left_out,
    }
    call.answer(record, lambda: _show_session(call, found))


def _message_record(one: ShownMessage) -> dict[str, Any]:
    details = one.item.details
    # Before a list of them is cut.
    named = {name: redact(details[name]) for name in ("files", "commands", "errors") if details.get(name)}
    return {
        "id": one.item.id,
        "role": role_of(one.item),
        "at": iso_time(one.item.created_ms),
        "content": one.text,
        "whole": one.whole,
        **named,
        **({"off_path": True} if one.item.meta.get("off_path") else {}),
    }


def _show_session(call: Call, found: Reconstruction) -> None:
    session = found.session
    call.say(f"# {one_line(session.label) or session.key}\n", bold=True)
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


MOMENTS = {
    "session-start": "At the start",
    "prompt": "At a prompt",
    "before-tool": "Before a tool",
    "after-tool": "After a tool",
}


@command("shown", "commonplace shown", "commonplace shown 1")
@click.argument("session", required=False, shell_complete=SESSIONS)
def shown(call: Call, session: str | None) -> None:
    """Show what hooks showed an agent: at the start of its session, at prompts, before tools and after errors.

    SESSION is an id from `sessions`, or the id that its agent uses; without one, it is the session that was shown
    something last. `context --start` shows what a session gets that starts here now. The latest 200 sessions are known.
    """
    from commonplace.capture.hooks.shown_texts import latest_shown, shown_to

    settings = call.settings()
    if session is None:
        found = latest_shown(settings)
    else:
        found = shown_to(settings, session)
        if found is None:
            from commonplace.memory.conversations import find_session

            with call.local_memory(drain_more=True, is_shown=False) as memory:
                found = shown_to(settings, find_session(memory, session).key)
    if found is None:
        what = "that session" if session else "any session yet"
        call.answer({"session": None, "shown": [], "used": []}, ())
        call.note(f"Nothing was shown to {what}. `commonplace doctor hooks` checks whether hooks work.")
        return
    record = {
        "session": found.session,
        "shown": [
            {"at": iso_time(one.at_ms), "moment": one.moment, "ids": list(one.ids), "text": redact(one.text)}
            for one in found.texts
        ],
        "used": list(found.used),
    }
    call.answer(record, lambda: _show_shown(call, record))


def _show_shown(call: Call, record: Mapping[str, Any]) -> None:
    call.say(f"# What {one_line(record['session'])} was shown", bold=True)
    for one in record["shown"]:
        moment = MOMENTS.get(one["moment"], one["moment"])
        call.say(f"\n## {moment}, {one['at'][:16].replace('T', ' ')}\n", bold=True)
        kept = one["text"] or f"Memories {', '.join(one['ids'])}; the text is not kept, since the store is encrypted."
        click.echo(plain(kept).strip())
    if record["used"]:
        call.say(f"\nUsed: {', '.join(record['used'])}", dim=True)


@listing(
    "sessions",
    "commonplace sessions",
    "commonplace sessions --source claude-code -p my-api",
    "commonplace sessions show",
    "commonplace sessions -n 100",
    commands=(show,),
)
@project_filter
@source_filter
@page_options("Sessions")
def sessions(call: Call, **filters: Any) -> None:
    """List sessions of all kinds, the most recent first: of coding agents, conversations, and others.

    `sessions show` shows what happened in one. `ingest` reads the sessions that coding agents left on this machine.
    """
    with call.memory(drain_more=True) as memory:
        page = memory.sessions(**filters)
    records = [conversation_record(session) for session in page.sessions]
    empty = "No sessions. `commonplace ingest` reads those that coding agents left on this machine."
    call.answer_list("sessions", records, _show_sessions, empty, next_cursor=page.next_cursor)


def _show_sessions(records: Sequence[Mapping[str, Any]]) -> None:
    rows = [{**record, "id": record["short_id"], "label": record["label"] or record["key"]} for record in records]
    tables.table(("id", "source", "project", "label", "messages", "when"), rows)
