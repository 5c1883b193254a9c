"""`commonplace hook`: the page that tells about it. The console script runs hooks before the command line is loaded."""

from __future__ import annotations

import click

from commonplace.capture.hooks.fire import main
from commonplace.cli.call import Call, command


@command(
    "hook",
    'echo \'{"session_id": "s1", "cwd": "/src/my-api"}\' | commonplace hook claude-code SessionStart',
    "commonplace hook cursor afterFileEdit < event.json",
)
@click.argument("host", metavar="HOST")
@click.argument("event", metavar="EVENT")
def hook(call: Call, host: str, event: str) -> None:
    """Keep an event that an editor or agent tells on standard input; at the start of a session, print its context.

    HOST is one of claude-code, codex, gemini, cursor, kiro, windsurf; EVENT what it calls the event. It always ends
    with 0 and waits for nobody: the event lies in the spool until a server or the next command remembers it.
    """
    main([*(["--data-dir", call.data_dir] if call.data_dir else []), "hook", host, event])
