"""`commonplace hook` as a command among others. The console script runs hooks before the command line is loaded."""

from __future__ import annotations

import os
from typing import Any

import click

from commonplace.capture.hooks.hook_command import handle_event
from commonplace.cli.command import Call, command


@command(
    "hook",
    "commonplace hook kiro agentSpawn",
    """echo '{"cwd": "/src/my-api"}' | commonplace hook claude-code SessionStart""",
)
@click.argument("host", metavar="HOST")
@click.argument("event", metavar="EVENT")
def hook(call: Call, host: str, event: str) -> None:
    """Keep an event that an editor or agent tells on standard input; at the start of a session, print its context.

    HOST is one of claude-code, codex, gemini, cursor, kiro, windsurf; EVENT what it calls the event. It always ends
    with 0 and waits for nobody: the event lies in the spool until a server, the end of the turn or a command has it
    remembered.
    """
    place = ["--data-dir", call.data_dir] if call.data_dir else []
    click.echo(handle_event([*place, "hook", host, event], os.environ), nl=False)


@command("drain", "commonplace drain", "commonplace drain --seconds 10", "commonplace drain --json")
@click.option("--seconds", type=click.FloatRange(0, min_open=True), help="Leave the rest after about so long.")
def drain(call: Call, seconds: float | None) -> None:
    """Remember everything that hooks left in the spool, and lay ready what the next sessions are told.

    A running server does that by itself, and so does a hook at the end of a turn; other commands do a part of it.
    """
    from commonplace.capture.hooks.drain_inline import drain_all

    drained = drain_all(call.settings(), seconds)
    data: dict[str, Any] = {
        "remembered": drained.remembered,
        "passed_over": drained.passed_over,
        "refused": dict(drained.refused),
        "waiting": drained.left,
        "elsewhere": drained.elsewhere,
    }
    if call.json:
        call.reply(data)
        return
    left = f"{drained.left:,} wait" if drained.left else "nothing waits"
    call.say(f"{drained.remembered:,} events remembered, {drained.passed_over:,} passed over; {left}.")
    if drained.refused:
        call.note(f"{drained.refused.total():,} could not be kept; `commonplace doctor spool` tells why.")
    if drained.elsewhere:
        call.note("Another process is remembering them at this moment.")
