"""`push`, `pull`, `sync` and `promote`: this memory and a space on a server, joined again and again."""

from __future__ import annotations

import contextlib
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import click

from commonplace.cli import tables
from commonplace.cli.command import Call, StoppedEarly, command
from commonplace.config import Settings, listed
from commonplace.errors import InvalidInput
from commonplace.memory.sync_records import SyncScope
from commonplace.remote.sync import RemoteServer, Sync, SyncSummary

# Conflicts and failures that are named to a person; programs get them all.
MOST_NAMED = 10

_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.option("--to", metavar="URL", help="The server; else the setting remote_url."),
    click.option("--key", help="The key to it; better COMMONPLACE_REMOTE_KEY, which the list of processes hides."),
)
_EXTENT: tuple[Callable[[Any], Any], ...] = (
    *_OPTIONS,
    click.option("--project", "projects", multiple=True, help="Only this project; may be repeated."),
    click.option("--dry-run", is_flag=True, help="Exchange nothing; count what differs."),
)


def _with(options: Sequence[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    def decorate(function: Any) -> Any:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


@command("push", "commonplace push", "commonplace push --project my-api --dry-run --json")
@_with(_EXTENT)
def push(call: Call, to: str | None, key: str | None, projects: Sequence[str], dry_run: bool) -> None:
    """Send what changed here to a space on a server.

    Everything goes but what is tagged `private` and what belongs to a project of the setting sync_private. Who is
    interrupted does it again: what arrived stays, and nothing arrives twice.
    """
    with _open_sync(call, "Pushing", to, key, projects, dry_run) as sync:
        sync.push()
    _show_summary(call, sync.summary, dry_run)


@command("pull", "commonplace pull", "commonplace pull --project my-api --dry-run --json")
@_with(_EXTENT)
def pull(call: Call, to: str | None, key: str | None, projects: Sequence[str], dry_run: bool) -> None:
    """Take in what changed in a space on a server.

    Where both sides changed something, the later change stands, and the other one is kept in its history.
    """
    with _open_sync(call, "Pulling", to, key, projects, dry_run) as sync:
        sync.pull()
    _show_summary(call, sync.summary, dry_run)


@command("sync", "commonplace sync", "commonplace sync --project my-api --json")
@_with(_EXTENT)
def sync(call: Call, to: str | None, key: str | None, projects: Sequence[str], dry_run: bool) -> None:
    """Pull, then push: afterwards both sides hold the same.

    What was done without a network comes together with what others did. Run it as often as you like.
    """
    with _open_sync(call, "Syncing", to, key, projects, dry_run) as meeting:
        meeting.pull()
        meeting.push()
    _show_summary(call, meeting.summary, dry_run)


@command("promote", "commonplace promote 1", "commonplace promote 1 2 --json")
@_with(_OPTIONS)
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
def promote(call: Call, ids: Sequence[str], to: str | None, key: str | None) -> None:
    """Share single memories with the space on a server, and nothing else.

    They go as they are now, without their history and without the session they are from.
    """
    with _open_sync(call, "Promoting", to, key, (), dry_run=False) as meeting:
        meeting.promote(ids)
    _show_summary(call, meeting.summary, dry_run=False)


@contextlib.contextmanager
def _open_sync(
    call: Call, what: str, to: str | None, key: str | None, projects: Sequence[str], dry_run: bool
) -> Iterator[Sync]:
    settings = call.settings(remote_url=to, remote_key=key)
    if not settings.remote_url:
        raise InvalidInput("There is no server to talk to.", "Set remote_url, or give --to URL.")
    server = RemoteServer(settings.remote_url, settings.remote_key)
    _warn(call, settings, server)
    extent = SyncScope(tuple(projects), listed(settings.sync_private), include_private=False)
    with contextlib.closing(server), call.memory() as memory, tables.progress(what, None) as advance:
        meeting = Sync(memory, server, extent, dry_run=dry_run, advance=advance)
        try:
            yield meeting
        except KeyboardInterrupt:
            done = meeting.summary
            call.note(
                f"Interrupted. {done.received:,} received, {done.sent:,} sent; the same command goes on from there."
            )
            raise


def _warn(call: Call, settings: Settings, server: RemoteServer) -> None:
    if server.address.is_open:
        call.note("The address begins with http://: others on the way can read the key and what is sent.")
    file = settings.data_dir / "config.toml"
    with contextlib.suppress(OSError):
        readable = file.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH)
        if sys.platform != "win32" and readable and "remote_key" in file.read_text(encoding="utf-8", errors="replace"):
            call.note(f"Others on this machine can read the key in {file}: chmod 600 it.")


def _show_summary(call: Call, summary: SyncSummary, dry_run: bool) -> None:
    reply = {
        "dry_run": dry_run,
        "sent": summary.sent,
        "received": summary.received,
        "unchanged": summary.unchanged,
        "conflicts": summary.conflicts,
        "failed": summary.failed,
    }
    if summary.failed:
        first = summary.failed[0]
        raise StoppedEarly(
            f"{len(summary.failed):,} of the records could not be taken in. {_called(first)}: {first['why']}",
            "All others are there. What was to be sent is tried again the next time.",
            reply,
        )
    if call.json:
        call.reply(reply)
        return
    words = ("would be received", "would be sent") if dry_run else ("received", "sent")
    call.say(f"{summary.received:,} {words[0]}, {summary.sent:,} {words[1]}, {summary.unchanged:,} the same already.")
    for one in summary.conflicts[:MOST_NAMED]:
        stands = "This side's version" if one["stands"] == "here" else "The server's version"
        call.note(f"{_called(one)} was changed on both sides. {stands} stands; its history keeps the other.")
    if len(summary.conflicts) > MOST_NAMED:
        call.note(f"And {len(summary.conflicts) - MOST_NAMED:,} more (--json names all).")


def _called(one: dict[str, Any]) -> str:
    """A record as commands take it."""
    if one["what"] == "item":
        return f"Item {one['name'][-12:]}"
    return f"{'Conversation' if one['what'] == 'session' else 'Project'} {one['name']}"
