"""`reconstruct`: what happened in a session, in order, as Markdown."""

from __future__ import annotations

from typing import Any

import click

from commonplace.cli.call import Call, command
from commonplace.cli.terminal import one_line, plain
from commonplace.dialects.records import conversation_record
from commonplace.memory.reconstruct import BUDGET, LEAST_BUDGET, Reconstruction, Told
from commonplace.memory.reconstruct import reconstruct as reconstructed
from commonplace.text.redact import redact
from commonplace.text.times import iso

SPEAKERS = {"user": "Asked", "assistant": "Did", "system": "Noted", "tool": "Tool"}
SHOWN = 10


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
    type=click.IntRange(LEAST_BUDGET),
    default=BUDGET,
    show_default=True,
    help="Tokens that it may take; what does not fit is told more shortly, and at last the oldest is left out.",
)
def reconstruct(call: Call, session: str | None, last: int | None, budget: int) -> None:
    """What happened in a session, oldest first: what was asked and done, with which files, commands and errors.

    SESSION is an id as `sessions` shows it, or what its agent calls it; if omitted, the newest of the current
    project, or of all.
    """
    with call.book(asks=True) as book:
        found = reconstructed(book, session, call.project_here(), last, budget)
    if call.json:
        call.reply(
            {
                "session": conversation_record(found.session),
                "messages": [_record(one) for one in found.told],
                "left_out": found.left_out,
            }
        )
        return
    _show(call, found)


def _record(one: Told) -> dict[str, Any]:
    details = one.item.details
    named = {name: redact(details[name]) for name in ("files", "commands", "errors") if details.get(name)}
    return {
        "id": one.item.id,
        "role": details.get("role", ""),
        "at": iso(one.item.created_ms),
        "content": redact(one.text),
        "whole": one.whole,
        **named,
        **({"off_path": True} if one.item.meta.get("off_path") else {}),
    }


def _show(call: Call, found: Reconstruction) -> None:
    session = found.session
    call.say(f"# {one_line(redact(session.label)) or session.key}\n", bold=True)
    facts = [
        session.source or "session",
        session.project or "no project",
        iso(session.started_ms)[:16],
        session.short_id,
    ]
    call.say(one_line(" · ".join(facts)).replace("T", " ", 1), dim=True)
    if found.left_out:
        call.say(f"\n({found.left_out:,} earlier messages are left out.)", dim=True)
    for record in map(_record, found.told):
        aside = ", then left behind" if record.get("off_path") else ""
        call.say(
            f"\n## {SPEAKERS.get(record['role'], 'Said')} {record['at'][:16].replace('T', ' ')}{aside}\n", bold=True
        )
        click.echo(plain(record["content"]))
        for name, separator in (("files", ", "), ("commands", "\n"), ("errors", "\n")):
            if not record["whole"] and (names := record.get(name, "").split(separator))[0]:
                more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
                call.say(f"\n{name.capitalize()}: {one_line(', '.join(names[:SHOWN]))}{more}", dim=True)
