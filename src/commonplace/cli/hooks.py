"""`hook` and `drain`: capture an event, and store waiting events.

The console script runs `hook` before the command line is loaded; here it is for help and for in-process callers.
"""

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
    """Capture an event from standard input; at the start of a session, print its context. Editors run this.

    HOST is claude-code, codex, gemini, cursor, kiro or windsurf; EVENT is what the host calls the event. It always
    exits with 0 and never waits: the event is stored later, by a server, at the end of the turn, or by a command.
    """
    folder = ["--data-dir", call.data_dir] if call.data_dir else []
    click.echo(handle_event([*folder, "hook", host, event], os.environ), nl=False)


@command("drain", "commonplace drain", "commonplace drain --seconds 10")
@click.option("--seconds", type=click.FloatRange(0, min_open=True), help="Stop after about this many seconds.")
def drain(call: Call, seconds: float | None) -> None:
    """Store all captured events that are still waiting, and prepare the context for the next sessions.

    Servers, and hooks at the end of a turn, do this by themselves. Other commands store some of them.
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
    left = f"{drained.left:,} still waiting" if drained.left else "none left"
    call.answer(data, f"{drained.remembered:,} events stored, {drained.passed_over:,} ignored; {left}.")
    if drained.refused:
        call.note(f"{drained.refused.total():,} could not be stored; `commonplace doctor spool` says why.")
    if drained.waits_because:
        call.note(f"{drained.waits_because} Its events will be sent when it answers.")
    if drained.elsewhere:
        call.note("Another process is storing them right now.")
