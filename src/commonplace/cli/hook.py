"""`commonplace hook` as a command among others. The console script runs hooks before the command line is loaded."""

from __future__ import annotations

import os

import click

from commonplace.capture.hooks.fire import fire
from commonplace.cli.call import Call, command


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
    click.echo(fire([*place, "hook", host, event], os.environ), nl=False)
