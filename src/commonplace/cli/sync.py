"""`push`, `pull`, `sync` and `promote`: exchange changes with a space on a server."""

from __future__ import annotations

import contextlib
import stat
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

import click

from commonplace.cli.command import Call, StoppedEarly, command
from commonplace.cli.options import combine, ids_argument, project_option
from commonplace.cli.terminal import progress
from commonplace.config import Settings, listed
from commonplace.errors import InvalidInput
from commonplace.memory.sync_and_archive import SyncScope
from commonplace.remote.sync import RemoteServer, Sync, SyncSummary

# Conflicts that are named to a person; programs get all of them.
MAX_NAMED = 10

server_options = combine(
    click.option("--to", metavar="URL", help="The server (default: the setting remote_url)."),
    click.option("--key", help="Its key; COMMONPLACE_REMOTE_KEY keeps it out of the list of processes."),
)
sync_options = combine(
    server_options,
    project_option("Only this project; repeatable.", names=("projects",), multiple=True),
    click.option("--dry-run", is_flag=True, help="Change nothing; count the differences."),
)


@command("push", "commonplace push", "commonplace push -p my-api --dry-run")
@sync_options
def push(call: Call, **options: Any) -> None:
    """Send local changes to a space on a server.

    Everything is sent except items tagged `private` and the projects of the setting sync_private. After an
    interruption, run it again: nothing is sent twice.
    """
    with _open_sync(call, "Pushing", **options) as sync:
        sync.push()


@command("pull", "commonplace pull", "commonplace pull -p my-api --dry-run")
@sync_options
def pull(call: Call, **options: Any) -> None:
    """Fetch changes from a space on a server.

    Where both sides changed something, the later change wins, and the other one is kept in its history.
    """
    with _open_sync(call, "Pulling", **options) as sync:
        sync.pull()


@command("sync", "commonplace sync", "commonplace sync -p my-api")
@sync_options
def sync(call: Call, **options: Any) -> None:
    """Pull, then push: afterwards both sides have the same content.

    Work done offline is merged with the work of others. Run it as often as you like.
    """
    with _open_sync(call, "Syncing", **options) as exchange:
        exchange.pull()
        exchange.push()


@command("promote", "commonplace promote 12", "commonplace promote 12 17")
@server_options
@ids_argument
def promote(call: Call, ids: Sequence[str], to: str | None, key: str | None) -> None:
    """Share single memories with a space on a server, and nothing else.

    They are sent as they are now, without their history and without their session.
    """
    with _open_sync(call, "Promoting", to, key) as sync:
        sync.promote(ids)


@contextlib.contextmanager
def _open_sync(
    call: Call, what: str, to: str | None, key: str | None, projects: Sequence[str] = (), dry_run: bool = False
) -> Iterator[Sync]:
    """An exchange with the server; at the end of the block its result is printed."""
    settings = call.settings(remote_url=to, remote_key=key)
    if not settings.remote_url:
        raise InvalidInput("No server is set.", "Give --to URL, or set remote_url (see `commonplace settings`).")
    server = RemoteServer(settings.remote_url, settings.remote_key)
    _warn(call, settings, server)
    scope = SyncScope(tuple(projects), listed(settings.sync_private), include_private=False)
    with contextlib.closing(server), call.local_memory() as memory, progress(what) as advance:
        sync = Sync(memory, server, scope, dry_run=dry_run, advance=advance)
        try:
            yield sync
        except KeyboardInterrupt:
            done = sync.summary
            call.note(
                f"Interrupted. {done.received:,} received, {done.sent:,} sent; the same command continues from there."
            )
            raise
    _show_summary(call, sync.summary, dry_run)


def _warn(call: Call, settings: Settings, server: RemoteServer) -> None:
    if server.address.is_unencrypted:
        call.note("The address begins with http://: others on the network can read the key and the content.")
    file = settings.data_dir / "config.toml"
    with contextlib.suppress(OSError):
        readable = file.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH)
        if sys.platform != "win32" and readable and "remote_key" in file.read_text(encoding="utf-8", errors="replace"):
            call.note(f"Others on this machine can read the key in {file}: chmod 600 it.")


def _show_summary(call: Call, summary: SyncSummary, dry_run: bool) -> None:
    record = {"dry_run": dry_run, **asdict(summary)}
    if summary.failed:
        first = summary.failed[0]
        raise StoppedEarly(
            f"{len(summary.failed):,} of the records could not be stored. {_describe(first)}: {first['why']}",
            "All others were stored. The next run tries again to send the rest.",
            record,
        )
    words = ("would be received", "would be sent") if dry_run else ("received", "sent")
    call.answer(
        record,
        f"{summary.received:,} {words[0]}, {summary.sent:,} {words[1]}, {summary.unchanged:,} already the same.",
    )
    for one in summary.conflicts[:MAX_NAMED]:
        winner = "The local version" if one["stands"] == "here" else "The server's version"
        call.note(f"{_describe(one)} was changed on both sides. {winner} wins; the other one is in its history.")
    if len(summary.conflicts) > MAX_NAMED:
        call.note(f"And {len(summary.conflicts) - MAX_NAMED:,} more (--json names all).")


def _describe(one: dict[str, Any]) -> str:
    """A record by the id that commands take."""
    if one["what"] == "item":
        return f"Item {one['name'][-12:]}"
    return f"{'Conversation' if one['what'] == 'session' else 'Project'} {one['name']}"
