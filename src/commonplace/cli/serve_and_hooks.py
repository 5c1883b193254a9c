"""`mcp`, `serve`, `stop`, `hook` and `drain`: run a server, end the resident process, capture and store events.

The console script runs `hook` before the command line is loaded; here it is for help and for in-process callers.
"""

from __future__ import annotations

import gc
import os
from typing import Any

import click

from commonplace.cli.command import Call, command
from commonplace.config import PROFILES
from commonplace.text.sentences import counted

profile_option = click.option("--profile", type=click.Choice(PROFILES), help="Which tools to offer (default: all).")


@command("mcp", "commonplace mcp --help", "commonplace mcp --profile core", "commonplace mcp --data-dir ./memory")
@profile_option
def mcp(call: Call, profile: str | None) -> None:
    """Serve one agent over stdio (Model Context Protocol). Editors start this themselves.

    `connect` adds it to their settings; elsewhere, add `commonplace` with the argument `mcp` to the MCP configuration.
    Standard output carries only the protocol; messages for people go to standard error.
    """
    # An editor waits for us: these imports create no garbage, so do not stop to collect any.
    gc.disable()
    from commonplace.mcp.stdio import run

    gc.enable()
    run(call.settings(profile=profile))


@command("serve", "commonplace serve --help", "commonplace serve --port 8765", "commonplace serve --profile core")
@click.option("--host", help="Address to listen on (default: 127.0.0.1, this machine only).")
@click.option("--port", type=click.IntRange(0, 65535), help="Port to listen on (default: 8765; 0 takes a free one).")
@click.option(
    "--workers", type=click.IntRange(1, 64), help="Answer with this many processes (default: 1; not on Windows)."
)
@click.option("--import-dir", metavar="DIR", type=click.Path(), help="Import files that are put into DIR.")
@click.option(
    "--open/--no-open", "show", default=None, help="Open the dashboard in a browser (default: if there is a screen)."
)
@profile_option
def serve(
    call: Call,
    host: str | None,
    port: int | None,
    workers: int | None,
    import_dir: str | None,
    show: bool | None,
    profile: str | None,
) -> None:
    """Serve the dashboard at / and any number of agents over HTTP (Model Context Protocol at /mcp). Ctrl-C stops it.

    Callers need a key: the first start writes one to the file api-key in the data folder, and `commonplace keys create`
    makes more.
    """
    from commonplace.temporary_files import private_temporary_files

    settings = call.settings(host=host, port=port, workers=workers, import_dir=import_dir, profile=profile)
    with private_temporary_files(settings.data_dir):
        if settings.workers > 1:
            from commonplace.http_server.workers import run_workers

            run_workers(settings, show)
        else:
            from commonplace.http_server.server import run

            run(settings, show)


@command("stop", "commonplace stop")
def stop(call: Call) -> None:
    """Stop the background process that editors, commands and hooks share. The next editor to need it starts it again.

    Nothing is lost, and calls in progress are answered first.
    """
    from commonplace.resident_client.list_and_stop import stop_residents

    stopped = stop_residents(str(call.settings().data_dir))
    pids = ", ".join(map(str, stopped))
    call.answer(
        {"stopped": stopped},
        f"Stopped the background process {pids}." if stopped else "No background process was running.",
    )


@command(
    "hook",
    "commonplace hook kiro agentSpawn",
    """echo '{"cwd": "/src/my-api"}' | commonplace hook claude-code SessionStart""",
)
@click.argument("host", metavar="HOST")
@click.argument("event", metavar="EVENT")
def hook(call: Call, host: str, event: str) -> None:
    """Capture an event from standard input; at the start of a session, print its context. Editors run this.

    HOST is claude-code, codex, gemini, cursor, kiro, windsurf or opencode; EVENT is what the host calls it. It always
    exits with 0 and never waits: the event is stored later, by a server, at the end of the turn, or by a command.
    """
    from commonplace.capture.hooks import for_fast_hooks
    from commonplace.fast.arguments import Arguments
    from commonplace.fast.hook_command import HookCall, handle_event

    folder = ["--data-dir", call.data_dir] if call.data_dir else []
    arguments = Arguments([*folder, "hook", host, event])
    click.echo(handle_event(HookCall(arguments, os.environ, lambda: for_fast_hooks)), nl=False)


@command("drain", "commonplace drain", "commonplace drain --seconds 10")
@click.option("--seconds", type=click.FloatRange(0, min_open=True), help="Stop after about this many seconds.")
def drain(call: Call, seconds: float | None) -> None:
    """Store all captured events that are still waiting, and prepare the context for the next sessions.

    Servers, and hooks at the end of a turn, do this by themselves. Other commands store some of them.
    """
    from commonplace.capture.hooks.drain_all import drain_all

    drained = drain_all(call.settings(), seconds)
    data: dict[str, Any] = {
        "remembered": drained.remembered,
        "passed_over": drained.passed_over,
        "refused": dict(drained.refused),
        "waiting": drained.left,
        "elsewhere": drained.elsewhere,
    }
    left = f"{drained.left:,} still waiting" if drained.left else "none left"
    call.answer(data, f"{counted(drained.remembered, 'event')} stored, {drained.passed_over:,} ignored; {left}.")
    if drained.refused:
        call.note(f"{drained.refused.total():,} could not be stored; `commonplace doctor spool` says why.")
    if drained.waits_because:
        call.note(drained.waits_because)
    if drained.elsewhere:
        call.note("Another process is storing them right now.")
